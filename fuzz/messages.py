"""Protobuf messages as trees of fields, without their schema: mutated and encoded again with sound sizes."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from emu.trace.sinks.perfetto import varint
from fuzz.mutation import TEXTS, float_bytes, mutate_bytes, near, number

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_DEEPEST = 24


@dataclass(slots=True)
class Field:
    """`value` is a number, bytes, or the fields of bytes that read as a message."""

    number: int
    wire: int
    value: int | bytes | list[Field] = field(default=0)


def parse(data: bytes, depth: int = 0) -> list[Field] | None:
    """The fields of a message; None where the bytes are none."""
    fields: list[Field] = []
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        value: int | bytes | list[Field] | None
        wire = key & 7
        if at < 0 or not key >> 3:
            return None
        if wire == VARINT:
            value, at = _varint(data, at)
        elif wire in (FIXED64, FIXED32):
            size = 8 if wire == FIXED64 else 4
            value, at = data[at : at + size], at + size
        elif wire == BYTES:
            size, at = _varint(data, at)
            if at < 0 or at + size > len(data):
                return None
            raw = data[at : at + size]
            inner = parse(raw, depth + 1) if 1 < size < 1 << 16 and depth < _DEEPEST else None
            value, at = (inner or raw), at + size
        else:
            return None
        if at < 0 or at > len(data):
            return None
        fields.append(Field(key >> 3, wire, value))
    return fields


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift < 70:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
    return 0, -1


def encode(fields: list[Field]) -> bytes:
    out = bytearray()
    for one in fields:
        out += varint(one.number << 3 | one.wire)
        if one.wire == VARINT:
            assert isinstance(one.value, int)
            out += varint(one.value)
            continue
        raw = encode(one.value) if isinstance(one.value, list) else one.value
        assert isinstance(raw, bytes)
        if one.wire == BYTES:
            out += varint(len(raw))
        out += raw
    return bytes(out)


def _lists(fields: list[Field], found: list[list[Field]]) -> list[list[Field]]:
    found.append(fields)
    for one in fields:
        if isinstance(one.value, list):
            _lists(one.value, found)
    return found


def mutate_message(data: bytes, random: Random) -> bytes:
    """One to three fields forged, removed, repeated, moved, or set to another's value; bytes that are no message:
    as plain bytes."""
    fields = parse(data)
    if not fields:
        return mutate_bytes(data, random)
    for _ in range(random.choice((1, 1, 2, 3))):
        _change(_lists(fields, []), random)
    return encode(fields)


def _change(lists: list[list[Field]], random: Random) -> None:
    among = random.choice([one for one in lists if one] or [[Field(1, VARINT)]])
    at = random.randrange(len(among))
    chosen = among[at]
    kind = random.randrange(10)
    if kind == 0:
        del among[at]
    elif kind == 1:
        among.insert(at, chosen)
    elif kind == 2:
        among.extend([chosen] * random.choice((1, 2, 70, 300)))
    elif kind == 3:
        among.append(Field(random.randrange(1, 40), VARINT, number(random)))
    elif kind == 4:
        other = random.choice(random.choice([one for one in lists if one] or [among]))
        chosen.wire, chosen.value = other.wire, _copied(other.value)
    elif kind == 5 and isinstance(chosen.value, list):
        chosen.value = b"" if random.random() < 0.5 else [*chosen.value, *map(_copy, chosen.value)]
    else:
        _forge(chosen, random)


def _copy(one: Field) -> Field:
    return Field(one.number, one.wire, _copied(one.value))


def _copied(value: int | bytes | list[Field]) -> int | bytes | list[Field]:
    return [_copy(one) for one in value] if isinstance(value, list) else value


def _forge(one: Field, random: Random) -> None:
    if isinstance(one.value, int):
        one.value = near(one.value, random)
    elif isinstance(one.value, list):
        raw = encode(one.value)
        one.value = mutate_bytes(raw, random) if random.random() < 0.3 else one.value
    elif one.wire == BYTES:
        one.value = random.choice(TEXTS) if random.random() < 0.4 else mutate_bytes(one.value, random)
    else:
        one.value = float_bytes(random, len(one.value)) if random.random() < 0.5 else random.randbytes(len(one.value))
