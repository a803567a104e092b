"""A run that is saved at a context boundary and resumed gives the trace of the uninterrupted run."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from emu.errors import HailoError, UsageError
from emu.hw.checkpoint import Checkpoint, resume, save
from emu.hw.profiles import load
from emu.hw.session import RunRequest, run_program
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
    expected = _tail(whole.events, context, occurrence)
    # a control message bears the time at which it began, which may lie before the boundary
    rest_events = [event for event in rest.events if event.ns >= checkpoint.ns]
    assert rest_events[0] == expected[0]
    assert [e for e in expected if e.ns > checkpoint.ns] == [e for e in rest_events if e.ns > checkpoint.ns]
    assert resumed.groups == uninterrupted.groups


def test_a_checkpoint_of_another_run_is_refused() -> None:
    checkpoint = save(double().program(), load("hailo8"), RunRequest(frames=3), "dynamic_1", 1)
    with pytest.raises(HailoError):
        resume(double(batch=2).program(), load("hailo8"), RunRequest(frames=4), checkpoint)
    with pytest.raises(UsageError):
        save(double().program(), load("hailo8"), RunRequest(frames=3), "dynamic_1", 99)
    for data in (b"", b"{}", b"[]", checkpoint.encode().replace(b'"version":1', b'"version":2')):
        with pytest.raises(HailoError):
            Checkpoint.decode(data)
