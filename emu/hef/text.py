"""What `hailortcli parse-hef` prints about a HEF, to the byte (fw-trace.md 1, stream-infos.md 8)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Generic, TypeVar

from emu.errors import without_controls
from emu.hef.devices import ARCH_DEVICES
from emu.hef.enums import HwArch
from emu.hef.formats import Format, FormatOrder, NmsShape, Shape
from emu.hef.infos import HefInfos, NetworkGroupInfo, StreamInfo, VStreamInfo, hef_infos
from emu.hef.layers import StreamDirection
from emu.hef.runtime import V5_0

if TYPE_CHECKING:
    from emu.hef import Hef

T = TypeVar("T")

_TAB = "    "
_UNKNOWN_ARCHITECTURE = "UNKNOWN ARCHITECTURE"

# words of the runtime that differ from the member's own name
_ORDER_WORDS = {
    FormatOrder.BAYER_RGB: "BAYER RGB",
    FormatOrder.BAYER_RGB_12_BIT: "12 BIT BAYER RGB",
    FormatOrder.RGB888: "RGB 888",
    FormatOrder.HAILO_YYUV: "YYUV",
    FormatOrder.HAILO_YYVU: "YYVU",
    FormatOrder.HAILO_YYYYUV: "YYYYUV",
    FormatOrder.HAILO_NMS_WITH_BYTE_MASK: "HAILO NMS WITH BYTE MASK",
    FormatOrder.HAILO_NMS_ON_CHIP: "HAILO NMS ON CHIP",
    FormatOrder.HAILO_NMS_BY_CLASS: "HAILO NMS BY CLASS",
    FormatOrder.HAILO_NMS_BY_SCORE: "HAILO NMS BY SCORE",
    FormatOrder.AUTO: "INVALID_FORMAT_ORDER",
    FormatOrder.HAILO_NMS: "INVALID_FORMAT_ORDER",
}

# 4.x knows one device per architecture, and two of them by other names
_LEGACY_DEVICES: dict[int, str] = {HwArch.MARS: "MARS", HwArch.HAILO10H: "HAILO10H"}


def parse_hef_text(hef: Hef, *, streams: bool = False, vstreams: bool = True) -> str:
    """The text of parse-hef, but for control characters, which are escaped: a terminal would act upon them.

    Raises as `hef_infos`, and HAILO_NOT_FOUND for a network without inputs or outputs.
    """
    return "".join(f"{without_controls(line)}\n" for line in _lines(hef, hef_infos(hef), streams, vstreams))


def _lines(hef: Hef, infos: HefInfos, streams: bool, vstreams: bool) -> Iterator[str]:
    yield from _head(hef)
    for group in infos.sorted_by_name():
        contexts = "Single Context"
        if group.is_multi_context:
            contexts = f"Multi Context - Number of contexts: {group.dynamic_contexts}"
        yield f"Network group name: {group.name}, {contexts}"
        stream_lines = _Listing(group, group.streams_by_network, _stream_line)
        vstream_lines = _Listing(group, group.vstreams_by_network, _vstream_line)
        for network in group.networks:
            yield f"{_TAB}Network name: {network}"
            if streams:
                yield f"{_TAB * 2}Stream infos:"
                yield from stream_lines.of(network)
            if vstreams:
                yield f"{_TAB * 2}VStream infos:"
                yield from vstream_lines.of(network)
                yield from _operation(group)


def _head(hef: Hef) -> Iterator[str]:
    arch = hef.header.hw_arch
    devices = ARCH_DEVICES.get(arch, (_UNKNOWN_ARCHITECTURE,))
    if hef.version < V5_0:
        yield f"Architecture HEF was compiled for: {_LEGACY_DEVICES.get(arch, devices[0])}"
        return
    yield f"HEF Compatible for: {', '.join(devices)}"
    sdk = hef.header.sdk_version
    version = f"{sdk.sdk_version_major}.{sdk.sdk_version_minor}.{sdk.sdk_version_revision}"
    if version != "0.0.0":
        yield f"HEF Compiler Version: {version}"


class _Listing(Generic[T]):
    """The lines of a group's streams or vstreams, network by network: inputs, then outputs."""

    def __init__(
        self,
        group: NetworkGroupInfo,
        by_network: Callable[[StreamDirection], Mapping[str, tuple[T, ...]]],
        line: Callable[[T], str],
    ) -> None:
        self._group = group
        self._line = line
        self._found = [
            ("Input ", StreamDirection.H2D, by_network(StreamDirection.H2D)),
            ("Output", StreamDirection.D2H, by_network(StreamDirection.D2H)),
        ]

    def of(self, network: str) -> Iterator[str]:
        for word, direction, by_network in self._found:
            if network not in by_network:
                raise self._group.without_streams(network, direction)
            for item in by_network[network]:
                yield f"{_TAB * 3}{word} {self._line(item)}"


def _operation(group: NetworkGroupInfo) -> Iterator[str]:
    """The runtime overwrites the description op by op: the last one is what it prints."""
    if group.ops:
        yield f"{_TAB * 3}Operation:"
        for token in group.ops[-1].description.split(", "):
            yield f"{_TAB * 4}{token}"


def _format(format: Format) -> str:
    return f"{format.type.name}, {_ORDER_WORDS.get(format.order, format.order.name)}"


def _stream_line(stream: StreamInfo) -> str:
    text = f"{stream.name} {_format(stream.format)}"
    if stream.nms_info is not None:
        return f"{text}(maximum frame size: {stream.hw_frame_size})"
    return text + _shape(stream.format, stream.hw_shape)


def _vstream_line(vstream: VStreamInfo) -> str:
    text = f"{vstream.name} {_format(vstream.format)}"
    if vstream.nms_shape is not None:
        return text + _nms_shape(vstream.format, vstream.nms_shape, vstream.frame_size)
    assert vstream.shape is not None
    return text + _shape(vstream.format, vstream.shape)


def _shape(format: Format, shape: Shape) -> str:
    if format.order is FormatOrder.NC:
        return f"({shape.features})"
    if format.order is FormatOrder.NHW:
        return f"({shape.height}x{shape.width})"
    return f"({shape.height}x{shape.width}x{shape.features})"


def _nms_shape(format: Format, shape: NmsShape, frame_size: int) -> str:
    if format.order is FormatOrder.HAILO_NMS_BY_CLASS:
        boxes = f"maximum bounding boxes per class: {shape.max_bboxes_per_class}"
    else:
        boxes = f"maximum bounding boxes total: {shape.max_bboxes_total}"
    return f"(number of classes: {shape.number_of_classes}, {boxes}, maximum frame size: {frame_size})"
