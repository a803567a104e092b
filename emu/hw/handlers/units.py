"""LCUs, sequencers and NMS units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from emu.hw.cluster import DEFAULT_KERNEL_DONE_ADDRESS, DEFAULT_KERNEL_DONE_COUNT
from emu.hw.status import FirmwareStatus as S
from emu.hw.status import FirmwareStopError
from emu.trace.events import Event, Kind

if TYPE_CHECKING:
    from emu.hw.firmware import Firmware


def check_network(fw: Firmware, network: int, status: S = S.CONTEXT_SWITCH_STATUS_INVALID_NETWORK_INDEX) -> None:
    """A network index must be one of the application's."""
    assert fw.application is not None
    count = fw.application.header.networks_count
    if network >= count:
        raise FirmwareStopError(status, f"network {network}: the application has {count}")


def enable_lcu_default(fw: Firmware, a: Any) -> None:
    """Enable with kernel_done_address 1, count 2 (firmware-actions.md 1)."""
    _enable(fw, a.packed_lcu_id, a.network_index, DEFAULT_KERNEL_DONE_ADDRESS, DEFAULT_KERNEL_DONE_COUNT)


def enable_lcu_non_default(fw: Firmware, a: Any) -> None:
    """Enable with its own done condition."""
    _enable(fw, a.packed_lcu_id, a.network_index, a.kernel_done_address, a.kernel_done_count)


def _enable(fw: Firmware, packed: int, network: int, address: int, count: int) -> None:
    check_network(fw, network)
    lcu = fw.device.clusters.enable(packed, network, address, count, fw.batch)
    # a layer that is enabled late finds the frames that the context let in before (house rule)
    lcu.frames = fw.device.core.frames_passed(network)
    if fw.tracing:
        fw.note = f"{lcu.describe()} on"


def disable_lcu(fw: Firmware, a: Any) -> None:
    """Stop an LCU; stopping one that does not run is what every preliminary context begins with."""
    lcu = fw.device.clusters.disable(a.packed_lcu_id)
    if fw.tracing:
        fw.note = f"{lcu.describe()} off"


def switch_lcu_batch(fw: Firmware, a: Any) -> None:
    """Re-program the done count of an LCU for the present batch."""
    check_network(fw, a.network_index)
    lcu = fw.device.clusters.switch_batch(a.packed_lcu_id, a.network_index, a.kernel_done_count, fw.batch)
    if fw.tracing:
        fw.note = f"{lcu.describe()} batch {fw.batch}"


def trigger_sequencer(fw: Firmware, a: Any) -> None:
    """Write the sequencer's configuration and start it once the configuration has arrived."""
    device = fw.device
    done = max(fw.now, round(device.bus.idle_at)) + round(fw.profile.sequencer_ns)
    device.clusters.trigger(a.cluster_index, a._asdict(), done)
    if device.tracer is not None:
        fw.note = f"cluster {a.cluster_index} sequencer"
        device.tracer.emit(
            Event(done, Kind.UNIT, device.core.application, action="done", unit=fw.note, cause="TRIGGER_SEQUENCER")
        )


def enable_nms(fw: Firmware, a: Any) -> None:
    """Configure an NMS unit for the frames of a batch."""
    check_network(fw, a.network_index, S.NMS_MANAGER_STATUS_INVALID_NETWORK_INDEX)
    unit = fw.device.nms.enable(a.nms_unit_index, a.network_index, a.number_of_classes, a.burst_size, a.division_factor)
    fw.device.memory_note("nms", a.nms_unit_index, tuple(a))
    if fw.tracing:
        fw.note = f"NMS unit {unit.index}: {unit.delimiters_per_frame} delimiters a frame"
