"""Standard streams that are closed or take nothing: the right exit code, no traceback, no file in their place."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from emu.cli.main import COMMANDS
from tests.conftest import ROOT

EXAMPLES = ROOT / "examples"
HEF, ONNX = str(EXAMPLES / "digits.hef"), str(EXAMPLES / "digits.onnx")
# command -> arguments that end well and print something; FILE: where an output goes
COMMAND_LINES: dict[str, list[str]] = {
    "run": ["run", HEF],
    "inspect": ["inspect", HEF],
    "net": ["net", str(EXAMPLES / "computed_digits.hef")],
    "export": ["export", str(EXAMPLES / "lenet.ms"), "-o", "FILE"],
    "parse-hef": ["parse-hef", HEF],
    "actions": ["actions", HEF],
    "diff": ["diff", HEF, HEF],
    "check": ["check", HEF],
    "replay": ["replay", "RECORDING"],
    "coverage": ["coverage", "COVERAGE"],
    "conform": ["conform", "--target", f"cmd:{sys.executable} -m emu respond", "--rule", "control/identify"],
    "respond": ["respond"],
    "vectors": ["vectors", "-o", "FOLDER"],
    "disasm": ["disasm", str(EXAMPLES / "configured.hef"), "--chip"],
    "asm": ["asm", "YAML", "-o", "FILE"],
    "bind": ["bind", HEF, ONNX],
    "compare": ["compare", HEF, "--reference", ONNX, "--against", "ARRAYS"],
    "estimate": ["estimate", HEF],
    "calibrate": ["calibrate", "STAMPS"],
    "report": ["report", HEF, "-o", "FILE"],
    "explain": ["explain", "26"],
    "exec": ["exec", "-m", "this"],
    "sweep": ["sweep", HEF, "--jobs", "1"],
    "benchmark": ["benchmark", HEF],
    "run2": ["run2", "set-net", HEF],
    "scan": ["scan"],
    "fw-control": ["fw-control", "identify"],
}
SILENT = ("asm", "respond")  # it prints nothing, and so misses nothing
NOT_OURS = ("exec",)  # what the program that runs then does is its own


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    from emu.cli.main import main

    folder = tmp_path_factory.mktemp("streams")
    found = {
        "RECORDING": str(folder / "recording"),
        "COVERAGE": str(folder / "coverage"),
        "YAML": str(folder / "x.yaml"),
        "ARRAYS": str(folder / "o.npz"),
        "STAMPS": str(folder / "stamps.json"),
    }
    for arguments in (
        ["run", HEF, "--record", found["RECORDING"]],
        ["run", HEF, "--coverage-file", found["COVERAGE"], "--outputs", found["ARRAYS"]],
        ["disasm", HEF, "-o", found["YAML"]],
        ["run", HEF, f"--trace={found['STAMPS']}", "--trace-format=fw-actions"],
    ):
        with pytest.raises(SystemExit) as stopped:
            main(arguments)
        assert not stopped.value.code
    return found


def shell(arguments: list[str], redirections: str) -> tuple[int, str, str]:
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {redirections}', "sh", sys.executable, "-m", "emu", *arguments],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=120,
        cwd=ROOT,
    )
    return done.returncode, done.stdout, done.stderr


def test_every_command_is_tried() -> None:
    assert set(COMMAND_LINES) == set(COMMANDS) - {"serve"}  # which prints its one line on stderr, and never ends


@pytest.mark.parametrize("name", COMMAND_LINES)
def test_a_closed_stdout(files: dict[str, str], tmp_path: Path, name: str) -> None:
    arguments = [files.get(one, one) for one in COMMAND_LINES[name]]
    places = {"FILE": str(tmp_path / "out.html"), "FOLDER": str(tmp_path / "out")}
    arguments = [places.get(one, one) for one in arguments]
    code, _, err = shell(arguments, ">&-")
    assert "Traceback" not in err and "internal error" not in err
    if name not in NOT_OURS:
        assert code == (0 if name in SILENT else 7), err
        assert err.endswith("cannot write the output: bad file descriptor\n") or name in SILENT


@pytest.mark.parametrize("name", sorted(set(COMMAND_LINES) - set(NOT_OURS)))
def test_closed_stderr_and_stdin(files: dict[str, str], tmp_path: Path, name: str) -> None:
    arguments = [files.get(one, one) for one in COMMAND_LINES[name]]
    places = {"FILE": str(tmp_path / "out.html"), "FOLDER": str(tmp_path / "out")}
    arguments = [places.get(one, one) for one in arguments]
    code, out, _ = shell(arguments, "2>&- <&-")
    assert code == (6 if name == "compare" else 0)  # made-up outputs are not the model's
    assert out or name in SILENT


@pytest.mark.parametrize(
    ("arguments", "redirections", "code"),
    [
        (["run", "no.hef"], "2>&-", 3),
        (["run", "no.hef", "--json"], ">&- 2>&-", 3),
        (["run"], ">&- 2>&- <&-", 2),
        (["run", "-"], "<&-", 3),
        (["run", HEF, "--step"], "<&-", 0),
        (["--help"], ">&-", 7),
        (["run", HEF], ">/dev/full", 7),
        (["run", HEF, "--json"], ">/dev/full 2>/dev/full", 7),
        (["sweep", HEF, "--jobs", "2"], ">&- 2>&- <&-", 7),
    ],
)
def test_the_exit_code_is_right(arguments: list[str], redirections: str, code: int) -> None:
    found, _, err = shell(arguments, redirections)
    assert found == code and "Traceback" not in err


def test_an_output_never_takes_the_place_of_a_closed_stream(tmp_path: Path) -> None:
    """Files that are opened get the lowest free numbers: not those of stdout and stderr, into which much is written."""
    for closed in (">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"):
        trace, plain = tmp_path / "t.jsonl", tmp_path / "plain.jsonl"
        shell(["run", HEF, f"--trace={plain}"], "")
        assert shell(["run", HEF, "--json", f"--trace={trace}"], closed)[0] == (7 if ">&-" in closed.split() else 0)
        if trace.exists():
            assert trace.read_bytes() == plain.read_bytes()
            trace.unlink()
