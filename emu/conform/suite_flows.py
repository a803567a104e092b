"""Vectors of what actions do: frames that flow or do not, waits that end or do not, registers that are written.

Whether a list came past an action is seen by what stands behind it: a SLEEP that is too short stops it with a status.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from emu.chips.runtimes import runtime_profile
from emu.conform.applications import (
    BOUNDARY,
    FRAME,
    IN,
    IN_STREAM,
    INTER_IN,
    INTER_OUT,
    OUT,
    OUT_STREAM,
    Application,
    act,
    close,
    double,
    fetch,
    single,
    stream_in,
    stream_out,
    with_ddr,
    without,
)
from emu.conform.suite_controls import BOARD, ENABLE, INTEGRATED, RESET
from emu.conform.suite_statuses import configured, fed
from emu.conform.vector import Basis, Moved, Step, Vector, asked, control, ran
from emu.hw.application import CONTEXT_ORDER, FIRST_DYNAMIC
from emu.sequencer.program import ContextType, Direction
from emu.wire.control import ContextSwitchStatus, Opcode, change_context_switch_status
from emu.wire.notifications import EventId
from emu.wire.status import FirmwareStatus as S
from emu.wire.wire import wire_of

TRIPWIRE = act("SLEEP", sleep_time=999)
SOURCE = "firmware-actions.md 8"
REGISTER = 0x128001DC  # of a cluster that the lists leave alone: one that READ_MEMORY reads


def moved(frames: range, *channels: tuple[int, int, Direction]) -> tuple[Moved, ...]:
    """Transfers of these frames on (channel, stream, direction) each: the boundary where none is named."""
    places = channels or ((IN, IN_STREAM, Direction.H2D), (OUT, OUT_STREAM, Direction.D2H))
    return tuple(Moved(channel, stream, int(way), frame) for frame in frames for channel, stream, way in places)


def vector(
    name: str,
    says: str,
    made: Application,
    steps: Sequence[Step],
    *covers: str,
    basis: Basis = Basis.HOUSE_RULE,
    source: str = SOURCE,
    hazards: frozenset[str] = frozenset(),
) -> Vector:
    """A vector of an application that is configured first."""
    return Vector(
        name, says, basis, source, made.device, made.runtime, (*configured(made), *steps), made.memory(), made.layout,
        covers, hazards,
    )  # fmt: skip


def stopped(made: Application, kind: ContextType, action: int, batch: int = 0, index: int = 0) -> tuple[int, bytes]:
    """The notification of the tripwire: its list, and its number there (firmware-actions.md 6)."""
    context = CONTEXT_ORDER.index(kind) if kind in CONTEXT_ORDER else FIRST_DYNAMIC + index
    told = wire_of(made.runtime).notifications.run_time_error(
        S.CONTEXT_SWITCH_STATUS_INVALID_SLEEP_TIME, 0, batch, context, action
    )
    return int(EventId.CONTEXT_SWITCH_RUN_TIME_ERROR), told.payload


def flowing() -> Iterator[Vector]:
    """Frames through every kind of edge layer."""
    three = [control(ENABLE)]
    for device in ("hailo8", INTEGRATED):
        made = single(device=device)
        fetches = "FETCH_CCW_BURSTS" if device == INTEGRATED else "FETCH_CFG_CHANNEL_DESCRIPTORS"
        yield vector(
            f"flow/one-context-{device}",
            "frames of a single context flow as fast as the host queues them, until a RESET",
            made,
            [*three, *fed(made, 3), ran(moved=moved(range(3))), *fed(made, 2, 3), ran(moved=moved(range(3, 5))),
             control(RESET, sizes=())],
            fetches, "ACTIVATE_CFG_CHANNEL", "DEACTIVATE_CFG_CHANNEL", "OPEN_BOUNDARY_INPUT_CHANNEL",
            "OPEN_BOUNDARY_OUTPUT_CHANNEL", "ACTIVATE_BOUNDARY_INPUT", "ACTIVATE_BOUNDARY_OUTPUT",
            "FETCH_DATA_FROM_VDMA_CHANNEL", "BURST_CREDITS_TASK_START", "BURST_CREDITS_TASK_RESET",
            "APPLICATION_CHANGE_INTERRUPT", "DISABLE_LCU", "ENABLE_LCU_DEFAULT", "ENABLE_LCU_NON_DEFAULT",
        )  # fmt: skip
    made = double()
    inner = ((INTER_OUT, 10, Direction.D2H), (INTER_IN, 4, Direction.H2D))
    yield vector(
        "flow/two-contexts",
        "a frame goes through both contexts, one after the other, and through the memory between them",
        made,
        [*three, *fed(made, 3), ran(moved=(*moved(range(3)), *moved(range(3), *inner)))],
        "ACTIVATE_INTER_CONTEXT_INPUT", "ACTIVATE_INTER_CONTEXT_OUTPUT", "CHANGE_VDMA_TO_STREAM_MAPPING",
        "DEACTIVATE_VDMA_CHANNEL", "VALIDATE_VDMA_CHANNEL", "OUTPUT_CHANNEL_TRANSFER_DONE_INTERRUPT",
        "WAIT_FOR_DMA_IDLE_ACTION", "LCU_INTERRUPT", "REPEATED_ACTION", "PAUSE_VDMA_CHANNEL", "RESUME_VDMA_CHANNEL",
    )  # fmt: skip
    made = with_ddr()
    yield vector(
        "flow/ddr-portal",
        "frames pass a DDR portal whose task moves the credits",
        made,
        [*three, *fed(made, 3), ran(moved=moved(range(3)))],
        "ACTIVATE_DDR_BUFFER_INPUT", "ACTIVATE_DDR_BUFFER_OUTPUT", "ADD_DDR_PAIR_INFO", "DDR_BUFFERING_START",
    )  # fmt: skip
    made = _with_cache()
    yield vector(
        "flow/cache",
        "a cache is read and written beside the frames",
        made,
        [*three, *fed(made, 2), ran(moved=moved(range(2)))],
        "ACTIVATE_CACHE_INPUT", "ACTIVATE_CACHE_OUTPUT",
    )  # fmt: skip
    made = double(batch=4)
    smaller = change_context_switch_status(ContextSwitchStatus.ENABLED, 0, 2)
    yield vector(
        "flow/another-batch",
        "ENABLE over ENABLE with another batch runs the batch-switching list; batches are smaller from then on",
        made,
        [*three, *fed(made, 4), ran(moved=moved(range(4))), control(smaller, sizes=()), ran(moved=()),
         *fed(made, 2, 4), ran(moved=moved(range(4, 6)))],
        "SWITCH_LCU_BATCH", "CHANGE_BOUNDARY_INPUT_BATCH", "DDR_BUFFERING_RESET",
        source="firmware-actions.md 5.3",
    )  # fmt: skip
    made = double(batch=2)
    yield vector(
        "flow/a-batch-is-waited-for",
        "the second context begins when the batch is through the first: half a batch brings nothing out",
        made,
        [*three, *fed(made, 1), ran(moved=moved(range(1), (IN, IN_STREAM, Direction.H2D)))],
        "OUTPUT_CHANNEL_TRANSFER_DONE_INTERRUPT",
    )
    yield from _counted()


def _counted() -> Iterator[Vector]:
    made = double()
    twice = change_context_switch_status(ContextSwitchStatus.ENABLED, 0, 0, 2)
    yield vector(
        "flow/batch-count",
        "an ENABLE with a batch count stops after so many batches",
        made,
        [control(twice, sizes=()), *fed(made, 3), ran(moved=moved(range(2)))],
        "CHANGE_CONTEXT_SWITCH_STATUS",
        source="firmware-actions.md 5.3",
    )


def holding() -> Iterator[Vector]:
    """What keeps frames back."""
    for name, says, edit, action in (
        ("not-resumed", "an input channel stands until RESUME", without(BOUNDARY, "RESUME_VDMA_CHANNEL"), "RESUME"),
        ("paused", "PAUSE holds an input back", [*BOUNDARY, close("PAUSE_VDMA_CHANNEL", IN, 1)], "PAUSE"),
    ):
        made = single()
        made.dynamic[0] = [*edit, act("APPLICATION_CHANGE_INTERRUPT")]
        yield vector(
            f"flow/{name}", says, made, [control(ENABLE), *fed(made, 2), ran(moved=())], f"{action}_VDMA_CHANNEL"
        )
    made = single()
    made.dynamic[0] = without(made.dynamic[0], "BURST_CREDITS_TASK_START")
    yield vector(
        "flow/no-credits",
        "without the burst-credits task an input has no credits",
        made,
        [control(ENABLE), *fed(made, 2), ran(moved=())],
        "BURST_CREDITS_TASK_START",
    )
    made = single()
    dummy = act("CHANGE_VDMA_TO_STREAM_MAPPING", packed_vdma_channel_id=OUT, stream_index=3, is_dummy_stream=1)
    made.dynamic[0][-1:-1] = [dummy]
    yield vector(
        "flow/dummy-stream",
        "an output that is mapped to a dummy stream is held back",
        made,
        [control(ENABLE), *fed(made, 1), ran(moved=moved(range(1), (IN, IN_STREAM, Direction.H2D)))],
        "CHANGE_VDMA_TO_STREAM_MAPPING",
        basis=Basis.DOCUMENTED,
    )
    made = single()
    made.dynamic[0][3] = fetch(IN, IN_STREAM, size=FRAME // 2)
    yield vector(
        "flow/frame-sizes-that-disagree",
        "FETCH_DATA of another size than the channel was opened for is a silent stall",
        made,
        [control(ENABLE), *fed(made, 1), ran(moved=())],
        "FETCH_DATA_FROM_VDMA_CHANNEL",
        source="silicon-facts.md d",
    )
    made = single()
    yield vector(
        "flow/no-frame-no-transfer",
        "nothing moves before the host has queued a frame",
        made,
        [control(ENABLE), ran(moved=())],
        "APPLICATION_CHANGE_INTERRUPT",
    )


def waiting() -> Iterator[Vector]:
    """Each action that waits: it ends by its cause, and not without."""
    preliminary = ContextType.PRELIMINARY
    for name, says, entries, ends in (
        ("sleep", "SLEEP goes on after its time", [act("SLEEP", sleep_time=1000)], True),
        ("halt", "HALT stops for good", [act("HALT")], False),
        ("sequencer-not-triggered", "SEQUENCER_DONE does not come of nothing",
         [act("SEQUENCER_DONE_INTERRUPT", sequencer_index=1)], False),
        ("sequencer", "SEQUENCER_DONE comes after TRIGGER_SEQUENCER",
         [act("TRIGGER_SEQUENCER", cluster_index=1), act("SEQUENCER_DONE_INTERRUPT", sequencer_index=1)], True),
        ("config-done", "MODULE_CONFIG_DONE comes when what was fetched has been written",
         [act("MODULE_CONFIG_DONE_INTERRUPT", module_index=5)], True),
        ("lcu-not-enabled", "an LCU that nothing enabled is never done",
         [act("LCU_INTERRUPT", packed_lcu_id=7)], False),
        ("nms-enabled", "ENABLE_NMS configures a unit and goes on",
         [act("ENABLE_NMS", number_of_classes=1, burst_size=1)], True),
    ):  # fmt: skip
        made = single()
        made.preliminary = [*made.preliminary, *entries, TRIPWIRE]
        number = len(made.preliminary) - 1
        told = (stopped(made, preliminary, number),) if ends else ()
        yield vector(
            f"wait/{name}", says, made, [control(ENABLE), ran(notified=told)], *(one.type.name for one in entries)
        )
    yield from _for_frames()
    yield from _for_the_host()


def _for_frames() -> Iterator[Vector]:
    transferred = {"packed_vdma_channel_id": OUT, "stream_index": OUT_STREAM}
    for name, says, wait in (
        ("lcu", "an LCU is done after its count times the batch", act("LCU_INTERRUPT")),
        ("output", "an output is done when the batch's frames are in host memory",
         act("OUTPUT_CHANNEL_TRANSFER_DONE_INTERRUPT", **transferred)),
        ("input", "an input is done when the batch's frames were fetched",
         act("INPUT_CHANNEL_TRANSFER_DONE_INTERRUPT", packed_vdma_channel_id=IN, stream_index=IN_STREAM)),
        ("dma-idle", "a channel is idle when the batch's frames are through",
         act("WAIT_FOR_DMA_IDLE_ACTION", **transferred)),
        ("nms", "the NMS path is idle when the batch's frames are through", act("WAIT_FOR_NMS")),
    ):  # fmt: skip
        made = single(batch=2)
        made.dynamic[0][-1:] = [wait, TRIPWIRE]
        told = stopped(made, ContextType.DYNAMIC, len(made.dynamic[0]) - 1)
        yield vector(
            f"wait/{name}",
            f"{says}: not before",
            made,
            [control(ENABLE), *fed(made, 1), ran(), *fed(made, 1, 1), ran(notified=(told,))],
            wait.type.name,
        )


def _for_the_host() -> Iterator[Vector]:
    for device in (BOARD, INTEGRATED):
        made = single(device=device)
        made.dynamic[0][-1:] = [act("WAIT_FOR_CACHE_UPDATED"), TRIPWIRE]
        asks = runtime_profile(made.runtime).asks_for_cache_offset
        told = stopped(made, ContextType.DYNAMIC, len(made.dynamic[0]) - 1)
        event = ((int(EventId.START_UPDATE_CACHE_OFFSET), b""),) if asks else ()
        signal = asked(Opcode.CONTEXT_SWITCH_SIGNAL_CACHE_UPDATED, sizes=())
        yield vector(
            f"wait/cache-updated-{device}",
            "WAIT_FOR_CACHE_UPDATED stays until the host signals" + " that it moved the offset as asked" * asks,
            made,
            [control(ENABLE), ran(notified=event), signal, ran(notified=(told,))],
            "WAIT_FOR_CACHE_UPDATED",
            "CONTEXT_SWITCH_SIGNAL_CACHE_UPDATED",
            basis=Basis.DOCUMENTED,
        )
    made = single()
    made.dynamic[0].append(TRIPWIRE)
    yield vector(
        "wait/application-change",
        "APPLICATION_CHANGE_INTERRUPT stays, frames or not, until the host resets",
        made,
        [control(ENABLE), *fed(made, 3), ran(moved=moved(range(3))), control(RESET, sizes=()), ran(moved=())],
        "APPLICATION_CHANGE_INTERRUPT",
        basis=Basis.DOCUMENTED,
    )


def writing() -> Iterator[Vector]:
    """WRITE_DATA_BY_TYPE, read back."""
    reading = (REGISTER.to_bytes(4, "big"), (4).to_bytes(4, "big"))
    for name, says, fields, value in (
        ("value", "data goes under the mask, shifted", {"data": 0xA5, "shift": 8, "mask": 0xFF00}, 0xA500),
        ("masked", "what the mask leaves out stays", {"data": 0xFFFFFFFF, "mask": 0x0F}, 0x0F),
        ("batch", "data type 1 writes the batch", {"data_type": 1, "data": 9, "mask": 0xFF}, 3),
    ):
        made = single(device=BOARD, batch=3)
        made.preliminary += [act("WRITE_DATA_BY_TYPE", address=REGISTER, **fields)]
        read = asked(Opcode.READ_MEMORY, reading, parameters=(struct.pack("<I", value),))
        yield vector(
            f"write/{name}",
            says,
            made,
            [control(ENABLE), ran(), read],
            "WRITE_DATA_BY_TYPE",
            source="hef-compile.md 2.2",
        )


def _with_cache() -> Application:
    made = single()
    listed = made.dynamic[0]
    made.dynamic[0] = [
        stream_out("CACHE", 19, 14, 5, batch_size=1),
        stream_in("CACHE", 5, 15, 6, total_desc_count=3),
        *listed[:-2],
        fetch(5, 15, 2, 2),
        *listed[-2:],
    ]
    return made


FLOWS = (flowing, holding, waiting, writing)
