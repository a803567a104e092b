"""A Dask cluster as the place where the tasks of a sweep run (extra `emu[dask]`)."""

from __future__ import annotations

import importlib
import logging
import re
import socket
import struct
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from typing import Any

from emu.errors import OutputError, UsageError
from emu.sweep.pools import Results, Work, run_alone
from emu.sweep.work import Task

_CONNECT_S = 5
_GREETING_S = 3  # a scheduler greets at once
_LONGEST_GREETING = 1 << 20
_POLL_S = 2
_DESERTED_POLLS = 15  # so long may a cluster have no worker: nannies need a few seconds to start one again
_TCP = re.compile(r"(?:tcp://)?(?P<host>[^\s/\[\]:]+|\[[0-9A-Fa-f:.%\w]+\]):(?P<port>[0-9]{1,5})/?")
_OTHER = re.compile(r"(?:tls|ucx|wss?)://[^\s/]+:[0-9]{1,5}(?:/\S*)?")


def run_dask(tasks: Sequence[Task], work: Work, scheduler: str) -> Results:
    """On the Dask cluster of `scheduler`, whose workers see the same files and have emu installed.

    What a cluster that has lost all its workers leaves undone, and what it blames for their deaths, is done in local
    processes. UsageError for an address
    that is none; OutputError where no scheduler answers, or where it goes away while tasks are left.
    """
    try:
        distributed: Any = importlib.import_module("distributed")
    except ImportError:
        raise UsageError("--scheduler needs dask.distributed: install emu[dask]") from None
    left = dict(enumerate(tasks))
    with _connected(distributed, scheduler) as client:
        pending = {client.submit(work, task, pure=False): index for index, task in left.items()}
        deserted = 0
        while pending and deserted < _DESERTED_POLLS:
            try:
                with client.as_current():
                    done = distributed.wait(list(pending), timeout=_POLL_S, return_when="FIRST_COMPLETED").done
            except TimeoutError:
                _require(client, scheduler, len(left))
                deserted = 0 if client.scheduler_info()["workers"] else deserted + 1
                continue
            except (OSError, CancelledError):
                # futures of a scheduler that has gone are cancelled, those that are done among them
                done = [future for future in pending if future.status == "finished"]
                if not done:
                    _require(client, scheduler, len(left))
                    raise _gone(scheduler, len(left)) from None
            deserted = 0
            for future in done:
                index = pending.pop(future)
                try:
                    rows = future.result(timeout=_CONNECT_S)
                except distributed.KilledWorker:
                    continue  # of all that a worker has in hand when it dies: alone, the culprit shows
                except (CancelledError, TimeoutError, OSError):
                    _require(client, scheduler, len(left))
                    continue
                del left[index]
                yield index, rows
    for index, task in left.items():
        yield index, run_alone(task, work)


def _require(client: Any, scheduler: str, left: int) -> None:
    if client.status != "running":
        raise _gone(scheduler, left)


def _gone(scheduler: str, left: int) -> OutputError:
    return OutputError(f"the Dask scheduler at {scheduler:.80} has gone: {left} files are left")


@contextmanager
def _connected(distributed: Any, scheduler: str) -> Iterator[Any]:
    tcp = _TCP.fullmatch(scheduler)
    if tcp is None and not _OTHER.fullmatch(scheduler):
        raise UsageError(f"--scheduler {scheduler:.80} is no address: HOST:PORT or tcp://HOST:PORT")
    for name in ("distributed", "distributed.client"):  # what they have to say is said in one line of ours
        for handler in logging.getLogger(name).handlers:
            handler.setLevel(logging.CRITICAL + 1)
    try:
        if tcp is not None:
            _require_greeting(tcp["host"].strip("[]"), int(tcp["port"]))
        client = distributed.Client(scheduler, timeout=_CONNECT_S, set_as_default=False)
    except Exception as error:  # its transports raise many kinds
        reason = " ".join(str(error).split())[:200]
        raise OutputError(f"no Dask scheduler answers at {scheduler:.80}: {reason}") from error
    try:
        yield client
    finally:
        with suppress(Exception):  # closing talks to a scheduler that may have gone
            client.close(timeout=1)


def _require_greeting(host: str, port: int) -> None:
    """A scheduler speaks first: a frame behind its size. The client itself waits for a silent one without an end, and
    takes whatever it hears for a size. OSError or OverflowError where there is none, ValueError for something else."""
    with socket.create_connection((host, port), _GREETING_S) as connection:
        head = connection.recv(8, socket.MSG_WAITALL)
    if len(head) < 8 or not 0 < struct.unpack("<Q", head)[0] < _LONGEST_GREETING:
        raise ValueError("it is something else")
