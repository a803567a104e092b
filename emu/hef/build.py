"""From the parsed protobuf message to the model: one walk, into slotted records."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from emu.hef import model
from emu.hef.build_operations import build_operation
from emu.hef.enums import (
    DataType,
    EdgeConnectionType,
    EdgeLayerDirection,
    EdgeLayerType,
    EPlanesFormat,
    FormatOrder,
    FormatType,
    HwArch,
    LogitsType,
    NmsBurstType,
    known,
)
from emu.hef.operations import PreliminaryConfig
from emu.schemas import hef_pb2 as pb

M = TypeVar("M")
R = TypeVar("R")


def _tuple(build: Callable[[M], R], messages: Iterable[M]) -> tuple[R, ...]:
    return tuple([build(message) for message in messages])


# --- edge layers ----------------------------------------------------------------------------------------------------


def _nms_info(m: pb.ProtoHEFNmsInfo) -> model.NmsInfo:
    return model.NmsInfo(
        m.type_index,
        m.number_of_classes,
        m.max_output_size,
        m.bbox_size,
        m.is_defused,
        model.NmsDefuseInfo(m.defuse_info.class_group_index, m.defuse_info.original_name),
        m.input_division_factor,
        m.burst_size,
        known(NmsBurstType, m.burst_type),
    )


def _edge_layer_base(m: pb.ProtoHEFEdgeLayerBase) -> model.EdgeLayerBase:
    return model.EdgeLayerBase(
        m.height,
        m.padded_height,
        m.width,
        m.padded_width,
        m.features,
        m.padded_features,
        m.format,
        m.sys_index,
        m.core_bytes_per_buffer,
        m.core_buffers_per_frame,
        model.AdditionalInfo(_nms_info(m.additional_info.nms_info)),
        m.data_bytes,
        _tuple(lambda i: model.ResourceIndices(i.index, i.cluster_index), m.buffer_indices),
        m.host_argmax,
        m.max_shmifo_size,
        m.engine_id,
    )


def _numeric_info(m: pb.ProtoHEFEdgeLayerNumericInfo) -> model.EdgeLayerNumericInfo:
    return model.EdgeLayerNumericInfo(
        m.qp_zp, m.qp_scale, m.limvals_min, m.limvals_max, tuple(m.qp_zps), tuple(m.qp_scales)
    )


def _edge_layer_info(m: pb.ProtoHEFEdgeLayerInfo) -> model.EdgeLayerInfo:
    return model.EdgeLayerInfo(
        m.name,
        m.hn_output_layer_name,
        _edge_layer_base(m.edge_layer_base),
        _numeric_info(m.numeric_info),
        tuple(m.original_names),
        m.transposed,
    )


def _edge_layer_mux(m: pb.ProtoHEFEdgeLayerMux) -> model.EdgeLayerMux:
    data = m.mux_data
    return model.EdgeLayerMux(
        m.name,
        m.hn_output_layer_name,
        _edge_layer_base(m.edge_layer_base),
        model.EdgeLayerMuxData(
            data.number_of_predecessors,
            data.height_gcd,
            data.height_ratios_list_len,
            tuple(data.height_ratios_list),
        ),
        _tuple(_edge, m.predecessors),
        tuple(m.original_names),
    )


def _edge_layer_planes(m: pb.ProtoHEFEdgeLayerPlanes) -> model.EdgeLayerPlanes:
    return model.EdgeLayerPlanes(
        m.name,
        known(EPlanesFormat, m.planes_format),
        _tuple(_edge, m.planes),
        m.height,
        m.width,
        m.features,
    )


def _edge(m: pb.ProtoHefEdge) -> model.Edge | None:
    kind = m.WhichOneof("edge")
    if kind == "layer_info":
        return _edge_layer_info(m.layer_info)
    if kind == "layer_mux":
        return _edge_layer_mux(m.layer_mux)
    if kind == "layer_planes":
        return _edge_layer_planes(m.layer_planes)
    return None


def _edge_layer(m: pb.ProtoHEFEdgeLayer) -> model.EdgeLayer:
    # The runtime goes by edge_layer_type, not by which member is set: a wrong pair reads as an empty layer.
    kind = known(EdgeLayerType, m.edge_layer_type)
    edge: model.Edge | None = None
    if kind == EdgeLayerType.INFO:
        edge = _edge_layer_info(m.layer_info)
    elif kind == EdgeLayerType.MUX:
        edge = _edge_layer_mux(m.layer_mux)
    elif kind == EdgeLayerType.PLANES:
        edge = _edge_layer_planes(m.layer_planes)
    switch = m.context_switch_info
    return model.EdgeLayer(
        known(EdgeLayerDirection, m.direction),
        kind,
        edge,
        model.ContextSwitchInformation(
            switch.context_index,
            switch.context_name,
            known(EdgeConnectionType, switch.edge_connection_type),
            switch.connected_context_index,
            switch.connected_context_name,
            switch.buffers,
            switch.connected_sys_index,
            _tuple(
                lambda c: model.ConnectedContextInfo(c.index, c.name, c.sys_index, c.engine_id),
                switch.connected_contexts,
            ),
            switch.cache_id,
        ),
        m.network_index,
        m.pad_index if m.HasField("pad_index") else None,
    )


# --- core ops and network groups ------------------------------------------------------------------------------------


def _context(m: pb.ProtoHEFContext) -> model.Context:
    metadata = m.metadata
    return model.Context(
        m.context_index,
        _tuple(build_operation, m.operations),
        model.ContextMetadata(
            metadata.name, _tuple(_edge_layer, metadata.edge_layers), tuple(metadata.sorted_outputs_order)
        ),
    )


def _network_group_metadata(m: pb.ProtoHEFNetworkGroupMetadata) -> model.NetworkGroupMetadata:
    return model.NetworkGroupMetadata(
        m.network_group_name,
        m.network_group_index,
        m.transposed_net,
        m.bottleneck_fps,
        m.latency,
        m.cfg_channels_count,
        _tuple(lambda c: model.CfgChannelConfig(c.cfg_channel_index, c.engine_id), m.cfg_channels_config),
        m.computational_ops,
    )


def _fused_layers_metadata(m: pb.ProtoHEFFusedLayersMetadata) -> model.FusedLayersMetadata:
    return model.FusedLayersMetadata(
        m.network_has_fused_layers,
        tuple(m.updated_sorted_output_names),
        _tuple(
            lambda f: model.EdgeLayerFused(
                _edge_layer_info(f.layer_info), tuple(f.defused_layers_names), _nms_info(f.nms_info)
            ),
            m.fused_layers,
        ),
    )


def _core_op(
    m: pb.ProtoHEFCoreOp | pb.ProtoHEFNetworkGroup, partial_core_ops: tuple[model.PartialCoreOp, ...]
) -> model.CoreOp:
    """A core op, or the legacy fields 1-6 of a group, which mirror it."""
    return model.CoreOp(
        _network_group_metadata(m.network_group_metadata),
        PreliminaryConfig(_tuple(build_operation, m.preliminary_config.operation)),
        _tuple(_context, m.contexts),
        tuple(m.sorted_outputs_order),
        _fused_layers_metadata(m.fused_layers_metadata),
        tuple(m.networks_names),
        partial_core_ops,
    )


def _partial(
    core_op: pb.ProtoHEFCoreOp | pb.ProtoHEFNetworkGroup, layout: pb.ProtoHEFPhysicalLayout
) -> model.PartialCoreOp:
    """One alternative; alternatives of an alternative mean nothing to the runtime and are left out."""
    return model.PartialCoreOp(_core_op(core_op, ()), model.PhysicalLayout(layout.partial_clusters_layout_bitmap))


_NMS_OPS: dict[str, Callable[..., model.AnyNmsOp]] = {
    "yolo_nms_op": lambda m: model.YoloNmsOp(
        m.image_height, m.image_width, m.input_division_factor, _tuple(_yolo_decoder, m.bbox_decoders)
    ),
    "yolox_nms_op": lambda m: model.YoloxNmsOp(
        m.image_height,
        m.image_width,
        _tuple(
            lambda d: model.YoloxBboxDecoder(d.stride, d.reg_pad_index, d.cls_pad_index, d.obj_pad_index),
            m.bbox_decoders,
        ),
    ),
    "ssd_nms_op": lambda m: model.SSDNmsOp(
        m.image_height,
        m.image_width,
        m.centers_scale_factor,
        m.bbox_dimensions_scale_factor,
        m.ty,
        m.tx,
        m.th,
        m.tw,
        _tuple(
            lambda d: model.SSDBboxDecoder(tuple(d.h), tuple(d.w), d.reg_pad_index, d.cls_pad_index),
            m.bbox_decoders,
        ),
    ),
    "iou_op": lambda m: model.IOUNmsOp(),
    "yolo_seg_op": lambda m: model.YoloSegNmsOp(
        m.image_height,
        m.image_width,
        _tuple(_yolo_decoder, m.bbox_decoders),
        model.YoloSegProtoInfo(m.proto_info.number, m.proto_info.stride, m.proto_info.proto_layer),
        m.mask_threshold,
    ),
    "yolov8_nms_op": lambda m: model.Yolov8NmsOp(
        m.image_height,
        m.image_width,
        m.input_division_factor,
        _tuple(lambda d: model.Yolov8BboxDecoder(d.stride, d.reg_pad_index, d.cls_pad_index), m.bbox_decoders),
        m.regression_length,
    ),
}


def _yolo_decoder(m: pb.ProtoHEFYoloBboxDecoder) -> model.YoloBboxDecoder:
    return model.YoloBboxDecoder(tuple(m.h), tuple(m.w), m.stride, m.pad_index)


def _nms_op(m: pb.ProtoHEFNmsOp) -> model.NmsOp:
    kind = m.WhichOneof("nms_op")
    return model.NmsOp(
        m.nms_score_th,
        m.nms_iou_th,
        m.max_proposals_per_class,
        m.classes,
        m.background_removal,
        m.background_removal_index,
        m.bbox_decoding_only,
        None if kind is None else _NMS_OPS[kind](getattr(m, kind)),
    )


def _pad(m: pb.ProtoHEFPad) -> model.Pad:
    kind = m.WhichOneof("shape_info")
    shape: model.TensorShape | model.NmsShape | None = None
    if kind == "tensor_shape":
        t = m.tensor_shape
        shape = model.TensorShape(t.height, t.padded_height, t.width, t.padded_width, t.features, t.padded_features)
    elif kind == "nms_shape":
        n = m.nms_shape
        shape = model.NmsShape(n.number_of_classes, n.max_bboxes_per_class, n.bbox_size, n.division_factor)
    return model.Pad(
        m.index,
        m.name,
        known(FormatOrder, m.format_order),
        known(DataType, m.data_bytes),
        known(FormatType, m.format_type),
        _numeric_info(m.numeric_info),
        shape,
    )


def _op(m: pb.ProtoHEFOp) -> model.Op:
    kind = m.WhichOneof("op")
    op: model.CoreOp | model.NmsOp | model.LogitsOp | None = None
    if kind == "core_op":
        op = _core_op(m.core_op, _tuple(lambda p: _partial(p.core_op, p.layout), m.core_op.partial_core_ops))
    elif kind == "nms_op":
        op = _nms_op(m.nms_op)
    elif kind == "logits_op":
        op = model.LogitsOp(known(LogitsType, m.logits_op.logits_type))
    return model.Op(m.name, _tuple(_pad, m.input_pads), _tuple(_pad, m.output_pads), op)


def build_network_group(m: pb.ProtoHEFNetworkGroup, hailo_net_flow: bool) -> model.NetworkGroup:
    """Unify both layouts of a group (hef-container.md 6); `hailo_net_flow`: the file has extension 13."""
    partial = m.partial_network_groups[0].network_group if m.partial_network_groups else None
    metadata = _network_group_metadata(m.network_group_metadata)
    sorted_outputs_order = tuple(m.sorted_outputs_order)
    core_op: model.CoreOp | None
    if hailo_net_flow:
        nodes = _tuple(_op, m.ops)
        core_op = next((node.op for node in nodes if isinstance(node.op, model.CoreOp)), None)
        pad_edges = _tuple(lambda e: model.PadEdge(e.src, e.dst), m.pad_edges)
    else:
        nodes, pad_edges = (), ()
        core_op = _core_op(m, _tuple(lambda p: _partial(p.network_group, p.layout), m.partial_network_groups))
        if partial is not None and partial.sorted_outputs_order:
            sorted_outputs_order = tuple(partial.sorted_outputs_order)
    networks_names: tuple[str, ...] = ()
    if m.networks_names:
        networks_names = core_op.networks_names if core_op is not None else ()
    elif partial is not None:
        networks_names = tuple(partial.networks_names)
    return model.NetworkGroup(
        metadata.network_group_name if partial is None else partial.network_group_metadata.network_group_name,
        metadata,
        core_op,
        nodes,
        pad_edges,
        sorted_outputs_order,
        networks_names,
    )


def build_header(m: pb.ProtoHEFHeader) -> model.Header:
    """The header of the message."""
    sdk, least = m.sdk_version, m.strict_runtime_min_version
    return model.Header(
        known(HwArch, m.hw_arch),
        m.timestamp,
        m.sdk_version_str,
        model.SdkVersion(sdk.sdk_version_major, sdk.sdk_version_minor, sdk.sdk_version_revision),
        m.version,
        model.RuntimeVersion(
            least.runtime_min_version_major, least.runtime_min_version_minor, least.runtime_min_version_patch
        ),
    )


def build_included_features(m: pb.ProtoHEFIncludedFeatures) -> model.IncludedFeatures:
    """The legacy feature flags."""
    return model.IncludedFeatures(
        m.abbale,
        m.posted_writes,
        m.ddr,
        m.is_multi_context,
        m.compressed_params,
        m.transpose_component,
        m.padded_ddr_buffers,
        m.sequencer,
    )


def build_extensions(
    messages: Iterable[pb.ProtoHEFExtension | pb.ProtoHEFOptionalExtension],
) -> tuple[model.Extension, ...]:
    """`extensions` or `optional_extensions`."""
    return tuple([model.Extension(m.type_index, m.name) for m in messages])


def build_external_resources(
    messages: Iterable[pb.ProtoHEFExternalResource],
) -> tuple[model.ExternalResource, ...]:
    """The table of external resources."""
    return tuple([model.ExternalResource(m.offset, m.size, m.name, m.xxhash) for m in messages])
