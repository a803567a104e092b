"""Register writes, sleeping, halting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from emu.hw.handlers.units import check_network
from emu.hw.status import FirmwareStatus as S
from emu.hw.status import require
from emu.hw.waits import Wait, at, never

if TYPE_CHECKING:
    from emu.hw.firmware import Firmware

DATA_FROM_ACTION = 0
DATA_BATCH_SIZE = 1
MINIMAL_SLEEP_US = 1000  # hef-compile.md 2.2: shorter ones are refused by the runtime


def write_data_by_type(fw: Firmware, a: Any) -> None:
    """reg = (reg & ~mask) | ((data << shift) & mask); data is the batch size for type 1 (hef-compile.md 2.2.2)."""
    check_network(fw, a.network_index)
    require(
        a.data_type in (DATA_FROM_ACTION, DATA_BATCH_SIZE),
        S.CONTEXT_SWITCH_STATUS_WRITE_DATA_BY_TYPE_ACTION_INVALID_TYPE,
        f"data type {a.data_type}",
    )
    require(
        a.address % 4 == 0,
        S.CONTEXT_SWITCH_STATUS_WRITE_DATA_BY_TYPE_ACTION_INVALID_MEMORY_SPACE,
        f"address 0x{a.address:08X} is not a register",
    )
    data = fw.batch if a.data_type == DATA_BATCH_SIZE else a.data
    value = (data << a.shift) & 0xFFFFFFFF if a.shift < 32 else 0
    written = fw.device.memory.masked_write(a.address, value, a.mask)
    if fw.tracing:
        fw.note = f"0x{a.address:08X} = 0x{written:08X}"


def sleep(fw: Firmware, a: Any) -> Wait:
    """Do nothing for `sleep_time` microseconds."""
    require(
        a.sleep_time >= MINIMAL_SLEEP_US,
        S.CONTEXT_SWITCH_STATUS_INVALID_SLEEP_TIME,
        f"sleep of {a.sleep_time} us, the minimum is {MINIMAL_SLEEP_US}",
    )
    return at(fw.now + a.sleep_time * 1000, f"sleep {a.sleep_time} us", "timer")


def halt(fw: Firmware, a: Any) -> Wait:
    """Stop for good."""
    return never("HALT", "the list says HALT: the core CPU stops here")
