"""A run that is saved and resumed does what the run that was never interrupted does, to the byte."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st

from emu.chips.chips import Profile, load
from emu.cli.main import main
from emu.errors import EmuError, HailoError, UsageError
from emu.host import checkpoint as files
from emu.host.checkpoint import Checkpoint, resume, saving
from emu.host.combine import combine
from emu.host.coverage import Coverage
from emu.host.prepare import prepare
from emu.host.session import RunRequest, RunResult, run_program
from emu.host.spec import RunSpec
from emu.hw.faults import Fault
from emu.sequencer.program import Program
from emu.timing.model import Compute
from emu.trace.events import Event
from emu.trace.tracer import Tracer
from tests.conftest import DATA, ROOT, SHARED, needs_shared
from tests.hw.lists import Lists, double, single, with_ddr, with_outputs
from tests.hw.test_units import double_with_ddr
from tests.strategies.flows import computes, host_times, timing_of

MAKES = (single, double, with_ddr)
RECIPE = {"model": "lists"}


class Recorder:
    def __init__(self) -> None:
        self.events: list[Event] = []

    def write(self, events: Sequence[Event]) -> None:
        self.events += events

    def close(self) -> None:
        pass


class Run:
    """One way to run a request, and everything that can be seen of it."""

    def __init__(
        self, program: Program, profile: Profile, request: RunRequest, traced: bool, registers: bool = False
    ) -> None:
        self.program, self.profile, self.request = program, profile, request
        self.recorder, self.rows = Recorder(), list[tuple[Any, ...]]()
        self.result: RunResult | None = None
        self.error = ""
        if traced:
            request.tracer_for = lambda clock: Tracer([self.recorder], clock, registers)
        if request.take is not None:
            request.take = lambda *row: self.rows.append(row)

    def whole(self) -> Run:
        return self._of(lambda: run_program(self.program, self.profile, self.request))

    def saved(self, frame: int, found: list[Checkpoint]) -> Run:
        request = saving(self.request, frame, RECIPE, found.append)
        return self._of(lambda: run_program(self.program, self.profile, request))

    def resumed(self, found: Checkpoint) -> Run:
        return self._of(lambda: resume(self.program, self.profile, self.request, found))

    def _of(self, run: Any) -> Run:
        try:
            self.result = run()
        except EmuError as error:
            self.error = error.line()
        return self

    def seen(self) -> dict[str, Any]:
        found = {"error": self.error, "rows": self.rows}
        if self.result is None:
            return found
        device = self.result.device
        assert device is not None
        now = device.clock.time
        return found | {
            "groups": self.result.groups,
            "switches": self.result.switches,
            "events": self.result.events,
            "wall_ns": self.result.wall_ns,
            "now": now,
            "units": [(unit.name, unit.state(now), unit.counters()) for unit in device.units()],
            "memory": (device.memory.snapshot(), device.memory.content_hash, device.memory.written_by_lists()),
            "hazards": list(device.hazards),
            "notifications": device.notifications,
            "coverage": Coverage.of(device.inspection).document(),
        }


def check(make: Any, frame: int, traced: bool, registers: bool = False) -> Checkpoint:
    """`make` gives (program, profile, request), each time anew; what a file holds is resumed."""
    found: list[Checkpoint] = []
    whole = Run(*make(), traced, registers).whole()
    saved = Run(*make(), traced, registers).saved(frame, found)
    assert saved.seen() == whole.seen()
    assert saved.recorder.events == whole.recorder.events
    (checkpoint,) = found
    assert checkpoint.frame >= frame
    resumed = Run(*make(), traced, registers).resumed(Checkpoint.decode(checkpoint.encode()))
    assert resumed.seen() == whole.seen()
    rest = [event for event in whole.recorder.events if event.ns > checkpoint.ns]
    assert resumed.recorder.events[-len(rest) :] == rest if rest else True
    assert all(event.ns >= checkpoint.ns for event in resumed.recorder.events)
    if not traced:
        _check_trace(make, checkpoint)
    return checkpoint


def _check_trace(make: Any, checkpoint: Checkpoint) -> None:
    """Of a run that nobody traced: resumed with a trace, that is the rest of the trace of the uninterrupted run."""
    whole, resumed = Run(*make(), True).whole(), Run(*make(), True).resumed(checkpoint)
    seen, events = resumed.recorder.events, whole.recorder.events
    assert seen == events[len(events) - len(seen) :]
    assert len(seen) >= sum(event.ns > checkpoint.ns for event in events)
    # what was added up before the checkpoint is no event of a run
    assert resumed.seen() | {"events": 0} == whole.seen() | {"events": 0}


def _of_lists(lists: Lists, **request: Any) -> Any:
    return lambda: (lists.program(), load(lists.device), RunRequest(**request))


@given(
    make=st.sampled_from(MAKES),
    batch=st.sampled_from((1, 2, 4)),
    frames=st.integers(2, 23),
    at=st.floats(0, 1),
    fault=st.sampled_from(
        ("", "drop-interrupt:0#1", "delay-interrupt:16#1=5000", "reorder-interrupt:16#1", "slow-channel:0=3")
    ),
    traced=st.booleans(),
    kept=st.booleans(),
)
@settings(max_examples=30)
def test_any_run_can_be_resumed_anywhere(
    make: Any, batch: int, frames: int, at: float, fault: str, traced: bool, kept: bool
) -> None:
    def request() -> dict[str, Any]:
        faults = [Fault.parse(fault)] if fault else []
        take = (lambda *_: None) if kept else None
        return {"frames": frames, "faults": faults, "keep_outputs": kept, "take": take}

    lists = make(batch=batch)
    check(lambda: (lists.program(), load(lists.device), RunRequest(**request())), 1 + round(at * (frames - 1)), traced)


@pytest.mark.parametrize("frames", [40, 400])
@pytest.mark.parametrize("make", MAKES)
def test_frames_that_are_advanced_over_stay_so(make: Any, frames: int) -> None:
    """The checkpoint lies behind them, and the number of events is that of the uninterrupted run."""
    checkpoint = check(_of_lists(make(), frames=frames), 20, False)
    assert 20 <= checkpoint.frame <= frames


@pytest.mark.parametrize("make", [double, double_with_ddr])
@pytest.mark.parametrize(("frames", "frame"), [(50, 44), (71, 30)])
def test_the_host_acts_until_the_firmware_can_be_taken_up(make: Any, frames: int, frame: int) -> None:
    """It enables another batch for the last frames meanwhile, at the instant at which it does so in any run."""
    check(_of_lists(make(batch=3, asap=1), frames=frames), frame, False)


@settings(max_examples=40)
@given(
    compute=computes(),
    host_ns=host_times(),
    contexts=st.integers(1, 2),
    outputs=st.integers(1, 3),
    frames=st.integers(2, 70),
    batch=st.integers(1, 3),
    at=st.floats(0, 1),
)
def test_any_flow_is_taken_up_where_nothing_is_ahead_of_its_time(
    compute: Compute, host_ns: float, contexts: int, outputs: int, frames: int, batch: int, at: float
) -> None:
    """What was inside when frames were added up left before their time: the checkpoint lies behind it."""
    lists = with_outputs(outputs, batch=batch) if contexts == 1 else double(batch=batch)
    timings = [timing_of(lists, compute, host_ns, contexts)]
    check(_of_lists(lists, frames=frames, timings=timings), 1 + round(at * (frames - 1)), False)


@pytest.mark.parametrize("make", MAKES)
def test_the_trace_of_a_long_run_goes_on_from_the_frame_asked_for(make: Any) -> None:
    """What repeats is told without being played, but not across a checkpoint."""
    assert check(_of_lists(make(batch=2), frames=400), 120, True).frame == 120


def _of_hefs(paths: Sequence[Path], **options: Any) -> Any:
    def make() -> tuple[Program, Profile, RunRequest]:
        run = prepare(RunSpec.of(*paths, **options))
        if options.get("keep_outputs"):
            run.request.take = lambda *_: None
        return run.program, run.profile, run.request

    return make


PAIR = [ROOT / "examples" / name for name in ("digits.hef", "two_context.hef")]
EXAMPLES = [*sorted((ROOT / "examples").glob("*.hef")), *sorted((DATA / "hef").glob("*.hef"))]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_synthetic_files_and_examples(path: Path) -> None:
    """Every kind of edge, on-chip NMS, planes, muxed streams, portals, and computed outputs."""
    ran = 0
    for options in ({"frames": 7, "batch": 2, "keep_outputs": True}, {"frames": 120}):
        make = _of_hefs([path], **options)
        try:
            make()
        except EmuError:
            continue  # refused before anything runs
        check(make, 3, "batch" in options)
        ran += 1
    assert ran


@needs_shared
@pytest.mark.parametrize("path", sorted((SHARED / "hef").glob("*.hef")), ids=lambda path: path.stem)
def test_given_files(path: Path) -> None:
    check(_of_hefs([path], frames=9, batch=4), 5, True)
    check(_of_hefs([path], frames=100), 1, False)


@pytest.mark.parametrize("make", MAKES)
@pytest.mark.parametrize("fault", ["", "delay-interrupt:16#1=5000", "drop-interrupt:0#1"])
def test_a_card_whose_registers_are_traced(make: Any, fault: str) -> None:
    """Each access behind the checkpoint is told, and the card's registers hold what they held."""
    faults = [Fault.parse(fault)] if fault else []
    for frame in (1, 5, 8):
        check(lambda: _of_lists(make(batch=2), frames=9, faults=list(faults))(), frame, True, True)
    if not faults:
        for schedule in ("sequential", "round-robin"):
            check(_of_hefs(PAIR, frames=6, batch=2, schedule=schedule), 7, True, True)


@pytest.mark.parametrize("make", MAKES)
@pytest.mark.parametrize("frame", [1, 13, 47, 95, 120])
def test_rounds_that_repeat(make: Any, frame: int) -> None:
    """They are added up, from wherever the run goes on, to the events of the run that was never interrupted."""
    programs = [make(batch=3).program(), double(batch=2).program(), single().program()]
    check(lambda: (combine(programs), load("hailo8"), RunRequest(frames=40, round_robin=True)), frame, False)


@pytest.mark.parametrize("schedule", ["sequential", "round-robin"])
@pytest.mark.parametrize("frame", [1, 4, 7, 9, 12])
def test_several_groups(frame: int, schedule: str) -> None:
    """What the groups before did, which had their turn, and the switches between them are part of it."""
    check(_of_hefs(PAIR, frames=6, batch=2, schedule=schedule), frame, True)


def test_a_run_that_fails_fails_in_the_same_way() -> None:
    """The last interrupt is lost, and no later one makes it good: the same stall, with the same chain."""
    make = _of_hefs([ROOT / "examples" / "two_context.hef"], frames=4, inject=("drop-interrupt:16#3",))
    check(make, 2, True)
    assert "stalled" in Run(*make(), False).whole().error


@needs_shared
@pytest.mark.parametrize("name", ["cache_h8", "bat_a", "ddr_mc_a"])
def test_caches_portals_and_early_contexts(name: str) -> None:
    (path,) = (SHARED / "synth" / "hef").glob(f"{name}.hef")
    for frame in (1, 3):
        check(_of_hefs([path], frames=5, kv_cache=name.startswith("cache"), keep_outputs=True), frame, True)


# -- what is refused


def saved(frame: int = 3) -> Checkpoint:
    found: list[Checkpoint] = []
    request = saving(RunRequest(frames=6), frame, RECIPE, found.append)
    run_program(double(batch=2).program(), load("hailo8"), request)
    return found[0]


def _sealed(body: bytes) -> bytes:
    return files.MAGIC + files.VERSION.to_bytes(2, "little") + xxhash.xxh3_128_digest(body) + body


def test_a_file_that_is_none_is_refused() -> None:
    whole = saved().encode()
    older = bytearray(whole)
    older[len(files.MAGIC)] = 2
    flipped = bytearray(whole)
    flipped[-7] ^= 4
    for data in (b"", b"{}", whole[:20], whole[:-1], bytes(older), bytes(flipped), _sealed(b""), _sealed(b"\x90" * 9)):
        with pytest.raises(HailoError) as refused:
            Checkpoint.decode(data)
        assert "\n" not in refused.value.line()


def test_another_run_is_refused() -> None:
    found = saved()
    with pytest.raises(HailoError, match="model: lists there, other here"):
        found.check({"model": "other"})
    with pytest.raises(HailoError, match="made in another way"):
        resume(with_ddr().program(), load("hailo8"), RunRequest(frames=6), found)
    for frame in (0, -1):
        with pytest.raises(UsageError):
            saved(frame)


@pytest.mark.parametrize("watched", [True, False])
def test_a_run_whose_registers_nobody_watched_is_not_taken_up_with_them(watched: bool) -> None:
    """The driver is spared accesses that nobody sees, so the registers hold nothing of the run."""
    found: list[Checkpoint] = []
    make = _of_lists(double(batch=2), frames=6)
    Run(*make(), True, watched).saved(3, found)
    other = Run(*make(), True, not watched).resumed(found[0])
    there, here = ("watched", "not watched") if watched else ("not watched", "watched")
    assert f"{there} there, {here} here" in other.error
    assert not other.recorder.events


def _places(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [place] if place else []
    children = enumerate(value) if isinstance(value, list) else value.items() if isinstance(value, dict) else ()
    for key, held in children:
        found += _places(held, (*place, key))
    return found


def test_a_made_up_state_is_refused_or_runs() -> None:
    """One value after the other is another one, under a sum that fits: one line, never a traceback."""
    body = msgspec.msgpack.encode(saved())
    places = _places(msgspec.msgpack.decode(body))
    source = random.Random(21)
    refused = 0
    for _ in range(120):
        document = msgspec.msgpack.decode(body)
        *way, last = source.choice(places)
        there = document
        for key in way:
            there = there[key]
        there[last] = source.choice(
            [
                None,
                -1,
                0,
                1 << 40,
                1.5,
                "x",
                b"",
                [],
                ["o", 3],
                ["o", 1 << 20],
                ["t"],
                ["f", 0],
                ["c", 0],
                ["m", ["o", 0], "reset"],
                {},
            ]
        )
        try:
            found = Checkpoint.decode(_sealed(msgspec.msgpack.encode(document)))
            resume(double(batch=2).program(), load("hailo8"), RunRequest(frames=6), found)
        except EmuError as error:
            assert "\n" not in error.line()
            refused += 1
    assert refused > 40


@pytest.mark.parametrize(
    "name",
    [
        "os:system",
        "emu.host.modules:load_handlers",
        "emu.output:Output",
        "emu.hw.nowhere:none",
        "emu.hw.chip:__import__",
    ],
)
def test_no_file_calls_what_is_not_of_the_chip(name: str) -> None:
    """Neither another module's code nor our own that loads or writes."""
    document = msgspec.msgpack.decode(msgspec.msgpack.encode(saved()))
    changes = document["changes"]
    changes["names"].append(name)
    made = changes["objects"] + len(changes["made"])
    changes["made"].append(["partial", [["f", len(changes["names"]) - 1], "evil"]])
    changes["made"].append(["event", [False, [["o", made]]]])
    changes["queue"].insert(0, [changes["clock"][0], 1, ["o", made + 1]])
    found = Checkpoint.decode(_sealed(msgspec.msgpack.encode(document)))
    with pytest.raises(HailoError, match="damaged"):
        resume(double(batch=2).program(), load("hailo8"), RunRequest(frames=6), found)


# -- the command

TWO = ROOT / "examples" / "two_context.hef"


@pytest.fixture
def emu(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Run the program in a folder of its own; its exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> tuple[Any, str, str]:
        with pytest.raises(SystemExit) as stopped:
            main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return stopped.value.code, out, err

    return run


def test_the_command_line(emu: Any, tmp_path: Path) -> None:
    """Documents, kept outputs and dumped memory are the same bytes; the trace is the rest of it. In another process."""
    run = ("run", TWO, "--frames", 6, "--json", "--trace=t", "--outputs", "o.npz", "--dump-memory", "m")
    texts, outputs, memories, traces = [], [], [], []
    for extra in ((), ("--checkpoint", "c@3"), ("--resume", "c")):
        arguments = [str(one) for one in (*run, *extra)]
        if "--resume" in extra:
            environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "7"}
            command = [sys.executable, "-m", "emu", *arguments]
            out = subprocess.run(
                command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
            ).stdout
        else:
            code, out, err = emu(*arguments)
            assert code == 0, err
        texts.append(out)
        outputs.append((tmp_path / "o.npz").read_bytes())
        memories.append((tmp_path / "m").read_bytes())
        traces.append((tmp_path / "t").read_text().splitlines())
    assert texts[0] == texts[1] == texts[2] and json.loads(texts[0])["frames"] == 6
    assert outputs[0] == outputs[1] == outputs[2]
    assert memories[0] == memories[1] == memories[2]
    assert traces[0] == traces[1]
    rest = traces[2][1:-1]  # behind the header, before the number of events
    assert 3 < len(rest) < len(traces[0]) and traces[0][-1 - len(rest) : -1] == rest


def test_what_the_command_refuses(emu: Any, tmp_path: Path) -> None:
    assert emu("run", TWO, "--frames", 6, "--checkpoint", "c@3")[0] == 0
    (tmp_path / "other").write_text("{}")
    for says, arguments in (
        ("--frames: 6 there, 7 here", ("--frames", 7, "--resume", "c")),
        ("--seed: 0 there, 1 here", ("--frames", 6, "--seed", 1, "--resume", "c")),
        ("--inject", ("--frames", 6, "--inject", "slow-channel:0=2", "--resume", "c")),
        ("outputs kept: False there, True here", ("--frames", 6, "--outputs", "o.npz", "--resume", "c")),
        ("HAILO_OPEN_FILE_FAILURE", ("--frames", 6, "--resume", "no such")),
        ("not a checkpoint", ("--frames", 6, "--resume", "other")),
        ("FILE@FRAME", ("--frames", 6, "--checkpoint", "c")),
        ("frames 1 to 6", ("--frames", 6, "--checkpoint", "c@7")),
        ("begins at frame 3", ("--frames", 6, "--resume", "c", "--checkpoint", "d@2")),
        ("--record: not with --resume", ("--frames", 6, "--resume", "c", "--record", "d")),
        ("--step: not with --resume", ("--frames", 6, "--resume", "c", "--step")),
    ):
        code, _, err = emu("run", TWO, *arguments)
        assert code in (2, 3) and says in err and len(err.splitlines()) == 1, err
    code, _, err = emu("run", ROOT / "examples" / "digits.hef", "--frames", 6, "--resume", "c")
    assert code == 3 and "model 1" in err


def test_a_checkpoint_can_be_taken_behind_another(emu: Any) -> None:
    run = ("run", TWO, "--frames", 6, "--json", "--outputs", "o.npz")
    whole = emu(*run)[1]
    assert emu(*run, "--checkpoint", "c@2")[1] == whole
    assert emu(*run, "--resume", "c", "--checkpoint", "d@4")[1] == whole
    assert emu(*run, "--resume", "d")[1] == whole
