"""Layouts on the wire as text, `name:code` in order: what a runtime's file says of headers, replies and events."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from itertools import islice

from emu.errors import HailoError, HailoStatus

CODES = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q"}
_ITEM = re.compile(r"(?P<name>\w+):(?:(?P<code>u8|u16|u32|u64)(?P<big>be)?(?:\[(?P<count>\d+)\])?|(?P<pad>\d+))")
_MASKS = {"B": 0xFF, "H": 0xFFFF, "I": 0xFFFFFFFF, "Q": 0xFFFFFFFFFFFFFFFF}

Values = Mapping[str, int | tuple[int, ...]]


class Layout:
    """A packed structure. `u8` to `u64` are little-endian, all of them big-endian where one says `be`; `[n]` repeats,
    `pad:n` are bytes without meaning. ValueError for a text that is none of this.
    """

    __slots__ = ("_counts", "_masks", "_struct", "code", "names", "size")

    def __init__(self, text: str) -> None:
        code, self._counts, self._masks, big = "", {}, {}, False
        for item in text.split():
            match = _ITEM.fullmatch(item)
            if match is None:
                raise ValueError(f"{item!r} is no part of a layout (name:u8, name:u32be, name:u16[4], pad:2)")
            if match["pad"]:
                code += f"{match['pad']}x"
                continue
            letter = CODES[match["code"]]
            self._counts[match["name"]] = int(match["count"] or 0)
            self._masks[match["name"]] = _MASKS[letter]
            code += letter * int(match["count"] or 1)
            big = big or match["big"] is not None
        self.code = (">" if big else "<") + code
        self.names = tuple(self._counts)
        self._struct = struct.Struct(self.code)
        self.size = self._struct.size

    def count(self, name: str) -> int:
        """How many values the field holds: 0 for a plain one; KeyError for a field that is not there."""
        return self._counts[name]

    def codes(self) -> dict[str, str]:
        """The struct code of every field; ValueError for a layout with arrays, padding or big-endian fields."""
        letters = self.code[1:]
        if any(self._counts.values()) or self.code[0] != "<" or len(letters) != len(self.names):
            raise ValueError(f"{' '.join(self.names)}: actions have plain little-endian fields alone")
        return dict(zip(self.names, letters, strict=True))

    def pack(self, values: Values) -> bytes:
        """The bytes; arrays are filled up with zeros, values cut to their field. KeyError for a missing field."""
        flat: list[int] = []
        for name, count in self._counts.items():
            value = values[name]
            if isinstance(value, tuple):
                flat += [*value[:count], *[0] * (count - len(value))]
            else:
                flat.append(value & self._masks[name])
        return self._struct.pack(*flat)

    def unpack(self, data: bytes) -> dict[str, int | tuple[int, ...]]:
        """The values by name, arrays as tuples; bytes of another size are HAILO_INVALID_ARGUMENT."""
        if len(data) != self.size:
            raise HailoError(HailoStatus.HAILO_INVALID_ARGUMENT, f"{len(data)} bytes instead of {self.size}")
        flat = iter(self._struct.unpack(data))
        return {name: tuple(islice(flat, count)) if count else next(flat) for name, count in self._counts.items()}
