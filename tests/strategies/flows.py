"""How long a core takes for its frames, and a host between them: times that meet on the link, and times far from it."""

from __future__ import annotations

from hypothesis import strategies as st

from emu.chips.chips import load
from emu.timing.model import Compute, GroupTiming, Traffic
from emu.timing.passage import flow_of
from tests.hw.lists import FRAME, Lists

Times = st.SearchStrategy[float]
# around what a frame takes on the link, and far from it
TIMES: Times = st.floats(0, 3_000) | st.floats(0, 100_000) | st.sampled_from([FRAME / 1.6, FRAME / 3.2, 1_000.0, 0.5])
# most come to a whole nanosecond after a few frames
WHOLE: Times = st.integers(0, 3_000).map(float) | st.integers(0, 800_000).map(lambda parts: parts / 8) | TIMES


def computes(times: Times = TIMES) -> st.SearchStrategy[Compute]:
    return st.builds(Compute, times, times, times, st.just("made up"))


def host_times(times: Times = TIMES) -> Times:
    return st.just(0.0) | times


def timing_of(lists: Lists, compute: Compute, host_ns: float, contexts: int = 1) -> GroupTiming:
    """Of lists whose contexts take in a frame and give one each."""
    flow = flow_of(load(lists.device), compute, Traffic(FRAME, FRAME), host_ns)
    return GroupTiming((flow,) * contexts, host_ns, compute)
