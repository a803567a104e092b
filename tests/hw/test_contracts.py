"""Rules whose breach leaves most runs as they are: each expected value is worked out here from what the rule says."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from emu.chips.chips import load
from emu.errors import FirmwareError
from emu.host.profiler import config_timestamp, download
from emu.host.session import RunResult
from emu.hw.faults import Fault
from emu.hw.hostmem import HostMemory
from emu.sequencer.program import DescriptorList, DescriptorProgram, Program
from emu.trace.events import Event, Kind
from emu.trace.tracer import Tracer
from emu.wire.control import ContextSwitchStatus, change_context_switch_status
from emu.wire.lists import TIMESTAMP_INIT, Entry
from emu.wire.status import FirmwareStatus as S
from emu.wire.wire import wire_of
from tests.hw.lists import (
    BOUNDARY,
    FRAME,
    IN,
    OUT,
    PAGE,
    Lists,
    act,
    buffer,
    close,
    double,
    fetch,
    single,
    stream_in,
    stream_out,
    with_ddr,
)

SECOND_IN, SECOND_OUT = 5, 19


def _traced(lists: Lists, frames: int, **settings: Any) -> tuple[RunResult, list[Event]]:
    found: list[Event] = []

    class Sink:
        def write(self, events: Sequence[Event]) -> None:
            found.extend(events)

        def close(self) -> None:
            pass

    return lists.run(frames, tracer_for=lambda clock: Tracer([Sink()], clock), **settings), found


# -- BURST_CREDITS_TASK_RESET


def test_a_reset_of_the_burst_task_forgets_its_inputs() -> None:
    lists = single()
    lists.dynamic[0].insert(-2, act("BURST_CREDITS_TASK_RESET"))  # between FETCH_DATA and the start
    with pytest.raises(FirmwareError) as caught:
        lists.run(1)
    assert caught.value.number == S.BURST_CREDITS_TASK_STATUS_TASK_NO_CONFIGURED_ACTIONS


def test_a_reset_of_the_burst_task_stops_it() -> None:
    lists = single()
    lists.dynamic[0][-1:-1] = [act("BURST_CREDITS_TASK_RESET"), fetch(IN, 1), act("BURST_CREDITS_TASK_START")]
    assert all(stream.frames == 3 for stream in lists.run(3).groups[0].streams)


def test_a_reset_of_the_state_machine_leaves_nothing_configured() -> None:
    lists = with_ddr()
    lists.preliminary = lists.preliminary[:-1]  # leaves its config channel open
    session = lists.session()
    session.run_group(session.applications[0], leave=False)
    device = session.chip
    configured: list[Callable[[], object]] = [
        lambda: list(device.burst.jobs),
        lambda: device.burst.running,
        lambda: list(device.ddr.pairs),
        lambda: device.ddr.running,
        lambda: list(device.core.opened),
        lambda: list(device.core.edges),
        lambda: list(device.config.channels),
    ]
    before = [look() for look in configured]
    assert all(before) and before[0] == [IN]
    device.control(change_context_switch_status(ContextSwitchStatus.RESET))
    assert not any(look() for look in configured)


# -- descriptor lists


@pytest.mark.parametrize("seed", range(40))
def test_a_later_programming_replaces_the_descriptors_it_overlaps(seed: int) -> None:
    """A descriptor points where it was last told to; what is read is what they point to, one after the other."""
    rng = random.Random(seed)
    count = 12
    points: list[bytes | None] = [None] * count
    programs = []
    for number in range(rng.randint(2, 6)):
        start = rng.randrange(count)
        pages = rng.randint(1, count - start)
        data = rng.randbytes(pages * PAGE)
        programs.append(DescriptorProgram(start, len(data), number, 0, (data,), False))
        for page in range(pages):
            points[start + page] = data[page * PAGE : (page + 1) * PAGE]
    described = DescriptorList(0x1000, count, PAGE, True, tuple(programs))
    memory = HostMemory.from_program(Program("4.23", "hailo8", 1, (), (described,), ()))
    host_list = memory.lists[0x1000]
    for first in range(count):
        for last in range(first + 1, count + 1):
            pages_read = points[first:last]
            known = None if None in pages_read else b"".join(page for page in pages_read if page is not None)
            data_read, size = host_list.read(first, last - first)
            assert (data_read, size) == (known, (last - first) * PAGE)
    for position, content in enumerate(points):
        found = host_list.buffer_at(position)
        assert (found is None) == (content is None)
        if found is not None:
            assert found[0].read(found[1], PAGE) == content


# -- frames per second


def _two_outputs(batch: int) -> Lists:
    """Two contexts, each with a boundary output: the first one's frames are out long before the other's."""
    lists = double(batch=batch)
    lists.activation.append(act("OPEN_BOUNDARY_OUTPUT_CHANNEL", packed_vdma_channel_id=SECOND_OUT, **buffer(5)))
    mapping = "CHANGE_VDMA_TO_STREAM_MAPPING"
    lists.dynamic[0][0:0] = [
        stream_out("BOUNDARY", SECOND_OUT, 11, 5),
        act(mapping, packed_vdma_channel_id=SECOND_OUT, stream_index=11),
    ]
    lists.dynamic[1].insert(2, act(mapping, packed_vdma_channel_id=SECOND_OUT, is_dummy_stream=1))
    return lists


@pytest.mark.parametrize("make", [single, double, _two_outputs])
@pytest.mark.parametrize(("batch", "frames"), [(1, 2), (1, 9), (4, 8), (4, 20), (4, 11), (4, 5)])
def test_fps_counts_the_frames_behind_the_first_batch(make: Callable[..., Lists], batch: int, frames: int) -> None:
    """cli.md: (frames - frames of the first batch) / (time of the last output - time of that batch's last output)."""
    result, events = _traced(make(batch=batch), frames)
    out: dict[str, list[int]] = {}
    for event in events:
        if event.kind is Kind.TRANSFER and event.unit in (f"channel {OUT} (D2H)", f"channel {SECOND_OUT} (D2H)"):
            out.setdefault(event.unit, []).append(event.ns)
    assert len(out) == (2 if make is _two_outputs else 1)
    assert all(len(times) == frames for times in out.values())
    last, first = max(times[-1] for times in out.values()), max(times[batch - 1] for times in out.values())
    assert result.groups[0].fps == pytest.approx((frames - batch) * 1e9 / (last - first), rel=1e-12)


@pytest.mark.parametrize("make", [single, double])
@pytest.mark.parametrize("batch", [1, 4])
def test_fps_of_one_batch_is_that_of_many(make: Callable[..., Lists], batch: int) -> None:
    """cli.md: with one batch only, the rate within it, of its only frame or of one round of the contexts."""
    one, many = make(batch=batch).run(batch).groups[0], make(batch=batch).run(40 * batch).groups[0]
    if one.fps_basis == "one_frame":  # nothing is in flight behind it
        assert one.fps == 1e9 / one.latency_ns
    else:  # the first round of several contexts is that of the preliminary list
        assert one.fps == pytest.approx(many.fps, rel=0.03)


# -- CONFIG_CONTEXT_SWITCH_TIMESTAMP


def _ends(events: Sequence[Event], context: str) -> list[list[int]]:
    """The instants at which the actions of each run of a context were done."""
    runs: list[list[int]] = []
    for event in events:
        if event.context == context and event.kind is Kind.CONTEXT_BEGIN:
            runs.append([])
        elif event.context == context and event.kind is Kind.ACTION:
            runs[-1].append(event.ns)
    return runs


@pytest.mark.parametrize(("batches", "measured"), [(1, 0), (2, 1), (3, 2), (4, 2), (7, 2)])
@pytest.mark.parametrize("batch", [1, 4])
def test_time_stamps_are_those_of_the_third_batch_or_the_last(batches: int, measured: int, batch: int) -> None:
    """fw-trace.md 6.1; a list that was not executed keeps 0xFFFFFFFF (firmware-actions.md 2)."""
    result, events = _traced(double(batch=batch), batches * batch, measure_actions=True)
    hertz = load("hailo8").timestamp_hz
    lists = result.groups[0].action_lists
    assert lists is not None
    for listed in lists:
        stamps = [located.timestamp for located in wire_of("4.23").decode(listed.data)]
        runs = _ends(events, listed.name)
        if listed.name == "batch_switching":
            assert set(stamps) == {TIMESTAMP_INIT}
            continue
        ran = runs[measured if listed.name.startswith("dynamic") else 0]
        # an entry with sub-actions carries the stamp of the last of them
        expected = [TIMESTAMP_INIT - int(ns * hertz / 1e9) for ns in ran]
        assert stamps[-1] == expected[-1]
        assert set(stamps) <= set(expected)
        assert stamps == sorted(stamps, reverse=True)


def test_a_batch_that_never_came_leaves_no_time_stamps() -> None:
    session = double().session(frames=3)
    session.device.send(config_timestamp("4.23", 4))  # the fourth, of index 3, is begun and waits for its input
    session.run_group(session.applications[0], leave=False)
    for listed in download(session.device.send, session.chip.applications[0]):
        stamps = {located.timestamp for located in wire_of("4.23").decode(listed.data)}
        assert (stamps == {TIMESTAMP_INIT}) == (listed.name in ("dynamic_0", "dynamic_1", "batch_switching"))


def test_a_single_context_is_stamped_in_its_only_run() -> None:
    result = single().run(6, measure_actions=True)
    lists = result.groups[0].action_lists
    assert lists is not None
    (listed,) = [one for one in lists if one.name == "dynamic_0"]
    stamps = [located.timestamp for located in wire_of("4.23").decode(listed.data)]
    # the application change never comes: the list's last action is not executed to its end
    assert [stamp != TIMESTAMP_INIT for stamp in stamps] == [True] * (len(stamps) - 1) + [False]


# -- LCUs


def _network(number: int, channel_in: int, channel_out: int, stream: int, at: int) -> list[Entry]:
    return [
        stream_out("BOUNDARY", channel_out, stream + 8, at + 1, network_index=number),
        stream_in("BOUNDARY", channel_in, stream, at, network_index=number),
        close("RESUME_VDMA_CHANNEL", channel_in, 1),
        fetch(channel_in, stream, network_index=number),
    ]


@pytest.mark.parametrize("batch", [1, 3, 8])
def test_an_lcu_enabled_when_all_frames_have_passed_is_done(batch: int) -> None:
    """docs/device.md: one that is enabled late finds the frames that the context let in before."""
    lists = double(batch=batch)
    (at,) = (n for n, one in enumerate(lists.dynamic[0]) if one == act("LCU_INTERRUPT", packed_lcu_id=0))
    lists.dynamic[0][at + 1 : at + 1] = [
        act("ENABLE_LCU_DEFAULT", packed_lcu_id=6),
        act("LCU_INTERRUPT", packed_lcu_id=6),
        act("DISABLE_LCU", packed_lcu_id=6),
    ]
    assert all(stream.frames == 2 * batch for stream in lists.run(2 * batch).groups[0].streams)


def _two_networks(batch: int) -> Lists:
    """One context through which two networks flow side by side; it waits for LCU 0 of the first."""
    lists = single(batch=batch, networks=2)
    lists.activation += [
        act("OPEN_BOUNDARY_OUTPUT_CHANNEL", packed_vdma_channel_id=SECOND_OUT, **buffer(6)),
        act(
            "OPEN_BOUNDARY_INPUT_CHANNEL",
            packed_vdma_channel_id=SECOND_IN,
            stream_index=3,
            network_index=1,
            periph_bytes_per_buffer=FRAME,
            frame_periph_size=FRAME,
            **buffer(5),
        ),
    ]
    lists.dynamic[0] = [
        *BOUNDARY[:-1],
        *_network(1, SECOND_IN, SECOND_OUT, 3, 5),
        BOUNDARY[-1],
        act("LCU_INTERRUPT", packed_lcu_id=0),
        act("APPLICATION_CHANGE_INTERRUPT"),
    ]
    return lists


def _passed(events: Sequence[Event], channel: int) -> list[int]:
    """When the frames of an output were in host memory."""
    return [e.ns for e in events if e.kind is Kind.TRANSFER and e.unit == f"channel {channel} (D2H)"]


@pytest.mark.parametrize("slow", [4, 50])
def test_an_lcu_enabled_late_finds_the_frames_of_its_own_network_only(slow: int) -> None:
    """Network 1 is slowed down: when all frames of network 0 have passed, hers have not."""
    lists = _two_networks(batch=4)
    lists.dynamic[0][-1:-1] = [
        act("ENABLE_LCU_DEFAULT", packed_lcu_id=6, network_index=1),
        act("LCU_INTERRUPT", packed_lcu_id=6),
    ]
    _, events = _traced(lists, 4, faults=[Fault.parse(f"slow-channel:{SECOND_IN}={slow}")])
    first, second = [e.ns for e in events if e.action == "LCU_INTERRUPT" and e.kind is Kind.ACTION]
    own, other = _passed(events, SECOND_OUT), _passed(events, OUT)
    assert other[3] <= first < own[3] <= second


@pytest.mark.parametrize("channel", [IN, SECOND_IN])
def test_a_slow_channel_slows_its_own_network_only(channel: int) -> None:
    def paces(*faults: str) -> list[int]:
        _, events = _traced(_two_networks(batch=4), 8, faults=[Fault.parse(fault) for fault in faults])
        return [times[-1] - times[0] for times in (_passed(events, OUT), _passed(events, SECOND_OUT))]

    plain, slowed = paces(), paces(f"slow-channel:{channel}=1000")
    hit = (IN, SECOND_IN).index(channel)
    assert slowed[hit] > 5 * plain[hit]
    assert slowed[1 - hit] == plain[1 - hit]
