"""What differs between runtimes, in words and from their own data: in meaning, and in layout alone.

A layout says how values lie on the wire; all else decides what is sent or done, or what is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from emu.catalog import quantities
from emu.errors import HailoStatus
from emu.hef.container import LAYOUTS
from emu.hef.runtime import V4_21, V5_2, Runtime
from emu.wire.actions import ACTIONS
from emu.wire.wire import wire_of

WORDS: Mapping[str, str] = MappingProxyType(
    {
        "release.serves": "attachments of the devices that it serves",
        "release.also_runs": "HEF architectures beyond a device's own",
        "release.checks_layout": "opens no Hailo-15M without its cluster layout",
        "release.m4_memory_for": "needs memory mapped for the M4 core for",
        "driver.buffers_by": "the driver's calls name buffers by",
        "compile.boundary_by_context": "boundary layers context by context",
        "compile.checks_config_channels": "the library counts config channels",
        "compile.prefetch": "prefetches configuration on",
        "compile.config_buffers_in_hash_order": "config buffers in the order of a hash map",
        "compile.descriptor_interrupts": "device interrupts in descriptor lists",
        "compile.zero_copy_min_section": "CCW sections used in place from (bytes)",
        "compile.null_streams": "dummy streams by HEF architecture",
        "compile.device_null_streams": "dummy streams by device",
        "compile.queue_batches": "batches in a boundary queue (0: what its memory holds)",
        "compile.validates_boundary": "VALIDATE for boundary layers at the end of a context",
        "compile.switches_all_inputs": "a new batch size is told to the inputs of all contexts",
        "compile.programs_batches": "one program of a descriptor list holds a batch",
        "compile.cache_entries": "cache lists have a transfer an entry",
        "compile.cache_wait_first": "the wait for caches stands first",
        "compile.activates_next_context": "ENABLE_CONFIG_CHANNELS activates the next context",
        "compile.max_periph_bytes": "largest periph buffer (bytes)",
        "compile.max_padding": "largest padded frame (bytes)",
        "compile.periph_buffers_limit": "periph buffers a frame, at most (0: any number)",
        "compile.checks_fifo_word": "periph buffers are whole FIFO words",
        "compile.optimizes_credits": "fewer, larger periph buffers where the constants ask for it",
        "compile.page_limit_clamps_default": "a page limit also limits the default page",
        "compile.queue_size_clamps": "a boundary queue that is too long is cut",
        "compile.legacy_boundary_page": "knows HAILO_LEGACY_BOUNDARY_CHANNEL_PAGE_SIZE",
        "compile.cache_wait_needs_flag": "waits for caches only where they are enabled",
        "compile.cache_pages": "cache entries are padded to pages",
        "compile.strict_versioning": "heeds STRICT_RUNTIME_VERSIONING",
        "compile.split_allow_input": "heeds ENABLE_CONFIG_CHANNELS",
        "compile.checks_config_channel_gaps": "config channels of a context without gaps",
        "library.prefilter": "post-processing compares codes first",
        "library.column_innermost": "decoders go by columns last",
        "library.packed_floats": "packed NMS outputs claim FLOAT32",
        "library.mask_header_bytes": "bytes before a byte mask",
        "library.mask_bytes_per_pixel": "bytes for byte masks a pixel of the image",
        "library.reads_switches": "post-processing has switches",
        "firmware.channel_id_shift": "bits of a channel below the engine",
        "firmware.max_applications": "applications that the device holds",
        "firmware.action_list_sram": "bytes of action lists before DDR",
        "firmware.max_config_channels": "config channels of an application",
        "firmware.hw_infer_channels": "channels of HW-only inference",
        "firmware.sets_up_first": "its firmware sets layers up before it grants them frames",
        "firmware.asks_for_cache_offset": "the device asks for cache offsets",
        "firmware.pauses": "an application can be paused",
    }
)
"""What each entry of a runtime's file is about; `release.version` is its name."""


class Difference(NamedTuple):
    """Something that two runtimes have otherwise: `layout` where values only lie elsewhere on the wire."""

    what: str
    a: str
    b: str
    layout: bool

    def __str__(self) -> str:
        return f"{self.what}: {self.a} / {self.b}"


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_word(one)}" for key, one in value.items()) or "none"
    return ", ".join(map(str, value)) or "none" if isinstance(value, list) else str(value)


def rules(runtime: str) -> dict[str, str]:
    """Everything that is not layout, by what it is about."""
    version = Runtime.named(runtime)
    read = [number for number, layout in LAYOUTS.items() if layout.since <= version]
    entries = quantities("runtimes", runtime)
    return {
        "container versions": f"{read[0]} to {read[-1]}" if len(read) > 1 else str(read[0]),
        "status of a damaged file": str(int(version.status(HailoStatus.HAILO_HEF_FILE_CORRUPTED))),
        "files of compilers before 3.24": "refused" if version >= V4_21 else "taken",
        "network groups": "in the order of the file" if version >= V5_2 else "in reverse",
        **{words: _word(entries[key].value) for key, words in WORDS.items()},
    }


def layouts(runtime: str) -> dict[str, str]:
    """Sizes on the wire, by what they are of; and the layouts that differ within the same size."""
    wire = wire_of(runtime)
    sizes = {f"{kind.name} (bytes)": str(wire.payloads[kind].size) for kind in ACTIONS}
    return {
        "application header (bytes)": str(wire.header.size),
        "GET_HW_CONSTS (values)": str(len(wire.hw_consts.names)),
        **sizes,
    }


def differences(a: str, b: str) -> Iterator[Difference]:
    """What two runtimes do otherwise, then what only lies otherwise."""
    for table, layout in ((rules, False), (layouts, True)):
        first, second = table(a), table(b)
        yield from (
            Difference(what, first[what], second[what], layout) for what in first if first[what] != second[what]
        )


def own_fields(a: str, b: str) -> frozenset[str]:
    """Fields of actions and headers that one of the two has and the other has not."""
    found: set[str] = {"batch_sizes"}  # of a header: as many as there are networks, or one for all
    first, second = wire_of(a), wire_of(b)
    for kind in ACTIONS:
        found |= set(first.lists.classes[kind].NAMES) ^ set(second.lists.classes[kind].NAMES)
    return frozenset(found | set(first.header.names) ^ set(second.header.names))


def table(names: tuple[str, ...]) -> Iterator[str]:
    """The lines of a Markdown table of all that is not the same everywhere, a column a runtime."""
    yield f"| | {' | '.join(names)} |"
    yield f"|---|{'---|' * len(names)}"
    for facts in (rules, layouts):
        columns = [facts(name) for name in names]
        for what in columns[0]:
            values = [column[what] for column in columns]
            if len(set(values)) > 1:
                shown = ["″" if at and value == values[at - 1] else value for at, value in enumerate(values)]
                yield f"| {what} | {' | '.join(shown)} |"
