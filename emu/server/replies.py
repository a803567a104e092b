"""A reply, before it is bytes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from emu.errors import HailoStatus


class Reply(NamedTuple):
    """The answer to a request; `data` follows its message."""

    status: int = HailoStatus.HAILO_SUCCESS
    body: bytes = b""
    data: bytes = b""


# from a request's message and the bytes that followed it
Handler = Callable[[Any, bytes], Awaitable[Reply]]


def encoded(message: Any, data: bytes = b"") -> Reply:
    """A success with this message."""
    return Reply(body=message.SerializeToString(), data=data)
