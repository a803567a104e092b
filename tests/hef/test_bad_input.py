"""Every given file cut at 200 places and flipped at 500 bytes, for both runtimes: the status of hef-container.md 2,
or, where the runtime does not look, an accepted file with a warning that names the damage."""

from __future__ import annotations

import os
import random

import pytest

from emu.errors import EmuError, HailoError
from emu.hef import open_hef
from emu.hef.damage import overlooked_damage
from tests.conftest import DATA, SHARED

FILES = [
    *sorted((SHARED / "hef").glob("*.hef")),
    SHARED / "hef-bad" / "truncated_ccws.v3.hef",
    *sorted((DATA / "hef").glob("ctr_*.hef")),
]
RUNTIMES = ("4.23", "5.2")
CUTS, FLIPS = 200, 500
HEADER_SIZE = {0: 32, 1: 28, 2: 44, 3: 56}
# Header bytes that no runtime checks: reserved fields, and the padding size of V3 (hef-container.md 1.2)
UNCHECKED = {
    0: set(range(12, 16)),
    1: set(range(24, 28)),
    2: set(range(28, 44)),
    3: {*range(28, 32), *range(48, 56)},
}
VERSION_FIELD = range(4, 8)
PROTO_SIZE_FIELD = range(8, 12)
PROTO_HASH_FIELD = range(40, 48)


def status_of(data, runtime):
    """The status of opening, 0 if it opens; and the damage then reported."""
    try:
        hef = open_hef(data, runtime=runtime)
    except EmuError as error:
        assert isinstance(error, HailoError)
        assert "\n" not in error.line()
        return error.number, []
    return 0, overlooked_damage(hef)


class Facts:
    """What a test needs to know of a file, read from its bytes and not by the code under test."""

    def __init__(self, data):
        self.version = int.from_bytes(data[4:8], "big")
        self.header_size = HEADER_SIZE[self.version]
        self.proto_end = self.header_size + int.from_bytes(data[8:12], "big")
        self.has_proto_hash = self.version == 3 and any(data[40:48])

    def after_cut(self, size, runtime):
        """Expected status of the first `size` bytes."""
        if size < 12 or size < self.header_size:
            return 14
        if self.has_proto_hash and runtime == "5.2":
            return 14 if size < self.proto_end else 0
        return 91

    def after_flip(self, offset, runtime):
        """Expected status with one byte changed; None where several are possible."""
        proto_only = self.has_proto_hash and runtime == "5.2"
        if offset in VERSION_FIELD or (proto_only and offset in PROTO_SIZE_FIELD):
            return None
        if self.version == 3 and offset in PROTO_HASH_FIELD:
            return 91 if runtime == "5.2" else 0
        if proto_only:
            return 91 if self.header_size <= offset < self.proto_end else 0
        if offset < 4:
            return 92
        return 0 if offset in UNCHECKED[self.version] else 91


def read(path):
    if not path.exists():
        pytest.skip(f"{path.name} is not here")
    return bytearray(path.read_bytes())


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_truncated_file_is_refused_or_named(path, runtime):
    data = read(path)
    facts = Facts(data)
    view = memoryview(data)
    generator = random.Random(path.name)
    edges = {0, 11, 12, facts.header_size - 1, facts.header_size, facts.proto_end - 1, facts.proto_end}
    sizes = {size for size in edges if size < len(data)}
    while len(sizes) < CUTS:
        sizes.add(generator.randrange(len(data)))
    for size in sorted(sizes):
        status, damage = status_of(view[:size], runtime)
        assert status == facts.after_cut(size, runtime), size
        if status == 0:
            assert any(line.startswith("truncated") for line in damage), size


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_flipped_byte_is_refused_or_named(path, runtime):
    data = read(path)
    facts = Facts(data)
    if path.name == "truncated_ccws.v3.hef" and runtime == "4.23":
        pytest.skip("4.23 refuses this file as it is")
    generator = random.Random(path.name)
    offsets = set(range(facts.header_size))
    while len(offsets) < FLIPS:
        offsets.add(generator.randrange(len(data)))
    _, before = status_of(data, runtime)
    for offset in sorted(offsets):
        kept = data[offset]
        data[offset] ^= generator.randrange(1, 256)
        status, damage = status_of(data, runtime)
        data[offset] = kept
        expected = facts.after_flip(offset, runtime)
        if expected is None:
            assert status in (14, 91, 92), offset
        else:
            assert status == expected, offset
        if status == 0:
            assert damage != before, f"nothing said about byte {offset}"


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_directory_a_missing_and_an_unreadable_file(tmp_path, runtime):
    unreadable = tmp_path / "unreadable.hef"
    unreadable.write_bytes(b"\x01HEF" + bytes(60))
    unreadable.chmod(0)
    cases = [(tmp_path, 14, "directory"), (tmp_path / "none.hef", 13, "no such file")]
    if os.geteuid() != 0:
        cases.append((unreadable, 13, "permission"))
    for path, status, text in cases:
        with pytest.raises(HailoError, match=text) as caught:
            open_hef(path, runtime=runtime)
        assert caught.value.number == status
        assert caught.value.exit_code == 3


def test_a_device_file_is_not_read(tmp_path):
    with pytest.raises(HailoError, match="not a regular file") as caught:
        open_hef("/dev/zero")
    assert caught.value.exit_code == 3


BAD = {
    "empty.hef": (14, "empty file"),
    "git_lfs_pointer.hef": (92, "Git LFS pointer"),
    "text_not_hef.hef": (92, "not a HEF.*text file"),
    "truncated_proto.v2.hef": (91, "truncated: 28357234 bytes are missing"),
}


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("name", BAD)
def test_a_real_broken_file_is_named(shared, name, runtime):
    status, text = BAD[name]
    with pytest.raises(HailoError, match=text) as caught:
        open_hef(shared / "hef-bad" / name, runtime=runtime)
    assert caught.value.number == status
    assert caught.value.exit_code == 3


@pytest.mark.parametrize("source", [None, 3, ["a"]], ids=repr)
def test_what_is_no_source_is_named_by_its_type(source):
    with pytest.raises(EmuError, match=type(source).__name__):
        open_hef(source)
