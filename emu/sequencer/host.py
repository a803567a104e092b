"""The simulated host's memory: where descriptor lists and buffers live, and what is in them (cli.md, `emu actions`)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct, field
from msgspec.structs import astuple

from emu.chips.consts import HwConsts
from emu.errors import HailoError, HailoStatus, UsageError
from emu.hef.formats import align_up
from emu.sequencer.program import ContinuousBuffer, DescriptorList, DescriptorProgram
from emu.sequencer.requirements import Requirements
from emu.sequencer.segments import Segments

DESCRIPTOR_LIST_BASE = 0x1000_0000
DESCRIPTOR_LIST_STRIDE = 0x10_0000
CONTINUOUS_BASE = 0x4000_1000
CONTINUOUS_ALIGNMENT = 0x1000
ACTION_LIST_BASE = 0x8000_0000
ACTION_LIST_STRIDE = 0x1_0000

# the library's environment switches that change what it sends (vdma.md, hef-compile.md, hef-container.md) and what it
# makes of the answer (netflow-nms.md 5, transforms.md 8)
SWITCHES = frozenset(
    {
        "FORCE_LAYOUT_INTERNAL",
        "HAILO_ALIGNED_CCWS_MAPPED_BUFFER_SIZE",
        "HAILO_DDR_ACTION_LIST",
        "HAILO_DISABLE_ALIGNED_CCWS",
        "HAILO_DISABLE_PP",
        "HAILO_FORCE_CONF_CHANNEL_OVER_DESC",
        "HAILO_FORCE_DDR_CHANNEL_OVER_CCB",
        "HAILO_FORCE_INFER_CONTEXT_CHANNEL_OVER_DESC",
        "HAILO_IGNORE_STRICT_VERSION",
        "HAILO_LEGACY_BOUNDARY_CHANNEL_PAGE_SIZE",
        "HAILORT_AUTO_UPDATE_CACHE_OFFSET",
        "HAILORT_YOLOV5_SEG_NN_RESIZE",
        "HAILORT_YOLOV5_SEG_PP_CROP_OPT",
    }
)
# known to the library, but nothing here simulates them: set to anything but off, they are refused by name
_NOT_SIMULATED = {"HAILO_HW_INFER_ALLOW_DDR_PORTALS_OVER_SRAM": ("", "0"), "HAILO_CACHE_DESC_LISTS_COUNT": ("", "1")}

# min(page of the host, 32 KiB); the library's own limit (vdma.md 2.4)
_DRIVERS_LARGEST_PAGE, _LARGEST_PAGE = 32768, 4096


class HostSettings(Struct, frozen=True):
    """`--host KEY=VALUE` (cli.md): what the host and its driver answer, and the library's switches by name."""

    hw_consts: HwConsts | None = None
    desc_max_page: int = 4096
    cma: bool = True
    switches: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @classmethod
    def parse(cls, pairs: Mapping[str, str]) -> HostSettings:
        """From the text of `--host`; UsageError for a value that cannot be read."""
        consts: HwConsts | None = None
        page, cma = 4096, True
        switches: dict[str, str] = {}
        for key, value in pairs.items():
            if key == "hw_consts":
                consts = _parse_consts(value)
            elif key == "desc_max_page":
                page = _parse_page(value)
            elif key == "cma":
                if value not in ("on", "off"):
                    raise UsageError(f"cma is {value!r}, expected on or off")
                cma = value == "on"
            elif key in SWITCHES:
                switches[key] = value
            elif key in _NOT_SIMULATED:
                if value not in _NOT_SIMULATED[key]:
                    raise UsageError(f"{key}={value} is not simulated")
            else:
                raise UsageError(
                    f"host setting {key!r} is none of hw_consts, desc_max_page, cma, {', '.join(sorted(SWITCHES))}"
                )
        return cls(consts, page, cma, MappingProxyType(switches))

    def number(self, switch: str, default: int | None = None) -> int | None:
        """The decimal value of a switch; UsageError for anything else."""
        text = self.switches.get(switch)
        if text is None:
            return default
        if not _is_number(text):
            raise UsageError(f"{switch} is {text!r}, expected a number")
        return int(text)

    def is_on(self, switch: str) -> bool:
        """Whether a boolean switch of the library is set (it counts as set only with the value 1)."""
        return self.switches.get(switch) == "1"


def _is_number(text: str) -> bool:
    """Whether the text is a number of up to 32 bits or a little more; no `int` of a forged length."""
    return text.isdecimal() and len(text) <= 10


def _parse_consts(value: str) -> HwConsts:
    parts = [part.strip() for part in value.split(",")]
    names = HwConsts.__struct_fields__
    if len(parts) != len(names) or not all(map(_is_number, parts)):
        raise UsageError(f"hw_consts is {value!r}, expected {len(names)} numbers: {', '.join(names)}")
    consts = HwConsts(*map(int, parts))
    limits = (0xFFFFFFFF, 0xFFFF, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 1, 0xFFFFFFFF)
    for name, number, limit in zip(names, astuple(consts), limits, strict=True):
        if number > limit or (not number and name != "should_optimize_credits"):
            raise UsageError(f"hw_consts {name} is {number}, expected 1..{limit}")
    return consts


def _parse_page(value: str) -> int:
    page = int(value) if _is_number(value) else 0
    if not 64 <= page <= _DRIVERS_LARGEST_PAGE or page & (page - 1):
        raise UsageError(
            f"desc_max_page is {value!r}, a driver answers a power of two from 64 to {_DRIVERS_LARGEST_PAGE}"
        )
    if page > _LARGEST_PAGE:
        raise HailoError(
            HailoStatus.HAILO_INTERNAL_FAILURE,
            f"the driver's largest descriptor page is {page}, HailoRT takes at most {_LARGEST_PAGE}: load the driver "
            f"with force_desc_page_size={_LARGEST_PAGE} (a kernel with pages of 16 KiB, as on a Raspberry Pi 5)",
        )
    return page


class ListBuilder:
    """A descriptor list that is still being programmed."""

    __slots__ = ("circular", "dma_address", "programs", "requirements")

    def __init__(self, dma_address: int, requirements: Requirements, circular: bool) -> None:
        self.dma_address = dma_address
        self.requirements = requirements
        self.circular = circular
        self.programs: list[DescriptorProgram] = []

    def program(
        self,
        start: int,
        size: int,
        buffer_id: int,
        offset: int,
        segments: Segments | None = None,
        *,
        device_interrupt: bool = False,
        transfers: int = 1,
    ) -> int:
        """Transfers from descriptor `start` on; gives the number of descriptors they took."""
        self.programs.append(DescriptorProgram(start, size, buffer_id, offset, segments, device_interrupt, transfers))
        return self.requirements.descriptors(size) * transfers


class ContinuousBuilder(Struct):
    """A CCB buffer whose content is known once its writers are done."""

    dma_address: int
    size: int
    segments: Segments | None = None


class HostMemory:
    """Hands out addresses in creation order."""

    def __init__(self, settings: HostSettings) -> None:
        self.settings = settings
        self._lists: list[ListBuilder] = []
        self._continuous: list[ContinuousBuilder] = []
        self._next_continuous = CONTINUOUS_BASE
        self._action_lists = 0
        self._buffers = 0

    def buffer(self) -> int:
        """A new scatter-gather buffer's id."""
        self._buffers += 1
        return self._buffers

    def descriptor_list(self, requirements: Requirements, *, circular: bool = False) -> ListBuilder:
        """A new list; a ring must have a power of two of descriptors (HAILO_INVALID_ARGUMENT)."""
        if circular and requirements.desc_count & (requirements.desc_count - 1):
            raise HailoError(
                HailoStatus.HAILO_INVALID_ARGUMENT,
                f"a ring of {requirements.desc_count} descriptors is no power of two",
            )
        address = DESCRIPTOR_LIST_BASE + len(self._lists) * DESCRIPTOR_LIST_STRIDE
        created = ListBuilder(address, requirements, circular)
        self._lists.append(created)
        return created

    def continuous(self, size: int) -> ContinuousBuilder:
        """A new CCB buffer; HAILO_OUT_OF_HOST_CMA_MEMORY on a host without CMA."""
        if not self.settings.cma:
            raise HailoError(HailoStatus.HAILO_OUT_OF_HOST_CMA_MEMORY, f"no contiguous memory for {size} bytes")
        created = ContinuousBuilder(self._next_continuous, size)
        end = self._next_continuous + size
        self._next_continuous = align_up(end, CONTINUOUS_ALIGNMENT)
        self._continuous.append(created)
        return created

    def action_list_address(self) -> int:
        """The DMA address of the next action list handed over through DDR."""
        address = ACTION_LIST_BASE + self._action_lists * ACTION_LIST_STRIDE
        self._action_lists += 1
        return address

    def descriptor_lists(self) -> tuple[DescriptorList, ...]:
        return tuple(
            DescriptorList(
                built.dma_address,
                built.requirements.desc_count,
                built.requirements.page_size,
                built.circular,
                tuple(built.programs),
            )
            for built in self._lists
        )

    def continuous_buffers(self) -> tuple[ContinuousBuffer, ...]:
        return tuple(ContinuousBuffer(built.dma_address, built.size, built.segments) for built in self._continuous)
