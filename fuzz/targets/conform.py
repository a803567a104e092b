"""What a host sends to `emu respond`: the conversations of vectors, with messages changed, lost, repeated and moved."""

from __future__ import annotations

import functools
from random import Random

from emu.conform.protocol import CLOSING, EVENTS, LENGTH, MAGIC, VERSION, Kind, decode, encode, length_of, message
from emu.conform.respond import Responder
from emu.conform.suite import chosen
from emu.errors import EmuError
from fuzz.mutation import mutate_bytes, near
from fuzz.target import Target

_RULES = ("flow/*", "wait/*", "hazard/program-broken", "hazard/list-order", "state/lists-in-ddr", "rare/*")
_MOST_MESSAGES = 80


def read_messages(data: bytes) -> str:
    """Messages behind their lengths, to one answerer: each is answered by messages, of which the last one closes."""
    responder, at, answered = Responder(), 0, 0
    while at + LENGTH.size <= len(data) and answered < _MOST_MESSAGES:
        size = length_of(data[at : at + LENGTH.size])
        body = data[at + LENGTH.size : at + LENGTH.size + size]
        answer = [decode(one) for one in responder.answer(body)]
        assert answer[-1].kind in CLOSING and all(one.kind in EVENTS for one in answer[:-1])
        at, answered = at + LENGTH.size + size, answered + 1
    return "answered"


@functools.cache
def _seeds() -> list[bytes]:
    hello = message(Kind.HELLO, magic=MAGIC, version=VERSION)
    return [
        b"".join(encode(one) for one in (hello, *vector.opening(), *(step.send for step in vector.steps)))
        for vector in chosen(_RULES)
    ]


def _split(data: bytes) -> list[bytes]:
    """The messages without their lengths; what is none is left out."""
    found, at = [], 0
    while at + LENGTH.size <= len(data):
        try:
            size = length_of(data[at : at + LENGTH.size])
        except EmuError:
            break
        found.append(data[at + LENGTH.size : at + LENGTH.size + size])
        at += LENGTH.size + size
    return found


def _mutate(data: bytes, random: Random) -> bytes:
    messages = _split(data)
    if not messages or random.random() < 0.05:
        return mutate_bytes(data, random)
    for _ in range(random.choice((1, 1, 2, 3))):
        at = random.randrange(len(messages))
        kind = random.randrange(8)
        if kind == 0 and len(messages) > 1:
            del messages[at]
        elif kind == 1:
            messages.insert(at, random.choice(messages))
        elif kind == 2:
            other = random.randrange(len(messages))
            messages[at], messages[other] = messages[other], messages[at]
        elif kind == 3 and len(messages[at]) > 5:
            place = random.randrange(1, len(messages[at]) - 4)
            word = int.from_bytes(messages[at][place : place + 4], "big")
            forged = (near(word, random, 32) & 0xFFFFFFFF).to_bytes(4, "big")
            messages[at] = messages[at][:place] + forged + messages[at][place + 4 :]
        else:
            messages[at] = messages[at][:1] + mutate_bytes(messages[at][1:], random)
    return b"".join(LENGTH.pack(len(one)) + one for one in messages)


TARGETS = (Target("conform", _seeds, read_messages, _mutate),)
