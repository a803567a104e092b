"""Rules about the order of records, contexts and actions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from emu.trace.reader import Record
from emu.trace.rules.rule import Rule


class TimeOrder(Rule):
    """Simulated time never goes back from one record to the next, and no action takes negative time."""

    name = "time-order"

    def __init__(self, runtime: str) -> None:
        super().__init__(runtime)
        self._last = 0

    def check(self, record: Record) -> Iterable[str]:
        now, before = record["ns"], self._last
        self._last = now
        if now >= before and record.get("duration", 0) >= 0:
            return ()
        return self._wrong(now, before, record.get("duration", 0))

    def _wrong(self, now: int, before: int, duration: int) -> Iterator[str]:
        if now < before:
            yield f"{now} ns comes behind {before} ns"
        if duration < 0:
            yield f"a duration of {duration} ns"


class ContextOrder(Rule):
    """Contexts run in legal order: activation, preliminary, then the dynamic contexts in turn for each batch; batch
    switching only while an application runs; a context ends before the next begins, unless the batch size changes."""

    name = "context-order"
    kinds = ("context_begin", "context_end", "action")

    def __init__(self, runtime: str) -> None:
        super().__init__(runtime)
        self._open: list[str] = []
        self._last = ""
        self._count: int | None = None

    def check(self, record: Record) -> Iterable[str]:
        kind, context = record["kind"], record.get("context", "")
        if kind == "action" and self._open and self._open[-1] == context:
            return ()
        return self._check(kind, context)

    def _check(self, kind: str, context: str) -> Iterator[str]:
        if kind == "context_begin":
            yield from self._begins(context)
        elif kind == "context_end":
            if not self._open or self._open[-1] != context:
                yield f"{context} ends, but {self._open[-1] if self._open else 'none'} is open"
            else:
                self._open.pop()
        else:
            yield f"an action of {context} while {self._open[-1] if self._open else 'none'} is open"

    def _begins(self, context: str) -> Iterator[str]:
        if context == "activation":
            self._open, self._last, self._count = [context], context, None
            return
        if context == "preliminary":
            if self._last not in ("activation", "batch_switching") and not self._last.startswith("dynamic_"):
                yield f"preliminary begins after {self._last or 'nothing'}"
            self._open, self._last = [context], context
            return
        if context == "batch_switching":
            if not self._last.startswith(("dynamic_", "preliminary")):
                yield f"batch_switching begins after {self._last or 'nothing'}"
            self._open.append(context)
            return
        if self._open:
            yield f"{context} begins while {self._open[-1]} is open"
        yield from self._dynamic(context)
        self._open, self._last = [context], context

    def _dynamic(self, context: str) -> Iterator[str]:
        index = int(context.removeprefix("dynamic_"))
        if self._last.startswith("dynamic_"):
            before = int(self._last.removeprefix("dynamic_"))
            if index == 0:
                if self._count is not None and before + 1 != self._count:
                    yield f"dynamic_0 begins after dynamic_{before}, of {self._count} contexts"
                self._count = before + 1
            elif index != before + 1:
                yield f"{context} begins after {self._last}"
            elif self._count is not None and index >= self._count:
                yield f"{context} begins, but there were {self._count} dynamic contexts"
        elif self._last != "preliminary":
            yield f"{context} begins after {self._last or 'nothing'}"


class ActionOrder(Rule):
    """A run of a context executes its actions one after another from the first, none left out and none twice; the
    first run of a dynamic context after the preliminary may leave out what that did for it."""

    name = "action-order"
    kinds = ("context_begin", "action")

    def __init__(self, runtime: str) -> None:
        super().__init__(runtime)
        self._last: dict[str, int] = {}
        self._ran: set[str] = set()  # since the preliminary
        self._partial: set[str] = set()  # contexts whose present run leaves something out
        self._begun = self._before = ""  # the context that began last, and the one before it

    def check(self, record: Record) -> Iterable[str]:
        context = record.get("context", "")
        if record["kind"] == "context_begin":
            if self._last.get(context, -1) >= 0:
                self._ran.add(context)
            if context == "preliminary":
                self._ran.clear()
            self._last[context] = -1
            self._partial.discard(context)
            self._before, self._begun = self._begun, context
            return ()
        index = record.get("action_index", -1)
        before = self._last.get(context, index - 1)  # the trace of a resumed run begins anywhere
        self._last[context] = index
        if before == -1 and context not in self._ran and context.startswith("dynamic_") and self._leaves_out(index):
            self._partial.add(context)
        if index == before + 1 or (index > before and context in self._partial):
            return ()
        return (f"action {index} runs after " + (f"action {before}" if before >= 0 else f"{context} began"),)

    def _leaves_out(self, index: int) -> bool:
        """Right behind the preliminary dynamic_0 lacks what was granted to it already; another context begins with
        what activates its successor."""
        return index > 0 or (self._before, self._begun) == ("preliminary", "dynamic_0")


class NoStall(Rule):
    """The device never stalls: something can always progress until the host has what it asked for."""

    name = "no-stall"
    kinds = ("stall",)

    def check(self, record: Record) -> Iterator[str]:
        if record["kind"] == "stall":
            yield str(record.get("cause", "the device stalled"))
