"""A client that speaks HRPC as hrpc-5.2.md describes it, on plain sockets: it shares no code with the server."""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence
from typing import Any

HEADER = struct.Struct("<5I")
MAGIC = 0x8A554432
BLOCK = 2048
NOTIFICATION = 37
NOT_SET = struct.pack("<f", -1.0)


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def field(number: int, value: int | bytes | str | list[Any] | None) -> bytes:
    """One protobuf field; 0, "" and None are absent as proto3 has it, b"" is an empty sub-message."""
    if isinstance(value, list):
        return b"".join(field(number, one) for one in value)
    if value in (None, 0, ""):
        return b""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    assert isinstance(data, bytes)
    return varint(number << 3 | 2) + varint(len(data)) + data


def handle(number: int) -> bytes:
    return field(1, number)


def fields(data: bytes) -> dict[int, list[Any]]:
    """Field number -> its values: numbers, bytes, or the four bytes of a float."""
    found: dict[int, list[Any]] = {}
    at = 0

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return value

    while at < len(data):
        key = number()
        if key & 7 == 0:
            value: Any = number()
        else:
            size = number() if key & 7 == 2 else 4
            assert key & 7 in (2, 5)
            value, at = data[at : at + size], at + size
        found.setdefault(key >> 3, []).append(value)
    return found


def floats(values: Sequence[bytes]) -> list[float]:
    return [struct.unpack("<f", value)[0] for value in values]


class RpcError(Exception):
    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Client:
    """One connection. `padded`: as 5.2 frames, else as 5.0 and 5.1. Numbers of actions are 5.2's."""

    def __init__(self, port: int, host: str = "127.0.0.1", padded: bool = True, timeout: float = 20) -> None:
        self.socket = socket.create_connection((host, port), timeout)
        self.padded = padded
        self._next = 0
        self._answers: dict[int, tuple[int, int, bytes]] = {}
        self._expected: dict[int, int] = {}  # bytes behind the reply to a message
        self._bulk: dict[int, bytes] = {}

    def close(self) -> None:
        self.socket.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, action: int, body: bytes = b"", data: bytes = b"", expected: int = 0) -> int:
        """Send a request; its message id."""
        message_id, self._next = self._next, self._next + 1
        self._expected[message_id] = expected
        head = HEADER.pack(MAGIC, len(body), message_id, action, 1)
        self.socket.sendall(head + (body.ljust(BLOCK, b"\xa5") if self.padded else body))
        if data:
            self.socket.sendall(data)
        return message_id

    def answer(self, message_id: int) -> tuple[int, bytes, bytes]:
        """(status, body, bytes that followed) of a request's reply, whatever comes before it."""
        while message_id not in self._answers:
            self._receive()
        status, _, body = self._answers.pop(message_id)
        return status, body, self._bulk.pop(message_id, b"")

    def call(self, action: int, body: bytes = b"", data: bytes = b"", expected: int = 0) -> bytes:
        """The body of the reply; RpcError for a status."""
        status, reply, bulk = self.answer(self.send(action, body, data, expected))
        if status:
            raise RpcError(status)
        return bulk if expected else reply

    def _receive(self) -> None:
        magic, size, message_id, action, status = HEADER.unpack(self._exactly(HEADER.size))
        assert magic == MAGIC
        body = self._exactly(BLOCK if self.padded else size)[:size]
        self._answers[message_id] = status, action, body
        if not status and self._expected[message_id]:
            self._bulk[message_id] = self._exactly(self._expected[message_id])

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            part = self.socket.recv(size - len(data))
            if not part:
                raise ConnectionResetError(f"closed after {len(data)} of {size} bytes")
            data += part
        return bytes(data)

    # -- the calls that programs make

    def create(self, action: int, body: bytes = b"", data: bytes = b"") -> int:
        """The handle that an action gives."""
        (reply,) = fields(self.call(action, body, data))[1]
        return int(fields(reply).get(1, [0])[0])

    def vdevice(self, group: str = "UNIQUE", scheduler: int = 1) -> int:
        return self.create(0, field(1, field(1, scheduler) + field(2, group)))

    def device(self) -> int:
        return self.create(20)

    def infer_model(self, vdevice: int, hef: bytes, name: str = "") -> int:
        return self.create(2, field(1, handle(vdevice)) + field(2, len(hef)) + field(3, name), hef)

    def configure(
        self, vdevice: int, model: int, inputs: Sequence[bytes] = (), outputs: Sequence[bytes] = (), **more: int
    ) -> tuple[int, int]:
        """(handle, queue size); `more`: batch_size, latency_flag."""
        reply = fields(
            self.call(
                4,
                field(1, handle(model))
                + field(2, handle(vdevice))
                + field(3, list(inputs))
                + field(4, list(outputs))
                + field(5, more.get("batch_size", 0))
                + field(7, more.get("latency_flag", 0)),
            )
        )
        return int(fields(reply[1][0]).get(1, [0])[0]), int(reply[2][0])

    def run(
        self, configured: int, model: int, inputs: Sequence[bytes], outputs: Sequence[int], action: int = 18
    ) -> int:
        """Send a frame; the message id of its reply. `action`: RUN_ASYNC as the version numbers it."""
        sizes = [*map(len, inputs), *outputs]
        buffers = [field(1, size) + field(2, 1) for size in sizes]
        body = field(1, handle(configured)) + field(2, handle(model)) + field(3, buffers)
        return self.send(action, body, b"".join(inputs), sum(outputs))


def stream(name: str, order: int = 0, type: int = 0, **nms: Any) -> bytes:
    """InferStreamParamsProto; `nms`: score, iou (floats), per_class, mask, total."""
    unset = 0xFFFFFFFF
    floats_ = b"".join(
        varint(number << 3 | 5) + struct.pack("<f", nms.get(key, -1.0)) for number, key in ((4, "score"), (5, "iou"))
    )
    counts = [nms.get(key, unset) for key in ("per_class", "mask", "total")]
    return (
        field(1, name)
        + field(2, order)
        + field(3, type)
        + floats_
        + b"".join(field(number, value) for number, value in zip((6, 7, 8), counts, strict=True))
    )
