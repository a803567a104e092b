"""Register writes, sleeping, halting."""

from __future__ import annotations

from emu.hw.config.addresses import MAPS
from emu.hw.config.runs import FAMILIES
from emu.hw.execution import Execution
from emu.hw.handlers.units import check_network
from emu.hw.waits import Wait, never
from emu.trace.hazards import Hazard
from emu.wire.actions import DATA_BATCH_SIZE, DATA_FROM_ACTION, Halt, Sleep, WriteDataByType
from emu.wire.status import FirmwareStatus as S
from emu.wire.status import require

WORD = 0xFFFFFFFF
MINIMAL_SLEEP_US = 1000  # hef-compile.md 2.2: shorter ones are refused by the runtime


def write_data_by_type(fw: Execution, a: WriteDataByType) -> None:
    """reg = (reg & ~mask) | ((data << shift) & mask); data is the batch size for type 1 (hef-compile.md 2.2.2)."""
    check_network(fw, a.network_index)
    require(
        a.data_type in (DATA_FROM_ACTION, DATA_BATCH_SIZE),
        S.CONTEXT_SWITCH_STATUS_WRITE_DATA_BY_TYPE_ACTION_INVALID_TYPE,
        lambda: f"data type {a.data_type}",
    )
    require(
        a.address % 4 == 0,
        S.CONTEXT_SWITCH_STATUS_WRITE_DATA_BY_TYPE_ACTION_INVALID_MEMORY_SPACE,
        lambda: f"address 0x{a.address:08X} is not a register",
    )
    noted = a.mask if a.data_type == DATA_BATCH_SIZE else None
    written = fw.device.memory.masked_write(a.address, shifted(a, fw.batch), a.mask, noted)
    device = fw.device
    if device.logic.active and not MAPS[FAMILIES[fw.profile.config_style]].is_known(a.address):
        assert fw.context is not None
        what = f"0x{a.address:08X} is no address that is known"
        device.hazard(Hazard("config-outside", fw.context.name, what), fw.now)
    if fw.tracing:
        fw.note = f"0x{a.address:08X} = 0x{written:08X}"


def shifted(a: WriteDataByType, batch: int) -> int:
    """What WRITE_DATA_BY_TYPE writes under its mask."""
    data = batch if a.data_type == DATA_BATCH_SIZE else a.data
    return (data << a.shift) & WORD if a.shift < 32 else 0


def sleep(fw: Execution, a: Sleep) -> Wait | None:
    """Do nothing for `sleep_time` microseconds."""
    require(
        a.sleep_time >= MINIMAL_SLEEP_US,
        S.CONTEXT_SWITCH_STATUS_INVALID_SLEEP_TIME,
        f"sleep of {a.sleep_time} us, the minimum is {MINIMAL_SLEEP_US}",
    )
    return fw.until(fw.now + a.sleep_time * 1000, f"sleep {a.sleep_time} us", "timer")


def halt(fw: Execution, a: Halt) -> Wait:
    """Stop for good."""
    return never("HALT", "the list says HALT: the core CPU stops here")
