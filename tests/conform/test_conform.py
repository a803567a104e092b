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
from emu.conform.protocol import Kind
from emu.conform.respond import Responder
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


# hazards without a vector, and why
_OF_A_NETWORK = "emu.net.checks holds the layers that it reads against the streams of a HEF, which the protocol has not"
HAZARDS_NOT_REACHED = {
    "lcu-without-unit": _OF_A_NETWORK,
    "edge-one-way": _OF_A_NETWORK,
    "zero-point-mismatch": _OF_A_NETWORK,
    "output-offset-mismatch": _OF_A_NETWORK,
    "weights-do-not-fit": _OF_A_NETWORK,
}
# what no vector reaches, and why
NOT_REACHED = {
    "CONTEXT_SWITCH_STATUS_TIMEOUT_WHILE_WAITING_FOR_INTERRUPT": "a watchdog of the host says it of a stall",
    "BURST_CREDITS_TASK_STATUS_TOO_MANY_ACTIONS": "more inputs than a device has channels",
    "HAILO_DATAFLOW_STATUS_LATENCY_MEASUREMENT_OVERFLOW": "4.3 s of latency",
    **HAZARDS_NOT_REACHED,
}


def test_every_action_trigger_control_status_and_hazard_has_a_vector() -> None:
    covered = {name for one in vectors() for name in (*one.covers, *(one.hazards or ()))}
    known = {kind.name for kind in ActionType} | set(TRIGGERS) | {opcode.name for opcode in Opcode}
    known |= {status.name for status in FirmwareStatus if status} | set(HAZARDS)
    assert known - covered == NOT_REACHED.keys()
    assert covered <= known


def test_hazards_without_a_vector_are_those_of_networks() -> None:
    """Each hazard has a vector of its name, but those that the simulated device itself finds only beside a HEF."""
    named = {one.name.removeprefix("hazard/") for one in vectors() if one.name.startswith("hazard/")}
    assert HAZARDS.keys() - named == HAZARDS_NOT_REACHED.keys()
    texts = {path.relative_to(ROOT).as_posix(): path.read_text() for path in (ROOT / "emu").rglob("*.py")}
    for rule in HAZARDS_NOT_REACHED:
        assert [name for name, text in texts.items() if f'Hazard("{rule}"' in text] == ["emu/net/checks.py"]


class Overlooking(Responder):
    """The simulated device, but for one hazard that it does not tell."""

    rule = ""

    def answer(self, body: bytes) -> list[bytes]:
        head = bytes([Kind.HAZARD]) + f"{self.rule}:".encode()
        return [one for one in super().answer(body) if not one.startswith(head)]


@pytest.mark.parametrize("name", sorted(HAZARDS.keys() - HAZARDS_NOT_REACHED.keys()))
def test_a_device_that_overlooks_a_hazard_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Overlooking, "rule", name)
    (verdict,) = conform(f"python:{__name__}:Overlooking", chosen([f"hazard/{name}"]), 60)
    assert verdict.outcome is Outcome.BROKEN
    assert verdict.why.endswith(f"the hazard {name} is not found")


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
