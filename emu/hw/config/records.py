"""The records of a list of operations, all at once: where each goes, what it holds, whether its check is right.

Properties of records are arrays with one entry a record, in operation order over all config channels (ccw.md,
chip-config.md 1). Nothing here knows what an address means.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TypeAlias

import numpy as np
import xxhash
from numpy.typing import NDArray

from emu.hw.config.commands import Command
from emu.hw.config.crc import record_crcs
from emu.hw.gather import LARGE, Piece, Rope
from emu.sequencer.configuration import HAILO1XH, HAILO8, CcwRecords, Step

Bools: TypeAlias = NDArray[np.bool_]
Words: TypeAlias = NDArray[np.uint32]
Numbers: TypeAlias = NDArray[np.int64]
Bytes: TypeAlias = NDArray[np.uint8]
# step, channel, offset, size, header, address, start, length: see Records
Row: TypeAlias = tuple[int, int, int, int, int, int, int, int]

_HEAD = struct.Struct("<II")
_TAIL_1XH = 8  # the check value and a zero word
_REGISTER, _FENCE, _COMPRESSED = 1 << 2, 1 << 3, 1 << 12
_FEW, _FEW_BYTES, _PART_BYTES = 8, 1 << 16, 1 << 22
# bytes that a search checks: for each byte of the run, and at least; what one check costs beside its bytes
_SEARCHED, _LEAST_SEARCHED, _CHECK = 8, 1 << 22, 4096
_ALWAYS_ZERO = 0x1C7F0  # header bits 4..10, 14, 15, 16 (chip-config.md 1)


class Records:
    """All records of one list.

    `step`: the number of the operation step; `channel`: the config channel; `offset`, `size`: where the record lies in
    `buffer`, all bytes of the list (many of them are left where they are); `header`: its first word; `address`: where
    its data go; `start`, `length`: where its data lie in `buffer`. `broken` holds (step, offset within its bytes) where
    bytes do not decode as a record; the rest of that action is not read.
    """

    def __init__(
        self,
        family: str,
        buffer: Bytes | Rope,
        rows: list[Row],
        broken: list[tuple[int, int]],
    ) -> None:
        self.family = family
        self.buffer = buffer
        self.broken = broken
        columns = np.array(rows, np.int64).reshape(-1, 8).T
        self.step, self.channel, self.offset, self.size, _, _, self.start, self.length = columns
        self.header: Words = columns[4].astype(np.uint32)
        self.address: Words = columns[5].astype(np.uint32)
        # emu.hw.config.execute notes here, by number, which records do anything and which are commands
        self.acting: dict[bool, list[int]] = {}
        self.commands: Mapping[int, Command] | None = None
        self._digests: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self.step)

    def data(self, record: int) -> Bytes:
        """What a record writes, as it stands in the file."""
        start, end = self.bounds[record]
        if isinstance(self.buffer, Rope):
            return np.frombuffer(self.buffer.between(start, end), np.uint8)
        return self.buffer[start:end]

    def digest(self, record: int) -> int:
        """Tells the data of records apart."""
        found = self._digests.get(record)
        if found is None:
            found = self._digests[record] = xxhash.xxh3_64_intdigest(self.data(record).data)
        return found

    def _parts(self) -> Iterator[tuple[slice, int, Bytes]]:
        """The records that lie in some bytes, where these begin in `buffer`, and they."""
        if not isinstance(self.buffer, Rope):
            yield slice(None), 0, self.buffer
            return
        for begins, data in self.buffer.parts(_PART_BYTES):
            first, last = np.searchsorted(self.offset, [begins, begins + len(data)])
            yield slice(first, last), begins, np.frombuffer(data, np.uint8)

    def words(self, record: int) -> Words:
        """The whole 32-bit words of the data of a record."""
        data = self.data(record)
        return data[: len(data) & ~3].view("<u4")

    def goes_to(self, addresses: Iterable[int]) -> Bools:
        """Which records go to one of some addresses (numpy.isin imports half of numpy at its first call)."""
        found = np.zeros(len(self), bool)
        for address in addresses:
            found |= self.address == address
        return found

    def _has(self, bit: int) -> Bools:
        """Which headers have a bit; on Hailo-8 they have no such bits."""
        found: Bools = self.header & np.uint32(bit if self.family != HAILO8 else 0) != 0
        return found

    @cached_property
    def is_register_write(self) -> Bools:
        """Writes one register: by its header (1xh), or because it has one word (Hailo-8)."""
        found: Bools = self.length == 4
        return found if self.family == HAILO8 else self._has(_REGISTER)

    @cached_property
    def wrong(self) -> list[int]:
        """The numbers of the records that are not right."""
        return [int(number) for number in np.flatnonzero(~self.is_right)]

    # the same as lists, for those who take record by record

    @cached_property
    def steps(self) -> list[int]:
        """`step`."""
        return list(self.step.tolist())

    @cached_property
    def addresses(self) -> list[int]:
        """`address`."""
        return list(self.address.tolist())

    @cached_property
    def channels(self) -> list[int]:
        """`channel`."""
        return list(self.channel.tolist())

    @cached_property
    def values(self) -> list[int]:
        """`value`."""
        return list(self.value.tolist())

    @cached_property
    def rights(self) -> list[bool]:
        """`is_right`."""
        return list(self.is_right.tolist())

    @cached_property
    def is_single(self) -> list[bool]:
        """`is_register_write`."""
        return list(self.is_register_write.tolist())

    @cached_property
    def packed(self) -> list[bool]:
        """`is_compressed`."""
        return list(self.is_compressed.tolist())

    @cached_property
    def bounds(self) -> list[tuple[int, int]]:
        """Where the data of each record lie in `buffer`."""
        return list(zip(self.start.tolist(), (self.start + self.length).tolist(), strict=True))

    @cached_property
    def is_fence(self) -> Bools:
        """1xh: waits until the write has landed (chip-config.md 1)."""
        return self._has(_FENCE)

    @cached_property
    def is_compressed(self) -> Bools:
        """1xh: by the header; Hailo-8 says it by the address (emu.hw.config.addresses)."""
        return self._has(_COMPRESSED)

    @cached_property
    def value(self) -> Words:
        """The first word of the data of each record: the value of a register write."""
        if not len(self):
            return np.zeros(0, np.uint32)
        found = [np.zeros(0, np.uint32)]
        for some, begins, data in self._parts():
            places = np.minimum(self.start[some, None] - begins + np.arange(4), len(data) - 1)
            found.append(np.ascontiguousarray(data[places]).view("<u4")[:, 0].astype(np.uint32))
        return np.concatenate(found)

    @cached_property
    def is_right(self) -> Bools:
        """Whether check value, parities and constant bits hold (chip-config.md 1); Hailo-8 records carry none."""
        if self.family == HAILO8:
            return np.ones(len(self), bool)
        if not len(self):
            return np.zeros(0, bool)
        return np.concatenate([self._are_right(*part) for part in self._parts()])

    def _are_right(self, some: slice, begins: int, data: Bytes) -> Bools:
        """The same of some records, whose bytes are `data`."""
        header, starts, sizes = self.header[some], self.offset[some] - begins, self.size[some]
        ends = starts + sizes
        tails = np.ascontiguousarray(data[ends[:, None] + np.arange(-_TAIL_1XH, 0)]).view("<u4")
        crcs = record_crcs(data, starts.tolist(), (sizes - _TAIL_1XH).tolist())
        # the address word of a register write is 0, its address stands in the payload
        address_words = np.ascontiguousarray(data[starts[:, None] + np.arange(4, 8)]).view("<u4")[:, 0]
        right: Bools = (
            (tails[:, 0] == crcs)
            & (tails[:, 1] == 0)
            & (header & _ALWAYS_ZERO == 0)
            & (np.bitwise_count(header & ~np.uint32(2)) & 1 == 0)
            & (header >> 1 & 1 == np.bitwise_count(address_words) & 1)
        )
        return right


def read_records(family: str, steps: Iterable[Step]) -> Records:
    """The records of all CCW steps of a list; numbers of steps count all of them."""
    pieces: list[memoryview] = []
    rows: list[Row] = []
    broken: list[tuple[int, int]] = []
    read = _read_hailo8 if family == HAILO8 else _read_1xh
    base = 0
    for number, step in enumerate(steps):
        if step.__class__ is not CcwRecords:
            continue
        channel, data = step
        stop = read(rows, data, base, number, channel)
        if stop >= 0:
            broken.append((number, stop))
        pieces.append(data)
        base += len(data)
    if base >= LARGE and len(pieces) > 1:
        return Records(family, Rope(pieces), rows, broken)
    buffer = pieces[0] if len(pieces) == 1 else memoryview(b"".join(pieces))
    return Records(family, np.frombuffer(buffer, np.uint8), rows, broken)


def read_run(family: str, data: Piece, channel: int) -> Records:
    """The records of the bytes of one fetch on one channel; every one has step 0.

    1xh: where something does not decode, the next record whose check value is right is looked for; what lies between
    is not read. `Records.broken` holds each place.
    """
    rows: list[Row] = []
    broken: list[tuple[int, int]] = []
    view, offset, search = memoryview(data), 0, _Search(data)
    read = _read_hailo8 if family == HAILO8 else _read_1xh
    while offset < len(data):
        found: list[Row] = []
        stop = read(found, view[offset:], offset, 0, channel)
        rows += found
        if stop < 0:
            break
        broken.append((0, offset + stop))
        resumed = None if family == HAILO8 else search.next((offset + stop + 8) // 8 * 8)
        if resumed is None:
            break
        offset = resumed
    return Records(family, np.frombuffer(data, np.uint8), rows, broken)


_KEPT_BYTES = 32 << 20
_kept: OrderedDict[tuple[int, str, int], Records] = OrderedDict()


def read_run_once(family: str, data: Piece, channel: int) -> Records:
    """`read_run`, by content: the same bytes are read and checked once a process while they are kept."""
    key = xxhash.xxh3_128_intdigest(data), family, channel
    found = _kept.pop(key, None)
    if found is None:
        found = read_run(family, data, channel)
    _kept[key] = found
    size = sum(len(records.buffer) for records in _kept.values())
    while len(_kept) > 1 and size > _KEPT_BYTES:
        size -= len(_kept.popitem(last=False)[1].buffer)
    return found


class _Search:
    """Where records of 1xh with a right check value begin, for reading to go on there (chip-config.md 8).

    What is checked on the way is bounded by the size of the run: beyond, nothing more is found.
    """

    def __init__(self, data: Piece) -> None:
        self._view = memoryview(data)
        self._left = _SEARCHED * len(data) + _LEAST_SEARCHED

    @cached_property
    def _likely(self) -> list[int]:
        headers = np.frombuffer(self._view[: len(self._view) & ~7], "<u4")[::2]
        likely = (headers & _ALWAYS_ZERO == 0) & (headers >> 11 & 1 == 1)
        likely &= np.bitwise_count(headers & ~np.uint32(2)) & 1 == 0
        places = np.flatnonzero(likely)
        sizes = 24 + (headers[places] >> 17).astype(np.int64)
        whole = (8 * places + sizes <= len(self._view)) & (sizes & 3 == 0)
        return list((8 * places[whole]).tolist())

    def next(self, offset: int) -> int | None:
        """The first such record from an offset on."""
        buffer = np.frombuffer(self._view, np.uint8)
        for number in range(bisect_left(self._likely, offset), len(self._likely)):
            start = self._likely[number]
            row = _row_1xh(self._view, start)
            size = row[3]
            self._left -= size + _CHECK
            if self._left < 0:
                return None
            if Records(HAILO1XH, buffer[start : start + size], [row], []).is_right[0]:
                return start
        return None


def _row_1xh(view: memoryview, start: int) -> Row:
    header, address = _HEAD.unpack_from(view, start)
    size = 24 + (header >> 17)
    return 0, 0, 0, size, header, address, 8, size - 16


_REAL_HAILO8 = (0x00200684, 0x11800000, 0x19800000)  # only real files write there (units.md 0)


def is_well_formed(family: str, steps: Iterable[Step]) -> bool:
    """Whether a list shows that the configuration is a real one (units.md 0)."""
    for part in _parts(step for step in steps if isinstance(step, CcwRecords)):
        records = read_records(family, part)
        if (records.goes_to(_REAL_HAILO8) if family == HAILO8 else records.is_right).any():
            return True
    return False


def _parts(records: Iterable[CcwRecords]) -> Iterator[list[CcwRecords]]:
    """A few first, for of a real file already these are right; then a few megabytes at a time."""
    part: list[CcwRecords] = []
    size, most = 0, _FEW_BYTES
    for one in records:
        part.append(one)
        size += len(one.data)
        if size > most or (most == _FEW_BYTES and len(part) == _FEW):
            yield part
            part, size, most = [], 0, _PART_BYTES
    if part:
        yield part


def _read_hailo8(rows: list[Row], data: memoryview, base: int, step: int, channel: int) -> int:
    """Add the records of some bytes; the offset at which they do not decode, or -1."""
    offset, end = 0, len(data)
    while offset + 8 <= end:
        header, address = _HEAD.unpack_from(data, offset)
        if not header and not address:  # a NOP
            offset += 8
            continue
        length = 4 * header + 4
        if header >> 16 or address & 3 or offset + 8 + length > end:
            return offset
        rows.append((step, channel, base + offset, 8 + length, header, address, base + offset + 8, length))
        offset = offset + 8 + length + 7 & ~7
    return -1 if offset >= end else offset


def _read_1xh(rows: list[Row], data: memoryview, base: int, step: int, channel: int) -> int:
    """Add the records of some bytes; the offset at which they do not decode, or -1."""
    offset, end = 0, len(data)
    while offset + 8 <= end:
        header, address = _HEAD.unpack_from(data, offset)
        if not header and not address:  # a NOP
            offset += 8
            continue
        size = 24 + (header >> 17)
        if offset + size > end or size & 3:
            return offset
        start, length = base + offset + 8, size - 16
        if header & _REGISTER:
            _, address = _HEAD.unpack_from(data, offset + 8)
            length = 4
        rows.append((step, channel, base + offset, size, header, address, start, length))
        offset += size
    return -1 if offset >= end else offset
