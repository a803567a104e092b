"""Record and replay, breakpoints and stepping, coverage files: what watches a run from outside."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from emu.chips.chips import load
from emu.errors import UsageError
from emu.hef import open_hef
from emu.host.debugger import Breakpoint, Debugger
from emu.host.prepare import prepare
from emu.host.session import RunRequest, run_program
from emu.host.spec import RunSpec
from emu.hw.device import Device
from emu.hw.handlers import HANDLERS
from emu.sequencer.compile import CompileOptions, compile_hef
from emu.trace.diff import compare
from emu.trace.reader import TraceReader
from emu.wire.actions import ActionType
from tests.conftest import DATA, SHARED, needs_shared
from tests.trace.helpers import SINGLE, TWO_CONTEXT, Cli, records_of

# -- record and replay


@pytest.fixture
def recording(cli: Cli, tmp_path: Path) -> Path:
    folder = tmp_path / "recording"
    assert cli("run", TWO_CONTEXT, "--frames", 3, "--record", folder) == 0
    return folder


def _change(folder: Path, kind: str, **fields: object) -> int:
    """Change the last record of a kind; returns its number."""
    path = folder / "record.jsonl"
    records = records_of(path)
    at = [at for at, record in enumerate(records) if record["kind"] == kind][-1]
    records[at] |= fields
    path.write_bytes(b"".join(orjson.dumps(record) + b"\n" for record in records))
    return at + 1


def test_a_recording_holds_all_that_crosses_the_border(recording: Path, cli: Cli, tmp_path: Path) -> None:
    records = records_of(recording / "record.jsonl")
    trace = tmp_path / "x.trace"
    assert cli("run", TWO_CONTEXT, "--frames", 3, f"--trace={trace}", "--json") == 0
    events = list(TraceReader(trace))
    for kind in ("control", "launch"):
        assert sum(record["kind"] == kind for record in records) == sum(event["kind"] == kind for event in events)
    transfers = [record for record in records if record["kind"] == "transfer"]
    passed = [event for event in events if event["kind"] == "transfer"]
    assert [record["frame"] for record in transfers] == [event["frame"] for event in passed]
    assert len({record["digest"] for record in transfers if record["direction"] == "d2h"}) == 6
    writes = sum(record["kind"] == "write" for record in records)
    assert writes > 100


def test_a_replay_is_the_same(recording: Path, cli: Cli) -> None:
    assert cli("replay", recording) == 0
    assert "replayed without a difference" in cli.out
    assert cli("replay", recording, "--json") == 0
    assert cli.document["equal"] is True
    assert cli.document["records"] == len(records_of(recording / "record.jsonl"))


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("control", {"request": "00"}),
        ("write", {"data": "01020304"}),
        ("launch", {"num_available": 31}),
        ("transfer", {"digest": "00" * 16}),
        ("transfer", {"ns": 1}),
    ],
)
def test_the_first_difference_is_reported(kind: str, fields: dict[str, Any], recording: Path, cli: Cli) -> None:
    number = _change(recording, kind, **fields)
    assert cli("replay", recording, "--json") == 6
    divergence = cli.document["divergence"]
    assert (divergence["number"], divergence["fields"]) == (number, list(fields))
    assert divergence["recorded"]["kind"] == divergence["replayed"]["kind"] == kind
    assert cli("replay", recording) == 6
    assert f"first difference at record {number}" in cli.out


def test_a_control_message_that_differs_is_named_field_by_field(recording: Path, cli: Cli) -> None:
    """The last of the lists that were sent, with another LCU in one action (firmware-actions.md 3: its first byte)."""
    path = recording / "record.jsonl"
    records = records_of(path)
    at = [at for at, one in enumerate(records) if one["kind"] == "control" and one["request"][24:32] == "00000021"][-1]
    request = bytearray.fromhex(records[at]["request"])
    place = request.index(bytes((16, 0xFF, 0xFF, 0xFF, 0xFF)))  # LCU_INTERRUPT, not executed
    was = request[place + 5]
    request[place + 5] = was ^ 1
    records[at] |= {"request": request.hex()}
    path.write_bytes(b"".join(orjson.dumps(record) + b"\n" for record in records))
    assert cli("replay", recording, "--json") == 6
    (field,) = cli.document["divergence"]["decoded"]
    assert field["field"].endswith(" LCU_INTERRUPT.packed_lcu_id")
    assert field["field"].startswith("request action ")
    assert (field["recorded"], field["replayed"]) == (str(was ^ 1), str(was))
    assert cli("replay", recording) == 6
    assert f"LCU_INTERRUPT.packed_lcu_id {was ^ 1} != {was}" in cli.out
    assert request.hex()[:80] not in cli.out


def test_records_that_are_missing_or_too_many(recording: Path, cli: Cli) -> None:
    path = recording / "record.jsonl"
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    path.write_bytes(whole[:-5])
    assert cli("replay", recording) == 3
    path.write_bytes(b"".join([*lines, lines[-1]]))
    assert cli("replay", recording) in (3, 6)
    path.write_bytes(b"".join(lines[:-1]))
    assert cli("replay", recording) in (3, 6)
    path.write_bytes(b"nonsense\n" + whole)
    assert cli("replay", recording) == 3
    path.unlink()
    assert cli("replay", recording) == 3
    assert cli.err.count("\n") == 1


@pytest.mark.parametrize(
    "manifest",
    [
        b"",
        b"[]",
        b"{}",
        b'{"schema":"emu-record","version":2}',
        b'{"schema":"emu-record","version":1,"counts":{},"run":{}}',
        b'{"schema":"emu-record","version":1,"counts":{},"run":{"files":[{}],"options":{}}}',
        b'{"schema":"emu-record","version":1,"counts":{},"run":{"files":[],"options":{"common":{}}}}',
    ],
)
def test_foreign_recordings(manifest: bytes, recording: Path, cli: Cli) -> None:
    (recording / "manifest.json").write_bytes(manifest)
    assert cli("replay", recording) == 3
    assert cli.err.count("\n") == 1


def _places(values: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where there is a value in a JSON document."""
    for key in values if isinstance(values, dict) else range(len(values)) if isinstance(values, list) else ():
        yield (*place, key)
        yield from _places(values[key], (*place, key))


def test_manifests_with_a_wrong_value_anywhere(recording: Path, cli: Cli) -> None:
    """Each value in turn, of another type, negative or left out: refused in a line, or what it then says is run."""
    path = recording / "manifest.json"
    whole = path.read_bytes()
    for place in _places(orjson.loads(whole)):
        for value in (None, [], ["x"], {"a": []}, -1, ...):
            manifest = inner = orjson.loads(whole)
            for key in place[:-1]:
                inner = inner[key]
            if value is ...:
                del inner[place[-1]]
            else:
                inner[place[-1]] = value
            path.write_bytes(orjson.dumps(manifest))
            assert cli("replay", recording) in (0, 2, 3, 4, 6), (place, value)


def test_an_unfinished_recording(recording: Path, cli: Cli, tmp_path: Path) -> None:
    (recording / "manifest.json").unlink()
    assert cli("replay", recording) == 3
    assert "no finished recording" in cli.err
    assert cli("replay", tmp_path / "nowhere") == 3


def test_nothing_is_overwritten(recording: Path, cli: Cli) -> None:
    before = (recording / "record.jsonl").read_bytes()
    assert cli("run", SINGLE, "--record", recording) == 2
    assert (recording / "record.jsonl").read_bytes() == before


def test_another_file_in_its_place(recording: Path, cli: Cli, tmp_path: Path) -> None:
    same = shutil.copyfile(TWO_CONTEXT, tmp_path / "y.hef")
    assert cli("replay", recording, same) == 0
    assert cli("replay", recording, SINGLE) == 6
    assert "its bytes differ" in cli.err
    assert "CONTEXT_SWITCH_SET_NETWORK_GROUP_HEADER" in cli.out
    assert cli("replay", recording, tmp_path / "gone.hef") == 2


def test_inputs_are_found_from_anywhere(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Recorded with a relative name, replayed from another folder; changed, it differs; gone, that is said."""
    (tmp_path / "elsewhere").mkdir()
    name = "two_context/input_layer1"
    frame = tmp_path / "a=b.bin"
    for number, argument in enumerate((frame.name, f"{name}={frame.name}")):
        monkeypatch.chdir(tmp_path)
        frame.write_bytes(bytes(3072))
        assert cli("run", TWO_CONTEXT, "--input", argument, "--record", f"record{number}") == 0
        monkeypatch.chdir(tmp_path / "elsewhere")
        assert cli("replay", tmp_path / f"record{number}") == 0
        frame.write_bytes(bytes([1]) * 3072)
        assert cli("replay", tmp_path / f"record{number}") == 6
        assert "digest" in cli.out
        frame.unlink()
        assert cli("replay", tmp_path / f"record{number}") in (2, 3)
        assert frame.name in cli.err
        assert cli.err.count("\n") == 1


def test_a_file_that_does_not_run_in_its_place(recording: Path, cli: Cli, tmp_path: Path) -> None:
    """Nothing runs, so nothing differs: the error is that of the file."""
    cut = tmp_path / "cut.hef"
    cut.write_bytes(TWO_CONTEXT.read_bytes()[:1000])
    assert cli("replay", recording, cut) == 3
    assert "truncated" in cli.err
    assert cli.out == ""


def test_runs_that_fail_replay_too(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "recording"
    assert cli("run", TWO_CONTEXT, "--inject", "stall-channel:2", "--record", folder) == 5
    assert cli("replay", folder) == 0


@pytest.mark.parametrize(
    "capture",
    [
        pytest.param(SHARED / "silicon" / "mnist.json", marks=needs_shared),
        DATA / "sequencer" / "synth" / "capture" / "4.23" / "ddr1_a.json",
    ],
    ids=lambda path: path.stem,
)
def test_captures_replay_too(capture: Path, cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "recording"
    assert cli("run", "--actions", capture, "--frames", 3, "--record", folder) == 0
    assert cli("replay", folder) == 0


# -- breakpoints and stepping


def _debugged(cli: Cli, tmp_path: Path, commands: str, *options: object) -> list[str]:
    script = tmp_path / "script"
    script.write_text(commands)
    assert cli("run", TWO_CONTEXT, *options, "--break-script", script) == 0
    return cli.out.splitlines()


def test_a_stop_shows_queues_channels_lcus_and_memory(cli: Cli, tmp_path: Path) -> None:
    commands = "where\nqueues\nchannels\nlcus\nwaits\nmemory 0x108001DC 2\nquit\n"
    lines = _debugged(cli, tmp_path, commands, "--break", "dynamic_0:17")
    assert lines[0].endswith("before dynamic_0 #17 LCU_INTERRUPT packed_lcu_id=0")
    text = "\n".join(lines)
    assert "> dynamic_0 #17 LCU_INTERRUPT" in text
    assert "dynamic_0           26 actions, 0 runs, at action 17" in text
    assert "channel 2 (H2D): boundary stream 0" in text
    assert "cluster 0 LCU 0: network 0, 0 of 1 frames" in text
    assert "0x108001DC (cluster 0 lcu): 0x00000001" in text
    assert "FPS" not in text  # quit ends the run


def test_looking_changes_nothing(cli: Cli, tmp_path: Path) -> None:
    plain, watched = tmp_path / "a", tmp_path / "b"
    assert cli("run", TWO_CONTEXT, "--frames", 2, f"--trace={plain}") == 0
    commands = "channels\nlcus\nmemory 0x10000000 100\nstep 3\nwhere\n" * 20
    _debugged(cli, tmp_path, commands, "--frames", 2, "--step", f"--trace={watched}")
    assert compare(TraceReader(plain), TraceReader(watched), 0).equal


def test_steps_and_breakpoints(cli: Cli, tmp_path: Path) -> None:
    commands = "s\ns 2\nbreak dynamic_1:4\nbreaks\nc\ndelete 1\nbreaks\nc\n"
    stops = [line for line in _debugged(cli, tmp_path, commands, "--step") if line.startswith("[")]
    places = [line.split("before ")[1].split(" ")[:2] for line in stops]
    assert places == [["activation", "#0"], ["activation", "#1"], ["preliminary", "#0"], ["dynamic_1", "#4"]]
    assert "FPS" in cli.out


def test_a_write_stops_the_run(cli: Cli, tmp_path: Path) -> None:
    lines = _debugged(cli, tmp_path, "c\nc\nquit\n", "--break", "write:0x128001DC")
    assert [line.split("] ")[1] for line in lines if line.startswith("[")][:2] == [
        "0x128001DC = 0x00000000 is written by preliminary #4 DISABLE_LCU packed_lcu_id=16",
        "0x128001DC = 0x00000001 is written by dynamic_1 #8 ENABLE_LCU_DEFAULT packed_lcu_id=16 network_index=0",
    ]


def test_watches_stop_where_something_changes(cli: Cli, tmp_path: Path) -> None:
    """The frame of 3,072 bytes is 6 descriptors of 512; the enable register of cluster 1 LCU 0 is written twice."""
    commands = "watch channel 2.processed\nwatch 0x128001DC == 1\nwatch 0x128001DC & 0x2\nwatches\nc\nc\nunwatch 1\nc\n"
    lines = _debugged(cli, tmp_path, commands, "--break", "dynamic_0:16")
    assert "1 channel 2.processed (now 0)" in lines
    assert "2 0x128001DC == 1 (now 0x00000000)" in lines
    stops = [line.partition("] ")[2] for line in lines if line.startswith("[")]
    assert stops[1].startswith("channel 2.processed: 0 -> 6 at dynamic_0 #1")
    assert stops[2].startswith("0x128001DC == 1: it is 0x00000001 at dynamic_1 #")
    assert [stop.split(" ")[0] for stop in stops] == ["before", "channel", "0x128001DC", "before"]
    assert "FPS" in cli.out


@pytest.mark.parametrize(
    "watch", ["", "x", "channel 2", "channel 2.color", "channel x.bytes", "0x10 =< 3", "4294967296"]
)
def test_watches_that_are_wrong(cli: Cli, tmp_path: Path, watch: str) -> None:
    lines = _debugged(cli, tmp_path, f"watch {watch}\nwatches\nunwatch 3\nc\n", "--break", "dynamic_0:0")
    assert "no watches" in lines
    assert "there are 0 watches" in lines
    assert "FPS" in cli.out


def test_streams_trace_and_explain(cli: Cli, tmp_path: Path) -> None:
    commands = "trace 2\nstreams\nexplain\nexplain 0x40130016\nexplain nothing of the kind\nquit\n"
    lines = _debugged(cli, tmp_path, commands, "--break", "dynamic_0:17")
    assert [line.split("] ")[1].split(" ")[1] for line in lines[1:3]] == ["#15", "#16"]
    text = "\n".join(lines)
    assert "stream 0 (boundary), channel 2 (H2D), network 0: 0 frames in this pass" in text
    assert "32 core buffers of 96 bytes a frame" in text  # docs/hef.md: what inspect says of the stream
    assert "LCU_INTERRUPT: action" in text
    assert "MISALIGNMENT_ERROR_WHILE_READING_ACTIONS: firmware status" in text
    assert "nothing here is called" in text


def test_watching_changes_nothing(cli: Cli, tmp_path: Path) -> None:
    plain, watched = tmp_path / "a", tmp_path / "b"
    assert cli("run", TWO_CONTEXT, "--frames", 3, f"--trace={plain}") == 0
    commands = "watch channel 2.transfers\nwatch channel 17.bytes > 100\n" + "streams\ntrace\nc\n" * 9
    _debugged(cli, tmp_path, commands, "--frames", 3, "--step", f"--trace={watched}")
    assert compare(TraceReader(plain), TraceReader(watched), 0).equal


def test_the_tab_key_completes(tmp_path: Path) -> None:
    """Commands, contexts of the applications, channels; and nothing where nothing is known."""
    run, found = prepare(RunSpec.of(TWO_CONTEXT)), []

    def attach(device: Device) -> None:
        def show(line: str) -> None:
            asked = ("wa", "break dyn", "break ", "watch channel 2.p", "memory ", "")
            found.append([debugger.complete(one) for one in asked])

        debugger = Debugger(device.inspection, [Breakpoint.parse("dynamic_0:17")], iter(()), show)
        debugger.attach()

    run.request.on_device = attach
    run_program(run.program, run.profile, run.request)
    ((commands, places, anywhere, counters, nothing, all_commands),) = found
    assert commands == ["waits", "watch", "watches"]
    assert places == ["dynamic_0:", "dynamic_1:"]
    assert "write:" in anywhere
    assert counters == ["2.processed", "2.paused"]
    assert nothing == []
    assert {"streams", "trace", "explain"} <= set(all_commands)


def test_commands_that_are_wrong_do_no_harm(cli: Cli, tmp_path: Path) -> None:
    commands = "\n# a comment\nnonsense\nmemory\nmemory x\nmemory -4\nbreak x\ndelete 9\n"
    commands += "memory 0xFFFFFFFC 9\nstep x\nhelp\nc\n"
    text = "\n".join(_debugged(cli, tmp_path, commands, "--break", "preliminary:0"))
    assert "nonsense: not understood" in text
    assert "takes a whole number, not 'x'" in text
    assert "there are 1 breakpoints" in text
    assert "FPS" in text


def test_breakpoints_that_are_wrong(cli: Cli) -> None:
    places = ["x", "dynamic:1", "dynamic_0:", "write:", "write:0xZZ", "preliminary_1:0"]
    places += ["write:0x100000000", "dynamic_\u0663:1", "dynamic_0:" + "9" * 6000]
    for place in places:
        with pytest.raises(UsageError):
            Breakpoint.parse(place)
        assert cli("run", TWO_CONTEXT, "--break", place) == 2
    assert cli("run", TWO_CONTEXT, "--break-script", "nowhere", "--step") == 2
    assert cli("run", TWO_CONTEXT, "--break-script", "nowhere") == 2


def test_places_that_are_never_reached_are_named(cli: Cli, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("c\n" * 20)
    places = ("dynamic_9:0", "dynamic_0:3", "write:0x10", "write:0x128001DC")
    options = [option for place in places for option in ("--break", place)]
    assert cli("run", TWO_CONTEXT, *options, "--break-script", script) == 0
    assert cli.err.splitlines() == [
        "emu: warning: --break dynamic_9:0 was never reached",
        "emu: warning: --break write:0x00000010 was never reached",
    ]


def test_json_stays_one_document(cli: Cli, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("where\nc\n")
    assert cli("run", TWO_CONTEXT, "--break", "dynamic_0:3", "--break-script", script, "--json") == 0
    assert cli.document["network_groups"]
    assert "dynamic_0 #3" in cli.err


def _program() -> Any:
    return compile_hef(open_hef(TWO_CONTEXT), CompileOptions())


def test_breakpoint_in_a_handler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain `breakpoint()` stops inside a handler, with the firmware and the arguments at hand."""
    seen: list[tuple[int, str]] = []

    def look() -> None:
        frame = sys._getframe(1)
        seen.append((frame.f_locals["a"].packed_lcu_id, frame.f_locals["fw"].context.name))

    monkeypatch.setattr(sys, "breakpointhook", look)
    original = HANDLERS[ActionType.ENABLE_LCU_DEFAULT]

    def handler(fw: Any, a: Any) -> Any:
        breakpoint()
        return original(fw, a)

    monkeypatch.setitem(HANDLERS, ActionType.ENABLE_LCU_DEFAULT, handler)
    run_program(_program(), load("hailo8"), RunRequest(frames=1))
    assert seen[:2] == [(0, "dynamic_0"), (1, "dynamic_0")]


def test_breakpoint_in_a_hook(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hooks before each action, and on register writes, see the device as it stands there."""
    stops: list[str] = []
    monkeypatch.setattr(sys, "breakpointhook", lambda: stops.append(sys._getframe(1).f_locals["context"].name))

    def hook(context: Any, step: Any) -> None:
        if step.type is ActionType.TRIGGER_SEQUENCER:
            breakpoint()

    def attach(device: Device) -> None:
        device.probe.action_hooks.append(hook)

    run_program(_program(), load("hailo8"), RunRequest(frames=1, on_device=attach))
    assert stops == ["dynamic_0", "dynamic_1", "dynamic_0"]  # the device goes on to the next batch


# -- coverage


def test_coverage_merges_over_runs(cli: Cli, tmp_path: Path) -> None:
    report, other = tmp_path / "a.json", tmp_path / "b.json"
    assert cli("run", TWO_CONTEXT, "--coverage-file", report) == 0
    first = orjson.loads(report.read_bytes())
    assert cli("run", TWO_CONTEXT, "--coverage-file", report) == 0
    second = orjson.loads(report.read_bytes())
    assert second["actions"] == {name: 2 * count for name, count in first["actions"].items()}
    # a run that fails is covered too
    assert cli("run", SINGLE, "--inject", "stall-channel:2", "--coverage-file", other) == 5
    merged = tmp_path / "c.json"
    assert cli("coverage", report, other, "-o", merged, "--json") == 0
    assert orjson.loads(merged.read_bytes()) == cli.document
    assert cli.document["actions"]["APPLICATION_CHANGE_INTERRUPT"] == 1
    assert cli("coverage", merged) == 0
    assert "action types" in cli.out


def test_skipped_batches_are_counted(cli: Cli, tmp_path: Path) -> None:
    """A long run that nobody watches has the counts of one whose every action is traced."""
    skipped, traced = tmp_path / "skipped.json", tmp_path / "traced.json"
    assert cli("run", TWO_CONTEXT, "--frames", 300, "--coverage-file", skipped) == 0
    assert cli("run", TWO_CONTEXT, "--frames", 300, "--coverage-file", traced, f"--trace={tmp_path}/t") == 0
    counts = orjson.loads(skipped.read_bytes())
    assert counts == orjson.loads(traced.read_bytes())
    assert counts["actions"]["LCU_INTERRUPT"] == 1201


def test_the_threshold_fails(cli: Cli, tmp_path: Path) -> None:
    report = tmp_path / "a.json"
    assert cli("run", TWO_CONTEXT, "--coverage-file", report) == 0
    percent = orjson.loads(report.read_bytes())["percent"]
    assert cli("coverage", report, "--threshold", int(percent)) == 0
    assert cli("coverage", report, "--threshold", int(percent) + 1) == 6
    for nothing in ("nan", "inf", "-1", "101", "x"):  # a threshold that no report could be below is none
        assert cli("coverage", report, "--threshold", nothing) == 2


COUNTS = ("-1", "1.5", "1e300", '"5"', "true", "null", "[]", str(1 << 63))
FOREIGN = [b"", b"{}", b"[1]", b'{"actions":5,"statuses":{},"units":{}}', b"\xff"]
FOREIGN += [f'{{"actions":{{"HALT":{count}}},"statuses":{{}},"units":{{}}}}'.encode() for count in COUNTS]


@pytest.mark.parametrize("content", FOREIGN)
def test_foreign_reports(content: bytes, cli: Cli, tmp_path: Path) -> None:
    report = tmp_path / "a.json"
    report.write_bytes(content)
    assert cli("coverage", report) == 3
    assert cli("run", TWO_CONTEXT, "--coverage-file", report) == 3
    assert report.read_bytes() == content


def test_not_for_graphs(cli: Cli, tmp_path: Path) -> None:
    model = sorted((Path(__file__).parent.parent / "data" / "graphs" / "om").glob("act_0.om"))[0]
    for options in (("--record", tmp_path / "r"), ("--break", "dynamic_0:1"), ("--step",), ("--coverage-file", "x")):
        assert cli("run", model, *options) == 2
