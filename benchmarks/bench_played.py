"""Frames played one by one, against a bare simpy model of the same channels.

    pytest benchmarks/bench_played.py

The bare model is one process a channel and a link that its transfers share fairly, and nothing else: no credits, no
descriptors, no units, no host. Both are timed in turns, and the shortest time of each counts. Frames that somebody sees
(kept, recorded, with a fault) are held to the same frames played with nobody there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import simpy

from emu.chips.chips import load
from emu.hef import open_hef
from emu.host.recording import Recorder
from emu.host.session import RunRequest, run_program
from emu.hw.faults import Fault
from emu.sequencer.compile import CompileOptions, compile_hef
from emu.trace.record import RecordWriter
from tests.conftest import ROOT, SHARED, needs_shared
from tests.effort import calls, least, sized
from tests.hw.captures import layout_of, loaded
from tests.hw.lists import FRAME, with_outputs

MAX_BARE = 2.5
MAX_CALLS = 1_650
MAX_WATCHED = {"kept": 1.3, "faulty": 1.3, "recorded": 1.7}
FRAMES = sized(1_000, 10)
WATCHED = sized(200, 4)
TURNS = sized(5, 1)
OUTPUTS = (1, 2, 4)
Process = Generator[simpy.Event, None, None]


class BareLink:
    """One direction of a link, in bytes a nanosecond: all transfers under way get the same share."""

    def __init__(self, env: simpy.Environment, rate: float) -> None:
        self.env = env
        self.rate = rate
        self.left: dict[simpy.Event, float] = {}
        self.moved_at = 0.0
        self.turn = 0

    def transfer(self, size: float) -> simpy.Event:
        done = self.env.event()
        self._move()
        self.left[done] = size
        self._plan()
        return done

    def _move(self) -> None:
        now = self.env.now
        if self.left:
            moved = (now - self.moved_at) * self.rate / len(self.left)
            for one in self.left:
                self.left[one] -= moved
        self.moved_at = now

    def _plan(self) -> None:
        self.turn += 1
        if self.left:
            turn = self.turn
            wait = self.env.timeout(max(0.0, min(self.left.values())) * len(self.left) / self.rate)
            wait.callbacks.append(lambda _: self._next(turn))

    def _next(self, turn: int) -> None:
        if turn != self.turn:
            return
        self._move()
        for one in [one for one, size in self.left.items() if size < 1e-6]:
            del self.left[one]
            one.succeed()
        self._plan()


def bare(outputs: int, frames: int) -> None:
    """One input and `outputs` outputs: a frame that came in goes out on all of them."""
    env = simpy.Environment()
    inward, outward = BareLink(env, 1.6), BareLink(env, 1.6)
    came = [simpy.Store(env) for _ in range(outputs)]

    def take() -> Process:
        for frame in range(frames):
            yield inward.transfer(FRAME)
            for one in came:
                one.put(frame)

    def give(one: simpy.Store) -> Process:
        for _ in range(frames):
            yield one.get()
            yield outward.transfer(FRAME)

    env.process(take())
    for one in came:
        env.process(give(one))
    env.run()


def played(outputs: int) -> Callable[[], object]:
    """The same channels on the device, with the smallest lists that run them."""
    session = with_outputs(outputs).session(frames=FRAMES)
    session.chip.probe.one_by_one = True
    (application,) = session.applications
    return lambda: session.run_group(application)


def in_turns(one: Callable[[], object], other: Callable[[], object]) -> tuple[float, float]:
    """The shortest processor time of each, in seconds."""
    shortest = [float("inf")] * 2
    for _ in range(TURNS):
        for at, function in enumerate((one, other)):
            start = time.process_time()
            function()
            shortest[at] = min(shortest[at], time.process_time() - start)
    return shortest[0], shortest[1]


@pytest.mark.parametrize("outputs", OUTPUTS)
def test_a_played_frame_against_bare_channels(outputs: int) -> None:
    ours, theirs = in_turns(played(outputs), partial(bare, outputs, FRAMES))
    print(f"{outputs} outputs: {ours / FRAMES * 1e6:.1f} us a frame, bare {theirs / FRAMES * 1e6:.1f}")
    assert ours < MAX_BARE * theirs


def test_watched_frames(tmp_path: Path) -> None:
    """Kept outputs, a fault and a recording, against the same frames played with nobody to see them."""
    program, profile = compile_hef(open_hef(ROOT / "examples" / "two_context.hef"), CompileOptions()), load("hailo8")
    folders = count()

    def run(**asked: Any) -> None:
        run_program(program, profile, RunRequest(frames=WATCHED, may_jump=False, **asked))

    def record() -> None:
        with RecordWriter(tmp_path / f"{next(folders)}") as writer:
            run(on_device=lambda device: Recorder(device.inspection, writer.put, put_block=writer.put_block))
            writer.finish({})

    fault = f"drop-interrupt:16#{WATCHED // 2}"  # made good by the next one
    watched = {
        "kept": partial(run, take=lambda *frame: None),
        "faulty": lambda: run(faults=[Fault.parse(fault)]),
        "recorded": record,
    }
    plain, *taken = least(run, *watched.values(), rounds=7)
    found = {name: seconds / plain for name, seconds in zip(watched, taken, strict=True)}
    print(", ".join(f"{name} {ratio:.2f}" for name, ratio in found.items()))
    assert {name: ratio for name, ratio in found.items() if ratio > MAX_WATCHED[name]} == {}


@needs_shared
def test_two_contexts_played() -> None:
    """A frame of 448 actions, beside a bare frame of one output."""
    frames = 100
    capture = loaded(SHARED / "oracle/5.2/face_landmarks_lite_2ctx.v3.hailo1xh.on-hailo15h.json")
    profile = load(capture.program.device)
    request = RunRequest(frames=frames, layout=layout_of(capture), may_jump=False)
    ours, theirs = in_turns(lambda: run_program(capture.program, profile, request), lambda: bare(1, FRAMES))
    print(f"{ours / frames * 1e6:.0f} us a frame, bare {theirs / FRAMES * 1e6:.1f}")


@needs_shared
def test_calls_of_a_frame_of_two_contexts() -> None:
    """The same in calls, which are as many on every machine."""
    capture = loaded(SHARED / "oracle/5.2/face_landmarks_lite_2ctx.v3.hailo1xh.on-hailo15h.json")
    profile = load(capture.program.device)

    def run(frames: int) -> None:
        run_program(capture.program, profile, RunRequest(frames=frames, layout=layout_of(capture), may_jump=False))

    run(10)
    each = (calls(partial(run, 150)) - calls(partial(run, 50))) / 100
    print(f"{each:.0f} calls a frame")
    assert each < MAX_CALLS


def main() -> None:
    """Print what the tests measure."""
    for outputs in OUTPUTS:
        ours, theirs = in_turns(played(outputs), partial(bare, outputs, FRAMES))
        print(f"{outputs}: {ours / FRAMES * 1e6:.1f} {theirs / FRAMES * 1e6:.1f} {ours / theirs:.2f}")


if __name__ == "__main__":
    main()
