"""Small rules of the configuration, each by the fewest records that show it; expected values come from chip-config.md,
units.md and the script of the example."""

from __future__ import annotations

import struct
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from emu.chips.chips import load
from emu.hw.config import build
from emu.hw.config.addresses import L3 as L3_ADDRESS
from emu.hw.config.addresses import L3_BLOCK, L3_BLOCKS, L3_COMPRESSED, MAPS
from emu.hw.config.agreement import hazards_of
from emu.hw.config.agreement_order import order_hazards
from emu.hw.config.ccw import decode_checked
from emu.hw.config.execute import Executor
from emu.hw.config.l3 import L3, Size
from emu.hw.config.listing import listing
from emu.hw.config.overwriting import overwriting_hazards
from emu.hw.config.records import read_run
from emu.hw.config.report import chip_report
from emu.hw.config.routing import NOTHING, TABLES, WORDS, Routing
from emu.hw.config.streams import stream_hazards
from emu.hw.device import Device
from emu.sequencer.configuration import (
    HAILO1XH,
    HAILO8,
    ConfigurationList,
    LcuInterrupt,
    Step,
    TriggerSequencer,
    WriteData,
)
from tests.hw.lists import act
from tests.hw.test_config_build import carried_out, example, records, ring
from tests.hw.test_config_streams import configuration, edge


def test_the_report_of_the_example() -> None:
    """Two of 128 LCUs, two of 512 sub-clusters, two of 256 input aligners, two of 160 APUs, three of 1,024 blocks."""
    (entry,) = chip_report(example())
    assert entry["utilisation"] == {
        "lcus": 1.6,
        "sub_clusters": 0.4,
        "input_aligners": 0.8,
        "apus": 1.2,
        "l3_blocks": 0.3,
    }
    assert entry["config_done"] == [9, 13, 14, 17, 18, 19, 20, 21]
    assert entry["groups"] == [[{"cluster": 4, "lcu": 0}], [{"cluster": 4, "lcu": 3}]]
    assert entry["ways"] == [
        {"from": "cluster 4 output buffer 0", "to": "stream 0"},
        {"from": "stream 1", "to": "cluster 4 input buffer 0"},
    ]
    (cluster,) = entry["clusters"]
    kinds = [(block["index"], block["kind"]) for block in cluster["l3_blocks"]]
    assert kinds == [(0, "program"), (2, "program"), (16, "data")]


def test_the_listing_names_raises_and_registers() -> None:
    lines = "\n".join(listing(example())).splitlines()
    raises = [line.split("raise config-done ")[1] for line in lines if "raise config-done" in line]
    assert raises == ["9", "18", "19", "17", "20", "21", "13", "14"]
    assert any(line.endswith("stream control +0x8E4 = 0x00000001") for line in lines)


def test_a_command_is_read_back_from_its_register() -> None:
    executor = Executor(HAILO1XH, True)
    executor.execute(ConfigurationList("preliminary", None, tuple(ring({0: (0, 4), 1: (1,), 2: (2,)})), ()))
    (address, value) = struct.unpack("<II", build.command(0, 4, 3, 0, 0)[8:16])[::-1]
    assert executor.image.word(address) == value != 0


def test_a_block_that_is_written_twice_has_its_bytes_once() -> None:
    """Compressed bytes count all that came; of a block that came plain there are none."""
    blocks = L3(False)
    blocks.write(3, 0, memoryview(bytes(64)), None, 0)
    blocks.write(3, 0, memoryview(bytes(64)), None, 0)
    assert blocks.sizes[3] == Size(128, False)


def test_a_piece_that_another_covers_does_not_tell_contents_apart() -> None:
    first, whole = memoryview(bytes(range(16))), memoryview(bytes(range(24)))
    covered, alone = L3(False), L3(False)
    covered.write(0, 0, first, None, 1)
    covered.write(0, 0, whole, None, 2)
    alone.write(0, 0, whole, None, 2)
    assert covered.fingerprint == alone.fingerprint
    overlapping = L3(False)
    overlapping.write(0, 16, first, None, 1)
    overlapping.write(0, 0, whole, None, 2)
    assert overlapping.fingerprint != alone.fingerprint


@pytest.mark.parametrize(("offset", "size", "written"), [(0, 0x18000, 3), (0x7000, 0x12000, 4)])
def test_all_blocks_that_a_write_goes_on_into_are_told_apart_by_its_data(offset: int, size: int, written: int) -> None:
    found = []
    for digest in (1, 1, 2):
        blocks = L3(False)
        blocks.write(4, offset, memoryview(bytes(size)), None, digest)
        found.append([blocks.content_of(number) for number in range(4, 9)])
    same, again, other = found
    assert same == again and len({*same, *other} - {0}) == 2 * written


@pytest.mark.parametrize("words", [2, 4])
def test_decoding_resumes_at_a_record_of_any_length(words: int) -> None:
    """Behind a damaged border the next right record may hold 8 bytes or 16."""
    good = build.record(HAILO1XH, 0x10000000 + L3_ADDRESS, struct.pack(f"<{words}I", *range(words)))
    damaged = bytearray(build.register(HAILO1XH, 0x2A000168, 1))
    damaged[3] |= 0x80
    found = read_run(HAILO1XH, bytes(damaged) + good, 0)
    assert [int(size) for size, ok in zip(found.length, found.is_right, strict=True) if ok] == [4 * words]


def crossbar(**words: int) -> Routing:
    """Four tables that lead nowhere but for words given as tTABLE_WORD."""
    tables = np.full((TABLES, WORDS), NOTHING)
    for name, value in words.items():
        table, word = name[1:].split("_")
        tables[int(table), int(word)] = value
    taken = iter(tables)
    image: Any = SimpleNamespace(words=lambda base, count: (next(taken), np.ones(count, bool)))
    return Routing(image)


def test_links_between_tables_agree_by_their_number() -> None:
    """Source 16 + n of a table is what word 24 + n of the next feeds, source 24 + n word 16 + n of the one before."""
    for table, source, neighbour, word in ((0, 16, 1, 24), (2, 24, 1, 16)):
        agreeing = {f"t{table}_0": source + 3, f"t{neighbour}_{word + 3}": 0}
        assert not list(crossbar(**agreeing).hazards("x", {}))
        differing = {f"t{table}_0": source + 3, f"t{neighbour}_{word + 2}": 0}
        (one,) = crossbar(**differing).hazards("x", {})
        assert one.rule == "routing-mismatch" and one.what == "reads links [3], its neighbour feeds [2]"


def test_a_stream_register_is_shown_as_it_stands() -> None:
    config = configuration(HAILO1XH, edge())
    words = dict.fromkeys(range(0x2C000098, 0x2C000B00, 4), 0x77)
    written = {address: address != 0x2C0000A4 for address in words}

    def read(base: int, count: int) -> Any:
        at = range(base, base + 4 * count, 4)
        return SimpleNamespace(words=np.array([words[one] for one in at]), written=[written[one] for one in at])

    run: Any = SimpleNamespace(records=[1], source=config.lists[0])
    image: Any = SimpleNamespace(words=read, word=words.get)
    found = {hazard.what.split("register ")[1] for hazard in stream_hazards(config, run, image)}
    assert "0x2c0000a4 holds nothing, not 0x451230" in found
    assert "0x2c000144 holds 0x77, not 0x40002" in found


@pytest.mark.parametrize(("value", "names"), [(0x2217, []), (0x2216, ["cluster-not-prepared"])])
def test_a_cluster_is_prepared_by_one_value(value: int, names: list[str]) -> None:
    """1xh: 0x2217 to control +0x25C of its window, before any record (units.md 3)."""
    chip = MAPS[HAILO1XH]
    prepare = WriteData(chip.window(0) + 0xF0025C, value.to_bytes(4, "little"))
    run = carried_out(HAILO1XH, [prepare, *ring({0: (0, 4), 1: (1,), 2: (2,)})])
    assert len(run.runs) == 1
    assert [hazard.rule for hazard in order_hazards(run, chip) if hazard.rule == "cluster-not-prepared"] == names


def awaited(lcu: int, *data: bytes) -> list[Step]:
    return [LcuInterrupt(0, lcu), *records(0, *data)]


def block_of(number: int, value: int) -> bytes:
    return build.record(HAILO1XH, MAPS[HAILO1XH].window(0) + (number << 14), struct.pack("<II", value, value))


@pytest.mark.parametrize(
    ("second", "why"),
    [
        (awaited(2, block_of(0, 2)), ""),
        (records(0, block_of(0, 2)), "no LCU of its cluster was awaited"),
        (awaited(2, block_of(0, 2)) + awaited(3, block_of(0, 3)), "behind LCU 2 and behind LCU 3"),
    ],
)
def test_what_a_dynamic_list_overwrites(second: list[Step], why: str) -> None:
    """1xh, several contexts: memory of a sub-cluster is written behind the LCU that is done with it (units.md 4)."""
    lists = [("preliminary", None, records(0, block_of(0, 1))), ("dynamic 0", 0, second), ("dynamic 1", 1, [])]
    executor = Executor(HAILO1XH)
    runs = [executor.execute(ConfigurationList(name, at, tuple(steps), ())) for name, at, steps in lists]
    found = [hazard.what for hazard in overwriting_hazards(runs, MAPS[HAILO1XH])]
    assert len(found) == bool(why) and all(why in what for what in found)


@pytest.mark.parametrize(("lcu", "why"), [(5, ""), (2, "written behind LCU 2, it is LCU 5's")])
def test_a_block_belongs_to_the_lcu_of_the_next_command(lcu: int, why: str) -> None:
    """1xh: what the preliminary list wrote before LCU 5 was started is overwritten behind LCU 5 (units.md 4)."""
    start = build.packet(3, 0x800000 + 5 * 0x20000 + 0x19C, [1])
    program = start + build.packet(3, 0xF0014C, [0xBAAB], link=3)
    written = [block_of(0, 1), build.record(HAILO1XH, 0x10000000 + L3_ADDRESS + 3 * L3_BLOCK, program)]
    preliminary = [*records(0, *written), *records(1, build.command(0, 1, 3, 0, 0))]
    preliminary += [*records(2, build.command(0, 2, 3, 0, 0)), *records(0, build.command(0, 0, 3, 0, 0))]
    preliminary += records(0, build.command(0, 4, 3, 0, 0))
    lists = [("preliminary", None, preliminary), ("dynamic 0", 0, awaited(lcu, block_of(0, 2))), ("dynamic 1", 1, [])]
    executor = Executor(HAILO1XH)
    runs = [executor.execute(ConfigurationList(name, at, tuple(steps), ())) for name, at, steps in lists]
    assert runs[0].runs[0].effects.started == {5}
    assert [hazard.what for hazard in overwriting_hazards(runs, MAPS[HAILO1XH])] == ([why] if why else [])


def test_a_config_done_that_comes_too_late_is_missed_when_it_is_awaited() -> None:
    device = Device(load("hailo8"), "4.23")
    assert device.logic.take_config_done(18, 0) is None
    assert [(hazard.rule, hazard.what) for hazard in device.logic.hazards] == [("raise-missing", "18 is awaited")]
    device.logic.raised[19] = 7
    assert device.logic.take_config_done(19, 9) == 7 and not device.logic.raised
    assert len(device.logic.hazards) == 1


def test_programs_of_one_cluster_are_told_apart_by_their_first_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the chip holds for a network that is computed: the last run of each program of a list."""
    monkeypatch.setattr("emu.hw.config.logic._looked_at", lambda *_: (True, ()))
    logic = Device(load("hailo8"), "4.23").logic
    application: Any = SimpleNamespace()
    cache: Any = SimpleNamespace(check_records=lambda checked: None)
    logic.begin(application, cache, 0, keeps_words=True)
    logic.begin_list("preliminary")
    blocks = {number: build.packet(number, 0xE00000, [number], link=number) for number in (5, 7)}
    run = decode_checked(b"".join(build.l3_records(0, blocks)), HAILO8, 0)
    assert not logic.arrived(0, run, 0, run.count, 0)
    for block in (5, 7, 5):
        logic.trigger(act("TRIGGER_SEQUENCER", initial_l3_cut=block), 0)
    held = logic.held()
    assert held is not None and logic.programs == 3
    assert [run.program.blocks for run in held.runs] == [(5,), (7,)]


def test_what_lies_behind_l3_is_not_taken_for_it() -> None:
    """Two records to the first words behind the second form of L3's addresses overwrite each other there."""
    configuration = example()
    preliminary, *others = configuration.lists
    behind = MAPS[HAILO8].window(5) + L3_COMPRESSED + L3_BLOCKS * L3_BLOCK
    twice = records(0, *[build.record(HAILO8, behind, bytes(8))] * 2)
    changed = replace(preliminary, steps=(*preliminary.steps, *twice))
    found = hazards_of(replace(configuration, lists=(changed, *others)))
    (where,) = [hazard.where for hazard in found if hazard.rule == "block-overwritten"]
    assert where == "preliminary, cluster 5 symbol table +0x0"


def test_pages_of_l2_that_a_program_writes() -> None:
    """A field of 2 bits a sub-cluster says where its data begin, which then go on to the end (chip-config.md 3)."""
    configuration = example()
    preliminary, *others = configuration.lists
    steps = tuple(
        replace(step, active_l2=0b1001, l2_write=(0b10 << 6, 0, 0, 0)) if isinstance(step, TriggerSequencer) else step
        for step in preliminary.steps
    )
    (entry,) = chip_report(replace(configuration, lists=(replace(preliminary, steps=steps), *others)))
    pages = [{"sub_cluster": 0, "pages": [0, 1, 2, 3]}, {"sub_cluster": 3, "pages": [2, 3]}]
    assert entry["clusters"][0]["l2_pages"] == pages
