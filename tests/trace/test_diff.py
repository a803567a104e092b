"""Comparing by meaning: what may change places, what may not, what is reported, how it streams."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emu.trace.diff import compare
from emu.trace.reader import TraceReader
from emu.wire import semantics
from emu.wire.actions import ACTIONS
from tests.conftest import DATA, SHARED, needs_shared
from tests.trace.helpers import SINGLE, TWO_CONTEXT, Cli, Record, actions, changed, records_of, traced, write_trace


def _compare(a: Path, b: Path, tolerance: float | None = None) -> list[str] | None:
    result = compare(TraceReader(a), TraceReader(b), tolerance)
    return None if result.divergence is None else result.divergence.what


def _swap(records: list[Record], first: int, second: int) -> None:
    records[first], records[second] = records[second], records[first]
    # the order in the file is time's, and the indices are those of the list
    for name in ("ns", "action_index"):
        if name in records[first] and name in records[second]:
            records[first][name], records[second][name] = records[second][name], records[first][name]


@pytest.mark.parametrize("first", ["ns", "kind", "application", "context", "action", "arguments", "duration"])
def test_the_order_of_keys_hides_nothing(first: str, two_context: Path, tmp_path: Path) -> None:
    """Whatever key a line begins with, a change of any value of meaning is found."""

    def ordered(records: list[Record]) -> None:
        records[1:] = [{first: one[first], **one} if first in one else one for one in records[1:]]

    plain = changed(two_context, tmp_path / "plain", ordered)
    at = actions(records_of(two_context), "ENABLE_LCU_DEFAULT", "dynamic_1")[0]
    for name, value in (
        ("kind", "unit"),
        ("context", "dynamic_0"),
        ("action", "DISABLE_LCU"),
        ("arguments", {"packed_lcu_id": 77}),
    ):

        def change(records: list[Record], name: str = name, value: object = value) -> None:
            records[at][name] = value
            ordered(records)

        assert _compare(plain, changed(two_context, tmp_path / "x", change)) is not None, name
    assert _compare(two_context, plain) is None


# -- equal


def test_a_trace_equals_itself(two_context: Path, single: Path, ddr: Path) -> None:
    for trace in (two_context, single, ddr):
        assert _compare(trace, trace) is None


def test_time_does_not_count_unless_asked_for(tmp_path: Path) -> None:
    fast, slow = tmp_path / "fast", tmp_path / "slow"
    traced(SINGLE, fast, frames=4)
    traced(SINGLE, slow, frames=4, link="gen1x1")
    assert _compare(fast, slow) is None
    assert _compare(fast, slow, 100) is None
    assert "ns" in str(_compare(fast, slow, 0))


def test_tolerance_is_a_share_of_the_time(two_context: Path, tmp_path: Path) -> None:
    def later(records: list[Record]) -> None:
        for record in records[1:]:
            record["ns"] += record["ns"] // 25

    path = changed(two_context, tmp_path / "x", later)  # 4 % later
    assert _compare(two_context, path, 4) is None
    assert _compare(two_context, path, 3) is not None


@pytest.mark.parametrize("tolerance", ["nan", "inf", "-1"])
def test_a_tolerance_that_is_none(tolerance: str, two_context: Path, cli: Cli) -> None:
    assert cli("diff", two_context, two_context, "--tolerance", tolerance) == 2


def test_independent_actions_may_change_places(two_context: Path, tmp_path: Path) -> None:
    def swap(records: list[Record]) -> None:
        first, second = actions(records, "ENABLE_LCU_DEFAULT", "dynamic_0")[:2]
        _swap(records, first, second)
        first = actions(records, "CHANGE_VDMA_TO_STREAM_MAPPING", "dynamic_0")[0]
        _swap(records, first, first + 1)

    assert _compare(two_context, changed(two_context, tmp_path / "x", swap)) is None


def test_waits_side_by_side_may_change_places(two_context: Path, tmp_path: Path) -> None:
    def swap(records: list[Record]) -> None:
        first, second = actions(records, "MODULE_CONFIG_DONE_INTERRUPT", "dynamic_0")[:2]
        assert second == first + 1
        _swap(records, first, second)

    assert _compare(two_context, changed(two_context, tmp_path / "x", swap)) is None


def test_transfers_may_fall_between_other_actions(two_context: Path, tmp_path: Path) -> None:
    def move(records: list[Record]) -> None:
        transfers = [at for at, record in enumerate(records) if record.get("kind") in ("transfer", "unit")]
        records.insert(transfers[0] - 3, records.pop(transfers[0]))

    assert _compare(two_context, changed(two_context, tmp_path / "x", move)) is None


def test_whether_something_had_to_wait_does_not_count(two_context: Path, tmp_path: Path) -> None:
    def drop(records: list[Record]) -> None:
        records[:] = [record for record in records if record.get("kind") != "wait"]

    path = changed(two_context, tmp_path / "x", drop)
    assert _compare(two_context, path) is None
    assert _compare(path, two_context) is None


# -- different


def _drop(action: str, context: str = "dynamic_0") -> Callable[[list[Record]], None]:
    def change(records: list[Record]) -> None:
        del records[actions(records, action, context)[-1]]

    return change


def _set(action: str, name: str, value: int) -> Callable[[list[Record]], None]:
    def change(records: list[Record]) -> None:
        record = records[actions(records, action)[-1]]
        assert record["arguments"][name] != value
        record["arguments"][name] = value

    return change


def _across_a_wait(records: list[Record]) -> None:
    wait = actions(records, "LCU_INTERRUPT", "dynamic_0")[0]
    assert records[wait + 1]["action"] == "DISABLE_LCU"
    _swap(records, wait, wait + 1)


def _same_channel(records: list[Record]) -> None:
    at = actions(records, "ACTIVATE_BOUNDARY_INPUT", "dynamic_0")[0]
    mapping = next(
        place
        for place in actions(records, "CHANGE_VDMA_TO_STREAM_MAPPING", "dynamic_0")
        if records[place]["arguments"]["packed_vdma_channel_id"] == records[at]["arguments"]["packed_vdma_channel_id"]
    )
    _swap(records, at, mapping)


def _over_the_start(records: list[Record]) -> None:
    at = actions(records, "BURST_CREDITS_TASK_START", "dynamic_0")[0]
    _swap(records, at - 1, at)


def _reply(records: list[Record]) -> None:
    records[5]["cause"] = "CONTEXT_SWITCH_STATUS_INVALID_APPLICATION_INDEX"


def _cut(records: list[Record]) -> None:
    del records[len(records) // 2 :]


def _frame_lost(records: list[Record]) -> None:
    del records[[at for at, record in enumerate(records) if record.get("kind") == "transfer"][-1]]


def _repeat(records: list[Record]) -> None:
    at = actions(records, "DISABLE_LCU", "preliminary")[-1]
    records.insert(at, records[at])


def _moved_to_other_context(records: list[Record]) -> None:
    begin = [at for at, record in enumerate(records) if record.get("kind") == "context_begin"]
    last = begin[-1]
    records[last]["context"] = "dynamic_7"


DIFFERENT = {
    "an action less": _drop("DISABLE_LCU"),
    "a wait less": _drop("SEQUENCER_DONE_INTERRUPT"),
    "an action more": _repeat,
    "another argument": _set("ENABLE_LCU_DEFAULT", "packed_lcu_id", 5),
    "another address": _set("ACTIVATE_CFG_CHANNEL", "dma_address", 0),
    "other bitmaps": _set("TRIGGER_SEQUENCER", "active_apu", 1),
    "across a wait": _across_a_wait,
    "two actions on one channel": _same_channel,
    "over the start of a task": _over_the_start,
    "another reply": _reply,
    "half the run": _cut,
    "a frame less": _frame_lost,
    "another context": _moved_to_other_context,
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_differs_is_found(name: str, two_context: Path, tmp_path: Path) -> None:
    path = changed(two_context, tmp_path / "x", DIFFERENT[name])
    assert _compare(two_context, path)
    assert _compare(path, two_context)


def test_the_report(two_context: Path, tmp_path: Path, cli: Cli) -> None:
    path = changed(two_context, tmp_path / "x", _drop("DISABLE_LCU"))
    assert cli("diff", two_context, path, "--json") == 6
    document = cli.document
    divergence = document["divergence"]
    assert (divergence["context"], divergence["action_index"]) == ("dynamic_0", 20)
    assert divergence["a"]["record"]["action"] == "DISABLE_LCU"
    assert divergence["a"]["record"]["arguments"] == {"packed_lcu_id": 1}
    assert any("cluster 0 LCU 1" in line for line in divergence["a"]["state"])
    counts = document["counts"]["DISABLE_LCU"]
    assert counts["a"] == counts["b"] + 1
    assert list(document["counts"]) == ["DISABLE_LCU"]
    assert cli("diff", two_context, path) == 6
    assert "first divergence: dynamic_0 action 20" in cli.out
    assert "DISABLE_LCU packed_lcu_id=1" in cli.out


def test_the_state_says_who_waits(tmp_path: Path, two_context: Path, cli: Cli) -> None:
    """Where one run stalls, the wait-for state names the action and what it waits for."""
    stalled = tmp_path / "stalled"
    assert (
        cli("run", TWO_CONTEXT, "--batch", 2, "--frames", 6, "--inject", "stall-channel:2", f"--trace={stalled}") == 5
    )
    assert cli("diff", two_context, stalled, "--json") == 6
    state = cli.document["divergence"]["b"]["state"]
    assert state[0] == "dynamic_0 #17 LCU_INTERRUPT waits for cluster 0 LCU 0 done"


def test_every_dropped_action_is_found(two_context: Path, tmp_path: Path) -> None:
    """A mutation of each kind of action that the trace has."""
    kinds = {record["action"] for record in TraceReader(two_context) if record["kind"] == "action"}
    assert len(kinds) > 15
    for kind in sorted(kinds):
        path = changed(two_context, tmp_path / "x", _drop(kind, ""))
        assert _compare(two_context, path), kind


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_swaps_count_exactly_where_units_are_shared(
    data: st.DataObject, two_context: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Two neighbouring actions of one context: equal if both act on other units, different if not."""
    records = list(TraceReader(two_context))
    places = [
        at
        for at in range(len(records) - 1)
        if records[at]["kind"] == records[at + 1]["kind"] == "action"
        and records[at]["context"] == records[at + 1]["context"]
        and (records[at]["action"], records[at]["arguments"])
        != (records[at + 1]["action"], records[at + 1]["arguments"])
    ]
    at = data.draw(st.sampled_from(places))
    first, second = records[at], records[at + 1]
    waits = [record["action"] in semantics.WAITS for record in (first, second)]
    if all(waits):
        independent = True
    elif any(waits) or {first["action"], second["action"]} & semantics.BARRIERS:
        independent = False
    else:
        units = [set(semantics.touched(one["action"], one["arguments"], "4.23")) for one in (first, second)]
        independent = not units[0] & units[1]
    path = changed(two_context, tmp_path_factory.mktemp("swap") / "x", lambda changing: _swap(changing, at + 1, at + 2))
    assert (_compare(two_context, path) is None) is independent


def test_every_action_acts_on_something() -> None:
    """The table of semantics knows all actions: each touches a unit, waits or is a barrier."""
    for kind, made in ACTIONS.items():
        names = made.NAMES
        if kind.name in semantics.WAITS | semantics.BARRIERS:
            continue
        touched = semantics.touched(kind.name, dict.fromkeys(names, 1), "4.23")
        assert touched and touched != (kind.name,), kind
    assert {kind.name for kind in ACTIONS} >= semantics.WAITS | semantics.BARRIERS | semantics.ACTIVATES


# -- HEFs, runtimes, captures


def test_hefs(cli: Cli) -> None:
    assert cli("diff", TWO_CONTEXT, TWO_CONTEXT) == 0
    assert cli("diff", TWO_CONTEXT, SINGLE, "--json") == 6
    assert cli.document["divergence"]["differs"] == [
        "dynamic_contexts_count 2 != 1",
        *cli.document["divergence"]["differs"][1:],
    ]


def test_the_configuration_bytes_count(cli: Cli, tmp_path: Path) -> None:
    """Two HEFs with the same actions and one bit of a CCW record changed."""
    assert cli("disasm", TWO_CONTEXT, "-o", tmp_path / "x.yaml") == 0
    bulk = bytearray((tmp_path / "x.bin").read_bytes())
    bulk[len(bulk) // 2] ^= 1
    (tmp_path / "x.bin").write_bytes(bulk)
    if cli("asm", tmp_path / "x.yaml", "-o", tmp_path / "x.hef") != 0:
        pytest.skip("asm does not take changed bulk bytes")
    assert cli("diff", TWO_CONTEXT, tmp_path / "x.hef", "--json") == 6
    assert "descriptor list" in cli.document["divergence"]["a"]["record"]["unit"]


def test_devices(cli: Cli) -> None:
    """A Hailo-8L HEF on both chips that take it: the same lists."""
    model = DATA / "hef" / "part_leg_a.hef"
    assert cli("diff", model, "--device", "hailo8l", "--b-device", "hailo8") in (0, 6)
    assert cli("diff", model, "--device", "hailo8l", "--cluster-layout", 51, "--b-device", "hailo8l") == 0
    assert cli("diff", TWO_CONTEXT) == 2


@needs_shared
def test_runtimes_by_meaning(cli: Cli) -> None:
    """4.23 and 5.2 pack channel ids and place lists otherwise, which means nothing: other things may differ."""
    for model in sorted((SHARED / "synth" / "hef").glob("rndx_0*.hef")):
        code = cli("diff", model, "--runtime", "4.23", "--b-runtime", "5.2", "--device", "hailo15h", "--json")
        if code == 6:
            differs = " ".join(cli.document["divergence"]["differs"])
            assert "packed" not in differs
            assert "dma_address" not in differs
        else:
            assert code in (0, 3, 4)


@needs_shared
def test_releases_of_one_line(cli: Cli) -> None:
    """Of mnist 4.20 makes another boundary queue at batch 1, and the same at batch 8 (runtimes.md 2 item 3)."""
    model = SHARED / "hef" / "mnist_cnn.v0.hailo8.hef"
    assert cli("diff", model, "--a-runtime", "4.20.1", "--b-runtime", "4.23", "--json") == 6
    assert "total_desc_count" in " ".join(cli.document["divergence"]["differs"])
    assert {"what": "application header (bytes)", "a": "41", "b": "32", "layout": True} in cli.document["differences"]
    assert cli("diff", model, "--a-runtime", "4.20", "--b-runtime", "4.23", "--batch", 8) == 0
    assert "equal in meaning" in cli.out and "application header (bytes): 41 / 32" in cli.out
    assert cli("diff", model, "--runtime", "4.20", "--a-runtime", "4.20", "--b-runtime", "4.23") == 2


@needs_shared
def test_a_hef_against_what_the_real_runtime_sent(cli: Cli) -> None:
    for path in sorted((SHARED / "oracle").glob("4.23/*.json")):
        document = orjson.loads(path.read_bytes())
        if not document.get("network_groups") or document.get("batch", 1) != 1 or ".on-" in path.name:
            continue
        model = SHARED / "hef" / f"{path.name.split('.batch')[0].removesuffix('.json')}.hef"
        if model.exists():
            assert cli("diff", model, path, "--runtime", "4.23", "--batch", 1) == 0, (path.name, cli.out)


@needs_shared
def test_captures(cli: Cli) -> None:
    a, b = (SHARED / "silicon" / name for name in ("mnist.json", "yolov6n.json"))
    assert cli("diff", a, a) == 0
    assert cli("diff", a, b) == 6


def test_what_both_have_damaged_is_refused(cli: Cli, two_context: Path, tmp_path: Path) -> None:
    lines = two_context.read_bytes().splitlines(keepends=True)
    for damaged in (lines[50][:-9] + b"\n", b"nonsense\n", b"{}\n"):
        path = tmp_path / "x"
        path.write_bytes(b"".join([*lines[:50], damaged, *lines[51:]]))
        assert cli("diff", path, path) == 3
        assert "line 51" in cli.err


def test_a_trace_and_a_hef_do_not_compare(cli: Cli, two_context: Path) -> None:
    assert cli("diff", two_context, TWO_CONTEXT) == 2
    assert cli("diff", TWO_CONTEXT, SINGLE, "--tolerance", 5) == 2
    assert cli("diff", two_context, two_context, "--b-runtime", "5.2") == 2


# -- streaming


@dataclass
class Endless:
    """A trace of many batches that lies nowhere: the same records over and over."""

    body: list[bytes]
    count: int
    reorder: bool = False
    name: str = "made up"
    runtime: str = "4.23"

    def lines(self) -> Iterator[bytes]:
        for number in range(self.count):
            if self.reorder and number % 2:
                yield from self._reordered()
            else:
                yield from self.body

    def _reordered(self) -> Iterator[bytes]:
        body = list(self.body)
        for at in range(len(body) - 1):
            if b"ENABLE_LCU" in body[at] and b"ENABLE_LCU" in body[at + 1]:
                body[at], body[at + 1] = body[at + 1], body[at]
        yield from body

    def parse(self, line: bytes, number: int) -> Record:
        record: Record = orjson.loads(line)
        return record


def test_memory_does_not_grow_with_the_trace(two_context: Path) -> None:
    body = two_context.read_bytes().splitlines(keepends=True)[1:-1]
    size = sum(map(len, body))
    tracemalloc.start()
    assert compare(Endless(body, 50), Endless(body, 50, reorder=True)).equal
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < size * 5  # of 50 times that size


def test_a_trace_that_never_matches_is_bounded(tmp_path: Path, two_context: Path) -> None:
    """Only transfers of other channels: nothing pairs, so the comparison ends when its window is full."""
    header = orjson.loads(two_context.read_bytes().splitlines()[0])
    for number, name in enumerate("ab"):
        records = [
            {"ns": at, "kind": "transfer", "unit": f"channel {number} (H2D)", "bytes": 1, "frame": at}
            for at in range(50_000)
        ]
        write_trace(tmp_path / name, [header, *records])
    assert _compare(tmp_path / "a", tmp_path / "b")
