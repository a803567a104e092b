"""On-chip NMS of an edge layer: what the runtime makes of `NmsInfo`, and what it refuses (netflow-nms.md 10)."""

from __future__ import annotations

from collections.abc import Mapping

from emu.errors import HailoError, HailoStatus
from emu.hef import model
from emu.hef.enums import HwArch
from emu.hef.enums import NmsBurstType as ProtoNmsBurstType
from emu.hef.formats import (
    BBOX_PARAMS,
    MAX_DEFUSED_LAYERS,
    MAX_LAYER_NAME,
    UINT32_MAX,
    NmsBurstType,
    NmsDefuseInfo,
    NmsInfo,
    Shape,
)

MAX_NMS_BURST_BYTES = 65536

# the architectures whose NMS the runtimes know (hef-container.md 7)
HAILO8_NMS_ARCHS = frozenset({HwArch.HAILO8, HwArch.HAILO8P, HwArch.HAILO8R, HwArch.HAILO8L, HwArch.SAGE_B0})
HAILO15_NMS_ARCHS = frozenset(
    {HwArch.HAILO1XH, HwArch.HAILO15M, HwArch.HAILO15L, HwArch.GINGER, HwArch.LAVENDER, HwArch.PLUTO}
)
_HAILO8_BURSTS: Mapping[int, NmsBurstType] = {ProtoNmsBurstType.H8_PER_CLASS: NmsBurstType.H8_PER_CLASS}
_HAILO15_BURSTS: Mapping[int, NmsBurstType] = {
    ProtoNmsBurstType.H15_PER_CLASS: NmsBurstType.H15_PER_CLASS,
    ProtoNmsBurstType.H15_PER_FRAME: NmsBurstType.H15_PER_FRAME,
}


def parse_nms_info(info: model.NmsInfo, arch: HwArch | int, nms_burst_mode: bool, **where: object) -> NmsInfo:
    """`parse_proto_nms_info`: the burst mode must fit extension NMS_OUTPUT_BURST and the architecture.

    Raises HAILO_INVALID_HEF for what does not fit, HAILO_INTERNAL_FAILURE for an architecture without NMS.
    """
    if arch not in HAILO8_NMS_ARCHS and arch not in HAILO15_NMS_ARCHS:
        raise HailoError(HailoStatus.HAILO_INTERNAL_FAILURE, f"hw_arch {int(arch)} has no NMS on the chip", **where)
    burst_type, burst_size = _burst(info, arch in HAILO8_NMS_ARCHS, nms_burst_mode, where)
    group = info.defuse_info.class_group_index & UINT32_MAX
    if group >= MAX_DEFUSED_LAYERS:
        raise _invalid(f"class_group_index {group}, {MAX_DEFUSED_LAYERS} parts are possible", where)
    if len(info.defuse_info.original_name.encode()) > MAX_LAYER_NAME:
        raise HailoError(
            HailoStatus.HAILO_INTERNAL_FAILURE, "the original_name of its fused layer is too long", **where
        )
    defuse_info = NmsDefuseInfo(0, "")
    if info.is_defused:
        defuse_info = NmsDefuseInfo(group, info.defuse_info.original_name)
    # 64 bits in the file, 32 in the runtime
    classes, boxes = info.number_of_classes & UINT32_MAX, info.max_output_size & UINT32_MAX
    return NmsInfo(
        number_of_classes=classes,
        max_bboxes_per_class=boxes,
        max_bboxes_total=boxes * classes & UINT32_MAX,
        bbox_size=info.bbox_size & UINT32_MAX,
        chunks_per_frame=info.input_division_factor & UINT32_MAX or 1,
        is_defused=info.is_defused,
        defuse_info=defuse_info,
        burst_size=burst_size,
        burst_type=burst_type,
    )


def _burst(
    info: model.NmsInfo, is_hailo8: bool, nms_burst_mode: bool, where: Mapping[str, object]
) -> tuple[NmsBurstType, int]:
    if not nms_burst_mode:
        if info.burst_type != ProtoNmsBurstType.NO_BURST:
            raise _invalid(f"NMS burst_type {int(info.burst_type)} without extension NMS_OUTPUT_BURST", where)
        return NmsBurstType.H8_BBOX if is_hailo8 else NmsBurstType.H15_BBOX, 1
    bursts = _HAILO8_BURSTS if is_hailo8 else _HAILO15_BURSTS
    burst_type = bursts.get(info.burst_type)
    if burst_type is None:
        raise _invalid(
            f"NMS burst_type {int(info.burst_type)} is none of those of this architecture: "
            f"{', '.join(f'{number} {kind.name}' for number, kind in bursts.items())}",
            where,
        )
    if info.burst_size * info.bbox_size > MAX_NMS_BURST_BYTES:
        raise _invalid(
            f"an NMS burst of {info.burst_size} bboxes of {info.bbox_size} bytes, "
            f"{MAX_NMS_BURST_BYTES} bytes are possible",
            where,
        )
    return burst_type, info.burst_size


def _invalid(message: str, where: Mapping[str, object]) -> HailoError:
    return HailoError(HailoStatus.HAILO_INVALID_HEF, message, **where)


def nms_layer_shape(info: NmsInfo) -> Shape:
    """Shape of an NMS layer: (classes, 5, boxes of all chunks)."""
    return Shape(info.number_of_classes, BBOX_PARAMS, info.max_bboxes_per_class * info.chunks_per_frame)
