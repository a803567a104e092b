"""What ties the figures together, whatever the file: given ones, made-up ones, every link, clock, host and batch."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from emu.chips import chips
from emu.timing.estimate import BatchEstimate, Conditions
from tests.conftest import needs_shared
from tests.timing.cases import CASES, FILES, MADE_UP, compiled, figures, run

pytestmark = needs_shared

BATCHES = (1, 2, 3, 8, 63)
# fastest first, in each direction
LINKS = ("integrated", "gen4x8", "gen3x4", "gen3x2", "gen3x1", "gen2x1", "gen1x1")
CLOCKS = (None, 350.0, 200.0, 50.0)
HOSTS = ("x86-gen3x4", "x86-gen3x2", "x86-gen3x1")  # alike but for their links
SLACK = 1 + 1e-9


def not_better(worse: BatchEstimate, better: BatchEstimate) -> bool:
    return (
        worse.fps <= better.fps * SLACK
        and worse.sync_fps <= better.sync_fps * SLACK
        and worse.first_frame_latency_ms * SLACK >= better.first_frame_latency_ms
    )


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize(("path", "device"), CASES, ids=lambda value: getattr(value, "name", value))
def test_the_given_files(path: Path, device: str | None, batch: int) -> None:
    plain = figures(path, device, batch)
    assert 0 < plain.sync_fps <= plain.fps * SLACK
    assert 0 <= plain.batch_wait_ms < plain.first_frame_latency_ms
    by_link = [figures(path, device, batch, Conditions(link=link)) for link in LINKS]
    assert all(not_better(slower, faster) for faster, slower in pairwise(by_link))
    by_clock = [figures(path, device, batch, Conditions(clock_mhz=clock)) for clock in CLOCKS]
    assert all(not_better(slower, faster) for faster, slower in pairwise(by_clock))
    for one in (*by_link, *by_clock):
        assert one.sync_fps <= one.fps * SLACK
    if "1xh" not in path.name:
        by_host = [figures(path, device, batch, Conditions(host=host)) for host in HOSTS]
        assert all(not_better(slower, faster) for faster, slower in pairwise(by_host))


@pytest.mark.parametrize(("path", "device"), CASES, ids=lambda value: getattr(value, "name", value))
def test_a_slower_host_or_chip_is_never_faster(path: Path, device: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time of the profile twice as long, each rate half as high."""
    plain = figures(path, device, 4)
    found = compiled(path, device, 4)
    assert found is not None
    entries = chips.quantities(found[1].device)
    for name, entry in entries.items():
        if entry.unit in ("ns", "ns/B") or (entry.unit == "B/s" and not isinstance(entry.value, list)):
            value = entry.value * (0.5 if entry.unit == "B/s" else 2)
            altered = {**entries, name: entry._replace(value=value)}
            monkeypatch.setattr(chips, "quantities", lambda *_, altered=altered: altered)
            assert not_better(figures(path, device, 4), plain), name


@pytest.mark.parametrize(("path", "device"), CASES, ids=lambda value: getattr(value, "name", value))
def test_a_larger_batch_never_needs_more_time_a_frame(path: Path, device: str | None) -> None:
    rates = [figures(path, device, batch).fps for batch in range(1, 18)]
    assert all(larger >= smaller / SLACK for smaller, larger in pairwise(rates))


def test_made_up_files() -> None:
    """DDR, caches, NMS, several contexts and networks: the same, on the fastest and the slowest link."""
    seen = 0
    for path in MADE_UP:
        for batch in (1, 4):
            if compiled(path, None, batch) is None:
                continue
            fast, slow = (figures(path, None, batch, Conditions(link=link)) for link in ("gen4x8", "gen1x1"))
            assert not_better(slow, fast), path.name
            for one in (fast, slow):
                assert one.sync_fps <= one.fps * SLACK, path.name
            seen += 1
    assert seen > 200


@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize(("path", "device"), CASES, ids=lambda value: getattr(value, "name", value))
def test_more_frames_do_not_change_the_steady_rate(path: Path, device: str | None, batch: int) -> None:
    rates = []
    # the host of the Hailo-10H is the limit: that it is not ahead of the first batches fades over some of them
    for rounds in (3, 6, 20) if device != "hailo10h" else (10, 20, 40):
        group = run(path, device, batch, frames=rounds * batch)
        assert group.fps_basis == "steady"
        rates.append(group.fps)
    assert rates == pytest.approx([rates[-1]] * len(rates), rel=0.01)


@pytest.mark.parametrize(("path", "device"), CASES, ids=lambda value: getattr(value, "name", value))
def test_a_slower_link_makes_no_run_faster(path: Path, device: str | None) -> None:
    runs = [run(path, device, batch=2, frames=8, conditions=Conditions(link=link)) for link in LINKS]
    for faster, slower in pairwise(runs):
        assert slower.fps <= faster.fps * (1 + 1e-5)  # instants are whole ns
        assert slower.latency_ns >= faster.latency_ns - 2


@pytest.mark.parametrize("link", ["gen3x4", "gen2x1", "gen1x1"])
@pytest.mark.parametrize(("path", "device"), CASES, ids=lambda value: getattr(value, "name", value))
def test_the_bound_is_what_to_change(
    path: Path, device: str | None, link: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one context, a tenth less of what is named costs throughput, and of nothing else."""
    found = compiled(path, device, 1)
    assert found is not None
    if not found[1].demand.single_context:
        return
    plain = figures(path, device, 1, Conditions(link=link))
    entries = chips.quantities(found[1].device)
    groups = {
        "compute": ("clock",),
        "link": ("link.lane_bytes_per_second",),
        "dma": ("dma.bytes_per_second",),
        "host": ("host.frame_ns", "host.stream_ns", "host.bytes_per_second"),
    }
    for bound, names in groups.items():
        if bound == "compute":
            clock = entries["clocks.nn_hz"].value / 1e6 * 0.9
            slower = figures(path, device, 1, Conditions(link=link, clock_mhz=clock))
        else:
            altered = dict(entries)
            for name in names:
                value = entries[name].value
                factor = 1.1 if entries[name].unit == "ns" else 0.9
                value = [one * factor for one in value] if isinstance(value, list) else value * factor
                altered[name] = entries[name]._replace(value=value)
            with monkeypatch.context() as patch:
                patch.setattr(chips, "quantities", lambda *_, altered=altered: altered)
                slower = figures(path, device, 1, Conditions(link=link))
        named = plain.bound_by.removeprefix("input ").removeprefix("output ")
        if named == bound:
            assert slower.fps < plain.fps * 0.95
        else:
            assert slower.fps >= plain.fps * 0.9
            assert slower.fps == pytest.approx(plain.fps) or slower.bound_by.endswith(bound)


def test_what_a_larger_batch_multiplies_is_not_bound_by_compute() -> None:
    seen = 0
    for path in (*FILES, *MADE_UP):
        for batch, larger in ((1, 8), (2, 16)):
            if any(compiled(path, None, size) is None for size in (batch, larger)):
                continue
            one, many = (figures(path, None, size) for size in (batch, larger))
            if many.fps >= 4 * one.fps:
                assert one.bound_by in ("config reload", "pipeline fill"), path.name
                seen += 1
    assert seen > 10
