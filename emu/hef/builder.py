"""Records of the model with sensible defaults, for building HEFs by hand: examples, tests, experiments.

    >>> from emu.hef import builder, operations as ops
    >>> from emu.hef.enums import EdgeConnectionType, EdgeLayerDirection, HwArch
    >>> from emu.hef.formats import Shape
    >>> from emu.hef.writer import write_hef
    >>> shape = Shape(8, 8, 4)
    >>> pixels = builder.layer_info("net/in", builder.layer_base(shape, sys_index=0))
    >>> answer = builder.layer_info("net/out", builder.layer_base(shape, sys_index=16))
    >>> layers = [
    ...     builder.edge_layer(pixels, EdgeLayerDirection.HOST_TO_DEVICE),
    ...     builder.edge_layer(answer, EdgeLayerDirection.DEVICE_TO_HOST),
    ... ]
    >>> flow = ops.ActionAllowInputDataflow(0, EdgeConnectionType.BOUNDARY)
    >>> lists = [
    ...     builder.operation(ops.TriggerNone(), flow),
    ...     builder.operation(ops.TriggerAllDataWasSentToHostPCIe(16)),
    ... ]
    >>> core = builder.core_op("net", [builder.context(lists, layers)], sorted_outputs=["net/out"], networks=["net"])
    >>> data = write_hef(builder.hef_contents(HwArch.HAILO8P, [builder.network_group(core)]), version=2)

and it runs:

    >>> import emu
    >>> [stream.frames for stream in emu.run(data, frames=3).network_groups[0].streams]
    [3, 3]

Every function returns an immutable record; `msgspec.structs.replace` changes what has no argument here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from emu.hef import model
from emu.hef import operations as ops
from emu.hef.enums import (
    EdgeConnectionType,
    EdgeLayerDirection,
    EdgeLayerType,
    EPlanesFormat,
    ExtensionType,
    HwArch,
    NmsBurstType,
)
from emu.hef.formats import COMPILER_FORMAT_NMS, Shape, align_up, binary32
from emu.hef.writer import HefContents

COMPILER_FORMAT_NHCW = 1
COMPILER_FORMAT_NC = 2
MAX_SHMIFO_SIZE = 65536  # bytes; what compilers of Hailo-8 files write
NO_CACHE = -1
LCU_ENABLE_ADDRESS = 0x108001DC  # of LCU 0 in cluster 0 (ccw.md)

_NO_NMS_INFO = model.NmsInfo(0, 0, 0, 0, False, model.NmsDefuseInfo(0, ""), 0, 0, NmsBurstType.NO_BURST)


def extension(kind: ExtensionType) -> model.Extension:
    return model.Extension(int(kind), kind.name)


def hef_contents(
    arch: HwArch,
    groups: Iterable[model.NetworkGroup],
    *,
    extensions: Iterable[ExtensionType] = (),
    optional_extensions: Iterable[ExtensionType] = (),
    sdk_version: tuple[int, int, int] = (0, 0, 0),
    sdk_version_str: str = "",
    timestamp: int = 0,
    header_version: int = 4,
    before_3_24: bool = False,
) -> HefContents:
    """A file for `arch`; PERIPH_CALCULATION_IN_HAILORT, which HailoRT needs from 4.21 on, is there unless the file is
    to be as compilers before 3.24 made them."""
    own = () if before_3_24 else (ExtensionType.PERIPH_CALCULATION_IN_HAILORT,)
    kinds = list(dict.fromkeys([*own, *extensions]))
    return HefContents(
        header=model.Header(
            arch,
            timestamp,
            sdk_version_str,
            model.SdkVersion(*sdk_version),
            header_version,
            model.RuntimeVersion(0, 0, 0),
        ),
        network_groups=tuple(groups),
        extensions=tuple(extension(kind) for kind in kinds),
        optional_extensions=tuple(extension(kind) for kind in optional_extensions),
    )


# --- edge layers ----------------------------------------------------------------------------------------------------


def numeric_info(
    zp: float = 0.0, scale: float = 1.0, limvals_min: float = 0.0, limvals_max: float = 255.0, features: int = 0
) -> model.EdgeLayerNumericInfo:
    """Quantisation, rounded to binary32; `features` > 0 also fills the vectors of OUTPUT_SCALE_PER_FEATURE."""
    zp, scale = binary32(zp), binary32(scale)
    return model.EdgeLayerNumericInfo(
        zp, scale, binary32(limvals_min), binary32(limvals_max), (zp,) * features, (scale,) * features
    )


def layer_base(
    shape: Shape,
    *,
    padded: Shape | None = None,
    format: int = COMPILER_FORMAT_NHCW,
    sys_index: int = 0,
    engine_id: int = 0,
    data_bytes: int = 1,
    core_bytes_per_buffer: int | None = None,
    core_buffers_per_frame: int | None = None,
    max_shmifo_size: int = MAX_SHMIFO_SIZE,
    nms_info: model.NmsInfo = _NO_NMS_INFO,
) -> model.EdgeLayerBase:
    """Geometry and position of a layer; without `padded` the width is rounded up to 8, as compilers do for NHCW.

    A core buffer is one padded row unless given.
    """
    if padded is None:
        width = align_up(shape.width, 8) if format == COMPILER_FORMAT_NHCW else shape.width
        padded = Shape(shape.height, width, shape.features)
    row = padded.width * padded.features * data_bytes
    return model.EdgeLayerBase(
        height=shape.height,
        padded_height=padded.height,
        width=shape.width,
        padded_width=padded.width,
        features=shape.features,
        padded_features=padded.features,
        format=format,
        sys_index=sys_index,
        core_bytes_per_buffer=row if core_bytes_per_buffer is None else core_bytes_per_buffer,
        core_buffers_per_frame=padded.height if core_buffers_per_frame is None else core_buffers_per_frame,
        additional_info=model.AdditionalInfo(nms_info),
        data_bytes=data_bytes,
        buffer_indices=(model.ResourceIndices(0, 0),),
        host_argmax=False,
        max_shmifo_size=max_shmifo_size,
        engine_id=engine_id,
    )


def layer_info(
    name: str,
    base: model.EdgeLayerBase,
    numeric: model.EdgeLayerNumericInfo | None = None,
    *,
    original_names: Sequence[str] = (),
    transposed: bool = False,
) -> model.EdgeLayerInfo:
    return model.EdgeLayerInfo(name, name, base, numeric or numeric_info(), tuple(original_names), transposed)


def nms_layer_info(
    name: str,
    *,
    classes: int,
    max_output_size: int,
    sys_index: int = 0,
    burst_type: NmsBurstType = NmsBurstType.NO_BURST,
    burst_size: int = 1,
    input_division_factor: int = 1,
    numeric: model.EdgeLayerNumericInfo | None = None,
) -> model.EdgeLayerInfo:
    """An on-chip NMS output; bboxes are 8 bytes."""
    nms_info = model.NmsInfo(
        0,
        classes,
        max_output_size,
        8,
        False,
        model.NmsDefuseInfo(0, ""),
        input_division_factor,
        burst_size,
        burst_type,
    )
    base = layer_base(Shape(1, 1, 1), format=COMPILER_FORMAT_NMS, sys_index=sys_index, data_bytes=2, nms_info=nms_info)
    return layer_info(name, base, numeric)


def mux_layer(
    name: str,
    base: model.EdgeLayerBase,
    predecessors: Sequence[model.EdgeLayerInfo | model.EdgeLayerMux],
    *,
    height_gcd: int,
    height_ratios: Sequence[int],
) -> model.EdgeLayerMux:
    data = model.EdgeLayerMuxData(len(predecessors), height_gcd, len(height_ratios), tuple(height_ratios))
    return model.EdgeLayerMux(name, name, base, data, tuple(predecessors), ())


def planes_layer(
    name: str, planes_format: EPlanesFormat, planes: Sequence[model.EdgeLayerInfo], shape: Shape
) -> model.EdgeLayerPlanes:
    return model.EdgeLayerPlanes(name, planes_format, tuple(planes), *shape)


def edge_layer(
    edge: model.Edge,
    direction: EdgeLayerDirection,
    *,
    context_index: int = 0,
    connection: EdgeConnectionType = EdgeConnectionType.BOUNDARY,
    connected: Sequence[tuple[int, int]] = (),
    buffers: int = 0,
    cache_id: int = NO_CACHE,
    network_index: int = 0,
    pad_index: int | None = None,
) -> model.EdgeLayer:
    """A layer of context `context_index`; `connected` holds (context index, sys_index) of the other ends."""
    kind = EdgeLayerType.INFO
    if isinstance(edge, model.EdgeLayerMux):
        kind = EdgeLayerType.MUX
    elif isinstance(edge, model.EdgeLayerPlanes):
        kind = EdgeLayerType.PLANES
    other = connected[0] if connected else (0, 0)
    switch = model.ContextSwitchInformation(
        context_index=context_index,
        context_name=f"context_{context_index}",
        edge_connection_type=connection,
        connected_context_index=other[0],
        connected_context_name=f"context_{other[0]}" if connected else "",
        buffers=buffers,
        connected_sys_index=other[1],
        connected_contexts=tuple(
            model.ConnectedContextInfo(index, f"context_{index}", stream, 0) for index, stream in connected
        ),
        cache_id=cache_id,
    )
    return model.EdgeLayer(direction, kind, edge, switch, network_index, pad_index)


# --- operations, contexts, groups -----------------------------------------------------------------------------------


def operation(trigger: ops.Trigger, *actions: ops.Action) -> ops.Operation:
    return ops.Operation(trigger, actions)


def context(
    operations: Iterable[ops.Operation],
    edge_layers: Iterable[model.EdgeLayer],
    *,
    index: int = 0,
    sorted_outputs: Iterable[str] = (),
) -> model.Context:
    metadata = model.ContextMetadata(f"context_{index}", tuple(edge_layers), tuple(sorted_outputs))
    return model.Context(index, tuple(operations), metadata)


def core_op(
    name: str,
    contexts: Iterable[model.Context],
    *,
    preliminary: Iterable[ops.Operation] | None = None,
    sorted_outputs: Iterable[str] = (),
    networks: Iterable[str] = (),
    config_channels: int = 1,
    bottleneck_fps: float = 0.0,
    latency_s: float = 0.0,
    layouts: Iterable[tuple[int, model.CoreOp]] = (),
) -> model.CoreOp:
    """What runs on the chip; `layouts` holds (cluster bitmap, core op) alternatives for HAILO8L and HAILO15M.

    `preliminary` None: one LCU is switched off. A device takes no group without a preliminary list, and an empty one is
    never sent (`()` makes such a file).
    """
    if preliminary is None:
        preliminary = (operation(ops.TriggerNone(), ops.ActionDisableLcu(0, 0, LCU_ENABLE_ADDRESS)),)
    metadata = model.NetworkGroupMetadata(
        network_group_name=name,
        network_group_index=0,
        transposed_net=False,
        bottleneck_fps=bottleneck_fps,
        latency=latency_s,
        cfg_channels_count=config_channels,
        cfg_channels_config=tuple(model.CfgChannelConfig(index, 0) for index in range(config_channels)),
        computational_ops=0,
    )
    return model.CoreOp(
        network_group_metadata=metadata,
        preliminary_config=ops.PreliminaryConfig(tuple(preliminary)),
        contexts=tuple(contexts),
        sorted_outputs_order=tuple(sorted_outputs),
        fused_layers_metadata=model.FusedLayersMetadata(False, (), ()),
        networks_names=tuple(networks),
        partial_core_ops=tuple(model.PartialCoreOp(part, model.PhysicalLayout(bitmap)) for bitmap, part in layouts),
    )


def network_group(core: model.CoreOp) -> model.NetworkGroup:
    """A group in the legacy layout (without HAILO_NET_FLOW); with layouts it takes its names from the first."""
    first = core.partial_core_ops[0].core_op if core.partial_core_ops else core
    return model.NetworkGroup(
        network_group_name=first.network_group_metadata.network_group_name,
        network_group_metadata=core.network_group_metadata,
        core_op=core,
        ops=(),
        pad_edges=(),
        sorted_outputs_order=first.sorted_outputs_order or core.sorted_outputs_order,
        networks_names=core.networks_names or first.networks_names,
    )


def net_flow_group(
    core: model.CoreOp,
    post_process: Iterable[model.Op] = (),
    pad_edges: Iterable[tuple[int, int]] = (),
    *,
    sorted_outputs: Iterable[str] = (),
) -> model.NetworkGroup:
    """A group in the ops[] layout (HAILO_NET_FLOW); `pad_edges` are (source pad, destination pad)."""
    name = core.network_group_metadata.network_group_name
    return model.NetworkGroup(
        network_group_name=name,
        network_group_metadata=core.network_group_metadata,
        core_op=core,
        ops=(model.Op(name, (), (), core), *post_process),
        pad_edges=tuple(model.PadEdge(source, destination) for source, destination in pad_edges),
        sorted_outputs_order=tuple(sorted_outputs),
        networks_names=core.networks_names,
    )
