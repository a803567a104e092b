"""The supervisor with clients of our own, in Python and in plain C: opens, threads, forks, kills."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import threading
from errno import EBADF, ECANCELED, EFAULT, EINVAL, ENOMEM, ENOTTY
from pathlib import Path

import pytest
from click.testing import CliRunner

import emu
from emu.card.conversation import Conversation
from emu.card.supervisor.bpf import KEPT_NUMBERS
from emu.card.supervisor.nodes import Nodes
from emu.card.supervisor.process import Processes
from emu.card.supervisor.seccomp import Listener
from emu.cli.exec_card import make_cards
from emu.cli.exec_card_options import ExecCard
from emu.cli.main import cli
from tests.card.conftest import Run
from tests.card.ioctl_client import made_up
from tests.conftest import ROOT, RUNTIMES

EXAMPLE = ROOT / "examples" / "two_context.hef"


def outputs_of(text: str) -> list[str]:
    return text.splitlines()


def expected_outputs(path: Path, count: int) -> list[str]:
    program = emu.compile_hef(emu.open_hef(path))
    frames = [made_up(program, number) for number in range(count)]
    with emu.open_device(program.device, RUNTIMES[0]) as device:
        application = device.configure(path)
        outputs = application.submit_raw({name: [row[name] for row in frames] for name in frames[0]}).wait()
    return [
        " ".join(f"{name}={hashlib.sha256(outputs[name][at]).hexdigest()}" for name in sorted(outputs))
        for at in range(count)
    ]


def test_a_client_in_python_runs_frames(supervised: Run) -> None:
    """The bytes in its buffers are those of a device that is opened without a driver."""
    command = [sys.executable, "-m", "tests.card.ioctl_client", str(EXAMPLE), "3"]
    done = supervised(command, "--compute", "off", "--check-compile")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == expected_outputs(EXAMPLE, 3)
    assert done.stderr == "emu: two_context: sent as it is compiled\n"


def test_a_reader_of_the_trace_that_leaves_ends_the_trace_alone(supervised: Run, tmp_path: Path) -> None:
    """The device goes on: a client that waits for it would wait for ever."""
    os.mkfifo(tmp_path / "fifo")

    def read() -> None:
        with (tmp_path / "fifo").open("rb") as fifo:
            fifo.readline()

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    command = [sys.executable, "-m", "tests.card.ioctl_client", str(EXAMPLE), "60"]
    done = supervised(command, "--compute", "off", "--trace", str(tmp_path / "fifo"))
    assert (done.returncode, done.stderr) == (0, "") and len(done.stdout.splitlines()) == 60
    reader.join()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_trace_that_finds_no_room_is_an_error_at_the_end(supervised: Run) -> None:
    command = [sys.executable, "-m", "tests.card.ioctl_client", str(EXAMPLE), "60"]
    done = supervised(command, "--compute", "off", "--trace", "/dev/full")
    assert done.returncode == 7 and len(done.stdout.splitlines()) == 60
    assert done.stderr == (
        "emu: error: HAILO_FILE_OPERATION_FAILURE(14): cannot write /dev/full: no space left on device\n"
    )


def test_a_hef_is_seen_by_a_path_from_the_client_s_folder(supervised: Run, tmp_path: Path) -> None:
    shutil.copy(EXAMPLE, tmp_path / "model.hef")
    command = [sys.executable, "-m", "tests.card.ioctl_client", "model.hef", "1"]
    done = supervised(command, "--check-compile", cwd=tmp_path)
    assert done.stderr == "emu: two_context: sent as it is compiled\n"


def test_a_program_without_a_network_has_nothing_to_compare(supervised: Run, c_client: str) -> None:
    """Whether it opened the card or not, it is told in the same words."""
    for command in ([sys.executable, "-c", "pass"], [c_client, "identify"]):
        done = supervised(command, "--check-compile")
        assert done.returncode == 6
        assert done.stderr.endswith(
            "emu: --check-compile: the program configured no network on the card, so there is nothing to compare\n"
        )


@pytest.mark.parametrize("cards", [1, 3])
def test_what_a_scan_finds(supervised: Run, c_client: str, cards: int) -> None:
    done = supervised([c_client, "identify"], "--cards", str(cards))
    assert done.returncode == 0, done.stderr
    devices = sorted(line for line in done.stdout.splitlines() if line.startswith("device"))
    assert devices == [f"device hailo{number}" for number in range(cards)]
    assert done.stdout.splitlines()[cards:] == [
        "hailo0/board_location 0000:01:00.0 12",
        "hailo0/accelerator_type 0 1",
        "hailo0/nothing No such file or directory -1",
        "info 0 4.23.0",
        "properties 0 4096",
        "control 0 190 bytes",
    ]


def test_the_version_is_the_one_that_was_asked_for(supervised: Run, c_client: str) -> None:
    done = supervised([c_client, "identify"], "--runtime", "4.22")
    assert "info 0 4.22.0" in done.stdout


def test_threads_wait_until_somebody_ends_it(supervised: Run, c_client: str) -> None:
    done = supervised([c_client, "threads"])
    assert done.stdout.splitlines() == ["enable 0", f"again {EINVAL}", "wait 0", f"notification {ECANCELED}"]


def test_a_forked_child_has_the_parent_s_open_file(supervised: Run, c_client: str) -> None:
    done = supervised([c_client, "fork"])
    assert done.stdout.splitlines() == [
        "mark 0 0",
        "child 0 0",
        "child second 0 1",
        f"child notification {EFAULT}",
        "parent 0 0",
    ]


def test_a_killed_client_gives_the_card_back(supervised: Run, c_client: str, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    script = (
        f"{c_client} hold {ready} & while [ ! -e {ready} ]; do sleep 0.05; done; {c_client} claim; "
        f"kill -9 $!; wait $! 2>/dev/null; {c_client} claim"
    )
    done = supervised(["sh", "-c", script])
    assert done.stdout.splitlines() == ["claim 0 1", "claim 0 0"], done.stderr


def test_killed_at_any_point(supervised: Run, c_client: str, tmp_path: Path) -> None:
    """While it configures, or runs frames: whoever comes next finds a free card."""
    client = f"{sys.executable} -m tests.card.ioctl_client {EXAMPLE} 100000 {c_client}"
    script = "".join(
        f"{client} >/dev/null 2>&1 & sleep {wait}; kill -9 $!; wait $! 2>/dev/null; {c_client} claim; "
        for wait in (0.3, 0.6, 1.2, 2)
    )
    done = supervised(["sh", "-c", script], "--compute", "off")
    assert done.stdout.splitlines() == ["claim 0 0"] * 4, done.stderr
    assert done.returncode == 0
    assert "internal" not in done.stderr


def test_what_else_watches(supervised: Run, tmp_path: Path) -> None:
    """Trace, coverage, a breakpoint, a fault: as for a run."""
    script, trace, coverage = tmp_path / "script", tmp_path / "trace.jsonl", tmp_path / "coverage.json"
    script.write_text("where\nc\nquit\n")
    command = [sys.executable, "-m", "tests.card.ioctl_client", str(EXAMPLE), "2"]
    options = ["--compute", "off", "--trace", str(trace), "--coverage-file", str(coverage)]
    options += ["--break", "dynamic_1:2", "--break-script", str(script), "--inject", "drop-interrupt:16#9"]
    done = supervised(command, *options)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == expected_outputs(EXAMPLE, 2)
    assert "before dynamic_1:2" in done.stderr or "dynamic_1" in done.stderr
    assert "emu: warning: --inject drop-interrupt:16#9 never struck" in done.stderr
    assert coverage.exists()
    checked = CliRunner().invoke(cli, ["diff", str(trace), str(trace)])
    assert checked.exit_code == 0, checked.output


def test_at_a_real_pace(supervised: Run, c_client: str) -> None:
    command = [sys.executable, "-m", "tests.card.ioctl_client", str(EXAMPLE), "3"]
    done = supervised(command, "--compute", "off", "--pace", "real")
    assert done.stdout.splitlines() == expected_outputs(EXAMPLE, 3)


def test_where_the_system_does_not_allow_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line that says what is missing."""
    from emu.card.supervisor import seccomp, start

    def error() -> str:
        return str(CliRunner().invoke(cli, ["exec", "--card", "true"]).exception)

    monkeypatch.setattr(seccomp, "unavailable", lambda machine: "Operation not permitted")
    assert "no seccomp user notification (seccomp(2): Operation not permitted)" in error()
    monkeypatch.setattr(start, "architecture", lambda: None)
    assert "x86-64 or aarch64" in error()


def test_what_a_program_leaves_behind_is_served(supervised: Run, c_client: str, tmp_path: Path) -> None:
    """A daemon outlives the program that started it, and the program's exit code is given back."""
    out = tmp_path / "out"
    done = supervised(["sh", "-c", f"(sleep 0.3; {c_client} claim > {out}) & exit 5"])
    assert done.returncode == 5
    assert out.read_text() == "claim 0 0\n"


def test_many_opens(supervised: Run, c_client: str) -> None:
    done = supervised([c_client, "opens", "2000"])
    assert done.stdout == "failed 0\n", done.stderr


def test_bad_arguments_have_the_driver_s_errno(supervised: Run, c_client: str) -> None:
    done = supervised([c_client, "bad"])
    assert done.stdout.splitlines() == [
        f"null {ENOMEM} {ENOMEM} {ENOMEM} {EFAULT} {ENOMEM} {EFAULT} {EFAULT}",
        f"map {EFAULT} {EINVAL} {EINVAL}",
        f"unmap {EINVAL}",
        f"launch {EFAULT}",
        f"foreign {ENOTTY}",
        f"unknown {ENOTTY}",
    ]


def test_a_number_means_what_it_means_now(supervised: Run, c_client: str) -> None:
    """Closed, replaced, or lost by exec, while another descriptor of the same open is left."""
    done = supervised([c_client, "descriptors"])
    assert done.stdout.splitlines() == [
        "first 0 0",
        f"closed {EBADF} 0",
        f"replaced {ENOTTY} 0",
        f"replaced {ENOTTY} 0",
        f"closed {EBADF} 0",
        f"map 0 {EINVAL} 0",
        f"claim {EBADF} 9",
        f"claim {EBADF} 9",
    ], done.stderr


def test_a_program_of_few_descriptors(supervised: Run, c_client: str) -> None:
    """None of the numbers that are kept for nodes is within its limit: it has the lowest free one, as ever."""
    done = supervised(["sh", "-c", f"ulimit -n 32; {c_client} descriptors"])
    assert done.stdout.splitlines()[:2] == ["first 0 0", f"closed {EBADF} 0"], done.stderr
    assert done.stdout.splitlines()[-1] == f"claim {EBADF} 9"


COUNTS = """
import sys
from emu.card.supervisor.process import Thread
from emu.cli.main import cli
looked_up, look_up = [], Thread.inode
Thread.inode = lambda self, descriptor: looked_up.append(descriptor) or look_up(self, descriptor)
try:
    cli(["exec", "--card", *sys.argv[1:]])
finally:
    print(len(looked_up), file=sys.stderr)
"""


def test_calls_need_no_look_at_the_descriptor(supervised: Run, c_client: str) -> None:
    """Unless it is one that the program made itself."""
    command = [sys.executable, "-c", COUNTS, c_client]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for what, least, most in (("rounds", 0, 0), ("fork", 1, 10)):
        done = subprocess.run([*command, what, "50"], capture_output=True, text=True, cwd=ROOT, env=environment)
        assert done.returncode == 0, done.stderr
        assert least <= int(done.stderr) <= most


class OwnListener(Listener):
    """Gives descriptors to this process itself."""

    def add(self, id: int, descriptor: int, close_on_exec: bool, number: int | None = None) -> int | None:
        return os.dup(descriptor) if number is None else os.dup2(descriptor, number)


def test_numbers_are_known_as_long_as_their_file_is_open(supervised: Run) -> None:
    """Taken ones are left alone, and behind the last of them the process has whatever the system gives it."""
    os.closerange(KEPT_NUMBERS[0], KEPT_NUMBERS[-1] + 1)  # of whatever this process did before
    processes = Processes()
    listener = OwnListener(os.open(os.devnull, os.O_RDONLY))
    taken = os.dup2(listener.descriptor, KEPT_NUMBERS[1])
    conversation = Conversation(make_cards(ExecCard()))
    with Nodes(conversation, processes.forget_file) as nodes:
        thread = processes.thread(os.getpid())
        opened = [nodes.open("/dev/hailo0", os.O_RDWR, thread, listener, 0) for _ in range(len(KEPT_NUMBERS) + 1)]
        assert opened[:3] == [KEPT_NUMBERS[0], *KEPT_NUMBERS[2:4]]
        assert all(number not in KEPT_NUMBERS for number in opened[-2:])
        assert list(thread.known) == opened[:-2]
        assert len(conversation.cards[0].files) == len(opened)
        for number in opened:
            assert number is not None
            os.close(number)
        assert nodes.reap()
        assert not thread.known
        assert not conversation.cards[0].files
    os.close(taken)
    processes.forget()
    listener.close()


def test_low_memory_buffers_are_mapped_by_their_handle(supervised: Run, c_client: str) -> None:
    done = supervised([c_client, "low-memory"])
    assert done.stdout.splitlines() == ["alloc 0 0", "bytes 1 2"]


def test_exit_codes(supervised: Run) -> None:
    assert supervised(["sh", "-c", "exit 3"]).returncode == 3
    assert supervised(["sh", "-c", "kill -9 $$"]).returncode == 128 + 9
    assert supervised(["./there/is/none"]).returncode == 127


def test_as_an_ordinary_user(supervised: Run, c_client: str) -> None:
    if os.getuid() or not shutil.which("setpriv"):
        pytest.skip("only root can become somebody else")
    needed = [Path(sys.prefix), ROOT]
    if not all(one.stat().st_mode & 0o005 == 0o005 for place in needed for one in (place, *place.parents)):
        pytest.skip("the environment or the project lies where only its owner may read")
    # the supervisor itself is started as nobody, without a capability
    from tests.card.conftest import SECONDS

    drop = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all"]
    command = [*drop, sys.executable, "-m", "emu", "exec", "--card", "sh", "-c", "id -u; head -c 12 "]
    command[-1] += "/sys/class/hailo_chardev/hailo0/board_location"
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=SECONDS, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert done.stdout == "65534\n0000:01:00.0", done.stderr


def test_one_supervisor_does_not_run_in_another(supervised: Run) -> None:
    done = supervised([sys.executable, "-m", "emu", "exec", "--card", "true"])
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
    assert "already" in done.stderr


ASKS = """
import mmap, sys
from emu.card.calls import Name
from tests.card.ioctl_client import Ioctls
from tests.card.runtime import DriverError
held = open(sys.argv[1], "rb")
mapped = mmap.mmap(held.fileno(), 0, prot=mmap.PROT_READ)
calls = Ioctls()
try:
    print(*calls.call(Name.QUERY_DRIVER_INFO, 0, 0, 0)[1])
except DriverError as error:
    sys.exit(str(error))
reply = calls.call(Name.FW_CONTROL, b"", 20, bytes.fromhex("00000002" + "00" * 16), 1000, 0)[1][2]
print(*(int.from_bytes(reply[at : at + 4], "little") for at in (40, 44)))
"""


@pytest.mark.parametrize(
    ("library", "answer"),
    [
        ("4.20.1", "4 20 1"),
        ("4.21.0", "4 21 0"),
        ("4.22.0", "4 22 0"),
        ("4.23.0", "4 23 0"),
        ("4.19.0", ""),
        ("5.1.0", ""),
    ],
)
def test_the_version_is_that_of_the_client_s_library(
    supervised: Run, tmp_path: Path, library: str, answer: str
) -> None:
    """Told by its memory map; driver and firmware say the same; what is not served costs one line."""
    file = tmp_path / f"libhailort.so.{library}"
    file.write_bytes(bytes(4096))
    done = supervised([sys.executable, "-c", ASKS, str(file)])
    if answer:
        assert done.stdout.splitlines()[0] == answer
        assert done.stdout.splitlines()[1] == " ".join(answer.split()[:2])
        assert done.stderr == ""
    else:
        assert done.returncode == 1
        assert f"emu: warning: HailoRT {library} is not served by --card" in done.stderr
