"""HRPC messages as bytes, both ways, without any socket (hrpc-5.2.md; part 2, 1).

Nothing on the wire says which version speaks. A client of 5.2 pads each message to a block of fixed size and sends it
at once, one of 5.0 or 5.1 sends what counts and waits; DEVICE__CREATE, always without a body and the first or second
message of a connection, has another number in each of the latter.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from google.protobuf.message import DecodeError

from emu.server.actions import REQUESTS, UNPADDED, V5_1_1, V5_2, Action, Numbering

MAGIC = 0x8A554432
HEADER = struct.Struct("<5I")  # magic, body size, message id, action id, status
BLOCK_BODY = 2048
MAX_UNPADDED_BODY = 1 << 16  # 5.1 names no limit; no message without cache buffers comes near it
_MAGIC = MAGIC.to_bytes(4, "little")
# messages within which DEVICE__CREATE comes
_OPENING = 2


class ProtocolError(Exception):
    """The bytes are no conversation; the connection ends without a reply, as the real server ends it."""


class Request(NamedTuple):
    """One request with the bytes that followed it. `body` None: its bytes are no such message."""

    action: Action
    message_id: int
    body: Any
    data: bytes = b""


# how many bytes follow a request; ProtocolError where that cannot be known or is too many
FollowingBytes = Callable[[Action, Any], int]


class Decoder:
    """The bytes of one client into requests.

    `following` is asked once for each request, when its message is complete. `fallback`: the numbering of a client
    whose first messages do not tell it: one that goes on with the handles of an earlier connection (part 2, 4, fork).
    """

    def __init__(self, following: FollowingBytes, fallback: Numbering = V5_1_1) -> None:
        self.numbering: Numbering | None = None  # None: not known yet
        self._following = following
        self._fallback = fallback
        self._padded: bool | None = None
        self._messages = 0
        self._buffer = bytearray()
        self._request: Request | None = None  # waits for the bytes that follow it
        self._missing = 0
        self._settled = False

    @property
    def partial(self) -> bool:
        """Whether the client owes the rest of a message."""
        return bool(self._buffer) or self._request is not None

    @property
    def undecided(self) -> bool:
        """Whether a whole message is there, and only silence behind it will tell that it is not padded."""
        return (
            self._padded is None
            and len(self._buffer) >= HEADER.size
            and len(self._buffer) >= HEADER.size + HEADER.unpack_from(self._buffer)[1]
        )

    def settle(self) -> Iterator[Request]:
        """Nothing came behind the first message for as long as a client that pads would need."""
        self._settled = True
        return self.feed(b"")

    def feed(self, data: bytes) -> Iterator[Request]:
        """The requests that `data` completes. Raises ProtocolError; the connection is of no use then."""
        self._buffer += data
        while (request := self._next()) is not None:
            yield request

    def _next(self) -> Request | None:
        if self._request is None and not self._read_message():
            return None
        request = self._request
        if request is None or len(self._buffer) < self._missing:
            return None
        self._request = None
        return request._replace(data=self._take(self._missing)) if self._missing else request

    def _read_message(self) -> bool:
        """Take the next message from the buffer, as the request that waits for its bytes; False: not there yet."""
        buffer = self._buffer
        head = len(buffer)
        if not _MAGIC.startswith(bytes(buffer[:4])):
            raise ProtocolError(f"no message begins with {bytes(buffer[:4]).hex()}")
        if head < HEADER.size:
            return False
        _, size, message_id, number, _ = HEADER.unpack_from(buffer)
        limit = MAX_UNPADDED_BODY if self._padded is False else BLOCK_BODY
        if size > limit:
            raise ProtocolError(f"a body of {size} bytes, at most {limit} can be")
        if head < HEADER.size + size or not self._knows_padding(size):
            return False
        whole = HEADER.size + (BLOCK_BODY if self._padded else size)
        if head < whole:
            return False
        body = self._take(whole)[HEADER.size : HEADER.size + size]
        self._messages += 1
        self._request = self._understood(number, message_id, body)
        self._missing = self._following(self._request.action, self._request.body)
        return True

    def _knows_padding(self, size: int) -> bool:
        if self._padded is None:
            behind = bytes(self._buffer[HEADER.size + size : HEADER.size + size + len(_MAGIC)])
            if self._settled or behind == _MAGIC:
                self._padded = False
            elif size == BLOCK_BODY or not _MAGIC.startswith(behind):
                self._padded, self.numbering = True, V5_2
        return self._padded is not None

    def _understood(self, number: int, message_id: int, body: bytes) -> Request:
        if self.numbering is None and not body and self._messages <= _OPENING:
            self.numbering = UNPADDED.get(number)
        if self.numbering is None and (number != Action.VDEVICE__CREATE or self._messages >= _OPENING):
            self.numbering = self._fallback
        action = Action.VDEVICE__CREATE if self.numbering is None else self.numbering.actions.get(number)
        if action is None or action not in REQUESTS:
            raise ProtocolError(f"no request has the number {number}")
        kind = REQUESTS[action]
        try:
            return Request(action, message_id, kind.FromString(body) if kind is not None else b"")
        except DecodeError:
            return Request(action, message_id, None)

    def _take(self, size: int) -> bytes:
        with memoryview(self._buffer) as view:
            taken = bytes(view[:size])
        if size == len(self._buffer):
            self._buffer = bytearray()
        else:
            del self._buffer[:size]
        return taken


def encode_message(
    numbering: Numbering, action: Action, message_id: int, status: int, body: bytes = b"", data: bytes = b""
) -> bytes:
    """A message with the bytes that follow it; ValueError for a body that does not fit a block."""
    if len(body) > BLOCK_BODY:
        raise ValueError(f"a body of {len(body)} bytes, {BLOCK_BODY} fit")
    head = HEADER.pack(MAGIC, len(body), message_id, numbering.numbers[action], status)
    return head + (body.ljust(BLOCK_BODY, b"\0") if numbering.padded else body) + data
