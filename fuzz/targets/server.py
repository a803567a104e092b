"""What a client sends: HRPC conversations to a session without a socket, and control messages to the firmware."""

from __future__ import annotations

import asyncio
import functools
import io
import struct
from random import Random
from typing import Any

from emu.server.actions import RUN_ACTIONS, V5_2, Action
from emu.server.control import EthernetDevice
from emu.server.framing import BLOCK_BODY, HEADER, MAGIC, Decoder, ProtocolError, encode_message
from emu.server.log import server_log
from emu.server.service import Service
from emu.server.session import Session
from emu.wire.control import Opcode, encode_request
from fuzz.messages import mutate_message
from fuzz.mutation import mutate_bytes, near
from fuzz.target import Target
from tests.hw.lists import single
from tests.server.client import field, handle
from tests.wire.test_requests import _requests_of_a_session

_MOST_MESSAGES = 12


def _service(device: str, log: io.StringIO) -> Service:
    return Service(device, None, log=server_log(log, False))


async def _converse(data: bytes) -> str:
    """Decode all bytes and answer what needs no frame to pass; the statuses of the replies."""
    log = io.StringIO()
    service = _service("hailo10h", log)
    session = Session(service, 1, lambda request, reply: None, service.log)
    decoder = Decoder(session.following)
    requests = [*decoder.feed(data), *decoder.settle()]
    answered = 0
    service.engine.start()
    try:
        for request in requests[:_MOST_MESSAGES]:
            if request.action not in RUN_ACTIONS:
                await session.answer(request)
                answered += 1
        await session.close()
    finally:
        service.engine.stop(2)
    assert "internal" not in log.getvalue(), log.getvalue()[-500:]
    return "answered" if answered else "nothing"


def read_conversation(data: bytes) -> str:
    return asyncio.run(_converse(data))


def _message(action: Action, body: bytes = b"", data: bytes = b"", number: int = 0) -> bytes:
    return encode_message(V5_2, action, number, 1, body, data)


@functools.cache
def _conversations() -> list[bytes]:
    opening = _message(Action.DEVICE__CREATE)
    found = [opening]
    for action in Action:
        if action in V5_2.numbers and action not in RUN_ACTIONS:
            body = field(1, handle(1)) + field(2, 3) + field(3, b"x")
            found.append(opening + _message(action, body, number=1))
            found.append(opening + _message(action, field(1, handle(1)), number=1))
    return found


def _mutate_conversation(data: bytes, random: Random) -> bytes:
    """A message's body or head changed, its size redone; or messages lost, repeated, cut."""
    whole = HEADER.size + BLOCK_BODY
    messages = [data[at : at + whole] for at in range(0, len(data), whole)]
    at = random.randrange(max(1, len(messages)))
    if not messages or len(messages[at]) < whole or random.random() < 0.1:
        return mutate_bytes(data, random)
    kind = random.randrange(6)
    _, size, number, action, status = HEADER.unpack_from(messages[at])
    body = messages[at][HEADER.size : HEADER.size + min(size, BLOCK_BODY)]
    if kind == 0:
        messages.insert(at, random.choice(messages))
    elif kind == 1:
        action = random.choice(list(V5_2.numbers.values())) if random.random() < 0.8 else near(action, random, 32)
    elif kind == 2:
        size = near(size, random, 32)
    else:
        body = mutate_message(body, random)[:BLOCK_BODY]
        size = len(body)
    messages[at] = HEADER.pack(MAGIC, size, number, action, status) + body.ljust(BLOCK_BODY, b"\0")
    return b"".join(messages)


# --- control messages -----------------------------------------------------------------------------------------------


@functools.cache
def _ethernet() -> Any:
    return _service("hailo8", io.StringIO())


def read_controls(data: bytes) -> str:
    """Messages behind their sizes (two bytes), to one device; each reply is well formed or there is none."""
    device = EthernetDevice(_ethernet())
    at = answered = 0
    while at + 2 <= len(data) and answered < 40:
        (size,) = struct.unpack_from(">H", data, at)
        reply = device.answer(data[at + 2 : at + 2 + size])
        assert reply is None or len(reply) >= 16
        at, answered = at + 2 + size, answered + 1
    return "answered"


def _framed(*messages: bytes) -> bytes:
    return b"".join(struct.pack(">H", len(one)) + one for one in messages)


@functools.cache
def _control_seeds() -> list[bytes]:
    parameters = [(), (b"\0",), (bytes(4),), (bytes(4), bytes(8)), (b"\1", b"\0", bytes(4), b"\0\0\0\10")]
    found = [_framed(encode_request(Opcode.IDENTIFY))]
    found += [_framed(*(encode_request(opcode, one) for one in parameters)) for opcode in Opcode]
    found.append(_framed(*_requests_of_a_session(single())))
    return found


def _mutate_controls(data: bytes, random: Random) -> bytes:
    messages, at = [], 0
    while at + 2 <= len(data):
        (size,) = struct.unpack_from(">H", data, at)
        messages.append(bytearray(data[at + 2 : at + 2 + size]))
        at += 2 + size
    if not messages or random.random() < 0.1:
        return mutate_bytes(data, random)
    chosen = random.randrange(len(messages))
    kind = random.randrange(6)
    if kind == 0:
        del messages[chosen]
    elif kind == 1:
        messages.insert(chosen, random.choice(messages))
    elif kind == 2 and len(messages[chosen]) >= 16:  # another opcode
        struct.pack_into(">I", messages[chosen], 12, random.choice(list(Opcode)))
    elif kind == 3 and len(messages[chosen]) >= 24:  # a word: a count, a length, a value
        place = random.randrange(4, len(messages[chosen]) // 4) * 4
        (word,) = struct.unpack_from(">I", messages[chosen], place)
        struct.pack_into(">I", messages[chosen], place, near(word, random, 32))
    else:
        messages[chosen] = bytearray(mutate_bytes(bytes(messages[chosen]), random))
    return _framed(*(bytes(one[:65535]) for one in messages))


TARGETS = (
    Target("hrpc", _conversations, read_conversation, _mutate_conversation, (ProtocolError,)),
    Target("control", _control_seeds, read_controls, _mutate_controls),
)
