"""HEF messages as plain trees of dicts, lists and scalars, and back: the middle step of disasm and asm.

A tree names fields as the schema does and leaves out what is not set. Long byte strings move into a side file, the
"bulk": in the tree stands `{bulk: OFFSET, size: BYTES}`. Fields that the schema does not know stay as hex under
`unknown_fields`, in their own encoding.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan, nan
from typing import Any, TypeAlias

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.unknown_fields import UnknownFieldSet

from emu.errors import HailoError, HailoStatus
from emu.hef.formats import shortest_binary32

Field: TypeAlias = Any  # a FieldDescriptor; each backend of protobuf has its own class

UNKNOWN_FIELDS = "unknown_fields"
_HEX_NAMES = ("address", "_bitmap")
INLINE_BYTES = 16  # longer byte strings go into the bulk
_ALWAYS_BULK = frozenset({"ProtoHEFActionWriteDataCcw"})  # CCW data whatever its length (cli.md)


class Hex(str):
    """Bytes as hex; the YAML writer quotes it, so that no reader takes it for a number."""

    __slots__ = ()


class HexInt(int):
    """An address or a bitmap, which the YAML writer shows in hexadecimal."""

    __slots__ = ()


class Lines(str):
    """Text of several lines, which the YAML writer leaves as they are."""

    __slots__ = ()


class BulkWriter:
    """Collects byte strings; they are views of the source, not copies."""

    def __init__(self) -> None:
        self._pieces: dict[int, bytes | memoryview] = {}  # by offset; one of no bytes leaves no trace
        self._nodes: dict[int, dict[str, int]] = {}
        self._size = 0

    @property
    def pieces(self) -> list[bytes | memoryview]:
        """What was added, in order."""
        return list(self._pieces.values())

    def add(self, data: bytes | memoryview) -> dict[str, int]:
        """The node that stands for some bytes."""
        node = {"bulk": self._size, "size": len(data)}
        if len(data):
            self._pieces[self._size], self._nodes[self._size] = data, node
            self._size += len(data)
        return node

    def take_back(self, node: Any) -> memoryview:
        """The bytes that a node stands for, which are described elsewhere now; `settle` closes the gap."""
        if isinstance(node, str):
            return memoryview(bytes.fromhex(node))
        if not node["size"]:
            return memoryview(b"")
        del self._nodes[node["bulk"]]
        return memoryview(self._pieces.pop(node["bulk"]))

    def settle(self) -> None:
        """Let the nodes say where their bytes lie now that some were taken back."""
        pieces, nodes = self._pieces, self._nodes
        self._pieces, self._nodes, self._size = {}, {}, 0
        for offset, data in pieces.items():
            nodes[offset].update(self.add(data))


class BulkReader:
    """Hands out ranges of a bulk, each checked against its size."""

    def __init__(self, data: memoryview) -> None:
        self._data = data

    def take(self, node: Any, path: str) -> memoryview:
        """The bytes that a hex string or a `{bulk, size}` node stands for."""
        if isinstance(node, str):
            try:
                return memoryview(bytes.fromhex(node))
            except ValueError:
                raise refuse(path, f"{node[:40]!r} is not hex") from None
        if not isinstance(node, Mapping) or set(node) != {"bulk", "size"}:
            raise refuse(path, f"bytes are a quoted hex string or {{bulk: OFFSET, size: BYTES}}, not {show(node)}")
        offset, size = node["bulk"], node["size"]
        if type(offset) is not int or type(size) is not int or min(offset, size) < 0:
            raise refuse(path, f"bulk {show(offset)} and size {show(size)} must be whole numbers from 0 on")
        if offset + size > len(self._data):
            raise refuse(path, f"bytes {offset} to {offset + size} of a bulk file of {len(self._data)}")
        return self._data[offset : offset + size]


def to_plain(message: Message, bulk: BulkWriter) -> dict[str, Any]:
    """The tree of a message; its long byte strings are appended to `bulk`."""
    tree: dict[str, Any] = {}
    for field, value in message.ListFields():
        if field.is_repeated:
            tree[field.name] = [_scalar(field, item, bulk) for item in value]
        else:
            tree[field.name] = _scalar(field, value, bulk)
    if len(UnknownFieldSet(message)):
        tree[UNKNOWN_FIELDS] = Hex(_unknown_bytes(message).hex())
    return tree


def from_plain(tree: Any, message: Message, bulk: BulkReader, path: str = "hef") -> None:
    """Fill an empty message from a tree; HAILO_INVALID_HEF names the path of what does not fit the schema."""
    if not isinstance(tree, Mapping):
        raise refuse(path, f"a {message.DESCRIPTOR.name} is a mapping, not {show(tree)}")
    fields = message.DESCRIPTOR.fields_by_name
    chosen: dict[str, str] = {}
    for name, node in tree.items():
        if name == UNKNOWN_FIELDS:
            _merge_unknown(message, node, bulk, f"{path}.{name}")
            continue
        field = fields.get(name) if isinstance(name, str) else None
        if field is None:
            raise refuse(path, f"{message.DESCRIPTOR.name} has no field {show(name)}")
        place = f"{path}.{name}"
        if field.containing_oneof is not None:
            other = chosen.setdefault(field.containing_oneof.name, name)
            if other != name:
                raise refuse(path, f"only one of {other} and {name} can be set")
        try:
            if field.is_repeated:
                _fill_repeated(field, node, message, bulk, place)
            elif field.type == FieldDescriptor.TYPE_MESSAGE:
                part = getattr(message, name)
                part.SetInParent()
                from_plain(node, part, bulk, place)
            else:
                setattr(message, name, _value(field, node, bulk, place))
        except (TypeError, ValueError, OverflowError) as error:
            raise refuse(place, str(error)) from None


def _scalar(field: Field, value: Any, bulk: BulkWriter) -> Any:
    if field.type == FieldDescriptor.TYPE_MESSAGE:
        return to_plain(value, bulk)
    if field.type == FieldDescriptor.TYPE_ENUM:
        known = field.enum_type.values_by_number.get(value)
        return value if known is None else known.name
    if field.type == FieldDescriptor.TYPE_BYTES:
        if len(value) > INLINE_BYTES or field.containing_type.name in _ALWAYS_BULK:
            return bulk.add(value)
        return Hex(value.hex())
    if isinstance(value, float) and isnan(value):
        return nan  # YAML has but one; a payload makes the encoding a foreign one
    if field.type == FieldDescriptor.TYPE_FLOAT:
        return shortest_binary32(value)
    if field.name.endswith(_HEX_NAMES):
        return HexInt(value)
    return value


def _fill_repeated(field: Field, node: Any, message: Message, bulk: BulkReader, path: str) -> None:
    if not isinstance(node, list):
        raise refuse(path, f"a repeated field is a list, not {show(node)}")
    target = getattr(message, field.name)
    if field.type == FieldDescriptor.TYPE_MESSAGE:
        for index, item in enumerate(node):
            from_plain(item, target.add(), bulk, f"{path}[{index}]")
    else:
        target.extend(_value(field, item, bulk, f"{path}[{index}]") for index, item in enumerate(node))


def _value(field: Field, node: Any, bulk: BulkReader, path: str) -> Any:
    if field.type == FieldDescriptor.TYPE_BYTES:
        return bytes(bulk.take(node, path))
    if field.type == FieldDescriptor.TYPE_ENUM and isinstance(node, str):
        known = field.enum_type.values_by_name.get(node)
        if known is None:
            raise refuse(path, f"{field.enum_type.name} has no value {node!r}")
        return known.number
    if isinstance(node, bool) != (field.type == FieldDescriptor.TYPE_BOOL):
        raise TypeError(f"{show(node)} is of the wrong type")
    return nan if isinstance(node, float) and isnan(node) else node


def _unknown_bytes(message: Message) -> bytes:
    rest = type(message)()
    rest.CopyFrom(message)
    for field, _ in message.ListFields():
        rest.ClearField(field.name)
    return rest.SerializePartialToString()


def _merge_unknown(message: Message, node: Any, bulk: BulkReader, path: str) -> None:
    try:
        message.MergeFromString(bytes(bulk.take(node, path)))
    except DecodeError as error:
        raise refuse(path, f"no protobuf fields: {error}") from None


def show(node: Any) -> str:
    """A value for a message, cut short."""
    text = repr(node)
    return text if len(text) <= 40 else text[:37] + "..."


def refuse(path: str, message: str, **where: object) -> HailoError:
    """The error of a description that does not describe a HEF."""
    return HailoError(HailoStatus.HAILO_INVALID_HEF, f"{path}: {message}", **where)
