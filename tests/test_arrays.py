"""Array files: what is told by content, what a forged or damaged one costs, and names of kept outputs."""

from __future__ import annotations

import io
import os
import struct
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

import emu.arrays
from emu.arrays import open_array, open_arrays, save_to_archive, save_to_directory
from emu.errors import OutputError, UsageError


def npy_header(shape: str, dtype: str = "|u1") -> bytes:
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    text += b" " * (-(10 + len(text) + 1) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "no .npy array"),
        (b"not an array at all", "no .npy array"),
        (npy_header("(10,)"), "0 bytes of data, its header says 10 = 10·1"),
        (npy_header("(1000000, 1000000, 1000000)"), "its header says 1000000000000000000"),
        (npy_header("(1,)") + b"12", "2 bytes of data"),
        (npy_header("(1,)", "|O") + b"12345678", "Python objects"),
        (b"\x93NUMPY\x09\x00" + bytes(100), "no .npy array"),
        (npy_header("(-1,)") + b"1", r"shape \(-1,\)"),
        (npy_header("(-2, -2)") + b"1234", r"shape \(-2, -2\)"),
        (npy_header("(True, 4)") + b"1234", r"shape \(True, 4\)"),
        (b"\x93NUMPY\x01\x00" + struct.pack("<H", 60000) + b"(" * 60000, "no .npy array"),
        (b"\x93NUMPY\x02\x00" + struct.pack("<I", 1 << 31) + b"{}", "no .npy array"),
        (b"\x93NUMPY\x02\x00" + struct.pack("<I", 1 << 20) + b" " * (1 << 20), "no .npy array"),
    ],
)
def test_forged_array_files_cost_an_error(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "x.npy"
    path.write_bytes(data)
    with pytest.raises(UsageError, match=message):
        open_array(path)


def test_a_forged_header_length_costs_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    path.write_bytes(b"\x93NUMPY\x02\x00" + struct.pack("<I", (1 << 32) - 1) + b"{}")
    tracemalloc.start()
    with pytest.raises(UsageError):
        open_array(path)
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_fortran_order_is_not_read_whole_at_any_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    array = np.asfortranarray(np.arange(24, dtype=np.uint8).reshape(2, 3, 4))
    np.save(tmp_path / "x.npy", array)
    assert np.array_equal(open_array(tmp_path / "x.npy").load(12), array)
    monkeypatch.setattr(emu.arrays, "_MAX_FORTRAN_BYTES", 23)
    with pytest.raises(UsageError, match="at most 23 bytes are read, not 24"):
        open_array(tmp_path / "x.npy").load(12)


def test_pipes_and_devices_are_refused_instead_of_read(tmp_path: Path) -> None:
    """A pipe that nobody writes to would keep the program waiting."""
    os.mkfifo(tmp_path / "pipe")
    for opens in (open_array, open_arrays):
        for path in (tmp_path / "pipe", Path(os.devnull)):
            with pytest.raises(UsageError, match="no regular file"):
                opens(path)
        with pytest.raises(UsageError, match="is a directory"):
            opens(tmp_path)
    save_to_archive(Path(os.devnull), {"x": np.zeros(3)})  # an output may be one


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_damaged_archives_cost_an_error_wherever_it_is(tmp_path: Path, method: int) -> None:
    """Bytes of an archive changed in turn: loaded arrays are the right ones, all else is refused in a line."""
    array = np.random.default_rng(1).integers(0, 4, (8, 8), np.uint8)
    buffer = io.BytesIO()
    np.save(buffer, array)
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("in.npy", buffer.getvalue())
    sound = path.read_bytes()
    for position in range(len(sound)):
        damaged = bytearray(sound)
        damaged[position] ^= 0xFF if position % 2 else 0x01
        path.write_bytes(damaged)
        try:
            loaded = [file.load() for file in open_arrays(path).values()]
        except UsageError as error:
            assert "\n" not in str(error)
        else:
            assert all(np.array_equal(one, array) for one in loaded)


def test_arrays_are_told_by_content(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((2, 3), np.uint8))
    (tmp_path / "x.npy").rename(tmp_path / "x.bin")
    assert open_array(tmp_path / "x.bin").shape == (2, 3)
    np.savez(tmp_path / "y.npz", np.zeros(3))
    with pytest.raises(UsageError, match="is an archive"):
        open_array(tmp_path / "y.npz")


def test_forged_archives_cost_an_error(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    path.write_bytes(b"PK\x03\x04 broken")
    with pytest.raises(UsageError, match="cannot open"):
        open_arrays(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("in.npy", npy_header("(1000000, 1000000)"))
    with pytest.raises(UsageError, match="its header says"):
        open_arrays(path)
    with pytest.raises(UsageError, match="cannot open"):
        open_array(tmp_path / "absent.npy")


def test_outputs_keep_their_names_and_places(tmp_path: Path) -> None:
    arrays = {"net/conv 1": np.arange(6).reshape(2, 3), "b": np.zeros((0, 4), np.float32)}
    save_to_directory(tmp_path / "new" / "dir", arrays)
    assert sorted(path.name for path in (tmp_path / "new" / "dir").iterdir()) == ["00_net_conv_1.npy", "01_b.npy"]
    assert np.array_equal(np.load(tmp_path / "new" / "dir" / "00_net_conv_1.npy"), arrays["net/conv 1"])
    save_to_archive(tmp_path / "all.npz", arrays)
    first = (tmp_path / "all.npz").read_bytes()
    with np.load(tmp_path / "all.npz") as archive:
        assert list(archive) == list(arrays)
        assert archive["b"].shape == (0, 4)
    save_to_archive(tmp_path / "all.npz", arrays)
    assert (tmp_path / "all.npz").read_bytes() == first
    with pytest.raises(OutputError, match="cannot write"):
        save_to_archive(tmp_path / "absent" / "all.npz", arrays)
