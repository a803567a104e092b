"""From the edge layers of a context to `LayerInfo`s, with every check that the runtime makes of one by itself.

hef-container.md 7, stream-infos.md 3, transforms.md 3. What must hold across layers is in `emu.hef.layer_checks`.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from emu.errors import HailoError, HailoStatus
from emu.hef import model
from emu.hef.enums import EdgeConnectionType, EdgeLayerDirection, EdgeLayerType, EPlanesFormat, HwArch
from emu.hef.features import SupportedFeatures
from emu.hef.formats import (
    INVALID_QUANT_INFO,
    MAX_LAYER_NAME,
    UINT32_MAX,
    Format,
    FormatFlags,
    FormatOrder,
    NmsInfo,
    QuantInfo,
    Shape,
    binary32,
    device_format_order,
    device_format_type,
)
from emu.hef.layers import LayerInfo, StreamDirection, network_names
from emu.hef.nms import HAILO15_NMS_ARCHS, nms_layer_shape, parse_nms_info
from emu.hef.runtime import HAILO8_FAMILY, V4_20, V4_21, V5_0, V5_1, Runtime

MAX_MUX_PREDECESSORS = 32
_UINT8_MAX, _UINT16_MAX = 0xFF, 0xFFFF

_HAILO15_FAMILY = HAILO15_NMS_ARCHS | {HwArch.HAILO10H, HwArch.MARS}
# Largest periph buffer in bytes per architecture; 5.x takes the default for all, 4.x refuses what is not here.
_DEFAULT_MAX_PERIPH_BYTES = 0x2000
_MAX_PERIPH_BYTES: Mapping[HwArch, int] = dict.fromkeys(HAILO8_FAMILY, 0x10000) | dict.fromkeys(
    _HAILO15_FAMILY, _DEFAULT_MAX_PERIPH_BYTES
)


ARCH_SINCE: Mapping[HwArch, Runtime] = {HwArch.HAILO15L: V4_20, HwArch.MARS: V4_21}  # runtimes.md 2, 3


def _max_periph_bytes(arch: HwArch | int, runtime: Runtime) -> int:
    if runtime >= V5_0:
        return _DEFAULT_MAX_PERIPH_BYTES
    if not isinstance(arch, HwArch) or arch not in _MAX_PERIPH_BYTES or runtime < ARCH_SINCE.get(arch, runtime):
        raise HailoError(HailoStatus.HAILO_INVALID_ARGUMENT, f"hw_arch {int(arch)} is unknown to HailoRT {runtime}")
    return _MAX_PERIPH_BYTES[arch]


class _Owner(Struct, frozen=True):
    """Everything about the surroundings of a layer that its info depends on."""

    arch: HwArch | int
    features: SupportedFeatures
    runtime: Runtime
    max_periph_bytes: int
    core_op: model.CoreOp
    context_index: int
    direction: StreamDirection
    type: EdgeConnectionType
    network_name: str
    network_index: int

    def refuse(self, status: HailoStatus, message: str, name: str) -> HailoError:
        return HailoError(self.runtime.status(status), message, **self.place(name))

    def place(self, name: str) -> dict[str, object]:
        return {"context": self.context_index, "layer": name[:MAX_LAYER_NAME]}


def context_layers(
    group: str,
    core_op: model.CoreOp,
    context: model.Context,
    context_index: int,
    arch: HwArch | int,
    features: SupportedFeatures,
    runtime: Runtime,
) -> tuple[LayerInfo, ...]:
    """The layers of one context in file order; raises HailoError with the status of the runtime's own check."""
    names = network_names(group, core_op, features)
    return tuple(
        _edge_layer(layer, names, core_op, context_index, arch, features, runtime)
        for layer in context.metadata.edge_layers
    )


def _edge_layer(
    layer: model.EdgeLayer,
    names: tuple[str, ...],
    core_op: model.CoreOp,
    context_index: int,
    arch: HwArch | int,
    features: SupportedFeatures,
    runtime: Runtime,
) -> LayerInfo:
    switch = layer.context_switch_info
    if not isinstance(switch.edge_connection_type, EdgeConnectionType):
        raise HailoError(
            HailoStatus.HAILO_INVALID_HEF,
            f"edge_connection_type {switch.edge_connection_type} is none of "
            f"{', '.join(f'{kind.value} {kind.name}' for kind in EdgeConnectionType)}",
            context=context_index,
        )
    network_index = layer.network_index & _UINT8_MAX if features.multi_network_support else 0
    if network_index >= len(names):
        raise HailoError(
            HailoStatus.HAILO_INVALID_ARGUMENT,
            f"network_index {network_index}, but the network group has {len(names)} networks",
            context=context_index,
        )
    direction = StreamDirection.D2H if layer.direction == EdgeLayerDirection.DEVICE_TO_HOST else StreamDirection.H2D
    is_boundary = switch.edge_connection_type is EdgeConnectionType.BOUNDARY
    owner = _Owner(
        arch,
        features,
        runtime,
        _max_periph_bytes(arch, runtime) if is_boundary else 0,
        core_op,
        context_index,
        direction,
        switch.edge_connection_type,
        names[network_index],
        network_index,
    )
    edge = layer.edge
    if not is_boundary:
        if not isinstance(edge, model.EdgeLayerInfo):
            kind = "a mux" if layer.edge_layer_type == EdgeLayerType.MUX else f"of type {layer.edge_layer_type}"
            raise HailoError(
                HailoStatus.HAILO_INVALID_HEF,
                f"an edge layer of connection type {owner.type.name} must be INFO, this one is {kind}",
                context=context_index,
            )
        return _internal_layer(edge, switch, owner)
    if isinstance(edge, model.EdgeLayerInfo):
        info = _info(edge, owner, in_mux=False)
    elif isinstance(edge, model.EdgeLayerMux):
        info = _mux(edge, owner)
    elif isinstance(edge, model.EdgeLayerPlanes):
        info = _planes(edge, owner)
    else:
        raise HailoError(
            HailoStatus.HAILO_INTERNAL_FAILURE,
            f"edge_layer_type {layer.edge_layer_type} is none of INFO, MUX and PLANES",
            context=context_index,
        )
    return replace(info, pad_index=layer.pad_index)


def _internal_layer(edge: model.EdgeLayerInfo, switch: model.ContextSwitchInformation, owner: _Owner) -> LayerInfo:
    """A layer that never reaches the host: neither its name's length nor its quantisation is looked at."""
    invalid = HailoStatus.HAILO_INVALID_HEF
    info = _base(edge.edge_layer_base, edge.name, edge.original_names, False, owner, in_mux=False)
    if owner.type is EdgeConnectionType.CACHE:
        if switch.cache_id < 0:
            raise owner.refuse(invalid, f"cache_id {switch.cache_id} is negative", edge.name)
    else:
        connected = _connected(switch, owner, edge.name)
        if owner.type is EdgeConnectionType.DDR:
            if connected.index != owner.context_index:
                raise owner.refuse(
                    invalid,
                    f"a DDR layer is connected within its context {owner.context_index}, "
                    f"this one to context {connected.index}",
                    edge.name,
                )
            _fits(switch.buffers, _UINT16_MAX, "buffers", edge.name, owner)
    numeric = edge.numeric_info
    scalar = QuantInfo(numeric.qp_zp, numeric.qp_scale, numeric.limvals_min, numeric.limvals_max)
    return replace(
        info,
        quant_info=scalar,
        quant_infos=(scalar,),
        connected_contexts=switch.connected_contexts,
        buffers=switch.buffers,
        cache_id=switch.cache_id,
    )


def _connected(switch: model.ContextSwitchInformation, owner: _Owner, name: str) -> model.ConnectedContextInfo:
    """The other end: the first of at least one (inter-context), the only one (DDR)."""
    connected = switch.connected_contexts
    if not connected or (owner.type is EdgeConnectionType.DDR and len(connected) != 1):
        wanted = "exactly" if owner.type is EdgeConnectionType.DDR else "at least"
        raise owner.refuse(
            HailoStatus.HAILO_INVALID_HEF,
            f"an edge layer of connection type {owner.type.name} has {wanted} 1 connected context, "
            f"this one {len(connected)}",
            name,
        )
    first = connected[0]
    _fits(first.sys_index, _UINT8_MAX, "sys_index of the connected context", name, owner)
    _fits(first.engine_id, _UINT8_MAX, "engine_id of the connected context", name, owner)
    _fits(first.index, _UINT16_MAX, "index of the connected context", name, owner)
    return first


def _fits(value: int, maximum: int, what: str, name: str, owner: _Owner) -> int:
    if value > maximum:
        raise owner.refuse(HailoStatus.HAILO_INVALID_HEF, f"{what} {value} is greater than {maximum}", name)
    return value


def _base(
    base: model.EdgeLayerBase,
    name: str,
    original_names: tuple[str, ...],
    transposed: bool,
    owner: _Owner,
    in_mux: bool,
) -> LayerInfo:
    """What INFO and MUX layers share; the quantisation is still empty."""
    is_boundary = owner.type is EdgeConnectionType.BOUNDARY
    if is_boundary and len(name.encode()) > MAX_LAYER_NAME:
        raise owner.refuse(
            HailoStatus.HAILO_INTERNAL_FAILURE,
            f"a layer name of {len(name.encode())} bytes, {MAX_LAYER_NAME} are possible",
            name,
        )
    order = device_format_order(base.format)
    if is_boundary and base.host_argmax:
        raise owner.refuse(
            HailoStatus.HAILO_HEF_NOT_SUPPORTED, "argmax on the host (host_argmax) needs a newer compile", name
        )
    format_type = device_format_type(base.data_bytes)
    _fits(base.sys_index, _UINT8_MAX, "sys_index", name, owner)
    _fits(base.engine_id, _UINT8_MAX, "engine_id", name, owner)
    _fits(base.core_bytes_per_buffer, _UINT16_MAX, "core_bytes_per_buffer", name, owner)
    _fits(base.core_buffers_per_frame, _UINT16_MAX, "core_buffers_per_frame", name, owner)
    padded = Shape(base.padded_height, base.padded_width, base.padded_features)
    _fits(padded.elements * base.data_bytes, UINT32_MAX, "padded frame size", name, owner)
    shape = Shape(base.height, base.width, base.features)
    core_hw_padding = not in_mux and _core_hw_padding(base, order, owner)
    flags = FormatFlags.NONE
    hw_shape = shape if core_hw_padding else padded
    if transposed and order is not FormatOrder.NC:
        shape, flags = shape.transposed(), FormatFlags.TRANSPOSED
    return LayerInfo(
        type=owner.type,
        direction=owner.direction,
        name=name,
        network_name=owner.network_name,
        network_index=owner.network_index,
        context_index=owner.context_index,
        stream_index=base.sys_index,
        dma_engine_index=base.engine_id,
        format=Format(format_type, order, flags),
        shape=shape,
        hw_shape=hw_shape,
        hw_data_bytes=base.data_bytes,
        quant_info=INVALID_QUANT_INFO,
        quant_infos=(INVALID_QUANT_INFO,),
        core_hw_padding=core_hw_padding,
        core_bytes_per_buffer=base.core_bytes_per_buffer,
        core_buffers_per_frame=base.core_buffers_per_frame,
        max_shmifo_size=base.max_shmifo_size,
        original_names=original_names,
    )


def _core_hw_padding(base: model.EdgeLayerBase, order: FormatOrder, owner: _Owner) -> bool:
    """Whether the core pads rows itself, so that the stream carries unpadded frames (transforms.md 3)."""
    if owner.type is not EdgeConnectionType.BOUNDARY or owner.features.core_hw_padding_config_in_dfc:
        return False
    limit = owner.max_periph_bytes
    if base.max_shmifo_size:
        limit = min(limit, base.max_shmifo_size)
    row = base.width * base.features
    return (
        order is FormatOrder.NHCW
        and base.core_buffers_per_frame == base.height
        and row % 8 == 0
        and row * base.data_bytes <= limit - 1
    )


def _info(edge: model.EdgeLayerInfo, owner: _Owner, in_mux: bool) -> LayerInfo:
    transposed = edge.transposed or owner.core_op.network_group_metadata.transposed_net
    info = _base(edge.edge_layer_base, edge.name, edge.original_names, transposed, owner, in_mux)
    numeric = edge.numeric_info
    scalar = QuantInfo(numeric.qp_zp, numeric.qp_scale, numeric.limvals_min, numeric.limvals_max)
    nms_info = None
    if info.format.order is FormatOrder.HAILO_NMS_ON_CHIP:
        nms_info = parse_nms_info(
            edge.edge_layer_base.additional_info.nms_info,
            owner.arch,
            owner.features.nms_burst_mode,
            **owner.place(edge.name),
        )
        shape = nms_layer_shape(nms_info)
        info = replace(info, nms_info=nms_info, shape=shape, hw_shape=shape)
    quant_info, quant_infos = _quantisation(numeric, scalar, info, owner)
    info = replace(info, quant_info=quant_info, quant_infos=quant_infos)
    fused = owner.core_op.fused_layers_metadata.network_has_fused_layers
    if fused and nms_info is not None and nms_info.is_defused:
        info = replace(info, fused_nms_layer=_fused_layer(nms_info, info, owner))
    return info


def _quantisation(
    numeric: model.EdgeLayerNumericInfo, scalar: QuantInfo, info: LayerInfo, owner: _Owner
) -> tuple[QuantInfo, tuple[QuantInfo, ...]]:
    """The scalar and the vector of quant infos (stream-infos.md 3)."""
    if not owner.features.output_scale_by_feature:
        return scalar, (scalar,)
    count = 2 if info.nms_info is not None else info.shape.features
    is_input = owner.direction is StreamDirection.H2D
    if owner.runtime >= V5_1 and not (numeric.qp_zps or numeric.qp_scales):
        return scalar if is_input else INVALID_QUANT_INFO, (scalar,)
    zps, scales = numeric.qp_zps, numeric.qp_scales
    # from 5.1 on an empty list stands for the scalar, zero points and scales each by itself (hef.cpp)
    given = [values for values in (zps, scales) if values or owner.runtime < V5_1]
    if any(len(values) < count or (len(values) != count and not is_input) for values in given):
        message = f"OUTPUT_SCALE_PER_FEATURE: {len(zps)} qp_zps and {len(scales)} qp_scales for {count} features"
        if is_input:
            message += " (the real runtime reads past the list's end)"
        raise owner.refuse(HailoStatus.HAILO_INVALID_HEF, message, info.name)
    zps, scales = zps or (scalar.zp,) * count, scales or (scalar.scale,) * count
    vector = tuple(
        QuantInfo(binary32(zps[i]), binary32(scales[i]), scalar.limvals_min, scalar.limvals_max) for i in range(count)
    )
    if is_input:
        if any(element != vector[0] for element in vector):
            raise owner.refuse(
                HailoStatus.HAILO_INVALID_HEF, "an input needs the same quantisation for every feature", info.name
            )
        return scalar, vector
    return INVALID_QUANT_INFO, vector


def _fused_layer(part: NmsInfo, info: LayerInfo, owner: _Owner) -> LayerInfo:
    """The fused layer a defused part belongs to; it takes over the part's quantisation (stream-infos.md 5)."""
    original = part.defuse_info.original_name
    for fused in owner.core_op.fused_layers_metadata.fused_layers:
        edge = fused.layer_info
        if edge.name == original:
            base = _base(edge.edge_layer_base, edge.name, (), False, owner, in_mux=True)
            nms_info = parse_nms_info(
                fused.nms_info, owner.arch, owner.features.nms_burst_mode, **owner.place(edge.name)
            )
            shape = nms_layer_shape(nms_info)
            return replace(
                base,
                nms_info=nms_info,
                shape=shape,
                hw_shape=shape,
                quant_info=info.quant_info,
                quant_infos=info.quant_infos,
            )
    raise owner.refuse(
        HailoStatus.HAILO_NOT_FOUND, f"its fused layer {original!r} is not among fused_layers", info.name
    )


def _mux(edge: model.EdgeLayerMux, owner: _Owner) -> LayerInfo:
    """A mux: never transposed, never padded by the core; its predecessors are INFO or mux."""
    info = _base(edge.edge_layer_base, edge.name, edge.original_names, False, owner, in_mux=True)
    data = edge.mux_data
    if data.number_of_predecessors > MAX_MUX_PREDECESSORS:
        raise owner.refuse(
            HailoStatus.HAILO_INVALID_HEF,
            f"a mux of {data.number_of_predecessors} predecessors, {MAX_MUX_PREDECESSORS} are possible",
            edge.name,
        )
    if data.number_of_predecessors > len(edge.predecessors):
        raise owner.refuse(
            HailoStatus.HAILO_INVALID_HEF,
            f"a mux of {data.number_of_predecessors} predecessors that lists {len(edge.predecessors)} (the real "
            f"runtime crashes on it)",
            edge.name,
        )
    predecessors = []
    for predecessor in edge.predecessors[: data.number_of_predecessors]:
        if isinstance(predecessor, model.EdgeLayerInfo):
            predecessors.append(_info(predecessor, owner, in_mux=True))
        elif isinstance(predecessor, model.EdgeLayerMux):
            predecessors.append(_mux(predecessor, owner))
        else:
            raise owner.refuse(
                HailoStatus.HAILO_INTERNAL_FAILURE, "a mux predecessor is neither INFO nor MUX", edge.name
            )
    return replace(
        info,
        is_mux=True,
        height_gcd=data.height_gcd,
        height_ratios=data.height_ratios_list,
        predecessors=tuple(predecessors),
    )


_PLANES_ORDERS = {
    EPlanesFormat.NV12: FormatOrder.NV12,
    EPlanesFormat.NV21: FormatOrder.NV21,
    EPlanesFormat.I420: FormatOrder.I420,
}


def _planes(edge: model.EdgeLayerPlanes, owner: _Owner) -> LayerInfo:
    """A multi-planar layer: one vstream in the planes' common type, one stream per plane."""
    if not isinstance(edge.planes_format, EPlanesFormat):
        raise owner.refuse(
            HailoStatus.HAILO_INVALID_HEF,
            f"planes_format {edge.planes_format} is none of NV12, NV21 and I420",
            edge.name,
        )
    planes = []
    for index, plane in enumerate(edge.planes):
        if not isinstance(plane, model.EdgeLayerInfo):
            raise owner.refuse(HailoStatus.HAILO_INTERNAL_FAILURE, f"plane {index} is not INFO", edge.name)
        planes.append(_info(plane, owner, in_mux=False))
    sizes = sorted({plane.hw_data_bytes for plane in planes})
    if len(sizes) != 1:
        raise owner.refuse(
            HailoStatus.HAILO_INVALID_HEF, f"its planes have data_bytes {sizes}, one value is needed", edge.name
        )
    if len(edge.name.encode()) > MAX_LAYER_NAME:
        raise owner.refuse(HailoStatus.HAILO_INTERNAL_FAILURE, "its name is too long", edge.name)
    shape = Shape(edge.height, edge.width, edge.features)
    first = planes[0]
    return replace(
        first,
        name=edge.name,
        format=Format(first.format.type, _PLANES_ORDERS[edge.planes_format]),
        shape=shape,
        hw_shape=shape,
        quant_info=INVALID_QUANT_INFO,
        quant_infos=(INVALID_QUANT_INFO,),
        core_hw_padding=False,
        original_names=(),
        planes=tuple(planes),
    )
