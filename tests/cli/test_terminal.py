"""What a person sees on a terminal: long lines folded to its width; elsewhere an error is one line."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios

import pytest

from emu.cli.screen import folded
from tests.conftest import ROOT

STALLED = ["run", "examples/computed_digits.hef", "--inject", "stuck-lcu:4.0"]


def on_terminal(arguments: list[str], width: int) -> list[str]:
    """The lines that a terminal of that width gets."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    command = [sys.executable, "-m", "emu", *arguments]
    with subprocess.Popen(command, cwd=ROOT, stdin=theirs, stdout=theirs, stderr=theirs):
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


@pytest.mark.parametrize("width", [0, 1, 19])
def test_a_terminal_without_a_width_gets_one_line(width: int) -> None:
    assert on_terminal(STALLED, width)[-1].startswith("emu: error: ")


def test_an_explanation_fits_a_terminal() -> None:
    assert max(map(len, on_terminal(["explain", "26"], 70))) <= 70


def test_what_fits_or_has_no_terminal_stays_as_it_is() -> None:
    assert list(folded("emu: a; b", 20)) == list(folded("emu: a; b", None)) == ["emu: a; b"]
    assert list(folded("emu: one; two words", 12)) == ["emu: one;", "    two", "      words"]
