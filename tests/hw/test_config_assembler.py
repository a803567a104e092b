"""Records as text and back (`emu disasm --chip`, `emu asm`): byte for byte unedited, edited exactly the change."""

from __future__ import annotations

import random
import re
import struct
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from google.protobuf.message import Message

from emu.cli.disasm import record_texts
from emu.errors import EmuError, HailoStatus
from emu.hef import Hef, open_hef
from emu.hef.assembly import assemble
from emu.hef.container import Container
from emu.hef.model import CoreOp
from emu.hef.source import open_source
from emu.hef.writer import contents_of, write_hef
from emu.hw.config import build
from emu.hw.config.addresses import MAPS
from emu.hw.config.assembler import RecordAssembler
from emu.hw.config.execute import Executor
from emu.hw.config.records import read_records
from emu.schemas import hef_pb2 as pb
from emu.sequencer.configuration import HAILO1XH, HAILO8, CcwRecords, read_configuration
from tests.conftest import ROOT, SHARED, needs_shared
from tests.damaged_text import damaged
from tests.hw.configured import layouts, runs_1xh
from tests.hw.editing import assembled, described, edited, value, word

EXAMPLE = ROOT / "examples" / "configured.hef"
MNIST = "mnist_cnn.v0.hailo8.hef"  # container V0: records inline
YOLO = "yolov8n_320_nms.v2.hailo8.hef"
FACE = "face_landmarks_lite_2ctx.v3.hailo1xh.hef"  # V3, two contexts


LAST_PACKET = r"\n( +)- (\{to: control .*link: )"
ADDED = r"\n\1- {to: LCU 3 +0x9990, words: DEADBEE0 DEADBEE1 DEADBEE2}\n\1- \2"


def core_op_of(hef: Hef) -> CoreOp:
    return next(core_op for core_op in hef.core_ops() if core_op.contexts)


def records_in(data: bytes) -> list[CcwRecords]:
    hef = open_hef(data)
    lists = read_configuration(hef, core_op_of(hef)).lists
    return [step for one in lists for step in one.steps if isinstance(step, CcwRecords)]


@cache
def held(data: bytes) -> tuple[list[dict[int, tuple[np.ndarray, np.ndarray]]], list[str]]:
    """For each list what the chip holds at its end, by store: addresses and words; and where programs broke off."""
    hef = open_hef(data)
    configuration = read_configuration(hef, core_op_of(hef))
    executor, ends, broken = Executor(configuration.family), [], []
    for steps in configuration.lists:
        run = executor.execute(steps)
        assert not run.outcome.refused and not run.outcome.outside
        broken += [str(one.program.broken) for one in run.runs if one.program.broken is not None]
        chip, image = executor.chip, executor.image
        stores = {-1 if at is None else at: image.store(at).content() for at in (None, *range(chip.clusters))}
        for cluster in range(chip.clusters):
            for block in image.l3[cluster].written:
                content = image.l3[cluster].block(block)
                assert content is not None
                base = chip.window(cluster) + 0x1000000 + block * 0x8000
                stores[base] = np.arange(base, base + 0x8000, 4, dtype=np.uint32), content.words.copy()
        ends.append(stores)
    return ends, broken


def difference(before: bytes, after: bytes) -> dict[str, tuple[int, int]]:
    """Words that differ, by name."""
    hef = open_hef(before)
    chip = MAPS[read_configuration(hef, core_op_of(hef)).family]
    found = {}
    for old, new in zip(held(before)[0], held(after)[0], strict=True):
        assert old.keys() == new.keys()
        for place in old:
            if all(map(np.array_equal, old[place], new[place])):
                continue
            places = np.union1d(old[place][0], new[place][0])
            words = [np.zeros(len(places), np.uint32) for _ in range(2)]
            for target, (addresses, values) in zip(words, (old[place], new[place]), strict=True):
                target[np.searchsorted(places, addresses)] = values
            for at in np.flatnonzero(words[0] != words[1]).tolist():
                found[chip.name(int(places[at]))] = int(words[0][at]), int(words[1][at])
    return found


def changed_records(before: bytes, after: bytes) -> list[tuple[bytes, bytes]]:
    old, new = records_in(before), records_in(after)
    assert [one.channel for one in old] == [one.channel for one in new]
    pairs = [(bytes(one.data), bytes(other.data)) for one, other in zip(old, new, strict=True)]
    return [pair for pair in pairs if pair[0] != pair[1]]


def rest(data: bytes) -> bytes:
    """The message without its records and where they lie."""
    message = pb.ProtoHEFHef()
    message.ParseFromString(bytes(Container(open_source(data)).proto))
    pending: list[Message] = [message]
    while pending:
        for field, found in pending.pop().ListFields():
            if field.type == field.TYPE_MESSAGE:
                for one in found if field.is_repeated else [found]:
                    if one.DESCRIPTOR.name.startswith("ProtoHEFActionWriteDataCcw"):
                        for name in {"offset", "size", "data"}.intersection(one.DESCRIPTOR.fields_by_name.keys()):
                            one.ClearField(name)
                    pending.append(one)
    return message.SerializeToString(deterministic=True)


# --- unedited -------------------------------------------------------------------------------------------------------


@needs_shared
@pytest.mark.parametrize("path", sorted((SHARED / "hef").glob("*.hef")), ids=lambda path: path.name)
def test_every_given_file_comes_back_byte_for_byte(path: Path) -> None:
    """Each of its records is understood: none has to be kept as it is."""
    data = path.read_bytes()
    assert assembled(data) == data
    assert not re.search(r"\braw: ", described(data).text)


@needs_shared
def test_records_that_hold_packets_are_those_of_programs() -> None:
    """405 program blocks of Hailo-8 and the 166 programs of 1xh, whatever a walk says (chip-config.md 3)."""
    lists = [(HAILO8, executed.runs) for _, _, executed in layouts()] + [(HAILO1XH, runs) for _, _, runs in runs_1xh()]
    counts = {HAILO8: 0, HAILO1XH: 0}
    for family, runs in lists:
        assembler = RecordAssembler(family)
        for run in runs:
            visited = {(one.cluster, block) for one in run.runs for block in one.program.blocks}
            stored = {one.step: (one.cluster, one.block) for one in run.stored}
            for number, step in enumerate(run.source.steps):
                if isinstance(step, CcwRecords):
                    node = assembler.describe(step.channel, step.data)
                    assert ("packets" in node) == (stored.get(number) in visited)
                    counts[family] += "packets" in node
    assert counts[HAILO8] == 405 and counts[HAILO1XH] >= 166


def test_the_example_comes_back_in_each_container() -> None:
    for version in range(4):
        data = write_hef(contents_of(open_hef(EXAMPLE)), version)
        assert assembled(data) == data
        assert not re.search(r"\bccws: |\braw: ", described(data).text)


def test_made_up_files_come_back_too() -> None:
    for path in sorted((ROOT / "examples").glob("*.hef")):
        assert assembled(path.read_bytes()) == path.read_bytes(), path.name


@needs_shared
def test_a_dozen_synthetic_files_come_back() -> None:
    paths = sorted((SHARED / "synth" / "hef").glob("*.hef"))
    for path in paths[:: len(paths) // 12]:
        data = path.read_bytes()
        try:
            open_hef(data)
        except EmuError:
            continue
        assert assembled(data) == data, path.name


# --- edited ---------------------------------------------------------------------------------------------------------


@needs_shared
@pytest.mark.parametrize(
    ("name", "before", "to", "expected"),
    [
        (MNIST, word("LCU 14 +0x120", 3), "00000077", "LCU 14 +0x12C"),
        (MNIST, word("control +0x0", 9), "0000ABCD", "control +0x24"),
        (MNIST, word("streams +0x0", 1), "00010203", "streams +0x4"),
        (YOLO, word("LCU 9 +0x8000", 8), "DEADBEEF", "LCU 9 +0x8020"),
        (YOLO, word("routing 2 +0x0", 38), "00000021", "routing 2 +0x98"),
        (FACE, value("LCU 12 +0xBC"), "00000077", "LCU 12 +0xBC"),
        (FACE, value("system block 0x2A +0x168"), "00000123", "system block 0x2A +0x168"),
        (FACE, word("streams +0x7D0", 3), "00010203", "streams +0x7DC"),
        (FACE, word("LCU 12 +0x10000", 8), "DEADBEEF", "LCU 12 +0x10020"),
    ],
    ids=lambda text: (
        text.replace(" ", "_") if text.startswith(("LCU", "control", "streams", "routing", "system")) else ""
    ),
)
def test_an_edit_is_the_change_and_nothing_else(name: str, before: str, to: str, expected: str, shared: Path) -> None:
    """In the file one record differs; in the chip one word of the unit, and the same word in L3 that it came from."""
    data = (shared / "hef" / name).read_bytes()
    after = edited(data, before, rf"\g<1>{to if 'words' in before else '0x' + to}")
    assert len(changed_records(data, after)) == 1 and rest(data) == rest(after)
    found = difference(data, after)
    places = [place for place in found if " L3 block " not in place]
    assert len(places) == 1 and places[0].endswith(expected)
    assert {new for _, new in found.values()} == {int(to, 16)} and len(found) <= 2
    assert open_hef(after).container.checksum.matches


@needs_shared
@pytest.mark.parametrize("name", [YOLO, FACE])
def test_a_program_that_grows_moves_what_lies_behind_it(name: str, shared: Path) -> None:
    before = (shared / "hef" / name).read_bytes()
    after = edited(before, LAST_PACKET, ADDED)
    assert len(after) > len(before) and open_hef(after).container.checksum.matches
    assert len(changed_records(before, after)) == 1 and rest(before) == rest(after)
    names = {place for place in difference(before, after) if " L3 block " not in place}
    assert {place.split(" ", 2)[2] for place in names} == {"LCU 3 +0x9990", "LCU 3 +0x9994", "LCU 3 +0x9998"}
    assert held(after)[1] == []
    records = read_records(HAILO1XH if name == FACE else HAILO8, records_in(after))
    assert records.is_right.all() and not records.broken


@needs_shared
def test_a_command_and_a_raise_by_name(shared: Path) -> None:
    face = (shared / "hef" / FACE).read_bytes()
    ((_, changed),) = changed_records(face, edited(face, "(command: .*block: )[0-9]+", r"\g<1>126"))
    assert struct.unpack_from("<I", changed, 8)[0] >> 10 & 0x3FFFF == 126
    assert read_records(HAILO1XH, [CcwRecords(0, memoryview(changed))]).is_right.all()
    mnist = (shared / "hef" / MNIST).read_bytes()
    changes = changed_records(mnist, edited(mnist, "(raise: )25", r"\g<1>31"))
    assert changes == [(build.raised(HAILO8, 25), build.raised(HAILO8, 31))]


@needs_shared
def test_another_symbol_table_compresses_everything_anew(shared: Path) -> None:
    """Two symbols change their places: every compressed record is another one, and holds what it held."""
    before = (shared / "hef" / MNIST).read_bytes()
    line = r"(cluster 4 symbol table \+0x0\n +words: \|-\n +\+0x0000: (?:\w{8} ){3})(\w{8}) (.*\n.* )(\w{8})\n"
    after = edited(before, line, r"\1\4 \3\2\n")
    assert len(changed_records(before, after)) > 3
    assert {re.sub(r"\+.*", "", place) for place in difference(before, after)} == {"cluster 4 symbol table "}


def test_external_resources_move_with_the_section() -> None:
    before = write_hef(contents_of(open_hef(EXAMPLE)), 3, resources={"tokens": b"some bytes" * 50})
    after = edited(before, LAST_PACKET, ADDED)
    old, new = (open_hef(data, runtime="5.2") for data in (before, after))
    assert new.external_resources[0].offset > old.external_resources[0].offset
    for hef in (old, new):
        places = {section.name: section.offset for section in hef.container.sections}
        assert places["ccws"] + hef.external_resources[0].offset == places["additional_info"]
        assert hef.external_resources[0].size == 500


# --- the parts ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", [HAILO8, HAILO1XH])
def test_names_are_addresses(family: str) -> None:
    """Any word of the chip, and a few beyond, by its name."""
    chip, rng = MAPS[family], random.Random(7)
    addresses = [4 * rng.randrange(1 << 30) for _ in range(2000)]
    addresses += [chip.window(rng.randrange(chip.clusters)) + 4 * rng.randrange(1 << 23) for _ in range(3000)]
    addresses += [block.base + 4 * n for block in chip.system for n in (0, 1, 0x3FFF) if 4 * n < block.size]
    for address in addresses:
        assert chip.address(chip.name(address)) == address


@pytest.mark.parametrize(
    "name", ["", "LCU", "cluster 9 LCU 0 +0x0", "cluster 0 LCU 16 +0x0", "cluster 0 LCU 0 +0x20000", "nothing +0x4"]
)
def test_names_that_are_none(name: str) -> None:
    with pytest.raises(ValueError, match="no address"):
        MAPS[HAILO8].address(name)


HEAD = "emu_hef: 1\nbulk: x.bin\ncontainer: {version: 2}\nhef:\n  header: {hw_arch: %s, version: 4}\n"
ACTION = """\
  network_groups:
  - preliminary_config: {operation: [{actions: [{write_data_ccw_ptr: {offset: %d, size: %d, record: %s}}]}]}
"""
ANOTHER = """\
  - preliminary_config: {operation: [{actions: [{write_data_ccw_ptr: {offset: %d, size: %d, record: %s}}]}]}
"""
WHERE = "to: cluster 0 L3 block 3 +0x0"


def described_record(record: str, arch: str = "PROTO__HW_ARCH__HAILO8", size: int = 16) -> str:
    return HEAD % arch + ACTION % (0, size, record)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ("3", "a mapping is expected"),
        ("{}", "to 'None' is no whole number"),
        ("{to: here, value: 1}", "'here' is no address"),
        ("{to: cluster 0 LCU 0 +0x0, valu: 1}", "there is no 'valu' here"),
        ("{to: cluster 0 LCU 0 +0x0, value: 0x100000000}", "no whole number of 32 bits"),
        ("{to: cluster 0 LCU 0 +0x0, words: 0000 0001}", "of eight digits each, not '0000'"),
        ("{to: cluster 0 LCU 0 +0x0, words: 0000000g 00000001}", "of eight digits each"),
        ("{to: cluster 0 LCU 0 +0x0, words: '+0x0004: 00000000 00000001'}", "labelled '+0x0004' stand at +0x0000"),
        ("{to: cluster 0 LCU 0 +0x0, words: ''}", "hold 1 to"),
        ("{to: cluster 0 LCU 0 +0x0, packets: []}", "packets stand in L3"),
        ("{WHERE, packets: 1}", "packets are a list"),
        ("{WHERE, packets: [{}]}", "packet 0: it does not say where to"),
        ("{WHERE, packets: [{nops: 5000}]}", "5000 NOPs"),
        ("{WHERE, packets: [{nops: 4096}, {link: 3}]}", "do not fit into the block"),
        ("{WHERE, packets: [{to: L3 block 0 +0x0, value: 1}]}", "outside of its L3"),
        ("{WHERE, packets: [{to: LCU 0 +0x0, over: everything, value: 1}]}", "packets go over"),
        ("{WHERE, packets: [{link: 32768}]}", "link '32768' is no whole number of 15 bits"),
        ("{to: cluster 0 L3 block (compressed) 3 +0x0, words: 00000000 00000001}", "no symbol table came before"),
        ("{raise: 32}", "raise '32' is no whole number of 5 bits"),
        ("{command: {cluster: 0, phase: 0, block: 0, next: 0, slot: 0}}", "sequencers of Hailo-8 have none"),
        ("{to: cluster 0 LCU 0 +0x0, value: 1, fence: true}", "records of Hailo-8 have none"),
        ("{raw: 5}", "raw stands for bytes"),
        ("{raw: {bulk: 0, size: 99}}", "bytes 0 to 99 of a bulk file of 0"),
    ],
)
def test_a_bad_record_is_refused_with_its_place(record: str, message: str) -> None:
    with pytest.raises(EmuError) as error:
        assemble(described_record(record.replace("WHERE", WHERE)), lambda name: memoryview(b""), record_texts)
    assert error.value.number == HailoStatus.HAILO_INVALID_HEF
    assert message in error.value.message and "write_data_ccw_ptr" in error.value.message


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ("{command: {cluster: 7, phase: 0, block: 0, next: 0, slot: 0}}", "cluster 7: there are 5"),
        ("{command: {cluster: 0, phase: 0, block: 0, next: 0}}", "command slot 'None'"),
        ("{to: cluster 0 LCU 0 +0x0, words: 00000000 00000001 00000002}", "a multiple of 8"),
        ("{to: cluster 0 LCU 0 +0x0, words: '%s'}" % ("00000000 " * 8194), "hold at most 32775"),
    ],
)
def test_a_bad_1xh_record_is_refused(record: str, message: str) -> None:
    with pytest.raises(EmuError, match=re.escape(message)):
        assemble(described_record(record, "PROTO__HW_ARCH__HAILO1XH"), lambda name: memoryview(b""), record_texts)


def test_records_have_to_follow_each_other() -> None:
    value = "{to: cluster 0 LCU 0 +0x0, value: 1}"
    bulk = memoryview(b"")
    head = HEAD % "PROTO__HW_ARCH__HAILO8" + ACTION % (0, 16, value)
    for second, message in (
        (ANOTHER % (0, 16, "{to: cluster 0 LCU 0 +0x0, value: 2}"), "another record than"),
        (ANOTHER.replace(", record: %s", "") % (0, 8), "it has no record"),
        (ANOTHER % (8, 16, value), "offset 8 where 16 follows"),
        (ANOTHER % (24, 16, value), "offset 24 where 16 follows"),
        (ANOTHER % (-1, 16, value), "-1 is no whole number"),
    ):
        with pytest.raises(EmuError, match=message):
            assemble(head + second, lambda name: bulk, record_texts)
    again = ANOTHER.replace(", record: %s", "") % (0, 16)
    shared_record = b"".join(assemble(head + again, lambda name: bulk, record_texts))
    assert shared_record.endswith(build.register(HAILO8, 0x10800000, 1))
    with pytest.raises(EmuError, match="cannot be read without an architecture"):
        assemble(head.replace("PROTO__HW_ARCH__HAILO8", "NEW"), lambda name: bulk, record_texts)
    with pytest.raises(EmuError, match="nothing assembles them"):
        assemble(head, lambda name: bulk)


@pytest.mark.parametrize("family", [HAILO8, HAILO1XH])
def test_any_bytes_come_back(family: str) -> None:
    """Random records, sound and damaged, in their order: each is described so that it assembles to itself."""
    rng = random.Random(11)
    there, back = RecordAssembler(family), RecordAssembler(family)
    table = build.symbol_tables(family, bytes(range(56)))[0]
    kinds = set()
    for number in range(400):
        data = rng.randbytes(8 * rng.randrange(1, 40))
        if number == 0:
            data = table
        elif rng.random() < 0.7:
            address = rng.choice([0x11000000, 0x11408000, 0x10800000, 0x10F00250, 0x2C000918, 0x00200684, 0x2D800250])
            content = build.packet(0, 0x800000, [1, 2, 3], link=0) if rng.random() < 0.3 else data
            data = build.record(family, address, content, compressed=rng.random() < 0.3)
            if rng.random() < 0.3:
                data = bytes([data[0] ^ 1 << rng.randrange(8)]) + data[1:]
        node = there.describe(0, memoryview(data))
        kinds |= node.keys()
        assert back.assemble(0, node) == data
    assert kinds >= {"raw", "words", "packets"}


def test_damaged_descriptions_never_end_in_a_traceback() -> None:
    text = described(EXAMPLE.read_bytes()).text
    lines = text.splitlines(keepends=True)
    places = [number for number, line in enumerate(lines) if not re.search(r"\+0x[0-9A-F]{4}: ", line)]
    draw, refused = random.Random(7), 0
    for _ in range(200):
        where = draw.choice(places)
        try:
            assembled(EXAMPLE.read_bytes(), damaged(lines, where, draw))
        except EmuError:
            refused += 1
    assert refused > 50
