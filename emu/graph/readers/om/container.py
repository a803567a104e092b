"""The .om container: header of 256 bytes, partition table, partitions (om-format.md 1, graph-conventions.md OM-C)."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from emu.errors import GraphError, GraphStatus

HEADER_SIZE = 256
MAGIC = b"IMOD"
VERSION_2 = 0x20000000

MODEL_DEF = 0
WEIGHTS_DATA = 1
TASK_INFO = 2

# om-format.md 1; the two families number 3 and up differently, and only the names that both share are certain
_SHARED_NAMES = {0: "MODEL_DEF", 1: "WEIGHTS_DATA", 2: "TASK_INFO"}
_ASCEND_NAMES = {
    3: "TBE_KERNELS",
    4: "CUST_AICPU_KERNELS",
    5: "SO_BINS",
    6: "FLOW_MODEL",
    7: "FLOW_SUBMODEL",
    8: "MODEL_INOUT_INFO",
    9: "STATIC_TASK_DESC",
    10: "DYNAMIC_TASK_DESC",
    11: "TASK_PARAM",
    12: "TILING_DATA",
    20: "PRE_MODEL_DESC",
    21: "PRE_MODEL_SQE",
    22: "PRE_KERNEL_ARGS",
    23: "PRE_MODEL_DESC_EXTEND",
    24: "BUNDLE_MODEL_INFO",
}
_KIRIN_NAMES = {
    3: "TASK_GRAPH",
    4: "SIGNATURE_INFO",
    5: "MODEL_CONFIG",
    6: "AIPP_CUSTOM_INFO",
    7: "ENCRYPT_INFO",
}
PLATFORM_LITE = 0


@dataclass(frozen=True, slots=True)
class Header:
    """The fixed header; `model_num`, `model_length` and the two flags exist in the tail of version 0x20000000 only."""

    version: int
    checksum: bytes
    length: int
    is_encrypt: int
    is_checksum: int
    modeltype: int
    genmode: int
    name: str
    ops: int
    userdefineinfo: bytes
    om_ir_version: int
    platform_version: str
    platform_type: int
    model_num: int | None
    model_length: int | None
    need_check_os_cpu_info: int | None
    is_unknown_model: int | None
    custom_data_len: int | None
    multi_shape_gears: int | None


@dataclass(frozen=True, slots=True)
class Partition:
    """`offset` counts from the end of the table, as in the file; `start` from the beginning of the file."""

    type: int
    name: str
    offset: int
    size: int
    start: int


@dataclass(frozen=True, slots=True)
class Container:
    """A checked container; partition data are views of the file."""

    data: memoryview
    header: Header
    table_bits: int
    partitions: tuple[Partition, ...]

    def find(self, kind: int) -> memoryview | None:
        """The bytes of the partition of that type."""
        for partition in self.partitions:
            if partition.type == kind:
                return self.data[partition.start : partition.start + partition.size]
        return None


def _refuse(message: str, offset: int) -> GraphError:
    return GraphError(GraphStatus.OM_CONTAINER, message, offset=offset)


def _text(raw: bytes) -> str:
    return raw.split(b"\0", 1)[0].decode("latin-1")


def read_container(data: bytes | memoryview) -> Container:
    """Check and cut an .om file; OM_CONTAINER for everything that graph-conventions.md OM-C1 to C3 refuses."""
    view = memoryview(data).cast("B")
    if bytes(view[:4]) == b"PICO":
        raise _refuse("a HiSilicon SVP (PICO) model, another format than .om", 0)
    if len(view) < HEADER_SIZE:
        raise _refuse(f"{len(view)} bytes are too short for the {HEADER_SIZE}-byte header", 0)
    if bytes(view[:4]) != MAGIC:
        raise _refuse(f"magic is {bytes(view[:4]).hex()}, not {MAGIC.hex()} (IMOD)", 0)
    (head_size,) = struct.unpack_from("<I", view, 4)
    if head_size != HEADER_SIZE:
        raise _refuse(f"headsize is {head_size}, not {HEADER_SIZE}", 4)
    header = _read_header(view)
    if header.is_encrypt:
        raise _refuse(f"the model is encrypted (is_encrypt {header.is_encrypt})", 80)
    wide = header.version == VERSION_2 and header.length == 0 and bool(header.model_length)
    stated, at = (header.model_length, 184) if wide else (header.length, 76)
    if stated != len(view) - HEADER_SIZE:
        raise _refuse(
            f"length is {stated}, the file has {len(view) - HEADER_SIZE} bytes after the header",
            at,
        )
    return Container(view, header, 64 if wide else 32, _read_partitions(view, header, wide))


def _read_header(view: memoryview) -> Header:
    version, checksum, length = struct.unpack_from("<I64sI", view, 8)
    is_encrypt, is_checksum, modeltype, genmode, name, ops, user = struct.unpack_from("<4B32sI32s", view, 80)
    (om_ir_version,) = struct.unpack_from("<I", view, 152)
    newer = version == VERSION_2
    if newer:
        model_num, platform, platform_type, model_length, cpu, unknown = struct.unpack_from("<I20sB3xQBB", view, 156)
        custom = gears = None
    else:
        platform, platform_type, custom, gears = struct.unpack_from("<20sB3xII", view, 156)
        model_num = model_length = cpu = unknown = None
    return Header(
        version=version,
        checksum=checksum,
        length=length,
        is_encrypt=is_encrypt,
        is_checksum=is_checksum,
        modeltype=modeltype,
        genmode=genmode,
        name=_text(name),
        ops=ops,
        userdefineinfo=user,
        om_ir_version=om_ir_version,
        platform_version=_text(platform),
        platform_type=platform_type,
        model_num=model_num,
        model_length=model_length,
        need_check_os_cpu_info=cpu,
        is_unknown_model=unknown,
        custom_data_len=custom,
        multi_shape_gears=gears,
    )


def _partition_name(kind: int, header: Header) -> str:
    own = _KIRIN_NAMES if header.platform_type == PLATFORM_LITE else _ASCEND_NAMES
    return _SHARED_NAMES.get(kind) or own.get(kind) or f"unknown({kind})"


def _read_partitions(view: memoryview, header: Header, wide: bool) -> tuple[Partition, ...]:
    entry, first = (struct.Struct("<I4xQQ"), 8) if wide else (struct.Struct("<III"), 4)
    if len(view) < HEADER_SIZE + first:
        raise _refuse("the file ends before the partition table", HEADER_SIZE)
    (count,) = struct.unpack_from("<I", view, HEADER_SIZE)
    base = HEADER_SIZE + first + count * entry.size
    if count == 0:
        raise _refuse("no partition at all, MODEL_DEF is required", HEADER_SIZE)
    if base > len(view):
        raise _refuse(f"{count} partition entries end at {base}, the file at {len(view)}", HEADER_SIZE)
    partitions: list[Partition] = []
    seen: set[int] = set()
    start = base
    for place in range(count):
        at = HEADER_SIZE + first + place * entry.size
        kind, offset, size = entry.unpack_from(view, at)
        name = _partition_name(kind, header)
        if offset != start - base:
            raise _refuse(
                f"partition {place} ({name}) is at offset {offset}, the sizes before it add up to {start - base}", at
            )
        if start + size > len(view):
            raise _refuse(
                f"partition {place} ({name}) of {size} bytes from {start} on exceeds the file of {len(view)}", at
            )
        if kind in seen:
            raise _refuse(f"partition {place} repeats type {kind} ({name})", at)
        seen.add(kind)
        partitions.append(Partition(kind, name, offset, size, start))
        start += size
    if start != len(view):
        raise _refuse(f"the partitions end at {start}, the file at {len(view)}", HEADER_SIZE)
    if MODEL_DEF not in seen:
        raise _refuse("no MODEL_DEF partition", HEADER_SIZE)
    return tuple(partitions)


def model_kind(model: memoryview) -> str:
    """ "domi" or "graph", by the fields of MODEL_DEF (graph-conventions.md OM-C4); OM_MODEL for both or neither."""
    fields = _wire_fields(model)
    ops, graphs = (20, 2) in fields, (7, 2) in fields
    if ops and not graphs:
        return "domi"
    if graphs and not ops:
        return "graph"
    what = (
        "both an op list (field 20) and a graph (field 7)" if ops else "neither an op list (field 20) nor a graph (7)"
    )
    raise GraphError(GraphStatus.OM_MODEL, f"MODEL_DEF has {what}", partition="MODEL_DEF")


def _wire_fields(message: memoryview) -> set[tuple[int, int]]:
    """(field number, wire type) of the top level of a protobuf message."""
    fields: set[tuple[int, int]] = set()
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        number, wire = key >> 3, key & 7
        if number == 0 or wire in (3, 4, 6, 7):
            raise GraphError(
                GraphStatus.OM_MODEL, f"MODEL_DEF is no protobuf message (field {number}, type {wire})", offset=at
            )
        fields.add((number, wire))
        if wire == 0:
            _, at = _varint(message, at)
        elif wire == 2:
            size, at = _varint(message, at)
            at += size
        else:
            at += 8 if wire == 1 else 4
        if at > len(message):
            raise GraphError(
                GraphStatus.OM_MODEL, f"MODEL_DEF is cut: field {number} ends at {at} of {len(message)}", offset=at
            )
    return fields


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(message) and shift < 70:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
    raise GraphError(GraphStatus.OM_MODEL, "MODEL_DEF is no protobuf message (a varint does not end)", offset=at)
