"""What holds for every estimate, whatever the file, the link and the batch."""

from __future__ import annotations

import math
from contextlib import suppress

import pytest

from emu.chips import chips
from emu.errors import EmuError
from emu.timing.estimate import Conditions, Estimate, estimate_compiled
from emu.timing.model import NS, Compute, Traffic
from emu.timing.passage import flow_of
from tests.conftest import needs_shared
from tests.timing.cases import FILES, MADE_UP, compiled, opened

BATCHES = (1, 2, 8, 63)


def estimates(link: str | None) -> list[Estimate]:
    """Of all files that compile at each batch size, which no link changes."""
    found = []
    for path in (*FILES, *MADE_UP):
        batches = [one for one in (compiled(path, None, batch) for batch in BATCHES) if one is not None]
        if len(batches) < len(BATCHES):
            continue
        with suppress(EmuError):
            found.append(estimate_compiled(opened(path), [one for _, one in batches], Conditions(link=link)))
    return found


@needs_shared
@pytest.mark.parametrize("link", [None, "gen1x1"])
def test_every_estimate_is_sound(link: str | None) -> None:
    results = estimates(link)
    assert len(results) > 150
    for result in results:
        for figures in result.batches:
            place = (result.model, figures.batch)
            assert math.isfinite(figures.fps), place
            assert figures.fps > 0, place
            parts = [
                part
                for context in figures.contexts
                for part in (
                    context.config_ms,
                    context.compute_ms,
                    context.dma_ms,
                    context.switch_ms,
                    context.unexplained_ms,
                )
            ]
            assert min(parts) >= 0, place
            # what the contexts take is the batch's time, unless the host is slower
            assert sum(parts) <= figures.batch * 1e3 / figures.fps * (1 + 1e-9), place
            assert figures.bound_by == "host" or sum(parts) == pytest.approx(figures.batch * 1e3 / figures.fps)
        fps = [figures.fps for figures in result.batches]
        assert fps == pytest.approx(sorted(fps)), result.model  # a larger batch is never slower


@pytest.mark.parametrize("after_ns", [0.0, 1e5, 5e6])
@pytest.mark.parametrize("intake_ns", [0.0, 1e5, 5e6])
@pytest.mark.parametrize(("h2d", "d2h"), [(0, 0), (1000, 4_000_000), (4_000_000, 1000), (4_000_000, 4_000_000)])
@pytest.mark.parametrize("link", ["gen1x1", "gen3x4"])
def test_a_frame_takes_no_less_than_each_of_its_stages(
    link: str, h2d: int, d2h: int, intake_ns: float, after_ns: float
) -> None:
    profile = chips.load("hailo8", link=link)
    flow = flow_of(profile, Compute(intake_ns, intake_ns, after_ns, ""), Traffic(h2d, d2h), 0.0)
    rate = min(profile.dma_bytes_per_second, profile.link.bytes_per_second)
    assert flow.interval_ns == pytest.approx(max(intake_ns, h2d / rate * NS, d2h / rate * NS))
    assert flow.latency_ns >= flow.interval_ns
    assert flow.latency_ns >= max(h2d / rate * NS, intake_ns) + after_ns
    assert flow.latency_ns <= (h2d + d2h) / rate * NS + intake_ns + after_ns + 2 * profile.link.transfer_ns


@pytest.mark.parametrize("after_ns", [0.0, 2e6, 20e6, 60e6])
def test_outputs_that_leave_later_make_the_frame_later(after_ns: float) -> None:
    """6.7 MB of output at 184 FPS of the core: what a slower link takes longer is latency as it is throughput."""
    compute, traffic = Compute(NS / 184, NS / 184, after_ns, ""), Traffic(640 * 640 * 3, 6_700_000)
    fast, slow = (flow_of(chips.load("hailo8", link=link), compute, traffic, 0.0) for link in ("gen3x4", "gen2x1"))
    assert slow.interval_ns > 2 * fast.interval_ns
    assert slow.latency_ns - fast.latency_ns >= (slow.interval_ns - fast.interval_ns) * (1 - 1e-9)
