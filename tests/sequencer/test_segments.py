"""Records of configuration where they lie in the file."""

from __future__ import annotations

from emu.hef import open_hef
from emu.hef.operations import ActionWriteDataCcwPtr
from emu.sequencer.compile import CompileOptions, compile_hef
from emu.sequencer.segments import FileSegments
from tests.conftest import ROOT

FILE = memoryview(bytes(range(100)))


def segments(*places: tuple[int, int]) -> FileSegments:
    return FileSegments(FILE, tuple(ActionWriteDataCcwPtr(offset, size, 0) for offset, size in places))


def test_they_are_views_of_the_file_in_order() -> None:
    found = segments((10, 2), (0, 3), (97, 3))
    assert [bytes(view) for view in found] == [b"\x0a\x0b", b"\0\1\2", b"abc"]
    assert len(found) == 3 and bytes(found[-1]) == b"abc"
    assert all(view.obj is FILE.obj for view in (*found, found[1]))
    assert list(found[1:]) == [found[1], found[2]]


def test_they_are_equal_by_what_is_in_them() -> None:
    assert segments((10, 2)) == FileSegments(memoryview(b"\x0a\x0b"), (ActionWriteDataCcwPtr(0, 2, 1),))
    assert segments((10, 2)) != segments((10, 3)) and segments((10, 2)) != segments((10, 1), (11, 1))


def test_a_file_that_is_opened_twice_makes_the_same_program() -> None:
    first, second = (compile_hef(open_hef(ROOT / "examples/two_context.hef"), CompileOptions()) for _ in range(2))
    assert first == second
    pieces = [part.segments for listed in first.descriptor_lists for part in listed.programs if part.segments]
    assert pieces and all(isinstance(one, FileSegments) for one in pieces)
