"""Rules about what a list undoes, and what it has to come back to: closed, awaited, paused."""

from __future__ import annotations

from collections.abc import Iterator

from emu.trace.reader import Record
from emu.trace.rules.rule import Rule, application_begins
from emu.wire import semantics

_OUTPUT_WAITS = frozenset({"OUTPUT_CHANNEL_TRANSFER_DONE_INTERRUPT", "WAIT_FOR_DMA_IDLE_ACTION"})


class ConfigClosed(Rule):
    """A list closes every config channel that it opens."""

    name = "config-closed"
    kinds = ("context_begin", "context_end", "action")
    actions = frozenset({"ACTIVATE_CFG_CHANNEL", "DEACTIVATE_CFG_CHANNEL"})

    def __init__(self, runtime: str) -> None:
        super().__init__(runtime)
        self._open: dict[str, dict[int, int]] = {}

    def check(self, record: Record) -> Iterator[str]:
        context = record.get("context", "")
        if record["kind"] == "context_begin":
            self._open[context] = {}
        elif record["kind"] == "context_end":
            for stream in self._open.pop(context, {}):
                yield f"config stream {stream} is still open at the end of {context}"
        elif record["action"] == "ACTIVATE_CFG_CHANNEL":
            self._open.setdefault(context, {})[record["arguments"]["config_stream_index"]] = record["action_index"]
        elif record["action"] == "DEACTIVATE_CFG_CHANNEL":
            self._open.get(context, {}).pop(record["arguments"]["config_stream_index"], None)


class OutputAwaited(Rule):
    """With several contexts a boundary output that was activated is awaited before it is activated again."""

    name = "output-awaited"
    kinds = ("context_begin", "action")
    actions = _OUTPUT_WAITS | {"ACTIVATE_BOUNDARY_OUTPUT"}

    def __init__(self, runtime: str) -> None:
        super().__init__(runtime)
        self._pending: dict[str, str] = {}

    def check(self, record: Record) -> Iterator[str]:
        context = record.get("context", "")
        if record["kind"] == "context_begin":
            if application_begins(record) or context == "preliminary":  # the latter where a batch switch loads anew
                self._pending.clear()
            return
        action = record["action"]
        if action in _OUTPUT_WAITS:
            self._pending.pop(self._channel(record["arguments"]), None)
        elif action == "ACTIVATE_BOUNDARY_OUTPUT" and context.startswith("dynamic_"):
            channel = self._channel(record["arguments"])
            if channel in self._pending:
                yield f"{context} activates {channel}, which nothing awaited since {self._pending[channel]}"
            self._pending[channel] = context


class ResetBeforeOpened(Rule):
    """An activation list resets the burst-credits task, if it does, before it opens an input, which the task is told
    of (firmware-actions.md 8)."""

    name = "reset-before-opened"
    kinds = ("context_begin", "action")
    actions = frozenset({"OPEN_BOUNDARY_INPUT_CHANNEL", "BURST_CREDITS_TASK_RESET"})

    def __init__(self, runtime: str) -> None:
        super().__init__(runtime)
        self._opened = ""

    def check(self, record: Record) -> Iterator[str]:
        if record["kind"] == "context_begin":
            self._opened = ""
        elif record["action"] == "OPEN_BOUNDARY_INPUT_CHANNEL":
            self._opened = self._channel(record["arguments"])
        elif record["action"] == "BURST_CREDITS_TASK_RESET" and self._opened:
            yield f"the burst-credits task is reset after {self._opened} was opened"


class PausedBefore(Rule):
    """A dynamic context resumes a channel only after the one that resumed it before has paused it; a preliminary list
    that runs as context 0 leaves that to the context's own list."""

    name = "paused-before"
    kinds = ("context_begin", "action")
    actions = semantics.OPENS | {"RESUME_VDMA_CHANNEL", "PAUSE_VDMA_CHANNEL"}

    def __init__(self, runtime: str) -> None:
        super().__init__(runtime)
        self._running: set[str] = set()

    def check(self, record: Record) -> Iterator[str]:
        if record["kind"] == "context_begin":
            if application_begins(record) or record.get("context") == "preliminary":
                self._running.clear()
            return
        action = record["action"]
        if action == "RESUME_VDMA_CHANNEL" and record.get("context", "").startswith("dynamic_"):
            channel = self._channel(record["arguments"])
            if channel in self._running:
                yield f"{record.get('context')} resumes {channel}, which was not paused"
            self._running.add(channel)
        elif action == "PAUSE_VDMA_CHANNEL" or action in semantics.OPENS:
            self._running.discard(self._channel(record["arguments"]))
