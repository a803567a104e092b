"""CCW records in a description: each stands with the action that writes it, and the section is laid out from them.

What a record means is not known here; a `RecordText` describes and assembles it. Offsets and sizes in a description
say where the records of the original lay: where one has another size now, everything behind it moves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from emu.hef.pack import Buffer
from emu.hef.plain import BulkReader, BulkWriter, HexInt, Lines, refuse, show

POINTED, INLINE = "write_data_ccw_ptr", "write_data_ccw"
_GAPS = "ccw_gaps"


class RecordText(Protocol):
    """Describes and assembles the records of one core op, in the order of its operations."""

    def describe(self, channel: int, data: memoryview) -> dict[str, Any]:
        """The tree of a record: numbers, texts, truth values, lists, and bytes where they are to go into the bulk."""

    def assemble(self, channel: int, node: Any) -> bytes:
        """The bytes of a record; ValueError for a tree that describes none."""

    def pass_over(self, channel: int, data: Buffer) -> None:
        """A record that is described elsewhere, of another core op."""


RecordTexts: TypeAlias = Callable[[int], RecordText]
"""A new `RecordText` for each core op, by the number of the architecture in the header."""


class _Use:
    """A CCW action of a tree: its fields, and whether they point into the section."""

    def __init__(self, fields: dict[str, Any], pointed: bool, path: str) -> None:
        self.fields, self.pointed, self.path = fields, pointed, path

    @property
    def channel(self) -> int:
        return self._number("cfg_channel_index")

    def span(self) -> tuple[int, int]:
        """Offset and size in the section."""
        return self._number("offset"), self._number("size")

    def _number(self, name: str) -> int:
        value = self.fields.get(name, 0)
        if type(value) is not int or not 0 <= value < 1 << 64:
            raise refuse(f"{self.path}.{name}", f"{show(value)} is no whole number from 0 on")
        return value


def _core_ops(tree: Any, path: str = "hef") -> Iterator[list[_Use]]:
    """The CCW actions of each core op in the order of its operations."""
    if isinstance(tree, list):
        for number, item in enumerate(tree):
            yield from _core_ops(item, f"{path}[{number}]")
    elif isinstance(tree, Mapping):
        found = [*_uses(tree.get("preliminary_config"), f"{path}.preliminary_config", "operation")]
        contexts = tree.get("contexts")
        for number, context in enumerate(contexts if isinstance(contexts, list) else ()):
            found += _uses(context, f"{path}.contexts[{number}]", "operations")
        if found:
            yield found
        for name, item in tree.items():
            if name not in ("preliminary_config", "contexts") and isinstance(item, list | Mapping):
                yield from _core_ops(item, f"{path}.{name}")


def _uses(holder: Any, path: str, name: str) -> Iterator[_Use]:
    operations = holder.get(name) if isinstance(holder, Mapping) else None
    for number, operation in enumerate(operations if isinstance(operations, list) else ()):
        actions = operation.get("actions") if isinstance(operation, Mapping) else None
        for index, action in enumerate(actions if isinstance(actions, list) else ()):
            if isinstance(action, Mapping):
                for kind in (POINTED, INLINE):
                    if isinstance(action.get(kind), dict):
                        yield _Use(action[kind], kind == POINTED, f"{path}.{name}[{number}].actions[{index}].{kind}")


# --- into a description ---------------------------------------------------------------------------------------------


def describe_records(
    tree: dict[str, Any], container: dict[str, Any], ccws: memoryview, bulk: BulkWriter, texts: RecordTexts
) -> None:
    """Let every CCW action of a message's tree hold its record, in place of its bytes.

    Of several actions that point to the same bytes the first one does.

    `container` is the description of the container, whose CCW section leaves the bulk; what no action points to is
    kept as `ccw_gaps`. HAILO_INVALID_HEF for actions whose bytes overlap.
    """
    spans: dict[tuple[int, int], str] = {}
    make = _texts(tree, texts)
    for uses in _core_ops(tree):
        one = make()
        for use in uses:
            if use.pointed:
                offset, size = use.span()
                if offset + size > len(ccws):
                    raise refuse(use.path, f"bytes {offset} to {offset + size} of a section of {len(ccws)}")
                data = ccws[offset : offset + size]
                if (offset, size) in spans:
                    one.pass_over(use.channel, data)
                    continue
                spans[offset, size] = use.path
            else:
                data = bulk.take_back(use.fields.pop("data", ""))
            use.fields["record"] = _into_bulk(one.describe(use.channel, data), bulk)
    gaps = [
        {"offset": offset, "data": bulk.add(ccws[offset : offset + size])} for offset, size in _gaps(spans, len(ccws))
    ]
    if "ccws" in container:
        bulk.take_back(container.pop("ccws"))
    if gaps:
        container[_GAPS] = gaps


def _texts(tree: Mapping[str, Any], texts: RecordTexts) -> Callable[[], RecordText]:
    from emu.schemas import hef_pb2 as pb

    header = tree.get("header")
    arch = header.get("hw_arch", 0) if isinstance(header, Mapping) else 0
    if isinstance(arch, str):
        known = pb.ProtoHEFHwArch.DESCRIPTOR.values_by_name.get(arch)
        arch = None if known is None else known.number
    if type(arch) is not int:
        raise refuse("hef.header.hw_arch", "records cannot be read without an architecture that is known")
    return lambda: texts(arch)


def _gaps(spans: Mapping[tuple[int, int], str], size: int) -> Iterator[tuple[int, int]]:
    end = 0
    for (offset, length), path in sorted(spans.items()):
        if offset < end:
            raise refuse(path, f"its {length} bytes from {offset} on overlap another record's")
        if offset > end:
            yield end, offset - end
        end = offset + length
    if size > end:
        yield end, size - end


def _into_bulk(node: Any, bulk: BulkWriter) -> Any:
    """The tree of a record as a description holds it."""
    if isinstance(node, bytes):
        return bulk.add(node)
    if isinstance(node, str) and "\n" in node:
        return Lines(node)
    if isinstance(node, list):
        return [_into_bulk(item, bulk) for item in node]
    if isinstance(node, dict):
        return {name: HexInt(item) if name == "value" else _into_bulk(item, bulk) for name, item in node.items()}
    return node


# --- out of a description -------------------------------------------------------------------------------------------


def has_records(container: Mapping[str, Any], tree: Any) -> bool:
    """Whether the CCW actions of a description hold their records."""
    return _GAPS in container or any("record" in use.fields for uses in _core_ops(tree) for use in uses)


def assemble_records(
    tree: dict[str, Any], container: Mapping[str, Any], bulk: BulkReader, texts: RecordTexts
) -> list[Buffer]:
    """Turn every record of a tree into bytes again; returns the CCW section that the tree then points into.

    HAILO_INVALID_HEF names the action whose record does not assemble, or that shares its bytes with a different one.
    """
    if "ccws" in container:
        raise refuse("container.ccws", "the section comes from the records of the description")
    pieces: dict[int, tuple[int, Buffer, str]] = {}
    pointing: list[_Use] = []
    make = _texts(tree, texts)
    for uses in _core_ops(tree):
        text = make()
        for use in uses:
            span = use.span() if use.pointed else (0, 0)
            if use.pointed:
                pointing.append(use)
            if "record" not in use.fields:
                if not use.pointed or pieces.get(span[0], (-1,))[0] != span[1]:
                    raise refuse(use.path, "it has no record, and none before it has its offset and size")
                text.pass_over(use.channel, pieces[span[0]][1])
                continue
            try:
                data: Buffer = text.assemble(use.channel, _out_of_bulk(use.fields.pop("record"), bulk, use.path))
            except ValueError as error:
                raise refuse(f"{use.path}.record", str(error)) from None
            if not use.pointed:
                use.fields["data"] = data.hex()
            elif pieces.setdefault(span[0], (span[1], data, use.path))[1] is not data:
                raise refuse(use.path, f"another record than {pieces[span[0]][2]} at the same offset")
    for number, gap in enumerate(_list(container.get(_GAPS, []), f"container.{_GAPS}")):
        path = f"container.{_GAPS}[{number}]"
        if not isinstance(gap, Mapping) or set(gap) != {"offset", "data"} or type(gap["offset"]) is not int:
            raise refuse(path, "a gap is {offset: NUMBER, data: BYTES}")
        data = bulk.take(gap["data"], path)
        pieces[gap["offset"]] = len(data), data, path
    places: dict[int, tuple[int, int]] = {}
    section: list[Buffer] = []
    end = size = 0
    for offset, (length, data, path) in sorted(pieces.items()):
        if offset != end:
            raise refuse(path, f"offset {offset} where {end} follows from the records before it")
        places[offset] = size, len(data)
        section.append(data)
        end, size = end + length, size + len(data)
    for use in pointing:
        use.fields["offset"], use.fields["size"] = places[use.span()[0]]
    _move_resources(tree, size - end)
    return section


def _move_resources(tree: Mapping[str, Any], by: int) -> None:
    """External resources lie behind the section, and count from its start."""
    resources = tree.get("external_resources", []) if by else []
    for number, resource in enumerate(_list(resources, "hef.external_resources")):
        if isinstance(resource, dict) and type(resource.get("offset")) is int:
            resource["offset"] += by
        else:
            raise refuse(f"hef.external_resources[{number}]", "it has no offset to move")


def _list(node: Any, path: str) -> Sequence[Any]:
    if not isinstance(node, list):
        raise refuse(path, f"a list is expected, not {show(node)}")
    return node


def _out_of_bulk(node: Any, bulk: BulkReader, path: str) -> Any:
    if isinstance(node, Mapping):
        if set(node) == {"bulk", "size"}:
            return bulk.take(node, path)
        return {name: _out_of_bulk(item, bulk, path) for name, item in node.items()}
    if isinstance(node, list):
        return [_out_of_bulk(item, bulk, path) for item in node]
    return node
