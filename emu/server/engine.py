"""The thread that the simulated devices belong to: calls come in by a queue, frames end in callbacks from it.

Each VDevice has a simulated device of its own, so no client's models, errors or simulated time reach another's; the
thread lets those that have frames run in turns, a frame each.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from queue import SimpleQueue
from typing import ParamSpec, TypeVar

from emu.errors import HailoError, HailoStatus
from emu.host.application import Application
from emu.host.device import OpenDevice
from emu.host.jobs import Frames

P = ParamSpec("P")
R = TypeVar("R")


class Engine:
    """Start it, `call` what touches devices, `stop` it. `submit` is for functions that run inside `call`."""

    def __init__(self) -> None:
        self._tasks: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._busy: dict[OpenDevice, deque[Frames]] = {}  # the device whose turn it is first
        self._stopping = False
        # a daemon: a long stretch of simulation must not keep a stopped server alive
        self._thread = threading.Thread(target=self._run, name="emu-device", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, seconds: float) -> bool:
        """Let nothing more begin; whether the thread has ended within the time."""
        self._stopping = True
        self._tasks.put(None)
        self._thread.join(seconds)
        return not self._thread.is_alive()

    async def call(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """What the function gives or raises, run on the thread of the devices."""
        future: Future[R] = Future()

        def task() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(function(*args, **kwargs))
            except BaseException as error:
                future.set_exception(error)

        self._tasks.put(task)
        return await asyncio.wrap_future(future)

    def post(self, function: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
        """As `call`, without waiting; the function raises nothing."""
        self._tasks.put(lambda: function(*args, **kwargs))

    def submit(
        self, device: OpenDevice, application: Application, row: Mapping[str, bytes], ended: Callable[[Frames], None]
    ) -> None:
        """Give an application one frame; `ended` gets it on this thread, with its outputs or its error."""
        frames = application.submit_frames(1, lambda stream, _: row[stream], keep=True)
        frames.callbacks.append(lambda: ended(frames))
        self._busy.setdefault(device, deque()).append(frames)

    def _run(self) -> None:
        while not self._stopping:
            if self._busy and self._tasks.empty():
                self._advance()
            else:
                task = self._tasks.get()
                if task is not None:
                    task()

    def _advance(self) -> None:
        """Let the device whose turn it is run until its next frame has ended, or somebody calls."""
        device, queue = next(iter(self._busy.items()))
        frames = queue[0]
        try:
            device.run_until(lambda: frames.done or self._stopping or not self._tasks.empty())
        except Exception as error:  # of ours: these frames fail, the thread goes on for everybody else
            frames.error = HailoError(HailoStatus.HAILO_INTERNAL_FAILURE, f"{type(error).__name__}: {error}")
            frames.end()
        if frames.done:
            queue.popleft()
            del self._busy[device]
            if queue:
                self._busy[device] = queue  # behind the others
