"""How many descriptors of which page size a buffer needs (vdma.md 3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from emu.chips.runtimes import DescriptorLimits, DeviceProfile, RuntimeProfile
from emu.errors import HailoError, HailoStatus

_U16 = 0xFFFF
MIN_ACTIVE_TRANSFERS = 2
MAX_ACTIVE_TRANSFERS = 32
_SG_MAX_PAGE = 4096


class Requirements(Struct, frozen=True):
    """A descriptor count and the bytes each descriptor covers."""

    desc_count: int
    page_size: int

    @property
    def buffer_size(self) -> int:
        return self.desc_count * self.page_size

    def descriptors(self, size: int) -> int:
        """Descriptors of one transfer of `size` bytes."""
        return -(-size // self.page_size)


def scatter_gather_limits(desc_max_page_size: int) -> DescriptorLimits:
    """Limits of descriptor lists over host memory."""
    return DescriptorLimits(min(512, desc_max_page_size), 64, min(desc_max_page_size, _SG_MAX_PAGE), 2, 65536)


def continuous_limits(device: DeviceProfile) -> DescriptorLimits:
    """Limits of CCB buffers."""
    return DescriptorLimits(512, 512, 4096, device.continuous_min_descriptors, 0x40000)


def power_of_two(value: int, least: int) -> int:
    """The smallest power of two that is not below either."""
    return 1 << (max(value, least, 1) - 1).bit_length()


def _cannot_meet(message: str) -> HailoError:
    return HailoError(HailoStatus.HAILO_CANT_MEET_BUFFER_REQUIREMENTS, message)


def _internal(message: str) -> HailoError:
    return HailoError(HailoStatus.HAILO_INTERNAL_FAILURE, message)


def multiple_transfers(
    limits: DescriptorLimits,
    runtime: RuntimeProfile,
    sizes: Sequence[int],
    *,
    max_page_size: int,
    batch: int = 1,
    circular: bool = False,
    force_default_page: bool = False,
    force_batch: bool = False,
    is_ddr: bool = False,
) -> Requirements:
    """Room for one transfer of each size, `batch` times.

    Raises HAILO_CANT_MEET_BUFFER_REQUIREMENTS where no page size is large enough, HAILO_INTERNAL_FAILURE where the
    limits contradict each other.
    """
    largest = max(sizes, default=0)
    default = limits.default_page_size
    if runtime.page_limit_clamps_default:
        default = min(default, max_page_size)
    page = default if force_default_page or largest >= default else power_of_two(largest, limits.min_page_size)
    if max_page_size > limits.max_page_size or page > max_page_size or page < limits.min_page_size:
        raise _internal(
            f"page of {page} bytes is outside {limits.min_page_size}..{max_page_size} (largest {limits.max_page_size})"
        )
    extra = 0 if is_ddr else 1
    counts = Counter(sizes).items()  # records of configuration are many, of a few sizes

    def required(page_size: int) -> int:
        return sum(-(-size // page_size) * count for size, count in counts) + extra

    least = required(max_page_size)
    if least > limits.max_count:
        raise _cannot_meet(f"{least} descriptors of {max_page_size} bytes, at most {limits.max_count}")
    count = least if page == max_page_size else required(page)
    while count * batch > limits.max_count - 1:
        page <<= 1
        if page > _U16:
            raise _internal(f"page of {page} bytes exceeds 16 bits")
        if page > max_page_size:
            if force_batch:
                raise _cannot_meet(
                    f"{required(max_page_size)} x {batch} descriptors of {max_page_size} bytes, "
                    f"at most {limits.max_count - 1}"
                )
            page = max_page_size
            count = required(page)
            break
        count = required(page)
    if circular:
        count = power_of_two(count, limits.min_count)
        if count > limits.max_count:
            raise _cannot_meet(f"{count} descriptors in a ring, at most {limits.max_count}")
    return Requirements(count, page)


def single_transfer(
    limits: DescriptorLimits,
    runtime: RuntimeProfile,
    size: int,
    *,
    max_page_size: int,
    min_batch: int,
    max_batch: int,
    circular: bool = False,
    force_default_page: bool = False,
    force_batch: bool = False,
    is_aligned: bool = False,
    is_ddr: bool = False,
) -> Requirements:
    """Room for between `min_batch` and `max_batch` transfers of `size` bytes; raises as `multiple_transfers`."""
    page = multiple_transfers(
        limits,
        runtime,
        (size,),
        max_page_size=max_page_size,
        batch=min_batch,
        circular=circular,
        force_default_page=force_default_page,
        force_batch=force_batch,
        is_ddr=is_ddr,
    ).page_size
    per_transfer = -(-size // page) + (0 if is_aligned else 1)
    count = max(min(per_transfer * max_batch + 1, limits.max_count), limits.min_count)
    if circular:
        count = power_of_two(count, limits.min_count)
    return Requirements(count, page)


def boundary(
    limits: DescriptorLimits,
    runtime: RuntimeProfile,
    size: int,
    *,
    min_active: int,
    max_active: int,
    max_shmifo_size: int,
    legacy_page_size: bool = False,
) -> Requirements:
    """The ring of a boundary channel; the page stays below the stream fifo (vdma.md 3, boundary)."""
    page_limit = limits.max_page_size if legacy_page_size else limits.default_page_size
    for _ in range(32):
        if page_limit > limits.max_page_size:
            break
        if page_limit == max_shmifo_size:
            page_limit //= 2
        try:
            return single_transfer(
                limits,
                runtime,
                size,
                max_page_size=page_limit,
                min_batch=min_active,
                max_batch=max_active,
                circular=True,
            )
        except HailoError as error:
            if error.status is not HailoStatus.HAILO_CANT_MEET_BUFFER_REQUIREMENTS:
                raise
            page_limit *= 2
    # the real program doubles and halves forever where max_shmifo_size is the limit it needs (vdma.md 3)
    raise _cannot_meet(f"transfers of {size} bytes do not fit {limits.max_count} descriptors")


def boundary_queue_size(
    runtime: RuntimeProfile, device: DeviceProfile, size: int, transfers_per_frame: int, batch: int
) -> int:
    """Transfers a boundary channel may hold (calc_default_queue_size, vdma.md 3.1)."""
    if not size * transfers_per_frame:
        raise _internal(
            f"a boundary stream of {transfers_per_frame} transfers of {size} bytes (the real program divides by zero)"
        )
    if runtime.queue_batches:
        queue = runtime.queue_batches * batch * transfers_per_frame
        if transfers_per_frame > 1:
            queue = min(queue, _U16)
        return _checked_queue(queue)
    least = transfers_per_frame * MIN_ACTIVE_TRANSFERS * batch
    most = max(least, transfers_per_frame * MAX_ACTIVE_TRANSFERS)
    memory = device.boundary_memory
    queue = memory // (transfers_per_frame * size)
    if runtime.queue_size_clamps:
        queue = min(queue, _U16)
        return min(max(queue, least), most) & _U16
    return _checked_queue(min(max(queue, least), most))


def _checked_queue(queue: int) -> int:
    if queue > _U16:
        raise HailoError(HailoStatus.HAILO_INVALID_ARGUMENT, f"queue of {queue} transfers exceeds {_U16}")
    return queue
