"""Everything a person asks of a HEF without a device, as one plain document (cli.md, `emu inspect`).

Keys are the names of the schema, of the container header and of hailo_stream_info_t. Nothing here depends on the order
of sets or on the clock: the same file gives the same document.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, TypeAlias

import xxhash
from msgspec import Struct

from emu.errors import EmuError
from emu.hef import model
from emu.hef.damage import overlooked_damage
from emu.hef.enums import EdgeConnectionType, EdgeLayerDirection, ExtensionType, HwArch
from emu.hef.features import OPTIONAL_SINCE, extension_name, first_supported, unsupported_extensions
from emu.hef.formats import Format, FormatFlags, NmsInfo, NmsShape, QuantInfo, Shape
from emu.hef.hef import Hef
from emu.hef.infos import NetworkGroupInfo, StreamInfo, VStreamInfo, hef_infos
from emu.hef.layers import StreamDirection
from emu.hef.load import MULTI_LAYOUT_ARCHS
from emu.hef.operations import (
    ACTION_FIELDS,
    TRIGGER_FIELDS,
    ActionWriteDataCcw,
    ActionWriteDataCcwPtr,
    Operation,
)
from emu.hef.ops import OpInfo
from emu.hef.plausibility import implausible
from emu.hef.runtime import HAILO8_FAMILY, runtimes

Document: TypeAlias = dict[str, Any]


def hef_report(hef: Hef) -> Document:
    """The document of an opened HEF. Never refuses: what the runtime refuses at load is under `load`."""
    infos, load = _infos(hef)
    by_name = {info.name: info for info in infos}
    return {
        "model": {"file": hef.name, "format": "hef", "file_size": hef.container.file_size},
        "runtime": hef.version.label,
        "load": load,
        "container": _container(hef),
        "header": _header(hef),
        "included_features": _tree(hef.included_features),
        "extensions": [_extension(extension) for extension in hef.extensions],
        "optional_extensions": [_extension(extension, optional=True) for extension in hef.optional_extensions],
        "supported_features": _tree(hef.features),
        "external_resources": [_external_resource(hef, resource) for resource in hef.external_resources],
        "network_groups": [
            _network_group(hef, group, by_name.get(group.network_group_name)) for group in hef.ordered_network_groups
        ],
        "warnings": [*overlooked_damage(hef), *implausible(hef)],
    }


def _infos(hef: Hef) -> tuple[tuple[NetworkGroupInfo, ...], Document]:
    """The infos, empty where the runtime does not load the file; and what it says to loading it."""
    try:
        return hef_infos(hef).network_groups, {"status": 0, "name": "HAILO_SUCCESS"}
    except EmuError as error:
        return (), error.document()["error"]


# --- the file -------------------------------------------------------------------------------------------------------


def _container(hef: Hef) -> Document:
    container = hef.container
    checksums = [container.checksum]
    if container.proto_checksum is not None:
        checksums.append(container.proto_checksum)
    proto_only = container.checks_proto_only(hef.version)
    fields = {name: value.hex() if isinstance(value, bytes) else value for name, value in container.fields.items()}
    return {
        "version": container.version,
        "magic": f"{container.magic:08x}",
        "header_size": container.header_size,
        "hef_proto_size": container.hef_proto_size,
        **fields,
        "offset_zero_point": container.offset_zero_point,
        "sections": [_tree(section) for section in container.sections],
        "checksums": [
            {
                "name": checksum.name,
                "offset": checksum.offset,
                "size": checksum.size,
                "stored": checksum.text(checksum.stored),
                "computed": checksum.text(checksum.computed),
                "matches": checksum.matches,
                "checked_by_runtime": checksum.name.startswith("proto") == proto_only,
            }
            for checksum in checksums
        ],
        "hash": container.hash,
    }


def _header(hef: Hef) -> Document:
    header = _tree(hef.header)
    hw_arch = hef.header.hw_arch
    header["hw_arch"] = hw_arch.name if isinstance(hw_arch, HwArch) else None
    return {"hw_arch_number": int(hw_arch), **header, "neural_network_core_clock_rate": expected_clock(hw_arch)}


def expected_clock(hw_arch: HwArch | int) -> int | None:
    """The clock in Hz that the runtime expects for a Hailo-8 HEF, else it warns (hef-container.md 5.1)."""
    if hw_arch not in HAILO8_FAMILY:
        return None
    return 200_000_000 if hw_arch == HwArch.HAILO8R else 400_000_000


def _extension(extension: model.Extension, optional: bool = False) -> Document:
    known_name = extension_name(extension.type_index)
    since = first_supported(extension.type_index)
    if optional:
        since = OPTIONAL_SINCE.get(ExtensionType(extension.type_index)) if known_name else None
    return {
        "type_index": extension.type_index,
        "name": extension.name,
        "extension_type": known_name,
        "known": known_name is not None,
        "since": None if since is None else str(since),
        "accepted_by": [
            runtime.name for runtime in runtimes() if optional or not unsupported_extensions([extension], runtime)
        ],
    }


def _external_resource(hef: Hef, resource: model.ExternalResource) -> Document:
    data = hef.container.external_resource(resource)
    computed = None if data is None else xxhash.xxh3_64_intdigest(data)
    return {
        "name": resource.name,
        "offset": resource.offset,
        "size": resource.size,
        "file_offset": hef.container.offset_zero_point + resource.offset,
        "inside_file": data is not None,
        "xxhash": f"{resource.xxhash:016x}",
        "computed_xxhash": None if computed is None else f"{computed:016x}",
        "matches": None if computed is None or not resource.xxhash else computed == resource.xxhash,
    }


# --- network groups -------------------------------------------------------------------------------------------------


def _network_group(hef: Hef, group: model.NetworkGroup, info: NetworkGroupInfo | None) -> Document:
    document: Document = {"network_group_name": group.network_group_name, "multi_layout": False}
    core_op = group.core_op
    if core_op is not None:
        partial = core_op.partial_core_ops
        if partial and hef.header.hw_arch in MULTI_LAYOUT_ARCHS:
            document["multi_layout"] = True
            # what holds for the group is told of the smallest bitmap, as the getters do (hef-container.md 5.2)
            by_layout = {part.layout.partial_clusters_layout_bitmap: part.core_op for part in partial}
            core_op = by_layout[min(by_layout)]
        document |= _core_op(core_op)
        document["partial_core_ops"] = [
            {"layout": _tree(part.layout), "core_op": _core_op(part.core_op)} for part in partial
        ]
    document["sorted_outputs_order"] = list(group.sorted_outputs_order)
    document["pad_edges"] = [_tree(edge) for edge in group.pad_edges]
    if core_op is not None and info is not None:
        padded = _padded_shapes(core_op)
        document |= {
            "networks": list(info.networks),
            "bottleneck_fps": info.bottleneck_fps,
            "sorted_output_names": list(info.sorted_output_names),
            "streams": [_stream(stream, padded.get(stream.name)) for stream in info.streams],
            "vstreams": [_vstream(vstream, info) for vstream in info.vstreams],
            "ops": [_op(op) for op in info.ops],
        }
    return document


def _core_op(core_op: model.CoreOp) -> Document:
    return {
        "network_group_metadata": _tree(core_op.network_group_metadata),
        "networks_names": list(core_op.networks_names),
        "is_multi_context": len(core_op.contexts) > 1,
        "preliminary_config": _operations(core_op.preliminary_config.operation),
        "contexts": [
            {
                "context_index": index,
                "name": context.metadata.name,
                **_operations(context.operations),
                "edge_layers": [_edge_layer(layer) for layer in context.metadata.edge_layers],
            }
            for index, context in enumerate(core_op.contexts)
        ],
    }


def _operations(operations: tuple[Operation, ...]) -> Document:
    """Counts of triggers and actions by their schema fields, and the configuration bytes per config channel."""
    triggers: Counter[str] = Counter()
    actions: Counter[str] = Counter()
    channels: Counter[int] = Counter()
    for operation in operations:
        trigger = operation.trigger
        triggers["unset" if trigger is None else TRIGGER_FIELDS[type(trigger)]] += 1
        for action in operation.actions:
            actions["unset" if action is None else ACTION_FIELDS[type(action)]] += 1
            if isinstance(action, ActionWriteDataCcwPtr):
                channels[action.cfg_channel_index] += action.size
            elif isinstance(action, ActionWriteDataCcw):
                channels[action.cfg_channel_index] += len(action.data)
    return {
        "operations": len(operations),
        "triggers": dict(sorted(triggers.items())),
        "actions": dict(sorted(actions.items())),
        "config_bytes": sum(channels.values()),
        "config_bytes_per_channel": {str(channel): channels[channel] for channel in sorted(channels)},
    }


def _edge_layer(layer: model.EdgeLayer) -> Document:
    switch = layer.context_switch_info
    document: Document = {
        "direction": _enum(layer.direction),
        "edge_layer_type": _enum(layer.edge_layer_type),
        "edge_connection_type": _enum(switch.edge_connection_type),
        "network_index": layer.network_index,
        "pad_index": layer.pad_index,
        "connected_contexts": [_tree(connected) for connected in switch.connected_contexts],
    }
    if switch.edge_connection_type == EdgeConnectionType.DDR:
        document["buffers"] = switch.buffers
    if switch.edge_connection_type == EdgeConnectionType.CACHE:
        document["cache_id"] = switch.cache_id
    edge = layer.edge
    if edge is None:
        return document
    document["name"] = edge.name
    if isinstance(edge, model.EdgeLayerPlanes):
        document["planes_format"] = _enum(edge.planes_format)
        document["shape"] = [edge.height, edge.width, edge.features]
        return document
    base = edge.edge_layer_base
    document.update(
        {
            "shape": [base.height, base.width, base.features],
            "padded_shape": [base.padded_height, base.padded_width, base.padded_features],
            "format": base.format,
            "data_bytes": base.data_bytes,
            "sys_index": base.sys_index,
            "engine_id": base.engine_id,
            "core_bytes_per_buffer": base.core_bytes_per_buffer,
            "core_buffers_per_frame": base.core_buffers_per_frame,
            "max_shmifo_size": base.max_shmifo_size,
            "buffer_indices": [_tree(indices) for indices in base.buffer_indices],
        }
    )
    return document


def _enum(value: EdgeLayerDirection | int) -> str | int:
    return getattr(value, "name", value)


def _padded_shapes(core_op: model.CoreOp) -> dict[str, list[int]]:
    """The compiler's padded shape of every boundary stream, by name."""
    out: dict[str, list[int]] = {}
    for context in core_op.contexts:
        for layer in context.metadata.edge_layers:
            edges = layer.edge.planes if isinstance(layer.edge, model.EdgeLayerPlanes) else (layer.edge,)
            for edge in edges:
                if isinstance(edge, model.EdgeLayerInfo | model.EdgeLayerMux):
                    base = edge.edge_layer_base
                    padded = [base.padded_height, base.padded_width, base.padded_features]
                    out.setdefault(edge.name, padded)
    return out


# --- streams, vstreams and ops --------------------------------------------------------------------------------------


def _stream(stream: StreamInfo, padded_shape: list[int] | None) -> Document:
    document: Document = {
        "name": stream.name,
        "network_name": stream.network_name,
        "direction": _direction(stream.direction),
        "index": stream.index,
        "format": _format(stream.format),
        "shape": list(stream.shape),
        "padded_shape": padded_shape,
        "hw_shape": list(stream.hw_shape),
        "hw_data_bytes": stream.hw_data_bytes,
        "hw_frame_size": stream.hw_frame_size,
        "is_mux": stream.is_mux,
        **_quantisation(stream.quant_info, stream.quant_infos),
    }
    if stream.nms_info is not None:
        document["nms_info"] = _nms_info(stream.nms_info)
    return document


def _vstream(vstream: VStreamInfo, info: NetworkGroupInfo) -> Document:
    document: Document = {
        "name": vstream.name,
        "network_name": vstream.network_name,
        "direction": _direction(vstream.direction),
        "format": _format(vstream.format),
        "frame_size": vstream.frame_size,
        "streams": list(vstream.streams),
        "op": next((op.op.name for op in info.ops if op.output_name == vstream.name), None),
        **_quantisation(vstream.quant_info, ()),
    }
    if isinstance(vstream.nms_shape, NmsShape):
        document["nms_shape"] = _tree(vstream.nms_shape)
    if isinstance(vstream.shape, Shape):
        document["shape"] = list(vstream.shape)
    return document


def _op(op: OpInfo) -> Document:
    document: Document = {
        "name": op.op.name,
        "type": op.kind.type_name,
        "description": op.description,
        "inputs": list(op.inputs),
        "output": op.output_name,
        "format": _format(op.format),
    }
    if isinstance(op.op.op, model.NmsOp):
        nms = _tree(op.op.op)
        document["nms_op"] = nms
    return document


def host_side(info: NetworkGroupInfo) -> Document:
    """What a network group is to the host, its streams, vstreams and ops each by name; the compiler's estimates, and
    what only the device is told, left out."""
    return {
        "networks": list(info.networks),
        "sorted_output_names": list(info.sorted_output_names),
        "stream": {stream.name: _stream(stream, None) for stream in info.streams},
        "vstream": {vstream.name: _vstream(vstream, info) for vstream in info.vstreams},
        "op": {op.op.name: _op(op) for op in info.ops},
    }


def _direction(direction: StreamDirection) -> str:
    return "h2d" if direction is StreamDirection.H2D else "d2h"


def _format(format: Format) -> Document:
    flags = [flag.name for flag in FormatFlags if flag & format.flags]
    return {"type": format.type.name, "order": format.order.name, "flags": flags}


def _quantisation(quant_info: QuantInfo, quant_infos: tuple[QuantInfo, ...]) -> Document:
    document: Document = {"quant_info": _quant_info(quant_info)}
    if len(quant_infos) > 1:
        document["quant_infos"] = [_quant_info(one) for one in quant_infos]
    return document


def _quant_info(quant_info: QuantInfo) -> Document:
    return {
        "qp_zp": quant_info.zp,
        "qp_scale": quant_info.scale,
        "limvals_min": quant_info.limvals_min,
        "limvals_max": quant_info.limvals_max,
    }


def _nms_info(info: NmsInfo) -> Document:
    return {**_tree(info), "burst_type": info.burst_type.name}


def _tree(value: Any) -> Any:
    """A record and what it holds as dicts."""
    if isinstance(value, Struct):
        return {name: _tree(getattr(value, name)) for name in value.__struct_fields__}
    return tuple(map(_tree, value)) if type(value) is tuple else value
