"""chip-config.md 1 to 3 and 5 over the given files: every statement that the model uses counts as it does there."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from emu.hef import open_hef
from emu.hef.operations import ActionEnableSequencer
from emu.hw.config.addresses import COMPRESSED_L3, L3_BLOCK, L3_COMPRESSED, MAPS, SUB_CLUSTER_END
from emu.hw.config.assembler import RecordAssembler
from emu.hw.config.compression import decompress, symbols_of
from emu.hw.config.crc import instruction_codes
from emu.hw.config.packets import HAILO8_END, L2, l2_starts, units_of
from emu.hw.config.records import Bytes, Records, read_records
from emu.hw.gather import Rope
from emu.sequencer.configuration import HAILO1XH, HAILO8, CcwRecords, TriggerSequencer, read_configuration
from tests.conftest import SHARED, needs_shared
from tests.hw.configured import configurations, layouts, runs_1xh

pytestmark = needs_shared
REGISTER_HEADER = 1 << 2


def lists_with_records() -> list[tuple[str, Records]]:
    found = []
    for _, configuration in configurations():
        for steps in configuration.lists:
            records = read_records(configuration.family, steps.steps)
            if len(records):
                found.append((configuration.family, records))
    return found


def table_bytes(records: Records) -> Bytes:
    tables = [n for n in range(len(records)) if int(records.address[n]) in MAPS[records.family].symbol_tables]
    symbols = symbols_of(records.words(tables[0]))
    assert symbols is not None
    return symbols


def test_every_action_holds_one_sound_record() -> None:
    counts: Counter[str] = Counter()
    for family, records in lists_with_records():
        assert not records.broken
        assert len(set(records.step.tolist())) == len(records)
        counts[family] += len(records)
        counts[f"{family} lists"] += 1
    assert counts == {HAILO8: 805, HAILO1XH: 1796, "Hailo-8 lists": 8, "1xh lists": 4}


def bitwise_crc(data: bytes) -> int:
    """The rule of chip-config.md 1 as it stands there."""
    value = 0
    for byte in data:
        value ^= byte << 15
        for _ in range(8):
            value = (value << 1) & 0x7FFFFF ^ (0x281BE1 if value >> 22 & 1 else 0)
    return value


def test_check_values_of_1xh_records() -> None:
    """1,796 of 1,796 are right; the vectorised value is that of the rule, bit by bit."""
    total = right = 0
    for family, records in lists_with_records():
        if family == HAILO1XH:
            total += len(records)
            right += int(records.is_right.sum())
    assert (right, total) == (1796, 1796)
    records = lists_with_records()[-2][1] if lists_with_records()[-2][0] == HAILO1XH else lists_with_records()[-1][1]
    shortest = sorted(range(len(records)), key=lambda n: int(records.size[n]))[:40]
    for number in shortest:
        start, size = int(records.offset[number]), int(records.size[number])
        buffer = records.buffer
        data = (
            buffer.between(start, start + size) if isinstance(buffer, Rope) else buffer[start : start + size].tobytes()
        )
        stored = int.from_bytes(data[-8:-4], "little")
        assert bitwise_crc(data[:-8]) == stored


def test_kinds_of_1xh_records() -> None:
    counts: Counter[str] = Counter()
    for family, records in lists_with_records():
        if family != HAILO1XH:
            continue
        chip = MAPS[family]
        counts["register"] += int(records.is_register_write.sum())
        counts["compressed"] += int(records.is_compressed.sum())
        for number in range(len(records)):
            place = chip.place(int(records.address[number]))
            in_memory = place.unit == "sub-cluster"
            assert (int(records.header[number]) >> 13 & 1 == 0) == in_memory
            assert int(records.header[number]) >> 11 & 1
            if records.is_register_write[number] and place.unit == "control":
                assert place.offset == 0x250
                counts["command"] += 1
    assert counts == {"register": 714, "compressed": 268, "command": 654}


def test_symbol_tables() -> None:
    """16 tables of Hailo-8 lists, 12 of 1xh ones: 56 different bytes, the channels agree."""
    counts: Counter[str] = Counter()
    for family, records in lists_with_records():
        seen = set()
        for number in range(len(records)):
            if int(records.address[number]) in MAPS[family].symbol_tables:
                words = records.words(number)
                counts[family] += 1
                seen.add(bytes(records.data(number)))
                assert len(set(words[1:57].tolist())) == 56 and words[1:57].max() < 256 and words[0] == 0
        assert len(seen) == 1
    assert counts == {HAILO8: 16, HAILO1XH: 12}


def test_l3_records_of_hailo8() -> None:
    """556 records into L3, 503 of them compressed; none crosses a block, none is written twice or both ways."""
    counts: Counter[str] = Counter()
    for family, records in lists_with_records():
        if family != HAILO8:
            continue
        chip, blocks, numbers = MAPS[family], [], []
        for number in range(len(records)):
            address = int(records.address[number])
            if chip.l3_block(address) is None:
                continue
            compressed = address & 0x1FFFFFF >= L3_COMPRESSED
            counts["compressed" if compressed else "plain"] += 1
            blocks.append((chip.cluster_of(address), chip.l3_block(address)))
            if compressed:
                assert address % L3_BLOCK == 0
                numbers.append(number)
            else:
                assert address % L3_BLOCK + int(records.length[number]) <= L3_BLOCK
        assert len(blocks) == len(set(blocks))
        for plain in decompress([records.data(number) for number in numbers], table_bytes(records)):
            assert plain.sound
            assert len(plain.data) <= L3_BLOCK and len(plain.data) % 8 == 0
    assert counts == {"compressed": 503, "plain": 53}


def test_compressed_1xh_blocks_fill_the_gap_to_the_next_record() -> None:
    """Every compressed record to a sub-cluster decodes to exactly what lies before the next one, or to 0xC000."""
    counts: Counter[str] = Counter()
    for family, records in lists_with_records():
        if family != HAILO1XH:
            continue
        numbers = [n for n in range(len(records)) if records.is_compressed[n]]
        starts = sorted(int(records.address[n]) for n in range(len(records)) if not int(records.header[n]) >> 13 & 1)
        plain = decompress([records.data(n) for n in numbers], table_bytes(records))
        for number, content in zip(numbers, plain, strict=True):
            assert content.sound
            address = int(records.address[number])
            if int(records.header[number]) >> 13 & 1:
                counts["L3"] += 1
                continue
            end = (address & ~0xFFFF) + SUB_CLUSTER_END
            behind = [start for start in starts if address < start < end]
            size = (behind[0] if behind else end) - address
            counts["exact"] += len(content.data) == size
            counts["sub-cluster"] += 1
    assert counts["exact"] == counts["sub-cluster"] and counts["exact"] + counts["L3"] == 268


def test_46_of_46_triggers_walk_to_their_end_marker() -> None:
    triggers = packets = 0
    for _, _, executed in layouts():
        for run in executed.runs[0].runs:
            triggers += 1
            program = run.program
            assert program.broken is None
            last = program.packets[-1]
            assert (last.address, int(last.words[0])) == HAILO8_END
            assert [(p.address, len(p.words)) for p in program.packets[:4]] == [
                (0xE00000, 1124), (0xE01194, 1), (0xE0119C, 75), (0xE01308, 11)
            ]  # fmt: skip
            assert list(program.blocks[1:]) == sorted(program.blocks[1:])
            packets += len(program.packets)
    assert triggers == 46 and packets > 46 * 4


def test_where_triggers_start() -> None:
    """initial_l3_legacy = offset x 16 + index in 46 of 46 triggers, and a record starts there (units.md 2)."""
    triggers = 0
    for path in sorted((SHARED / "hef").glob("*.hailo8*.hef")):
        hef = open_hef(path)
        for core_op in (core_op for core_op in hef.core_ops() if core_op.contexts):
            steps = read_configuration(hef, core_op).lists[0].steps
            starts = set(read_records(HAILO8, steps).addresses)
            for operation in core_op.preliminary_config.operation:
                for action in operation.actions:
                    if isinstance(action, ActionEnableSequencer):
                        info = action.initial_l3_info
                        if info.includes_initial_l3_info and action.initial_l3_legacy:
                            assert action.initial_l3_legacy == info.initial_l3_offset * 16 + info.initial_l3_index
            for step in steps:
                if isinstance(step, TriggerSequencer):
                    place = 0x1000000 + step.l3_index * L3_BLOCK + step.l3_offset
                    assert MAPS[HAILO8].window(step.cluster) + place in starts
                    triggers += 1
    assert triggers == 46


def test_parity_of_packet_headers() -> None:
    """Bit 63 makes every header odd, in all of 1xh and but for one file of Hailo-8, in which it is never set."""
    without = set()
    for name, configuration in configurations():
        assembler = RecordAssembler(configuration.family)
        nodes = [assembler.describe(*s) for one in configuration.lists for s in one.steps if isinstance(s, CcwRecords)]
        kinds = {node.get("parity", "odd") for node in nodes if "packets" in node and "value" in str(node["packets"])}
        assert len(kinds) == 1
        without |= {name} if kinds == {"none"} else set()
    assert without == {"hand_landmark_lite.v0.hailo8.hef"}


def test_1xh_programs_walk_to_their_end() -> None:
    """156 gos of commands and 10 triggers: each has its block written by then, each program ends."""
    counts: Counter[str] = Counter()
    for _, _, runs in runs_1xh():
        for run in runs:
            assert not run.outcome.refused and not run.outcome.outside and not run.held_back
            for started in run.runs:
                assert started.program.broken is None
                counts["trigger" if started.trigger else "go"] += 1
            counts["commands"] += len(run.outcome.commands)
    assert counts == {"go": 156, "trigger": 10, "commands": 654}
    # four writes a command, three where a trigger is the go (units.md 3)
    assert 4 * counts["go"] + 3 * counts["trigger"] == counts["commands"]


def test_scatter_lengths() -> None:
    """n = words a unit × active units for each kind, and the L2 stream ends at 0xC000 in every unit."""
    kinds: Counter[tuple[str, int]] = Counter()
    families = [(HAILO8, executed.runs) for _, _, executed in layouts()] + [(HAILO1XH, r) for _, _, r in runs_1xh()]
    for family, runs in families:
        for started in (started for run in runs for started in run.runs):
            trigger = started.trigger
            totals: Counter[int] = Counter()
            for packet in started.program.packets:
                totals[packet.kind] += len(packet.words) if packet.kind else 0
            for kind, total in totals.items():
                if not kind:
                    continue
                assert trigger is not None
                if kind == L2:
                    # units of the lowest page begin where the first packet does (network.md 1)
                    first = next(packet for packet in started.program.packets if packet.kind == L2).address & 0xFFFF
                    begins = [max(start, first) if start <= first else start for start in l2_starts(trigger).values()]
                    assert total == sum((SUB_CLUSTER_END - begin) // 4 for begin in begins)
                else:
                    unit, bitmap = {
                        1: ("sub-cluster", trigger.active_sc),
                        2: ("APU", trigger.active_apu),
                        4: ("input aligner", trigger.active_ia),
                    }[kind]
                    assert total == MAPS[family].words_a_unit[unit] * len(units_of(bitmap))
                kinds[family, kind] += 1
            if trigger is not None and family == HAILO8:
                assert (L2 in totals) == bool(trigger.active_l2)
                assert trigger.active_l2 & ~trigger.active_sc == 0
    assert sum(count for (family, _), count in kinds.items() if family == HAILO8) > 3 * 40


def test_error_codes_of_lcu_programs() -> None:
    """Every 16-byte instruction of every LCU program carries its code (network.md 7)."""
    instructions = right = lcus = 0
    for _, _, executed in layouts():
        for cluster in range(8):
            for lcu in executed.image.written_units(cluster, "LCU"):
                words, written = executed.image.unit_words(cluster, "LCU", lcu, 0x4000, 0x10000)
                count = int(written.argmin())
                assert count % 4 == 0 and not written[count:].any()
                rows = words[:count].astype("<u4").view(np.uint8).reshape(-1, 16)
                instructions += len(rows)
                right += int((instruction_codes(rows) == rows[:, 15]).sum())
                lcus += 1
    assert lcus == 511
    assert right == instructions > 511


def test_a_flipped_bit_of_an_instruction_is_seen() -> None:
    rng = np.random.default_rng(13)
    rows = rng.integers(0, 256, (64, 16), np.uint8)
    rows[:, 15] = instruction_codes(rows)
    for bit in range(128):
        flipped = rows.copy()
        flipped[:, bit // 8] ^= np.uint8(1 << bit % 8)
        assert (instruction_codes(flipped) != flipped[:, 15]).all()


def test_ccw_steps_are_numbered_in_operation_order() -> None:
    for _, configuration in configurations():
        for steps in configuration.lists:
            records = read_records(configuration.family, steps.steps)
            holders = [n for n, step in enumerate(steps.steps) if isinstance(step, CcwRecords)]
            assert records.step.tolist() == holders


def encode(data: bytes, symbols: bytes) -> bytes:
    """The code of chip-config.md 2, bit by bit: the independent other direction."""
    bits = ""
    places = {symbol: number for number, symbol in enumerate(symbols)}
    for byte in data:
        number = places.get(byte, 56)
        if number < 8:
            bits += "1" + f"{number:03b}"[::-1]
        elif number < 24:
            bits += "01" + f"{number - 8:04b}"[::-1]
        elif number < 56:
            bits += "001" + f"{number - 24:05b}"[::-1]
        else:
            bits += "000" + f"{byte:08b}"[::-1] + "0"
    bits += "0" * (-len(bits) % 64)
    return bytes(int(bits[place : place + 8][::-1], 2) for place in range(0, len(bits), 8))


@pytest.mark.parametrize("seed", range(8))
def test_decoding_gives_what_was_encoded(seed: int) -> None:
    rng = np.random.default_rng(seed)
    symbols = rng.permutation(256)[:56].astype(np.uint8)
    streams = [
        rng.choice(symbols if number % 2 else np.arange(256), 8 * rng.integers(0, 400)).astype(np.uint8).tobytes()
        for number in range(9)
    ]
    packed = [np.frombuffer(encode(stream, symbols.tobytes()), np.uint8) for stream in streams]
    for stream, plain in zip(streams, decompress(packed, symbols), strict=True):
        assert plain.sound
        assert bytes(plain.data) == stream


def stream_of(bits: str) -> np.ndarray:
    bits += "0" * (-len(bits) % 64)
    return np.frombuffer(bytes(int(bits[p : p + 8][::-1], 2) for p in range(0, len(bits), 8)), np.uint8)


@pytest.mark.parametrize(
    ("code", "sound"),
    [
        ("000" + "11111111" + "0", True),  # an escape for a byte without a symbol
        ("000" + "11111111" + "1", False),  # its last bit set
        ("000" + "10100000" + "0", False),  # a byte that has a symbol
    ],
)
def test_escapes_that_compilers_do_not_write(code: str, sound: bool) -> None:
    symbols = np.arange(56, dtype=np.uint8)
    assert decompress([stream_of("1100" * 7 + code)], symbols)[0].sound is sound


def test_escapes_hold_only_bytes_without_a_symbol() -> None:
    """Over every compressed record of the given files, so that a flipped bit in an escape is mostly seen."""
    streams = sound = 0
    for family, records in lists_with_records():
        chip = MAPS[family]
        numbers = [
            n
            for n in range(len(records))
            if records.is_compressed[n] or chip.place(int(records.address[n])).unit == COMPRESSED_L3
        ]
        plain = decompress([records.data(n) for n in numbers], table_bytes(records))
        streams += len(plain)
        sound += sum(content.sound for content in plain)
    assert (sound, streams) == (503 + 268, 503 + 268)
