"""Containers of every version: numbers, checksums, sections, against values computed here and captured."""

from __future__ import annotations

import hashlib
import io
import json
import struct
import zlib
from pathlib import Path

import pytest
import xxhash

from emu.errors import HailoError
from emu.hef import open_hef
from emu.hef.container import Container
from emu.hef.damage import ccw_pointers, overlooked_damage
from emu.hef.source import open_source
from tests.conftest import DATA, SHARED, needs_shared

SMALL = sorted((DATA / "hef").glob("ctr_*.hef"))
REAL = sorted((SHARED / "hef").glob("*.hef"))


@pytest.mark.parametrize("path", SMALL, ids=lambda path: path.stem)
def test_header_and_checksum(path):
    data = path.read_bytes()
    container = open_hef(path).container
    magic, version, proto_size = struct.unpack_from(">4sII", data)
    assert (magic, container.version, container.hef_proto_size) == (b"\x01HEF", version, proto_size)
    body = data[container.header_size :]
    expected = {
        0: lambda: hashlib.md5(body).digest(),
        1: lambda: zlib.crc32(body),
        2: lambda: xxhash.xxh3_64_intdigest(body),
        3: lambda: xxhash.xxh3_64_intdigest(body),
    }[version]()
    assert container.checksum.stored == container.checksum.computed == expected
    assert sum(section.size for section in container.sections) == len(data)
    assert overlooked_damage(open_hef(path)) == []


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_ccw_pointers_fill_the_section_of_real_files(path):
    """Which they can only do if the zero point and the section sizes are right."""
    hef = open_hef(path)
    pointers = list(ccw_pointers(hef))
    if hef.container.version == 0:
        assert not pointers
        return
    assert min(pointer.offset for pointer in pointers) == 0
    assert max(pointer.offset + pointer.size for pointer in pointers) == hef.container.ccws_section_size
    first = pointers[0]
    start = hef.container.offset_zero_point + first.offset
    assert hef.ccw(first.offset, first.size) == path.read_bytes()[start : start + first.size]


@needs_shared
def test_hash_is_what_the_real_runtime_prints():
    checked = 0
    for path in sorted((SHARED / "synth" / "capture" / "5.2").glob("*.json")):
        capture = json.loads(path.read_text())
        printed = [line.split()[1] for line in capture["stdout"] if line.startswith("hash ")]
        if printed and capture["stage"] == "ok":
            container = open_hef(SHARED / "synth" / capture["hef"], runtime="5.2").container
            assert container.hash == printed[0], path.name
            checked += 1
    assert checked > 100


def test_sources_of_every_kind(tmp_path):
    path = DATA / "hef" / "ctr_v2a.hef"
    data = path.read_bytes()
    names = {}
    with path.open("rb") as file:
        for source in (path, str(path), data, bytearray(data), memoryview(data), file, io.BytesIO(data)):
            hef = open_hef(source)
            names[type(source).__name__] = hef.name
            assert hef.header.hw_arch == 1
            assert hef.container.file_size == len(data)
    assert names["str"] == str(path)
    assert names["bytes"] == "<memory>"


def test_mapped_bytes_outlive_the_opening(tmp_path):
    path = tmp_path / "x.hef"
    path.write_bytes((DATA / "hef" / "ctr_v2a.hef").read_bytes())
    hef = open_hef(path)
    path.unlink()
    pointer = next(ccw_pointers(hef))
    assert len(hef.ccw(pointer.offset, pointer.size)) == pointer.size


def test_ccw_outside_the_file_is_refused():
    container = open_hef(DATA / "hef" / "ctr_v2a.hef").container
    with pytest.raises(HailoError, match="outside the file") as caught:
        container.ccw(container.ccws_section_size - 8, 16)
    assert caught.value.number == 14


def test_forged_sizes_cost_no_memory():
    """2^64-scale numbers in every size field of a V3 header: an error, and nothing of that size is touched."""
    head = struct.pack(">IIIQQIQQQ", 0x01484546, 3, 2**32 - 1, 0, 2**64 - 1, 2**32 - 1, 2**64 - 1, 0, 0)
    for runtime in ("4.23", "5.2"):
        with pytest.raises(HailoError) as caught:
            open_hef(head, runtime=runtime)
        assert caught.value.number == 91


def test_wrapping_sizes_are_added_as_the_runtime_adds_them():
    """proto + ccws overflowing 2^64 to the file's length passes the length check and fails in the parse."""
    body = b"\x0a\x02\x08\x01" + bytes(8)
    ccws = (len(body) - 2**32 + 1) % 2**64
    head = struct.pack(">IIIQQQQ", 0x01484546, 2, 2**32 - 1, xxhash.xxh3_64_intdigest(body), ccws, 0, 0)
    with pytest.raises(HailoError, match="do not parse") as caught:
        open_hef(head + body)
    assert caught.value.number == 91


def test_default_runtime_follows_the_architecture():
    hailo8 = DATA / "hef" / "ctr_v0a.hef"
    hailo1x = DATA / "hef" / "ctr_v3_ph_ok.hef"
    assert open_hef(hailo8).runtime == "4.23"
    assert open_hef(hailo1x).runtime == "5.2"
    assert open_hef(hailo1x, runtime="4.23").runtime == "4.23"


def test_a_header_can_be_read_without_the_rest():
    container = Container(open_source((DATA / "hef" / "ctr_v3_ph_ok.hef").read_bytes()[:60]))
    assert container.version == 3
    assert container.file_size == 60


def resident_memory():
    """Anonymous memory of this process in bytes: what is not a mapping of a file."""
    status = Path("/proc/self/status")
    if not status.exists():
        pytest.skip("resident memory is read from /proc")
    line = next(line for line in status.read_text().splitlines() if line.startswith("RssAnon"))
    return int(line.split()[1]) * 1024


def test_four_gigabytes_cost_no_more_than_the_protobuf(tmp_path):
    """A sparse file: with a proto hash, 5.2 looks at the proto alone."""
    path = tmp_path / "large.hef"
    path.write_bytes((DATA / "hef" / "ctr_v3_ph_ok.hef").read_bytes())
    with path.open("r+b") as file:
        file.truncate(4 << 30)
    before = resident_memory()
    hef = open_hef(path, runtime="5.2")
    assert hef.container.file_size == 4 << 30
    assert len(hef.container.ccw((3 << 30) - hef.container.offset_zero_point, 4096)) == 4096
    assert hef.network_groups
    assert resident_memory() - before < 8 << 20


def test_descriptors_are_given_back():
    descriptors = Path("/proc/self/fd")
    if not descriptors.exists():
        pytest.skip("open files are counted in /proc")
    path = DATA / "hef" / "ctr_v2a.hef"
    kept = [open_hef(path) for _ in range(20)]
    held = len(list(descriptors.iterdir()))
    del kept
    for _ in range(20):
        open_hef(path)
    assert len(list(descriptors.iterdir())) <= held - 20
