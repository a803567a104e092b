"""Vectors of the control messages that few clients send (firmware-actions.md 5.3, 5.9, 5.11 to 5.15)."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from emu.chips.runtimes import runtime_profile
from emu.conform.applications import IN, LENGTH, OUT, PER_FRAME, Application, single, speaks
from emu.conform.suite_controls import BOARD, ENABLE, INTEGRATED
from emu.conform.suite_flows import moved, vector
from emu.conform.suite_statuses import configured, fed
from emu.conform.vector import Basis, Step, Vector, asked, control, ran
from emu.wire.control import ContextSwitchStatus, Opcode, change_context_switch_status
from emu.wire.messages import OF_CACHES
from emu.wire.notifications import EventId
from emu.wire.status import FirmwareStatus as S
from emu.wire.wire import wire_of

PAUSE = change_context_switch_status(ContextSwitchStatus.PAUSED, 0)
NN_HZ = 400_000_000  # of the measured board (silicon-facts.md a)


def _alone(
    name: str, says: str, basis: Basis, source: str, steps: Sequence[Step], *covers: str, device: str = BOARD
) -> Vector:
    return Vector(f"rare/{name}", says, basis, source, device, speaks(device), tuple(steps), covers=covers)


def measurements() -> Iterator[Vector]:
    """Latency and idle time: when they can be read, and how."""
    configure = Opcode.NN_CORE_LATENCY_MEASUREMENT_CONFIG
    read = Opcode.NN_CORE_LATENCY_MEASUREMENT_READ
    on = (b"\1", bytes(4), bytes(4), (1).to_bytes(4, "big"), (9).to_bytes(4, "big"))
    off = (b"\0", *on[1:])
    failed = S.CONTROL_PROTOCOL_STATUS_LATENCY_READ_FAILED
    disabled = S.HAILO_DATAFLOW_STATUS_LATENCY_MEASUREMENT_READ_WHILE_DISABLED
    waiting = S.HAILO_DATAFLOW_STATUS_LATENCY_MEASUREMENT_IN_PROGRESS
    source = "firmware-actions.md 5.11"
    yield _alone(
        "latency-while-off",
        "latency cannot be read while it is not measured",
        Basis.HOUSE_RULE,
        source,
        [asked(read, major=failed, minor=disabled)],
        read.name, failed.name, disabled.name,
    )  # fmt: skip
    made = single(device=BOARD)
    yield vector(
        "rare/latency",
        "latency is told once the frames have passed, as one u32 in ns, big-endian",
        made,
        [
            asked(configure, on, sizes=()), control(ENABLE), asked(read, major=failed, minor=waiting),
            *fed(made, 1), ran(), asked(read, sizes=(4,)), asked(configure, off, sizes=()),
            asked(read, major=failed, minor=disabled),
        ],
        configure.name, read.name, waiting.name,
        basis=Basis.DOCUMENTED,
        source=source,
    )  # fmt: skip
    put, get = Opcode.IDLE_TIME_SET_MEASUREMENT, Opcode.IDLE_TIME_GET_MEASUREMENT
    again = S.CONTROL_PROTOCOL_STATUS_IDLE_TIME_MEASUREMENT_ALREADY_SET
    never = S.CONTROL_PROTOCOL_STATUS_FAILED_IDLE_TIME_GET_MEASUREMENT
    yield _alone(
        "idle-time",
        "idle time is told as one u64 in ns, big-endian; setting it to what it is is refused",
        Basis.HOUSE_RULE,
        "firmware-actions.md 5.12",
        [
            asked(get, major=never), asked(put, (b"\0",), major=again), asked(put, (b"\1",), sizes=()),
            asked(put, (b"\1",), major=again), asked(get, sizes=(8,)), asked(put, (b"\0",), sizes=()),
            asked(get, sizes=(8,)),
        ],
        put.name, get.name, again.name, never.name,
    )  # fmt: skip


def others() -> Iterator[Vector]:
    """What nobody but the firmware knows is refused."""
    unsupported = S.HAILO_CONTROL_STATUS_UNSUPPORTED_OPCODE
    yield _alone(
        "dataflow-interrupt",
        "no interrupt can be set from outside",
        Basis.HOUSE_RULE,
        "firmware-actions.md 5.13",
        [asked(Opcode.SET_DATAFLOW_INTERRUPT, (b"\0", b"\0", b"\0"), major=unsupported)],
        Opcode.SET_DATAFLOW_INTERRUPT.name,
    )
    yield _alone(
        "clock",
        "the clock can be set to what it is",
        Basis.HOUSE_RULE,
        "firmware-actions.md 5.14",
        [
            asked(Opcode.SET_CLOCK_FREQ, (NN_HZ.to_bytes(4, "big"),), sizes=()),
            asked(Opcode.SET_CLOCK_FREQ, ((1).to_bytes(4, "big"),), major=unsupported),
        ],
        Opcode.SET_CLOCK_FREQ.name,
    )
    for opcode in sorted(OF_CACHES):
        yield _alone(
            f"{opcode.name.lower().replace('_', '-')}",
            f"{opcode.name} is obsolete",
            Basis.DOCUMENTED,
            "firmware-actions.md 5.15",
            [asked(opcode, major=unsupported)],
            opcode.name,
        )


def paused() -> Iterator[Vector]:
    """PAUSED where the protocol has it."""
    for device in (BOARD, INTEGRATED):
        made, wrong = single(device=device), S.CONTEXT_SWITCH_STATUS_INVALID_STATE_MACHINE_STATUS
        if runtime_profile(made.runtime).pauses:
            steps = [control(PAUSE, major=wrong), control(ENABLE), ran(), control(PAUSE, sizes=()), *fed(made, 2),
                     ran(moved=()), control(ENABLE, sizes=()), ran(moved=moved(range(2)))]  # fmt: skip
            says = "PAUSED holds inputs back until the next ENABLE; nothing can be paused that does not run"
        else:
            steps, says = [control(ENABLE), control(PAUSE, major=wrong)], "there is no PAUSED"
        basis = Basis.HOUSE_RULE if len(steps) > 2 else Basis.DOCUMENTED
        source = "firmware-actions.md 5.3"
        covers = ("CHANGE_CONTEXT_SWITCH_STATUS", wrong.name)
        yield vector(f"rare/paused-{device}", says, made, steps, *covers, basis=basis, source=source)


def hw_only() -> Iterator[Vector]:
    """HW-only inference: what it needs, and what it tells."""
    opcode, source = Opcode.CHANGE_HW_INFER_STATUS, "firmware-actions.md 5.9"
    made = single(device=BOARD)
    frames = LENGTH // PER_FRAME - 1
    channels = ((IN, frames * PER_FRAME), (OUT, frames * PER_FRAME))
    start, stop = (_hw_infer(made, state, frames, channels) for state in (b"\0", b"\1"))
    not_done = (bytes(5),)
    done = ((int(EventId.HW_INFER_MANAGER_INFER_DONE), b""),)
    yield vector(
        "rare/hw-infer",
        "the frames whose descriptors the host has written pass without it; INFER_DONE tells, and STOP how long",
        made,
        [
            asked(opcode, start, parameters=not_done), ran(notified=done, moved=moved(range(frames))),
            asked(opcode, stop, sizes=(5,)),
            asked(opcode, stop, major=S.HW_INFER_MANAGER_STATUS_INVALID_STATE),
        ],
        opcode.name, S.HW_INFER_MANAGER_STATUS_INVALID_STATE.name,
        basis=Basis.DOCUMENTED,
        source=source,
    )  # fmt: skip
    missing = S.HW_INFER_MANAGER_STATUS_NETWORK_GROUP_NOT_CONFIGURED_BEFORE_INFER_START
    yield _alone(
        "hw-infer-of-nothing",
        "what is not configured cannot run",
        Basis.DOCUMENTED,
        source,
        [asked(opcode, start, major=missing)],
        missing.name,
    )
    for name, changed, status in (
        ("twice", start, S.HW_INFER_MANAGER_STATUS_NETWORK_GROUP_ALREADY_ACTIVATED),
        ("mode", (*start[:5], b"\7"), S.HW_INFER_MANAGER_STATUS_INVALID_BOUNDARY_CHANNEL_MODE),
    ):
        # without inputs it never ends
        waits = _hw_infer(made, b"\0", frames, channels[1:])
        before = [asked(opcode, waits)] if name == "twice" else []
        steps = (*configured(made), *before, asked(opcode, changed, major=status))
        yield Vector(
            f"rare/hw-infer-{name}", f"is answered by {status.name}", Basis.DOCUMENTED, source, made.device,
            made.runtime, steps, made.memory(), covers=(status.name,),
        )  # fmt: skip


def _hw_infer(made: Application, state: bytes, batches: int, channels: Sequence[tuple[int, int]]) -> tuple[bytes, ...]:
    size = next(one.sizes.start for one in wire_of(made.runtime).messages.requests[Opcode.CHANGE_HW_INFER_STATUS][4:5])
    rows = b"".join(struct.pack("<BBH", channel, 0, count) for channel, count in channels)
    info = rows.ljust(size - 1, b"\0") + bytes([len(channels)])
    return state, b"\0", bytes(2), batches.to_bytes(2, "little"), info, b"\0"


RARE = (measurements, others, paused, hw_only)
