"""A run that is saved at a context boundary and resumed gives the trace of the uninterrupted run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import pytest

from emu.chips.chips import load
from emu.errors import HailoError, UsageError
from emu.host.checkpoint import Checkpoint, resume, save
from emu.host.session import RunRequest, run_program
from emu.trace.events import Event, Kind, Tracer
from tests.hw.lists import Lists, double, single, with_ddr


class Recorder:
    def __init__(self) -> None:
        self.events: list[Event] = []

    def write(self, events: Sequence[Event]) -> None:
        self.events += events

    def close(self) -> None:
        pass


def _tail(events: list[Event], context: str, occurrence: int) -> list[Event]:
    begins = [i for i, e in enumerate(events) if e.kind is Kind.CONTEXT_BEGIN and e.context == context]
    return events[begins[occurrence] :]


@pytest.mark.parametrize(
    ("lists", "frames", "context", "occurrence"),
    [
        (double(), 5, "dynamic_1", 2),
        (double(), 5, "dynamic_0", 3),
        (double(batch=4), 10, "batch_switching", 0),
        (single(), 4, "dynamic_0", 0),
        (with_ddr(), 4, "preliminary", 0),
    ],
)
def test_resuming_gives_the_same_trace(lists: Lists, frames: int, context: str, occurrence: int) -> None:
    program, profile = lists.program(), load(lists.device)
    whole, rest = Recorder(), Recorder()
    request = RunRequest(frames=frames, tracer_for=lambda clock: Tracer([whole], clock))
    uninterrupted = run_program(program, profile, request)
    checkpoint = Checkpoint.decode(save(program, profile, RunRequest(frames=frames), context, occurrence).encode())
    request = RunRequest(frames=frames, tracer_for=lambda clock: Tracer([rest], clock))
    resumed = resume(program, profile, request, checkpoint)
    assert rest.events == _tail(whole.events, context, occurrence)
    assert resumed.groups == uninterrupted.groups


@pytest.mark.parametrize("make", [single, double, with_ddr])
def test_every_boundary_of_a_run_can_be_resumed(make: Callable[..., Lists]) -> None:
    """Ten batches of 4, the last of them partial; also where a control message spans the boundary."""
    program = make(batch=4).program()
    whole = Recorder()
    run_program(program, load("hailo8"), RunRequest(frames=39, tracer_for=lambda clock: Tracer([whole], clock)))
    seen: Counter[str] = Counter()
    for event in [one for one in whole.events if one.kind is Kind.CONTEXT_BEGIN]:
        checkpoint = save(program, load("hailo8"), RunRequest(frames=39), event.context, seen[event.context])
        rest = Recorder()
        request = RunRequest(frames=39, tracer_for=lambda clock, rest=rest: Tracer([rest], clock))
        resume(program, load("hailo8"), request, checkpoint)
        assert rest.events == _tail(whole.events, event.context, seen[event.context])
        seen[event.context] += 1


def test_a_checkpoint_of_another_run_is_refused() -> None:
    checkpoint = save(double().program(), load("hailo8"), RunRequest(frames=3), "dynamic_1", 1)
    with pytest.raises(HailoError):
        resume(double(batch=2).program(), load("hailo8"), RunRequest(frames=4), checkpoint)
    with pytest.raises(UsageError):
        save(double().program(), load("hailo8"), RunRequest(frames=3), "dynamic_1", 99)
    for data in (b"", b"{}", b"[]", checkpoint.encode().replace(b'"version":2', b'"version":1')):
        with pytest.raises(HailoError):
            Checkpoint.decode(data)
