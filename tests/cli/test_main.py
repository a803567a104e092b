"""What every command does alike: one line an error with the file in it, exit codes, --json, --debug, full outputs."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from emu.cli.main import main
from emu.hef import open_hef
from emu.hef.assembly import assemble, disassemble
from tests.conftest import DATA, ROOT
from tests.processes import run_module

EXAMPLE = ROOT / "examples/two_context.hef"
MODEL_COMMANDS = (["run"], ["actions"], ["estimate"], ["inspect"], ["parse-hef"])


def run(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    out, err = capfd.readouterr()
    return int(stop.value.code or 0), out, err


@pytest.mark.parametrize("command", MODEL_COMMANDS, ids=lambda command: command[0])
def test_an_unreadable_model_is_one_line(capfd: pytest.CaptureFixture[str], tmp_path: Path, command: list[str]) -> None:
    model = str(tmp_path / "nothing.hef")
    code, out, err = run(capfd, *command, model)
    assert (code, out) == (3, "")
    assert err == f"emu: error: HAILO_OPEN_FILE_FAILURE(13): cannot open {model}: no such file or directory\n"


@pytest.mark.parametrize("command", ["run", "actions", "estimate"])
@pytest.mark.parametrize(
    ("options", "exit_code", "status"),
    [
        (["--device", "hailo8l"], 4, 93),
        (["--runtime", "5.2"], 4, 93),
        (["--network-group", "none of these"], 2, 2),
    ],
)
def test_a_refusal_behind_the_container_names_the_file_too(
    capfd: pytest.CaptureFixture[str], command: str, options: list[str], exit_code: int, status: int
) -> None:
    code, out, err = run(capfd, command, str(EXAMPLE), "--json", *options)
    error = json.loads(out)["error"]
    assert (code, error["status"], error["where"]["file"]) == (exit_code, status, str(EXAMPLE))
    assert err.startswith(f"emu: error: {error['name']}({status}): ") and err.count("\n") == 1
    assert f"(file {EXAMPLE}" in err


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_debug_adds_the_traceback_and_changes_nothing_else(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, options: list[str]
) -> None:
    arguments = ["inspect", str(tmp_path / "nothing.hef"), *options]
    code, out, err = run(capfd, *arguments)
    debug_code, debug_out, debug_err = run(capfd, *arguments, "--debug")
    assert (debug_code, debug_out) == (code, out)
    assert debug_err.startswith("Traceback ") and debug_err.endswith("\n" + err)
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "option",
    [
        "--frames=0",
        "--frames=99999999999999999999",
        "--batch=64",
        "--batch=0",
        "--net-batch=a=64",
        "--net-batch=a",
        "--cluster-layout=-1",
        "--seed=-1",
        "--clock-mhz=0",
        "--link=gen3",
        "--host=hw_consts=1,2",
        "--host=hw_consts=²,1,1,1,1,1,1",
        "--host=hw_consts=1,1,1,1,1,1," + "9" * 5000,
        "--host=desc_max_page=²",
        "--host=desc_max_page=" + "9" * 5000,
        "--host=HAILO_ALIGNED_CCWS_MAPPED_BUFFER_SIZE=²",
        "--host=cma=perhaps",
        "--host=NOT_A_SWITCH=1",
        "--device=hailo9",
        "--runtime=4.24",
    ],
    ids=lambda option: option[:48],
)
def test_a_value_out_of_range_is_wrong_use(capfd: pytest.CaptureFixture[str], option: str) -> None:
    code, out, err = run(capfd, "run", str(DATA / "sequencer/synth/hef/shared_h1x_mc.hef"), "--json", option)
    assert (code, json.loads(out)["error"]["status"]) == (2, 2)
    assert err.startswith("emu: error: HAILO_INVALID_ARGUMENT(2): ") and err.count("\n") == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
@pytest.mark.parametrize("command", [*MODEL_COMMANDS, ["run", "--json"], ["actions", "--json"], ["run", "--trace"]])
def test_an_output_that_takes_no_more_is_one_line(command: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = run_module("emu", *command, EXAMPLE, stdout=full)
    assert done.returncode == 7
    assert (
        done.stderr.decode()
        == "emu: error: HAILO_FILE_OPERATION_FAILURE(14): cannot write the output: no space left on device\n"
    )


def test_a_reader_that_leaves_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "emu", "actions", str(EXAMPLE)], stdout=writing, stderr=subprocess.PIPE, cwd=ROOT
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("arguments", "what"),
    [([], "Missing command. `emu --help` lists them."), (["fly"], "No such command 'fly'. `emu --help` lists them.")],
)
def test_no_command_is_wrong_use_in_one_line(
    capfd: pytest.CaptureFixture[str], arguments: list[str], what: str
) -> None:
    assert run(capfd, *arguments) == (2, "", f"emu: error: USAGE(2): {what}\n")


@pytest.mark.parametrize("device", ["hailo8", "hailo15h"])
def test_a_cluster_layout_is_ignored_where_devices_have_none(capfd: pytest.CaptureFixture[str], device: str) -> None:
    name = {"hailo8": "mc2_a", "hailo15h": "shared_h1x_mc"}[device]
    arguments = ["run", str(DATA / f"sequencer/synth/hef/{name}.hef"), "--device", device]
    plain = run(capfd, *arguments)
    assert plain[0] == 0
    assert run(capfd, *arguments, "--cluster-layout", "1") == plain


@pytest.mark.parametrize(
    "command", [["run", "--trace={}"], ["run", "--outputs={}"], ["asm", "-o", "{}"], ["disasm", "-o", "{}"]]
)
@pytest.mark.parametrize("magic", [b"\x01HEF", b"\x01HEG"], ids=["sound", "damaged magic"])
def test_a_model_is_never_overwritten(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, command: list[str], magic: bytes
) -> None:
    """HailoRT 5.2 takes a V3 file with a proto hash whatever its magic is, so it is a model."""
    target = tmp_path / "model.hef"
    before = magic + (DATA / "hef/ctr_v3_ph_ok.hef").read_bytes()[4:]
    target.write_bytes(before)
    name, *options = command
    code, out, err = run(capfd, name, str(EXAMPLE), *(option.format(target) for option in options))
    assert (code, out) == (2, "")
    assert "is an existing model file and is not overwritten" in err
    assert target.read_bytes() == before


READERS = [
    "run {}",
    "run --actions {}",
    "actions {}",
    "actions --runtime 4.23 --decode {}",
    "inspect {}",
    "parse-hef {}",
    "estimate {}",
    "disasm {} -o x.yaml",
    "asm {} -o x.hef",
    "diff {} {}",
    "check {}",
    "check --trace {}",
]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
@pytest.mark.parametrize("command", READERS)
def test_what_would_block_or_never_end_is_not_read(tmp_path: Path, command: str) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for source in (str(pipe), "/dev/zero"):
        if not Path(source).exists():
            continue
        arguments = [source if word == "{}" else word for word in command.split()]
        done = run_module("emu", *arguments, timeout=30)
        assert done.returncode in (2, 3)
        assert b"not a regular file" in done.stdout + done.stderr
        assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "a mapping is expected"),
        ("emu_hef: 1\ncontainer: {version: 9}\n", "is none of 0, 1, 2, 3"),
        ("emu_hef: 1\ncontainer: {version: 0}\nhef: {header: {hw_archh: 1}}\n", "has no field 'hw_archh'"),
        ("a: [", "no YAML"),
        ("emu_hef: 1\nbulk: nothing.bin\ncontainer: {version: 0}\nhef: {}\n", "no such file"),
    ],
)
def test_a_broken_description_is_one_line_with_its_file(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, text: str, what: str
) -> None:
    description = tmp_path / "x.yaml"
    description.write_text(text)
    code, out, err = run(capfd, "asm", str(description), "-o", str(tmp_path / "x.hef"))
    assert (code, out, err.count("\n")) == (3, "", 1)
    assert what in err and err.count(f"{tmp_path}") == 1
    assert not (tmp_path / "x.hef").exists()


NAMED = ["run", "run --json", "run --trace", "run --trace={trace}", "actions --json", "inspect", "inspect --json"]
NAMED += ["run --trace={trace} --trace-format " + name for name in ("text", "perfetto", "fw-actions")]
NAMED += ["estimate", "estimate --json", "check", "check --json", "sweep", "sweep --json", "parse-hef"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
@pytest.mark.parametrize("command", NAMED)
def test_names_that_no_terminal_takes(tmp_path: Path, command: str) -> None:
    """On Linux a file name is bytes: what is not UTF-8 is shown escaped. Names in the HEF are any Unicode."""
    model = os.fsencode(tmp_path) + b"/odd\xff.hef"
    description = disassemble(open_hef(EXAMPLE).container, "x.bin")
    bulk = memoryview(b"".join(description.bulk))
    pieces = assemble(description.text.replace("two_context", "zwei_\u672c"), lambda name: bulk)
    Path(os.fsdecode(model)).write_bytes(b"".join(pieces))
    name, *options = command.format(trace=tmp_path / "trace").split()
    done = run_module("emu", name, model, *options, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    errors = [line for line in done.stderr.splitlines() if not line.startswith((b"emu: warning: ", b"emu: note: "))]
    assert (done.returncode, errors) == (0, [])
    if "--json" in options and name != "actions":
        assert "odd\\xff.hef" in json.dumps(json.loads(done.stdout)).replace("\\\\", "\\")


def test_columns_stay_apart_however_large_the_figures(capfd: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capfd, "run", str(EXAMPLE), "--frames", "100000000000")
    assert code == 0
    rows = [line for line in out.splitlines() if line.startswith("  dynamic ")]
    assert [len(row.split()) for row in rows] == [7, 7]


@pytest.mark.parametrize("command", ["actions", "inspect", "run", "estimate"])
def test_a_caller_may_take_the_document_as_text(command: str) -> None:
    taken = io.StringIO()
    with contextlib.redirect_stdout(taken), pytest.raises(SystemExit) as stop:
        main([command, str(EXAMPLE), "--json"])
    assert stop.value.code == 0
    assert isinstance(json.loads(taken.getvalue()), dict)


@pytest.mark.parametrize(("asked", "expected"), [({}, "1"), ({"OMP_NUM_THREADS": "3"}, "3")])
def test_numpy_keeps_to_one_thread(asked: dict[str, str], expected: str) -> None:
    """Those of OpenBLAS spin while there is nothing to multiply, and products round differently with their number."""
    program = (
        "import os, sys\n"
        "from emu.cli.main import main\n"
        "try:\n"
        f"    main(['run', {str(EXAMPLE)!r}])\n"
        "finally:\n"
        "    assert 'numpy' in sys.modules\n"
        "    print(len(os.listdir('/proc/self/task')), os.environ['OMP_NUM_THREADS'], file=sys.stderr)\n"
    )
    environment = {key: value for key, value in os.environ.items() if not key.endswith("_NUM_THREADS")} | asked
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, cwd=ROOT, env=environment, text=True)
    threads, said = done.stderr.split()
    assert said == expected
    assert asked or threads == "1"


def test_calls_of_loops_map_no_memory_anew() -> None:
    """Loops at each depth of a command: where frames cross from one stretch of memory into the next, none faults."""
    program = """
import resource, sys
import emu.cli.main
from emu.__main__ import main

def nothing():
    pass

def loops(depth):
    for _ in range(1000):
        nothing()
    if depth:
        loops(depth - 1)

def command():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    loops(400)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)

emu.cli.main.main = command
main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert int(done.stdout) < 500  # a border costs as many as there are loops
