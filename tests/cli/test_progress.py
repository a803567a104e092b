"""The progress bar: none where stderr is no terminal, none for short work, one for long work."""

from __future__ import annotations

import io
import sys

import numpy as np
import pytest

from emu.cli import progress as module
from emu.cli.progress import progress
from emu.graph.executor import run_plan
from emu.graph.plan import make_plan
from emu.graph.readers import ms
from emu.schemas.generated import ms_v0_5 as b
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
