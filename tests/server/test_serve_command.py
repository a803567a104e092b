"""`emu serve` as a process: what it prints, how it ends."""

from __future__ import annotations

import json
import re
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.conftest import ROOT
from tests.server.client import Client, field, handle

EXAMPLE = ROOT / "examples" / "two_context.hef"
LINE = re.compile(r"emu: serving (\S+) on (\S+):(\d+)")


@contextmanager
def process(*arguments: str, command: list[str] | None = None) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A running server and its first line."""
    command = command or [sys.executable, "-m", "emu", "serve", "--port", "0", *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as one:
        try:
            assert one.stderr is not None
            yield one, one.stderr.readline()
        finally:
            one.kill()


def ended(server: subprocess.Popen[str], number: int) -> tuple[int, float]:
    """(exit code, seconds) of a server that gets a signal."""
    begin = time.monotonic()
    server.send_signal(number)
    return server.wait(10), time.monotonic() - begin


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_within_a_second_whatever_its_clients_do(number: int) -> None:
    with process("--device", "hailo8") as (server, line):
        found = LINE.fullmatch(line.rstrip())
        assert found is not None, line
        assert found.group(1, 2) == ("hailo8", "127.0.0.1")
        port = int(found[3])
        with Client(port) as busy, Client(port) as stalled, Client(port):
            vdevice = busy.vdevice()
            model = busy.infer_model(vdevice, EXAMPLE.read_bytes())
            configured, _ = busy.configure(vdevice, model)
            for _ in range(32):
                busy.run(configured, model, [bytes(3072)], [640])
            stalled.device()
            stalled.socket.sendall(b"\x32\x44\x55")
            code, seconds = ended(server, number)
        assert code == 128 + number
        assert seconds < 1


SLOW = """
import time
from emu.cli.main import main
from emu.host import references
references.reference_files = lambda arguments: lambda hef, group: lambda *frame: time.sleep(5) or {}
main(["serve", "--port", "0", "--device", "hailo8", "--reference", "slow"])
"""


def test_a_long_frame_does_not_keep_it() -> None:
    """A reference that nothing interrupts is under way."""
    with process(command=[sys.executable, "-c", SLOW]) as (server, line):
        with Client(int(LINE.search(line)[3])) as client:  # type: ignore[index]
            vdevice = client.vdevice()
            model = client.infer_model(vdevice, EXAMPLE.read_bytes())
            configured, _ = client.configure(vdevice, model)
            client.run(configured, model, [bytes(3072)], [640])
            time.sleep(0.5)
            code, seconds = ended(server, signal.SIGTERM)
        assert code == 143
        assert seconds < 1


def test_the_log_is_json_where_asked_for() -> None:
    with process("--json-log") as (server, line):
        port = int(LINE.search(line)[3])  # type: ignore[index]
        with Client(port) as client:
            client.call(22, field(1, handle(client.device())))
        time.sleep(0.2)
        assert ended(server, signal.SIGTERM)[0] == 143
        assert server.stderr is not None
        documents = [json.loads(one) for one in [line, *server.stderr.read().splitlines()]]
    assert [one["event"] for one in documents] == ["serving", "connected", "disconnected", "stopped"]
    assert documents[1]["client"] == documents[2]["client"] == 1
    assert all({"level", "timestamp"} <= one.keys() for one in documents)


def test_it_outlives_the_reader_of_its_log() -> None:
    """As in `emu serve 2>&1 | head -1`."""
    with process() as (server, line):
        assert server.stderr is not None
        server.stderr.close()
        with Client(int(LINE.search(line)[3])) as client:  # type: ignore[index]
            for _ in range(3):
                client.call(24, field(1, handle(client.device())))
        assert ended(server, signal.SIGTERM)[0] == 143


def test_control_is_served_beside() -> None:
    """The ports are fixed; any address of 127/8 has its own."""
    address = "127.77.1.1"
    with process("--control", "--host", address) as (server, line):
        assert line.startswith(f"emu: serving hailo8 on {address}:")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as host:
            host.settimeout(10)
            host.sendto(struct.pack(">5I", 2, 0, 7, 0, 0), (address, 22401))
            assert struct.unpack_from(">7I", host.recv(2000)) == (2, 1, 7, 0, 0, 0, 8)
        taken = subprocess.run(server.args, capture_output=True, text=True, cwd=ROOT, timeout=20)
        assert (taken.returncode, taken.stderr.count("\n")) == (7, 1)
        assert ended(server, signal.SIGTERM)[0] == 143


def test_a_port_that_is_taken_is_exit_7() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "emu", "serve", "--port", port]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=20)
    assert done.returncode == 7
    assert done.stderr.startswith(f"emu: error: HAILO_FILE_OPERATION_FAILURE(14): cannot listen on 127.0.0.1:{port}")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--host", "no.such.host.invalid"], 7),
        (["--host", "192.0.2.1"], 7),
        (["--device", "hailo9"], 2),
        (["--device", "hailo8", "--runtime", "nonsense"], 2),
        (["--limit", "nobody=3"], 2),
        (["--control", "--device", "hailo10h"], 2),
    ],
)
def test_wrong_use_is_one_line(arguments: list[str], code: int) -> None:
    command = [sys.executable, "-m", "emu", "serve", "--port", "0", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=20)
    assert (done.returncode, done.stderr.count("\n")) == (code, 1), done.stderr
    assert done.stderr.startswith("emu: error: ")
