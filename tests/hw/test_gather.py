"""Pieces of bytes as one run: the same bytes whether they lie in a row or not, and a copy only where they do not."""

from __future__ import annotations

import mmap
from pathlib import Path
from random import Random

import pytest

import emu
from emu.hw.config import crc, records
from emu.hw.gather import LARGE, Piece, Rope, gathered
from emu.sequencer.configuration import read_configuration

DATA = Random(5).randbytes(3 * LARGE)


@pytest.fixture(params=["mapped", "bytes"])
def whole(request: pytest.FixtureRequest, tmp_path: Path) -> memoryview:
    if request.param == "bytes":
        return memoryview(DATA)
    (tmp_path / "data").write_bytes(DATA)
    with (tmp_path / "data").open("rb") as file:
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def test_neighbours_are_one_view(whole: memoryview) -> None:
    pieces = [whole[at : at + 4097] for at in range(100, 100 + 4097 * 300, 4097)]
    found = gathered(pieces, 4097 * 300)
    assert isinstance(found, memoryview) and found.obj is whole.obj
    assert found == DATA[100 : 100 + 4097 * 300]


def test_others_are_copied(whole: memoryview) -> None:
    step = LARGE // 2
    pieces: list[Piece] = [whole[:step], bytes(8), whole[step + 1 : 3 * step], b""]
    wanted = DATA[:step] + bytes(8) + DATA[step + 1 : 3 * step]
    assert gathered(pieces, len(wanted)) == wanted
    assert gathered(pieces, len(wanted) + 5) == wanted + bytes(5)
    assert gathered([whole[step:], whole[:step]], 3 * LARGE) == DATA[step:] + DATA[:step]
    assert whole == DATA  # pages that were given back come again


def test_small_ones_and_none() -> None:
    assert gathered([b"ab", memoryview(b"c")], 5) == b"abc\0\0"
    assert gathered([], 3) == bytes(3) and gathered([], LARGE) == bytes(LARGE)


def test_a_rope_gives_its_bytes_in_parts() -> None:
    pieces: list[Piece] = [DATA[:100], b"", memoryview(DATA)[100:5000], DATA[5000:5001], DATA[5001:9000]]
    rope = Rope(pieces)
    assert len(rope) == 9000 and len(Rope([])) == 0 and list(Rope([]).parts(5)) == []
    assert rope.between(100, 5000) == DATA[100:5000] and rope.between(4999, 5000) == DATA[4999:5000]
    assert rope.between(5000, 5001) == DATA[5000:5001] and rope.between(9000, 9000) == b""
    for size in (1, 150, 5000, 10_000):
        parts = list(rope.parts(size))
        assert b"".join(data for _, data in parts) == DATA[:9000]
        assert all(DATA[begins : begins + len(data)] == data for begins, data in parts)
        assert all(len(data) >= size for _, data in parts[:-1])


@pytest.mark.parametrize("name", ["mnist_cnn.v0.hailo8", "scrfd_2.5g.v3.hailo1xh"])
def test_records_of_many_bytes_are_those_of_few(shared: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Many are not joined, and checked a part at a time."""
    hef = emu.open_hef(shared / "hef" / f"{name}.hef")
    configuration = read_configuration(hef, next(hef.core_ops()))
    for steps in (one.steps for one in configuration.lists):
        whole = records.read_records(configuration.family, steps)
        with monkeypatch.context() as patch:
            patch.setattr(records, "LARGE", 1)
            patch.setattr(records, "_PART_BYTES", 5000)
            patch.setattr(crc, "_BATCH", 3000)
            parts = records.read_records(configuration.family, steps)
        assert isinstance(parts.buffer, Rope) or len(whole) < 2
        assert parts.values == whole.values and parts.rights == whole.rights
        assert len(parts.buffer) == len(whole.buffer)
        assert all((parts.data(number) == whole.data(number)).all() for number in range(len(whole)))
