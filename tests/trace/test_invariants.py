"""The invariants: every trace of ours keeps them, and each has a trace that breaks it."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from emu.chips.chips import load
from emu.errors import EmuError
from emu.host.session import RunRequest, run_program
from emu.trace.events import Header
from emu.trace.hazards import HAZARDS
from emu.trace.invariants import MAX_VIOLATIONS, RULES, check
from emu.trace.reader import TraceReader
from emu.trace.sinks.jsonl import JsonlSink
from emu.trace.tracer import Tracer
from tests.conftest import DATA
from tests.hw.captures import capture_files, layout_of, loaded
from tests.trace.helpers import TWO_CONTEXT, Cli, Record, actions, changed, records_of, traced, write_trace

CAPTURES = capture_files()


def broken(trace: Path) -> set[str]:
    return {violation.rule for violation in check(TraceReader(trace)).violations}


def test_sound_traces(two_context: Path, single: Path, ddr: Path) -> None:
    for trace in (two_context, single, ddr):
        assert broken(trace) == set()


@pytest.mark.parametrize("model", sorted((DATA / "hef").glob("*.hef")), ids=lambda path: path.stem)
def test_small_hefs(model: Path, tmp_path: Path) -> None:
    for batch, frames in ((1, 3), (2, 5)):
        try:
            traced(model, tmp_path / "x", batch=batch, frames=frames)
        except AssertionError as refused:
            pytest.skip(f"it does not run: {str(refused)[:80]}")
        assert broken(tmp_path / "x") == set()


@pytest.mark.parametrize("part", range(4))
@pytest.mark.skipif(not CAPTURES, reason="the shared captures are not here")
def test_captures_with_a_partial_batch(part: int, tmp_path: Path) -> None:
    """Every eighth capture: three batches and one frame more. Those that stall break `no-stall` only."""
    for path in CAPTURES[part * 2 :: 8]:
        capture = loaded(path)
        program = capture.program
        header = Header(path.name, program.runtime, program.device, program.batch, 0, 0, 200.0)
        with (tmp_path / "x").open("wb") as stream:
            sink = JsonlSink(stream, header)
            request = RunRequest(
                frames=program.batch * 3 + 1,
                layout=layout_of(capture),
                tracer_for=lambda clock, sink=sink: Tracer([sink], clock),
            )
            try:
                run_program(program, load(program.device), request)
                allowed = set()
            except EmuError:
                allowed = {"no-stall"}
        assert broken(tmp_path / "x") <= allowed, path.name


@pytest.mark.parametrize("seed", range(6))
def test_what_a_rule_does_not_look_at_tells_it_nothing(
    seed: int, two_context: Path, ddr: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rule that names its actions finds in a damaged trace what it finds when it is shown all of them."""
    rng = random.Random(seed)

    def damage(records: list[Record]) -> None:
        for _ in range(40):
            at = rng.randrange(1, len(records))
            match rng.randrange(3):
                case 0:
                    del records[at]
                case 1:
                    records.insert(rng.randrange(1, len(records)), dict(records[at]))
                case _:
                    other = rng.randrange(1, len(records))
                    records[at], records[other] = records[other], records[at]

    for trace in (two_context, ddr):
        damaged = changed(trace, tmp_path / "x", damage)
        found = check(TraceReader(damaged))
        assert found.violations
        with monkeypatch.context() as patch:
            for rule in RULES:
                patch.setattr(rule, "actions", None)
            assert check(TraceReader(damaged)) == found


# -- each rule, broken


def _back_in_time(records: list[Record]) -> None:
    records[40]["ns"] = 0


def _negative(records: list[Record]) -> None:
    records[actions(records, "LCU_INTERRUPT")[0]]["duration"] = -5


def _skip_preliminary(records: list[Record]) -> None:
    records[:] = [record for record in records if record.get("context") != "preliminary"]


def _swap_dynamic(records: list[Record]) -> None:
    names = {"dynamic_0": "dynamic_1", "dynamic_1": "dynamic_0"}
    begins = [at for at, record in enumerate(records) if record.get("kind") == "context_begin"]
    third = [at for at in begins if records[at]["context"] == "dynamic_0"][2]
    for record in records[third:]:
        if record.get("context") in names:
            record["context"] = names[record["context"]]


def _unopened(records: list[Record]) -> None:
    records[:] = [
        record for record in records if record.get("kind") != "context_begin" or record["context"] != "dynamic_1"
    ]


def _index_again(records: list[Record]) -> None:
    first, second = actions(records, "DISABLE_LCU", "dynamic_0")[:2]
    records[second]["action_index"] = records[first]["action_index"]


def _action_left_out(records: list[Record]) -> None:
    del records[actions(records, "DISABLE_LCU", "dynamic_1")[0]]


def _preliminary_cut(records: list[Record]) -> None:
    del records[actions(records, "DISABLE_LCU", "preliminary")[0]]


def _first_action_left_out(records: list[Record]) -> None:
    """Of a later run of a context: its first may leave out what the preliminary did."""
    del records[
        [at for at, one in enumerate(records) if one.get("context") == "dynamic_0" and one.get("action_index") == 0][-1]
    ]


def _wait_twice(records: list[Record]) -> None:
    at = next(at for at, record in enumerate(records) if record.get("kind") == "wait")
    records.insert(at, records[at])


def _launch_left_out(records: list[Record]) -> None:
    """The second launch of a channel: none of the counters goes back, but a launch makes twice as much available."""
    launches = [
        at for at, one in enumerate(records) if one.get("kind") == "launch" and one["unit"] == "channel 16 (D2H)"
    ]
    del records[launches[1]]


def _without(*names: str) -> Callable[[list[Record]], None]:
    def change(records: list[Record]) -> None:
        records[:] = [record for record in records if record.get("action") not in names]

    return change


def _transfer_of_unknown_channel(records: list[Record]) -> None:
    transfer = next(record for record in records if record.get("kind") == "transfer")
    transfer["unit"] = "channel 9 (H2D)"


def _lcu_never_done(records: list[Record]) -> None:
    records[:] = [
        record for record in records if not (record.get("kind") == "unit" and record["unit"] == "cluster 0 LCU 1")
    ]


def _output_never_came(records: list[Record]) -> None:
    records[:] = [
        record
        for record in records
        if not (record.get("kind") == "transfer" and record["unit"] == "channel 16 (D2H)" and record["frame"] < 2)
    ]


def _sequencer_never_done(records: list[Record]) -> None:
    records[:] = [record for record in records if not str(record.get("unit", "")).endswith("sequencer")]


def _wait_without_end(records: list[Record]) -> None:
    wait = next(record for record in records if record.get("kind") == "wait")
    del records[
        next(
            at
            for at in actions(records, wait["action"], wait["context"])
            if records[at]["action_index"] == wait["action_index"]
        )
    ]


def _fetch_after_close(records: list[Record]) -> None:
    close = actions(records, "DEACTIVATE_CFG_CHANNEL", "dynamic_0")[0]
    channel = records[close]["arguments"]["packed_vdma_channel_id"]
    at = next(
        at
        for at in actions(records, "FETCH_CFG_CHANNEL_DESCRIPTORS", "dynamic_0")
        if records[at]["arguments"]["packed_vdma_channel_id"] == channel
    )
    late = {**records[at], "ns": records[close]["ns"], "action_index": records[close]["action_index"]}
    records.insert(close + 1, late)
    records[close] = {**records[close], "action_index": records[close]["action_index"]}


def _frame_after_close(records: list[Record]) -> None:
    close = actions(records, "DEACTIVATE_VDMA_CHANNEL", "dynamic_0")[0]
    packed = records[close]["arguments"]["packed_vdma_channel_id"]
    frame = next(
        record for record in records if record.get("kind") == "transfer" and record["unit"] == f"channel {packed} (D2H)"
    )
    records.insert(close + 1, {**frame, "ns": records[close]["ns"]})


def _wait_after_close(records: list[Record]) -> None:
    close = actions(records, "DEACTIVATE_VDMA_CHANNEL", "dynamic_0")[0]
    wait = actions(records, "OUTPUT_CHANNEL_TRANSFER_DONE_INTERRUPT", "dynamic_0")[0]
    records.insert(close, records.pop(wait))


def _close_twice(records: list[Record]) -> None:
    close = actions(records, "DEACTIVATE_CFG_CHANNEL", "dynamic_1")[0]
    records.insert(close, records[close])


def _more_than_available(records: list[Record]) -> None:
    transfer = next(
        record for record in records if record.get("kind") == "transfer" and record["cause"].startswith("boundary")
    )
    transfer["arguments"]["processed"] = transfer["arguments"]["available"] + 1


def _credit_from_nowhere(records: list[Record]) -> None:
    mine = [
        at
        for at, record in enumerate(records)
        if record.get("kind") in ("launch", "transfer") and record["unit"] == "channel 2 (H2D)"
    ]
    kinds = [records[at]["kind"] for at in mine]
    del records[mine[kinds.index("transfer") - 1]]


def _read_unwritten(records: list[Record]) -> None:
    written = next(
        at
        for at, record in enumerate(records)
        if record.get("kind") == "transfer" and record["cause"].startswith("inter-context")
    )
    records[written]["arguments"]["dma_address"] += 1


def _frame_twice(records: list[Record]) -> None:
    at = next(at for at, record in enumerate(records) if record.get("kind") == "transfer")
    records.insert(at, records[at])


def _reset_late(records: list[Record]) -> None:
    first = actions(records, "BURST_CREDITS_TASK_RESET", "activation")[0]
    last = actions(records, "OPEN_BOUNDARY_INPUT_CHANNEL", "activation")[-1]
    records[first], records[last] = records[last], records[first]


def _stall(records: list[Record]) -> None:
    records.append({"ns": records[-1]["ns"], "kind": "stall", "cause": "stalled: nothing progresses"})


def _hazard(name: str) -> Callable[[list[Record]], None]:
    def append(records: list[Record]) -> None:
        records.append({"ns": records[-1]["ns"], "kind": "hazard", "action": name, "unit": "cluster 0", "cause": "so"})

    return append


VIOLATIONS: dict[str, list[Callable[[list[Record]], None]]] = {
    "time-order": [_back_in_time, _negative],
    "context-order": [_skip_preliminary, _swap_dynamic, _unopened],
    "action-order": [_index_again, _action_left_out, _preliminary_cut, _first_action_left_out],
    "configure-before-data": [
        _without("ACTIVATE_BOUNDARY_INPUT"),
        _without("ACTIVATE_INTER_CONTEXT_OUTPUT"),
        _without("OPEN_BOUNDARY_OUTPUT_CHANNEL"),
        _transfer_of_unknown_channel,
    ],
    "credits-before-input": [_without("BURST_CREDITS_TASK_START"), _without("FETCH_DATA_FROM_VDMA_CHANNEL")],
    "wait-has-cause": [
        _lcu_never_done,
        _output_never_came,
        _sequencer_never_done,
        _without("ENABLE_LCU_DEFAULT"),
        _without("TRIGGER_SEQUENCER"),
        _without("FETCH_CFG_CHANNEL_DESCRIPTORS"),
    ],
    "wait-ends": [_wait_without_end, _wait_twice],
    "closed-channel": [_fetch_after_close, _frame_after_close, _wait_after_close, _close_twice],
    "credits-conserved": [_more_than_available, _credit_from_nowhere, _launch_left_out],
    "read-was-written": [_read_unwritten],
    "frames-in-order": [_frame_twice],
    "config-closed": [_without("DEACTIVATE_CFG_CHANNEL")],
    "output-awaited": [_without("OUTPUT_CHANNEL_TRANSFER_DONE_INTERRUPT")],
    "paused-before": [_without("PAUSE_VDMA_CHANNEL")],
    "reset-before-opened": [_reset_late],
    "no-stall": [_stall],
    **{name: [_hazard(name)] for name in HAZARDS},
}


def test_every_rule_has_its_violation() -> None:
    assert [rule.name for rule in RULES] == list(VIOLATIONS)
    assert all(rule.says().endswith(".") for rule in RULES)


@pytest.mark.parametrize("rule", VIOLATIONS)
def test_violations_are_found(rule: str, two_context: Path, tmp_path: Path, cli: Cli) -> None:
    for change in VIOLATIONS[rule]:
        path = changed(two_context, tmp_path / "x", change)
        assert rule in broken(path), change
        assert cli("check", "--trace", path) == 6
        assert f": {rule}: " in cli.out


def test_the_command(two_context: Path, tmp_path: Path, cli: Cli) -> None:
    assert cli("check", "--trace", two_context) == 0
    assert "no rule violated" in cli.out
    path = changed(two_context, tmp_path / "x", _lcu_never_done)
    assert cli("check", "--trace", two_context, "--trace", path, "--json") == 6
    sound, violated = cli.document["traces"]
    assert (sound["violations"], sound["more"]) == ([], 0)
    first = violated["violations"][0]
    assert (first["rule"], first["context"], first["action_index"]) == ("wait-has-cause", "dynamic_0", 19)
    assert first["line"] > 1
    assert cli("check") == 2
    assert cli("check", "--rules") == 0
    assert all(rule.name in cli.out for rule in RULES)


def test_hardly_an_action_can_be_left_out(two_context: Path, tmp_path: Path) -> None:
    """Every action, dropped by itself: only the last of a run, and what a first run may leave out, goes unnoticed."""
    records = records_of(two_context)
    dropped = [at for at, record in enumerate(records) if record.get("kind") == "action"]
    unnoticed = [at for at in dropped if not broken(write_trace(tmp_path / "x", records[:at] + records[at + 1 : -1]))]
    assert len(unnoticed) < len(dropped) // 4, [records[at] for at in unnoticed]


def test_many_violations_are_counted(two_context: Path, tmp_path: Path) -> None:
    def change(records: list[Record]) -> None:
        stall = {"ns": records[-1]["ns"], "kind": "stall", "cause": "x"}
        records.extend([stall] * (MAX_VIOLATIONS + 7))

    result = check(TraceReader(changed(two_context, tmp_path / "x", change)))
    assert (len(result.violations), result.more) == (MAX_VIOLATIONS, 7)


def test_a_fault_breaks_no_rule_but_progress(tmp_path: Path, cli: Cli) -> None:
    target = tmp_path / "x"
    assert cli("run", TWO_CONTEXT, "--inject", "stall-channel:2", f"--trace={target}") == 5
    assert broken(target) == {"no-stall"}
