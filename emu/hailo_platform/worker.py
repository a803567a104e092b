"""A thread that does one thing after another, for what must not hold up the device: results and callbacks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue


class Worker:
    """Runs what is put, in order. Its thread starts with the first thing and never holds up the end of the program."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._queue: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def put(self, task: Callable[[], None]) -> None:
        """`task` must tell whoever waits for it of its errors: what it raises goes to `threading.excepthook`."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
        self._queue.put(task)

    @property
    def is_current(self) -> bool:
        """Whether it is this thread that asks: it cannot wait for itself."""
        return threading.current_thread() is self._thread

    def stop(self) -> None:
        """End behind what was put before."""
        self._queue.put(None)

    def join(self, seconds: float) -> None:
        """Wait so long for the end that `stop` asked for."""
        if self._thread is not None and not self.is_current:
            self._thread.join(seconds)

    def _run(self) -> None:
        while (task := self._queue.get()) is not None:
            try:
                task()
            except Exception as error:
                hook_arguments = (type(error), error, error.__traceback__, threading.current_thread())
                threading.excepthook(threading.ExceptHookArgs(hook_arguments))
