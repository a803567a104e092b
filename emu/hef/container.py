"""The container around the protobuf: header, sections, checksums (hef-container.md 1 and 2).

All header integers are big-endian. Nothing is copied: every section is a view of the bytes that were given, so that a
mapped file of gigabytes costs no memory here.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Callable, Mapping
from functools import cached_property
from types import MappingProxyType

import xxhash
from msgspec import Struct

from emu.errors import HailoError, HailoStatus
from emu.hef.model import ExternalResource
from emu.hef.runtime import V4_18, V4_20, V4_21, V5_1, Runtime, newest
from emu.hef.source import Source
from emu.recognise import HEAD_SIZE, foreign_name

MAGIC = 0x01484546
CCW_ALIGNMENT = 4096
"""Where the CCW section of a V3 file starts; zero-copy configuration insists on it (hef-container.md 1.3)."""

COMMON = struct.Struct(">III")
_WRAP = 1 << 64


class Field(Struct, frozen=True):
    """A header field: bytes `offset` to `offset + size`; `size` 16 is raw bytes, else an unsigned integer."""

    name: str
    offset: int
    size: int


class Layout(Struct, frozen=True):
    """Header of one container version, and the first runtime that reads it."""

    header_size: int
    since: Runtime
    fields: tuple[Field, ...]


LAYOUTS: Mapping[int, Layout] = MappingProxyType(
    {
        0: Layout(32, Runtime(0, 0), (Field("reserved", 12, 4), Field("md5", 16, 16))),
        1: Layout(28, V4_18, (Field("crc", 12, 4), Field("ccws_size", 16, 8), Field("reserved", 24, 4))),
        2: Layout(
            44,
            V4_20,
            (
                Field("xxh3_64bits", 12, 8),
                Field("ccws_size", 20, 8),
                Field("reserved1", 28, 8),
                Field("reserved2", 36, 8),
            ),
        ),
        3: Layout(
            56,
            V4_21,
            (
                Field("xxh3_64bits", 12, 8),
                Field("ccws_size_with_padding", 20, 8),
                Field("hef_padding_size", 28, 4),
                Field("additional_info_size", 32, 8),
                Field("proto_xxh3_64bits", 40, 8),
                Field("reserved", 48, 8),
            ),
        ),
    }
)


_CODECS = {
    version: (
        [field.name for field in layout.fields],
        struct.Struct(">" + "".join({4: "I", 8: "Q", 16: "16s"}[field.size] for field in layout.fields)),
    )
    for version, layout in LAYOUTS.items()
}
_OLD_HEADER_SIZE = LAYOUTS[0].header_size  # up to 4.19 the largest header was read before any look at the version
_LARGEST_HEADER = max(layout.header_size for layout in LAYOUTS.values())


class Section(Struct, frozen=True):
    """A run of bytes of the file."""

    name: str
    offset: int
    size: int


_DIGESTS: Mapping[str, Callable[[memoryview], int | bytes]] = MappingProxyType(
    {
        "md5": lambda data: hashlib.md5(data, usedforsecurity=False).digest(),
        "crc": zlib.crc32,
        "xxh3_64bits": xxhash.xxh3_64_intdigest,
        "proto_xxh3_64bits": xxhash.xxh3_64_intdigest,
    }
)
"""Of bytes that are all there: for XXH3 a third faster than piece by piece."""


class _Crc32:
    """zlib.crc32 with the interface of hashlib."""

    def __init__(self) -> None:
        self._value = 0

    def update(self, data: memoryview) -> None:
        self._value = zlib.crc32(data, self._value)

    def intdigest(self) -> int:
        return self._value


class Checksum:
    """A checksum in the header over `size` bytes from `offset` on; computed when asked for, once for a source."""

    def __init__(self, name: str, stored: int | bytes, source: Source, offset: int, end: int) -> None:
        self.name = name
        self.stored = stored
        self.offset = offset
        self.size = max(0, min(end, source.size) - offset)
        self._source = source

    @property
    def computed(self) -> int | bytes:
        key = self.name, self.offset, self.size
        known = self._source.digests
        if key not in known:
            known[key] = self._compute(self.offset + self.size)
        return known[key]

    def _compute(self, end: int) -> int | bytes:
        if self._source.in_memory:
            return _DIGESTS[self.name](self._source.data[self.offset : end])
        chunks = self._source.chunks(self.offset, end)
        if self.name == "md5":
            md5 = hashlib.md5(usedforsecurity=False)
            for chunk in chunks:
                md5.update(chunk)
            return md5.digest()
        state = _Crc32() if self.name == "crc" else xxhash.xxh3_64()
        for chunk in chunks:
            state.update(chunk)
        return state.intdigest()

    @property
    def matches(self) -> bool:
        return self.stored == self.computed

    def text(self, value: int | bytes) -> str:
        """Hexadecimal, as wide as the header field."""
        if isinstance(value, bytes):
            return value.hex()
        return f"{value:08x}" if self.name == "crc" else f"{value:016x}"


class Container:
    """A container whose header could be read.

    `fields` holds the header fields of `LAYOUTS[version]` by name. Raises HailoError 14 (file) or 91 (memory) when the
    bytes end before the header does, 92 for an unknown version; `validate` does the rest of the runtime's checks.
    """

    def __init__(self, source: Source, *, from_memory: bool = False, runtime: Runtime | None = None) -> None:
        runtime = runtime or newest()
        self.source = source
        self.name = source.name
        self.from_memory = from_memory
        self.file_size = source.size
        self._check_memory_size(runtime)
        if self.file_size < COMMON.size:
            raise self._short(runtime, COMMON.size)
        head = source.read(0, _LARGEST_HEADER)
        self.magic: int
        self.version: int
        self.hef_proto_size: int
        self.magic, self.version, self.hef_proto_size = COMMON.unpack_from(head)
        layout = LAYOUTS.get(self.version)
        if runtime < V4_20 and self.file_size < _OLD_HEADER_SIZE:
            raise self._short(runtime, _OLD_HEADER_SIZE)
        if layout is None or runtime < layout.since:
            raise self._unknown_version(runtime, layout)
        self.header_size = layout.header_size
        if self.file_size < self.header_size:
            raise self._short(runtime, self.header_size)
        names, codec = _CODECS[self.version]
        self.fields: dict[str, int | bytes] = dict(zip(names, codec.unpack_from(head, COMMON.size), strict=True))

    @property
    def data(self) -> memoryview:
        """All bytes of the file."""
        return self.source.data

    # --- the numbers of the header ------------------------------------------------------------------------------

    def number(self, name: str) -> int:
        """An integer field, 0 where this version has none of that name."""
        value = self.fields.get(name, 0)
        assert isinstance(value, int)
        return value

    @property
    def ccws_size_with_padding(self) -> int:
        """Bytes between the proto and additional_info: `ccws_size` of V1 and V2, 0 for V0."""
        return self.number("ccws_size_with_padding") if self.version == 3 else self.number("ccws_size")

    @property
    def ccws_section_size(self) -> int:
        """Bytes of CCW data; negative in a V3 header with more padding than section (the runtime wraps it)."""
        return self.ccws_size_with_padding - self.number("hef_padding_size")

    @property
    def offset_zero_point(self) -> int:
        """File offset that CCW pointers and external resources count from; 0 for V0, which has neither."""
        if self.version == 0:
            return 0
        return self.header_size + self.hef_proto_size + self.number("hef_padding_size")

    @property
    def declared_size(self) -> int:
        """The file size that the header speaks of, modulo 2^64 as the runtime adds it up."""
        body = self.hef_proto_size + self.ccws_size_with_padding + self.number("additional_info_size")
        return self.header_size + body % _WRAP

    @property
    def sections(self) -> tuple[Section, ...]:
        """What the header says lies where; a damaged file may be shorter."""
        sizes = [("header", self.header_size), ("proto", self.hef_proto_size)]
        if self.version == 3:
            sizes.append(("padding", self.number("hef_padding_size")))
        if self.version > 0:
            sizes.append(("ccws", max(0, self.ccws_section_size)))
        if self.version == 3:
            sizes.append(("additional_info", self.number("additional_info_size")))
        out = []
        offset = 0
        for name, size in sizes:
            out.append(Section(name, offset, size))
            offset += size
        return tuple(out)

    # --- checksums ----------------------------------------------------------------------------------------------

    @cached_property
    def checksum(self) -> Checksum:
        """The checksum over everything behind the header."""
        name = {0: "md5", 1: "crc"}.get(self.version, "xxh3_64bits")
        return Checksum(name, self.fields[name], self.source, self.header_size, self.file_size)

    @cached_property
    def proto_checksum(self) -> Checksum | None:
        """The checksum over the proto alone: V3 files of compilers since 5.1."""
        stored = self.number("proto_xxh3_64bits")
        if not stored:
            return None
        end = self.header_size + self.hef_proto_size
        return Checksum("proto_xxh3_64bits", stored, self.source, self.header_size, end)

    def checks_proto_only(self, runtime: Runtime) -> bool:
        """Whether this runtime looks at the proto hash and at nothing else (hef-container.md 2)."""
        return runtime >= V5_1 and self.proto_checksum is not None

    @property
    def hash(self) -> str:
        """What Hef::hash() prints: the stored checksum as it lies in a little-endian host's memory."""
        stored = self.checksum.stored
        if isinstance(stored, bytes):
            return stored.hex()
        return stored.to_bytes(4 if self.version == 1 else 8, "little").hex()

    # --- checks -------------------------------------------------------------------------------------------------

    def validate(self, runtime: Runtime) -> None:
        """What the runtime checks before it parses, in its order (hef-container.md 2.1).

        Raises HailoError 92 (magic), 91 (length, checksum, padding), 14 (a file that ends within the hashed proto).
        """
        padding = self.number("hef_padding_size")
        if self.from_memory and self.version == 3 and self.ccws_size_with_padding < padding:
            raise self._refusal(
                runtime,
                HailoStatus.HAILO_HEF_FILE_CORRUPTED,
                f"ccws_size_with_padding {self.ccws_size_with_padding} is less than hef_padding_size {padding}",
            )
        if self.checks_proto_only(runtime):
            self._validate_proto_hash(runtime)
            return
        if self.magic != MAGIC:
            raise self._refusal(
                runtime,
                HailoStatus.HAILO_HEF_NOT_SUPPORTED,
                f"not a HEF: the magic is {self.magic:08x}, not {MAGIC:08x}{self._instead()}",
            )
        if self.declared_size != self.file_size:
            raise self._refusal(runtime, HailoStatus.HAILO_HEF_FILE_CORRUPTED, self.length_text())
        if not self.checksum.matches:
            raise self._refusal(runtime, HailoStatus.HAILO_HEF_FILE_CORRUPTED, self.mismatch_text(self.checksum))

    def _validate_proto_hash(self, runtime: Runtime) -> None:
        checksum = self.proto_checksum
        assert checksum is not None
        if checksum.size < self.hef_proto_size:
            # From memory the runtime would hash the bytes behind the buffer: undefined, so refused as corrupt.
            status = HailoStatus.HAILO_FILE_OPERATION_FAILURE
            if self.from_memory:
                status = HailoStatus.HAILO_HEF_FILE_CORRUPTED
            raise self._refusal(
                runtime,
                status,
                f"truncated: hef_proto_size is {self.hef_proto_size} bytes, {checksum.size} are left behind the header",
            )
        if not checksum.matches:
            raise self._refusal(runtime, HailoStatus.HAILO_HEF_FILE_CORRUPTED, self.mismatch_text(checksum))

    def length_text(self) -> str:
        """How the length differs from what the header adds up to."""
        missing = self.declared_size - self.file_size
        what = f"truncated: {missing} bytes are missing" if missing > 0 else f"{-missing} bytes too many"
        return f"{what}: the header adds up to {self.declared_size} bytes, the file has {self.file_size}"

    def mismatch_text(self, checksum: Checksum) -> str:
        """Stored against computed checksum."""
        return (
            f"{checksum.name} does not match: stored {checksum.text(checksum.stored)}, computed "
            f"{checksum.text(checksum.computed)} over {checksum.size} bytes from offset {checksum.offset}"
        )

    def _check_memory_size(self, runtime: Runtime) -> None:
        """The memory loader wants room for the largest header it knows (hef-container.md 1.2)."""
        if not self.from_memory:
            return
        least = max(layout.header_size for layout in LAYOUTS.values() if layout.since <= runtime)
        if self.file_size < least:
            raise self._refusal(
                runtime,
                HailoStatus.HAILO_HEF_FILE_CORRUPTED,
                f"a buffer of {self.file_size} bytes holds no HEF header ({least} bytes){self._instead()}",
            )

    def _short(self, runtime: Runtime, header_size: int) -> HailoError:
        return self._refusal(
            runtime,
            HailoStatus.HAILO_FILE_OPERATION_FAILURE,
            f"{self.file_size} bytes are too few for a HEF header ({header_size} bytes){self._instead()}",
        )

    def _unknown_version(self, runtime: Runtime, layout: Layout | None) -> HailoError:
        if layout is not None:
            text = f"container version {self.version} is read since HailoRT {layout.since}, not by {runtime}"
        elif self.magic == MAGIC:
            text = f"container version {self.version} is not known (0 to {max(LAYOUTS)})"
        else:
            text = f"not a HEF: the file starts with {bytes(self.source.read(0, 4)).hex(' ')}{self._instead()}"
        meaning = status = HailoStatus.HAILO_HEF_NOT_SUPPORTED
        if V4_18 <= runtime < V4_20 and self.magic == MAGIC:
            status = HailoStatus.HAILO_INTERNAL_FAILURE  # runtimes.md 3 item 1
        error = self._refusal(runtime, status, text)
        error.meaning = meaning
        return error

    def _instead(self) -> str:
        foreign = foreign_name(self.source.read(0, HEAD_SIZE))
        return f"; it is {foreign}" if foreign else ""

    def _refusal(self, runtime: Runtime, status: HailoStatus, message: str) -> HailoError:
        return runtime.refusal(status, message, file=self.name)

    # --- bytes of the sections ----------------------------------------------------------------------------------

    @property
    def proto(self) -> bytes | memoryview:
        """The bytes of the message; fewer than hef_proto_size where the file ends before."""
        return self.source.read(self.header_size, self.header_size + self.hef_proto_size)

    def ccw(self, offset: int, size: int) -> memoryview:
        """`size` bytes at `offset` from the zero point.

        Raises HailoError 14 where the file ends before: as the file reader of the runtime does; its memory reader would
        read behind the buffer, which ours refuses alike.
        """
        start = self.offset_zero_point + offset
        if start + size > self.file_size:
            raise HailoError(
                HailoStatus.HAILO_FILE_OPERATION_FAILURE,
                f"CCW bytes {start} to {start + size} lie outside the file of {self.file_size} bytes",
                file=self.name,
                offset=offset,
                size=size,
            )
        return self.data[start : start + size]

    def external_resource(self, resource: ExternalResource) -> memoryview | None:
        """The bytes of an external resource, None where they lie outside the file."""
        start = self.offset_zero_point + resource.offset
        if start + resource.size > self.file_size:
            return None
        return self.data[start : start + resource.size]
