"""Outputs are opened before the work begins: a place that takes none costs no work, exit code 7 (cli.md)."""

from __future__ import annotations

import importlib
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
