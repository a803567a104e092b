"""The map of addresses hangs together: banks and blocks that hold each other or keep apart (chip-config.md 5)."""

from __future__ import annotations

from itertools import pairwise

import pytest

from emu.hw.config.addresses import CLUSTER_STRIDE, MAPS


@pytest.mark.parametrize("family", MAPS)
def test_everything_is_made_of_words(family: str) -> None:
    chip = MAPS[family]
    numbers = [number for bank in chip.banks for number in (bank.base, bank.stride)]
    numbers += [number for block in chip.system for number in (block.base, block.size, block.stride)]
    numbers += [*chip.symbol_tables, chip.raise_register, chip.control]
    assert [hex(number) for number in numbers if number % 4] == []
    assert all(block.size & (block.size - 1) == 0 for block in chip.system)


@pytest.mark.parametrize("family", MAPS)
def test_banks_lie_in_the_window_and_keep_apart(family: str) -> None:
    spans = sorted((bank.base, bank.base + bank.units * bank.stride, bank.unit) for bank in MAPS[family].banks)
    assert spans[0][0] == 0 and spans[-1][1] <= CLUSTER_STRIDE
    assert [(one, other) for one, other in pairwise(spans) if one[1] > other[0]] == []


@pytest.mark.parametrize("family", MAPS)
def test_blocks_keep_apart_or_hold_each_other(family: str) -> None:
    blocks = [(block.base, block.base + block.size) for block in MAPS[family].system]
    for at, (base, end) in enumerate(blocks):
        for other_base, other_end in blocks[at + 1 :]:
            apart = end <= other_base or other_end <= base
            assert apart or (
                other_base <= base and end <= other_end
            )  # the small ones come first, names go by the first


@pytest.mark.parametrize("family", MAPS)
def test_the_first_and_the_last_word_of_each_place_have_its_name(family: str) -> None:
    chip = MAPS[family]
    for bank in chip.banks:
        first = chip.window(2) + bank.base
        last = first + bank.units * bank.stride - 4
        assert chip.place(first).unit == chip.place(last).unit == bank.unit
        assert (chip.place(first).number or 0, chip.place(last).number or 0) == (0, bank.units - 1)
        assert (chip.place(first).offset, chip.place(last).offset) == (0, bank.stride - 4)
    for block in chip.system:
        assert chip.place(block.base).unit == chip.place(block.base + block.size - 4).unit == block.name
        assert chip.place(block.base).offset == 0 and chip.place(block.base).cluster is None
