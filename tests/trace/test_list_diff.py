"""What hardware measured is a trace: compared action by action with another, a trace and a run, and held to rules."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from emu.errors import HailoError
from emu.regression.golden import check_golden
from emu.trace.fw_actions import is_fw_actions, profile_of
from emu.trace.list_diff import compare_profiles, text
from emu.trace.reader import TraceReader
from emu.trace.stamped import profile_of_trace, records
from tests.conftest import DATA, ROOT
from tests.trace.helpers import TWO_CONTEXT, Cli

MEASURED = DATA / "fw_actions_two_context.json"  # as hailortcli writes it (fw-trace.md 6.1)
CHANNEL = {"engine_index": 0, "vdma_channel_index": 16}


def _action(kind: str, stamp: int, sub: int | None = None, **data: object) -> dict[str, Any]:
    found: dict[str, Any] = {"address": 4096, "timestamp": stamp, "type": kind, "data": data}
    return found if sub is None else found | {"sub_action_index": sub}


def _profile(*actions: dict[str, Any], mhz: int = 200, batch: int = 1, name: str = "dynamic_0") -> dict[str, Any]:
    context = {
        "action_list_base_address": 4096,
        "action_list_size": 100,
        "batch_counter": 3,
        "idle_time": 0,
        "context_name": name,
        "actions": list(actions),
    }
    return {
        "version": "2.0",
        "creation_time": "Mon Nov 30 12:00:00 2026",
        "clock_cycle_MHz": mhz,
        "hef": {"path": "net.hef", "file_hash": ""},
        "runs": [{"batch_size": batch, "fps": 1.0, "contexts": [context]}],
    }


LIST = (
    _action("activate_cfg_channel", 1000, channel_index=1, config_stream_index=0, engine_index=0),
    _action("trigger_sequencer", 1200, cluster_index=0),
    _action("enable_lcu_default", 1400, cluster_index=0, lcu_index=3),
    _action("enable_lcu_default", 1600, cluster_index=0, lcu_index=4),
    _action("lcu_interrupt", 9600, cluster_index=0, lcu_index=3),
)


def _lines(a: dict[str, Any], b: dict[str, Any], tolerance: float | None = None) -> list[str]:
    """The differences of two profiles of one list each, as printed."""
    result = compare_profiles(profile_of(a, "a.json"), profile_of(b, "b.json"), ("a.json", "b.json"), tolerance)
    found = [one.line() for run in result.runs for context in run.contexts for one in context.differences]
    assert result.equal == (not found and not any(run.missing for run in result.runs))
    assert (list(text(result))[-1] == "different") == (not result.equal)
    return found


def test_the_same_is_equal_whatever_its_addresses() -> None:
    moved = [one | {"address": 77} for one in LIST]
    assert _lines(_profile(*LIST), _profile(*moved), 0) == []


def test_order_and_values() -> None:
    swapped = _profile(LIST[0], LIST[2], LIST[1], *LIST[3:])
    found = _lines(_profile(*LIST), swapped)
    (one, other) = sorted(line.partition(" ")[2] for line in found)
    assert (one.partition(": ")[2], other.partition(": ")[2]) == ("only in A", "only in B")
    assert one.partition(": ")[0] == other.partition(": ")[0]  # one action stands elsewhere
    changed = _action("enable_lcu_default", 1600, cluster_index=1, lcu_index=4)
    assert _lines(_profile(*LIST), _profile(*LIST[:3], changed, LIST[4])) == [
        "#3 ENABLE_LCU_DEFAULT cluster_index=0 lcu_index=4 != ENABLE_LCU_DEFAULT cluster_index=1 lcu_index=4"
    ]
    assert _lines(_profile(*LIST), _profile(*LIST[:4])) == ["#4 LCU_INTERRUPT cluster_index=0 lcu_index=3: only in A"]


def test_time_is_that_of_each_action() -> None:
    """The third action takes 300 cycles instead of 200: 1.5 us instead of 1 us at 200 MHz; what follows is as late."""
    later = [*LIST[:2], *(one | {"timestamp": one["timestamp"] + 100} for one in LIST[2:])]
    assert _lines(_profile(*LIST), _profile(*later)) == []
    line = "#2 ENABLE_LCU_DEFAULT cluster_index=0 lcu_index=3: 1.000 us != 1.500 us"
    assert _lines(_profile(*LIST), _profile(*later), 33) == [line]
    assert _lines(_profile(*LIST), _profile(*later), 34) == []
    # another clock is another unit: half the cycles at half the clock
    slower = [one | {"timestamp": one["timestamp"] // 2} for one in LIST]
    assert _lines(_profile(*LIST), _profile(*slower, mhz=100), 0) == []


def test_time_stamps_go_round() -> None:
    round_ = [one | {"timestamp": (one["timestamp"] + 2**32 - 1500) % 2**32} for one in LIST]
    assert _lines(_profile(*LIST), _profile(*round_), 0) == []
    ns = [one["ns"] for one in records(profile_of(_profile(*round_), "x"), "4.23", "x")]
    assert ns[-1] - ns[0] == 8600 * 5


def test_a_repeated_action_has_one_time() -> None:
    """Its parts have the stamp of the whole (fw-trace.md 6.1), those of a trace one each."""
    parts = [_action("disable_lcu", 1600, at, cluster_index=0, lcu_index=at) for at in range(3)]
    head = _action("repeated_action", 1600, count=3, last_executed=3, sub_action_type="disable_lcu")
    single = [_action("disable_lcu", 1200 + 200 * at, cluster_index=0, lcu_index=at) for at in range(3)]
    assert _lines(_profile(LIST[0], head, *parts), _profile(LIST[0], *single), 0) == []
    late = [*single[:2], single[2] | {"timestamp": 2600}]
    assert len(_lines(_profile(LIST[0], head, *parts), _profile(LIST[0], *late), 10)) == 1


def test_what_only_one_executed() -> None:
    not_done = [*LIST[:4], LIST[4] | {"timestamp": 0}]
    assert _lines(_profile(*LIST), _profile(*not_done)) == [
        "#4 LCU_INTERRUPT cluster_index=0 lcu_index=3: executed in A only"
    ]
    # lists that were read back and never stamped say nothing of it
    nothing = [one | {"timestamp": 0} for one in LIST]
    assert _lines(_profile(*LIST), _profile(*nothing), 0) == []


def test_runs_of_other_batches_are_told() -> None:
    a, b = profile_of(_profile(*LIST, batch=1), "a"), profile_of(_profile(*LIST, batch=8), "b")
    result = compare_profiles(a, b, ("a", "b"))
    assert [(run.batch_size, run.missing) for run in result.runs] == [(1, "B"), (8, "A")]
    assert not result.equal


def test_lists_too_long_to_align_are_compared_place_by_place() -> None:
    many = [_action("enable_lcu_default", 5 * at + 5, cluster_index=0, lcu_index=at % 16) for at in range(2100)]
    other = [*many[:-1], _action("enable_lcu_default", 5, cluster_index=1, lcu_index=0), many[0]]
    found = _lines(_profile(*many), _profile(*other))
    assert found[0].startswith("#2099 ENABLE_LCU_DEFAULT cluster_index=0 lcu_index=3 != ")
    assert found[-1].endswith("only in B")


# -- the command


@pytest.fixture
def changed(tmp_path: Path) -> Callable[[Callable[[dict[str, Any]], object]], Path]:
    """The measured file with a change."""

    def make(change: Callable[[dict[str, Any]], object]) -> Path:
        document = json.loads(MEASURED.read_text())
        change(document)
        path = tmp_path / "changed.json"
        path.write_text(json.dumps(document, indent=4))
        return path

    return make


def _dynamic_0(document: dict[str, Any]) -> list[dict[str, Any]]:
    contexts = document["runs"][0]["contexts"]
    found: list[dict[str, Any]] = next(one for one in contexts if one["context_name"] == "dynamic_0")["actions"]
    return found


def test_a_measured_file_against_a_run(cli: Cli, changed: Any) -> None:
    assert is_fw_actions(MEASURED.read_bytes()[:4096])
    assert cli("diff", MEASURED, TWO_CONTEXT, "--json") == 0
    assert cli.document["equal"]
    contexts = {one["context"]: one for one in cli.document["runs"][0]["contexts"]}
    assert contexts["dynamic_0"]["actions"] == [26, 26]  # README: 26 actions of dynamic 0
    assert cli("diff", TWO_CONTEXT, changed(lambda it: _dynamic_0(it).pop(3)), "--json") == 6
    (difference,) = (
        one for run in cli.document["runs"] for context in run["contexts"] for one in context["differences"]
    )
    assert difference["what"] == "only_a"

    def slow(document: dict[str, Any]) -> None:
        for action in _dynamic_0(document)[-3:]:
            action["timestamp"] += 2000

    assert cli("diff", changed(slow), TWO_CONTEXT) == 0
    assert cli("diff", changed(slow), TWO_CONTEXT, "--tolerance", 20) == 6
    assert cli.out.count(" us != ") == 1


def test_a_measured_file_against_a_trace_and_another(cli: Cli, changed: Any, tmp_path: Path) -> None:
    trace, profile = tmp_path / "x.jsonl", tmp_path / "x.json"
    assert cli("run", TWO_CONTEXT, "--frames", 4, f"--trace={trace}") == 0
    assert cli("run", TWO_CONTEXT, "--frames", 4, f"--trace={profile}", "--trace-format", "fw-actions") == 0
    assert cli("diff", profile, trace, "--tolerance", 0) == 0
    assert cli("diff", trace, profile, "--tolerance", 0) == 0
    assert cli("diff", profile, profile, "--tolerance", 0) == 0
    assert cli("diff", MEASURED, changed(lambda it: _dynamic_0(it).reverse())) == 6
    assert cli("run", TWO_CONTEXT, "--batch", 2, f"--trace={trace}") == 0
    assert cli("diff", profile, trace) in (0, 6)  # one run on each side: lists are compared all the same


@pytest.mark.parametrize(
    "arguments",
    [
        (MEASURED, TWO_CONTEXT, "--batch", "2"),
        (MEASURED, TWO_CONTEXT, "--b-runtime", "4.20"),
        (MEASURED, MEASURED, "--device", "hailo8l"),
        (MEASURED, ROOT / "README.md"),
        (MEASURED,),
    ],
)
def test_what_has_no_effect_is_refused(cli: Cli, arguments: tuple[object, ...]) -> None:
    assert cli("diff", *arguments) in (2, 3)
    assert cli.out == ""


def test_a_batch_that_no_runtime_allows(cli: Cli, changed: Any) -> None:
    assert cli("diff", changed(lambda it: it["runs"][0].update(batch_size=64)), TWO_CONTEXT) == 2
    assert "64" in cli.err


def test_rules(cli: Cli, changed: Any) -> None:
    assert cli("check", "--trace", MEASURED) == 0
    assert "7 of 52 rules can be told" in cli.out or "rules can be told from it" in cli.out
    assert cli("check", "--trace", MEASURED, "--json") == 0
    unjudged = cli.document["traces"][0]["unjudged"]
    assert "wait-has-cause" in unjudged
    assert "context-order" not in unjudged

    def drop_deactivate(document: dict[str, Any]) -> None:
        actions = _dynamic_0(document)
        actions[:] = [one for one in actions if one["type"] != "deactivate_cfg_channel"]

    def early(document: dict[str, Any]) -> None:
        _dynamic_0(document)[5]["timestamp"] -= 4000

    def other_order(document: dict[str, Any]) -> None:
        del document["runs"][0]["contexts"][1]  # the preliminary

    for change, rule in ((drop_deactivate, "config-closed"), (early, "time-order"), (other_order, "context-order")):
        assert cli("check", "--trace", changed(change)) == 6
        assert f": {rule}: " in cli.out


@pytest.mark.parametrize("value", [2**40, -1])
def test_numbers_that_no_action_has(cli: Cli, changed: Any, value: int) -> None:
    def forge(document: dict[str, Any]) -> None:
        for action in _dynamic_0(document):
            action["data"] = dict.fromkeys(action["data"], value)

    assert cli("check", "--trace", changed(forge)) == 3
    assert "does not fit" in cli.err


def test_a_trace_that_says_less_is_refused(cli: Cli, tmp_path: Path) -> None:
    trace = tmp_path / "x.jsonl"
    assert cli("run", TWO_CONTEXT, f"--trace={trace}") == 0
    lines = trace.read_text().splitlines()
    lines = [line.replace('"cluster_index"', '"cluster"') for line in lines]
    trace.write_text("\n".join(lines) + "\n")
    with pytest.raises(HailoError, match="does not say"):
        profile_of_trace(TraceReader(trace))


def test_a_measured_file_is_a_golden_file(cli: Cli, changed: Any, tmp_path: Path) -> None:
    trace = tmp_path / "x.jsonl"
    assert cli("run", TWO_CONTEXT, "--frames", 3, f"--trace={trace}") == 0
    golden = changed(lambda it: None)
    check_golden(golden, trace, update=False, tolerance=10)
    kept = golden.read_bytes()
    check_golden(golden, trace, update=True)
    assert golden.read_bytes() == kept  # what hardware measured is never written anew
    with pytest.raises(AssertionError, match="only in A"):
        check_golden(changed(lambda it: _dynamic_0(it).insert(3, _dynamic_0(it)[4])), trace, update=False)
    with pytest.raises(AssertionError, match="batch 8"):
        check_golden(changed(lambda it: it["runs"][0].update(batch_size=8)), trace, update=False)
