"""The checks that a network gives (network.md 10) are hazards of a run: each kind of damage has its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import emu
from emu.errors import HazardError
from emu.hef import open_hef
from emu.hef.infos import hef_infos
from emu.hw.config import build
from emu.hw.config.execute import preliminary
from emu.net.checks import network_hazards
from emu.net.layers import Kind
from emu.net.network import read_network
from emu.net.streams import streams_of
from emu.sequencer.configuration import read_configuration
from tests.conftest import needs_shared
from tests.net.given import given
from tests.net.test_build import chain, changed, made
from tests.trace.helpers import Cli

WINDOW = 0x18000000  # of cluster 4, which the builder uses
CONTROL, APU, LCU = WINDOW + 0xE00000, WINDOW + 0xC00000, WINDOW + 0x800000


@pytest.mark.parametrize(
    ("address", "word", "rule", "unit", "what"),
    [
        (CONTROL + 0x7B4 + 4 * 2, 0, "lcu-without-unit", "cluster 4 LCU 2", "it has no sub-cluster"),
        (CONTROL + 0x8B4 + 4 * 1, 0, "lcu-without-unit", "cluster 4 LCU 1", "it has no APU"),
        (CONTROL + 0x904 + 4 * 3, 0, "lcu-without-unit", "cluster 4 LCU 3", "it has no input aligner"),
        (CONTROL + 0xB88 + 32 * 2 + 4, 19 << 3 | 2, "edge-one-way", "cluster 4, LCU 2 to LCU 3 port 2", "no return"),
        (WINDOW + 0x400000 + 0x8000 * 1 + 8, 10, "zero-point-mismatch", "cluster 4 LCU 1", "hold zero point 10"),
        (APU + 0x10000 * 5 + 4 * 19, 1016, "output-offset-mismatch", "cluster 4 LCU 5", "zero point 127"),
        (LCU + 0x20000 * 4 + 0xE018, 0x400 - 0x1000 // 16, "weights-do-not-fit", "cluster 4 LCU 4", "432 weight words"),
        (LCU + 0x20000 * 4 + 0xE018, 0x400 - 0xC0 // 16, "weights-do-not-fit", "cluster 4 LCU 4", "0 blocks of L3"),
        (LCU + 0x20000 * 1 + 0xE018, 0x400 - 0x400 // 16, "weights-do-not-fit", "cluster 4 LCU 1", "do not fill 1024"),
        (
            LCU + 0x20000 * 3 + 0xE008,
            8 * 5 - 4,
            "weights-do-not-fit",
            "cluster 4 LCU 3",
            "weight words are no 5 groups",
        ),
        (LCU + 0x20000 * 3 + 0xD00C, 3 * 1000 - 1, "weights-do-not-fit", "cluster 4 LCU 3", "0 blocks of L3"),
        (CONTROL + 0x984, 0x34000070, "weights-do-not-fit", "cluster 4 LCU 3", "1 blocks of L3, its weights need 0"),
    ],
)
def test_each_kind_of_damage_is_found_where_it_is(address: int, word: int, rule: str, unit: str, what: str) -> None:
    hef = open_hef(made(chain(0)))
    (core_op,) = hef.core_ops()
    executed = preliminary(read_configuration(hef, core_op))
    streams = streams_of(hef_infos(hef).network_groups[0].layers[0])
    assert network_hazards(read_network(executed, streams)) == []
    count = 9 if rule == "output-offset-mismatch" else 1  # an APU holds an offset for each piece of its curve
    executed.image.write_words(address, np.array([word] * count, np.uint32))
    found = network_hazards(read_network(executed, streams))
    assert any(one.rule == rule and one.unit == unit and what in one.what for one in found), found
    assert all(one.context == "preliminary" for one in found)


@needs_shared
def test_word_counts_of_real_files_are_held_against_their_memory() -> None:
    """Memory that is one line of 64 bytes larger or smaller than an LCU's words are, unless L3 holds the rest."""
    for part in ("mnist", "behaviour"):
        one = next(one for one in given() if part in one.name)
        image = one.executed.image
        for lcu, registers in one.network.lcus.items():
            if registers.kind not in (Kind.CONV, Kind.DENSE):
                continue
            address = image.chip.window(lcu.cluster) + 0x800000 + 0x20000 * lcu.number + 0xE018
            held = image.unit_words(lcu.cluster, "LCU", lcu.number, 1, 0xE018).words.copy()
            for more in (-4, 4):
                image.write_words(address, held + np.uint32(0x100000000 + more & 0xFFFFFFFF))
                found = network_hazards(read_network(one.executed, one.network.streams))
                image.write_words(address, held)
                units = [hazard.unit for hazard in found if hazard.rule == "weights-do-not-fit"]
                assert units == [f"cluster {lcu.cluster} LCU {lcu.number}"], (one.name, lcu, more)


@pytest.fixture
def mismatched(tmp_path: Path) -> Path:
    path = tmp_path / "mismatched.hef"
    path.write_bytes(made(changed(chain(0), 1, zero_point=10)))
    return path


def test_a_run_shows_it_everywhere(mismatched: Path, cli: Cli, tmp_path: Path) -> None:
    assert cli("run", mismatched, "--json") == 0
    (group,) = cli.document["network_groups"]
    (hazard,) = group["hazards"]
    assert hazard == {
        "rule": "zero-point-mismatch",
        "context": "preliminary",
        "action_index": None,
        "unit": "cluster 4 LCU 1",
        "message": "its aligners hold zero point 10, what it reads has 9",
    }
    trace = tmp_path / "trace.jsonl"
    assert cli("run", mismatched, f"--trace={trace}") == 0
    assert "hazard: zero-point-mismatch: preliminary, cluster 4 LCU 1" in cli.out
    assert cli("check", "--trace", trace) == 6
    assert "zero-point-mismatch" in cli.out
    assert cli("run", mismatched, "--hazards=stop") == 6


def test_an_open_device_keeps_it(mismatched: Path) -> None:
    with emu.open_device("hailo8") as device:
        device.configure(mismatched).infer({"made/input_layer1": np.zeros((1, 8, 10, 3), np.uint8)})
        assert [one.hazard.rule for one in device.chip.hazards] == ["zero-point-mismatch"]


def test_a_sound_file_has_none(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "sound.hef"
    path.write_bytes(made(chain(0)))
    assert cli("run", path, "--hazards=stop", "--json") == 0
    assert cli.document["network_groups"][0]["hazards"] == []


def flipped(bit: int) -> Callable[..., list[tuple[int, list[int]]]]:
    """`build.lcu_writes` that flips a bit of the second instruction of LCU 3."""
    writes = build.lcu_writes

    def damaged(lcu: int, rows: list[bytes]) -> list[tuple[int, list[int]]]:
        (address, words), *rest = writes(lcu, [*rows, *rows])
        words = list(words)
        if lcu == 3:
            place = 4 * len(rows)
            words[place + bit // 32] ^= 1 << bit % 32
        return [(address, words), *((where, list(what)) for where, what in rest)]

    return damaged


@pytest.mark.parametrize("bit", range(0, 128, 9))
def test_a_flipped_bit_of_a_program_is_seen_and_located(bit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "lcu_writes", flipped(bit))
    data = made(chain(0))
    with pytest.raises(HazardError) as caught:
        emu.run(data, hazards="stop")
    assert "program-broken" in str(caught.value) and caught.value.where["unit"] == "cluster 4 LCU 3"
    wanted = f"+0x10010: 1 of 2 instructions with a wrong error code (the first has bit {bit} flipped)"
    assert wanted in str(caught.value)


def test_every_bit_is_located_and_two_are_not_taken_for_one() -> None:
    from emu.hw.config.crc import flipped_bit, instruction_codes

    row = np.random.default_rng(3).integers(0, 256, 16, np.uint8)
    row[15] = instruction_codes(row[None])[0]
    for bit in range(128):
        one = row.copy()
        one[bit // 8] ^= np.uint8(1 << bit % 8)
        assert flipped_bit(one) == bit
        one[(bit + 5) % 128 // 8] ^= np.uint8(1 << (bit + 5) % 8)
        assert flipped_bit(one) is None
