"""Help that helps: sections, examples that run, options that act, completion, and errors that lead on."""

from __future__ import annotations

import importlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import numpy as np
import pytest

from emu.cli.command import OWN, SECTIONS, Command, long_name
from emu.cli.examples import EXAMPLES
from emu.cli.main import COMMANDS
from tests.conftest import ROOT
from tests.processes import run_module

EXAMPLE = str(ROOT / "examples" / "two_context.hef")
INTEGRATED = str(ROOT / "tests" / "data" / "hef" / "ctr_v3_ph_ok.hef")
GRAPH = str(ROOT / "examples" / "lenet.ms")
# what has no end, or runs another program
NOT_RUN = ("emu serve", "emu respond", "emu exec --card")


def command_of(name: str) -> Command:
    found = importlib.import_module(COMMANDS[name][0]).command
    assert isinstance(found, Command)
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_sections_and_three_examples(emu, name: str) -> None:
    code, out, _ = emu(name, "--help")
    assert code == 0
    lines = out.split("Examples:\n")[1].splitlines()
    shown = [line.strip() for line in lines if line.strip().startswith("emu ")]
    assert shown == [line for line, _ in EXAMPLES[name]] and len(shown) == 3
    assert sum(f"emu {name}" in line for line in shown) >= 1
    long_help = [option for option in command_of(name).params if isinstance(option, click.Option)]
    if len([option for option in long_help if not option.hidden]) > 12:
        assert len(re.findall(r"^[A-Z][\w ,]+:$", out, re.MULTILINE)) >= 4


def test_sections_name_options_that_exist() -> None:
    known = {opt for name in COMMANDS for param in command_of(name).params for opt in param.opts}
    named = [option for options in SECTIONS.values() for option in options.split()]
    assert set(named) <= known and len(named) == len(set(named))
    assert OWN not in SECTIONS


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_in_the_words_of_the_user(emu, name: str) -> None:
    """No name of a type of click's, and no section that an option has nothing to do with."""
    code, out, _ = emu(name, "--help")
    assert code == 0
    assert re.findall(r"^ +-.*? (?:INTEGER|FLOAT|TEXT|BOOLEAN|PATH|FILENAME|UUID)\b.*$", out, re.MULTILINE) == []
    section = out.split("\nOM and MS graphs:\n")[1].split("\n\n")[0] if "OM and MS graphs:" in out else ""
    told = re.sub(r"\n {10,}", " ", section).splitlines()
    assert all(re.match(r"\s+--[\w-]+ .*?\b(?:OM/MS|OM): ", line) for line in told), told
    about_the_host = out.split("\nChip and host:\n")[1].split("\n\n")[0] if "Chip and host:" in out else ""
    assert "listen" not in about_the_host


def test_what_a_command_is_fed_is_named_alike_everywhere() -> None:
    """An option that several commands have in the same sense has the same metavar in each."""
    for option in (
        "--input",
        "--inputs",
        "--fit",
        "--colour",
        "--map",
        "--alls",
        "--reference",
        "--assume",
        "--handlers",
    ):
        found = {
            param.metavar
            for name in COMMANDS
            for param in command_of(name).params
            if isinstance(param, click.Option) and option in param.opts and not param.hidden
        }
        assert len(found) == 1, (option, found)


@pytest.mark.parametrize(("option", "value"), [("--batch", "64"), ("--frames", "0"), ("--frames-count", "0")])
def test_an_error_names_an_option_by_its_own_name(emu, option: str, value: str) -> None:
    """The first long one, whatever others it has."""
    code, _, err = emu("run", EXAMPLE, option, value)
    name = option.removesuffix("-count")
    assert code == 2 and f" {name}: {value} is out of range" in err


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_no_option_that_the_command_refuses(emu, name: str) -> None:
    """The common options a command knows only so as to refuse them by name."""
    _, out, _ = emu(name, "--help")
    for param in command_of(name).params:
        if isinstance(param, click.Option) and param.hidden:
            assert f" {long_name(param)} " not in out


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that the examples speak of."""
    examples = ROOT / "examples"
    (tmp_path / "models").mkdir()
    for source, name in (
        ("digits.hef", "model.hef"),
        ("two_context.hef", "other.hef"),
        ("digits.onnx", "model.onnx"),
        ("lenet.ms", "graph.ms"),
        ("two_context.hef", "models/two_context.hef"),
    ):
        shutil.copyfile(examples / source, tmp_path / name)
    np.save(tmp_path / "image.npy", np.zeros((8, 8, 1), np.uint8))
    (tmp_path / "app.py").write_text("import hailo_platform\nprint(hailo_platform.__version__)\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", COMMANDS)
def test_the_examples_run(emu, folder: Path, name: str) -> None:
    if name in ("net", "disasm"):
        shutil.copyfile(ROOT / "examples" / "computed_digits.hef", "model.hef")
    for line, _ in (*EXAMPLES["run"][1:2], *EXAMPLES[name]):
        if line.startswith(NOT_RUN):
            continue
        words = shlex.split(line)[1:]
        if words[0] == "exec":  # becomes another program
            done = subprocess.run([sys.executable, "-m", "emu", *words], capture_output=True, text=True)
            assert done.returncode == 0, (line, done.stderr)
            continue
        if "--decode" in words:
            _, out, _ = emu("actions", "model.hef", "--json")
            Path(words[-1]).write_text(out)
        code, _, err = emu(*words)
        assert code == (6 if "--b-runtime" in words else 0), (line, err)


# --- completion -----------------------------------------------------------------------------------------------------


def completed(*words: str) -> list[str]:
    environment = {
        **os.environ,
        "_EMU_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(["emu", *words]),
        "COMP_CWORD": str(len(words)),
    }
    done = run_module("emu", env=environment)
    assert done.stderr == b""
    return done.stdout.decode().split()


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["in"], ["plain,inspect"]),
        (["run", "--trace-f"], ["plain,--trace-format"]),
        (["run", "--device", "hailo10"], ["plain,hailo10h"]),
        (["run", "examples/tw"], ["file,examples/tw"]),
        (["run", "--output-dir", "o"], ["dir,o"]),
        (["diff", "a.trace", "b"], ["file,b"]),
    ],
)
def test_the_tab_key(words: list[str], found: list[str]) -> None:
    assert completed(*words) == found


def test_every_command_is_completed() -> None:
    assert [line.partition(",")[2] for line in completed("")] == list(COMMANDS)


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_bash_takes_the_script() -> None:
    program = Path(sys.executable).parent / "emu"
    if not program.exists():
        pytest.skip("emu is not installed as a program here")
    script = f"""
        PATH={program.parent}:$PATH
        eval "$(_EMU_COMPLETE=bash_source emu)"
        complete -p emu
        COMP_WORDS=(emu insp); COMP_CWORD=1; _emu_completion emu; echo "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["complete -o nosort -F _emu_completion emu", "inspect"]


# --- errors ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["rnu"], "No such command 'rnu'. Did you mean run?"),
        (["run", EXAMPLE, "--trace", "out.json"], "--trace out.json: its value stands behind an equals sign"),
        (["run", EXAMPLE, "--profile", "t.json"], "--profile=t.json"),
        (["run", EXAMPLE, "--compute", "partial"], "--compute=partial"),
        (["run", EXAMPLE, "--frame", "3"], "--frames"),
        (["run"], "run takes one or more MODELs"),
        (["inspect"], "Missing argument 'MODEL'."),
        (["estimate", EXAMPLE, "--frames", "3"], "--frames: no effect on an estimate"),
    ],
)
def test_wrong_use_leads_on_and_carries_no_status(emu, arguments: list[str], said: str) -> None:
    code, out, err = emu(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err and err.startswith("emu: error: USAGE(2): ") and "HAILO_" not in err


def test_a_file_is_named_once(emu) -> None:
    for arguments in (["run", "nowhere.hef"], ["inspect", EXAMPLE, "--constants"], ["asm", "none", "-o", "x"]):
        _, _, err = emu(*arguments)
        assert err.count(arguments[1]) == 1, err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--input", "input_layr1=x.npy"], "Did you mean two_context/input_layer1?"),
        (["--network-group", "two_contexts"], "Did you mean two_context?"),
        (["--net-batch", "two_contxt=2"], "Did you mean two_context/two_context?"),
        (["--device-output", "conv3=x.bin"], "Did you mean two_context/conv2?"),
    ],
)
def test_a_slip_in_a_name_is_answered(emu, arguments: list[str], said: str) -> None:
    code, _, err = emu("run", EXAMPLE, *arguments)
    assert code == 2 and said in err


def test_the_unique_end_of_a_name_stands_for_it(emu, tmp_path: Path) -> None:
    image, frame = tmp_path / "image.npy", tmp_path / "conv2.bin"
    np.save(image, np.full((32, 32, 3), 7, np.uint8))
    frame.write_bytes(bytes(range(256)) * 2 + bytes(128))
    whole = ["--input", f"two_context/input_layer1={image}", "--device-output", f"two_context/conv2={frame}"]
    ends = ["--input", f"input_layer1={image}", "--device-output", f"conv2={frame}"]
    batch = ["--net-batch", "two_context/two_context=2"], ["--net-batch", "two_context=2"]
    outcomes = [emu("run", EXAMPLE, "--json", *names, *more) for names, more in zip((whole, ends), batch, strict=True)]
    assert outcomes[0] == outcomes[1] and outcomes[0][0] == 0


def test_a_map_takes_the_end_of_a_name(emu) -> None:
    digits = [str(ROOT / "examples" / "digits.hef"), str(ROOT / "examples" / "digits.onnx")]
    whole, end = (emu("bind", *digits, "--map", f"{name}=fc2") for name in ("digits/fc2", "fc2"))
    assert whole == end
    code, _, err = emu("bind", *digits, "--map", "fc3=scores")
    assert code == 2 and "Did you mean digits/fc2?" in err


# --- names of the trade ---------------------------------------------------------------------------------------------


def test_hailortcli_s_commands_answer_for_the_simulated_device(emu, monkeypatch: pytest.MonkeyPatch) -> None:
    """The texts are those that `emu exec`'s hailortcli prints (fw-trace.md 2, 3, 6, 7)."""
    monkeypatch.setenv("EMU_DEVICE", "hailo8l")
    assert emu("scan") == (0, "Hailo Devices:\n[-] Device: 0000:01:00.0\n", "")
    code, out, _ = emu("fw-control", "identify")
    assert code == 0 and "Device Architecture: HAILO8L\n" in out
    monkeypatch.setenv("EMU_DEVICE", "hailo8")
    _, told, _ = emu("run", EXAMPLE, "--batch", "8", "--frames", "32", "--json")
    fps = json.loads(told)["network_groups"][0]["fps"]
    code, out, _ = emu("benchmark", EXAMPLE, "--batch-size", "8", "-s", "0000:01:00.0")
    assert code == 0 and f"FPS     (hw_only)                 = {fps:g}\n" in out
    code, out, _ = emu("run2", "-t", "1", "set-net", EXAMPLE, "--batch-size", "8")
    assert code == 0 and f"two_context: fps: {fps:.2f}\n" in out


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["benchmark"], 2, "the following arguments are required: hef"),
        (["fw-control", "reset"], 2, "answers fw-control identify"),
        (["scan", "-s", "nobody"], 2, "unrecognized arguments"),
        (["benchmark", "nowhere.hef"], 3, "HAILO_OPEN_FILE_FAILURE(13)"),
    ],
)
def test_their_errors_are_emu_s(emu, arguments: list[str], code: int, said: str) -> None:
    found, out, err = emu(*arguments)
    assert (found, out, err.count("\n")) == (code, "", 1) and said in err and err.startswith("emu: error: ")


@pytest.mark.parametrize(("model", "device"), [(EXAMPLE, "0000:01:00.0"), (INTEGRATED, "[integrated]")])
def test_a_run_takes_the_id_of_the_device_there_is(emu, model: str, device: str, monkeypatch) -> None:
    """`-s`: what `scan` finds, as in hailortcli; no other device is there to run on."""
    plain = emu("run", model)
    monkeypatch.setenv("EMU_DEVICE", json.loads(emu("run", model, "--json")[1])["device"])
    assert emu("scan")[1].split(": ")[-1].strip() == device
    assert plain[0] == 0 and emu("run", model, "-s", device) == emu("run", model, "--device-id", device) == plain
    code, out, err = emu("run", model, "-s", "0000:09:00.0")
    assert (code, out) == (3, "")
    assert err == f"emu: error: HAILO_INVALID_ARGUMENT(2): no device '0000:09:00.0', there is {device}\n"
    code, _, err = emu("benchmark", EXAMPLE, "-s", "0000:09:00.0")
    assert code == 3 and "no device '0000:09:00.0'" in err
    code, _, err = emu("run", GRAPH, "-s", device)
    assert code == 2 and "--device-id: not for OM and MS graphs" in err


@pytest.mark.parametrize("command", ["run", "estimate"])
def test_the_options_of_hailortcli_mean_the_same(emu, command: str) -> None:
    frames = [["--frames", "16"], ["--frames-count", "16"]] if command == "run" else [[], []]
    ours, theirs = (
        emu(command, EXAMPLE, name, "8", *more) for name, more in zip(("--batch", "--batch-size"), frames, strict=True)
    )
    assert ours == theirs and ours[0] == 0
