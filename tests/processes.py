"""`python -m MODULE` in a process of its own, forked from one that has loaded what such commands load.

To start Python and load the package anew costs ten times as much; tests of starting itself do that all the same.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from tests.conftest import ROOT

_NUMBER = 64  # bytes enough for a process id or an exit code


def run_module(
    module: str,
    *arguments: object,
    cwd: Path = ROOT,
    env: Mapping[str, str] | None = None,
    stdout: IO[bytes] | None = None,
    timeout: float = 120,
) -> subprocess.CompletedProcess[bytes]:
    """What `subprocess.run([sys.executable, "-m", module, ...])` gives, with its output unless that goes to `stdout`.

    `env` is the whole environment; of what Python reads there when it starts only PYTHONIOENCODING counts.
    """
    argv = [module, *(os.fsdecode(each) if isinstance(each, bytes) else str(each) for each in arguments)]
    request = json.dumps({"argv": argv, "cwd": str(cwd), "env": dict(os.environ if env is None else env)})
    channel = _channel()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        socket.send_fds(channel, [request.encode()], [(stdout or out).fileno(), err.fileno()])
        process = int(channel.recv(_NUMBER))
        channel.settimeout(timeout)
        try:
            code = int(channel.recv(_NUMBER))
        except TimeoutError:
            os.kill(process, signal.SIGKILL)
            channel.settimeout(None)
            channel.recv(_NUMBER)
            raise subprocess.TimeoutExpired(argv, timeout) from None
        channel.settimeout(None)
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(argv, code, out.read(), err.read())


@functools.cache
def _channel() -> socket.socket:
    """To the process that forks; it ends with this one, which waits for it: what the commands cost counts here."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        number = theirs.fileno()
        forking = subprocess.Popen(
            [sys.executable, "-m", "tests.forking", str(number)],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            pass_fds=[number],
            start_new_session=True,  # Ctrl-C is for the tests
        )

    def end() -> None:
        ours.close()
        forking.wait()

    atexit.register(end)
    return ours
