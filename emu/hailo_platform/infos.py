"""Infos of streams, vstreams and formats as the compiled module shows them (pyhailort-api.md 2); they pickle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from emu.hailo_platform.enums import FormatFlags, FormatOrder, FormatType, StreamDirection
from emu.hailo_platform.exceptions import HailoRTException
from emu.hef.formats import BBOX_PARAMS

if TYPE_CHECKING:
    from emu.hef import formats, infos

BBOX_WITH_MASK_PARAMS = 6

# orders whose frames are counts and boxes
NMS_ORDERS = frozenset(
    {
        FormatOrder.HAILO_NMS_BY_CLASS,
        FormatOrder.HAILO_NMS_BY_SCORE,
        FormatOrder.HAILO_NMS_WITH_BYTE_MASK,
    }
)


@dataclass(unsafe_hash=True)
class HailoFormat:
    """`hailo_format_t`."""

    type: FormatType = FormatType.AUTO
    order: FormatOrder = FormatOrder.AUTO
    flags: FormatFlags = FormatFlags.NONE

    def equals(self, other: HailoFormat) -> bool:
        return self == other

    @classmethod
    def of(cls, format: formats.Format) -> HailoFormat:
        flags = FormatFlags.TRANSPOSED if int(format.flags) & int(FormatFlags.TRANSPOSED) else FormatFlags.NONE
        return cls(FormatType(int(format.type)), FormatOrder(int(format.order)), flags)

    def inside(self) -> formats.Format:
        """The same in the words of the data plane."""
        from emu.hef import formats

        return formats.Format(
            formats.FormatType(int(self.type)),
            formats.FormatOrder(int(self.order)),
            formats.FormatFlags(int(self.flags)),
        )


@dataclass(frozen=True)
class QuantInfo:
    """`hailo_quant_info_t`: real = (code - qp_zp) * qp_scale."""

    qp_zp: float
    qp_scale: float
    limvals_min: float
    limvals_max: float

    @classmethod
    def of(cls, info: formats.QuantInfo) -> QuantInfo:
        return cls(info.zp, info.scale, info.limvals_min, info.limvals_max)

    def inside(self) -> formats.QuantInfo:
        from emu.hef import formats

        return formats.QuantInfo(self.qp_zp, self.qp_scale, self.limvals_min, self.limvals_max)


@dataclass(frozen=True)
class NmsShape:
    """`hailo_nms_shape_t`; `max_accumulated_mask_size` in bytes."""

    number_of_classes: int
    max_bboxes_per_class: int
    max_bboxes_total: int
    max_accumulated_mask_size: int


@dataclass(frozen=True)
class NetworkGroupInfo:
    """`hailo_network_group_info_t`."""

    name: str
    is_multi_context: bool


def image_shape(order: FormatOrder, shape: tuple[int, ...]) -> tuple[int, ...]:
    """(F,) for NC, (H, W) for NHW, else (H, W, F)."""
    height, width, features = shape
    if order is FormatOrder.NC:
        return (features,)
    return (height, width) if order is FormatOrder.NHW else (height, width, features)


@dataclass(frozen=True, repr=False)
class VStreamInfo:
    """`hailo_vstream_info_t`."""

    name: str
    network_name: str
    direction: StreamDirection
    format: HailoFormat
    quant_info: QuantInfo
    _shape: tuple[int, ...] | None
    _nms_shape: NmsShape | None

    @property
    def shape(self) -> tuple[int, ...]:
        """(classes, 5, boxes a class) for NMS by class; raises for the other NMS orders."""
        if self.format.order is FormatOrder.HAILO_NMS_BY_CLASS and self._nms_shape is not None:
            return (self._nms_shape.number_of_classes, BBOX_PARAMS, self._nms_shape.max_bboxes_per_class)
        if self._shape is None or self.format.order in NMS_ORDERS:
            raise HailoRTException("Format order has no shape")
        return image_shape(self.format.order, self._shape)

    @property
    def nms_shape(self) -> NmsShape:
        if self._nms_shape is None:
            raise HailoRTException("nms_shape is availale only on nms order vstreams")
        return self._nms_shape

    def __repr__(self) -> str:
        return f'VStreamInfo("{self.name}")'

    @classmethod
    def of(cls, info: infos.VStreamInfo) -> VStreamInfo:
        nms = info.nms_shape
        return cls(
            info.name,
            info.network_name,
            StreamDirection[info.direction.name],
            HailoFormat.of(info.format),
            QuantInfo.of(info.quant_info),
            None if info.shape is None else tuple(info.shape),
            None
            if nms is None
            else NmsShape(
                nms.number_of_classes, nms.max_bboxes_per_class, nms.max_bboxes_total, nms.max_accumulated_mask_size
            ),
        )


@dataclass(frozen=True, repr=False)
class StreamInfo:
    """`hailo_stream_info_t`: a stream as the device has it."""

    name: str
    direction: StreamDirection
    format: HailoFormat
    sys_index: int
    data_bytes: int
    quant_info: QuantInfo
    shape: tuple[int, ...]
    _nms_bytes: int | None

    @property
    def nms_shape(self) -> tuple[int, ...]:
        """(bytes of an on-chip NMS frame,)."""
        if self._nms_bytes is None:
            raise HailoRTException("nms_shape is availale only on nms order streams")
        return (self._nms_bytes,)

    def __repr__(self) -> str:
        return f'StreamInfo("{self.name}")'

    @classmethod
    def of(cls, info: infos.StreamInfo) -> StreamInfo:
        format = HailoFormat.of(info.format)
        nms = info.hw_frame_size if info.nms_info is not None else None
        return cls(
            info.name,
            StreamDirection[info.direction.name],
            format,
            info.index,
            info.hw_data_bytes,
            QuantInfo.of(info.quant_info),
            image_shape(format.order, tuple(info.hw_shape)) if nms is None else (nms,),
            nms,
        )


def numpy_dtype(type: FormatType) -> Any:
    """uint8, uint16 or float32."""
    import numpy as np

    found = {FormatType.UINT8: np.uint8, FormatType.UINT16: np.uint16, FormatType.FLOAT32: np.float32}.get(type)
    if found is None:
        raise HailoRTException(f"{type} has no element type")
    return np.dtype(found)
