"""Mutated conversations against a live server: it answers or ends the connection, and an honest client goes on.

`EMU_FUZZ_MESSAGES` says how many messages, a few thousand by default.
"""

from __future__ import annotations

import os
import random
import socket
from contextlib import suppress

import pytest

from emu.server.actions import RUN_ACTIONS, Action
from tests.conftest import ROOT
from tests.server.client import BLOCK, HEADER, MAGIC, Client, field, fields, handle, stream
from tests.server.serving import Serving, serving

EXAMPLE = ROOT / "examples" / "two_context.hef"
MESSAGES = int(os.environ.get("EMU_FUZZ_MESSAGES", "3000"))
# those whose mutations mostly end the connection: the bytes that follow cannot be told
ENDING = [*RUN_ACTIONS, Action.NOTIFICATION]
OTHERS = [one for one in Action if one not in ENDING]


class Mutator:
    """Messages that are right up to a point; which point follows from the seed."""

    def __init__(self, seed: int, server: Serving) -> None:
        self.rng = random.Random(seed)
        self.server = server
        self.answers: dict[int, int] = {}  # bytes behind a successful reply, by message id
        self.hef = EXAMPLE.read_bytes()

    def number(self) -> int:
        return self.rng.choice([0, 1, 2, 3, 5, 20, 255, 640, 3072, 65536, 0xFFFFFFFF, (1 << 64) - 1])

    def recent(self) -> bytes:
        """A handle that may be there."""
        return handle(max(0, self.server.server.service.handles._next - self.rng.randrange(12)))

    def body(self) -> bytes:
        rng = self.rng
        choice = rng.randrange(6)
        if choice == 0:
            return rng.randbytes(rng.randrange(60))
        if choice == 1:
            return field(1, self.recent()) + field(2, self.number()) + field(3, rng.choice(["", "x" * 90]))
        if choice == 2:
            buffers = [field(1, self.number()) + field(2, 1) for _ in range(rng.randrange(4))]
            return field(1, self.recent()) + field(2, self.recent()) + field(3, buffers)
        if choice == 3:
            streams = [
                stream("two_context/conv2", rng.randrange(30), rng.randrange(5)) for _ in range(rng.randrange(3))
            ]
            return field(1, self.recent()) + field(2, self.recent()) + field(4, streams)
        if choice == 4:
            return field(1, field(1, rng.randrange(3)) + field(2, rng.choice(["SHARED", "other", "\0"])))
        return b""

    def message(self, message_id: int) -> bytes:
        rng, body = self.rng, self.body()[:BLOCK]
        action = rng.choice(ENDING if rng.random() < 0.02 else OTHERS)
        if rng.random() < 0.003:
            action = self.number() & 0xFFFFFFFF
        data = b""
        if action is Action.VDEVICE__CREATE_INFER_MODEL:
            data = bytearray(self.hef)
            for _ in range(rng.randrange(3)):
                data[rng.randrange(len(data))] = rng.randrange(256)
            body = field(1, self.recent()) + field(2, len(data)) + field(3, rng.choice(["", "two_context"]))
        elif action is Action.DEVICE__ECHO_BUFFER:
            data = rng.randbytes(rng.randrange(3000))
            body = field(1, len(data))
        elif action is Action.DEVICE__FETCH_LOGS and rng.random() < 0.95:
            size = rng.randrange(5000)
            body = field(1, self.recent()) + field(2, size)
        head = bytearray(HEADER.pack(MAGIC, len(body), message_id, action, 1))
        if rng.random() < 0.003:
            head[rng.randrange(20)] ^= 1 << rng.randrange(8)
        block = body.ljust(BLOCK, b"\0")
        _, size, message_id, action, _ = HEADER.unpack(bytes(head))
        self.answers[message_id] = asked_back(action, block[:size])
        return bytes(head) + block + bytes(data)


def asked_back(action: int, body: bytes) -> int:
    """The bytes that a client asks back, 0 where it asks for none or the body cannot be read."""
    number = {Action.DEVICE__ECHO_BUFFER: 1, Action.DEVICE__FETCH_LOGS: 2}.get(action)  # type: ignore[call-overload]
    try:
        asked = fields(body).get(number, [0])[-1]
    except (IndexError, AssertionError):
        return 0
    return asked & 0xFFFFFFFF if isinstance(asked, int) else 0


def attack(server: Serving, mutator: Mutator, budget: int) -> int:
    """One hostile connection: how many of its messages were answered before it ended."""
    rng, answered = mutator.rng, 0
    with socket.create_connection(("127.0.0.1", server.port), 10) as one:
        one.settimeout(2)
        with suppress(OSError):
            one.sendall(HEADER.pack(MAGIC, 0, 0, 20, 1) + bytes(BLOCK))
            sent = 1
            while answered < budget:
                burst = [mutator.message(sent + at) for at in range(rng.randrange(1, 30))]
                one.sendall(b"".join(burst))
                sent += len(burst)
                if rng.random() < 0.02:
                    break  # without reading any answer
                while answered < sent:
                    data = receive(one, mutator)
                    if not data:
                        return answered
                    answered += 1
    return answered


def receive(one: socket.socket, mutator: Mutator) -> bytes:
    """A reply with what follows it; nothing where the connection has ended."""

    def exactly(size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            part = one.recv(size - len(data))
            if not part:
                return b""
            data += part
        return bytes(data)

    reply = exactly(HEADER.size + BLOCK)
    if not reply:
        return b""
    magic, _, message_id, _, status = HEADER.unpack_from(reply)
    assert magic == MAGIC
    return reply + (exactly(mutator.answers.get(message_id, 0)) if not status else b"")


@pytest.mark.parametrize("seed", range(3))
def test_mutated_messages_harm_nobody_else(seed: int) -> None:
    with serving("hailo8") as server, Client(server.port) as honest:
        mutator = Mutator(seed, server)
        vdevice = honest.vdevice("SHARED")
        model = honest.infer_model(vdevice, EXAMPLE.read_bytes())
        configured, _ = honest.configure(vdevice, model)
        expected = None
        left = MESSAGES // 3
        while left > 0:
            left -= attack(server, mutator, left)
            status, _, data = honest.answer(honest.run(configured, model, [bytes(3072)], [640]))
            assert status == 0
            assert expected != data  # each frame of a model has its own synthetic bytes
            expected = data
        honest.call(22, field(1, handle(honest.device())))
        assert "internal_error" not in server.log and "internal error" not in server.log
