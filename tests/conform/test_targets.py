"""Targets that are other, wrong, silent, hostile or not there."""

from __future__ import annotations

import os
import resource
import shlex
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import BinaryIO, cast

import pytest

from emu.cli.main import main
from emu.conform import targets
from emu.conform.conform import Outcome, conform
from emu.conform.protocol import LENGTH, Kind
from emu.conform.respond import Responder, serve
from emu.conform.suite import chosen
from emu.conform.targets import PATIENCE_S, Target, UnreachableError
from emu.errors import UsageError

HERE = Path(__file__).parent
HELD = (HERE / "held_by_other.txt").read_text().split()
BUGS = {
    "hw-consts-big-endian": "control/hw-consts",
    "pause-forgotten": "flow/paused",
    "status-of-the-neighbour": "status/NMS-of-no-classes",
}
IDENTIFY = chosen(["control/identify"])


def program(name: str, *arguments: str) -> str:
    return "cmd:" + shlex.join([sys.executable, str(HERE / name), *arguments])


def broken(target: str, rules: list[str]) -> list[str]:
    return [one.vector.name for one in conform(target, chosen(rules), 60) if one.outcome is not Outcome.HOLDS]


def test_another_implementation_holds_what_it_has() -> None:
    assert len(HELD) == 47 and broken(program("other_device.py"), HELD) == []


@pytest.mark.parametrize("bug", BUGS)
def test_its_bugs_are_found_by_name(bug: str) -> None:
    assert broken(program("other_device.py", "--bug", bug), HELD) == [BUGS[bug]]


def test_the_command_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    target = program("other_device.py", "--bug", "pause-forgotten")
    with pytest.raises(SystemExit) as ended:
        main(["conform", "--target", target, "--rule", "flow/paused", "--rule", "flow/not-resumed"])
    assert ended.value.code == 6
    shown = capsys.readouterr().out
    assert (
        "does not hold: flow/paused (house rule, firmware-actions.md 8): step 19, RUN: channel 2: 2 transfers" in shown
    )
    assert "house rule: 1 of 2 rules hold, 1 does not hold" in shown


def test_one_that_cannot_tell_hazards_is_not_asked_for_them() -> None:
    with Target(program("other_device.py")) as target:
        assert target.name == "another one" and not target.watch & targets.Watch.HAZARDS


@pytest.mark.parametrize(
    "what", ["text", "huge", "empty", "unknown", "short", "host", "reply", "gone", "other-version"]
)
def test_garbage_from_the_beginning_is_no_target(what: str) -> None:
    with pytest.raises(UnreachableError) as refused:
        list(conform(program("garbage.py", what), IDENTIFY, 10))
    assert refused.value.exit_code == 7


@pytest.mark.parametrize("what", ["text", "huge", "empty", "unknown", "short", "host"])
def test_garbage_later_breaks_the_rule_and_no_more(what: str) -> None:
    two = chosen(["control/identify", "control/hw-consts"])
    found = list(conform(program("garbage.py", f"then-{what}"), two, 10))
    assert [one.outcome for one in found] == [Outcome.BROKEN] * 2
    assert all(one.why.startswith("no message of the protocol at POWER: ") for one in found)


@pytest.mark.parametrize("what", ["silent", "part", "gone", "endless"])
def test_silence_is_given_up(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    monkeypatch.setattr(targets, "MOST_ANSWERED", 1 << 40)  # it is time that ends events without end here, not bytes
    three = chosen(["control/identify", "control/hw-consts", "control/configure"])
    found = list(conform(program("garbage.py", f"then-{what}"), three, 1.0))
    assert [one.outcome for one in found] == [Outcome.SILENT] * 2


def test_a_silent_one_costs_its_patience_once_and_exit_code_7(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert PATIENCE_S == 10
    monkeypatch.setattr(targets, "PATIENCE_S", 0.3)
    with pytest.raises(SystemExit) as ended:
        main(["conform", "--target", program("garbage.py", "silent")])
    assert ended.value.code == 7
    assert capsys.readouterr().err.startswith("emu: error: HAILO_TIMEOUT(4): ")


def test_its_program_is_ended() -> None:
    target = Target(program("garbage.py", "then-silent"), 1.0)
    process = cast("subprocess.Popen[bytes]", target._link._process)  # type: ignore[attr-defined]
    target.close()
    assert process.poll() is not None


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ("cmd:/no/such/program --stdio", 7),
        ("cmd:", 2),
        ("cmd:'unclosed", 2),
        ("tcp://127.0.0.1:1", 7),
        ("tcp://127.0.0.1", 2),
        ("tcp://127.0.0.1:99999", 2),
        ("udp://no.such.host.invalid:9", 7),
        ("python:no_such_module:Device", 2),
        ("python:json:loads:x", 2),
        ("python:json:no_such_name", 2),
        ("python:sys:path", 2),
        ("serial:/dev/ttyS0", 2),
    ],
)
def test_a_target_that_is_not_there(target: str, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["conform", "--target", target, "--rule", "control/identify"])
    assert ended.value.code == code
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("asks", [False, True])
def test_a_program_that_ends_is_gone_in_the_same_words(asks: bool) -> None:
    """Whether a message could still be sent depends on the machine."""
    deadline = time.monotonic() + 10
    link = targets._Program("true", deadline)
    with closing(link), pytest.raises(UnreachableError, match=" true is gone: it has ended"):
        link._process.wait()
        link.receive(deadline) if asks else link.send(b"anything", deadline)


def test_a_rule_that_does_not_exist() -> None:
    with pytest.raises(UsageError, match="no rule fits"):
        chosen(["control/no-such-thing"])


@pytest.fixture
def tcp() -> Iterator[int]:
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:

        def accept() -> None:
            with suppress(OSError):
                connection, _ = listening.accept()
                with connection, connection.makefile("rb") as reading, connection.makefile("wb") as writing:
                    serve(cast(BinaryIO, reading), cast(BinaryIO, writing))

        thread = threading.Thread(target=accept)
        thread.start()
        yield listening.getsockname()[1]
    thread.join(10)


def test_over_tcp(tcp: int) -> None:
    assert broken(f"tcp://127.0.0.1:{tcp}", ["flow/one-context-hailo8", "control/identify"]) == []


def test_over_udp() -> None:
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as server:
        server.bind(("127.0.0.1", 0))

        def answer() -> None:
            responder = Responder()
            while True:
                data, peer = server.recvfrom(1 << 16)
                if data[LENGTH.size] == Kind.BYE:
                    return
                for one in responder.answer(data[LENGTH.size :]):
                    server.sendto(LENGTH.pack(len(one)) + one, peer)

        thread = threading.Thread(target=answer)
        thread.start()
        assert broken(f"udp://127.0.0.1:{server.getsockname()[1]}", ["flow/one-context-hailo8"]) == []
        thread.join(10)


class Raising:
    """What does not survive its first message."""

    def answer(self, message: bytes) -> list[bytes]:
        raise KeyError(message[0])


class Slow:
    def answer(self, message: bytes) -> list[bytes]:
        time.sleep(30)
        return []


def test_a_python_object() -> None:
    assert broken("python:emu.conform.respond:Responder", ["control/*", "flow/two-contexts"]) == []
    with pytest.raises(UnreachableError, match="KeyError: 1"):
        Target("python:tests.conform.test_targets:Raising")
    with pytest.raises(UnreachableError, match="says nothing"):
        Target("python:tests.conform.test_targets:Slow", 0.2)


class Blind(Responder):
    """It finds no hazard, and says that it would."""

    def answer(self, body: bytes) -> list[bytes]:
        return [one for one in super().answer(body) if one[0] != Kind.HAZARD]


class Alarmist(Responder):
    """It finds one everywhere."""

    def answer(self, body: bytes) -> list[bytes]:
        return [bytes([Kind.HAZARD]) + b"list-order: somewhere: something", *super().answer(body)]


def test_hazards_that_are_missed_or_made_up() -> None:
    rules = ["hazard/read-unwritten", "hazard/none-where-it-is-sound", "flow/one-context-hailo8"]
    assert broken("python:tests.conform.test_targets:Blind", rules) == ["hazard/read-unwritten"]
    assert broken("python:tests.conform.test_targets:Alarmist", rules) == [
        "flow/one-context-hailo8",
        "hazard/none-where-it-is-sound",
        "hazard/read-unwritten",
    ]


def test_a_target_beside_very_many_open_files() -> None:
    """Each HEF that a process maps is an open file: descriptors go beyond the 1,024 that select knows."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if most != resource.RLIM_INFINITY and most < 1400:
        pytest.skip(f"this system allows {most} open files")
    with ExitStack() as files:
        for _ in range(1100):
            files.callback(os.close, os.open(os.devnull, os.O_RDONLY))
        assert [one.outcome for one in conform(program("other_device.py"), IDENTIFY, 60)] == [Outcome.HOLDS]
