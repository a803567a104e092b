"""Bad traces: one clear line, exit code 3, nothing overwritten."""

from __future__ import annotations

import json
import os
from pathlib import Path

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emu.errors import HailoError
from emu.trace.reader import TraceReader
from tests.trace.helpers import TWO_CONTEXT, Cli, Record, changed, records_of


def test_a_sound_trace(two_context: Path) -> None:
    reader = TraceReader(two_context)
    assert (reader.header.model, reader.header.runtime, reader.header.batch) == (TWO_CONTEXT.name, "4.23", 2)
    assert list(reader) == records_of(two_context)[1:-1]


@pytest.mark.parametrize("value", [-(2**63), 2**63 - 1, 2**63, 2**64 - 1, 2**64, 1.0, True, None, "1", [], {}])
@pytest.mark.parametrize("key", ["ns", "action", "arguments", "frame"])
def test_a_quick_reading_takes_and_refuses_what_a_slow_one_does(
    key: str, value: object, two_context: Path, tmp_path: Path
) -> None:
    """And leaves out the keys of a later schema."""

    def change(records: list[Record]) -> None:
        records[5] |= {key: "here", "later": [1]}

    path = changed(two_context, tmp_path / "x", change)
    path.write_bytes(path.read_bytes().replace(b'"here"', json.dumps(value).encode()))
    slow, quick = _readings(path)
    assert slow == quick


def _readings(path: Path) -> list[list[Record] | str]:
    """The records of a trace read slowly and quickly, without those keys that only one reading keeps, or the error."""
    reader = TraceReader(path)
    readings: list[list[Record] | str] = []
    for records in (reader, reader.known()):
        try:
            readings.append([{name: one[name] for name in one if name != "later"} for one in records])
        except HailoError as error:
            readings.append(str(error))
    return readings


ENDS = {
    "as written": (b'{"ns":5,"kind":"end"}\n', True),
    "spaced": (b' { "kind" : "end", "ns" : 5 }\n', True),
    "of a later schema": (b'{"ns":5,"kind":"end","later":["end"]}\n', True),
    "said last": (b'{"ns":5,"kind":"action","kind":"end"}\n', True),
    "missing": (b"", False),
    "in escapes": (b'{"ns":5,"kind":"\\u0065nd"}\n', False),
    "no newline": (b'{"ns":5,"kind":"end"}', False),
    "twice": (b'{"ns":5,"kind":"end"}\n' * 2, False),
    "an empty line behind": (b'{"ns":5,"kind":"end"}\n\n', False),
    "no time": (b'{"kind":"end"}\n', False),
    "a key of another type": (b'{"ns":5,"kind":"end","frame":"1"}\n', False),
    "no number": (b'{"ns":5,"kind":"end","later":1e999}\n', False),
    "no UTF-8": (b'{"ns":5,"kind":"end","later":"\xff"}\n', False),
    "half a character": (b'{"ns":5,"kind":"end","later":"\\ud800"}\n', False),
}


@pytest.mark.parametrize(("end", "sound"), ENDS.values(), ids=ENDS)
def test_the_end_record_of_a_quick_reading_is_that_of_a_slow_one(
    end: bytes, sound: bool, two_context: Path, tmp_path: Path
) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"".join([*two_context.read_bytes().splitlines(keepends=True)[:-1], end]))
    slow, quick = _readings(path)
    assert slow == quick
    assert isinstance(quick, list) == sound


FOREIGN = {
    "empty": (b"", "an empty file"),
    "text": (b"hello\nworld\n", "a text file"),
    "hef": (b"\x01HEF" + bytes(100), "no emu trace"),
    "zip": (b"PK\x03\x04" + bytes(100), "a zip archive"),
    "json": (b'{"runs": []}\n', "no emu trace"),
    "perfetto": (b"\x0a\x10\x50\x01\xe2\x03" + bytes(range(200)), "no emu trace"),
    "other version": (b'{"schema":"emu-trace","version":99}\n', "schema version 99, this emu reads 1"),
    "no version": (b'{"schema":"emu-trace"}\n', "schema version None"),
    "half a header": (b'{"schema":"emu-trace","version":1,"mod', "cut off"),
    "header without fields": (b'{"schema":"emu-trace","version":1}\n', "lacks"),
}


@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.parametrize("command", ["diff", "check"])
def test_foreign_files(name: str, command: str, cli: Cli, tmp_path: Path, two_context: Path) -> None:
    content, expected = FOREIGN[name]
    path = tmp_path / "x"
    path.write_bytes(content)
    if command == "check":
        assert cli("check", "--trace", path) == 3
    else:
        assert cli("diff", two_context, path) in (2, 3)  # a HEF or a capture is readable, but no trace
    assert cli.err.count("\n") == 1
    if command == "check":
        assert expected in cli.err
    assert path.read_bytes() == content


@pytest.mark.parametrize("keep", [1, 100, 1000, 5000])
def test_cut_off_anywhere(keep: int, cli: Cli, tmp_path: Path, two_context: Path) -> None:
    """Also at the end of a line: the end record is missing then."""
    path = tmp_path / "x"
    whole = two_context.read_bytes()
    for size in (keep, whole.index(b"\n", keep) + 1):
        path.write_bytes(whole[:size])
        assert cli("check", "--trace", path) == 3, size
        assert cli.err.startswith("emu: error: HAILO_INVALID_ARGUMENT(2): ")
        assert cli.err.count("\n") == 1


def test_every_cut_of_the_last_lines(tmp_path: Path, two_context: Path) -> None:
    whole = two_context.read_bytes()
    path = tmp_path / "x"
    for size in range(len(whole) - 300, len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(HailoError, match=r"cut off|damaged"):
            list(TraceReader(path))


def test_added_records(tmp_path: Path, two_context: Path) -> None:
    lines = two_context.read_bytes().splitlines(keepends=True)
    path = tmp_path / "x"
    path.write_bytes(b"".join([*lines, lines[-2]]))
    with pytest.raises(HailoError, match="behind the end record"):
        list(TraceReader(path))


def test_traces_that_another_program_wrote(tmp_path: Path, two_context: Path, cli: Cli) -> None:
    """The same records, spaced and ordered otherwise: JSON lines are JSON."""
    path = tmp_path / "x"
    path.write_text("".join(json.dumps(record, sort_keys=True) + "\n" for record in records_of(two_context)))
    assert cli("diff", two_context, path) == 0
    assert cli("diff", path, two_context, "--tolerance", 0) == 0
    assert cli("check", "--trace", path) == 0
    # and with a line left out by hand: a difference, not a damage
    lines = path.read_text().splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if "DISABLE_LCU" in line and "dynamic_0" in line)
    path.write_text("".join(lines[:at] + lines[at + 1 :]))
    assert cli("diff", two_context, path) == 6
    assert cli("check", "--trace", path) == 0


def test_kinds_of_a_later_emu(tmp_path: Path, two_context: Path, cli: Cli) -> None:
    """What a reader does not know breaks no rule, but is no reason to call two traces equal."""

    def add(records: list[Record]) -> None:
        records.insert(60, {"ns": records[60]["ns"], "kind": "temperature", "degrees": 41.5})

    path = changed(two_context, tmp_path / "x", add)
    assert cli("check", "--trace", path) == 0
    assert cli("diff", path, path) == 0
    assert cli("diff", two_context, path) == 6


HOSTILE = [
    {"ns": 1},
    {"kind": "action"},
    {"ns": "1", "kind": "action"},
    {"ns": 1, "kind": ["action"]},
    {"ns": True, "kind": "context_end"},
    {"ns": 1, "kind": "action", "action": "HALT", "context": None},
    {"ns": 1, "kind": "action", "action": "HALT", "action_index": "5"},
    {"ns": 1, "kind": "launch", "unit": "channel 2", "arguments": {"available": "x", "processed": []}},
    {"ns": 1, "kind": "action"},
    {"ns": 1, "kind": "action", "action": "LCU_INTERRUPT", "arguments": {}},
    {"ns": 1, "kind": "action", "action": "LCU_INTERRUPT", "arguments": []},
    {"ns": 1, "kind": "action", "action": 5, "arguments": {"packed_lcu_id": "x"}},
    {"ns": 1, "kind": "context_begin", "context": "dynamic_x"},
    {"ns": 1, "kind": "context_begin", "context": 5},
    {"ns": 1, "kind": "transfer", "unit": 5},
    {"ns": 1, "kind": "launch", "unit": "channel 2"},
]


@pytest.mark.parametrize("record", HOSTILE, ids=str)
def test_hostile_records(record: dict[str, object], cli: Cli, tmp_path: Path, two_context: Path) -> None:
    """Never a traceback: the rules and the comparison refuse the line, or say what is wrong with it."""
    path = changed(two_context, tmp_path / "x", lambda records: records.insert(60, record))
    assert cli("check", "--trace", path) in (3, 6)
    assert cli("diff", two_context, path) in (3, 6)
    assert cli("diff", path, two_context, "--json") in (3, 6)


def test_a_trace_never_overwrites_a_model(cli: Cli, tmp_path: Path) -> None:
    model = tmp_path / "x.trace"
    model.write_bytes(TWO_CONTEXT.read_bytes())
    for form in ("jsonl", "text", "perfetto", "fw-actions"):
        assert cli("run", TWO_CONTEXT, f"--trace={model}", "--trace-format", form) == 2
    assert cli("run", TWO_CONTEXT, "--dump-action-list", model) == 2
    assert cli("run", TWO_CONTEXT, "--coverage-file", model) == 2
    assert model.read_bytes() == TWO_CONTEXT.read_bytes()


def test_two_traces_of_one_run_are_the_same_bytes(cli: Cli, tmp_path: Path) -> None:
    for form in ("jsonl", "text", "perfetto", "fw-actions"):
        for name in ("a", "b"):
            assert cli("run", TWO_CONTEXT, f"--trace={tmp_path / name}", "--trace-format", form) == 0
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_failed_run_leaves_a_whole_trace(cli: Cli, tmp_path: Path) -> None:
    target = tmp_path / "x.trace"
    assert cli("run", TWO_CONTEXT, "--inject", "stall-channel:2", f"--trace={target}") == 5
    records = list(TraceReader(target))
    assert records[-1]["kind"] == "stall"
    assert orjson.loads(target.read_bytes().splitlines()[-1])["kind"] == "end"


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_damage_is_one_line(
    data: st.DataObject, two_context: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bytes changed, cut out or doubled anywhere: refused in one line, or compared and checked as what it then says."""
    whole = bytearray(two_context.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(whole) - 2))
        size = data.draw(st.sampled_from([1, 2, 40]))
        replacement = data.draw(
            st.sampled_from([b"", b"\0", b"9", b'"', b"}", b"-", b"\n", bytes(whole[at : at + size]) * 2])
        )
        whole[at : at + size] = replacement
    path = tmp_path / "x"
    path.write_bytes(whole)
    cli = Cli(capsys)
    for command in (("check", "--trace", path), ("diff", two_context, path), ("diff", path, two_context)):
        assert cli(*command) in (0, 2, 3, 6)
        assert cli.err.count("\n") <= 1


def test_names_that_are_no_text(cli: Cli, tmp_path: Path, two_context: Path) -> None:
    trace, model = (tmp_path / os.fsdecode(b"\xff" + name) for name in (b"x.trace", b"x.hef"))
    try:
        trace.write_bytes(two_context.read_bytes())
    except OSError:
        pytest.skip("the file system takes only text as names")
    model.write_bytes(TWO_CONTEXT.read_bytes())
    for options in ((), ("--json",)):
        assert cli("diff", trace, two_context, *options) == 0
        assert cli("diff", model, TWO_CONTEXT, *options) == 0
        assert cli("check", "--trace", trace, *options) == 0
        assert cli("check", model, *options) == 0
        assert cli("diff", trace, model, *options) == 2
    assert cli("run", model, f"--trace={tmp_path / 'y'}", "--trace-format", "fw-actions") == 0
    assert cli("run", model, "--record", tmp_path / "r") == 2
    assert not (tmp_path / "r").exists()
