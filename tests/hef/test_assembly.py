"""disasm and asm: every file comes back byte for byte, edits give sound files, bad descriptions are refused."""

from __future__ import annotations

import hashlib
import random
import struct
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import xxhash
import yaml
from click.testing import CliRunner
from google.protobuf.message import DecodeError
from hypothesis import HealthCheck, given, settings

from emu.cli.asm import command as asm
from emu.cli.disasm import command as disasm
from emu.errors import EmuError, HailoStatus, UsageError
from emu.hef import open_hef
from emu.hef.assembly import Description, assemble, disassemble
from emu.hef.container import Container
from emu.hef.infos import hef_infos
from emu.hef.pack import Sections, pack
from emu.hef.plain import INLINE_BYTES
from emu.hef.source import open_source
from emu.hef.writer import contents_of, write_hef
from emu.schemas import hef_pb2 as pb
from tests.conftest import ROOT, SHARED, needs_shared
from tests.damaged_text import damaged
from tests.strategies.hefs import Drawn, hefs

LARGE = 16 << 10  # bytes
EXAMPLE = ROOT / "examples/two_context.hef"


def describe(data: bytes) -> Description:
    return disassemble(Container(open_source(data)), "x.bin")


def rebuild(description: Description, text: str | None = None, bulk: bytes | None = None) -> bytes:
    stored = b"".join(description.bulk) if bulk is None else bulk
    return b"".join(assemble(text or description.text, lambda name: memoryview(stored)))


def containers() -> Iterator[tuple[Path, bytes]]:
    """Every given file, broken ones too, whose message parses."""
    for folder in ("hef", "hef-bad", "synth/hef"):
        for path in sorted((SHARED / folder).glob("*.hef")):
            data = path.read_bytes()
            try:
                proto = Container(open_source(data)).proto
                pb.ProtoHEFHef().ParseFromString(bytes(proto))
            except (EmuError, DecodeError):  # not a file to describe
                continue
            yield path, data


@needs_shared
def test_every_given_file_comes_back_byte_for_byte() -> None:
    count = 0
    for path, data in containers():
        if path.parent.parent.name == "synth" and len(data) > LARGE:
            continue  # a hundred contexts or rows tell nothing that two do not; a dozen of them are tried below
        assert rebuild(describe(data)) == data, path.name
        count += 1
    assert count >= 290


@needs_shared
def test_a_dozen_large_synthetic_files_come_back_byte_for_byte() -> None:
    large = [(path, data) for path, data in containers() if LARGE < len(data) < 8 * LARGE]
    for path, data in large[:: len(large) // 12]:
        assert rebuild(describe(data)) == data, path.name


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(hefs())
def test_drawn_files_come_back_byte_for_byte(drawn: Drawn) -> None:
    data = drawn.data()
    description = describe(data)
    assert "stored:" not in description.text.split("hef:\n", 2)[1]
    assert rebuild(description) == data


# --- what is in a description ---------------------------------------------------------------------------------------


def test_ccw_data_stands_in_the_bulk_and_nothing_else_is_hidden() -> None:
    data = EXAMPLE.read_bytes()
    description = describe(data)
    document = yaml.safe_load(description.text)
    section = document["container"]["ccws"]
    assert section == {"bulk": 0, "size": open_hef(EXAMPLE).container.ccws_section_size}
    assert b"".join(description.bulk) == data[-section["size"] :]
    (group,) = document["hef"]["network_groups"]
    actions = group["contexts"][0]["operations"][0]["actions"]
    assert {"disable_lcu": {"lcu_index": 1, "lcu_enable_address": 0x108201DC}} in group["preliminary_config"][
        "operation"
    ][0]["actions"]
    assert "lcu_enable_address: 0x108201DC" in description.text
    assert actions[-1] == {"allow_input_dataflow": {}}


def test_inline_ccw_data_stands_in_the_bulk_however_short() -> None:
    document = yaml.safe_load(describe(write_hef(contents_of(open_hef(EXAMPLE)), 0)).text)
    (group,) = document["hef"]["network_groups"]
    data = [
        action["write_data_ccw"]["data"]
        for context in group["contexts"]
        for operation in context["operations"]
        for action in operation.get("actions", ())
        if "write_data_ccw" in action
    ]
    assert min(record["size"] for record in data) <= INLINE_BYTES
    assert all("bulk" in record for record in data)


def test_an_edited_description_gives_a_sound_file() -> None:
    description = describe(EXAMPLE.read_bytes())
    edited = rebuild(description, description.text.replace("two_context/conv2", "two_context/answer"))
    hef = open_hef(edited, runtime="4.23")
    assert hef_infos(hef).network_groups[0].output_vstreams[0].name == "two_context/answer"
    assert hef.container.checksum.matches


def test_edited_bulk_bytes_give_a_sound_file() -> None:
    description = describe(EXAMPLE.read_bytes())
    bulk = bytearray(b"".join(description.bulk))
    bulk[-1] ^= 0xFF
    hef = open_hef(rebuild(description, bulk=bytes(bulk)), runtime="4.23")
    assert bytes(hef.container.data[-len(bulk) :]) == bulk


# --- encodings that are not ours ------------------------------------------------------------------------------------


def v2(proto: bytes) -> bytes:
    return b"".join(pack(2, Sections(proto)))


def field(number: int, kind: int, payload: bytes) -> bytes:
    return bytes([number << 3 | kind]) + payload


def blob(number: int, payload: bytes) -> bytes:
    assert len(payload) < 128
    return field(number, 2, bytes([len(payload)]) + payload)


HEADER = blob(1, field(1, 0, b"\x01") + field(4, 0, b"\x04"))
NUMERIC = field(1, 5, struct.pack("<f", 0.1))
ENCODINGS = {
    "fields out of order": blob(3, b"mapping") + HEADER,
    "a field twice": blob(1, field(1, 0, b"\x00")) + HEADER,
    "a default written out": blob(1, field(1, 0, b"\x01") + field(2, 0, b"\x00")),
    "a varint longer than it needs": blob(1, field(1, 0, b"\x81\x00")),
    "unpacked scalars": blob(2, blob(3, blob(3, blob(2, blob(3, blob(3, field(5, 1, bytes(8)))))))),
    "unknown fields of every wire type": blob(
        1, field(9, 0, b"\x07") + field(10, 1, bytes(8)) + blob(11, b"abc") + field(12, 5, b"abcd")
    ),
    "an unknown field before known ones": field(15, 0, b"\x01") + HEADER,
    "an unknown enum value": blob(1, field(1, 0, b"\x63")),
    "not a number, with a payload": blob(
        2, blob(3, blob(3, blob(2, blob(3, blob(3, field(1, 5, b"\x01\x02\xc0\x7f"))))))
    ),
    "minus zero": blob(2, blob(3, blob(3, blob(2, blob(3, blob(3, field(1, 5, b"\x00\x00\x00\x80"))))))),
}


@pytest.mark.parametrize("proto", ENCODINGS.values(), ids=ENCODINGS)
def test_foreign_encodings_come_back_byte_for_byte(proto: bytes) -> None:
    pb.ProtoHEFHef().ParseFromString(proto)
    assert rebuild(describe(v2(proto))) == v2(proto)


def test_a_foreign_encoding_gives_way_to_an_edit() -> None:
    description = describe(v2(ENCODINGS["fields out of order"]))
    assert "encoding:" in description.text
    edited = rebuild(description, description.text.replace("version: 4", "version: 5"))
    assert open_hef(edited, runtime="5.2").header.version == 5


@pytest.mark.parametrize(
    "text", ["0", "1e5", "null", "yes", "2024-01-01", "~", "a: b", " x", "\u2028\x85\u00e9", "'\"\\"]
)
def test_names_survive_whatever_yaml_takes_them_for(text: str) -> None:
    message = pb.ProtoHEFHef()
    message.header.sdk_version_str = text
    data = v2(message.SerializeToString())
    assert rebuild(describe(data)) == data


def test_short_bytes_are_quoted_hex() -> None:
    message = pb.ProtoHEFHef(mapping=bytes.fromhex("0000000012e4"))
    description = describe(v2(message.SerializeToString()))
    assert 'mapping: "0000000012e4"' in description.text
    assert rebuild(description) == v2(message.SerializeToString())


# --- bad descriptions -----------------------------------------------------------------------------------------------

MINIMAL = "emu_hef: 1\ncontainer: {version: 2}\nhef: {%s}\n"
BAD = {
    "empty": ("", "a mapping is expected"),
    "not YAML": ("emu_hef: [", "no YAML"),
    "another version": ("emu_hef: 2\n", "this is version 2"),
    "an alias": ("a: &x [1]\nb: *x\n", "alias"),
    "a key twice": ("emu_hef: 1\nemu_hef: 1\n", "twice"),
    "an unknown key": ("emu_hef: 1\nhfe: {}\n", "there is no 'hfe'"),
    "no container": ("emu_hef: 1\n", "container: a mapping is expected"),
    "no such version": ("emu_hef: 1\ncontainer: {version: 7}\n", "7 is none of"),
    "an unknown field": (MINIMAL % "headr: {}", "hef: ProtoHEFHef has no field 'headr'"),
    "a wrong type": (MINIMAL % "header: 3", "hef.header: a ProtoHEFHeader is a mapping"),
    "too large": (MINIMAL % "header: {timestamp: 18446744073709551616}", "hef.header.timestamp"),
    "negative": (MINIMAL % "header: {timestamp: -1}", "hef.header.timestamp"),
    "text for a number": (MINIMAL % "header: {timestamp: soon}", "hef.header.timestamp"),
    "a bool for a number": (MINIMAL % "header: {timestamp: true}", "hef.header.timestamp"),
    "a number for text": (MINIMAL % "header: {sdk_version_str: 3.1}", "hef.header.sdk_version_str"),
    "no list": (MINIMAL % "network_groups: {}", "hef.network_groups: a repeated field is a list"),
    "no enum value": (MINIMAL % "header: {hw_arch: HAILO9}", "has no value 'HAILO9'"),
    "two members of a oneof": (
        MINIMAL % "network_groups: [{ops: [{core_op: {}, nms_op: {}}]}]",
        "hef.network_groups[0].ops[0]: only one of core_op and nms_op",
    ),
    "no hex": (MINIMAL % "mapping: xyz", "hef.mapping: 'xyz' is not hex"),
    "bulk out of range": (MINIMAL % "mapping: {bulk: 0, size: 5}", "bytes 0 to 5 of a bulk file of 0"),
    "a negative range": (MINIMAL % "mapping: {bulk: -1, size: 1}", "whole numbers"),
    "a bulk path": ("emu_hef: 1\nbulk: ../x\ncontainer: {version: 2}\n", "not the name of a file"),
    "unknown fields that are none": (MINIMAL % 'unknown_fields: "ff"', "hef.unknown_fields: no protobuf"),
    "a date that is none": (MINIMAL % "header: {sdk_version_str: 2024-99-99}", "no YAML of ours"),
    "deep nesting": ("[" * 100_000, "no YAML"),
    "deep mappings": ("{a: " * 100_000, "no YAML"),
    "deep lists": ("- " * 100_000, "no YAML"),
    "deep keys": ("? " * 100_000, "no YAML"),
    "a tag that does not fit: bool": ("a: !!bool q\n", "no YAML of ours"),
    "a tag that does not fit: int": ('a: !!int ""\n', "no YAML of ours"),
    "a tag that does not fit: timestamp": ("a: !!timestamp 1\n", "no YAML of ours"),
    "a tag that does not fit: float": ("a: !!float x\n", "no YAML of ours"),
    "a tag that nobody knows": ("a: !!python/name:os.system\n", "no YAML"),
    "nesting within bounds": (MINIMAL % ("mapping: " + "[" * 500 + "]" * 500), "hef.mapping: bytes are"),
}


@pytest.mark.parametrize(("text", "message"), BAD.values(), ids=BAD)
def test_a_bad_description_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(EmuError) as error:
        assemble(text, lambda name: memoryview(b""))
    assert error.value.number == HailoStatus.HAILO_INVALID_HEF and error.value.exit_code == 3
    assert message in error.value.message


def test_a_header_value_that_does_not_fit_is_refused() -> None:
    text = "emu_hef: 1\ncontainer: {version: 2, stored: {%s}}\n"
    for stored in ("magic: 4294967296", "crc: 1", "ccws_size: -1"):
        with pytest.raises(UsageError):
            assemble(text % stored, lambda name: memoryview(b""))


def test_damaged_descriptions_never_end_in_a_traceback() -> None:
    description = describe(EXAMPLE.read_bytes())
    lines = description.text.splitlines(keepends=True)
    draw = random.Random(7)
    refused = 0
    for _ in range(300):
        try:
            rebuild(description, damaged(lines, draw.randrange(len(lines)), draw))
        except EmuError:
            refused += 1
    assert refused > 50


# --- the commands ---------------------------------------------------------------------------------------------------


def run(command: click.Command, *args: object) -> int:
    result = CliRunner().invoke(command, [str(arg) for arg in args])
    if isinstance(result.exception, EmuError):
        return result.exception.exit_code
    assert result.exception is None, result.exception
    return result.exit_code


def test_the_commands_round_trip(tmp_path: Path) -> None:
    assert run(disasm, EXAMPLE, "-o", tmp_path / "x.yaml") == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.bin", "x.yaml"]
    assert run(asm, tmp_path / "x.yaml", "-o", tmp_path / "x.hef") == 0
    assert (tmp_path / "x.hef").read_bytes() == EXAMPLE.read_bytes()


def test_no_model_and_no_input_is_overwritten(tmp_path: Path) -> None:
    model = tmp_path / "model.hef"
    model.write_bytes(EXAMPLE.read_bytes())
    run(disasm, EXAMPLE, "-o", tmp_path / "x.yaml")
    (tmp_path / "link.hef").symlink_to("x.yaml")
    for args in (
        (disasm, model, "-o", model),
        (disasm, EXAMPLE, "-o", tmp_path / "x.bin"),
        (asm, tmp_path / "x.yaml", "-o", model),
        (asm, tmp_path / "x.yaml", "-o", tmp_path / "x.yaml"),
        (asm, tmp_path / "x.yaml", "-o", tmp_path / "x.bin"),
        (asm, tmp_path / "x.yaml", "-o", tmp_path / "link.hef"),
    ):
        before = {path: hashlib.sha256(path.read_bytes()).digest() for path in tmp_path.iterdir()}
        assert run(*args) == 2
        assert {path: hashlib.sha256(path.read_bytes()).digest() for path in tmp_path.iterdir()} == before
    assert run(asm, tmp_path / "x.yaml", "-o", tmp_path / "no/such/folder.hef") == 7


def test_a_damaged_container_needs_force(tmp_path: Path) -> None:
    data = bytearray(EXAMPLE.read_bytes())
    data[-1] ^= 1
    damaged = tmp_path / "damaged.hef"
    damaged.write_bytes(data)
    assert run(disasm, damaged, "-o", tmp_path / "x.yaml") == 3
    assert run(disasm, damaged, "--force", "-o", tmp_path / "x.yaml") == 0
    right = xxhash.xxh3_64_intdigest(EXAMPLE.read_bytes()[44:])
    assert f"stored: {{xxh3_64bits: {right}}}" in (tmp_path / "x.yaml").read_text()
    assert run(asm, tmp_path / "x.yaml", "-o", tmp_path / "again.hef") == 0
    assert (tmp_path / "again.hef").read_bytes() == data


def test_a_large_text_of_something_else_is_not_read_whole(tmp_path: Path) -> None:
    """It would take memory of several times its size; a description says what it is at its beginning."""
    path = tmp_path / "log.yaml"
    with path.open("wb") as file:
        file.truncate(0)
        file.write(b"a line of a log\n" * 300)
        file.seek(3 << 28)  # three times as large as what is read whole, and sparse
        file.write(b"\n")
    with pytest.raises(EmuError) as refused:
        asm.callback(str(path), str(tmp_path / "out.hef"))  # type: ignore[misc]
    assert refused.value.name == "HAILO_INVALID_HEF" and "no emu_hef" in refused.value.message
