"""Builds sound HEFs of every container version out of the model.

`HefContents` is what a file holds; `contents_of` takes it from an opened HEF, `write_hef` makes the bytes. What
`open_hef` then reads equals what was given: the writer checks that itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import xxhash
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message
from msgspec import Struct
from msgspec.structs import replace

from emu.errors import UsageError
from emu.hef import model
from emu.hef import operations as ops
from emu.hef.build import build_network_group
from emu.hef.features import supported_features
from emu.hef.pack import Pieces, Sections, aligned_padding, pack
from emu.schemas import hef_pb2 as pb

if TYPE_CHECKING:
    from emu.hef import Hef

NO_INCLUDED_FEATURES = model.IncludedFeatures(False, False, False, False, False, False, False, False)


class HefContents(Struct, frozen=True):
    """Everything in a HEF but its container.

    `ccws` are the bytes that `ActionWriteDataCcwPtr` points into (offsets from the start of the section), empty where
    the CCW records stand inline. `additional_info` follows the CCW section; `external_resources` lists ranges of it,
    with offsets from the start of the CCW section too. `mapping` is the compiler's own.
    """

    header: model.Header
    network_groups: tuple[model.NetworkGroup, ...]
    extensions: tuple[model.Extension, ...] = ()
    optional_extensions: tuple[model.Extension, ...] = ()
    included_features: model.IncludedFeatures = NO_INCLUDED_FEATURES
    external_resources: tuple[model.ExternalResource, ...] = ()
    ccws: bytes | memoryview = b""
    additional_info: bytes | memoryview = b""
    mapping: bytes = b""

    @property
    def hailo_net_flow(self) -> bool:
        """Whether the ops[] layout is used (extension 13)."""
        return supported_features(
            self.header, self.included_features, self.extensions, self.optional_extensions
        ).hailo_net_flow


def contents_of(hef: Hef) -> HefContents:
    """What an opened HEF holds, as far as the model knows it; CCW data and additional_info are views of the file."""
    data, container = hef.container.data, hef.container
    sections = {section.name: data[section.offset : section.offset + section.size] for section in container.sections}
    return HefContents(
        header=hef.header,
        network_groups=hef.network_groups,
        extensions=hef.extensions,
        optional_extensions=hef.optional_extensions,
        included_features=hef.included_features,
        external_resources=hef.external_resources,
        ccws=sections.get("ccws", b""),
        additional_info=sections.get("additional_info", b""),
        mapping=hef.message.mapping,
    )


def write_hef(
    contents: HefContents,
    version: int,
    *,
    proto_hash: bool = False,
    resources: Mapping[str, bytes] | None = None,
) -> bytes:
    """The file in one piece: `hef_pieces` joined."""
    return b"".join(hef_pieces(contents, version, proto_hash=proto_hash, resources=resources))


def hef_pieces(
    contents: HefContents,
    version: int,
    *,
    proto_hash: bool = False,
    resources: Mapping[str, bytes] | None = None,
) -> Pieces:
    """The file as buffers in order, in a container of `version` (0 to 3).

    CCW records are put where the version wants them: inline in V0, else behind the proto. `resources` are appended to
    additional_info and listed as external resources with their XXH3 (V3). `proto_hash` stores V3's hash of the proto.
    UsageError for what the container cannot hold, and for a model whose parts contradict each other.
    """
    contents = _place_ccw(contents, version)
    if resources:
        contents = _append_resources(contents, resources)
    if version != 3 and (contents.additional_info or proto_hash):
        raise UsageError(f"container version {version} holds neither external resources nor a proto hash, V3 does")
    proto = message_of(contents).SerializeToString(deterministic=True)
    sections = Sections(
        proto,
        padding=[aligned_padding(version, len(proto))],
        ccws=[contents.ccws],
        additional_info=[contents.additional_info],
    )
    return pack(version, sections, proto_hash=proto_hash)


def message_of(contents: HefContents) -> pb.ProtoHEFHef:
    """The protobuf message; UsageError if reading it back would not give the same network groups."""
    message = pb.ProtoHEFHef(mapping=contents.mapping)
    _fill(message.header, contents.header)
    _fill(message.included_features, contents.included_features)
    for name in ("extensions", "optional_extensions", "external_resources"):
        for record in getattr(contents, name):
            _fill(getattr(message, name).add(), record)
    net_flow = contents.hailo_net_flow
    for group in contents.network_groups:
        target = message.network_groups.add()
        _fill_group(target, group, net_flow)
        again = build_network_group(target, net_flow)
        if again != group:
            raise UsageError(
                f"network group {group.network_group_name!r} cannot be written as it is: "
                f"{_first_difference(group, again, 'network_group')}"
            )
    return message


def _first_difference(given: Any, read: Any, path: str) -> str:
    """Where two unequal records part, in words."""
    if type(given) is type(read) and isinstance(given, Struct):
        for name in given.__struct_fields__:
            one, other = getattr(given, name), getattr(read, name)
            if one != other:
                return _first_difference(one, other, f"{path}.{name}")
    if isinstance(given, tuple) and isinstance(read, tuple) and len(given) == len(read):
        for index, (one, other) in enumerate(zip(given, read, strict=True)):
            if one != other:
                return _first_difference(one, other, f"{path}[{index}]")
    return f"{path} {given!r:.60} reads back as {read!r:.60}"


# --- CCW data and resources -----------------------------------------------------------------------------------------


def _place_ccw(contents: HefContents, version: int) -> HefContents:
    """Turn pointers into inline records for V0, and inline records into pointers for all other versions."""
    source = memoryview(contents.ccws)
    section = bytearray()

    def pointed(action: ops.ActionWriteDataCcwPtr) -> memoryview:
        end = action.offset + action.size
        if end > len(source):
            raise UsageError(f"CCW bytes {action.offset} to {end} of a section of {len(source)} bytes")
        return source[action.offset : end]

    def inline(action: ops.Action | None) -> ops.Action | None:
        if isinstance(action, ops.ActionWriteDataCcwPtr):
            return ops.ActionWriteDataCcw(bytes(pointed(action)), action.cfg_channel_index)
        return action

    def pointer(action: ops.Action | None) -> ops.Action | None:
        if isinstance(action, ops.ActionWriteDataCcwPtr):
            pointed(action)
        if isinstance(action, ops.ActionWriteDataCcw):
            offset = len(source) + len(section)
            section.extend(action.data)
            return ops.ActionWriteDataCcwPtr(offset, len(action.data), action.cfg_channel_index)
        return action

    convert = inline if version == 0 else pointer
    groups = tuple(_map_actions(group, convert) for group in contents.network_groups)
    if version == 0:
        return replace(contents, network_groups=groups, ccws=b"")
    if not section:
        return contents
    return replace(contents, network_groups=groups, ccws=bytes(source) + bytes(section))


def _map_actions(group: model.NetworkGroup, convert: Any) -> model.NetworkGroup:
    """A group with every action of every core op replaced by `convert(action)`."""

    def operations(items: tuple[ops.Operation, ...]) -> tuple[ops.Operation, ...]:
        return tuple(replace(item, actions=tuple(convert(action) for action in item.actions)) for item in items)

    def core_op(item: model.CoreOp) -> model.CoreOp:
        return replace(
            item,
            preliminary_config=ops.PreliminaryConfig(operations(item.preliminary_config.operation)),
            contexts=tuple(replace(context, operations=operations(context.operations)) for context in item.contexts),
            partial_core_ops=tuple(replace(part, core_op=core_op(part.core_op)) for part in item.partial_core_ops),
        )

    if not group.ops:
        return group if group.core_op is None else replace(group, core_op=core_op(group.core_op))
    # net-flow: the first core op among the ops is the group's, and must stay the same object in both places
    nodes = tuple(replace(op, op=core_op(op.op)) if isinstance(op.op, model.CoreOp) else op for op in group.ops)
    first = next((op.op for op in nodes if isinstance(op.op, model.CoreOp)), None)
    return replace(group, ops=nodes, core_op=first)


def _append_resources(contents: HefContents, resources: Mapping[str, bytes]) -> HefContents:
    end = len(contents.ccws) + len(contents.additional_info)
    table = list(contents.external_resources)
    for name, data in resources.items():
        table.append(model.ExternalResource(end, len(data), name, xxhash.xxh3_64_intdigest(data)))
        end += len(data)
    return replace(
        contents,
        external_resources=tuple(table),
        additional_info=b"".join([contents.additional_info, *resources.values()]),
    )


# --- model to protobuf ----------------------------------------------------------------------------------------------


def _fill_group(message: pb.ProtoHEFNetworkGroup, group: model.NetworkGroup, net_flow: bool) -> None:
    """The inverse of `build_network_group` (hef-container.md 6)."""
    if net_flow:
        _fill(message.network_group_metadata, group.network_group_metadata)
        _fill_repeated(message.ops, group.ops)
        _fill_repeated(message.pad_edges, group.pad_edges)
        message.sorted_outputs_order.extend(group.sorted_outputs_order)
        first = pb.ProtoHEFNetworkGroup()
        if group.network_group_name != group.network_group_metadata.network_group_name:
            first.network_group_metadata.network_group_name = group.network_group_name
        if group.core_op is not None and group.networks_names == group.core_op.networks_names:
            message.networks_names.extend(group.networks_names)
        else:
            first.networks_names.extend(group.networks_names)
        if first.ByteSize():
            message.partial_network_groups.add().network_group.CopyFrom(first)
        return
    if group.core_op is None:
        raise UsageError(f"network group {group.network_group_name!r} has no core op and is no net-flow group")
    _fill_legacy(message, group.core_op)
    for partial in group.core_op.partial_core_ops:
        target = message.partial_network_groups.add()
        _fill_legacy(target.network_group, partial.core_op)
        _fill(target.layout, partial.layout)


def _fill_legacy(message: pb.ProtoHEFNetworkGroup, core_op: model.CoreOp) -> None:
    """The fields of a group that mirror those of a core op."""
    for name in core_op.__struct_fields__:
        if name != "partial_core_ops":
            _fill_field(message, name, getattr(core_op, name))


def _fill(message: Message, record: Any) -> None:
    """Every field of a record; fields, members of oneofs and messages are found by name, as the model is spelled."""
    for name in record.__struct_fields__:
        _fill_field(message, name, getattr(record, name))


def _fill_field(message: Message, name: str, value: Any) -> None:
    if value is None:
        return
    if isinstance(value, tuple):
        _fill_repeated(getattr(message, name), value)
    elif isinstance(value, Struct):
        if name not in message.DESCRIPTOR.fields_by_name:
            name = _member(message.DESCRIPTOR, type(value).__name__)
            getattr(message, name).SetInParent()
        _fill_message(getattr(message, name), value)
    elif value or _has_presence(message.DESCRIPTOR, name):
        setattr(message, name, value)


def _fill_repeated(target: Any, values: Iterable[Any]) -> None:
    if hasattr(target, "add"):
        for value in values:
            item = target.add()
            if value is not None:
                _fill_message(item, value)
    else:
        target.extend(values)


def _fill_message(message: Message, record: Any) -> None:
    """A record into its own message, or into the oneof of a message that wraps it (an action into ProtoHEFAction)."""
    kind = type(record).__name__
    if _record_name(message.DESCRIPTOR.name) != kind:
        member = getattr(message, _member(message.DESCRIPTOR, kind))
        member.SetInParent()
        message = member
    _fill(message, record)


@cache
def _has_presence(descriptor: Descriptor, name: str) -> bool:
    return bool(descriptor.fields_by_name[name].has_presence)


@cache
def _member(descriptor: Descriptor, kind: str) -> str:
    """The member of a oneof that holds records of the class named `kind`."""
    for item in descriptor.fields:
        inner = item.message_type
        if item.containing_oneof is not None and inner is not None and _record_name(inner.name) == kind:
            return str(item.name)
    raise UsageError(f"a {descriptor.name} holds no {kind}")


def _record_name(message_name: str) -> str:
    return message_name.removeprefix("ProtoHEF")
