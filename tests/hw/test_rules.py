"""Rules of execution that no capture depends on: each would otherwise change unseen."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from emu.host.session import StalledError
from emu.hw.device import Device
from emu.hw.vdma import Edge
from emu.sequencer.program import Direction
from emu.trace.events import Event, Kind
from emu.trace.tracer import Tracer
from emu.wire.actions import ActionType
from emu.wire.control import ContextSwitchStatus, change_context_switch_status, decode_response
from tests.hw.lists import (
    INTER_IN,
    INTER_OUT,
    Lists,
    act,
    bare_host,
    changed,
    close,
    double,
    single,
    stream_out,
    with_ddr,
    without,
)


def test_an_input_moves_nothing_before_it_is_resumed() -> None:
    lists = single()
    lists.dynamic[0] = without(lists.dynamic[0], "RESUME_VDMA_CHANNEL")
    with pytest.raises(StalledError, match="the channel is paused"):
        lists.run(1)


def test_an_edge_layer_that_was_closed_can_be_activated_again() -> None:
    lists = double()
    again = [stream_out("INTER_CONTEXT", INTER_OUT, 10, 3), close("DEACTIVATE_VDMA_CHANNEL", INTER_OUT, 2)]
    lists.dynamic[0][0:0] = again
    assert all(stream.frames == 3 for stream in lists.run(3).groups[0].streams)


def test_a_reset_burst_task_gets_its_job_from_the_new_batch() -> None:
    lists = single(batch=4)
    lists.batch_switching.insert(0, act("BURST_CREDITS_TASK_RESET"))
    assert all(stream.frames == 6 for stream in lists.run(6).groups[0].streams)


def test_an_input_belongs_to_the_network_that_its_credits_name() -> None:
    """ACTIVATE_INTER_CONTEXT_INPUT leaves network_index at 0 (hef-compile.md 4.5)."""
    lists = double(networks=2)
    lists.dynamic[1] = changed(lists.dynamic[1], "FETCH_DATA_FROM_VDMA_CHANNEL", network_index=1)
    seen: list[Edge] = []

    def hooked(device: Device) -> None:
        device.probe.action_hooks.append(
            lambda context, step: (
                seen.append(device.core.edges[Direction.H2D, 4])
                if step.type is ActionType.WAIT_FOR_DMA_IDLE_ACTION
                else None
            )
        )

    lists.run(1, on_device=hooked)
    assert [(edge.channel.packed, edge.network) for edge in seen] == [(INTER_IN, 1)]


def test_a_disabled_lcu_counts_no_more_where_configuration_starts_units() -> None:
    def lists(*entries: str) -> Lists:
        one = single(device="hailo15h", runtime="5.2")
        one.dynamic[0][-1:-1] = [act(name, packed_lcu_id=7) for name in entries]
        return one

    assert lists("SWITCH_LCU_BATCH", "LCU_INTERRUPT").run(1).groups[0].streams[0].frames == 1
    with pytest.raises(StalledError, match="cluster 0 LCU 7 is not enabled"):
        lists("SWITCH_LCU_BATCH", "DISABLE_LCU", "LCU_INTERRUPT").run(1)


@pytest.mark.parametrize("context", ["dynamic_0", "dynamic_1"])
@pytest.mark.parametrize("transfers", range(0, 20, 2))
def test_the_batch_of_contexts_that_take_turns_can_be_switched_at_any_moment(context: str, transfers: int) -> None:
    """ENABLE over ENABLE while frames are under way: the batch that has come in is finished first."""
    session = double(batch=4).session(frames=40)
    device, host = session.chip, bare_host(session)
    device.control(change_context_switch_status(ContextSwitchStatus.ENABLED, 0))
    host.queue_outputs()
    host.feed(12)

    def there() -> bool:
        firmware = device.firmware
        is_here = firmware.context is not None and firmware.context.name == context and firmware.waiting is not None
        return is_here and device.boundary_transfers >= transfers

    device.run_until(there)
    reply = device.control(change_context_switch_status(ContextSwitchStatus.ENABLED, 0, 2))
    assert decode_response(reply).major_status == 0
    host.feed(28)
    device.run_until(lambda: host.done)
    assert device.firmware.error is None
    assert host.done and device.firmware.batch == 2


@pytest.mark.parametrize("batch", [1, 2, 3])
@pytest.mark.parametrize("waits", ["for its output", "for network idle"])
def test_the_batch_is_switched_while_the_first_context_waits_for_frames(waits: str, batch: int) -> None:
    """In its list or between the contexts: the switch is served there, and the frames that follow make such batches."""
    lists, before = double(batch=4), 4
    if waits == "for network idle":  # the preliminary list is the first run of context 0 and waits for nothing itself
        lists, before = double(batch=4, asap=1), 0
        lists.preliminary[-1:-1] = lists.dynamic[0][:6]
    session = lists.session(frames=10)
    device, host = session.chip, bare_host(session)
    device.control(change_context_switch_status(ContextSwitchStatus.ENABLED, 0))
    host.queue_outputs()
    host.feed(before)
    device.run_until(lambda: device.firmware.resting)
    assert host.delivered == before and device.firmware.waiting is not None
    assert (device.firmware.waiting.what == "network idle") == (waits == "for network idle")
    stands = device.firmware.waiting.what, device.firmware.context
    device.control(change_context_switch_status(ContextSwitchStatus.ENABLED, 0, batch))
    device.run_until(lambda: False)  # nothing more happens before a frame comes
    assert device.firmware.batch == batch and (device.firmware.waiting.what, device.firmware.context) == stands
    host.feed(2 * batch)
    device.run_until(lambda: host.done)
    assert device.firmware.error is None and (host.delivered, device.firmware.batch) == (before + 2 * batch, batch)


def _events(lists: Lists, frames: int) -> list[Event]:
    found: list[Event] = []

    class Sink:
        def write(self, events: Sequence[Event]) -> None:
            found.extend(events)

        def close(self) -> None:
            pass

    lists.run(frames, tracer_for=lambda clock: Tracer([Sink()], clock))
    return found


@pytest.mark.parametrize("make", [single, double, with_ddr])
@pytest.mark.parametrize("batch", [1, 4])
def test_frames_are_numbered_through_batches_and_batch_switches(make: Callable[..., Lists], batch: int) -> None:
    events = _events(make(batch=batch), 10)
    for channel in ("channel 2 (H2D)", "channel 16 (D2H)"):
        passed = [e.frame for e in events if e.kind is Kind.TRANSFER and e.unit == channel]
        assert passed == list(range(10))


def test_nms_is_idle_once_the_batch_has_passed() -> None:
    lists = single(batch=4)
    lists.dynamic[0].insert(-1, act("WAIT_FOR_NMS"))
    events = _events(lists, 4)
    (idle,) = [e.ns for e in events if e.action == "WAIT_FOR_NMS" and e.kind is Kind.ACTION]
    assert idle >= max(e.ns for e in events if e.kind is Kind.TRANSFER and e.frame == 3)


def test_the_event_names_a_dynamic_context_by_the_index_of_the_firmware() -> None:
    """0 activation, 1 batch switching, 2 preliminary, then the dynamic ones (firmware-actions.md 4)."""
    lists = double()
    lists.dynamic[0].insert(0, close("PAUSE_VDMA_CHANNEL", 2, 0))
    session = lists.session()
    device = session.chip
    bare_host(session)
    device.control(change_context_switch_status(ContextSwitchStatus.ENABLED, 0))
    device.run_until(lambda: False)
    assert device.notifications[-1].event_id.name == "CONTEXT_SWITCH_RUN_TIME_ERROR"
    assert int.from_bytes(device.notifications[-1].payload[7:9], "little") == 3


def test_a_reset_forgets_the_units() -> None:
    lists = single()
    lists.preliminary.append(act("ENABLE_NMS", number_of_classes=3, burst_size=8))
    session = lists.session()
    session.run_group(session.applications[0], leave=False)
    device = session.chip
    assert device.nms.units and device.clusters.running()
    device.control(change_context_switch_status(ContextSwitchStatus.RESET))
    assert not device.nms.units and not device.clusters.running()


def test_single_writes_count_for_their_region() -> None:
    lists = single()
    lists.preliminary.append(act("WRITE_DATA_BY_TYPE", address=0x00200684, data=5, mask=0xFFFFFFFF))
    (low,) = [use for use in lists.run(1).groups[0].regions if use.region.name == "system low"]
    assert (low.bytes_written, low.writes) == (4, 1)
