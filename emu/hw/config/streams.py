"""The registers of streams: what the system blocks hold for each edge layer (chip-config.md 7)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from emu.hw.config.execute import ListRun
from emu.hw.config.image import ChipImage
from emu.sequencer.configuration import BOUNDARY, HAILO8, Configuration, StreamEdge
from emu.trace.hazards import Hazard


class Table(Struct, frozen=True):
    """A table of registers, one a stream: what it holds, where it begins, how many."""

    name: str
    base: int
    entries: int


GEOMETRY_HAILO8 = Table("geometry", 0x30000000, 32)
PADDING_HAILO8 = Table("row", 0x300000C4, 32)
_PERIPH_HAILO8 = (0x300002C8, 0x800000)
_USED_HAILO8 = 0x202408E4
GEOMETRY_1XH = {True: Table("geometry", 0x2C000098, 20), False: Table("geometry", 0x2C000918, 20)}
MODE_1XH = {True: Table("mode", 0x2C000138, 20), False: Table("mode", 0x2C0009B8, 20)}
ROW_1XH = {True: Table("row", 0x2C000188, 20), False: Table("row", 0x2C000A08, 20)}
_MODE_VALUES = {True: (0x40002, 2), False: (0x800, 0)}  # of a stream that is used, of one that is not
_FEATURES_FORMAT = 2  # the compiler's code of formats without rows


def registers_of(configuration: Configuration, edge: StreamEdge) -> Mapping[int, int | None]:
    """Address and value of each register that belongs to one stream; None where the value is not known."""
    geometry = edge.core_buffers_per_frame << 16 | edge.core_bytes_per_buffer
    offset = 4 * edge.sys_index
    if configuration.family == HAILO8:
        return {
            GEOMETRY_HAILO8.base + offset: geometry,
            PADDING_HAILO8.base + offset: _padding(configuration, edge),
        }
    way = edge.is_input
    row = edge.features if edge.format == _FEATURES_FORMAT and not way else edge.width
    return {
        GEOMETRY_1XH[way].base + offset: geometry,
        MODE_1XH[way].base + offset: _MODE_VALUES[way][0],
        ROW_1XH[way].base + offset: None if edge.format is None else row,
    }


def _padding(configuration: Configuration, edge: StreamEdge) -> int | None:
    if configuration.hw_padding is None or edge.format is None:
        return None
    if not configuration.hw_padding or edge.connection != BOUNDARY:
        return 0
    if edge.format in (0, 2):
        return edge.width * edge.features * edge.data_bytes
    return edge.width * edge.data_bytes if edge.format == 1 and edge.is_input else 0


def tables_of(family: str) -> tuple[tuple[Table, int], ...]:
    """Each table of a family with the value of an entry that no stream uses."""
    if family == HAILO8:
        return (GEOMETRY_HAILO8, 0), (PADDING_HAILO8, 0)
    return tuple(
        (table, unused)
        for way in (True, False)
        for table, unused in ((GEOMETRY_1XH[way], 0), (MODE_1XH[way], _MODE_VALUES[way][1]), (ROW_1XH[way], 0))
    )


def context_of(configuration: Configuration, run: ListRun) -> int | None:
    """The context whose streams a list describes; None where that is not known, or it describes none.

    1xh: the preliminary list the first context, each other the one that follows. Hailo-8: known for one context.
    """
    if not len(run.records) or not configuration.contexts:
        return None
    if configuration.family == HAILO8:
        return 0 if configuration.contexts == 1 and run.source.context is None else None
    return 0 if run.source.context is None else (run.source.context + 1) % configuration.contexts


def stream_hazards(configuration: Configuration, run: ListRun, image: ChipImage) -> Iterator[Hazard]:
    """Registers that disagree with the edge layers after a list was carried out."""
    context = context_of(configuration, run)
    if context is None:
        return
    edges = configuration.lists[context + 1].streams
    if not edges:
        return  # not known
    expected: dict[int, tuple[str, int | None]] = {}
    for edge in edges:
        for address, value in registers_of(configuration, edge).items():
            expected[address] = (f"stream {edge.name} (sys_index {edge.sys_index})", value)
    for table, unused in tables_of(configuration.family):
        held = image.words(table.base, table.entries)
        for index, value in enumerate(held.words.tolist()):
            address = table.base + 4 * index
            who, wanted = expected.get(address, (f"unused stream {index}", unused))
            if wanted is not None and (value != wanted or not held.written[index]):
                shown = f"{value:#x}" if held.written[index] else "nothing"
                what = f"{table.name} register {address:#x} holds {shown}, not {wanted:#x}"
                yield Hazard("stream-misconfigured", f"{run.source.name}, {who}", what)
    if configuration.family == HAILO8:
        address, value = _PERIPH_HAILO8
        globals_expected = {
            address: None
            if configuration.periph_in_hailort is None
            else 0
            if configuration.periph_in_hailort
            else value,
            _USED_HAILO8: _used(edges),
        }
        for address, wanted in globals_expected.items():
            found = image.word(address)
            if wanted is not None and found != wanted:
                yield Hazard("stream-misconfigured", run.source.name, f"{address:#x} holds {found}, not {wanted:#x}")


def _used(edges: tuple[StreamEdge, ...]) -> int:
    used = 0
    for edge in edges:
        used |= 1 << (edge.sys_index >> 1)
    return used
