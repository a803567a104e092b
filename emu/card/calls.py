"""The driver's calls: numbers, layouts of their arguments, errno of a bad pointer (driver-ioctl-4.23.md 2 to 4).

Three calls have another layout for clients that name buffers by handle (up to 4.20); their numbers differ with their
sizes, so that the number alone says which layout an argument has.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from enum import IntEnum, auto
from errno import EFAULT, ENOMEM
from types import MappingProxyType
from typing import NamedTuple

GENERAL, VDMA, NNC = "g", "v", "n"
_NONE, _FROM_DRIVER, _TO_DRIVER, _BOTH = range(4)

MAX_ENGINES = 3  # words of a channel bitmap
CHANNELS = 32  # of an engine
MAX_INTERRUPTS = MAX_ENGINES * CHANNELS
MAX_BUFFERS = 8  # of a launch
MAX_BUFFERS_BY_HANDLE = 2
MAX_TIMESTAMPS = 256
MESSAGE_SIZE = 1500  # of a control or a notification
LOG_SIZE = 512
NO_HANDLE = (1 << 64) - 1


class Name(IntEnum):
    """The calls by name, without HAILO_."""

    QUERY_DEVICE_PROPERTIES = auto()
    QUERY_DRIVER_INFO = auto()
    VDMA_ENABLE_CHANNELS = auto()
    VDMA_DISABLE_CHANNELS = auto()
    VDMA_INTERRUPTS_WAIT = auto()
    VDMA_INTERRUPTS_READ_TIMESTAMPS = auto()
    VDMA_BUFFER_MAP = auto()
    VDMA_BUFFER_UNMAP = auto()
    VDMA_BUFFER_SYNC = auto()
    DESC_LIST_CREATE = auto()
    DESC_LIST_RELEASE = auto()
    DESC_LIST_PROGRAM = auto()
    VDMA_LOW_MEMORY_BUFFER_ALLOC = auto()
    VDMA_LOW_MEMORY_BUFFER_FREE = auto()
    MARK_AS_IN_USE = auto()
    VDMA_CONTINUOUS_BUFFER_ALLOC = auto()
    VDMA_CONTINUOUS_BUFFER_FREE = auto()
    VDMA_LAUNCH_TRANSFER = auto()
    FW_CONTROL = auto()
    READ_NOTIFICATION = auto()
    DISABLE_NOTIFICATION = auto()
    READ_LOG = auto()
    RESET_NN_CORE = auto()
    WRITE_ACTION_LIST = auto()


class Call(NamedTuple):
    """One call: `fields` of its argument, packed; `takes`: the driver reads the argument, `returns`: it writes it back.

    `by_handle`: its layout for clients that name buffers by handle. `bad_pointer`: errno where the argument cannot be
    read or written.
    """

    name: Name
    number: int
    fields: struct.Struct
    takes: bool
    returns: bool
    by_handle: bool
    bad_pointer: int

    @property
    def size(self) -> int:
        """Bytes of the argument."""
        return self.fields.size


_ROWS = (
    (Name.QUERY_DEVICE_PROPERTIES, GENERAL, 1, _FROM_DRIVER, "HiiiQB", ENOMEM),
    (Name.QUERY_DRIVER_INFO, GENERAL, 2, _FROM_DRIVER, "3I", ENOMEM),
    (Name.VDMA_ENABLE_CHANNELS, VDMA, 0, _TO_DRIVER, "3IB", ENOMEM),
    (Name.VDMA_DISABLE_CHANNELS, VDMA, 1, _TO_DRIVER, "3I", ENOMEM),
    (Name.VDMA_INTERRUPTS_WAIT, VDMA, 2, _BOTH, "3IB288s", ENOMEM),
    (Name.VDMA_INTERRUPTS_READ_TIMESTAMPS, VDMA, 3, _BOTH, "BBI2560s", ENOMEM),
    (Name.VDMA_BUFFER_MAP, VDMA, 4, _BOTH, "QQiiQQ", EFAULT),
    (Name.VDMA_BUFFER_UNMAP, VDMA, 5, _TO_DRIVER, "Q", EFAULT),
    (Name.VDMA_BUFFER_SYNC, VDMA, 6, _TO_DRIVER, "QiQQ", EFAULT),
    (Name.DESC_LIST_CREATE, VDMA, 7, _BOTH, "QHBQQ", EFAULT),
    (Name.DESC_LIST_RELEASE, VDMA, 8, _TO_DRIVER, "Q", EFAULT),
    (Name.DESC_LIST_PROGRAM, VDMA, 9, _TO_DRIVER, "QQQIQBIBiBI", EFAULT),
    (Name.VDMA_LOW_MEMORY_BUFFER_ALLOC, VDMA, 10, _BOTH, "QQ", EFAULT),
    (Name.VDMA_LOW_MEMORY_BUFFER_FREE, VDMA, 11, _TO_DRIVER, "Q", EFAULT),
    (Name.MARK_AS_IN_USE, VDMA, 12, _FROM_DRIVER, "B", EFAULT),
    (Name.VDMA_CONTINUOUS_BUFFER_ALLOC, VDMA, 13, _BOTH, "QQQ", EFAULT),
    (Name.VDMA_CONTINUOUS_BUFFER_FREE, VDMA, 14, _TO_DRIVER, "Q", EFAULT),
    (Name.VDMA_LAUNCH_TRANSFER, VDMA, 15, _TO_DRIVER, "BBQIBB" + MAX_BUFFERS * "iQI" + "iiB", EFAULT),
    (Name.FW_CONTROL, NNC, 0, _BOTH, "16sI1500sIi", ENOMEM),
    (Name.READ_NOTIFICATION, NNC, 1, _FROM_DRIVER, "Q1500s", ENOMEM),
    (Name.DISABLE_NOTIFICATION, NNC, 2, _NONE, "", EFAULT),
    (Name.READ_LOG, NNC, 3, _BOTH, "i512sQQ", ENOMEM),
    (Name.RESET_NN_CORE, NNC, 4, _NONE, "", EFAULT),
    (Name.WRITE_ACTION_LIST, NNC, 5, _FROM_DRIVER, "24s", EFAULT),
)
_ROWS_BY_HANDLE = (
    (Name.VDMA_INTERRUPTS_WAIT, VDMA, 2, _BOTH, "3IB672s", ENOMEM),
    (Name.DESC_LIST_PROGRAM, VDMA, 9, _TO_DRIVER, "QQQQBIBiB", EFAULT),
    (Name.VDMA_LAUNCH_TRANSFER, VDMA, 15, _BOTH, "BBQIBB" + MAX_BUFFERS_BY_HANDLE * "QII" + "iiBIi", EFAULT),
)


def _call(name: Name, magic: str, index: int, direction: int, fields: str, bad_pointer: int, by_handle: bool) -> Call:
    layout = struct.Struct(f"<{fields}")
    number = direction << 30 | layout.size << 16 | ord(magic) << 8 | index
    return Call(
        name,
        number,
        layout,
        bool(direction & _TO_DRIVER),
        bool(direction & _FROM_DRIVER),
        by_handle,
        bad_pointer,
    )


CALLS: Mapping[int, Call] = MappingProxyType(
    {
        call.number: call
        for rows, by_handle in ((_ROWS, False), (_ROWS_BY_HANDLE, True))
        for call in (_call(*row, by_handle) for row in rows)
    }
)
