"""The actions that wait: for units, for transfers, for the host."""

from __future__ import annotations

from functools import partial

from emu.hw.cluster import Lcu
from emu.hw.execution import Execution
from emu.hw.handlers.units import check_buffer_type, check_network
from emu.hw.vdma import Edge
from emu.hw.waits import Wait, lines, never, unknown
from emu.sequencer.program import Direction
from emu.wire.actions import (
    ApplicationChangeInterrupt,
    InputChannelTransferDoneInterrupt,
    LcuInterrupt,
    ModuleConfigDoneInterrupt,
    OutputChannelTransferDoneInterrupt,
    SequencerDoneInterrupt,
    WaitForCacheUpdated,
    WaitForDmaIdle,
    WaitForNms,
)
from emu.wire.status import FirmwareStatus as S
from emu.wire.status import FirmwareStopError, require

MAX_CONFIG_MODULES = 64


def lcu_interrupt(fw: Execution, a: LcuInterrupt) -> Wait | None:
    """Wait until an LCU has seen its count x batch."""
    lcu = fw.device.clusters.lcu(a.packed_lcu_id)
    if lcu.frames >= lcu.target and fw.grant_at is None and fw.probe.tracer is None:
        return None  # nobody has to hear of it, and no frames have to be let in
    what = f"{lcu.describe()} done"
    hopeless = partial(_never_done, lcu)
    return Wait(what, partial(_lcu_ready, fw, lcu), partial(_lcu_chain, fw, lcu), what, data=True, hopeless=hopeless)


def _lcu_ready(fw: Execution, lcu: Lcu) -> int | None:
    return fw.clock.time if lcu.done else None


def _never_done(lcu: Lcu) -> bool:
    return not lcu.counting and not lcu.done


def _lcu_chain(fw: Execution, lcu: Lcu) -> list[str]:
    if not lcu.counting:
        return [f"{lcu.describe()} is not enabled: no ENABLE_LCU started it"]
    found = [f"{lcu.describe()} has seen {lcu.frames} of {lcu.target} frames"]
    if lcu.target > fw.batch:
        found.append(f"{lcu.describe()}: it counts to a batch of {lcu.target}, the host's is {fw.batch}")
    return found + frames_chain(fw, lcu.network)


def sequencer_done_interrupt(fw: Execution, a: SequencerDoneInterrupt) -> Wait | None:
    """Wait for the sequencer of a cluster."""
    sequencer = fw.device.clusters.sequencer(a.sequencer_index)
    what = f"cluster {sequencer.cluster} sequencer done"
    logic = fw.device.logic
    if logic.active:
        done = logic.take_sequencer_done(sequencer.cluster)
        if done is None:
            return never(what, logic.why_not_done(sequencer.cluster), data=True)
        return fw.until(done, what, what)
    if sequencer.done_at is not None:
        return fw.until(sequencer.done_at, what, what)
    if fw.profile.config_starts_units and fw.device.config.channels:
        # started by register writes among the configuration (ccw.md): done once that has been consumed
        return fw.until(max(fw.now, round(fw.device.bus.idle_at)), what, what)
    return never(what, f"cluster {sequencer.cluster}: no TRIGGER_SEQUENCER started its sequencer", data=True)


def module_config_done_interrupt(fw: Execution, a: ModuleConfigDoneInterrupt) -> Wait | None:
    """Wait until every config fetch so far has been consumed (house rule, firmware-actions.md 8)."""
    require(
        a.module_index < MAX_CONFIG_MODULES,
        S.CONTEXT_SWITCH_STATUS_INVALID_CONFIG_MODULE_INDEX,
        lambda: f"config module {a.module_index}",
    )
    config = fw.device.config
    channels = fw.device.vdma.channels
    stalled = [c for c in config.channels.values() if c.fetched and channels[c.channel].stalled]
    if stalled:
        names = ", ".join(f"config channel {c.channel}" for c in stalled)
        return never(f"module {a.module_index} config done", f"{names} is stalled with descriptors outstanding")
    short = [c for c in config.channels.values() if config.outstanding_bursts(c)]
    if short:
        names = ", ".join(
            f"config stream {c.config_stream_index}: {config.outstanding_bursts(c)} bursts never arrive" for c in short
        )
        return never(f"module {a.module_index} config done", names)
    if fw.device.logic.active:
        # one record raises it, and this wait clears it (units.md 1)
        raised = fw.device.logic.take_config_done(a.module_index, fw.now)
        what = f"module {a.module_index} config done"
        if raised is None:
            return never(what, f"no record of the configuration raised {a.module_index} before this wait")
        return fw.until(raised, what, "config bus idle")
    return fw.until(round(fw.device.bus.idle_at), f"module {a.module_index} config done", "config bus idle")


def output_channel_transfer_done_interrupt(fw: Execution, a: OutputChannelTransferDoneInterrupt) -> Wait:
    """Wait until the batch's frames of an output are in host memory."""
    check_network(fw, a.network_index)
    edge = _output(fw, a)
    return _transferred(fw, edge, f"output stream {edge.stream} transferred")


def input_channel_transfer_done_interrupt(fw: Execution, a: InputChannelTransferDoneInterrupt) -> Wait:
    """Wait until the batch's frames of an input were fetched; the runtime never sends it."""
    edge = fw.device.core.edges.get((Direction.H2D, a.stream_index))
    if edge is None or edge.channel.packed != a.packed_vdma_channel_id:
        raise FirmwareStopError(
            S.CONTEXT_SWITCH_STATUS_INVALID_CHANNEL_INDEX,
            f"input stream {a.stream_index} is not active on channel {a.packed_vdma_channel_id}",
        )
    return _transferred(fw, edge, f"input stream {edge.stream} transferred")


def wait_for_dma_idle(fw: Execution, a: WaitForDmaIdle) -> Wait:
    """Wait until the channel of an output is idle; for outputs of variable size."""
    edge = _output(fw, a)
    return _transferred(fw, edge, f"{edge.channel.describe()} idle")


def wait_for_nms(fw: Execution, a: WaitForNms) -> Wait:
    """Wait until the NMS path (aggregator and output buffers) is idle."""
    what = (
        f"NMS aggregator {a.aggregator_index}, cluster {a.pred_cluster_ob_cluster_index} "
        f"output buffer {a.pred_cluster_ob_index} idle"
    )
    return Wait(what, partial(_batch_passed, fw), partial(frames_chain, fw, None), what, data=True)


def _batch_passed(fw: Execution) -> int | None:
    core = fw.device.core
    return fw.clock.time if core.passes and core.batch_passed else None


def application_change_interrupt(fw: Execution, a: ApplicationChangeInterrupt) -> Wait:
    """Stay until the host resets, switches the application or the batch."""
    return Wait("application change", unknown, partial(_no_change, fw), "application change", data=True)


def _no_change(fw: Execution) -> list[str]:
    return frames_chain(fw, None) or ["the host changes neither application nor batch"]


def wait_for_cache_updated(fw: Execution, a: WaitForCacheUpdated) -> Wait:
    """Tell the host that the cache offset is to move, and wait for its signal."""
    device = fw.device
    if device.wire.runtime.asks_for_cache_offset:
        device.report_start_update_cache_offset(fw.now)
    device.cache.awaited += 1
    ready = partial(_cache_updated, fw, device.cache.awaited)
    chain = partial(lines, "the host has not sent CONTEXT_SWITCH_SIGNAL_CACHE_UPDATED")
    return Wait("cache updated", ready, chain, "host signal", data=True)


def _cache_updated(fw: Execution, expected: int) -> int | None:
    return fw.clock.time if fw.device.cache.signals >= expected else None


def frames_chain(fw: Execution, network: int | None) -> list[str]:
    """Why the frames do not come: who would have to act."""
    passes = fw.device.core.passes
    if not passes:
        return ["no frames are flowing: the context granted no input before this wait"]
    found = []
    for one in passes:
        if network is not None and one.network not in (None, network):
            continue
        total = "endless" if one.limit is None else one.limit
        found.append(f"frames of {one.context.name}: {one.completed} of {total} delivered, {one.launched} launched")
        found += [why for why in (one.held, one.blocked) if why]
    return found


def _transferred(fw: Execution, waited: Edge, what: str) -> Wait:
    ready, chain = partial(_transfer_ready, fw, waited), partial(_transfer_chain, fw, waited)
    return Wait(what, ready, chain, what, data=True)


def _present(fw: Execution, waited: Edge) -> Edge:
    # a batch switch activates the edge layer anew under the wait
    return fw.device.core.edges.get((waited.direction, waited.stream), waited)


def _transfer_ready(fw: Execution, waited: Edge) -> int | None:
    return fw.clock.time if _present(fw, waited).done >= fw.batch else None


def _transfer_chain(fw: Execution, waited: Edge) -> list[str]:
    edge = _present(fw, waited)
    own = f"{edge.describe()}: {edge.done} of {fw.batch} frames ({edge.channel.progress()})"
    return [own, *frames_chain(fw, edge.network)]


def _output(fw: Execution, a: OutputChannelTransferDoneInterrupt | WaitForDmaIdle) -> Edge:
    edge = fw.device.core.edges.get((Direction.D2H, a.stream_index))
    if edge is None or edge.channel.packed != a.packed_vdma_channel_id:
        raise FirmwareStopError(
            S.CONTEXT_SWITCH_STATUS_INVALID_CHANNEL_INDEX,
            f"output stream {a.stream_index} is not active on channel {a.packed_vdma_channel_id}",
        )
    check_buffer_type(edge, a.host_buffer_type)
    return edge
