"""Config (CCW) buffers: what is placed where, and which descriptors carry it (vdma.md 3.5, hef-compile.md 4.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct, field

from emu.chips.runtimes import DeviceProfile, RuntimeProfile
from emu.errors import HailoError, HailoStatus
from emu.sequencer.host import ContinuousBuilder, HostMemory, ListBuilder
from emu.sequencer.requirements import (
    continuous_limits,
    multiple_transfers,
    scatter_gather_limits,
    single_transfer,
)
from emu.sequencer.segments import Segments
from emu.wire.actions import HostBufferInfo, HostBufferType

CCW_HEADER_SIZE = 8
_MAPPED_BUFFER_SIZE = 2 << 20
_NOPS = bytes(4096)
# the runtime counts padding NOPs in a u8 (vdma.md 3.5)
_MAX_NOPS = 255


class Burst(NamedTuple):
    """A contiguous range of the CCW section (zero-copy)."""

    offset: int
    size: int


class ConfigStream(Struct):
    """What one context sends over one config channel: bytes per burst, and per contiguous range of the section."""

    index: int
    transfers: list[int] = field(default_factory=list)
    bursts: list[Burst] = field(default_factory=list)


class ZeroCopySection(Struct, frozen=True):
    """The CCW section of the file, mapped as it is: its bytes, where it starts, and how large it claims to be."""

    data: memoryview
    file_offset: int
    size: int


class ConfigBuffer:
    """The buffer of one config channel in one context."""

    def __init__(
        self,
        host: HostMemory,
        runtime: RuntimeProfile,
        device: DeviceProfile,
        stream: ConfigStream,
        section: ZeroCopySection | None,
    ) -> None:
        self.stream_index = stream.index
        self._host = host
        self._runtime = runtime
        self._section = section
        self._stream = stream
        self._continuous: ContinuousBuilder | None = None
        self._list: ListBuilder | None = None
        self._used = 0
        self._runs: list[Segments] = []
        self._sizes: list[int] = []
        limits = scatter_gather_limits(host.settings.desc_max_page)
        total = sum(stream.transfers)
        over_descriptors = (
            section is not None or not device.integrated or host.settings.is_on("HAILO_FORCE_CONF_CHANNEL_OVER_DESC")
        )
        if not over_descriptors:
            continuous = continuous_limits(device)
            needed = single_transfer(
                continuous,
                runtime,
                total,
                max_page_size=continuous.max_page_size,
                min_batch=1,
                max_batch=1,
                force_default_page=True,
                is_aligned=True,
            )
            try:
                self._continuous = host.continuous(needed.buffer_size)
                self.requirements = needed
                return
            except HailoError as error:
                if error.status is not HailoStatus.HAILO_OUT_OF_HOST_CMA_MEMORY:
                    raise
        sizes: Sequence[int] = stream.transfers
        if section is not None:
            sizes = [1, *(burst.size for burst in stream.bursts)]
        self.requirements = multiple_transfers(
            limits,
            runtime,
            sizes,
            max_page_size=limits.max_page_size,
            force_default_page=True,
            force_batch=True,
        )
        self._list = host.descriptor_list(self.requirements)
        self._buffer = host.buffer()
        if section is not None:
            self._program_section(section, total)

    @property
    def info(self) -> HostBufferInfo:
        """What ACTIVATE_CFG_CHANNEL carries, once everything is written."""
        pattern = self._used * self.requirements.page_size
        address = self._continuous.dma_address if self._continuous else self._require_list().dma_address
        return HostBufferInfo(
            HostBufferType.CCB if self._continuous else HostBufferType.EXTERNAL_DESC,
            address,
            self.requirements.page_size,
            self.requirements.desc_count,
            pattern,
        )

    def write_run(self, segments: Segments, size: int) -> int:
        """Without prefetch: one run on its own descriptors; gives their number."""
        start = self._used
        taken = self._require_list().program(
            start,
            size,
            self._buffer,
            start * self.requirements.page_size,
            segments,
            device_interrupt=self._runtime.descriptor_interrupts,
        )
        self._used += taken
        return taken

    def append_run(self, segments: Segments, size: int) -> None:
        """With prefetch: one run behind the others."""
        if self._section is None:
            self._runs.append(segments)
            self._sizes.append(size)

    def finish(self) -> None:
        """With prefetch: pad to whole pages before the last run and program everything at once."""
        if self._section is not None or not self._runs:
            return
        page = self.requirements.page_size
        total = sum(self._sizes)
        padding = -total % page
        if padding % CCW_HEADER_SIZE:
            raise HailoError(
                HailoStatus.HAILO_INTERNAL_FAILURE,
                f"config channel {self.stream_index}: {total} bytes of CCW data are no multiple of {CCW_HEADER_SIZE}",
            )
        if padding // CCW_HEADER_SIZE > _MAX_NOPS:
            raise HailoError(
                HailoStatus.HAILO_INTERNAL_FAILURE,
                f"config channel {self.stream_index}: {padding // CCW_HEADER_SIZE} NOPs of padding, the runtime "
                f"counts to {_MAX_NOPS} and never ends",
            )
        pieces: list[memoryview | bytes] = [piece for run in self._runs[:-1] for piece in run]
        if padding:
            pieces.append(_NOPS[:padding])
        pieces.extend(self._runs[-1])
        segments = tuple(pieces)
        self._used = (total + padding) // page
        if self._continuous is not None:
            self._continuous.segments = segments
        else:
            self._require_list().program(
                0, total + padding, self._buffer, 0, segments, device_interrupt=self._runtime.descriptor_interrupts
            )

    def _program_section(self, section: ZeroCopySection, total: int) -> None:
        """Zero-copy: NOPs first, then every burst of the section where it lies (vdma.md 3.5)."""
        if section.file_offset % 4096:
            raise HailoError(
                HailoStatus.HAILO_INVALID_ARGUMENT,
                f"the CCW section starts at {section.file_offset}, mapping it needs a multiple of 4096",
                offset=section.file_offset,
            )
        descriptors = self._require_list()
        page = self.requirements.page_size
        nops = page - total % page
        interrupt = self._runtime.descriptor_interrupts
        self._used = descriptors.program(0, nops, self._host.buffer(), 0, (_NOPS[:nops],), device_interrupt=interrupt)
        chunk = _mapped_buffer_size(self._host)
        for offset, size in self._stream.bursts:
            if offset + size > section.size:
                raise HailoError(
                    HailoStatus.HAILO_INTERNAL_FAILURE,
                    f"CCW range {offset}+{size} lies behind the section of {section.size} bytes "
                    "(the real program aborts)",
                    offset=section.file_offset + offset,
                )
            end = offset + size
            while offset < end:
                stop = min(end, offset - offset % chunk + chunk)
                self._used += descriptors.program(
                    self._used,
                    stop - offset,
                    self._buffer,
                    offset,
                    (section.data[offset:stop],),
                    device_interrupt=interrupt,
                )
                offset = stop

    def _require_list(self) -> ListBuilder:
        assert self._list is not None
        return self._list


def _mapped_buffer_size(host: HostMemory) -> int:
    return host.settings.number("HAILO_ALIGNED_CCWS_MAPPED_BUFFER_SIZE") or _MAPPED_BUFFER_SIZE
