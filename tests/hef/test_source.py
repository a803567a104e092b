"""What `open_hef` takes: everything that gives bytes, and an error that names the type of everything else."""

from __future__ import annotations

import gzip
import io
import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from emu.errors import HailoError, UsageError
from emu.hef import open_hef
from emu.hef.source import Source
from emu.sequencer.acceptance import acceptances
from tests.conftest import DATA, ROOT

HEF = DATA / "hef/ctr_v2a.hef"


def test_files_that_are_not_the_bytes_behind_their_descriptor(tmp_path):
    data = HEF.read_bytes()
    packed = tmp_path / "x.hef.gz"
    with gzip.open(packed, "wb") as file:
        file.write(data)
    with gzip.open(packed) as file:
        assert open_hef(file).container.file_size == len(data)
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        assert open_hef(file).container.file_size == len(data)
    with tempfile.TemporaryFile() as file:
        file.write(b"before" + data)
        file.seek(6)
        assert open_hef(file).container.file_size == len(data)


@pytest.mark.parametrize("buffering", [0, -1])
def test_a_pipe(buffering):
    data = HEF.read_bytes()
    assert len(data) < 65536, "as much as a pipe holds"
    reading, writing = os.pipe()
    os.write(writing, data)
    os.close(writing)
    with os.fdopen(reading, "rb", buffering) as file:
        assert open_hef(file).container.file_size == len(data)


def test_a_view_with_gaps():
    data = HEF.read_bytes()
    spread = bytearray(2 * len(data))
    spread[::2] = data
    assert open_hef(memoryview(spread)[::2]).container.file_size == len(data)


class _Odd:
    def read(self):
        return 7


@pytest.mark.parametrize(
    "source", [None, 5, True, [], object(), io.StringIO("x"), _Odd()], ids=lambda source: type(source).__name__
)
def test_another_type_is_named(source):
    with pytest.raises(UsageError, match=f"a HEF opens from .*, not from .*{type(source).__name__}"):
        open_hef(source)


def test_a_text_file_is_named():
    with HEF.open(encoding="utf-8") as file, pytest.raises(UsageError, match="not from the text file TextIOWrapper"):
        open_hef(file)


@pytest.mark.parametrize("buffering", [0, -1])
def test_a_file_that_is_only_written(tmp_path: Path, buffering: int):
    with (
        (tmp_path / "x").open("wb", buffering) as file,
        pytest.raises(HailoError, match="not open for reading") as stop,
    ):
        open_hef(file)
    assert stop.value.number == 14


def test_a_path_that_no_system_has():
    with pytest.raises(HailoError, match=r"cannot open .*: embedded null byte") as stop:
        open_hef("no\0where.hef")
    assert stop.value.number == 13


def test_releases_that_open_the_same_bytes_hash_them_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: Counter[tuple[int, int]] = Counter()
    chunks = Source.chunks

    def counted(self: Source, start: int, end: int) -> Iterator[memoryview]:
        read[start, end] += 1
        return chunks(self, start, end)

    monkeypatch.setattr(Source, "chunks", counted)
    hef = open_hef(ROOT / "examples" / "two_context.hef")
    found = list(acceptances(hef))
    assert sum(one.error is None for one in found) > 3
    assert read and set(read.values()) == {1}
