"""Every check of the FlatBuffer reader, on buffers made by hand."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import pytest

from emu.errors import GraphError, GraphStatus
from emu.graph.readers.flatbuffer import FlatBuffer, Place
from emu.graph.readers.ms.file import read_graph_def
from emu.schemas import fbs
from emu.schemas.fbs import Table, slot


class Colour(IntEnum):
    RED = 0
    BLUE = 2


@dataclass(frozen=True, slots=True)
class Leaf(Table):
    number: int = slot(0, fbs.INT, 7)


@dataclass(frozen=True, slots=True)
class Other(Table):
    pass


COLOUR = fbs.EnumOf(fbs.BYTE, Colour)
TEXT = fbs.Text()
LEAF = fbs.TableOf(Leaf)
NUMBERS = fbs.Vector(fbs.UINT)
DATA = fbs.Vector(fbs.UBYTE)
LEAVES = fbs.VectorOfTables(Leaf)
CHOICE = fbs.Union("Choice", (Leaf, Other))


@dataclass(frozen=True, slots=True)
class Tree(Table):
    small: int = slot(0, fbs.SHORT, 0)
    wide: float = slot(1, fbs.DOUBLE, 0.5)
    colour: Colour = slot(2, COLOUR, Colour.RED)
    name: str = slot(3, TEXT, "")
    leaf: Leaf | None = slot(4, LEAF, None)
    numbers: tuple[int, ...] = slot(5, NUMBERS, ())
    data: memoryview | None = slot(6, DATA, None)
    leaves: tuple[Leaf, ...] = slot(7, LEAVES, ())
    choice: Any = slot(9, CHOICE, None)


TREES = fbs.VectorOfTables(Tree)


@dataclass(frozen=True, slots=True)
class Many(Table):
    trees: tuple[Tree, ...] = slot(0, TREES, ())


def root(vtable: list[int], inline: bytes, behind: bytes = b"", *, table_size: int | None = None) -> bytes:
    """Root offset, vtable, table, then what its offsets lead to; `vtable` are the fields' places in the table."""
    size = 4 + len(inline) if table_size is None else table_size
    words = struct.pack(f"<{2 + len(vtable)}H", 4 + 2 * len(vtable), size, *vtable)
    words += b"\0" * (-len(words) % 4)
    table = 4 + len(words)
    return struct.pack("<I", table) + words + struct.pack("<i", len(words)) + inline + behind


def read(data: bytes, table: type[Table] = Tree) -> Any:
    buffer = FlatBuffer(data)
    return buffer.read(table, buffer.root(), Place(None, "Tree"))


def field(number: int, at: int = 4) -> list[int]:
    return [0] * number + [at]


def offset(number: int, behind: bytes, by: int = 4) -> bytes:
    """One offset field, `by` to what follows the table directly."""
    return root(field(number), struct.pack("<I", by), behind)


def leaf(number: int) -> bytes:
    """A table with its vtable before it, four bytes behind where the offset must lead: vtable at 0, table at 8."""
    return struct.pack("<HHHH", 6, 8, 4, 0) + struct.pack("<ii", 8, number)


def test_absent_fields_take_their_defaults() -> None:
    assert read(root([], b"")) == Tree()
    assert read(root([0] * 10, b"")) == Tree()
    assert read(root([], b"")).wide == 0.5


def test_values() -> None:
    assert read(root([4], struct.pack("<h", -3) + b"\0\0")).small == -3
    assert read(root([0, 4], struct.pack("<d", 2.25))).wide == 2.25
    assert read(root([0, 0, 4], b"\2\0\0\0")).colour is Colour.BLUE
    assert read(offset(3, b"\2\0\0\0ab\0")).name == "ab"
    assert read(offset(4, leaf(9), by=12)).leaf == Leaf(9)
    assert read(offset(5, struct.pack("<III", 2, 5, 2**32 - 1))).numbers == (5, 2**32 - 1)
    assert bytes(read(offset(6, b"\3\0\0\0xyz")).data) == b"xyz"
    assert read(offset(7, struct.pack("<II", 1, 12) + leaf(3))).leaves == (Leaf(3),)
    union = root([0] * 8 + [8, 4], struct.pack("<IBBBB", 16, 1, 0, 0, 0), leaf(4))
    assert read(union).choice == Leaf(4)


def test_a_union_of_type_none_is_absent_whatever_its_table() -> None:
    assert read(root([0] * 8 + [8, 4], struct.pack("<II", 99999, 0))).choice is None


def test_the_same_place_is_read_once() -> None:
    found = read(offset(7, struct.pack("<III", 2, 16, 12) + leaf(3)))
    assert found.leaves[0] is found.leaves[1]


BROKEN = {
    "empty": (b"", "root offset of 4 bytes at 0"),
    "three bytes": (b"\4\0\0", "root offset"),
    "root beyond": (struct.pack("<II", 100, 0), "table of 4 bytes at 100"),
    "root not aligned": (struct.pack("<IIII", 6, 0, 0, 0), "table is not aligned"),
    "vtable before the file": (struct.pack("<Ii", 4, 100), "vtable of 4 bytes at -96"),
    "vtable behind the file": (struct.pack("<Ii", 4, -100), "vtable of 4 bytes at 104"),
    "vtable not aligned": (struct.pack("<IiHHH", 4, -5, 0, 0, 0), "vtable is not aligned"),
    "vtable too short": (struct.pack("<IiHH", 4, -4, 2, 4), "vtable size is 2"),
    "vtable odd": (struct.pack("<IiHHH", 4, -4, 5, 4, 0), "vtable size is 5"),
    "vtable beyond": (struct.pack("<IiHH", 4, -4, 6, 4), "vtable of 6 bytes"),
    "table too short": (struct.pack("<IiHH", 4, -4, 4, 2), "table size is 2"),
    "table beyond": (struct.pack("<IiHH", 4, -4, 4, 9), "table of 9 bytes"),
    "field over the table's offset": (root(field(0, 2), b"\0\0\0\0"), "field of 2 bytes lies at 2"),
    "field beyond the table": (root(field(1), b"\0\0\0\0"), "field of 8 bytes lies at 4 in a table of 8"),
    "enum": (root(field(2), b"\1\0\0\0"), r"colour: 1 is not in Colour \(0 RED, 2 BLUE\)"),
    "offset beyond": (offset(3, b"\0\0\0\0", by=400), "name: object of 4 bytes"),
    "offset 0": (offset(3, b"\0\0\0\0", by=0), "offset is 0"),
    "vector not aligned": (offset(5, b"\0" * 8, by=6), "vector is not aligned"),
    "vector beyond": (offset(5, struct.pack("<II", 2, 0)), "vector of 2 elements of 8 bytes"),
    "vector of 2^32-1": (offset(7, struct.pack("<II", 2**32 - 1, 0)), "vector of 4294967295 elements"),
    "bytes beyond": (offset(6, b"\2\0\0\0a"), "vector of 2 elements of 2 bytes"),
    "string beyond": (offset(3, b"\2\0\0\0a"), "of 2 bytes"),
    "string without room for NUL": (offset(3, b"\2\0\0\0ab"), "string with its NUL"),
    "string without NUL": (offset(3, b"\2\0\0\0abc"), "does not end in NUL"),
    "string not UTF-8": (offset(3, b"\2\0\0\0\xff\xfe\0"), "not UTF-8"),
    "union member": (root([0] * 8 + [8, 4], struct.pack("<II", 8, 3), leaf(1)), "Choice 3 is not one of its 2"),
    "union without table": (root([0] * 8 + [4], struct.pack("<I", 2)), r"Choice is 2 \(Other\), its table is absent"),
    "table not aligned": (offset(4, leaf(1), by=14), "table is not aligned"),
    "element beyond": (offset(7, struct.pack("<II", 1, 4000)), r"leaves\[0\]: object"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_broken_buffers_are_refused(name: str) -> None:
    data, words = BROKEN[name]
    with pytest.raises(GraphError, match=words) as caught:
        read(data)
    wanted = GraphStatus.GRAPH_UNSUPPORTED if name == "enum" else GraphStatus.MS_FLATBUFFER
    assert caught.value.status is wanted
    assert isinstance(caught.value.where["offset"], int)


def test_overlapping_vectors_cannot_hold_more_than_the_file() -> None:
    """Many vectors, each starting a little behind the other in one block of numbers: quadratic if all were read."""
    count = 400

    table = struct.pack("<9H", 16, 8, 0, 0, 0, 0, 0, 4, 0) + b"\0\0"  # a vtable whose sixth field is `numbers`
    head = struct.pack("<I", count)
    tables_at = 4 + 4 * count + len(table)
    block_at = tables_at + 8 * count
    offsets = b"".join(struct.pack("<I", tables_at + 8 * at - (4 + 4 * at)) for at in range(count))
    tables = b"".join(
        struct.pack("<iI", tables_at + 8 * at - (4 + 4 * count), block_at + 4 * at - (tables_at + 8 * at + 4))
        for at in range(count)
    )
    block = struct.pack("<I", 2000) * (2000 + count + 1)
    data = offset(0, head + offsets + table + tables + block)
    with pytest.raises(GraphError, match="shared or overlapping"):
        read(data, Many)


def test_a_table_that_is_listed_over_and_over_is_one_object() -> None:
    count = 50
    found = read(listed(count))
    assert len(found.leaves) == count
    assert len({id(each) for each in found.leaves}) == 1


def listed(count: int) -> bytes:
    """A vector whose every entry is one and the same table."""
    entries = b"".join(struct.pack("<I", 8 + 4 * (count - at)) for at in range(count))
    return offset(7, struct.pack("<I", count) + entries + leaf(3) + b"\0" * 4 * count)


def test_shared_parts_are_counted_as_often_as_they_are_met() -> None:
    """Whoever walks the tables would need time and memory for each; 8 bytes an entry are less than twice the file."""
    data = listed(1000)
    assert len(read(data).leaves) == 1000
    with pytest.raises(GraphError, match="twice the file's bytes"):
        read(data[: -4 * 1000])


def test_parts_below_a_shared_part_count_too() -> None:
    """Many entries that are one table with a long vector."""
    count, numbers = 100, 500
    vtable = struct.pack("<9H", 16, 8, 0, 0, 0, 0, 0, 4, 0) + b"\0\0"
    table_at = 4 + 4 * count + len(vtable)
    entries = b"".join(struct.pack("<I", table_at - (4 + 4 * at)) for at in range(count))
    table = struct.pack("<iI", len(vtable), 4)
    block = struct.pack("<I", numbers) + b"\0" * 4 * numbers
    one = struct.pack("<I", 1) + struct.pack("<I", 4 + len(vtable)) + vtable + table + block
    assert len(read(offset(0, one), Many).trees[0].numbers) == numbers
    with pytest.raises(GraphError, match="twice the file's bytes"):
        read(offset(0, struct.pack("<I", count) + entries + vtable + table + block), Many)


@pytest.mark.parametrize("identifier", [b"MSL0", b"MSL1", b"MSL2"])
def test_lite_identifiers_are_refused_even_where_nothing_else_is_sound(identifier: bytes) -> None:
    with pytest.raises(GraphError, match=f"MindSpore Lite.*version unknown.*identifier {identifier.decode()}"):
        read_graph_def(struct.pack("<I", 2**31) + identifier)


@pytest.mark.parametrize(
    ("version", "shown"),
    [
        ("1.2.3", "MindSpore Lite 1.2.3"),
        ("MindSpore Lite 9.9", "MindSpore Lite 9.9"),
        ("", "version unknown"),
        ("x" * 65, "version unknown"),
        ("a\nb", "version unknown"),
    ],
)
def test_lite_versions_are_taken_from_the_second_field(version: str, shown: str) -> None:
    text = struct.pack("<I", len(version)) + version.encode() + b"\0"
    data = root([0, 4, 0, 0], struct.pack("<I", 4), text)
    with pytest.raises(GraphError, match=shown) as caught:
        read_graph_def(data)
    assert caught.value.status is GraphStatus.MS_FLATBUFFER
