"""The progress bar: none where stderr is no terminal, none for short work, one for long work."""

from __future__ import annotations

import io
import re
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from emu.cli import progress as module
from emu.cli import tracing
from emu.cli.main import COMMANDS, main
from emu.cli.progress import progress
from emu.graph.executor import run_plan
from emu.graph.plan import make_plan
from emu.graph.readers import ms
from emu.schemas.generated import ms_v0_5 as b
from tests.conftest import ROOT
from tests.graph.ms_cases import file_b


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def written(monkeypatch, stream: io.StringIO, long: float) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(module, "LONG", long)
    with progress("executing", 4) as advance:
        for _ in range(4):
            advance(1)
    return stream.getvalue()


def test_long_work_on_a_terminal_shows_all_of_its_steps(monkeypatch) -> None:
    shown = written(monkeypatch, Terminal(), -1.0)
    assert "executing" in shown
    assert "100%" in shown


@pytest.mark.parametrize(("stream", "long"), [(Terminal(), 60.0), (io.StringIO(), -1.0)], ids=["short", "no terminal"])
def test_nothing_else_is_written(monkeypatch, stream: io.StringIO, long: float) -> None:
    assert written(monkeypatch, stream, long) == ""


def test_a_graph_tells_each_step() -> None:
    x = np.ones((2, 3), np.float32)
    told: list[int] = []
    run_plan(make_plan(ms.read(file_b(b.Exp(), [x], [(x.shape, x.dtype)]))), {"input_0": x}, progress=told.append)
    assert told == [1]


def test_the_bar_tells_rate_and_what_is_written(monkeypatch) -> None:
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(module, "LONG", -1.0)
    with progress("writing", 400, lambda: 12_345_678) as advance:
        for _ in range(4):
            advance(100)
    assert "/s, 12.3 MB" in shown.getvalue()


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (2_500_000, "2.5 MB"),
        (999_960_000, "1.00 GB"),
        (3.2e12, "3200.00 GB"),
    ],
)
def test_sizes(size: float, text: str) -> None:
    assert module.bytes_text(size) == text


@pytest.mark.parametrize("command", ["run", "record", "replay", "outputs"])
def test_a_long_run_shows_itself_on_a_terminal(monkeypatch, emu, tmp_path: Path, command: str) -> None:
    """The frames are looked at while they run: waited for here, so that a fast machine looks, too."""
    model, folder = str(ROOT / "examples" / "two_context.hef"), str(tmp_path / "rec")
    arguments = {
        "run": ["run", model, "--frames", "60", f"--trace={tmp_path / 'run.trace'}"],
        "record": ["run", model, "--frames", "60", "--record", folder],
        "replay": ["replay", folder],
        "outputs": ["run", model, "--frames", "60", "--outputs", str(tmp_path / "out.npz")],
    }
    if command == "replay":
        assert emu(*arguments["record"])[0] == 0
    monkeypatch.setattr(module, "LONG", -1.0)
    monkeypatch.setattr(module, "POLL", 0.001)
    shown = Terminal()
    quiet = Terminal()
    for stream, options in ((quiet, ["-q"]), (shown, [])):
        monkeypatch.setattr(sys, "stderr", stream)
        if command == "record" and options:
            continue  # the folder would be there
        with pytest.raises(SystemExit) as stop:
            main([*arguments[command], *options])
        assert stop.value.code == 0
    assert quiet.getvalue() == "" and "/s" in shown.getvalue()
    assert "running" in shown.getvalue()


def test_watching_counts_what_is_done(monkeypatch) -> None:
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(module, "LONG", -1.0)
    monkeypatch.setattr(module, "POLL", 0.001)
    looked = threading.Event()

    def done() -> int:
        looked.set()
        return 7

    with module.watching("running", 10, done):
        assert looked.wait(20)
    assert "running" in shown.getvalue() and "70%" in shown.getvalue()


def test_a_trace_of_more_than_a_gigabyte_is_announced(monkeypatch, emu, tmp_path: Path) -> None:
    """Announced before it is written, and by what it really takes: the whole is held against the note."""
    model, trace = str(ROOT / "examples" / "two_context.hef"), tmp_path / "run.trace"
    monkeypatch.setattr(tracing, "_LARGE", 100_000)
    for trace_format in ("jsonl", "text", "perfetto"):
        options = ["--frames", "2000", "--batch", "8", f"--trace={trace}", "--trace-format", trace_format]
        code, _, err = emu("run", model, *options)
        found = re.search(r"emu: note: the trace of 2,000 frames will take about ([\d.]+) MB\n", err)
        assert code == 0 and found is not None, err
        assert float(found[1]) == pytest.approx(trace.stat().st_size / 1e6, rel=0.05)
        assert emu("run", model, *options, "-q")[2] == ""
    monkeypatch.undo()
    assert "will take" not in emu("run", model, *options)[2]


def test_quiet_and_verbose(emu, tmp_path: Path) -> None:
    digits = [str(ROOT / "examples" / "digits.hef"), "--reference", str(ROOT / "examples" / "digits.onnx")]
    outputs = ["--outputs", str(tmp_path / "o.npz")]
    plain, quiet, verbose = (emu("run", *digits, *outputs, *more) for more in ([], ["-q"], ["--verbose"]))
    assert plain[:2] == quiet[:2] == verbose[:2]
    assert "emu: note: " in plain[2] and "emu: note: " not in quiet[2]
    assert "emu: detail: hailo8, HailoRT 4.23, link gen3x4, 400 MHz\n" in verbose[2]
    assert f"emu: detail: wrote {tmp_path / 'o.npz'}: {(tmp_path / 'o.npz').stat().st_size:,} bytes\n" in verbose[2]
    assert "detail" not in plain[2] and emu("run", *digits, *outputs)[2] == plain[2]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_takes_both(emu, name: str) -> None:
    out = emu(name, "--help")[1]
    assert "-v, --verbose" in out and "-q, --quiet" in out
