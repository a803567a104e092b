"""HEF to a readable YAML description and back, byte for byte (`emu disasm`, `emu asm`).

The description holds the whole message and what the container's header says beyond what follows from the rest; CCW
data and other bulk bytes go into a second file. What can be computed (sizes, checksums, the padding of V3) is computed
when a description is assembled, so an edited one gives a sound file; where the original disagrees, its own value is
kept under `stored`. With the records of the configuration described too (emu.hef.assembly_ccw) there is no CCW data in
the bulk: records are assembled again, and pointers to them follow.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import xxhash
import yaml
from google.protobuf.message import DecodeError
from msgspec import Struct

from emu.errors import HailoError, HailoStatus
from emu.hef.assembly_ccw import RecordTexts, assemble_records, describe_records, has_records
from emu.hef.container import LAYOUTS, MAGIC, Container
from emu.hef.pack import Buffer, Pieces, Sections, aligned_padding, computed_fields, pack, total_size
from emu.hef.plain import BulkReader, BulkWriter, Hex, HexInt, Lines, from_plain, refuse, show, to_plain
from emu.schemas import hef_pb2 as pb

if TYPE_CHECKING:
    from yaml import SafeDumper, SafeLoader
else:
    # libyaml is ten times faster, where PyYAML was built with it
    SafeDumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    SafeLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

FORMAT_VERSION = 1
_DEEPEST = 1000
_SURELY_FLAT = 500  # brackets in quoted names count too, which harms nobody
_BRACKET = re.compile(r"[\[\]{}]")
_INDENTED = re.compile(r"^(?: {400}|(?:[-?:] +){200})", re.MULTILINE)
_COMMENT = """\
# A HEF as `emu disasm` describes it; `emu asm` turns it back into the file.
# A field that is not here has its default (0, empty, false). {bulk: OFFSET, size: BYTES} stands for bytes of the file
# named under `bulk`; other bytes are hex. Sizes and checksums are computed, but for those under `stored`.
"""
_RECORDS_COMMENT = """\
# Each `record` is the configuration that its action writes: a value or words to an address, or the packets of a
# sequencer program; weights are in the bulk. Compression, check values, lengths and offsets are computed.
"""
_KEYS = frozenset({"emu_hef", "bulk", "container", "encoding", "hef"})
_CONTAINER_KEYS = frozenset(
    {"version", "proto_hash", "padding", "ccws", "ccw_gaps", "additional_info", "trailing", "stored"}
)


class Description(Struct, frozen=True):
    """A described HEF: the YAML text, and the buffers of the bulk file in order."""

    text: str
    bulk: Pieces


class _Dumper(SafeDumper):
    """Plain values only: hex is quoted, and no anchors are made."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


_Dumper.add_representer(
    Hex, lambda dumper, value: dumper.represent_scalar("tag:yaml.org,2002:str", str(value), style='"')
)
_Dumper.add_representer(
    Lines, lambda dumper, value: dumper.represent_scalar("tag:yaml.org,2002:str", str(value), style="|")
)
_Dumper.add_representer(HexInt, lambda dumper, value: dumper.represent_scalar("tag:yaml.org,2002:int", f"0x{value:X}"))


class _Loader(SafeLoader):
    """Refuses a key that stands twice in a mapping, where YAML would keep the last one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        mapping: dict[Any, Any] = super().construct_mapping(node, deep=deep)
        if len(mapping) != len(node.value):
            raise yaml.constructor.ConstructorError(None, None, "a key stands twice in this mapping", node.start_mark)
        return mapping


# --- HEF to description ---------------------------------------------------------------------------------------------


def disassemble(container: Container, bulk_name: str, records: RecordTexts | None = None) -> Description:
    """Describe a container as far as its header goes, sound or not; `bulk_name` is the bulk file's name in the text.

    `records` describes what CCW data hold. Raises HAILO_HEF_FILE_CORRUPTED where the protobuf does not parse.
    """
    proto = container.proto
    message = pb.ProtoHEFHef()
    try:
        message.ParseFromString(bytes(proto))
    except DecodeError:
        raise HailoError(
            HailoStatus.HAILO_HEF_FILE_CORRUPTED,
            f"the {len(proto)} bytes behind the header do not parse as the protobuf message of a HEF",
            file=container.name,
        ) from None
    bulk = BulkWriter()
    tree = to_plain(message, bulk)
    encoding = _describe_encoding(tree, proto, bulk)
    document: dict[str, Any] = {
        "emu_hef": FORMAT_VERSION,
        "bulk": bulk_name,
        "container": _describe_container(container, bulk),
        **encoding,
        "hef": tree,
    }
    if records is not None:
        ccws = _sections(container).ccws[0]
        describe_records(tree, document["container"], memoryview(ccws), bulk, records)
        bulk.settle()
    text = yaml.dump(document, Dumper=_Dumper, default_flow_style=None, sort_keys=False, width=120, allow_unicode=False)
    return Description(_COMMENT + (_RECORDS_COMMENT if records else "") + text, bulk.pieces)


def _sections(container: Container) -> Sections:
    """The bytes behind the proto, cut as the header says and as far as the file goes."""
    rest = container.data[container.header_size + len(container.proto) :]
    padding, rest = _cut(rest, container.number("hef_padding_size"))
    ccws, rest = _cut(rest, max(0, container.ccws_section_size))
    additional, trailing = _cut(rest, container.number("additional_info_size"))
    return Sections(container.proto, [padding], [ccws], [additional], [trailing])


def _cut(data: memoryview, size: int) -> tuple[memoryview, memoryview]:
    return data[:size], data[size:]


def _describe_container(container: Container, bulk: BulkWriter) -> dict[str, Any]:
    sections = _sections(container)
    described: dict[str, Any] = {"version": container.version}
    proto_hash = container.proto_checksum is not None and container.proto_checksum.matches
    if proto_hash:
        described["proto_hash"] = True
    if _join(sections.padding) != aligned_padding(container.version, len(sections.proto)):
        described["padding"] = bulk.add(_join(sections.padding))
    for name in ("ccws", "additional_info", "trailing"):
        pieces = getattr(sections, name)
        if total_size(pieces):
            described[name] = bulk.add(pieces[0])
    expected: dict[str, int | bytes] = {
        "magic": MAGIC,
        "hef_proto_size": len(sections.proto),
        **computed_fields(container.version, sections, proto_hash),
    }
    actual = {"magic": container.magic, "hef_proto_size": container.hef_proto_size, **container.fields}
    stored = {name: value for name, value in actual.items() if value != expected[name]}
    if stored:
        described["stored"] = {
            name: Hex(value.hex()) if isinstance(value, bytes) else value for name, value in stored.items()
        }
    return described


def _join(pieces: Any) -> bytes:
    return b"".join(pieces)


def _describe_encoding(tree: dict[str, Any], proto: Buffer, bulk: BulkWriter) -> dict[str, Any]:
    """The message's own bytes, where another encoder wrote them differently than ours would."""
    canonical = _encode(tree, BulkReader(memoryview(_join(bulk.pieces))))
    if canonical == proto:
        return {}
    return {"encoding": {"proto": bulk.add(proto), "unless_edited": Hex(xxhash.xxh3_64_hexdigest(canonical))}}


def _encode(tree: Any, bulk: BulkReader) -> bytes:
    message = pb.ProtoHEFHef()
    from_plain(tree, message, bulk)
    return message.SerializeToString(deterministic=True)


# --- description to HEF ---------------------------------------------------------------------------------------------


def assemble(
    text: str, read_bulk: Callable[[str], memoryview], records: Callable[[], RecordTexts] | None = None
) -> Pieces:
    """The buffers of the described file; `read_bulk` gives the bytes of the bulk file by its name.

    `records` is asked for what assembles records where the description holds some.

    Raises HAILO_INVALID_HEF with the path of what does not fit, UsageError for a header that cannot be written.
    """
    document = _mapping(_load(text), _KEYS, "the description")
    if document.get("emu_hef") != FORMAT_VERSION:
        raise refuse("emu_hef", f"this is version {show(document.get('emu_hef'))}, {FORMAT_VERSION} is known")
    bulk = BulkReader(_read_bulk(document.get("bulk"), read_bulk))
    container = _mapping(document.get("container"), _CONTAINER_KEYS, "container")
    version = container.get("version")
    if type(version) is not int or version not in LAYOUTS:
        raise refuse("container.version", f"{show(version)} is none of {', '.join(map(str, LAYOUTS))}")

    def section(name: str) -> list[Buffer]:
        return [bulk.take(container[name], f"container.{name}")] if name in container else []

    if has_records(container, document.get("hef")):
        if records is None:
            raise refuse("hef", "records of the configuration are described, and nothing assembles them")
        ccws = assemble_records(document["hef"], container, bulk, records())
    else:
        ccws = section("ccws")
    proto = _proto(document, bulk)
    padding = section("padding") if "padding" in container else [aligned_padding(version, len(proto))]
    sections = Sections(proto, padding, ccws, section("additional_info"), section("trailing"))
    return pack(
        version,
        sections,
        proto_hash=container.get("proto_hash") is True,
        overrides=_stored(container.get("stored", {})),
    )


def _load(text: str) -> Any:
    try:
        _refuse_aliases(text)
        _refuse_depth(text)
        document = yaml.load(text, Loader=_Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = {} if mark is None else {"line": mark.line + 1}
        raise refuse("the description", f"no YAML: {getattr(error, 'problem', None) or error}", **place) from None
    except Exception as error:  # its constructors raise many kinds on what a tag does not fit
        raise refuse("the description", f"no YAML of ours: {type(error).__name__} {error!s:.80}") from None
    return document


def _refuse_aliases(text: str) -> None:
    """An alias could stand for exponentially many nodes; there is none without an anchor."""
    if "&" in text:
        for event in yaml.parse(text, Loader=SafeLoader):
            if isinstance(event, yaml.AliasEvent):
                raise refuse("the description", f"the YAML alias *{event.anchor}: aliases are not used here")


def _refuse_depth(text: str) -> None:
    """libyaml composes by recursion, and before its newest release without a limit: deep nesting overruns the stack.

    Brackets and indentation tell cheaply that a text is flat; only another one is looked at event by event.
    """
    deepest = max(accumulate((1 if found[0] in "[{" else -1) for found in _BRACKET.finditer(text)), default=0)
    if deepest < _SURELY_FLAT and _INDENTED.search(text) is None:
        return
    depth = 0
    for event in yaml.parse(text, Loader=SafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise refuse("the description", f"no YAML of ours: nested more than {_DEEPEST} deep")


def _mapping(node: Any, known: frozenset[str], path: str) -> dict[str, Any]:
    if not isinstance(node, dict):
        raise refuse(path, f"a mapping is expected, not {show(node)}")
    for key in node:
        if key not in known:
            raise refuse(path, f"there is no {show(key)} here, only {', '.join(sorted(known))}")
    return node


def _read_bulk(name: Any, read_bulk: Callable[[str], memoryview]) -> memoryview:
    if name is None:
        return memoryview(b"")
    if not isinstance(name, str) or "/" in name or "\\" in name or name in ("", ".", ".."):
        raise refuse("bulk", f"{show(name)} is not the name of a file beside the description")
    return read_bulk(name)


def _proto(document: Mapping[str, Any], bulk: BulkReader) -> Buffer:
    canonical = _encode(document.get("hef", {}), bulk)
    if "encoding" not in document:
        return canonical
    encoding = _mapping(document["encoding"], frozenset({"proto", "unless_edited"}), "encoding")
    if encoding.get("unless_edited") == xxhash.xxh3_64_hexdigest(canonical):
        return bulk.take(encoding.get("proto"), "encoding.proto")
    return canonical


def _stored(node: Any) -> dict[str, int | bytes]:
    if not isinstance(node, dict):
        raise refuse("container.stored", f"a mapping is expected, not {show(node)}")
    fields: dict[str, int | bytes] = {}
    for name, value in node.items():
        if name == "md5":
            value = bytes(BulkReader(memoryview(b"")).take(value, "container.stored.md5"))
        elif type(value) is not int:
            raise refuse(f"container.stored.{name}", f"{show(value)} is not a whole number")
        fields[name] = value
    return fields
