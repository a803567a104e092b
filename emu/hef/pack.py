"""Lays the sections of a HEF out behind a header of any container version (hef-container.md 1 and 2)."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import xxhash
from msgspec import Struct, field

from emu.errors import UsageError
from emu.hef.container import CCW_ALIGNMENT, COMMON, LAYOUTS, MAGIC

Buffer: TypeAlias = bytes | memoryview
Pieces: TypeAlias = list[Buffer]


class Sections(Struct, frozen=True):
    """What follows the header, in file order; each section is a list of buffers that are never joined.

    Containers before V3 have neither padding nor additional_info, V0 has no CCW section. `trailing` are bytes that
    no header field speaks of: a sound file has none.
    """

    proto: Buffer
    padding: Sequence[Buffer] = ()
    ccws: Sequence[Buffer] = ()
    additional_info: Sequence[Buffer] = ()
    trailing: Sequence[Buffer] = field(default=())

    def body(self) -> Pieces:
        return [self.proto, *self.padding, *self.ccws, *self.additional_info, *self.trailing]


def total_size(pieces: Iterable[Buffer]) -> int:
    return sum(len(piece) for piece in pieces)


def aligned_padding(version: int, proto_size: int) -> bytes:
    """The zeros that align the CCW section of a V3 file to 4 KiB; other versions have none."""
    if version != 3:
        return b""
    return bytes(-(LAYOUTS[version].header_size + proto_size) % CCW_ALIGNMENT)


def computed_fields(version: int, sections: Sections, proto_hash: bool = False) -> dict[str, int | bytes]:
    """Every header field as the sections imply it; `proto_hash`: store V3's hash of the proto (5.1 and later)."""
    ccws = total_size(sections.ccws)
    fields: dict[str, int | bytes] = {item.name: 0 for item in LAYOUTS[version].fields}
    if version == 0:
        fields["md5"] = _md5(sections.body())
    elif version == 1:
        fields |= {"crc": _crc(sections.body()), "ccws_size": ccws}
    elif version == 2:
        fields |= {"xxh3_64bits": _xxh3(sections.body()), "ccws_size": ccws}
    else:
        padding = total_size(sections.padding)
        fields |= {
            "xxh3_64bits": _xxh3(sections.body()),
            "ccws_size_with_padding": ccws + padding,
            "hef_padding_size": padding,
            "additional_info_size": total_size(sections.additional_info),
        }
        if proto_hash:
            fields["proto_xxh3_64bits"] = _xxh3([sections.proto])
    return fields


def pack(
    version: int,
    sections: Sections,
    *,
    proto_hash: bool = False,
    overrides: Mapping[str, int | bytes] | None = None,
) -> Pieces:
    """The buffers of the file: header first, then the sections as they were given.

    `overrides` replaces header fields (also `magic` and `hef_proto_size`) for files that are damaged on purpose.
    UsageError for a version that is none, a field that the version does not have, or a value that does not fit it.
    """
    layout = LAYOUTS.get(version)
    if layout is None:
        raise UsageError(f"container version {version} is none of {', '.join(map(str, LAYOUTS))}")
    given = dict(overrides or {})
    magic = _number("magic", given.pop("magic", MAGIC), 4)
    proto_size = _number("hef_proto_size", given.pop("hef_proto_size", len(sections.proto)), 4)
    fields = computed_fields(version, sections, proto_hash)
    unknown = sorted(set(given) - set(fields))
    if unknown:
        raise UsageError(f"a header of version {version} has no field {unknown[0]!r}, only {', '.join(fields)}")
    fields |= given
    header = bytearray(layout.header_size)
    COMMON.pack_into(header, 0, magic, version, proto_size)
    for item in layout.fields:
        value = fields[item.name]
        if item.size == 16:
            if not isinstance(value, bytes) or len(value) != 16:
                raise UsageError(f"header field {item.name} is 16 bytes, not {value!r}")
            header[item.offset : item.offset + 16] = value
        else:
            header[item.offset : item.offset + item.size] = _number(item.name, value, item.size).to_bytes(
                item.size, "big"
            )
    return [bytes(header), *sections.body()]


def _number(name: str, value: int | bytes, size: int) -> int:
    if not isinstance(value, int) or not 0 <= value < 1 << 8 * size:
        raise UsageError(f"header field {name} has {size} bytes, {value!r} does not fit")
    return value


def _md5(pieces: Iterable[Buffer]) -> bytes:
    digest = hashlib.md5(usedforsecurity=False)
    for piece in pieces:
        digest.update(piece)
    return digest.digest()


def _crc(pieces: Iterable[Buffer]) -> int:
    value = 0
    for piece in pieces:
        value = zlib.crc32(piece, value)
    return value


def _xxh3(pieces: Iterable[Buffer]) -> int:
    digest = xxhash.xxh3_64()
    for piece in pieces:
        digest.update(piece)
    return digest.intdigest()
