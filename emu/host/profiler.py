"""Per-action timestamps, as HailoRT's `measure-fw-actions` takes them: which batch is stamped, and the download.

firmware-actions.md 5.4, 5.5; fw-trace.md 6.1.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from emu.errors import HailoError, HailoStatus
from emu.hw.application import Application, Context
from emu.sequencer.program import ContextType
from emu.trace.sinks.fw_actions import DownloadedContext
from emu.wire.control import Opcode, Response, encode_request
from emu.wire.messages import Kind
from emu.wire.wire import wire_of

MEASURED_BATCH = 2  # HailoRT looks at the third batch, when everything is warm
MAX_LIST_SIZE = 0xFFFF  # the offset of a download is a u16
# in which measure-fw-actions asks for them
LIST_ORDER = (ContextType.ACTIVATION, ContextType.PRELIMINARY, ContextType.DYNAMIC, ContextType.BATCH_SWITCHING)

Send = Callable[[bytes], Response]


def measured_batch(application: Application, batches: int) -> int:
    """The batch to stamp: the third, or the last of a shorter run; a single context runs its list only once."""
    return 0 if application.single_context else min(MEASURED_BATCH, batches - 1)


def config_timestamp(runtime: str, batch: int) -> bytes:
    """CONFIG_CONTEXT_SWITCH_TIMESTAMP for one batch."""
    return wire_of(runtime).messages.encode(
        Opcode.CONFIG_CONTEXT_SWITCH_TIMESTAMP, Kind.REQUEST, {"batch_index": batch, "enable_user_configuration": 1}
    )


def download(send: Send, application: Application) -> tuple[DownloadedContext, ...]:
    """All action lists of an application with their time stamps, in the order of measure-fw-actions.

    HAILO_INTERNAL_FAILURE for a list that the control cannot address.
    """
    return tuple(
        _download(send, application.index, context)
        for kind in LIST_ORDER
        for context in application.contexts
        if context.type is kind
    )


def _download(send: Send, group: int, context: Context) -> DownloadedContext:
    data = b""
    base = counter = idle = 0
    end = False
    while not end:
        if len(data) > MAX_LIST_SIZE:
            raise HailoError(
                HailoStatus.HAILO_INTERNAL_FAILURE,
                f"an action list of more than {MAX_LIST_SIZE} bytes cannot be downloaded",
                context=context.name,
            )
        reply = send(
            encode_request(
                Opcode.DOWNLOAD_CONTEXT_ACTION_LIST,
                (
                    struct.pack(">I", group),
                    bytes([context.type]),
                    struct.pack("<H", context.index),  # not swapped (firmware-actions.md 5.4)
                    struct.pack(">H", len(data)),
                ),
            )
        )
        base, counter, idle = (int.from_bytes(reply.parameters[index], "big") for index in (0, 2, 3))
        end = reply.parameters[1] != b"\0"
        data += reply.parameters[4]
    return DownloadedContext(context.name, base, data, counter, idle)
