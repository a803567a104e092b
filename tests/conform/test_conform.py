"""`emu conform`: our own answerer holds every rule, and what does not answer as it should is found."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections import Counter
from pathlib import Path

import pytest

from emu.cli.main import main
from emu.conform.conform import Outcome, conform
from emu.conform.suite import chosen, vectors
from emu.conform.vector import Basis
from emu.host.coverage import TRIGGERS
from emu.trace.hazards import HAZARDS
from emu.wire.actions import ActionType
from emu.wire.control import Opcode
from emu.wire.status import FirmwareStatus
from tests.conftest import ROOT

OURS = f"cmd:{shlex.quote(sys.executable)} -m emu respond"


def test_names_are_given_once() -> None:
    names = [one.name for one in vectors()]
    assert len(names) == len(set(names)) > 160


def test_every_rule_holds_for_the_simulated_device() -> None:
    broken = {one.vector.name: one.why for one in conform(OURS, chosen(()), 60) if one.outcome is not Outcome.HOLDS}
    assert broken == {}


def test_it_does_so_from_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["conform", "--target", OURS, "--rule", "control/*"])
    assert ended.value.code == 0
    assert "captured: 4 of 4 rules hold" in capsys.readouterr().out


# what no vector reaches, and why
NOT_REACHED = {
    # a watchdog of the host says it of a device that stalls
    "CONTEXT_SWITCH_STATUS_TIMEOUT_WHILE_WAITING_FOR_INTERRUPT",
    # more inputs than a device has channels; 4.3 s of latency
    "BURST_CREDITS_TASK_STATUS_TOO_MANY_ACTIONS",
    "HAILO_DATAFLOW_STATUS_LATENCY_MEASUREMENT_OVERFLOW",
    # of 1xh configuration, which nothing here builds
    *("record-refused", "go-without-barrier", "ring-order", "cluster-not-prepared", "next-context-mismatch"),
    # what only a HEF beside the configuration tells, or several contexts that are configured
    *("lcu-without-unit", "edge-one-way", "zero-point-mismatch", "output-offset-mismatch", "weights-do-not-fit"),
    *("left-running", "config-over-running", "raise-overwritten", "done-not-cleared", "block-overwritten"),
}


def test_every_action_trigger_control_status_and_hazard_has_a_vector() -> None:
    covered = {name for one in vectors() for name in (*one.covers, *(one.hazards or ()))}
    known = {kind.name for kind in ActionType} | set(TRIGGERS) | {opcode.name for opcode in Opcode}
    known |= {status.name for status in FirmwareStatus if status} | set(HAZARDS)
    assert known - covered == NOT_REACHED
    assert covered <= known


def test_every_source_is_a_place_in_the_reference() -> None:
    folder = ROOT / "docs" / "reference"
    for one in vectors():
        name, _, section = one.source.partition(" ")
        text = (folder / name).read_text()
        assert re.search(rf"^#+ {re.escape(section)}[.) ]|^{re.escape(section)}\. ", text, re.MULTILINE), one.source


def test_the_vectors_as_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["vectors", "-o", str(tmp_path)])
    assert not ended.value.code
    files = sorted(tmp_path.rglob("*.json"))
    documents = [json.loads(path.read_text()) for path in files]
    assert {one["rule"] for one in documents} == {one.name for one in vectors()}
    assert {one["basis"] for one in documents} == {basis.value for basis in Basis}
    bases = Counter(one["basis"] for one in documents)
    assert bases["captured"] == 4 and bases["measured"] >= 19
    for one in documents:
        assert one["schema"] == "emu-vector" and one["version"] == 1 and one["steps"], one["rule"]
    written = {path: path.read_bytes() for path in files}
    with pytest.raises(SystemExit):
        main(["vectors", "-o", str(tmp_path)])
    assert {path: path.read_bytes() for path in files} == written
