"""Random HEFs that can run do run: every frame comes out, the same bytes each time, whatever the batch."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from emu.chips.chips import load
from emu.hef import open_hef
from emu.host.session import RunRequest, RunResult, run_program
from emu.sequencer.compile import CompileOptions, compile_hef
from tests.strategies.hefs import Drawn, hefs

LAYOUT = 51  # of the Hailo-8L; its clusters exist on every device

# without shrinking: a failing case is long in any event, and says where it stalls
PROPERTY = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def run(drawn: Drawn, frames: int, batch: int) -> RunResult:
    hef = open_hef(drawn.data(), runtime=drawn.runtime)
    program = compile_hef(hef, CompileOptions(batch=batch, cluster_layout=LAYOUT))
    request = RunRequest(frames=frames, keep_outputs=True)
    return run_program(program, load(program.device), request)


def check(drawn: Drawn, frames: int, batch: int) -> None:
    result, again = run(drawn, frames, batch), run(drawn, frames, batch)
    for group, other in zip(result.groups, again.groups, strict=True):
        for stream in group.streams:
            assert stream.frames == frames, stream.name
        assert group == other


@PROPERTY
@given(hefs(runs=True), st.integers(1, 3), st.integers(1, 4))
def test_whole_batches_run_to_their_end(drawn: Drawn, batches: int, batch: int) -> None:
    check(drawn, batches * batch, batch)


@PROPERTY
@given(hefs(runs=True))
def test_a_partial_last_batch_runs_to_its_end(drawn: Drawn) -> None:
    check(drawn, 3, 2)
