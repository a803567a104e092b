"""Configuration made by hand: it agrees, it runs, and what is broken in it is found; hostile content stays bounded."""

from __future__ import annotations

import runpy
import struct
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from emu.hef import open_hef
from emu.host.spec import RunSpec
from emu.hw.config import build
from emu.hw.config.addresses import L3, L3_BLOCK, MAPS
from emu.hw.config.agreement import hazards_of
from emu.hw.config.compression import decompress, symbols_of
from emu.hw.config.execute import Executor, ListRun
from emu.hw.config.packets import MOST_PACKETS
from emu.hw.config.records import Records, is_well_formed, read_records, read_run
from emu.regression.run import execute
from emu.sequencer.configuration import (
    HAILO1XH,
    HAILO8,
    CcwRecords,
    Configuration,
    ConfigurationList,
    Step,
    TriggerSequencer,
    read_configuration,
)
from tests.conftest import ROOT
from tests.effort import calls

EXAMPLE = ROOT / "examples" / "configured.hef"


def example() -> Configuration:
    hef = open_hef(EXAMPLE)
    return read_configuration(hef, next(core_op for core_op in hef.core_ops() if core_op.contexts))


def carried_out(family: str, steps: list[Step]) -> ListRun:
    return Executor(family).execute(ConfigurationList("preliminary", None, tuple(steps), ()))


def records(channel: int, *data: bytes) -> list[Step]:
    return [CcwRecords(channel, memoryview(one)) for one in data]


def trigger(block: int = 0, offset: int = 0, **bitmaps: int) -> TriggerSequencer:
    found = {"active_sc": 0, "active_apu": 0, "active_ia": 0, "active_l2": 0, **bitmaps}
    return TriggerSequencer(0, block, offset, l2_write=(0, 0, 0, 0), **found)


def run_of(contents: dict[int, bytes], **bitmaps: int) -> ListRun:
    return carried_out(HAILO8, [*records(0, *build.l3_records(0, contents)), trigger(min(contents), **bitmaps)])


def why(run: ListRun, number: int = 0) -> str:
    broken = run.runs[number].program.broken
    return "" if broken is None else broken.why


def test_the_example_agrees_and_runs(tmp_path: Path) -> None:
    configuration = example()
    assert is_well_formed(HAILO8, configuration.lists[0].steps)
    assert hazards_of(configuration) == []
    run = execute(EXAMPLE, RunSpec.of(EXAMPLE, frames=3), tmp_path / "t")
    assert run.error is None and run.device is not None
    assert run.device.logic.active and run.device.logic.programs == 1
    assert run.device.logic.configured == {(4, 0), (4, 3)}
    assert run.device.memory.peek(0x18800000 + 3 * 0x20000 + 0x12C) == 2


def test_the_example_is_what_its_script_makes(tmp_path: Path) -> None:
    made = tmp_path / "made.hef"
    runpy.run_path(str(EXAMPLE.with_name("make_configured.py")))["main"](["", str(made)])
    assert made.read_bytes() == EXAMPLE.read_bytes()


def test_every_record_of_the_example_matters() -> None:
    """Left out one by one: only the data block is not missed."""
    configuration = example()
    steps = configuration.lists[0].steps
    unnoticed = []
    for number, step in enumerate(steps):
        if isinstance(step, CcwRecords):
            rest = replace(configuration.lists[0], steps=steps[:number] + steps[number + 1 :])
            if not hazards_of(replace(configuration, lists=(rest, *configuration.lists[1:]))):
                unnoticed.append(struct.unpack_from("<I", step.data, 4)[0])
    # cluster 0 to 3 use nothing of the first symbol table; tables 1 and 0 of the crossbar are links' ends
    assert set(unnoticed) <= {0x11800000, 0x18000000 + L3 + 16 * L3_BLOCK}


@pytest.mark.parametrize("seed", range(4))
def test_compression_is_the_inverse_of_decompression(seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = rng.choice(256, 8 * 300, p=np.r_[0.5, np.full(255, 0.5 / 255)]).astype(np.uint8).tobytes()
    symbols = build.symbols_for(data)
    table = read_records(HAILO8, records(0, build.symbol_tables(HAILO8, symbols)[0])).words(0)
    known = symbols_of(table)
    assert known is not None and known.tobytes() == symbols
    (plain,) = decompress([np.frombuffer(build.compress(data, symbols), np.uint8)], known)
    assert plain.sound and plain.data.tobytes() == data


def test_records_of_1xh_and_every_flip_of_one() -> None:
    record = build.register(HAILO1XH, 0x2D800250, 1 << 13)
    assert read_run(HAILO1XH, record, 0).is_right.all()
    for bit in range(8 * len(record)):
        flipped = bytearray(record)
        flipped[bit // 8] ^= 1 << bit % 8
        found = read_run(HAILO1XH, bytes(flipped), 0)
        assert found.broken or not found.is_right.any() or not len(found), bit


@pytest.mark.parametrize("fence", [False, True])
def test_a_record_is_a_fence_where_it_says_so(fence: bool) -> None:
    for one in (
        build.record(HAILO1XH, 0x10000000 + L3, bytes(16), fence=fence),
        build.register(HAILO1XH, 0x2A000168, 1, fence=fence),
    ):
        assert [bool(flag) for flag in read_run(HAILO1XH, one, 0).is_fence] == [fence]


def test_decoding_resumes_behind_a_damaged_border() -> None:
    """A length that is too large swallows nothing but its own record (chip-config.md 8)."""
    good = [build.register(HAILO1XH, 0x2A000168 + 4 * n, n) for n in range(5)]
    damaged = bytearray(good[1])
    damaged[3] |= 0x80  # the length
    found = read_run(HAILO1XH, good[0] + bytes(damaged) + b"".join(good[2:]), 0)
    right = [int(value) for value, ok in zip(found.value, found.is_right, strict=True) if ok]
    assert right == [0, 2, 3, 4] and found.broken == [(0, len(good[0]))]


def ring(phases: dict[int, tuple[int, ...]]) -> list[Step]:
    """One command whose program is in L3 block 3, written in the given phases by each channel."""
    program = build.packet(3, 0xF0014C, [0xBAAB], link=3)
    steps = records(0, build.record(HAILO1XH, 0x10000000 + L3 + 3 * L3_BLOCK, program))
    for channel, own in phases.items():
        steps += records(channel, *(build.command(0, phase, 3, 0, 0) for phase in own))
    return steps


def test_a_go_waits_for_the_other_channels() -> None:
    """In whatever order the channels come: the program runs once all four phases are there (units.md 3)."""
    assert len(carried_out(HAILO1XH, ring({0: (0, 4), 1: (1,), 2: (2,)})).runs) == 1
    assert len(carried_out(HAILO1XH, ring({1: (1,), 2: (2,), 0: (0, 4)})).runs) == 1
    held = carried_out(HAILO1XH, ring({0: (0, 4), 1: (1,)}))
    assert not held.runs and held.held_back[0].block == 3


def test_a_program_over_several_blocks() -> None:
    writes = [(0x800000 + 0x400 * n, list(range(200))) for n in range(90)]
    contents = build.program([5, 6, 9], writes)
    assert sorted(contents) == [5, 6, 9]
    run = run_of(contents)
    assert why(run) == "" and run.runs[0].program.blocks == (5, 6, 9)
    assert run.runs[0].program.words == 90 * 200 + 1


@pytest.mark.parametrize(
    ("contents", "bitmaps", "expected"),
    [
        ({0: build.packet(0, 0xE00000, [1], link=0)}, {}, "no end marker"),
        ({0: build.packet(0, 0xE00000, [1], link=1)}, {}, "nobody wrote there"),
        ({0: build.packet(0, 0, [1], link=1), 1: build.packet(1, 0, [1], link=0)}, {}, "a link back to block 0"),
        ({0: build.packet(3, 0xE00000, [1])}, {}, "names block 3 without a link"),
        ({0: build.packet(0, 0xE00000, [1] * 9)[:24]}, {}, "9 words, 4 were written"),
        ({0: build.packet(0, 0xE00000, [1], kind=6)}, {}, "scatter kind 6"),
        ({0: build.packet(0, 0xE00002, [1], link=0)}, {}, "address 0xe00002 is no multiple of 4"),
        ({0: build.packet(0, 0xE00004, [1], link=0)}, {}, "no end marker"),
        (build.program([0], [build.Scatter(1, 0, [1] * 7)]), {}, "none is active"),
        (
            build.program([0], [build.Scatter(1, 0, [1] * 13)]),
            {"active_sc": 3},
            "1 words over sub-clusters are",
        ),
        (build.program([0], [build.Scatter(1, 0, [1] * 15)]), {"active_sc": 3}, "15 words where 14 are left"),
        (build.program([0], [build.Scatter(4, 0x408000, [1] * 6)]), {"active_ia": 1}, "where the stream stands"),
        (build.program([0], [build.Scatter(3, 0x8000, [1] * 6)]), {"active_l2": 0}, "none is active"),
    ],
)
def test_programs_that_break_off(contents: dict[int, bytes], bitmaps: dict[str, int], expected: str) -> None:
    assert expected in why(run_of(contents, **bitmaps))


def test_a_start_behind_what_was_written() -> None:
    """Of a block whose first bytes somebody wrote, too."""
    steps = [*records(0, *build.l3_records(0, {0: build.packet(0, 0xE00000, [1], link=0)})), trigger(0, 0x100)]
    assert "nobody wrote there" in why(carried_out(HAILO8, steps))


def nops() -> Iterator[bytes]:
    """Every block of L3 full of NOPs, each linked to the next: half a million packets."""
    for block in range(127):
        link = struct.pack("<Q", 1 << 16 | (block + 1) << 17)
        yield bytes(L3_BLOCK - 8) + link


def test_the_longest_program_ends_in_bounded_time() -> None:
    run = run_of(dict(enumerate(nops())))
    assert "nobody wrote there" in why(run) and run.runs[0].program.steps == 127 * L3_BLOCK // 8
    steps = [*records(0, *build.l3_records(0, dict(enumerate(nops())))), *[trigger()] * 2000]
    found: list[ListRun] = []
    assert calls(lambda: found.append(carried_out(HAILO8, steps))) < 500 * len(steps)
    assert sum(one.program.steps for one in found[0].runs) <= MOST_PACKETS


def test_a_block_written_a_thousand_times() -> None:
    """Small writes and triggers in turn do not make each other slow."""
    record = build.record(HAILO8, 0x10000000 + L3, struct.pack("<4I", 1, 2, 3, 4))
    moved = [record[:4] + struct.pack("<I", 0x10000000 + L3 + 16 * n) + record[8:] for n in range(2000)]
    steps: list[Step] = []
    for one in moved:
        steps += [*records(0, one), trigger()]
    half = calls(lambda: carried_out(HAILO8, steps[: len(steps) // 2]))
    assert calls(lambda: carried_out(HAILO8, steps)) < 2.5 * half < 1000 * len(steps)


def test_commands_of_very_many_channels_end_in_bounded_time() -> None:
    """Ten thousand channels stand at one go, and ten thousand arrive at it: each completed barrier wakes one."""
    program = build.packet(3, 0xF0014C, [0xBAAB], link=3)
    steps = records(0, build.record(HAILO1XH, 0x10000000 + L3 + 3 * L3_BLOCK, program))
    go, arrivals = build.command(0, 4, 3, 0, 0), [build.command(0, phase, 3, 0, 0) for phase in (0, 1, 2)]
    for channel in range(1, 10_000):
        steps += records(channel, go)
    steps += records(10_000, *(arrivals * 10_000))
    found: list[ListRun] = []
    assert calls(lambda: found.append(carried_out(HAILO1XH, steps))) < 100 * len(steps)
    assert len(found[0].runs) > 1000


def test_programs_that_overlap_stay_bounded_in_memory() -> None:
    """Every offset of full blocks starts a program of a quarter of a million words."""
    full = {
        block: struct.pack("<Q", (block + 1) << 17 | 1 << 16 | 8190) + bytes(4 * 8190)  # linked to the next
        for block in range(1, 32)
    }
    full[0] = bytes(8 * 400) + struct.pack("<Q", 1 << 17 | 1 << 16 | 7000) + bytes(4 * 7000)
    steps = records(0, *build.l3_records(0, full))
    tracemalloc.start()
    run = carried_out(HAILO8, [*steps, *[trigger(0, 8 * n % 3200) for n in range(3000)]])
    assert run.runs[0].program.words == 7000 + 31 * 8190 and "too many" in why(run, -1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 400 << 20
    # a word counts as a sixteenth of a packet
    assert sum(one.program.words for one in run.runs) <= 16 * MOST_PACKETS + 31 * 8190


def test_scatter_over_everything_stays_bounded_in_time() -> None:
    """A program that opens the longest stream of L2, started from ten thousand places."""
    one = build.packet(0, 0x8000, [1], kind=3)
    steps = records(0, *build.l3_records(0, {0: one * 2000}))
    steps += [trigger(0, 16 * (n % 2000), active_l2=(1 << 40) - 1 - n) for n in range(10_000)]
    found: list[ListRun] = []
    assert calls(lambda: found.append(carried_out(HAILO8, steps))) < 500 * len(steps)
    assert all(started.program.broken is not None for started in found[0].runs)
    # streams are laid out only where packets are left, of which each start takes 256
    opened = [one for one in found[0].runs if one.program.broken and one.program.broken.why != "too many packets"]
    assert len(opened) <= MOST_PACKETS // 256


def test_a_run_that_never_decodes_is_searched_in_bounded_time() -> None:
    """A megabyte with what might be the header of a long record at every place, and right ones between."""
    good = build.register(HAILO1XH, 0x2D800250, 1 << 13)
    likely = struct.pack("<II", 0x7FE00801, 0) * 500
    data = (good + b"\xff" * 8 + likely) * 256
    found: list[Records] = []
    assert calls(lambda: found.append(read_run(HAILO1XH, data, 0))) < len(data)
    assert len(found[0].broken) == 2 and found[0].is_right.all()


def test_compressed_records_without_a_table_and_tables_that_are_none() -> None:
    compressed = build.record(HAILO8, 0x11400000, bytes(64))
    run = carried_out(HAILO8, records(0, compressed))
    assert "no symbol table" in run.outcome.outside[0][1]
    short = build.record(HAILO8, 0x11800000, bytes(40))
    assert "symbol table" in carried_out(HAILO8, records(0, short)).outcome.outside[0][1]


@pytest.mark.parametrize("family", [HAILO8, HAILO1XH])
@pytest.mark.parametrize("seed", range(6))
def test_random_bytes(family: str, seed: int) -> None:
    """Nothing raises, nothing takes long: random records, some of them at addresses that mean something."""
    rng = np.random.default_rng(seed)
    steps: list[Step] = []
    for _ in range(200):
        data = rng.integers(0, 256, 8 * int(rng.integers(1, 60)), np.uint8).tobytes()
        address = int(rng.choice([0x11000000, 0x11400000, 0x11800000, 0x10F00250, 0x10000000, 0x30000000, 0x2E000000]))
        address += 4 * int(rng.integers(0, 3))
        steps += records(int(rng.integers(0, 4)), build.record(family, address, data), data)
        if rng.random() < 0.1:
            steps.append(
                trigger(int(rng.integers(0, 256)), int(rng.integers(0, 1 << 16)), active_sc=int(rng.integers(1 << 40)))
            )
    configuration = Configuration(family, (ConfigurationList("preliminary", None, tuple(steps), ()),) * 2, True, False)
    assert hazards_of(configuration)
    assert MAPS[family].name(0xFFFFFFFF)
