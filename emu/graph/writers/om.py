"""Writes .om files of both kinds: the container around a ModelDef and its constants (om-format.md 1, 3)."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

from emu.graph.readers.om.container import HEADER_SIZE, MAGIC, MODEL_DEF, VERSION_2, WEIGHTS_DATA
from emu.schemas import ge_ir_pb2, om_pb2

VERSION_1 = 0x10000000
OM_IR_VERSION = 2
FIRST_CONSTANT = 512
"""Offset of the first constant: 0 means "inline" (om-format.md 3)."""
CONSTANT_ALIGNMENT = 64
PLATFORM_VERSION = b"1.0.0"


@dataclass(slots=True)
class Constants:
    """A growing WEIGHTS_DATA partition."""

    data: bytearray

    @classmethod
    def empty(cls) -> Constants:
        return cls(bytearray(FIRST_CONSTANT))

    def add(self, raw: bytes) -> int:
        """Append the bytes of a constant and return their offset."""
        self.data += bytes(-len(self.data) % CONSTANT_ALIGNMENT)
        offset = len(self.data)
        self.data += raw
        return offset


def write_om(
    model: om_pb2.ModelDef | ge_ir_pb2.ModelDef,
    weights: bytes = b"",
    *,
    wide_table: bool = False,
    modeltype: int = 1,
    others: Mapping[int, bytes] | None = None,
) -> bytes:
    """The bytes of an .om file: MODEL_DEF, WEIGHTS_DATA where there is any, `others` by partition type.

    `wide_table` writes version 0x20000000 with a 64-bit partition table, else version 0x10000000 with a 32-bit one.
    """
    partitions = {MODEL_DEF: model.SerializeToString(deterministic=True)}
    if weights:
        partitions[WEIGHTS_DATA] = weights
    partitions.update(others or {})
    table, offset = bytearray(), 0
    table += struct.pack("<I4x" if wide_table else "<I", len(partitions))
    for kind, data in partitions.items():
        table += struct.pack("<I4xQQ" if wide_table else "<III", kind, offset, len(data))
        offset += len(data)
    body = bytes(table) + b"".join(partitions.values())
    return _header(model.name, len(body), wide_table, modeltype) + body


def _header(name: str, length: int, wide_table: bool, modeltype: int) -> bytes:
    version = VERSION_2 if wide_table else VERSION_1
    header = bytearray(HEADER_SIZE)
    struct.pack_into("<4sII64xI", header, 0, MAGIC, HEADER_SIZE, version, 0 if wide_table else length)
    struct.pack_into("<4B32s", header, 80, 0, 0, modeltype, 0, name.encode()[:32])
    struct.pack_into("<I", header, 152, OM_IR_VERSION)
    if wide_table:
        struct.pack_into("<I20sB3xQ", header, 156, 1, PLATFORM_VERSION, 0, length)
    else:
        struct.pack_into("<20sB", header, 156, PLATFORM_VERSION, 0)
    return bytes(header)
