"""What is in a HEF, as immutable records: the messages of the schema without their ProtoHEF prefix.

Fields are spelled as in `hef.proto`, repeated fields are tuples, an unset message field is its default. Both layouts
of a network group become one shape here (hef-container.md 6): `NetworkGroup.core_op` is the core op whether it came
from `ops[]` or from the legacy fields 1-6, and `CoreOp.partial_core_ops` are the alternatives per cluster layout
whether they came from `partial_core_ops` or from `partial_network_groups`.

Triggers and actions are in `emu.hef.operations`, enums in `emu.hef.enums`.

Left out is what no runtime reads (hef-container.md 3): `mapping`, unique ids, `trigger_order`,
`cluster_end_guarantee`, `hw_package_info`, `shmiglue_info`. The parsed message (`Hef.message`) has them.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

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
)
from emu.hef.operations import Operation, PreliminaryConfig

# --- edge layers ----------------------------------------------------------------------------------------------------


class NmsDefuseInfo(Struct, frozen=True):
    class_group_index: int
    original_name: str


class NmsInfo(Struct, frozen=True):
    type_index: int
    number_of_classes: int
    max_output_size: int
    bbox_size: int
    is_defused: bool
    defuse_info: NmsDefuseInfo
    input_division_factor: int
    burst_size: int
    burst_type: NmsBurstType | int


class AdditionalInfo(Struct, frozen=True):
    nms_info: NmsInfo


class ResourceIndices(Struct, frozen=True):
    index: int
    cluster_index: int


class EdgeLayerBase(Struct, frozen=True):
    """Shapes in elements; `format` is the compiler's code of the order (hef-container.md 7)."""

    height: int
    padded_height: int
    width: int
    padded_width: int
    features: int
    padded_features: int
    format: int
    sys_index: int
    core_bytes_per_buffer: int
    core_buffers_per_frame: int
    additional_info: AdditionalInfo
    data_bytes: int
    buffer_indices: tuple[ResourceIndices, ...]
    host_argmax: bool
    max_shmifo_size: int
    engine_id: int


class EdgeLayerNumericInfo(Struct, frozen=True):
    """real = (quantised - qp_zp) * qp_scale; the tuples hold one value per feature."""

    qp_zp: float
    qp_scale: float
    limvals_min: float
    limvals_max: float
    qp_zps: tuple[float, ...]
    qp_scales: tuple[float, ...]


class EdgeLayerInfo(Struct, frozen=True):
    name: str
    hn_output_layer_name: str
    edge_layer_base: EdgeLayerBase
    numeric_info: EdgeLayerNumericInfo
    original_names: tuple[str, ...]
    transposed: bool


class EdgeLayerMuxData(Struct, frozen=True):
    number_of_predecessors: int
    height_gcd: int
    height_ratios_list_len: int
    height_ratios_list: tuple[int, ...]


class EdgeLayerMux(Struct, frozen=True):
    """`predecessors` holds None for one that is not set."""

    name: str
    hn_output_layer_name: str
    edge_layer_base: EdgeLayerBase
    mux_data: EdgeLayerMuxData
    predecessors: tuple[Edge | None, ...]
    original_names: tuple[str, ...]


class EdgeLayerPlanes(Struct, frozen=True):
    name: str
    planes_format: EPlanesFormat | int
    planes: tuple[Edge | None, ...]
    height: int
    width: int
    features: int


Edge: TypeAlias = EdgeLayerInfo | EdgeLayerMux | EdgeLayerPlanes


class ConnectedContextInfo(Struct, frozen=True):
    index: int
    name: str
    sys_index: int
    engine_id: int


class ContextSwitchInformation(Struct, frozen=True):
    context_index: int
    context_name: str
    edge_connection_type: EdgeConnectionType | int
    connected_context_index: int
    connected_context_name: str
    buffers: int
    connected_sys_index: int
    connected_contexts: tuple[ConnectedContextInfo, ...]
    cache_id: int


class EdgeLayer(Struct, frozen=True):
    """`edge` is the member that `edge_layer_type` names, as the runtime reads it; None for an unknown type."""

    direction: EdgeLayerDirection | int
    edge_layer_type: EdgeLayerType | int
    edge: Edge | None
    context_switch_info: ContextSwitchInformation
    network_index: int
    pad_index: int | None


# --- contexts, core ops, post-process ops ---------------------------------------------------------------------------


class ContextMetadata(Struct, frozen=True):
    name: str
    edge_layers: tuple[EdgeLayer, ...]
    sorted_outputs_order: tuple[str, ...]


class Context(Struct, frozen=True):
    context_index: int
    operations: tuple[Operation, ...]
    metadata: ContextMetadata


class CfgChannelConfig(Struct, frozen=True):
    cfg_channel_index: int
    engine_id: int


class NetworkGroupMetadata(Struct, frozen=True):
    network_group_name: str
    network_group_index: int
    transposed_net: bool
    bottleneck_fps: float
    latency: float
    cfg_channels_count: int
    cfg_channels_config: tuple[CfgChannelConfig, ...]
    computational_ops: int


class EdgeLayerFused(Struct, frozen=True):
    layer_info: EdgeLayerInfo
    defused_layers_names: tuple[str, ...]
    nms_info: NmsInfo


class FusedLayersMetadata(Struct, frozen=True):
    network_has_fused_layers: bool
    updated_sorted_output_names: tuple[str, ...]
    fused_layers: tuple[EdgeLayerFused, ...]


class PhysicalLayout(Struct, frozen=True):
    """Bit i of the bitmap: cluster i is used."""

    partial_clusters_layout_bitmap: int


class PartialCoreOp(Struct, frozen=True):
    core_op: CoreOp
    layout: PhysicalLayout


class CoreOp(Struct, frozen=True):
    """What the chip computes. With `partial_core_ops` the rest may be empty: each of them is a whole alternative."""

    network_group_metadata: NetworkGroupMetadata
    preliminary_config: PreliminaryConfig
    contexts: tuple[Context, ...]
    sorted_outputs_order: tuple[str, ...]
    fused_layers_metadata: FusedLayersMetadata
    networks_names: tuple[str, ...]
    partial_core_ops: tuple[PartialCoreOp, ...]


class YoloBboxDecoder(Struct, frozen=True):
    h: tuple[int, ...]
    w: tuple[int, ...]
    stride: int
    pad_index: int


class YoloNmsOp(Struct, frozen=True):
    image_height: float
    image_width: float
    input_division_factor: int
    bbox_decoders: tuple[YoloBboxDecoder, ...]


class SSDBboxDecoder(Struct, frozen=True):
    h: tuple[float, ...]
    w: tuple[float, ...]
    reg_pad_index: int
    cls_pad_index: int


class SSDNmsOp(Struct, frozen=True):
    image_height: float
    image_width: float
    centers_scale_factor: int
    bbox_dimensions_scale_factor: int
    ty: int
    tx: int
    th: int
    tw: int
    bbox_decoders: tuple[SSDBboxDecoder, ...]


class YoloxBboxDecoder(Struct, frozen=True):
    stride: int
    reg_pad_index: int
    cls_pad_index: int
    obj_pad_index: int


class YoloxNmsOp(Struct, frozen=True):
    image_height: float
    image_width: float
    bbox_decoders: tuple[YoloxBboxDecoder, ...]


class IOUNmsOp(Struct, frozen=True):
    pass


class YoloSegProtoInfo(Struct, frozen=True):
    number: int
    stride: int
    proto_layer: str


class YoloSegNmsOp(Struct, frozen=True):
    image_height: float
    image_width: float
    bbox_decoders: tuple[YoloBboxDecoder, ...]
    proto_info: YoloSegProtoInfo
    mask_threshold: float


class Yolov8BboxDecoder(Struct, frozen=True):
    stride: int
    reg_pad_index: int
    cls_pad_index: int


class Yolov8NmsOp(Struct, frozen=True):
    image_height: float
    image_width: float
    input_division_factor: int
    bbox_decoders: tuple[Yolov8BboxDecoder, ...]
    regression_length: int


AnyNmsOp: TypeAlias = YoloNmsOp | YoloxNmsOp | SSDNmsOp | IOUNmsOp | YoloSegNmsOp | Yolov8NmsOp


class NmsOp(Struct, frozen=True):
    """`nms_op` is the kind, None where none is set."""

    nms_score_th: float
    nms_iou_th: float
    max_proposals_per_class: int
    classes: int
    background_removal: bool
    background_removal_index: int
    bbox_decoding_only: bool
    nms_op: AnyNmsOp | None


class LogitsOp(Struct, frozen=True):
    logits_type: LogitsType | int


class TensorShape(Struct, frozen=True):
    height: int
    padded_height: int
    width: int
    padded_width: int
    features: int
    padded_features: int


class NmsShape(Struct, frozen=True):
    number_of_classes: int
    max_bboxes_per_class: int
    bbox_size: int
    division_factor: int


class Pad(Struct, frozen=True):
    index: int
    name: str
    format_order: FormatOrder | int
    data_bytes: DataType | int
    format_type: FormatType | int
    numeric_info: EdgeLayerNumericInfo
    shape_info: TensorShape | NmsShape | None


class Op(Struct, frozen=True):
    """A node of the net-flow graph; `op` is None where no kind is set."""

    name: str
    input_pads: tuple[Pad, ...]
    output_pads: tuple[Pad, ...]
    op: CoreOp | NmsOp | LogitsOp | None


class PadEdge(Struct, frozen=True):
    src: int
    dst: int


class NetworkGroup(Struct, frozen=True):
    """One network group, with what the runtime takes from more than one place already settled.

    `network_group_name`: of the first partial group if there are any, else of the metadata (hef-container.md 6.2).
    `sorted_outputs_order`: rules 2 and 3 of hef-container.md 6.3. `networks_names`: what get_network_infos reports,
    empty where that is `<group>/<group>` (stream-infos.md 2). `core_op`: None for a net-flow group without one.
    `ops`, `pad_edges`: the net-flow graph, empty without HAILO_NET_FLOW.
    """

    network_group_name: str
    network_group_metadata: NetworkGroupMetadata
    core_op: CoreOp | None
    ops: tuple[Op, ...]
    pad_edges: tuple[PadEdge, ...]
    sorted_outputs_order: tuple[str, ...]
    networks_names: tuple[str, ...]


# --- the file -------------------------------------------------------------------------------------------------------


class SdkVersion(Struct, frozen=True):
    sdk_version_major: int
    sdk_version_minor: int
    sdk_version_revision: int


class RuntimeVersion(Struct, frozen=True):
    runtime_min_version_major: int
    runtime_min_version_minor: int
    runtime_min_version_patch: int


class Header(Struct, frozen=True):
    """`timestamp` in milliseconds since 1970; `version` is of the message, not of the container."""

    hw_arch: HwArch | int
    timestamp: int
    sdk_version_str: str
    sdk_version: SdkVersion
    version: int
    strict_runtime_min_version: RuntimeVersion


class IncludedFeatures(Struct, frozen=True):
    """Counts only where `Header.version` is 0 (hef-container.md 4)."""

    abbale: bool
    posted_writes: bool
    ddr: bool
    is_multi_context: bool
    compressed_params: bool
    transpose_component: bool
    padded_ddr_buffers: bool
    sequencer: bool


class Extension(Struct, frozen=True):
    """An entry of `extensions` or `optional_extensions`."""

    type_index: int
    name: str


class ExternalResource(Struct, frozen=True):
    """`offset` from the zero point; `xxhash` 0 where none was stored."""

    offset: int
    size: int
    name: str
    xxhash: int
