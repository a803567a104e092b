"""What is made once a process of configuration that cannot change, and of which bytes that is never true."""

from __future__ import annotations

import mmap
import struct
from pathlib import Path

import pytest

from emu.hw.config import lasting, runs
from emu.hw.config.lasting import Lasting
from emu.hw.config.runs import Fetched, RunCache
from emu.hw.hostmem import Extent, HostBuffer, HostList, HostMemory, Segments, SourceStretch
from emu.wire.actions import HostBufferInfo, HostBufferType

ADDRESS, PAGE = 0x10000000, 64
SOURCE = HostBufferInfo(0, 0x1000, PAGE, 8, PAGE)


def record(value: int) -> bytes:
    """A Hailo-8 record of one word, as long as a page."""
    return struct.pack("<IIII", 0, ADDRESS, value, 0).ljust(PAGE, b"\0")


def cache_over(segments: Segments, fetched: Fetched | None = None) -> tuple[RunCache, HostBuffer]:
    """A new device's cache, and the one buffer in its host's memory."""
    memory = HostMemory()
    buffer = HostBuffer(PAGE, segments)
    memory.lists[0x1000] = HostList(0x1000, 8, PAGE, True, [Extent(0, 1, PAGE, buffer, 0)])
    cache = RunCache(memory, "descriptors", lambda: fetched)
    cache.check_records(True)
    return cache, buffer


def value(cache: RunCache) -> int | None:
    return cache.descriptors(0, SOURCE, 0, 1).records[0].word


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for each run that was decoded."""
    calls: list[int] = []
    decode = runs.decode_checked
    monkeypatch.setattr(runs, "_runs", Lasting())
    monkeypatch.setattr(runs, "decode_checked", lambda *a: calls.append(len(a[0])) or decode(*a))
    return calls


def test_the_same_views_are_decoded_once_for_all_devices(decoded: list[int]) -> None:
    segments = (record(1),)
    first, second = (cache_over(segments)[0].descriptors(0, SOURCE, 0, 1) for _ in range(2))
    assert first is second and decoded == [PAGE]


def test_a_file_mapped_for_reading_is_read_once(decoded: list[int], tmp_path: Path) -> None:
    path = tmp_path / "records.bin"
    path.write_bytes(record(1))
    with path.open("rb") as file:
        segments = (memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)),)
    assert [value(cache_over(segments)[0]) for _ in range(2)] == [1, 1] and decoded == [PAGE]


def test_other_views_are_decoded_for_themselves(decoded: list[int]) -> None:
    """Other bytes at the same address, in as many segments and of the same size."""
    assert [value(cache_over((record(number),))[0]) for number in (1, 2)] == [1, 2] and len(decoded) == 2


def test_a_buffer_that_was_written_is_read(decoded: list[int]) -> None:
    segments = (record(1),)
    assert value(cache_over(segments)[0]) == 1
    cache, buffer = cache_over(segments)
    buffer.write(8, (7).to_bytes(4, "little"))
    assert value(cache) == 7 and cache.digest(SOURCE) != cache_over(segments)[0].digest(SOURCE)
    assert value(cache_over(segments)[0]) == 1 and len(decoded) == 2


@pytest.mark.parametrize("kind", ["bytearray", "mapping"])
def test_bytes_that_their_owner_may_change_are_read_each_time(kind: str, decoded: list[int]) -> None:
    owner = bytearray(record(1)) if kind == "bytearray" else mmap.mmap(-1, PAGE)
    owner[:] = record(1)
    segments = (memoryview(owner).toreadonly(),)
    before = cache_over(segments)[0]
    assert value(before) == 1
    digest = before.digest(SOURCE)
    owner[:] = record(2)
    after = cache_over(segments)[0]
    assert value(after) == 2 and after.digest(SOURCE) != digest and len(decoded) == 2


def test_a_fault_on_the_way_is_seen_and_does_not_last(decoded: list[int]) -> None:
    segments = (record(1),)
    assert value(cache_over(segments)[0]) == 1
    flipped = cache_over(segments, lambda stream, source, data: data[:8] + bytes([data[8] ^ 2]) + data[9:])[0]
    assert value(flipped) == 3
    assert value(cache_over(segments)[0]) == 1 and len(decoded) == 2


def test_a_continuous_buffer_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[int] = []
    read = HostBuffer.pieces
    monkeypatch.setattr(HostBuffer, "pieces", lambda self, at, size: reads.append(size) or read(self, at, size))
    segments = (bytes(PAGE),)
    source = HostBufferInfo(HostBufferType.CCB, 0x1000, PAGE, 8, PAGE)
    for _ in range(3):
        memory = HostMemory(continuous={0x1000: HostBuffer(PAGE, segments)})
        cache = RunCache(memory, "bursts")
        cache.check_records(True)
        cache.digest(source)
        cache.whole(0, source)
    assert len(reads) == 2  # for the digest and for the records


def test_what_is_kept_is_bounded_and_keeps_its_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lasting, "_MOST_BYTES", 3 * PAGE)
    monkeypatch.setattr(lasting, "_MOST_ENTRIES", 4)
    kept: Lasting[int] = Lasting()
    stretches = [(SourceStretch((record(number),), 0, PAGE),) for number in range(5)]
    for number, one in enumerate(stretches):
        kept.keep(one, None, number)
    assert [kept.find(one, None) for one in stretches] == [None, None, 2, 3, 4]
    assert kept.find(stretches[4], "another question") is None
    empty = [(SourceStretch((bytes(number),), 0, 0),) for number in range(1, 8)]
    for number, one in enumerate(empty):
        kept.keep(one, None, number)
    assert sum(kept.find(one, None) is not None for one in [*stretches, *empty]) == 4
