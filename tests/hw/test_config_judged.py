"""How much of what can be wrong with configuration is noticed: records dropped, moved, swapped, bits flipped.

A fault counts as noticed where the checks find a hazard, or a wait that nothing raises. Fixed seeds; what is not
noticed is in weights, which carry no check (chip-config.md 3).
"""

from __future__ import annotations

import random
import struct
from collections import Counter
from collections.abc import Iterator

from msgspec.structs import replace

from emu.hw.config.addresses import MAPS
from emu.hw.config.agreement import hazards_of
from emu.sequencer.configuration import HAILO1XH, HAILO8, CcwRecords, Configuration
from tests.conftest import needs_shared
from tests.hw.configured import Layout, configurations, layouts

pytestmark = needs_shared


def replaced(configuration: Configuration, number: int, edits: dict[int, CcwRecords | None]) -> Configuration:
    """The configuration with some steps of list `number` replaced, or (None) left out."""
    steps = [edits.get(place, step) for place, step in enumerate(configuration.lists[number].steps)]
    lists = list(configuration.lists)
    lists[number] = replace(lists[number], steps=tuple(step for step in steps if step is not None))
    return replace(configuration, lists=tuple(lists))


def kinds(layout: Layout) -> dict[int, str]:
    """What each record of a Hailo-8 preliminary list is, by its step: program, weights, table, raise, system."""
    run = layout.executed.runs[0]
    chip = MAPS[HAILO8]
    programs = {(one.cluster, block) for one in run.runs for block in one.program.blocks}
    found = {}
    for number, step in enumerate(run.records.step.tolist()):
        address = int(run.records.address[number])
        block, cluster = chip.l3_block(address), chip.cluster_of(address)
        if block is not None:
            found[step] = "program" if (cluster, block) in programs else "weights"
        elif address in chip.symbol_tables:
            found[step] = "table"
        else:
            found[step] = "raise" if address == chip.raise_register else "system"
    return found


def flip(data: memoryview, bit: int) -> memoryview:
    edited = bytearray(data)
    edited[bit // 8] ^= 1 << bit % 8
    return memoryview(bytes(edited))


def flipped(configuration: Configuration, number: int, step: int, bit: int) -> Configuration:
    record = record_at(configuration, number, step)
    return replaced(configuration, number, {step: record._replace(data=flip(record.data, bit))})


def record_at(configuration: Configuration, number: int, step: int) -> CcwRecords:
    record = configuration.lists[number].steps[step]
    assert isinstance(record, CcwRecords)
    return record


def readdressed(record: CcwRecords, address: int) -> CcwRecords:
    header = struct.pack("<I", address)
    return record._replace(data=memoryview(bytes(record.data[:4]) + header + bytes(record.data[8:])))


def every_record() -> Iterator[tuple[Layout, int, str]]:
    for layout in layouts():
        for step, kind in kinds(layout).items():
            yield layout, step, kind


def share(counts: Counter[tuple[str, bool]]) -> float:
    return sum(count for (_, noticed), count in counts.items() if noticed) / counts.total()


def test_flipped_bits_of_1xh_records() -> None:
    """Every one is noticed: 100 bits anywhere, and one in the first word of 100 records."""
    rng = random.Random(131)
    places = [
        (configuration, number, step, record)
        for _, configuration in configurations()
        if configuration.family == HAILO1XH
        for number, steps in enumerate(configuration.lists)
        for step, record in enumerate(steps.steps)
        if isinstance(record, CcwRecords)
    ]
    assert len(places) == 1796
    for trial in range(200):
        configuration, number, step, record = rng.choice(places)
        bit = rng.randrange(8 * len(record.data) if trial < 100 else 32)
        rules = {hazard.rule for hazard in hazards_of(flipped(configuration, number, step, bit))}
        assert rules & {"record-refused", "config-outside"}, (step, bit)


def test_dropped_records() -> None:
    """Every program record, and at least 60 % of all."""
    rng = random.Random(132)
    records = list(every_record())
    assert len(records) == 805
    counts: Counter[tuple[str, bool]] = Counter()
    for layout, step, kind in rng.sample(records, 200):
        hazards = hazards_of(replaced(layout.configuration, 0, {step: None}))
        counts[kind, bool(hazards)] += 1
    assert counts["program", False] == 0 < counts["program", True]
    assert counts["raise", False] == 0 < counts["raise", True]
    assert share(counts) >= 0.6, counts


def test_swapped_program_records() -> None:
    """Two program records of a cluster that change their places: every one is noticed."""
    rng = random.Random(133)
    for _ in range(60):
        layout = rng.choice(layouts())
        programs = [step for step, kind in kinds(layout).items() if kind == "program"]
        records = layout.executed.runs[0].records
        address = dict(zip(records.step.tolist(), records.address.tolist(), strict=True))
        first = rng.choice(programs)
        second = rng.choice([s for s in programs if s != first and address[s] >> 25 == address[first] >> 25])

        one, other = (record_at(layout.configuration, 0, step) for step in (first, second))
        exchanged = {first: readdressed(one, address[second]), second: readdressed(other, address[first])}
        assert hazards_of(replaced(layout.configuration, 0, exchanged)), (layout.name, first, second)


def test_moved_records() -> None:
    """L3 records that go to another block of their cluster: at least 60 %."""
    rng = random.Random(134)
    counts: Counter[tuple[str, bool]] = Counter()
    records = [(layout, step, kind) for layout, step, kind in every_record() if kind in ("program", "weights")]
    assert len(records) == 556
    for layout, step, kind in rng.sample(records, 200):
        record = record_at(layout.configuration, 0, step)
        address = struct.unpack_from("<I", record.data, 4)[0]
        block = address >> 15 & 127
        target = rng.choice([number for number in range(128) if number != block])
        moved = readdressed(record, address & ~(127 << 15) | target << 15)

        counts[kind, bool(hazards_of(replaced(layout.configuration, 0, {step: moved})))] += 1
    assert counts["program", False] == 0 < counts["program", True]
    assert share(counts) >= 0.6, counts


def test_flipped_bits_of_hailo8_records() -> None:
    """300 bits, as likely in each byte of all given files: at least 30 %, in programs (most of them hold weights for
    L2) as in the weights of L3; what gives them away is the compression, the packets and the codes of LCU programs."""
    rng = random.Random(135)
    records = list(every_record())
    sizes = []
    for layout, step, _ in records:
        record = record_at(layout.configuration, 0, step)
        sizes.append(len(record.data))
    counts: Counter[tuple[str, bool]] = Counter()
    for layout, step, kind in rng.choices(records, weights=sizes, k=300):
        record = record_at(layout.configuration, 0, step)
        bit = rng.randrange(8 * len(record.data))
        counts[kind, bool(hazards_of(flipped(layout.configuration, 0, step, bit)))] += 1
    assert share(counts) >= 0.3, counts
    fell = Counter(kind for kind, _ in counts.elements())
    assert fell == {"program": 217, "weights": 81, "system": 2}
