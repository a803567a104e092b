"""Arrays written row by row are what numpy reads back, wherever they are written to."""

from __future__ import annotations

import os
import threading
import zipfile
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from emu import rows
from emu.errors import OutputError
from emu.output import Output
from emu.rows import NpyRows, NpzRows

COUNT = 7
ARRAYS: dict[str, NDArray[Any]] = {
    "net/a": np.random.default_rng(1).random((COUNT, 3, 5), np.float32),
    "größe": np.arange(COUNT * 40_000, dtype=np.uint16).reshape(COUNT, 200, 200),
    "none": np.zeros((COUNT, 0), np.uint8),
    "one": np.arange(COUNT, dtype=np.int64),
}


def written(output: Output, names: list[str]) -> None:
    """Rows of several arrays in turns, as groups of streams bring them."""
    archive = NpzRows(output, COUNT)
    half = len(names) // 2
    for part in (names[:half], names[half:]):
        for row in range(COUNT):
            archive.add({name: ARRAYS[name][row] for name in part})
    archive.commit()


def check(path: Path, names: list[str]) -> None:
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == [f"{name}.npy" for name in names]
    with np.load(path) as loaded:
        for name in names:
            assert loaded[name].dtype == ARRAYS[name].dtype
            np.testing.assert_array_equal(loaded[name], ARRAYS[name])


def test_an_archive_is_what_numpy_reads(tmp_path: Path) -> None:
    names = list(ARRAYS)
    for order in (names, names[::-1], names[:1]):
        written(Output(tmp_path / "a.npz"), order)
        check(tmp_path / "a.npz", order)


@pytest.mark.parametrize("limit", [1, 1_000, 560_500])
def test_sizes_and_places_of_64_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    """From a limit on, which is put lower here: of all members, of the large one, of what lies behind it."""
    monkeypatch.setattr(rows, "_FIRST_64", limit)
    written(Output(tmp_path / "a.npz"), list(ARRAYS))
    check(tmp_path / "a.npz", list(ARRAYS))
    data = (tmp_path / "a.npz").read_bytes()
    assert data.count(b"\xff" * 4) >= 2 and b"PK\6\6" in data and b"PK\6\7" in data


def test_the_header_is_numpys_own(tmp_path: Path) -> None:
    for name, array in ARRAYS.items():
        np.save(tmp_path / "theirs.npy", array)
        ours = NpyRows(Output(tmp_path / "ours.npy"), COUNT)
        for row in array:
            ours.add(np.asarray(row))
        ours.commit()
        assert (tmp_path / "ours.npy").read_bytes() == (tmp_path / "theirs.npy").read_bytes(), name


def test_a_pipe_gets_the_same_bytes(tmp_path: Path) -> None:
    written(Output(tmp_path / "a.npz"), list(ARRAYS))
    pipe, got = tmp_path / "pipe", bytearray()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.extend(pipe.read_bytes()))
    reader.start()
    while True:  # until the reader is there
        try:
            output = Output(pipe)
            break
        except OutputError:
            pass
    written(output, list(ARRAYS))
    reader.join()
    assert bytes(got) == (tmp_path / "a.npz").read_bytes()


def test_a_full_disk_is_told_with_the_path() -> None:
    with pytest.raises(OutputError, match="cannot write /dev/full: no space left on device"):
        written(Output("/dev/full"), list(ARRAYS))
    single = NpyRows(Output("/dev/full"), COUNT)
    with pytest.raises(OutputError, match="cannot write /dev/full: no space left on device"):
        for row in ARRAYS["größe"]:
            single.add(row)


def test_what_is_not_committed_leaves_what_stood_there(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    path.write_bytes(b"old")
    output = Output(path)
    archive = NpzRows(output, COUNT)
    archive.add({name: array[0] for name, array in ARRAYS.items()})
    output.discard()
    assert path.read_bytes() == b"old" and [one.name for one in tmp_path.iterdir()] == ["a.npz"]


def test_rows_in_any_layout(tmp_path: Path) -> None:
    order = Random(3)
    array = np.random.default_rng(2).integers(0, 255, (COUNT, 6, 4), np.uint8)
    views = [np.asfortranarray(row) if order.random() < 0.5 else row[::-1][::-1] for row in array]
    archive, single = NpzRows(Output(tmp_path / "a.npz"), COUNT), NpyRows(Output(tmp_path / "a.npy"), COUNT)
    for view in views:
        archive.add({"x": view})
        single.add(view)
    archive.commit()
    single.commit()
    with np.load(tmp_path / "a.npz") as loaded:
        np.testing.assert_array_equal(loaded["x"], array)
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), array)
