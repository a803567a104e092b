"""Round robin: two networks that take turns, against the time that the chip takes and against playing their turns.

pytest benchmarks/bench_turns.py
"""

from __future__ import annotations

from emu.chips.chips import load
from emu.hef import open_hef
from emu.host.combine import combine
from emu.host.session import RunRequest, run_program
from emu.sequencer.compile import CompileOptions, compile_hef
from tests.conftest import SHARED, needs_shared
from tests.effort import least

FRAMES = 2_000
PLAYED = 50
MIN_REAL_TIME = 50  # 180 are measured
MAX_OF_PLAYED = 1 / 20  # a frame


@needs_shared
def bench_two_networks_in_turns() -> None:
    names = ("mnist_cnn.v0.hailo8.hef", "hand_landmark_lite.v0.hailo8.hef")
    program = combine([compile_hef(open_hef(SHARED / "hef" / name), CompileOptions()) for name in names])
    profile = load(program.device)
    simulated = []

    def skipped() -> None:
        result = run_program(program, profile, RunRequest(FRAMES, round_robin=True))
        simulated.append(result.wall_ns / 1e9)

    def played() -> None:
        run_program(program, profile, RunRequest(PLAYED, round_robin=True, may_jump=False))

    taken, each = least(skipped, played, rounds=5)
    ratio = (taken / FRAMES) / (each / PLAYED)
    print(f"\n{simulated[0] / taken:.0f} x real time, {ratio:.4f} of a played frame")
    assert ratio < MAX_OF_PLAYED
    assert simulated[0] > MIN_REAL_TIME * taken
