"""What a person sees on a terminal: long lines folded to its width; elsewhere an error is one line."""

from __future__ import annotations

import csv
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from emu.cli.colour import Tone, Toned, marked, painted
from emu.cli.screen import folded
from tests.conftest import ROOT

SGR = re.compile(r"\x1b\[([\d;]*)m")
STALLED = ["run", "examples/computed_digits.hef", "--inject", "stuck-lcu:4.0"]
QUIET = [*STALLED, "-q"]  # without the bar, which moves the cursor


def on_terminal(arguments: list[str], width: int, **environment: str) -> list[str]:
    """The lines that a terminal of that width shows, of somebody who wants no colour unless `environment` says so."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    command = [sys.executable, "-m", "emu", *arguments]
    surroundings = {"TERM": "xterm", "NO_COLOR": "1"} | environment
    env = {name: value for name, value in os.environ.items() if name not in surroundings} | surroundings
    with subprocess.Popen(command, cwd=ROOT, stdin=theirs, stdout=theirs, stderr=theirs, env=env):
        os.close(theirs)
        text = _all_of(ours)
        os.close(ours)
    return text.decode().replace("\r\n", "\n").splitlines()


def _all_of(terminal: int) -> bytes:
    """What comes until the other side of the terminal is closed, which a read reports as an error."""
    text = b""
    while True:
        try:
            some = os.read(terminal, 1 << 16)
        except OSError:
            return text
        if not some:
            return text
        text += some


@pytest.mark.parametrize("width", [60, 100])
def test_a_stall_fits_a_terminal(width: int) -> None:
    lines = on_terminal(STALLED, width)
    start = next(at for at, line in enumerate(lines) if line.startswith("emu: error:"))
    chain = lines[start:]
    assert any(line.startswith("    cluster 4 LCU 0: it is stuck") for line in chain)
    assert all(len(line) <= width or len(line.split()) == 1 for line in chain)
    plain = subprocess.run([sys.executable, "-m", "emu", *STALLED], cwd=ROOT, capture_output=True, text=True)
    whole = next(line for line in plain.stderr.splitlines() if line.startswith("emu: error: "))
    assert " ".join(" ".join(chain).split()) == whole


def coloured(lines: list[str]) -> list[tuple[str, str]]:
    """(SGR parameter, what is shown in it) of every stretch that is coloured; each ends on its line."""
    found = []
    for line in lines:
        pieces = SGR.split(line)
        codes, texts = pieces[1::2], pieces[2::2]
        assert codes[1::2] == ["0"] * (len(codes) // 2) and len(codes) % 2 == 0, line
        assert "\x1b" not in "".join(texts)
        found += list(zip(codes[::2], texts[::2], strict=True))
    return found


def test_a_stall_is_told_in_colour() -> None:
    """The error, and what each link of its chain of causes is about; the same words as without colour."""
    lines = on_terminal(QUIET, 100, NO_COLOR="")
    found = coloured(lines)
    assert (Tone.BAD.value, "emu: error:") in found
    assert (Tone.STRONG.value, "    cluster 4 LCU 0") in found
    assert [SGR.sub("", line) for line in lines] == on_terminal(QUIET, 100)


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"NO_COLOR": "0"}, {"NO_COLOR": "", "TERM": "dumb"}])
def test_who_wants_no_colour_gets_none(environment: dict[str, str]) -> None:
    """NO_COLOR with anything in it, and a terminal that can do nothing."""
    assert "\x1b" not in "".join(on_terminal(QUIET, 100, **environment))


def test_a_pipe_gets_no_colour() -> None:
    env = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | {"FORCE_COLOR": "1"}
    done = subprocess.run([sys.executable, "-m", "emu", *STALLED], cwd=ROOT, capture_output=True, env=env)
    assert b"emu: error:" in done.stderr and b"\x1b" not in done.stdout + done.stderr


def test_verdicts_hazards_and_warnings_are_told_in_colour(tmp_path: Path) -> None:
    bad = tmp_path / "\x1b[31mbroken.hef"  # a name that would colour what it stands in
    bad.write_bytes(b"\x01HEF" + bytes(40))
    found = coloured(on_terminal(["check", "examples/two_context.hef", str(bad)], 200, NO_COLOR=""))
    assert {(Tone.GOOD.value, "ok"), (Tone.BAD.value, "DAMAGED")} <= set(found)
    model = ["examples/configured.hef"]
    found = coloured(on_terminal(["inspect", *model, "--chip"], 200, NO_COLOR=""))
    assert (Tone.GOOD.value, "no hazard:") in found
    found = coloured(on_terminal(["inspect", *model], 200, NO_COLOR=""))
    assert (Tone.GOOD.value, "Accepted by") in found
    found = coloured(on_terminal(["estimate", *model, "--clock-mhz", "200"], 200, NO_COLOR=""))
    assert (Tone.CAUTION.value, "emu: warning:") in found
    found = coloured(on_terminal(["diff", model[0], model[0]], 200, NO_COLOR=""))
    assert (Tone.GOOD.value, "equal in meaning") in found
    found = coloured(on_terminal(["diff", model[0], "examples/two_context.hef"], 200, NO_COLOR=""))
    assert (Tone.BAD.value, "first divergence:") in found


def test_a_tone_is_of_the_beginning_alone_and_lets_nothing_through() -> None:
    (line,) = marked(["  hazard: \x1b[2J"], {"hazard:": Tone.BAD})
    assert painted(line) == "\x1b[1;31m  hazard:\x1b[0m \\x1b[2J"
    named = Toned("\x1b[2J.trace:3: credits: none", 10, Tone.BAD)  # a name out of a file may lead, too
    assert painted(named) == "\x1b[1;31m\\x1b[2J.trace\x1b[0m:3: credits: none"
    assert list(marked(["no hazard: here"], {"hazard:": Tone.BAD})) == ["no hazard: here"]
    assert line == "  hazard: \x1b[2J" and isinstance(line, Toned)


@pytest.mark.parametrize("width", [80, 100])
def test_a_sweep_fits_a_terminal(width: int, tmp_path: Path) -> None:
    """Each figure that is shown is the one of the whole table, and what is not shown is named."""
    folder = tmp_path / "a folder of models with a long name"
    folder.mkdir()
    for name in ("two_context.hef", "configured.hef"):
        (folder / name).write_bytes((ROOT / "examples" / name).read_bytes())
    (folder / "broken.hef").write_bytes(b"\x01HEF" + bytes(40))
    arguments = ["sweep", str(folder), "--batch", "1,8", "--device", "hailo8,hailo8l", "--jobs", "1"]
    lines = on_terminal([*arguments, "-q"], width)
    assert lines and max(map(len, lines)) <= width
    csv_text = subprocess.run([sys.executable, "-m", "emu", *arguments], cwd=ROOT, capture_output=True, text=True)
    rows = [row for row in csv.DictReader(csv_text.stdout.splitlines()) if row["fps"]]
    shown = " ".join(lines)
    assert rows and all(f"{float(row['fps']):,.2f}" in shown for row in rows)
    words = ("two_context.hef", "configured.hef", "HAILO_HEF_FILE_CORRUPTED(91)", "hailo8l", "does not run on")
    assert all(word in " ".join(shown.split()) for word in words)
    assert any(re.match(r"configured\.hef .*hailo8l", line) for line in lines)
    assert "(--csv has everything)" in " ".join(shown.split())


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "examples/two_context.hef", "--frames", "3"],
        ["estimate", "examples/two_context.hef", "--batch", "1,8"],
        ["run", "examples/two_context.hef", "--coverage"],
    ],
)
def test_tables_fit_80_columns(arguments: list[str]) -> None:
    """Rows of figures are not cut; sentences are the terminal's to wrap."""
    rows = [line for line in on_terminal(arguments, 80) if len(re.findall(r"\S {2,}(?=[\d.,-]+\b)", line)) > 2]
    assert rows and max(map(len, rows)) <= 80


@pytest.mark.parametrize("width", [0, 1, 19])
def test_a_terminal_without_a_width_gets_one_line(width: int) -> None:
    assert on_terminal(STALLED, width)[-1].startswith("emu: error: ")


def test_an_explanation_fits_a_terminal() -> None:
    assert max(map(len, on_terminal(["explain", "26"], 70))) <= 70


def test_what_fits_or_has_no_terminal_stays_as_it_is() -> None:
    assert list(folded("emu: a; b", 20)) == list(folded("emu: a; b", None)) == ["emu: a; b"]
    assert list(folded("emu: one; two words", 12)) == ["emu: one;", "    two", "      words"]
