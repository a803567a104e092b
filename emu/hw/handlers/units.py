"""LCUs, sequencers and NMS units."""

from __future__ import annotations

from emu.hw.cluster import DEFAULT_KERNEL_DONE_ADDRESS, DEFAULT_KERNEL_DONE_COUNT
from emu.hw.execution import Execution
from emu.hw.vdma import Edge
from emu.trace.events import Event, Kind
from emu.wire.actions import (
    DisableLcu,
    EnableLcuDefault,
    EnableLcuNonDefault,
    EnableNms,
    SwitchLcuBatch,
    TriggerSequencer,
)
from emu.wire.status import FirmwareStatus as S
from emu.wire.status import FirmwareStopError


def check_network(fw: Execution, network: int, status: S = S.CONTEXT_SWITCH_STATUS_INVALID_NETWORK_INDEX) -> None:
    """A network index must be one of the application's."""
    assert fw.application is not None
    count = fw.application.header.networks_count
    if network >= count:
        raise FirmwareStopError(status, f"network {network}: the application has {count}")


def check_buffer_type(edge: Edge, announced: int) -> None:
    """The host buffer of an edge must be of the type that it was activated with."""
    if edge.buffer.buffer_type != announced:
        raise FirmwareStopError(
            S.CONTEXT_SWITCH_STATUS_INVALID_HOST_BUFFER_TYPE,
            f"{edge.describe()} was activated with host buffer type {edge.buffer.buffer_type}, not {announced}",
        )


def enable_lcu_default(fw: Execution, a: EnableLcuDefault) -> None:
    """Enable with kernel_done_address 1, count 2 (firmware-actions.md 1)."""
    _enable(fw, a.packed_lcu_id, a.network_index, DEFAULT_KERNEL_DONE_ADDRESS, DEFAULT_KERNEL_DONE_COUNT)


def enable_lcu_non_default(fw: Execution, a: EnableLcuNonDefault) -> None:
    """Enable with its own done condition."""
    _enable(fw, a.packed_lcu_id, a.network_index, a.kernel_done_address, a.kernel_done_count)


def _enable(fw: Execution, packed: int, network: int, address: int, count: int) -> None:
    check_network(fw, network)
    # a layer that is enabled late finds the frames that the context let in before (house rule)
    seen = fw.device.core.frames_passed(network)
    lcu = fw.device.clusters.enable(packed, network, address, count, fw.batch, seen)
    if fw.device.logic.active:
        fw.device.logic.enabled(lcu.cluster, lcu.index, fw.now)
    if fw.device.core.passes:
        fw.device.core.changed.notify()  # frames may have waited for it
    if fw.tracing:
        fw.note = f"{lcu.describe()} on"


def disable_lcu(fw: Execution, a: DisableLcu) -> None:
    """Stop an LCU; stopping one that does not run is what every preliminary context begins with."""
    lcu = fw.device.clusters.disable(a.packed_lcu_id)
    if fw.tracing:
        fw.note = f"{lcu.describe()} off"


def switch_lcu_batch(fw: Execution, a: SwitchLcuBatch) -> None:
    """Re-program the done count of an LCU for the present batch."""
    check_network(fw, a.network_index)
    lcu = fw.device.clusters.switch_batch(a.packed_lcu_id, a.network_index, a.kernel_done_count, fw.batch)
    if fw.tracing:
        fw.note = f"{lcu.describe()} batch {fw.batch}"


def trigger_sequencer(fw: Execution, a: TriggerSequencer) -> None:
    """Write the sequencer's configuration and start it once the configuration has arrived."""
    device = fw.device
    at = max(fw.now, round(device.bus.idle_at))
    device.clusters.sequencer(a.cluster_index)  # which has to be there
    done = device.logic.trigger(a, at) if device.logic.active else at + device.clusters.sequencer_ns
    device.clusters.trigger(a, done)
    if done is None:
        fw.note = f"cluster {a.cluster_index} sequencer" if fw.tracing else ""
        return
    if device.probe.tracer is not None:
        fw.note = f"cluster {a.cluster_index} sequencer"
        device.probe.tracer.emit(
            Event(done, Kind.UNIT, device.core.application, action="done", unit=fw.note, cause="TRIGGER_SEQUENCER")
        )


def enable_nms(fw: Execution, a: EnableNms) -> None:
    """Configure an NMS unit for the frames of a batch."""
    check_network(fw, a.network_index, S.NMS_MANAGER_STATUS_INVALID_NETWORK_INDEX)
    unit = fw.device.nms.enable(a.nms_unit_index, a.network_index, a.number_of_classes, a.burst_size, a.division_factor)
    fw.device.memory_note("nms", a.nms_unit_index, tuple(a))
    if fw.tracing:
        fw.note = f"NMS unit {unit.index}: {unit.delimiters_per_frame} delimiters a frame"
