"""Registers that mean something: names, reset values, and units that act on what is written."""

from __future__ import annotations

import random
import struct

import pytest

from emu.hw.config.addresses import CLUSTER_BASE
from emu.hw.config.ccw import decode_run
from emu.hw.memory import AddressSpace, regions
from emu.hw.registers import Register, Registers
from tests.hw.lists import PAGE, act, single
from tests.hw.test_config import hailo8

RAISE = 0x00200680  # beside the real one (0x00200684), which only well-formed configuration writes (units.md 0)


def space(*registers: Register) -> AddressSpace:
    memory = AddressSpace(regions(8))
    for register in registers:
        memory.registers.declare(register)
    return memory


def test_a_register_reads_as_its_reset_value_until_it_is_written_and_after_a_reset() -> None:
    memory = space(Register("interrupt raise", RAISE, reset=0x1234))
    assert memory.read_word(RAISE) == 0x1234 and not memory.read_before_write
    assert memory.masked_write(RAISE, 0xF0, 0xFF) == 0x12F0
    assert memory.read_word(RAISE) == 0x12F0
    memory.reset()
    assert memory.read_word(RAISE) == 0x1234
    assert memory.snapshot() == {}
    memory.read_word(RAISE + 4)
    assert memory.read_before_write == [RAISE + 4]


@pytest.mark.parametrize("how", ["word", "unit", "record", "block"])
def test_a_unit_acts_on_every_way_to_write(how: str) -> None:
    seen: list[tuple[int, int]] = []
    memory = space(Register("raise", RAISE, 8, on_write=lambda address, value: seen.append((address, value))))
    if how == "word":
        memory.write_word(RAISE, 5)
        memory.write_word(RAISE + 4, 6)
    elif how == "unit":
        memory.write_unit([(RAISE - 4, 1), (RAISE, 5), (RAISE + 4, 6), (RAISE + 8, 2)])
    else:
        data = hailo8(RAISE - 4, 1, 5, 6, 2) if how == "block" else hailo8(RAISE, 5) + hailo8(RAISE + 4, 6)
        run = decode_run(data, "descriptors")
        memory.load(run.image(0, run.count))
    assert seen == [(RAISE, 5), (RAISE + 4, 6)]


@pytest.mark.parametrize("seed", range(20))
def test_blocks_reach_the_words_that_registers_cover(seed: int) -> None:
    """Against a walk over all words, for blocks and ranges anywhere."""
    rng = random.Random(seed)
    registers, seen = Registers(), []
    covered = set()
    for start in range(0, 400, 40):
        words = rng.randint(1, 10)
        registers.declare(Register(f"r{start}", start, 4 * words, on_write=lambda at, value: seen.append((at, value))))
        covered |= set(range(start, start + 4 * words, 4))
    at, size = rng.randrange(420), rng.randrange(200)
    data = rng.randbytes(size)
    registers.block_written(at, data)
    expected = [
        (word, struct.unpack_from("<I", data, word - at)[0])
        for word in range(0, 800, 4)
        if word in covered and at <= word and word + 4 <= at + size
    ]
    assert seen == expected


def test_names_of_addresses() -> None:
    memory = space(Register("interrupt raise", RAISE), Register("cluster 1 LCU 2", CLUSTER_BASE + 0x2840000, 0x1000))
    assert memory.describe(RAISE) == "interrupt raise"
    assert memory.describe(CLUSTER_BASE + 0x284012C) == "cluster 1 LCU 2 +0x12C"
    assert memory.describe(CLUSTER_BASE + 0x10) == "cluster 0 lcu +0x10"


@pytest.mark.parametrize(
    ("address", "size"), [(0x102, 4), (0x100, 6), (0x100, 0), (0xFC, 8), (0x104, 4), (0x100, 4), (0x80, 0x100)]
)
def test_declarations_that_make_no_sense(address: int, size: int) -> None:
    registers = Registers()
    registers.declare(Register("there", 0x100, 8))
    with pytest.raises(ValueError):
        registers.declare(Register("wrong", address, size))
    registers.declare(Register("behind", 0x108))
    registers.declare(Register("before", 0xF8, 8))


def test_a_register_acts_in_a_run() -> None:
    """By an action of a list and by a record of the configuration."""
    lists = single()
    lists.preliminary.append(act("WRITE_DATA_BY_TYPE", address=RAISE, data=5, mask=0xFFFFFFFF))
    records = [hailo8(0x11000000 + 8 * n, n, n) for n in range(3 * PAGE // 16 - 1)]
    session = lists.session(config_bytes=b"".join(records) + hailo8(RAISE, 1 << 5, 7))
    seen: list[int] = []
    session.chip.memory.registers.declare(Register("raise", RAISE, on_write=lambda at, value: seen.append(value)))
    session.run_group(session.applications[0])
    assert seen == [1 << 5, 5]
