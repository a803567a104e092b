"""The on-chip NMS stream: device words -> the frame a stream read returns -> boxes by class (netflow-nms.md 10, 11).

A stream frame is, for every chunk and class, a u16 count and that many 8-byte words, compact; what follows the last
class is left over from the transfers and means nothing. Errors are HailoError with the status HailoRT's reader gives;
where the device's words end before the frame does the reader would wait, which is HAILO_TIMEOUT here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from emu.dataflow.formats import Buffer, Bytes, as_bytes
from emu.dataflow.quantize import F32, dequantize, require_valid
from emu.errors import HailoError, HailoStatus
from emu.hef.formats import (
    BBOX_PARAMS,
    MAX_DEFUSED_LAYERS,
    NMS_COUNT_BYTES,
    Format,
    FormatFlags,
    FormatOrder,
    FormatType,
    NmsBurstType,
    NmsInfo,
    QuantInfo,
    nms_hw_frame_size,
)

WORD_BYTES = 8
DELIMITER = 0xFFFF_FFFF_FFFF_FFFF  # closes a class; Hailo-8 also pads its bursts with it
IMAGE_DELIMITER = 0xFFFF_FFFF_FFFF_FFFE  # Hailo-15 only
H15_PADDING = 0xFFFF_FFFF_FFFF_FFFD

BBOX_BURSTS = frozenset({NmsBurstType.H8_BBOX, NmsBurstType.H15_BBOX})
# words after a class's boxes: delimiter, and on Hailo-15 the image delimiter
_CLOSING_WORDS = {NmsBurstType.H8_PER_CLASS: 1, NmsBurstType.H15_PER_CLASS: 2}

# bit offsets of a box word's fields in the order of BBOX_PARAMS: y_min, x_min, y_max, x_max (12 bits), score (16)
_FIELD_SHIFTS = np.array([36, 24, 12, 0, 48], np.uint64)
_FIELD_MASKS = np.array([0xFFF, 0xFFF, 0xFFF, 0xFFF, 0xFFFF], np.uint64)

Words = NDArray[np.uint64]


def nms_transfer_size(info: NmsInfo) -> int:
    """Bytes of one device-to-host transfer; 0 for H15_PER_FRAME, which no runtime can read."""
    if info.burst_type in BBOX_BURSTS:
        return info.bbox_size
    closing = _CLOSING_WORDS.get(info.burst_type)
    if closing is None:
        return 0
    burst = info.burst_size * info.bbox_size
    if info.burst_size >= info.max_bboxes_per_class + closing:
        return burst * info.number_of_classes * info.chunks_per_frame
    return burst


class StreamRead(Struct, frozen=True):
    """One frame as a stream read returns it, and the device bytes it took."""

    frame: Bytes
    consumed: int


def read_nms_frame(device: Buffer, info: NmsInfo, into: Bytes | None = None) -> StreamRead:
    """Read one frame from the device's words.

    `into`, if given, is the frame buffer (`nms_hw_frame_size` bytes) whose unwritten bytes are kept.
    Raises HAILO_INTERNAL_FAILURE where a class has more boxes than it may, HAILO_NOT_SUPPORTED for H15_PER_FRAME.
    """
    if info.bbox_size != WORD_BYTES:
        raise HailoError(HailoStatus.HAILO_INTERNAL_FAILURE, f"bbox_size must be 8 bytes, not {info.bbox_size}")
    data = np.frombuffer(device, np.uint8) if not isinstance(device, np.ndarray) else device.view(np.uint8)
    words = data[: data.size // WORD_BYTES * WORD_BYTES].view("<u8")
    frame = np.zeros(nms_hw_frame_size(info), np.uint8) if into is None else into
    writer = _FrameWriter(frame, info)
    if info.burst_type in BBOX_BURSTS:
        consumed = _read_boxes(words, info, writer)
    elif info.burst_type in _CLOSING_WORDS:
        consumed = _read_bursts(words, info, writer)
    else:
        raise HailoError(HailoStatus.HAILO_NOT_SUPPORTED, "NMS burst type H15_PER_FRAME cannot be read")
    return StreamRead(frame, consumed)


class _FrameWriter:
    """Fills the compact frame; a class's count is written in front of its boxes once it closes."""

    def __init__(self, frame: Bytes, info: NmsInfo) -> None:
        self._frame = frame
        self._max = info.max_bboxes_per_class
        self._count_at = 0
        self._count = 0
        self.offset = NMS_COUNT_BYTES

    def transfer(self, words: Words) -> None:
        """The device's words land where the next box goes."""
        raw = words.view(np.uint8)[: self._frame.size - self.offset]
        self._frame[self.offset : self.offset + raw.size] = raw

    def boxes(self, words: Words) -> None:
        self._count += words.size
        if self._count > self._max:
            raise HailoError(
                HailoStatus.HAILO_INTERNAL_FAILURE,
                f"the device sent {self._count} boxes of a class, at most {self._max} are possible",
            )
        self._frame[self.offset : self.offset + words.size * WORD_BYTES] = words.view(np.uint8)
        self.offset += words.size * WORD_BYTES

    def close_class(self, more: bool = True) -> None:
        self._frame[self._count_at : self._count_at + NMS_COUNT_BYTES] = np.frombuffer(
            self._count.to_bytes(NMS_COUNT_BYTES, "little"), np.uint8
        )
        if more:
            self._count_at = self.offset
            self._count = 0
            self.offset += NMS_COUNT_BYTES


def _ended(words: Words) -> HailoError:
    return HailoError(
        HailoStatus.HAILO_TIMEOUT, f"the NMS stream ends after {words.size} words, in the middle of a frame"
    )


def _read_boxes(words: Words, info: NmsInfo, writer: _FrameWriter) -> int:
    """BBOX types: a transfer is one word; image delimiters are ignored wherever they stand (known-bugs.md 35)."""
    classes = info.number_of_classes * info.chunks_per_frame
    closing = np.flatnonzero(words == DELIMITER)
    if closing.size < classes:
        raise _ended(words)
    start = 0
    for index in range(classes):
        end = int(closing[index])
        group = words[start:end]
        writer.boxes(group[group != IMAGE_DELIMITER])
        writer.transfer(words[end : end + 1])
        writer.close_class(more=index < classes - 1)
        start = end + 1
    if info.burst_type is NmsBurstType.H15_BBOX:
        if start >= words.size:
            raise _ended(words)
        if words[start] != IMAGE_DELIMITER:
            raise HailoError(
                HailoStatus.HAILO_INTERNAL_FAILURE,
                f"the word after the last class must be the image delimiter, not 0x{int(words[start]):016X}",
            )
        start += 1
    return start * WORD_BYTES


def _read_bursts(words: Words, info: NmsInfo, writer: _FrameWriter) -> int:
    """PER_CLASS types: bursts of `burst_size` words, several of them in a transfer where it holds the whole frame."""
    per_transfer = nms_transfer_size(info) // WORD_BYTES
    expected = info.number_of_classes * info.chunks_per_frame
    transfer: Words = words[:0]
    per_frame = per_transfer > info.burst_size
    closed = consumed = burst_index = 0
    awaiting_image_delimiter = False
    while closed < expected or awaiting_image_delimiter:
        if not per_frame or closed == 0:
            transfer = words[consumed : consumed + per_transfer]
            if transfer.size < per_transfer:
                raise _ended(words)
            consumed += per_transfer
            writer.transfer(transfer)
        start = burst_index * info.burst_size if per_frame else 0
        burst = transfer[start : start + info.burst_size]
        if burst.size < info.burst_size:
            raise HailoError(
                HailoStatus.HAILO_NMS_BURST_INVALID_DATA,
                f"{closed} of {expected} classes are closed at the end of the frame's {per_transfer} words",
            )
        closed_here, awaiting_image_delimiter, finished = _read_burst(
            burst, info.burst_type, writer, awaiting_image_delimiter
        )
        closed += closed_here
        burst_index += finished
        if per_frame and not finished:
            # the library would parse the same words again and run over the frame
            raise HailoError(
                HailoStatus.HAILO_NMS_BURST_INVALID_DATA, f"burst {burst_index} of the frame closes no class"
            )
    return consumed * WORD_BYTES


def _read_burst(
    burst: Words, burst_type: NmsBurstType, writer: _FrameWriter, awaiting_image_delimiter: bool
) -> tuple[int, bool, bool]:
    """One burst through the release build's state machine.

    Returns classes closed, whether an image delimiter is still due, and whether the burst was finished (by a
    delimiter, an image delimiter or padding in its last word) rather than merely used up.
    """
    special = np.flatnonzero(burst >= H15_PADDING)
    position = closed = 0
    for at in special.tolist():
        if at > position:
            writer.boxes(burst[position:at])
        position = at + 1
        word = int(burst[at])
        if word == DELIMITER:
            closed += 1
            if not awaiting_image_delimiter:
                writer.close_class()
            if burst_type is NmsBurstType.H8_PER_CLASS:
                return closed, False, True
            awaiting_image_delimiter = True
        elif word == IMAGE_DELIMITER or at == burst.size - 1:
            return closed, False, True
    if position < burst.size:
        writer.boxes(burst[position:])
    return closed, awaiting_image_delimiter, False


def class_words(frame: Bytes, info: NmsInfo) -> Iterator[Words]:
    """The box words of every class of every chunk, in frame order.

    A count above max_bboxes_per_class, or words beyond the frame, are HAILO_INTERNAL_FAILURE: the library would read
    outside the frame.
    """
    offset = 0
    for index in range(info.chunks_per_frame * info.number_of_classes):
        count = int.from_bytes(frame[offset : offset + NMS_COUNT_BYTES].tobytes(), "little")
        start = offset + NMS_COUNT_BYTES
        offset = start + count * WORD_BYTES
        if count > info.max_bboxes_per_class or offset > frame.size:
            raise HailoError(
                HailoStatus.HAILO_INTERNAL_FAILURE,
                f"class {index} of an NMS frame announces {count} boxes, at most {info.max_bboxes_per_class} in"
                f" {frame.size} bytes are possible",
            )
        yield frame[start:offset].view("<u8") if start % WORD_BYTES == 0 else frame[start:offset].copy().view("<u8")


def unpack_words(words: Words) -> NDArray[np.uint16]:
    """Box words -> [n, 5] codes in the order y_min, x_min, y_max, x_max, score."""
    fields = (words[:, None] >> _FIELD_SHIFTS) & _FIELD_MASKS
    return fields.astype(np.uint16)


def pack_words(codes: NDArray[np.uint16]) -> Words:
    """[n, 5] codes (coordinates of 12 bits) -> box words, the inverse of `unpack_words`."""
    fields = codes.astype(np.uint64) & _FIELD_MASKS
    words: Words = np.bitwise_or.reduce(fields << _FIELD_SHIFTS, axis=1)
    return words


def device_words(boxes: Sequence[NDArray[np.uint16]], info: NmsInfo) -> bytes:
    """What a device sends for one frame: `boxes` holds the [n, 5] codes of every class of every chunk in turn."""
    if len(boxes) != info.number_of_classes * info.chunks_per_frame:
        raise HailoError(
            HailoStatus.HAILO_INVALID_ARGUMENT,
            f"{len(boxes)} lists of boxes for {info.number_of_classes} classes x {info.chunks_per_frame} chunks",
        )
    words: list[int] = []
    for codes in boxes:
        words += pack_words(np.asarray(codes, np.uint16).reshape(-1, BBOX_PARAMS)).tolist()
        words.append(DELIMITER)
        closing = _CLOSING_WORDS.get(info.burst_type)
        if closing is not None:
            if closing == 2:
                words.append(IMAGE_DELIMITER)
            padding = DELIMITER if closing == 1 else H15_PADDING
            words += [padding] * (-len(words) % info.burst_size)
    if info.burst_type is NmsBurstType.H15_BBOX:
        words.append(IMAGE_DELIMITER)
    return np.array(words, "<u8").tobytes()


def frame_from_noise(noise: Buffer, info: NmsInfo, boxes: int | None = None) -> Bytes:
    """A well-formed stream frame out of arbitrary bytes, for devices that do not compute: the same bytes, the same
    frame. Counts are the noise modulo what is possible, of a class at most its share of `boxes` if given, boxes the
    noise as it comes.
    """
    raw = np.frombuffer(noise, np.uint8) if not isinstance(noise, np.ndarray) else noise.view(np.uint8)
    classes = info.number_of_classes * info.chunks_per_frame
    needed = nms_hw_frame_size(info)
    raw = np.resize(raw, needed) if raw.size else np.zeros(needed, np.uint8)
    frame = np.zeros(needed, np.uint8)
    most = info.max_bboxes_per_class if boxes is None else min(info.max_bboxes_per_class, max(boxes // classes, 1))
    offset = 0
    for _ in range(classes):
        count = int.from_bytes(raw[offset : offset + NMS_COUNT_BYTES].tobytes(), "little")
        count %= most + 1
        frame[offset : offset + NMS_COUNT_BYTES] = np.frombuffer(count.to_bytes(NMS_COUNT_BYTES, "little"), np.uint8)
        start = offset + NMS_COUNT_BYTES
        offset = start + count * WORD_BYTES
        frame[start:offset] = raw[start:offset]
    return frame


class NmsOutputTransform:
    """On-chip NMS frame -> BY_CLASS float32: the chunks of a class joined, every field de-quantised with the first qp.

    No threshold, no sorting, no truncation. Raises HAILO_INVALID_ARGUMENT for another user order or type,
    HAILO_INTERNAL_FAILURE for a device type other than UINT16, HAILO_INVALID_OPERATION for a transposed frame.
    """

    def __init__(self, user: Format, device: Format, qps: Sequence[QuantInfo], info: NmsInfo) -> None:
        order = FormatOrder.HAILO_NMS_BY_CLASS if user.order is FormatOrder.AUTO else user.order
        type = FormatType.FLOAT32 if user.type is FormatType.AUTO else user.type
        if len(qps) == 1:
            require_valid(qps[0])
        if order is not FormatOrder.HAILO_NMS_BY_CLASS or type is not FormatType.FLOAT32:
            raise HailoError(
                HailoStatus.HAILO_INVALID_ARGUMENT,
                f"an on-chip NMS stream gives HAILO_NMS_BY_CLASS in FLOAT32, not {order.name} in {type.name}",
            )
        self.user = Format(type, order, user.flags)
        self.device = device
        self.info = info
        self.qp = qps[0]
        self.hw_frame_size = nms_hw_frame_size(info)
        self.max_per_class = info.chunks_per_frame * info.max_bboxes_per_class
        self.user_frame_size = info.number_of_classes * (1 + BBOX_PARAMS * self.max_per_class) * 4

    def __call__(self, frame: Buffer, into: Bytes | None = None) -> Bytes:
        src = as_bytes(frame, self.hw_frame_size, "NMS stream frame")
        if (self.user.flags | self.device.flags) & FormatFlags.TRANSPOSED:
            raise HailoError(HailoStatus.HAILO_INVALID_OPERATION, "an NMS frame cannot be transposed")
        if self.device.type is not FormatType.UINT16:
            raise HailoError(
                HailoStatus.HAILO_INTERNAL_FAILURE,
                f"an on-chip NMS stream is UINT16, not {self.device.type.name}",
            )
        out = np.zeros(self.user_frame_size, np.uint8) if into is None else into
        values = out.view("<f4")
        classes = self.info.number_of_classes
        groups = list(class_words(src, self.info))
        offset = 0
        for index in range(classes):
            words = np.concatenate(groups[index::classes])
            boxes = dequantize(unpack_words(words), self.qp).reshape(-1)
            values[offset] = F32(words.size)
            values[offset + 1 : offset + 1 + boxes.size] = boxes
            offset += 1 + boxes.size
        return out


def fused_info(infos: Sequence[NmsInfo]) -> NmsInfo:
    """nms_info of the fused frame: that of class group 0 with all classes (known-bugs.md 38)."""
    first = parts_by_group(infos)[0]
    info = infos[first]
    return NmsInfo(
        number_of_classes=sum(part.number_of_classes for part in infos),
        max_bboxes_per_class=info.max_bboxes_per_class,
        max_bboxes_total=info.max_bboxes_total,
        bbox_size=info.bbox_size,
        chunks_per_frame=info.chunks_per_frame,
        is_defused=info.is_defused,
        defuse_info=info.defuse_info,
        burst_size=info.burst_size,
        burst_type=info.burst_type,
    )


def parts_by_group(infos: Sequence[NmsInfo]) -> list[int]:
    """Positions of the parts in the order of their class group index, which must be 0..n-1 (INVALID_ARGUMENT)."""
    if len(infos) > MAX_DEFUSED_LAYERS:
        raise HailoError(
            HailoStatus.HAILO_INVALID_ARGUMENT,
            f"{len(infos)} defused layers, at most {MAX_DEFUSED_LAYERS} are possible",
        )
    groups = [info.defuse_info.class_group_index for info in infos]
    if sorted(groups) != list(range(len(infos))):
        raise HailoError(
            HailoStatus.HAILO_INVALID_ARGUMENT, f"class group indices {groups} are not 0..{len(infos) - 1}"
        )
    return [groups.index(group) for group in range(len(groups))]


def fuse(frames: Sequence[Buffer], infos: Sequence[NmsInfo], into: Bytes | None = None) -> Bytes:
    """Join the frames of defused parts: class i of the result is the next unread class of part i mod n.

    With several chunks or unequal parts this order is wrong in the library too (known-bugs.md 37); where it would
    read a part beyond its classes we refuse.
    """
    order = parts_by_group(infos)
    parts = [
        list(class_words(as_bytes(frames[at], nms_hw_frame_size(infos[at]), f"class group {group}"), infos[at]))
        for group, at in enumerate(order)
    ]
    bursts = [infos[at].bbox_size * infos[at].burst_size for at in order]
    size = sum(nms_hw_frame_size(infos[at]) for at in order) - sum(bursts) + bursts[0]
    out = np.zeros(size, np.uint8) if into is None else into
    if out.size != size:
        raise HailoError(
            HailoStatus.HAILO_INVALID_ARGUMENT, f"fused NMS frame: {out.size} bytes given, {size} expected"
        )
    total = sum(len(part) for part in parts)
    offset = 0
    for index in range(total):
        part, turn = index % len(parts), index // len(parts)
        if turn >= len(parts[part]):
            raise HailoError(
                HailoStatus.HAILO_INVALID_ARGUMENT,
                f"class group {part} has {len(parts[part])} classes, but class {index} of the fused frame is one more",
            )
        words = parts[part][turn]
        record = words.size.to_bytes(NMS_COUNT_BYTES, "little") + words.tobytes()
        out[offset : offset + len(record)] = np.frombuffer(record, np.uint8)
        offset += len(record)
    return out
