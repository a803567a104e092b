"""An option that has no effect on a command is refused by it or not offered: all commands, all common options."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import ROOT

TWO_CONTEXT = str(ROOT / "examples" / "two_context.hef")
LENET = str(ROOT / "examples" / "lenet.ms")
# each with a value that changes something wherever it counts
COMMON = {
    "--runtime": ["5.2"],
    "--device": ["hailo8l"],
    "--cluster-layout": ["7"],
    "--network-group": ["nobody"],
    "--batch": ["3"],
    "--net-batch": ["two_context/two_context=2"],
    "--frames": ["7"],
    "--seed": ["9"],
    "--clock-mhz": ["100"],
    "--link": ["gen1x1"],
    "--host-profile": ["rpi5"],
    "--host": ["desc_max_page=64"],
    "--kv-cache": [],
    "--from-memory": [],
}
# what the command uses and yet changes nothing in what is shown of this very file: a HEF without caches, whose
# architecture has one cluster layout and whose container loads alike from memory; the clock that stamps actions
ALIKE = {"--kv-cache", "--from-memory", "--cluster-layout"}
ALIKE_IN = {("run capture", "--clock-mhz"), ("run capture", "--cluster-layout")}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture and a trace of our own."""
    from contextlib import redirect_stdout
    from io import StringIO

    from emu.cli.main import main

    folder = tmp_path_factory.mktemp("made")
    for name, arguments in (
        ("capture.on-hailo8.json", ["actions", TWO_CONTEXT, "--json"]),
        ("out.txt", ["run", TWO_CONTEXT, f"--trace={folder / 'run.trace'}"]),
    ):
        with redirect_stdout(StringIO()) as out, pytest.raises(SystemExit):
            main(arguments)
        (folder / name).write_text(out.getvalue())
    return folder


def _commands(made: Path, frames: bool = True) -> dict[str, list[str]]:
    capture, trace = str(made / "capture.on-hailo8.json"), str(made / "run.trace")
    return {
        "run HEF": ["run", TWO_CONTEXT, "--json", *(["--frames", "4"] if frames else [])],
        "run capture": ["run", "--actions", capture, "--json"],
        "run MS": ["run", LENET, "--json"],
        "actions": ["actions", TWO_CONTEXT, "--json"],
        "actions --decode": ["actions", "--decode", capture, "--json"],
        "inspect HEF": ["inspect", TWO_CONTEXT, "--json"],
        "inspect MS": ["inspect", LENET, "--json"],
        "estimate": ["estimate", TWO_CONTEXT, "--json"],
        "estimate --table": ["estimate", "--table", "3.5,0.3,224x224x3", "--json"],
        "diff HEFs": ["diff", TWO_CONTEXT, capture, "--json"],
        "diff captures": ["diff", capture, capture, "--json"],
        "diff traces": ["diff", trace, trace, "--json"],
        "check": ["check", TWO_CONTEXT, "--json"],
        "sweep": ["sweep", TWO_CONTEXT],
        "parse-hef": ["parse-hef", TWO_CONTEXT],
        "disasm": ["disasm", TWO_CONTEXT, "-o", str(made / "x.yaml")],
    }


@pytest.mark.parametrize("option", COMMON)
def test_every_option_acts_or_is_refused(option: str, emu, made: Path) -> None:
    for name, command in _commands(made, frames=option != "--frames").items():
        plain = emu(*command)
        assert plain[0] in (0, 6), (name, plain)
        code, out, err = emu(*command, option, *COMMON[option])
        if code == 2:
            assert option in out + err or "group" in out + err, (name, out, err)
        elif (name, option) in ALIKE_IN:
            continue
        elif option not in ALIKE:
            assert (code, out) != (plain[0], plain[1]), f"{name} {option} does nothing"
        else:
            assert "HEF" in name or name in ("actions", "estimate", "check", "sweep", "parse-hef", "disasm"), name


def test_a_capture_refuses_what_it_has_of_its_own(emu, made: Path) -> None:
    """Each on its own, and the document says so too."""
    capture = str(made / "capture.on-hailo8.json")
    for option in ("--runtime", "--network-group", "--batch", "--net-batch", "--host", "--kv-cache", "--from-memory"):
        code, out, _ = emu("run", "--actions", capture, "--json", option, *COMMON[option])
        assert code == 2
        assert json.loads(out)["error"]["message"] == f"{option}: a capture has its own"
    code, _, err = emu("run", "--actions", capture, "--until", "conv2")
    assert code == 2 and "--until: for OM and MS graphs only" in err
