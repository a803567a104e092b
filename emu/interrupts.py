"""SIGINT and SIGTERM: the command ends at once with 130 or 143, whatever it was doing, and leaves nothing half done.

Knows no other module: it is in force before anything else is imported.
"""

from __future__ import annotations

import os
import signal
import sys
from _thread import get_ident
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import FrameType, ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

ENDED_BY_SIGNAL = 128
_GRACE = 0.5
"""Seconds to unwind in: a handler that swallows the exception, or a clean-up that hangs, is not waited for."""

_LOADED_IN_ONE_GO = frozenset({"orjson"})
"""Modules whose native part falls over an exception that is raised while it imports others."""

_last_acts: list[Callable[[], object]] = []
_came: int | None = None  # the signal that ends the command
_waiting: list[int] | None = None
"""Signals that wait for such a module to be loaded; None: they do not have to."""


class EndedBySignal(KeyboardInterrupt):
    """Unwinds the command, as ^C unwinds any program; `args[0]` is the signal."""

    @property
    def exit_code(self) -> int:
        return ENDED_BY_SIGNAL + int(self.args[0])


def install() -> None:
    """From now on both signals raise EndedBySignal in the main thread; one that is ignored (nohup) stays so."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupted)
    sys.unraisablehook = _unraisable
    sys.excepthook = _uncaught
    sys.meta_path.insert(0, _InOneGo(get_ident()))


def at_forced_end(act: Callable[[], object]) -> None:
    """Call it, too, where the process ends without unwinding; it must be quick."""
    if act not in _last_acts:
        _last_acts.append(act)


def leave_to_default() -> None:
    """For a worker process: the one that started it ends it; ^C of a terminal reaches both."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def ended() -> None:
    """The command is over and its exit code is known: a signal from now on ends the process without a word."""
    signal.setitimer(signal.ITIMER_REAL, 0)
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is _interrupted:
            signal.signal(number, _forced)


def forgotten() -> int | None:
    """The exit code of the signal that came, though nobody may have seen its exception: libraries drop some."""
    return None if _came is None else ENDED_BY_SIGNAL + _came


def _interrupted(number: int, frame: FrameType | None) -> None:
    global _came
    _came = number
    # the second signal, of an impatient person or of the timer, does not wait
    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):
        signal.signal(one, lambda *_: _forced(number, None))
    signal.setitimer(signal.ITIMER_REAL, _GRACE)
    if _waiting is not None:
        _waiting.append(number)
        return
    raise EndedBySignal(number)


class _InOneGo:
    """Finds the modules that are loaded in one go: the first signal waits until they are."""

    def __init__(self, main_thread: int) -> None:
        self._main_thread = main_thread

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in _LOADED_IN_ONE_GO or get_ident() != self._main_thread:
            return None  # signals are raised in the main thread alone
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None:
                spec.loader = _Loader(spec.loader)  # type: ignore[assignment]  # all that is asked of one
                return spec
        return None


class _Loader:
    """Another loader, of which a module is loaded in one go."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        created: ModuleType | None = self._loader.create_module(spec)
        return created

    def exec_module(self, module: ModuleType) -> None:
        global _waiting
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        waited = _waiting = []
        try:
            self._loader.exec_module(module)
        finally:
            _waiting = None
            if waited:
                raise EndedBySignal(waited[0])


def _unraisable(unraisable: sys.UnraisableHookArgs) -> None:
    # raised in a destructor or a weak reference's callback, the exception would be printed and forgotten
    if isinstance(unraisable.exc_value, EndedBySignal):
        _forced(unraisable.exc_value.args[0], None)
    sys.__unraisablehook__(unraisable)


def _uncaught(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    # it came while the end of the command was being dealt with
    if isinstance(error, EndedBySignal):
        _forced(error.args[0], None)
    sys.__excepthook__(kind, error, traceback)


def _forced(number: int, frame: FrameType | None) -> None:
    for act in _last_acts:
        with suppress(Exception):
            act()
    with suppress(Exception):
        sys.stdout.flush()
    os._exit(ENDED_BY_SIGNAL + number)
