"""The process that `tests.processes` starts: it loads what commands load, and forks for each that is asked for.

`python -m tests.forking SOCKET`. A request comes with the files that are to be stdout and stderr; it is answered with
the number of the process, and with its exit code when it has ended.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import runpy
import socket
import sys
import traceback
from typing import NoReturn

_LOADED = ("pytest", "emu.cli.main", "emu.cli.run_hef", "emu.cli.check", "emu.cli.estimate", "emu.regression.run")
_LONGEST = 1 << 17  # bytes of a request: arguments and environment


def serve(channel: socket.socket) -> None:
    """Fork for each request, until there will be no more."""
    while (request := socket.recv_fds(channel, _LONGEST, 2))[0]:
        if not (process := os.fork()):
            channel.close()
            for number, file in enumerate(request[1], 1):
                os.dup2(file, number)
                os.close(file)
            become(**json.loads(request[0]))
        for file in request[1]:
            os.close(file)
        channel.send(b"%d" % process)
        channel.send(b"%d" % os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))


def become(argv: list[str], cwd: str, env: dict[str, str]) -> NoReturn:
    """Run `python -m` of the first argument, and end as it does."""
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    if given := env.get("PYTHONIOENCODING"):
        encoding, _, errors = given.partition(":")
        sys.stdout.reconfigure(encoding=encoding or None, errors=errors or None)
        sys.stderr.reconfigure(encoding=encoding or None, errors="backslashreplace")  # as Python has it
    sys.argv[:] = argv
    sys.path[0] = cwd
    code = 1
    try:
        runpy.run_module(argv[0], run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as stop:
        code = int(stop.code or 0)
    except BaseException:
        traceback.print_exc()
    # as children of multiprocessing end: to take all apart would copy every page that is shared
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    for name in _LOADED:
        importlib.import_module(name)
    gc.freeze()  # the collector of a child would look at all of it, and copy it for that
    serve(socket.socket(fileno=int(sys.argv[1])))
