"""What the virtual card costs: calls, frames, opens of other files, and its start, against their like without it.

    pytest benchmarks/bench_card.py -s

The least (the most, of rates) of interleaved rounds, by a client in C that a compiler has to be there for. The goals: a
call answered 1.5 x an empty notification round trip (a loop that answers without a look) on top of what the same call
of the library costs in process; frames at 0.25 x the rate of the same frames in process; opens of other files 1.5 x by
flags that are not looked at; start 1.5 x loading numpy and the generated schema. Measured on a busy two-core machine:
1.47 (13 us and 8 us, of which the library takes 1), 1.0 to 2.1, 1.1 to 1.4 (plain read-only opens, which are looked at:
1.4 to 3.5), 0.80.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import emu
from benchmarks.bench_startup import cpu_seconds
from emu.card.calls import CALLS, Name
from emu.card.card import Caller
from emu.card.open_file import OpenFile
from emu.card.supervisor import bpf, seccomp
from emu.card.supervisor.abi import architecture
from emu.card.supervisor.process import ProcessMemory
from emu.cli.exec_card import make_cards
from emu.cli.exec_card_options import ExecCard
from tests.card.ioctl_client import made_up
from tests.conftest import ROOT, RUNTIMES, SHARED
from tests.effort import sized

ROUNDS = sized(5, 1)
CALL_LIMIT = 1.5
CALLS_A_ROUND = sized(5000, 50)
FRAMES = sized(1500, 100)
MNIST = SHARED / "hef" / "mnist_cnn.v0.hailo8.hef"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> str:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler here")
    made = tmp_path_factory.mktemp("client") / "client"
    source = ROOT / "tests" / "card" / "client.c"
    subprocess.run([compiler, "-O2", "-pthread", "-o", str(made), str(source)], check=True)
    return str(made)


def under_card(*command: str, options: tuple[str, ...] = ()) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    arguments = [sys.executable, "-m", "emu", "exec", "--card", *options, *command]
    return subprocess.run(arguments, capture_output=True, text=True, check=True, cwd=ROOT, env=environment).stdout


def empty_round_trip(client: str) -> float:
    """Microseconds of a call that a supervisor answers without a look at it."""
    machine = architecture()
    assert machine is not None
    (number,) = [call.number for call in CALLS.values() if call.name is Name.MARK_AS_IN_USE]
    program = bpf.program(machine, [bpf.Watched(machine.ioctl, 1, (number,))])
    out, into = os.pipe()
    import select
    import socket

    ours, theirs = socket.socketpair()
    process = os.fork()
    if not process:
        os.dup2(into, 1)
        listener = seccomp.install(machine, program)
        socket.send_fds(theirs, [b"x"], [listener])
        os.close(listener)
        os.execv(client, [client, "rounds", str(CALLS_A_ROUND)])
    os.close(into)
    _, (descriptor,), _, _ = socket.recv_fds(ours, 8, 1)
    listener_here = seccomp.Listener(descriptor)
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    while not poll.poll()[0][1] & select.POLLHUP:
        notification = listener_here.receive()
        if notification is not None:
            listener_here.answer(notification.id)
    os.waitpid(process, 0)
    with open(out) as stream:  # noqa: PTH123 - a descriptor
        found = float(stream.read())
    listener_here.close()
    ours.close()
    theirs.close()
    return found


def answered_in_process() -> float:
    """Microseconds of the same call of the library, with no system call."""
    (card,) = make_cards(ExecCard())
    file = OpenFile(card, os.getpid())
    (call,) = [call for call in CALLS.values() if call.name is Name.MARK_AS_IN_USE]
    caller = Caller(os.getpid(), ProcessMemory(os.getpid()))
    argument = bytes(call.size)
    started = time.perf_counter()
    for _ in range(CALLS_A_ROUND):
        file.call(call.number, argument, caller)
    return (time.perf_counter() - started) / CALLS_A_ROUND * 1e6


def bench_calls(client: str) -> None:
    empty, answered, library = [], [], []
    for _ in range(ROUNDS):
        empty.append(empty_round_trip(client))
        answered.append(float(under_card(client, "rounds", str(CALLS_A_ROUND))))
        library.append(answered_in_process())
    ratio = (min(answered) - min(library)) / min(empty)
    print(
        f"\nempty round trip {min(empty):.1f} us, a call answered {min(answered):.1f} us, "
        f"of it the library {min(library):.1f} us: {ratio:.2f}"
    )
    assert ratio <= CALL_LIMIT


def in_process() -> float:
    """Frames a second of mnist, one after the other, on an open device."""
    program = emu.compile_hef(emu.open_hef(MNIST))
    frame = made_up(program, 0)
    with emu.open_device("hailo8", RUNTIMES[0]) as device:
        application = device.configure(MNIST)
        application.submit_raw(frame).wait()
        started = time.perf_counter()
        for _ in range(FRAMES):
            application.submit_raw(frame).wait()
        return FRAMES / (time.perf_counter() - started)


def bench_frames(client: str) -> None:
    if not Path(MNIST).exists():
        pytest.skip("the shared files are not here")
    alone, by_card = [], []
    command = [sys.executable, "-m", "tests.card.ioctl_client", str(MNIST), str(FRAMES), client]
    for _ in range(ROUNDS):
        alone.append(in_process())
        by_card.append(float(under_card(*command, options=("--compute", "off"))))
    print(
        f"\nmnist in process {max(alone):.0f} frames/s, through a client {max(by_card):.0f}: "
        f"{max(by_card) / max(alone):.2f}"
    )
    assert max(by_card) >= 0.25 * max(alone)


def bench_opens(client: str) -> None:
    bare, supervised = [], []
    for _ in range(ROUNDS):
        done = subprocess.run([client, "foreign", "20000"], capture_output=True, text=True, check=True).stdout
        bare.append([float(one) for one in done.split()])
        supervised.append([float(one) for one in under_card(client, "foreign", "20000").split()])
    names = ("O_CLOEXEC", "O_RDONLY", "O_RDWR")
    ratios = {name: min(row[at] for row in supervised) / min(row[at] for row in bare) for at, name in enumerate(names)}
    print("\nopens of other files: " + ", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items()))
    assert ratios["O_CLOEXEC"] <= 1.5
    assert ratios["O_RDWR"] <= 1.5


def bench_start() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    baseline, started = [], []
    for _ in range(ROUNDS):
        baseline.append(cpu_seconds([sys.executable, "-c", "import numpy, emu.schemas.hef_pb2"], environment))
        started.append(cpu_seconds([sys.executable, "-m", "emu", "exec", "--card", "true"], environment))
    print(f"\nstart {min(started):.3f} s, numpy and hef_pb2 {min(baseline):.3f} s: {min(started) / min(baseline):.2f}")
    assert min(started) <= 1.5 * min(baseline)
