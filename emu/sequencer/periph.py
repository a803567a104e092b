"""Stream interface registers: how a frame is cut into peripheral buffers (vdma.md 4)."""

from __future__ import annotations

from emu.chips.consts import HwConsts
from emu.chips.runtimes import DeviceProfile, RuntimeProfile
from emu.errors import HailoError, HailoStatus
from emu.hef.formats import align_up
from emu.sequencer.channels import LayerType
from emu.sequencer.layers import EdgeLayer
from emu.sequencer.program import Direction
from emu.wire.actions import StreamRegInfo

_DDR_ALIGNMENT = 512
_U16, _U32 = 0xFFFF, 0xFFFFFFFF
_FEW = 1024


def calculate_periph(
    layer: EdgeLayer,
    desc_page_size: int,
    runtime: RuntimeProfile,
    device: DeviceProfile,
    consts: HwConsts,
    hw_padding: bool,
    periph_in_hailort: bool = True,
) -> StreamRegInfo:
    """Registers of one layer over descriptors of `desc_page_size` bytes.

    Without `periph_in_hailort` and `hw_padding` the compiler has cut the frame already (runtimes.md 2 item 6).

    Raises HAILO_INVALID_ARGUMENT where no buffer size fits, HAILO_INVALID_HEF where a value does not fit its register,
    HAILO_INTERNAL_FAILURE for what the device cannot take (vdma.md 4).
    """
    max_shmifo = layer.max_shmifo_size or consts.default_initial_credit_size
    padding_payload = padding = 0
    if layer.nms_info is not None:
        bytes_per_buffer = layer.nms_info.bbox_size * layer.nms_info.burst_size
        buffers = layer.transfer_size // bytes_per_buffer if bytes_per_buffer else 0
        if bytes_per_buffer > _U16 or buffers > _U16 or not buffers:
            raise _invalid(layer, HailoStatus.HAILO_INVALID_HEF, f"NMS periph of {bytes_per_buffer} x {buffers} bytes")
    elif not (periph_in_hailort or hw_padding):
        bytes_per_buffer, buffers = layer.core_bytes_per_buffer, layer.core_buffers_per_frame
    else:
        if desc_page_size >= max_shmifo:
            raise _invalid(
                layer,
                HailoStatus.HAILO_INVALID_ARGUMENT,
                f"desc_page_size {desc_page_size} is not below max_shmifo_size {max_shmifo}",
            )
        frame = layer.hw_row_size * layer.hw_shape.height
        if layer.hw_row_size > _U32 or frame > _U32:
            raise _invalid(layer, HailoStatus.HAILO_INVALID_HEF, f"frame of {frame} bytes exceeds 32 bits")
        alignment = device.periph_alignment
        if hw_padding and frame % alignment:
            most = runtime.max_padding[device.attachment]
            if frame >= most:
                raise _invalid(
                    layer,
                    HailoStatus.HAILO_INVALID_HEF,
                    f"padded frame of {frame} bytes, at most {most - 1} are supported",
                )
            padding_payload, padding = frame, align_up(frame, alignment) - frame
            frame += padding
        bytes_per_buffer = _bytes_per_buffer(layer, frame, max_shmifo, desc_page_size, runtime, device)
        if layer.type is LayerType.DDR:
            buffers = layer.core_bytes_per_buffer * layer.core_buffers_per_frame // bytes_per_buffer
            buffers = min(buffers, _U16)
        else:
            buffers = frame // bytes_per_buffer
            if runtime.periph_buffers_limit is not None:
                buffers = min(buffers, runtime.periph_buffers_limit)
    if runtime.checks_fifo_word and bytes_per_buffer % consts.fifo_word_granularity:
        raise _invalid(
            layer,
            HailoStatus.HAILO_INTERNAL_FAILURE,
            f"{bytes_per_buffer} periph bytes are no multiple of {consts.fifo_word_granularity}",
        )
    if runtime.optimizes_credits and consts.should_optimize_credits and layer.type is not LayerType.DDR:
        bytes_per_buffer, buffers = _optimize_credits(bytes_per_buffer, buffers, consts)
    if bytes_per_buffer > _U16:
        raise _invalid(layer, HailoStatus.HAILO_INVALID_HEF, f"{bytes_per_buffer} periph bytes exceed 16 bits")
    if layer.direction is Direction.D2H:
        limit = consts.outbound_data_stream_size - 8 - desc_page_size
        if bytes_per_buffer > limit:
            raise _invalid(
                layer,
                HailoStatus.HAILO_INTERNAL_FAILURE,
                f"{bytes_per_buffer} periph bytes exceed the {limit} of the outbound stream",
            )
    return StreamRegInfo(
        layer.core_bytes_per_buffer,
        layer.core_buffers_per_frame,
        bytes_per_buffer,
        buffers,
        layer.feature_padding_payload,
        padding_payload,
        padding,
        int(hw_padding),
        int(periph_in_hailort),
    )


def _bytes_per_buffer(
    layer: EdgeLayer,
    frame: int,
    max_shmifo: int,
    desc_page_size: int,
    runtime: RuntimeProfile,
    device: DeviceProfile,
) -> int:
    """The largest aligned buffer, from one row down, that the stream fifo and the frame allow."""
    ddr = layer.type is LayerType.DDR
    alignment = _DDR_ALIGNMENT if ddr else device.periph_alignment
    whole = layer.core_bytes_per_buffer if ddr else frame
    limit = min(
        runtime.max_periph_bytes[device.attachment],
        max_shmifo,
        max_shmifo - 1 if ddr else max_shmifo - desc_page_size - 1,
    )
    size = align_up(layer.hw_row_size, alignment)
    if size > limit:
        size = limit - limit % alignment
    found = _first_divisor(whole, range(size, 0, -alignment))
    if found is not None:
        return found
    raise _invalid(
        layer,
        HailoStatus.HAILO_INVALID_ARGUMENT,
        f"no periph buffer fits: of {size} bytes (a row of {layer.hw_row_size} in units of {alignment}, at most "
        f"{limit}) down, none divides the {'row' if ddr else 'frame'} of {whole} bytes; the limit is the least of "
        f"{runtime.max_periph_bytes[device.attachment]} (HailoRT {runtime.name}), {max_shmifo} "
        f"(max_shmifo_size) and {'that - 1' if ddr else f'that - 1 - a page of {desc_page_size}'}",
    )


def _optimize_credits(bytes_per_buffer: int, buffers: int, consts: HwConsts) -> tuple[int, int]:
    """Fewer, larger buffers in performance mode (vdma.md 4, 4.x power-mode optimisation)."""
    frame = bytes_per_buffer * buffers
    words = frame // consts.fifo_word_granularity
    largest = max(consts.max_acceptable_bytes_per_buffer, bytes_per_buffer)
    least = max(-(-frame // largest), frame // (consts.max_periph_bytes_per_buffer + 1) + 1)
    count = _first_divisor(words, range(least, min(frame, consts.max_periph_buffers_per_frame)))
    if count is not None:
        return frame // count, count
    if consts.max_periph_buffers_per_frame < frame:
        return bytes_per_buffer, buffers
    return 1, frame


def _first_divisor(value: int, candidates: range) -> int | None:
    """The first candidate that divides `value`. A frame of a real layer is done within a few."""
    for candidate in candidates[:_FEW]:
        if value % candidate == 0:
            return candidate
    rest = candidates[_FEW:]
    if not rest:
        return None
    import numpy as np  # only for frames that may take tens of thousands of tries: the import is slow

    numbers = np.arange(rest.start, rest.stop, rest.step, dtype=np.int64)
    places = np.flatnonzero(value % numbers == 0)
    return int(numbers[places[0]]) if len(places) else None


def _invalid(layer: EdgeLayer, status: HailoStatus, message: str) -> HailoError:
    return HailoError(status, f"layer {layer.name}: {message}", context=layer.context_index, stream=layer.stream_index)
