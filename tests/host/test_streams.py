"""The host loses no frame, however short the lists and however large the batch."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from emu.chips.chips import load
from emu.host.session import RunRequest, run_program
from emu.timing.workload import program_timings
from emu.wire.actions import Action, make_action
from emu.wire.lists import Entry
from tests.hw.lists import IN, OUT, Lists, changed, double, single

DESCRIPTORS_PER_FRAME = 2
BOUNDARY = (IN, OUT)
INTERNAL_LIST = 1 << 10  # longer than any batch here


def with_lists_of(lists: Lists, descriptors: int) -> Lists:
    """Boundary channels with descriptor lists of that length."""

    def resized(entry: Entry) -> Entry:
        if not isinstance(entry, Action) or "total_desc_count" not in entry.NAMES:
            return entry
        values = entry.arguments()
        boundary = values["packed_vdma_channel_id"] in BOUNDARY
        if "CFG" in entry.type.name:
            return entry
        values["total_desc_count"] = descriptors if boundary else INTERNAL_LIST
        return make_action(entry.type, tuple(values[name] for name in entry.NAMES))

    for part in (lists.activation, lists.batch_switching, lists.preliminary, *lists.dynamic):
        part[:] = [resized(one) for one in part]
    return lists


def delivered(lists: Lists, frames: int, host_ns: float | None) -> list[int]:
    program, profile = lists.program(), load(lists.device)
    timings = program_timings(program, profile)
    if host_ns is not None:
        timings = [replace(one, host_ns=host_ns) for one in timings]
    result = run_program(program, profile, RunRequest(frames=frames, timings=timings))
    return [stream.frames for group in result.groups for stream in group.streams]


@settings(deadline=None, max_examples=80)
@given(
    contexts=st.sampled_from((1, 2)),
    batch=st.integers(1, 20),
    frames=st.integers(1, 90),
    length=st.sampled_from((DESCRIPTORS_PER_FRAME, 4, 8, 16, 32, 64, 128)),
    host_ns=st.sampled_from((None, 0.0, 1e3, 3e5, 1e7)),
)
def test_every_frame_comes_out(contexts: int, batch: int, frames: int, length: int, host_ns: float | None) -> None:
    lists = (single if contexts == 1 else double)(batch=batch)
    assert delivered(with_lists_of(lists, length), frames, host_ns) == [frames, frames]


@pytest.mark.parametrize("frames", [28, 60, 90])
def test_two_batches_that_do_not_fit_into_the_list(frames: int) -> None:
    """2 x batch x descriptors a frame > list: the frames that the host holds back follow when there is room."""
    lists = with_lists_of(double(batch=14), 32)
    assert delivered(lists, frames, 1e3) == [frames, frames]


@pytest.mark.parametrize(("make", "switches"), [(single, 0), (double, 1)])
def test_a_partial_last_batch_is_a_batch_switch_for_several_contexts_only(
    make: Callable[..., Lists], switches: int
) -> None:
    """HailoRT's dynamic batches are for several contexts; the frames of a single one just flow."""
    result = make(batch=8).run(frames=9)
    (group,) = result.groups
    runs = {context.context_type: context.runs for context in group.contexts}
    assert runs["batch_switching"] == switches
    assert {stream.frames for stream in group.streams} == {9}


def test_a_partial_last_batch_costs_a_single_context_nothing() -> None:
    """One frame more than a batch comes out at the pace of whole batches."""
    whole, partial = (single(batch=8).run(frames=frames).groups[0].fps for frames in (64, 9))
    assert partial == pytest.approx(whole, rel=0.01)


@pytest.mark.parametrize("batch", [14, 15, 20])
def test_two_batches_of_large_frames_that_do_not_fit_into_the_longest_list(batch: int) -> None:
    """Two contexts, input frames of 640x640x3, lists of 65,536 descriptors: 2 x batch x 2,400 are more."""
    size, page = 640 * 640 * 3, 512
    lists = double(batch=batch)
    descriptors = {"bytes_in_pattern": size, "total_desc_count": 1 << 16, "desc_page_size": page}
    buffers = {"core_bytes_per_buffer": 1920, "core_buffers_per_frame": 640, "periph_bytes_per_buffer": 40_960}
    lists.activation = changed(lists.activation, "OPEN_BOUNDARY_INPUT_CHANNEL", frame_periph_size=size, **descriptors)
    for part in lists.dynamic:
        part[:] = changed(
            changed(part, "ACTIVATE_BOUNDARY_INPUT", periph_buffers_per_frame=30, **buffers, **descriptors),
            "FETCH_DATA_FROM_VDMA_CHANNEL",
            frame_periph_size=size if part is lists.dynamic[0] else 2,
        )
    for part in (lists.batch_switching, *lists.dynamic):
        part[:] = internal_lists(part)
    assert 2 * batch * -(-size // page) > 1 << 16
    for frames in (batch, 2 * batch, 3 * batch + 1):
        assert delivered(lists, frames, None) == [frames, frames]


def internal_lists(entries: list[Entry]) -> list[Entry]:
    """Inter-context lists that hold any batch here."""
    for name in ("ACTIVATE_INTER_CONTEXT_OUTPUT", "ACTIVATE_INTER_CONTEXT_INPUT"):
        entries = changed(entries, name, total_desc_count=INTERNAL_LIST)
    return entries
