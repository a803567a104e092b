"""SIGINT and SIGTERM at any moment, from the first import on: 130 or 143, no traceback, nothing half done.

A moment is a number of Python calls, so that the same ones are tried on every machine.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from random import Random
from textwrap import dedent

import pytest

from tests.conftest import ROOT

EXAMPLES = ROOT / "examples"
HEF = str(EXAMPLES / "two_context.hef")
MOMENTS = int(os.environ.get("EMU_SIGNAL_MOMENTS", "5"))

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's background job: what it starts would ignore it too
    signal.signal(signal.SIGINT, signal.default_int_handler)

# run `emu ARGUMENTS`; at the MOMENTth call send SIGNAL to ourselves
ATTACK = """
import os, sys
moment, number = int(sys.argv[1]), int(sys.argv[2])
sys.argv = ["emu", *sys.argv[3:]]
from emu.__main__ import main
calls = 0

def count(frame, event, argument):
    global calls
    # what comes before `main` has its handlers is Python's own start
    if calls or getattr(argument, "__name__", "") == "set_threshold":
        calls += 1
        if moment and calls >= moment:
            sys.setprofile(None)
            os.kill(os.getpid(), number)

if not moment:
    import atexit
    atexit.register(lambda: sys.stderr.write(f"calls {calls}"))
sys.setprofile(count)
main()
"""

COMMAND_LINES: dict[str, list[str]] = {
    "run": [
        *("run", HEF, "--frames", "9", "--batch", "4", "--trace=TMP/trace.jsonl", "--record", "TMP/recording"),
        *("--coverage-file", "TMP/coverage.json", "--outputs", "TMP/outputs.npz", "--output-dir", "TMP/folder"),
    ],
    "graph": ["run", str(EXAMPLES / "lenet.ms"), "--outputs", "TMP/outputs.npz", "--profile=TMP/profile"],
    "inspect": ["inspect", HEF, "--json"],
    "disasm": ["disasm", HEF, "-o", "TMP/x.yaml"],
    "sweep": ["sweep", HEF, HEF, HEF, HEF, "--jobs", "2", "--output", "TMP/table.csv"],
    "check": ["check", str(EXAMPLES), "--junit", "TMP/junit.xml"],
}


def attack(folder: Path, name: str, moment: int, number: int) -> subprocess.CompletedProcess[str]:
    arguments = [one.replace("TMP", str(folder)) for one in COMMAND_LINES[name]]
    return subprocess.run(
        [sys.executable, "-c", ATTACK, str(moment), str(number), *arguments],
        capture_output=True,  # ends when the last process that holds the pipes has ended: no worker is left
        text=True,
        timeout=120,
        cwd=ROOT,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", COMMAND_LINES)
def test_a_signal_at_any_moment(tmp_path: Path, name: str) -> None:
    (tmp_path / "whole").mkdir()
    done = attack(tmp_path / "whole", name, 0, 0)
    assert done.returncode == 0, done.stderr
    total = int(done.stderr.rpartition("calls ")[2])
    whole = files(tmp_path / "whole")
    random = Random(name)
    for at in range(MOMENTS):
        # as many early ones as late ones: importing is most of a short command
        moment = max(1, int(total ** random.uniform(0.2, 1))) if at % 2 else random.randrange(1, total)
        number = random.choice((signal.SIGINT, signal.SIGTERM))
        folder = tmp_path / str(at)
        folder.mkdir()
        ended = attack(folder, name, moment, number)
        # what the command says anyway, it may have said already
        said = [line for line in ended.stderr.splitlines() if line not in done.stderr.splitlines()]
        assert (ended.returncode, said) == (128 + number, []), f"{number} at call {moment} of {total}"
        left = files(folder)
        assert not [path for path in left if path.endswith(".part")]
        for path, data in left.items():  # what has its name is whole; a record is once its manifest is there
            if path != "recording/record.jsonl" or "recording/manifest.json" in left:
                assert len(data) == len(whole[path]), f"{path} after {number} at call {moment} of {total}"


def test_an_ignored_interrupt_stays_ignored() -> None:
    """As nohup and shells that start a command in the background have it."""
    done = subprocess.run(
        [sys.executable, "-c", ATTACK, "50", str(int(signal.SIGINT)), "inspect", HEF],
        capture_output=True,
        timeout=120,
        cwd=ROOT,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    assert done.returncode == 0 and done.stdout


SWALLOWING = """
import os, signal, sys
from emu import interrupts
from emu.output import Output
interrupts.install()
output = Output(sys.argv[1])
while True:
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        while True:
            pass
    except BaseException:
        pass
"""


# while orjson is loaded send SIGNAL to ourselves at the MOMENTth call
LOADING = """
import os, sys
moment, number = int(sys.argv[1]), int(sys.argv[2])
from emu import interrupts
interrupts.install()
calls = 0

def count(frame, event, argument):
    global calls
    calls += 1
    if calls == moment:
        sys.setprofile(None)
        os.kill(os.getpid(), number)

try:
    sys.setprofile(count)
    import orjson
    sys.setprofile(None)
    print(calls)
except interrupts.EndedBySignal as signal:
    sys.exit(signal.exit_code)
"""


def test_a_signal_while_a_native_module_is_loaded() -> None:
    """orjson falls over any exception then: the signal waits until it is there."""

    def loaded(moment: int, number: int) -> subprocess.CompletedProcess[str]:
        given = [sys.executable, "-c", LOADING, str(moment), str(number)]
        return subprocess.run(given, capture_output=True, text=True, timeout=60, cwd=ROOT)

    loaded(0, 0)  # the first time it is compiled, too, which is many calls more
    total = int(loaded(0, 0).stdout)
    assert total > 1000
    for at in range(12):
        number = (signal.SIGINT, signal.SIGTERM)[at % 2]
        ended = loaded(1 + total * (at + 1) // 14, number)
        assert (ended.returncode, ended.stdout, ended.stderr) == (128 + number, "", ""), at


DROPPING = """
import os, signal, sys
from emu.cli import main as cli

def command():
    try:
        os.kill(os.getpid(), signal.SIGTERM)
    except BaseException:
        pass
    sys.exit(0)

cli.main = command
from emu.__main__ import main
main()
"""


def test_a_signal_whose_exception_a_library_drops() -> None:
    """Where C asks for an attribute or a key and takes any exception for a no: the command did end early for it."""
    done = subprocess.run([sys.executable, "-c", DROPPING], capture_output=True, text=True, timeout=60, cwd=ROOT)
    assert (done.returncode, done.stderr) == (128 + signal.SIGTERM, "")


# at the MOMENTth call from the one on that says that the command is over, send SIGNAL to ourselves
LATE = """
import os, signal, sys
from emu.cli import main as cli
from emu import interrupts
moment, calls = int(sys.argv[1]), 0

def count(frame, event, argument):
    global calls
    if calls or frame.f_code is interrupts.ended.__code__:
        calls += 1
        if calls == moment:
            sys.setprofile(None)
            os.kill(os.getpid(), signal.SIGTERM)

def command():
    sys.setprofile(count)
    sys.exit(0)

cli.main = command
from emu.__main__ import main
main()
"""


def test_a_signal_when_the_command_is_over() -> None:
    ends = []
    for moment in (1, 2, 3, 4, 5, 8, 13, 21, 34, 1_000_000):
        given = [sys.executable, "-c", LATE, str(moment)]
        done = subprocess.run(given, capture_output=True, text=True, timeout=60, cwd=ROOT)
        assert done.stderr == ""
        ends.append(done.returncode)
    assert set(ends[:5]) == {128 + signal.SIGTERM} and set(ends) <= {128 + signal.SIGTERM, 0} and ends[-1] == 0


FORGETFUL = {
    "weak reference": """
        referred = type("Referred", (), {})()
        reference = weakref.ref(referred, lambda _: os.kill(os.getpid(), signal.SIGTERM))
        del referred
    """,
    "destructor": """
        one = type("One", (), {"__del__": lambda self: os.kill(os.getpid(), signal.SIGTERM)})()
        del one
    """,
}


@pytest.mark.parametrize("where", FORGETFUL)
def test_a_signal_where_python_ignores_exceptions(tmp_path: Path, where: str) -> None:
    """What loads modules keeps weak references: the interpreter calls back, and forgets what is raised there."""
    start = "import os, signal, sys, weakref\nfrom emu import interrupts\nfrom emu.output import Output\n"
    start += "interrupts.install()\noutput = Output(sys.argv[1])\n"
    done = subprocess.run(
        [sys.executable, "-c", start + dedent(FORGETFUL[where]), str(tmp_path / "whole")],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=ROOT,
    )
    assert (done.returncode, done.stderr) == (128 + signal.SIGTERM, "")
    assert not list(tmp_path.iterdir())


def test_whoever_swallows_the_signal_ends_too(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SWALLOWING, str(tmp_path / "out")], capture_output=True, timeout=60, cwd=ROOT
    )
    assert (done.returncode, done.stderr) == (143, b"")
    assert list(tmp_path.iterdir()) == []
