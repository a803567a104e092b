"""Network groups, networks, streams and vstreams of a HEF, as the getters of libhailort report them.

stream-infos.md is the specification; `hef_infos(hef)` makes everything at once, and with it every check of edge layers
and post-process ops that the runtime makes when it loads the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from emu.errors import HailoError, HailoStatus
from emu.hef import model
from emu.hef.enums import EdgeConnectionType
from emu.hef.features import SupportedFeatures
from emu.hef.formats import (
    NMS_ORDERS,
    Format,
    FormatOrder,
    FormatType,
    NmsInfo,
    NmsShape,
    QuantInfo,
    Shape,
    frame_size,
    nms_frame_size,
)
from emu.hef.layers import LayerInfo, StreamDirection, host_format, network_names
from emu.hef.load import Loaded, alternatives, check_load
from emu.hef.ops import OpInfo, group_ops
from emu.hef.runtime import Runtime

if TYPE_CHECKING:
    from emu.hef import Hef

# bytes without the closing NUL (HAILO_MAX_NETWORK_GROUP_NAME_SIZE and HAILO_MAX_NETWORK_NAME_SIZE of hailort.h)
MAX_NETWORK_GROUP_NAME = 127
MAX_NETWORK_NAME = 256


class StreamInfo(Struct, frozen=True):
    """`hailo_stream_info_t` and `quant_infos` of one stream; NMS streams have `nms_info`, whose shapes mean nothing."""

    name: str
    network_name: str
    direction: StreamDirection
    index: int
    format: Format
    shape: Shape
    hw_shape: Shape
    hw_data_bytes: int
    hw_frame_size: int
    quant_info: QuantInfo
    quant_infos: tuple[QuantInfo, ...]
    is_mux: bool
    nms_info: NmsInfo | None
    layer: LayerInfo


class VStreamInfo(Struct, frozen=True):
    """`hailo_vstream_info_t`: `nms_shape` for NMS orders, `shape` for all others.

    `frame_size` is in bytes, of the format given here. `streams` are the device streams that it is made of or feeds.
    """

    name: str
    network_name: str
    direction: StreamDirection
    format: Format
    shape: Shape | None
    nms_shape: NmsShape | None
    quant_info: QuantInfo
    frame_size: int
    streams: tuple[str, ...]


class NetworkGroupInfo(Struct, frozen=True):
    """Everything the getters say about one network group.

    Streams and input vstreams are in layer order, output vstreams in the order of `sorted_output_names`.
    """

    name: str
    is_multi_context: bool
    dynamic_contexts: int
    networks: tuple[str, ...]
    bottleneck_fps: float
    sorted_output_names: tuple[str, ...]
    input_streams: tuple[StreamInfo, ...]
    output_streams: tuple[StreamInfo, ...]
    input_vstreams: tuple[VStreamInfo, ...]
    output_vstreams: tuple[VStreamInfo, ...]
    ops: tuple[OpInfo, ...]
    layers: tuple[tuple[LayerInfo, ...], ...]

    @property
    def streams(self) -> tuple[StreamInfo, ...]:
        return self.input_streams + self.output_streams

    @property
    def vstreams(self) -> tuple[VStreamInfo, ...]:
        return self.input_vstreams + self.output_vstreams

    @property
    def default_network_name(self) -> str:
        return f"{self.name}/{self.name}"

    def boundary_layers(self) -> tuple[LayerInfo, ...]:
        return tuple(layer for context in self.layers for layer in context if layer.type is EdgeConnectionType.BOUNDARY)

    def streams_of(self, network: str, direction: StreamDirection) -> tuple[StreamInfo, ...]:
        """Streams of a network ("" and the default name: of all); HAILO_NOT_FOUND if it is unknown or has none."""
        return self.streams_by_network(direction)[self._existing(network, direction)]

    def vstreams_of(self, network: str, direction: StreamDirection) -> tuple[VStreamInfo, ...]:
        """As `streams_of`; vstreams of ops belong to every network (stream-infos.md 2)."""
        return self.vstreams_by_network(direction)[self._existing(network, direction)]

    def streams_by_network(self, direction: StreamDirection) -> Mapping[str, tuple[StreamInfo, ...]]:
        """The streams of every network that has one, and under the default name all of them."""
        streams = self.input_streams if direction is StreamDirection.H2D else self.output_streams
        found: dict[str, list[StreamInfo]] = {}
        for stream in streams:
            found.setdefault(stream.network_name, []).append(stream)
        return {name: tuple(items) for name, items in found.items()} | {self.default_network_name: streams}

    def vstreams_by_network(self, direction: StreamDirection) -> Mapping[str, tuple[VStreamInfo, ...]]:
        """As `streams_by_network`, in the order of the vstreams; those of ops are in every network."""
        vstreams = self.input_vstreams if direction is StreamDirection.H2D else self.output_vstreams
        op_outputs = {op.output_name for op in self.ops}
        names = self.streams_by_network(direction)
        found: dict[str, list[VStreamInfo]] = {name: [] for name in names}
        for vstream in vstreams:
            for name in found if vstream.name in op_outputs else (vstream.network_name,):
                found.setdefault(name, []).append(vstream)
        return {name: tuple(items) for name, items in found.items()} | {self.default_network_name: vstreams}

    def original_names(self, vstream: str) -> tuple[str, ...]:
        """Names the layer had in the original model; HAILO_NOT_FOUND for an op's output or a fused layer."""
        for layer in self.boundary_layers():
            for leaf in layer.leaves():
                if leaf.name == vstream:
                    return leaf.all_original_names()
        raise HailoError(HailoStatus.HAILO_NOT_FOUND, f"vstream {vstream!r} has no original names")

    def vstreams_of_stream(self, stream: str) -> tuple[str, ...]:
        """Names of the vstreams that a device stream carries (stream-infos.md 6); HAILO_NOT_FOUND if unknown."""
        for layer in self.boundary_layers():
            if any(part.name == stream for part in layer.streams()):
                outputs = tuple(op.output_name for op in self.ops if stream in op.inputs)
                if outputs:
                    return outputs
                if layer.fused_nms_layer is not None:
                    return (layer.fused_nms_layer.name,)
                return tuple(leaf.name for leaf in layer.leaves())
        raise HailoError(HailoStatus.HAILO_NOT_FOUND, f"there is no stream {stream!r} in {self.name!r}")

    def _existing(self, network: str, direction: StreamDirection) -> str:
        """The full name of a network that has streams of this direction."""
        if network in ("", self.default_network_name):
            return self.default_network_name
        if network not in self.networks:
            raise HailoError(HailoStatus.HAILO_NOT_FOUND, f"there is no network {network!r} in {self.name!r}")
        if network not in self.streams_by_network(direction):
            raise self.without_streams(network, direction)
        return network

    @staticmethod
    def without_streams(network: str, direction: StreamDirection) -> HailoError:
        """What a query about a network without streams of a direction raises."""
        side = "input" if direction is StreamDirection.H2D else "output"
        return HailoError(HailoStatus.HAILO_NOT_FOUND, f"network {network!r} has no {side} streams")


class HefInfos(Struct, frozen=True):
    """The network groups in the runtime's own order: the first is the default one (hef-container.md 3.1)."""

    network_groups: tuple[NetworkGroupInfo, ...]

    def sorted_by_name(self) -> tuple[NetworkGroupInfo, ...]:
        """As get_network_groups_infos and parse-hef list them."""
        return tuple(sorted(self.network_groups, key=lambda group: group.name.encode()))

    def find(self, name: str) -> tuple[NetworkGroupInfo, str]:
        """The group and network that a name stands for (stream-infos.md 1); HAILO_NOT_FOUND.

        "" is the default group; a group's name stands for all its networks, which is the network "".
        """
        if not name and self.network_groups:
            return self.network_groups[0], ""
        for group in self.network_groups:
            if name in (group.name, group.default_network_name):
                return group, ""
            if name in group.networks:
                return group, name
        raise HailoError(HailoStatus.HAILO_NOT_FOUND, f"there is no network group or network {name!r}")


def hef_infos(hef: Hef) -> HefInfos:
    """All infos of a HEF under `hef.version`; raises as `check_load` does where the runtime would not load it."""
    loaded = check_load(hef)
    return HefInfos(tuple(_network_group_info(hef, group, loaded) for group in hef.ordered_network_groups))


def _network_group_info(hef: Hef, group: model.NetworkGroup, loaded: Loaded) -> NetworkGroupInfo:
    """Infos of one group; of a partial one those of the layout with the smallest bitmap."""
    name = group.network_group_name
    if len(name.encode()) > MAX_NETWORK_GROUP_NAME:
        raise HailoError(
            HailoStatus.HAILO_INTERNAL_FAILURE,
            f"a network group name of {len(name.encode())} bytes, {MAX_NETWORK_GROUP_NAME} are possible",
        )
    found = alternatives(hef, group)
    by_layout = dict(found)
    info = _core_op_info(hef, group, by_layout[min(by_layout, key=lambda layout: layout or 0)], loaded)
    # these two are taken from the first layout in the file (fw-trace.md 1; captures of part_15m)
    first = found[0][1]
    return replace(
        info,
        is_multi_context=len(first.contexts) > 1,
        bottleneck_fps=first.network_group_metadata.bottleneck_fps,
    )


def _core_op_info(hef: Hef, group: model.NetworkGroup, core_op: model.CoreOp, loaded: Loaded) -> NetworkGroupInfo:
    name = group.network_group_name
    runtime, features, layers = hef.version, hef.features, loaded.layers(core_op)
    boundary = [layer for context in layers for layer in context if layer.type is EdgeConnectionType.BOUNDARY]
    inputs = [layer for layer in boundary if layer.direction is StreamDirection.H2D]
    outputs = [layer for layer in boundary if layer.direction is StreamDirection.D2H]
    ops = group_ops(group, outputs, runtime) if features.hailo_net_flow else ()
    order = _sorted_output_names(group, core_op)
    output_vstreams = _output_vstreams(outputs, ops, f"{name}/{name}", runtime)
    return NetworkGroupInfo(
        name=name,
        is_multi_context=len(core_op.contexts) > 1,
        dynamic_contexts=len(core_op.contexts),
        networks=_reported_networks(group, features, core_op),
        bottleneck_fps=core_op.network_group_metadata.bottleneck_fps,
        sorted_output_names=order,
        input_streams=tuple(_stream(part) for layer in inputs for part in layer.streams()),
        output_streams=tuple(_stream(part) for layer in outputs for part in layer.streams()),
        input_vstreams=tuple(_layer_vstream(layer, _part_names(layer), runtime) for layer in inputs),
        output_vstreams=_sort_outputs(output_vstreams, order, name),
        ops=ops,
        layers=layers,
    )


def _reported_networks(
    group: model.NetworkGroup, features: SupportedFeatures, core_op: model.CoreOp
) -> tuple[str, ...]:
    name = group.network_group_name
    for full_name in network_names(name, core_op, features):
        if len(full_name.encode()) > MAX_NETWORK_NAME:
            raise HailoError(
                HailoStatus.HAILO_INTERNAL_FAILURE,
                f"a network name of {len(full_name.encode())} bytes, {MAX_NETWORK_NAME} are possible",
            )
    if not features.multi_network_support or not group.networks_names:
        return (f"{name}/{name}",)
    return tuple(f"{name}/{network}" for network in group.networks_names)


def _sorted_output_names(group: model.NetworkGroup, core_op: model.CoreOp) -> tuple[str, ...]:
    """hef-container.md 6.3."""
    fused = core_op.fused_layers_metadata
    if fused.network_has_fused_layers:
        return fused.updated_sorted_output_names
    if group.sorted_outputs_order:
        return group.sorted_outputs_order
    return core_op.contexts[-1].metadata.sorted_outputs_order


def _stream(layer: LayerInfo) -> StreamInfo:
    return StreamInfo(
        name=layer.name,
        network_name=layer.network_name,
        direction=layer.direction,
        index=layer.stream_index,
        format=layer.format,
        shape=layer.shape,
        hw_shape=layer.hw_shape,
        hw_data_bytes=layer.hw_data_bytes,
        hw_frame_size=layer.hw_frame_size,
        quant_info=layer.quant_info,
        quant_infos=layer.quant_infos,
        is_mux=layer.is_mux,
        nms_info=layer.nms_info,
        layer=layer,
    )


def _part_names(layer: LayerInfo) -> tuple[str, ...]:
    return tuple(part.name for part in layer.streams())


def vstream_frame_size(format: Format, shape: Shape | None, nms_shape: NmsShape | None, runtime: Runtime) -> int:
    """Bytes of a vstream's frame in `format`."""
    if format.order in NMS_ORDERS and nms_shape is not None:
        return nms_frame_size(nms_shape, format.order, runtime.name)
    assert shape is not None
    return frame_size(shape, format)


def _vstream(
    name: str,
    network_name: str,
    direction: StreamDirection,
    format: Format,
    shape: Shape | None,
    nms_shape: NmsShape | None,
    quant_info: QuantInfo,
    streams: tuple[str, ...],
    runtime: Runtime,
) -> VStreamInfo:
    return VStreamInfo(
        name,
        network_name,
        direction,
        format,
        shape,
        nms_shape,
        quant_info,
        vstream_frame_size(format, shape, nms_shape, runtime),
        streams,
    )


def _layer_vstream(layer: LayerInfo, streams: tuple[str, ...], runtime: Runtime) -> VStreamInfo:
    """The vstream of an ordinary layer, a mux leaf, a planes layer or an (un)fused on-chip NMS layer."""
    output = host_format(layer)
    shape: Shape | None = layer.shape
    nms_shape: NmsShape | None = None
    if layer.nms_info is not None and output.order is FormatOrder.HAILO_NMS_BY_CLASS:
        output = Format(FormatType.FLOAT32, output.order, output.flags)
        boxes = layer.nms_info.max_bboxes_per_class * layer.nms_info.chunks_per_frame
        classes = layer.nms_info.number_of_classes
        shape, nms_shape = None, NmsShape(classes, boxes, boxes * classes)
    return _vstream(
        layer.name,
        layer.network_name,
        layer.direction,
        output,
        shape,
        nms_shape,
        layer.quant_info,
        streams,
        runtime,
    )


def _output_vstreams(
    outputs: Iterable[LayerInfo], ops: tuple[OpInfo, ...], default_network: str, runtime: Runtime
) -> list[VStreamInfo]:
    """In the order before sorting: layers that no op reads, then ops (stream-infos.md 5)."""
    layers = list(outputs)
    read_by_ops = {name for op in ops for name in op.inputs}
    parts: dict[str, list[str]] = {}
    for layer in layers:
        if layer.fused_nms_layer is not None:
            parts.setdefault(layer.fused_nms_layer.name, []).append(layer.name)
    vstreams: list[VStreamInfo] = []
    fused_done: set[str] = set()
    for layer in layers:
        if layer.name in read_by_ops:
            continue
        fused = layer.fused_nms_layer
        if fused is not None:
            if fused.name not in fused_done:
                fused_done.add(fused.name)
                vstreams.append(_layer_vstream(fused, tuple(parts[fused.name]), runtime))
            continue
        vstreams.extend(_layer_vstream(leaf, (layer.name,), runtime) for leaf in layer.leaves())
    vstreams.extend(_op_vstream(op, default_network, runtime) for op in ops)
    return vstreams


def _op_vstream(op: OpInfo, default_network: str, runtime: Runtime) -> VStreamInfo:
    return _vstream(
        op.output_name,
        default_network,
        StreamDirection.D2H,
        op.format,
        op.shape,
        op.nms_shape,
        op.quant_info,
        tuple(op.inputs),
        runtime,
    )


def _sort_outputs(vstreams: list[VStreamInfo], order: tuple[str, ...], group: str) -> tuple[VStreamInfo, ...]:
    """By position in the sorted output names; a single vstream never consults the list."""
    if len(vstreams) < 2:
        return tuple(vstreams)
    positions: dict[str, int] = {}
    for position, name in enumerate(order):
        positions.setdefault(name, position)
    missing = [vstream.name for vstream in vstreams if vstream.name not in positions]
    if missing:
        raise HailoError(
            HailoStatus.HAILO_INTERNAL_FAILURE,
            f"output vstream {missing[0]!r} of {group!r} is not among its sorted output names",
        )
    return tuple(sorted(vstreams, key=lambda vstream: positions[vstream.name]))


def ops_by_output(info: NetworkGroupInfo) -> Mapping[str, OpInfo]:
    """The group's ops by the name of the vstream they produce."""
    return {op.output_name: op for op in info.ops}
