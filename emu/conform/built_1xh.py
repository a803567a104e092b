"""Applications of a Hailo-15 whose configuration is well formed, as small as it can be: one command boots a cluster."""

from __future__ import annotations

import struct
from collections.abc import Mapping

from emu.conform.applications import (
    PAGE,
    REGISTERS,
    Application,
    act,
    bursts,
    config_off,
    config_on,
    double,
    single,
    without,
)
from emu.hw.config import build
from emu.hw.config.addresses import L3, L3_BLOCK, MAPS
from emu.hw.config.agreement_1xh import CLEAR_OFFSET
from emu.hw.config.streams import GEOMETRY_1XH, MODE_1XH, tables_of
from emu.sequencer.configuration import HAILO1XH
from emu.wire.actions import Action
from emu.wire.lists import Entry

_DEVICE = "hailo15h"
_BLOCK = 3  # of L3: the boot program
_WINDOW = MAPS[HAILO1XH].window(0)
_PREPARE = 0xF0025C, 0x2217  # units.md 3
_DONE_ADDRESS, DONE = 0xF0014C, 0xBAAB  # what a boot program ends with (chip-config.md 4)
_MASK = 0xFFFFFFFF
_MODES = {True: 0x40002, False: 0x800}  # of an input and an output that are used (chip-config.md 7)


def one_context() -> Application:
    """One context, one input, one output."""
    return _made(single(device=_DEVICE))


def two_contexts() -> Application:
    """Two contexts with an inter-context edge; neither has LCUs."""
    made = double(device=_DEVICE)
    made.dynamic = [without(entries, "LCU_INTERRUPT") for entries in made.dynamic]
    return _made(made)


def _made(made: Application) -> Application:
    made.batch_switching = without(made.batch_switching, "SWITCH_LCU_BATCH")
    return configure(made, records_of(made))


def configure(made: Application, records: Mapping[str, bytes]) -> Application:
    """The application with a preliminary list that fetches these records."""
    data = b"".join(records.values())
    made.config = data + bytes(-len(data) % PAGE)
    made.preliminary = [
        _written(*_PREPARE),
        config_on(descriptors=len(made.config) // PAGE),
        bursts(len(records)),
        act("SEQUENCER_DONE_INTERRUPT", sequencer_index=0),
        config_off(),
    ]
    return made


def records_of(made: Application, done: int = DONE) -> dict[str, bytes]:
    """What configures it, by names, in the order in which it comes: memory, streams, a program and its command."""
    program = build.packet(_BLOCK, _DONE_ADDRESS, [done], link=_BLOCK)
    return {
        "memory": build.record(HAILO1XH, _WINDOW, bytes(8)),
        **_streams(made.dynamic[0]),
        "program": build.record(HAILO1XH, _WINDOW + L3 + _BLOCK * L3_BLOCK, program),
        **{f"phase {phase}": build.command(0, phase, _BLOCK, 0, 0) for phase in (0, 1, 2, 4)},
    }


def _streams(entries: list[Entry]) -> dict[str, bytes]:
    """The registers of all streams, of which a list activates some."""
    used = {
        (one.type.name.endswith("_INPUT"), one.value("stream_index"))
        for one in entries
        if isinstance(one, Action) and one.type.name.startswith("ACTIVATE_")
    }
    geometry = REGISTERS["core_buffers_per_frame"] << 16 | REGISTERS["core_bytes_per_buffer"]
    found = {}
    for table, unused in tables_of(HAILO1XH):
        words = [unused] * table.entries
        for is_input, stream in used:
            if table == GEOMETRY_1XH[is_input]:
                words[stream] = geometry
            elif table == MODE_1XH[is_input]:
                words[stream] = _MODES[is_input]
        found[f"{table.name} {table.base:#x}"] = build.record(
            HAILO1XH, table.base, struct.pack(f"<{len(words)}I", *words)
        )
    return found


def triggered() -> list[Entry]:
    """The boot program once more, by a trigger that clears the done bits first."""
    return [
        _written(CLEAR_OFFSET, _MASK),
        act("TRIGGER_SEQUENCER", cluster_index=0, initial_l3_cut=_BLOCK),
        act("SEQUENCER_DONE_INTERRUPT", sequencer_index=0),
    ]


def _written(offset: int, value: int) -> Action:
    return act("WRITE_DATA_BY_TYPE", address=_WINDOW + offset, data=value, mask=_MASK)
