"""Outputs are opened before the work begins: a place that takes none costs no work, exit code 7 (cli.md)."""

from __future__ import annotations

import importlib
import io
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from emu.cli.main import COMMANDS, main
from tests.conftest import ROOT

EXAMPLES = ROOT / "examples"
HEF, LENET, CHIP = (str(EXAMPLES / name) for name in ("two_context.hef", "lenet.ms", "configured.hef"))
STAMPS = str(ROOT / "tests" / "data" / "fw_actions_two_context.json")
RUN_HEF, RUN_GRAPH = "emu.cli.run_hef:run_program", "emu.cli.run_graph:run_plan"
EXEC = "emu.card.supervisor.start:start"

# the command with FILE or FOLDER where the output stands, and the function that does its work
CASES: dict[tuple[str, str], tuple[list[str], str]] = {
    ("run", "--trace"): (["run", HEF, "--trace=FILE"], RUN_HEF),
    ("run", "--trace jsonl"): (["run", HEF, "--trace=FILE", "--trace-format=jsonl"], RUN_HEF),
    ("run", "--trace perfetto"): (["run", HEF, "--trace=FILE", "--trace-format=perfetto"], RUN_HEF),
    ("run", "--trace fw-actions"): (["run", HEF, "--trace=FILE", "--trace-format=fw-actions"], RUN_HEF),
    ("run", "--outputs"): (["run", HEF, "--outputs", "FILE"], RUN_HEF),
    ("run", "--output-dir"): (["run", HEF, "--output-dir", "FOLDER"], RUN_HEF),
    ("run", "--draw"): (["run", str(EXAMPLES / "digits.hef"), "--draw", "FOLDER"], RUN_HEF),
    ("run", "--dump-memory"): (["run", HEF, "--dump-memory", "FILE"], RUN_HEF),
    ("run", "--dump-action-list"): (["run", HEF, "--dump-action-list", "FILE"], RUN_HEF),
    ("run", "--coverage-file"): (["run", HEF, "--coverage-file", "FILE"], RUN_HEF),
    ("run", "--checkpoint"): (["run", HEF, "--checkpoint", "FILE@1"], RUN_HEF),
    ("run", "--record"): (["run", HEF, "--record", "FOLDER"], RUN_HEF),
    ("run", "--outputs of a graph"): (["run", LENET, "--outputs", "FILE"], RUN_GRAPH),
    ("run", "--output-dir of a graph"): (["run", LENET, "--output-dir", "FOLDER"], RUN_GRAPH),
    ("run", "--profile"): (["run", LENET, "--profile=FILE"], RUN_GRAPH),
    ("run", "--dump-all"): (["run", LENET, "--dump-all", "FOLDER"], RUN_GRAPH),
    ("inspect", "--dot"): (["inspect", CHIP, "--chip", "--dot", "FILE"], "emu.cli.inspect_chip:read_configuration"),
    ("net", "--dot"): (["net", CHIP, "--dot", "FILE"], "emu.net.load:networks_of"),
    ("net", "--weights"): (["net", CHIP, "--weights", "FILE"], "emu.net.load:networks_of"),
    ("export", "--output"): (["export", LENET, "-o", "FILE"], "emu.graph.writers.onnx:export"),
    ("check", "--junit"): (["check", HEF, "--junit", "FILE"], "emu.check.verdict:verdict"),
    ("coverage", "--output"): (["coverage", HEF, "-o", "FILE"], "emu.cli.coverage:Coverage.read"),
    ("disasm", "--output"): (["disasm", HEF, "-o", "FILE"], "emu.cli.disasm:disassemble"),
    ("disasm", "--output of --chip"): (
        ["disasm", CHIP, "--chip", "-o", "FILE"],
        "emu.cli.inspect_chip:read_configuration",
    ),
    ("asm", "--output"): (["asm", str(ROOT / "LICENSE"), "-o", "FILE"], "emu.cli.asm:assemble"),
    ("report", "--output"): (["report", HEF, "-o", "FILE"], "emu.report:model_facts"),
    ("exec", "--trace"): (["exec", "--card", "--trace", "FILE", "true"], EXEC),
    ("exec", "--record"): (["exec", "--card", "--record", "FOLDER", "true"], EXEC),
    ("exec", "--json"): (["exec", "--card", "--json=FILE", "true"], EXEC),
    ("exec", "--dump-memory"): (["exec", "--card", "--dump-memory", "FILE", "true"], EXEC),
    ("exec", "--dump-action-list"): (["exec", "--card", "--dump-action-list", "FILE", "true"], EXEC),
    ("exec", "--coverage-file"): (["exec", "--card", "--coverage-file", "FILE", "true"], EXEC),
    ("calibrate", "--output"): (["calibrate", STAMPS, "-o", "FILE"], "emu.trace.fw_actions:read_fw_actions"),
    ("vectors", "--output"): (["vectors", "-o", "FOLDER"], "emu.conform.suite:vectors"),
    ("sweep", "--output"): (["sweep", HEF, "--output", "FILE.csv"], "emu.sweep.sweep:sweep"),
}
READ = {
    "run": {
        *("--input", "--inputs", "--device-output", "--reference", "--alls", "--labels", "--compare", "--against"),
        *("--actions", "--break-script", "--hef", "--resume"),
    },
    "actions": {"--decode"},
    "conform": {"--vectors"},
    "check": {"--trace"},
    "bind": {"--alls"},
    "serve": {"--reference"},
    "exec": {"--reference", "--break-script"},
    "compare": {"--reference", "--alls", "--against", "--input", "--inputs"},
}


def test_every_output_of_every_command_is_tried() -> None:
    places = ("FILE", "DIR", "MODEL", "X.", "REF")
    written = set()
    for name, (module, _) in COMMANDS.items():
        command: click.Command = importlib.import_module(module).command
        for option in command.params:
            if "--costs" in option.opts:
                continue  # read, by every command that takes the options of HEFs
            if isinstance(option, click.Option) and any(place in (option.metavar or "") for place in places):
                written.add((name, max(option.opts, key=len)))
    written -= {(name, option) for name, options in READ.items() for option in options}
    assert written == {(name, option.split()[0]) for name, option in CASES}


@pytest.mark.parametrize("case", CASES, ids=" ".join)
def test_what_cannot_be_written_is_refused_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], case: tuple[str, str]
) -> None:
    arguments, work = CASES[case]
    if case[0] == "export":
        pytest.importorskip("onnx")
    worked: list[str] = []

    def work_begins(*_: Any, **__: Any) -> None:
        worked.append(work)
        raise AssertionError("the work has begun")

    # a folder that is missing is not made for a file, and none can be made inside a file
    (tmp_path / "plain").touch()
    places = {"FILE": str(tmp_path / "missing" / "x"), "FOLDER": str(tmp_path / "plain" / "x")}
    for name, place in places.items():
        arguments = [argument.replace(name, place) for argument in arguments]
    module, _, attributes = work.partition(":")
    owner: Any = importlib.import_module(module)
    *inner, function = attributes.split(".")
    for name in inner:
        owner = getattr(owner, name)
    monkeypatch.setattr(owner, function, work_begins)
    with pytest.raises(SystemExit) as end:
        main(arguments)
    shown = capsys.readouterr()
    assert worked == [] and end.value.code == 7 and shown.out == ""
    error = shown.err.splitlines()[-1]
    assert error.startswith("emu: error: HAILO_FILE_OPERATION_FAILURE(14): cannot write ")
    assert any(place in error for place in places.values())


@pytest.mark.parametrize("option", ["--outputs", "--dump-memory", "--dump-action-list", "--trace-format=fw-actions"])
def test_a_run_that_fails_leaves_what_stood_there(tmp_path: Path, option: str) -> None:
    target = tmp_path / "old"
    target.write_bytes(b"old")
    given = [option, str(target)] if "=" not in option else [option, f"--trace={target}"]
    with pytest.raises(SystemExit) as end:
        main(["run", HEF, "--inject", "stall-channel:0", *given])
    assert end.value.code == 5
    assert target.read_bytes() == b"old" and [path.name for path in tmp_path.iterdir()] == ["old"]


# what makes no stream: bytes go beside it, or what stood there is read first; the others are told apart by a suffix
NO_STREAM = {
    ("disasm", "--output"): (2, "is no file, and the bulk bytes go into one beside it"),
    ("disasm", "--output of --chip"): (2, "is no file, and the bulk bytes go into one beside it"),
    ("run", "--coverage-file"): (3, "is not a regular file"),
    ("exec", "--coverage-file"): (3, "is not a regular file"),
    ("sweep", "--output"): (2, "ends in none of .csv"),
}
STREAMS = [
    case
    for case, (arguments, _) in CASES.items()
    if "FILE" in " ".join(arguments) and case not in NO_STREAM and case[0] != "exec"
]
# what such a case reads, which CASES need not have: the command that makes it
MAKES = {"coverage": ["run", HEF, "--coverage-file", "FILE"], "asm": ["disasm", HEF, "-o", "FILE"]}


class Reader:
    """Reads a pipe to its end beside the program."""

    def __init__(self, opens: Callable[[], int]) -> None:
        self.data = b""
        self._opens = opens
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with os.fdopen(self._opens(), "rb") as pipe:
            self.data = pipe.read()

    def read(self) -> bytes:
        self._thread.join()
        return self.data


def held(data: bytes) -> object:
    """What a file says: members of an archive lie otherwise in one that is written from beginning to end."""
    if not data.startswith(b"PK"):
        return data
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def ran(arguments: list[str], place: str, capsys: pytest.CaptureFixture[str]) -> tuple[Any, str, str]:
    with pytest.raises(SystemExit) as end:
        main([argument.replace("FILE", place) for argument in arguments])
    return end.value.code, *capsys.readouterr()


@pytest.mark.parametrize("case", STREAMS, ids=" ".join)
def test_a_pipe_gets_what_a_file_gets(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    case: tuple[str, str],
) -> None:
    """One that has a name, whose reader may come later, and one that the program was given open."""
    if case[0] == "export":
        pytest.importorskip("onnx")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    folder, arguments = tmp_path_factory.mktemp("outputs"), CASES[case][0]
    file, fifo = folder / "file", folder / "fifo"
    if case[0] in MAKES:
        made = tmp_path_factory.mktemp("made") / "made.yaml"
        assert ran(MAKES[case[0]], str(made), capsys)[0] == 0
        arguments = [arguments[0], str(made), *arguments[2:]]
    # what an op of a graph took is another time in each run
    measured = case == ("run", "--profile")
    code, out, _ = ran(arguments, str(file), capsys)
    assert code == 0
    expected = file.read_bytes()
    os.mkfifo(fifo)
    later = Reader(lambda: os.open(fifo, os.O_RDONLY))
    assert ran(arguments, str(fifo), capsys)[0] == 0
    found = [later.read()]
    for name in ("/dev/fd/{}", "/proc/self/fd/{}"):
        reading, writing = os.pipe()
        given = Reader(lambda reading=reading: reading)
        try:
            shown = ran(arguments, name.format(writing), capsys)
        finally:
            os.close(writing)
        found.append(given.read())
        assert shown[0] == 0 and (measured or shown[1] == out.replace(str(file), name.format(writing)))
    assert all(found) if measured else [held(data) for data in found] == [held(expected)] * 3
    assert sorted(path.name for path in folder.iterdir()) == ["fifo", "file"]


@pytest.mark.parametrize("case", NO_STREAM, ids=" ".join)
def test_what_makes_no_stream_says_so(capsys: pytest.CaptureFixture[str], case: tuple[str, str]) -> None:
    arguments = [argument.replace("FILE.csv", "FILE") for argument in CASES[case][0]]
    reading, writing = os.pipe()
    try:
        code, out, err = ran(arguments, f"/dev/fd/{writing}", capsys)
    finally:
        os.close(reading)
        os.close(writing)
    assert (code, out) == (NO_STREAM[case][0], "") and NO_STREAM[case][1] in err


def program(*arguments: str, **streams: Any) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-m", "emu", *arguments], cwd=ROOT, stderr=subprocess.PIPE, **streams)


@pytest.mark.parametrize("name", ["-", "/dev/stdout"])
@pytest.mark.parametrize("option", ["--trace={}", "--outputs={}", "--dump-memory={}"])
def test_stdout_by_its_name_holds_the_output_and_what_is_said(tmp_path: Path, option: str, name: str) -> None:
    """In a file too, which is neither begun anew nor replaced."""
    plain = program("run", HEF, option.format(tmp_path / "file"), stdout=subprocess.PIPE)
    whole = (tmp_path / "file").read_bytes() + plain.stdout
    assert program("run", HEF, option.format(name), stdout=subprocess.PIPE).stdout == whole
    with (tmp_path / "both").open("wb") as both:
        both.write(b"before\n")
        both.flush()
        assert program("run", HEF, option.format("/dev/fd/1"), stdout=both).returncode == 0
    assert (tmp_path / "both").read_bytes() == b"before\n" + whole


@pytest.mark.parametrize("case", [case for case in STREAMS if case[0] not in MAKES], ids=" ".join)
def test_a_reader_that_has_gone_ends_the_program_in_silence(
    capfd: pytest.CaptureFixture[str], case: tuple[str, str]
) -> None:
    if case[0] == "export":
        pytest.importorskip("onnx")
    reading, writing = os.pipe()
    os.close(reading)
    try:
        with pytest.raises(SystemExit) as end:
            main([argument.replace("FILE", f"/dev/fd/{writing}") for argument in CASES[case][0]])
    finally:
        os.close(writing)
    assert end.value.code == 0 and "error" not in capfd.readouterr().err


@pytest.mark.parametrize("number", [0, 63])
def test_a_descriptor_that_takes_no_writing_is_refused(number: int) -> None:
    with Path(os.devnull).open("rb") as nothing:
        done = program("run", HEF, f"--trace=/dev/fd/{number}", stdin=nothing, stdout=subprocess.PIPE)
    assert done.returncode == 7 and done.stdout == b""
    assert done.stderr.decode().endswith(f": cannot write /dev/fd/{number}: bad file descriptor\n")
