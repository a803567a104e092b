"""What a program said to a card is kept and said again, without the program."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from click.testing import CliRunner

import emu
from emu.card.card import Answer, Caller
from emu.card.conversation import CALL, Conversation, say_again
from emu.card.errors import CallError
from emu.card.networks import Networks
from emu.cli.main import cli
from tests.card.conversation import Client, PlainMemory, make_card
from tests.card.ioctl_client import made_up
from tests.card.runtime import InProcess, MiniRuntime
from tests.conftest import ROOT

EXAMPLE = ROOT / "examples" / "two_context.hef"


class Recorded(Client):
    """A client whose calls are kept."""

    def __init__(self, conversation: Conversation) -> None:
        self.card = conversation.cards[0]
        self.memory = PlainMemory()
        self.process = 77
        self.conversation = conversation
        self.file = conversation.open(self.card, self.process)
        self.answered: dict[Any, Any] = {}
        self._tickets = 0

    def raw(self, call: Any, argument: bytes, ticket: Any = None) -> Any:

        try:
            caller = Caller(self.process, self.memory, ticket)
            return self.conversation.call(self.file, call.number, argument, caller)
        except CallError as error:
            return Answer(error=error.number)
        finally:
            self.answered |= dict(self.conversation.go_on())


def conversation(put: Any) -> Conversation:
    return Conversation([make_card(networks=Networks(compute="off"))], put)


def recorded() -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    made = conversation(records.append)
    made.hef(str(EXAMPLE))
    client = Recorded(made)
    program = emu.compile_hef(emu.open_hef(EXAMPLE))
    mini = MiniRuntime(InProcess(client), program)
    mini.configure()
    (group,) = program.network_groups
    mini.activate(group)
    assert len(mini.infer(group, [made_up(program, number) for number in range(2)])) == 2
    mini.deactivate()
    made.close(client.file)
    return records


def test_what_is_said_again_is_answered_again() -> None:
    records = recorded()
    again: list[dict[str, Any]] = []
    say_again(lambda: iter(records), conversation(again.append))
    assert again == records
    assert sum(record["kind"] == CALL for record in records) > 50


def test_another_byte_of_the_client_is_another_answer() -> None:
    records = recorded()
    frame = next(record for record in reversed(records) if record.get("memory") and len(record["memory"][0][1]) > 2)
    frame["memory"][0][1] = "ff" + frame["memory"][0][1][2:]
    again: list[dict[str, Any]] = []
    say_again(lambda: iter(records), conversation(again.append))
    different = [one["kind"] for one, other in zip(again, records, strict=True) if one != other]
    assert "client-write" in different


def test_from_the_command_line(supervised: Any, tmp_path: Path) -> None:
    model = tmp_path / "model.hef"
    shutil.copy(EXAMPLE, model)
    folder = tmp_path / "recording"
    command = [sys.executable, "-m", "tests.card.ioctl_client", str(model), "2"]
    done = supervised(command, "--record", str(folder), "--compute", "off")
    assert done.returncode == 0, done.stderr
    shutil.move(model, tmp_path / "moved.hef")
    runner = CliRunner()
    found = runner.invoke(cli, ["replay", str(folder), str(tmp_path / "moved.hef"), "--json"])
    assert found.exit_code == 0, found.output
    document = json.loads(found.output)
    assert document["equal"]
    same = runner.invoke(cli, ["diff", str(folder), str(folder)])
    assert (same.exit_code, same.output.endswith("records: no difference\n")) == (0, True)
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    lines = (other / "record.jsonl").read_text().splitlines()
    lines[20] = lines[20].replace('"errno":0', '"errno":5').replace('"number":', '"number":1')
    (other / "record.jsonl").write_text("\n".join(lines) + "\n")
    found = runner.invoke(cli, ["diff", str(folder), str(other), "--json"])
    assert json.loads(found.output)["divergence"]["number"] == 21
    assert runner.invoke(cli, ["diff", str(folder), str(tmp_path / "moved.hef")], standalone_mode=False).exit_code
    assert document["records"] == sum(json.loads((folder / "manifest.json").read_text())["counts"].values())


def test_a_manifest_says_how_many_cards(supervised: Any, tmp_path: Path) -> None:
    """One that does not is older, and of one card; a forged number is refused before any card is made."""
    folder = tmp_path / "kept"
    supervised([sys.executable, "-m", "tests.card.ioctl_client", str(EXAMPLE), "1"], "--record", str(folder))
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["run"]["card"].pop("cards") == 1
    for cards, code in ((None, 0), (10**9, 3), (0, 3), ("1", 3)):
        if cards is not None:
            manifest["run"]["card"]["cards"] = cards
        (folder / "manifest.json").write_text(json.dumps(manifest))
        done = CliRunner().invoke(cli, ["replay", str(folder)])
        assert (done.exit_code if done.exit_code != 1 else done.exception.exit_code) == code, done.output
