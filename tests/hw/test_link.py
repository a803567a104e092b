"""The link: what its transfers get, and that they get it fairly, against the integral of shares worked out here."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emu.hw.clock import Clock
from emu.hw.link import Link, Transfer, shares


def run(rate: float, jobs: list[tuple[int, int, float]]) -> list[int]:
    """When each of some (start, bytes, most) is done."""
    clock = Clock()
    link = Link("link", clock, rate)
    done = [0] * len(jobs)

    def begin(number: int, size: int, most: float) -> None:
        def end() -> None:
            done[number] = clock.time

        link.start(Transfer(), size, most, 0.0, end)

    for number, (start, size, most) in enumerate(jobs):
        clock.at(start, lambda number=number, size=size, most=most: begin(number, size, most))  # type: ignore[misc]
    clock.run_until(lambda: False)
    assert not link.active
    return done


def test_transfers_that_run_together_share() -> None:
    """1000 bytes at 1 byte/ns alone take 1000 ns; two of them 2000; the second half of a long one is alone again."""
    assert run(1.0, [(0, 1000, inf)]) == [1000]
    assert run(1.0, [(0, 1000, inf), (0, 1000, inf)]) == [2000, 2000]
    assert run(1.0, [(0, 3000, inf), (0, 1000, inf)]) == [4000, 2000]
    assert run(1.0, [(0, 1000, inf), (500, 1000, inf)]) == [1500, 2000]


def test_a_slow_stream_leaves_the_rest_to_the_others() -> None:
    assert run(1.0, [(0, 100, 0.1), (0, 900, inf)]) == [1000, 1000]


def test_a_link_that_nobody_fills_slows_nobody() -> None:
    assert run(1.0, [(0, 100, 0.25), (10, 100, 0.5), (20, 50, 0.125)]) == [400, 210, 420]


JOBS = st.lists(
    st.tuples(st.integers(0, 500), st.integers(1, 2000), st.sampled_from((0.1, 0.4, 1.0, inf))), min_size=1, max_size=6
)


@settings(deadline=None, max_examples=150)
@given(JOBS)
def test_everybody_is_done_when_the_shares_say_so(jobs: list[tuple[int, int, float]]) -> None:
    """Against a stepwise integration with steps of a quarter of a nanosecond."""
    step, now = 0.25, 0.0
    left = {number: float(size) for number, (_, size, _) in enumerate(jobs)}
    expected = [0.0] * len(jobs)
    while left:
        active = [number for number in left if jobs[number][0] <= now]
        for number, share in zip(active, shares([jobs[one][2] for one in active], 1.0), strict=True):
            left[number] -= share * step
            if left[number] <= 1e-9:
                del left[number]
                expected[number] = now + step
        now += step
    for found, wanted in zip(run(1.0, jobs), expected, strict=True):
        # a step and a whole nanosecond may be lost at each start and end
        assert found == pytest.approx(wanted, abs=2 + len(jobs))


@given(st.lists(st.sampled_from((0.05, 0.2, 0.5, 1.0, inf)), min_size=1, max_size=8))
def test_shares_are_max_min_fair(most: list[float]) -> None:
    found = shares(most, 1.0)
    assert sum(found) <= 1 + 1e-9 and all(share <= limit for share, limit in zip(found, most, strict=True))
    if sum(most) >= 1:
        assert sum(found) == pytest.approx(1.0)
    greatest = max(found)
    # whoever gets less than another cannot use more
    assert all(share == limit or share == pytest.approx(greatest) for share, limit in zip(found, most, strict=True))


@pytest.mark.parametrize(("beside", "expected"), [(0.0, 1200), (0.25, 1150), (2.0, 1000)])
def test_configuration_on_the_link_goes_first(beside: float, expected: int) -> None:
    """From 100 to 300 ns a fetch moves: data has what it leaves."""
    clock = Clock()
    link = Link("link", clock, 1.0, lambda now: (100.0, 300.0), beside)
    done: list[int] = []
    link.start(Transfer(), 1000, inf, 0.0, lambda: done.append(clock.time))
    clock.run_until(lambda: False)
    assert done == [expected]
