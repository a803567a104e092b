"""What the trace tests share: runs of small HEFs, their traces as records, the command line in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import orjson
import pytest

from emu.cli.main import main
from emu.host.spec import RunSpec
from emu.regression.run import Run, execute
from tests.conftest import DATA, ROOT

TWO_CONTEXT = ROOT / "examples" / "two_context.hef"
SINGLE = DATA / "hef" / "qp_a.hef"
DDR = DATA / "hef" / "ddr1_a.hef"

Record = dict[str, Any]


def traced(model: Path, target: Path, **settings: Any) -> Run:
    """Run a model and keep its trace in `target`; it must run to its end."""
    run = execute(model, RunSpec.of(model, **settings), target)
    assert run.error is None, run.error
    return run


def records_of(trace: Path) -> list[Record]:
    """Header, records and end of a trace."""
    return [orjson.loads(line) for line in trace.read_bytes().splitlines()]


def write_trace(target: Path, records: Iterable[Record]) -> Path:
    """Write header and records; the end record is made to fit."""
    body = [record for record in records if record.get("kind") != "end"]
    lines = [orjson.dumps(record) for record in body]
    lines.append(orjson.dumps({"ns": 0, "kind": "end", "events": len(body) - 1}))
    target.write_bytes(b"\n".join(lines) + b"\n")
    return target


def changed(trace: Path, target: Path, change: Callable[[list[Record]], object]) -> Path:
    """A copy of a trace after `change` on its list of records (the header first)."""
    records = records_of(trace)[:-1]
    change(records)
    return write_trace(target, records)


def actions(records: list[Record], action: str, context: str = "") -> list[int]:
    """Positions of an action among records."""
    return [
        at
        for at, record in enumerate(records)
        if record.get("kind") == "action" and record["action"] == action and context in ("", record["context"])
    ]


class Cli:
    """The command line in this process: exit code, stdout and stderr of the last command."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.out = self.err = ""

    def __call__(self, *arguments: object) -> int:
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        self.out, self.err = self._capsys.readouterr()
        assert "Traceback" not in self.err
        assert "internal error" not in self.err, self.err
        return int(stop.value.code or 0)

    @property
    def document(self) -> Any:
        """stdout as the one JSON document it must be."""
        return orjson.loads(self.out)
