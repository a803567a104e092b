"""Rules about what has to come before something happens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from emu.trace.reader import Record
from emu.trace.rules.rule import Rule, application_begins
from emu.wire import semantics


class ConfigureBeforeData(Rule):
    """No data before configuration: a frame passes a channel only after an ACTIVATE action configured its stream, and
    a boundary channel only after it was opened."""

    name = "configure-before-data"
    kinds = ("context_begin", "action", "transfer")
    actions = semantics.ACTIVATES | semantics.OPENS

    def __init__(self, runtime: str) -> None:
        super().__init__(runtime)
        self._configured: set[str] = set()
        self._opened: set[str] = set()

    def check(self, record: Record) -> Iterable[str]:
        kind = record["kind"]
        if kind == "transfer":
            channel = semantics.channel_of(record.get("unit", ""))
            if channel not in self._configured:
                return (f"frame {record.get('frame')} passes {channel}, which no action has activated",)
            if record.get("cause", "").startswith("boundary") and channel not in self._opened:
                return (f"frame {record.get('frame')} passes {channel}, which was never opened",)
        elif kind == "action":
            if record["action"] in semantics.ACTIVATES:
                self._configured.add(self._channel(record["arguments"]))
            elif record["action"] in semantics.OPENS:
                self._opened.add(self._channel(record["arguments"]))
        elif application_begins(record):
            self._configured.clear()
            self._opened.clear()
        return ()


class CreditsBeforeInput(Rule):
    """An input moves frames only after FETCH_DATA or a batch switch granted it credits (a DDR portal: after its pair
    was added), a boundary input only after BURST_CREDITS_TASK_START."""

    name = "credits-before-input"
    kinds = ("context_begin", "action", "transfer")
    actions = frozenset(
        {
            "BURST_CREDITS_TASK_START",
            "FETCH_DATA_FROM_VDMA_CHANNEL",
            "CHANGE_BOUNDARY_INPUT_BATCH",
            "ADD_DDR_PAIR_INFO",
        }
    )

    def __init__(self, runtime: str) -> None:
        super().__init__(runtime)
        self._started = False
        self._granted: set[str] = set()

    def check(self, record: Record) -> Iterable[str]:
        kind = record["kind"]
        if kind == "transfer":
            return self._transfer(record)
        if kind == "action":
            action, arguments = record["action"], record.get("arguments", {})
            if action == "BURST_CREDITS_TASK_START":
                self._started = True
            elif action in ("FETCH_DATA_FROM_VDMA_CHANNEL", "CHANGE_BOUNDARY_INPUT_BATCH"):
                self._granted.add(self._channel(arguments))
            elif action == "ADD_DDR_PAIR_INFO":
                self._granted.add(semantics.channel_name(arguments["h2d_packed_vdma_channel_id"], self.runtime))
        elif application_begins(record):
            self._started = False
            self._granted.clear()
        return ()

    def _transfer(self, record: Record) -> Iterable[str]:
        unit, edge = record.get("unit", ""), record.get("cause", "")
        if not unit.endswith("(H2D)"):
            return ()
        # the pair of a DDR portal in continuous buffers is linked in hardware (vdma.md 3.3)
        if semantics.channel_of(unit) not in self._granted and not edge.startswith("DDR"):
            return (f"frame {record.get('frame')} enters {unit}, which no action has granted credits",)
        if edge.startswith("boundary") and not self._started:
            return (f"frame {record.get('frame')} enters {unit} before BURST_CREDITS_TASK_START",)
        return ()


class WaitHasCause(Rule):
    """Each wait that ended has its cause: the LCU it names was enabled and then done, the sequencer was triggered and
    done in this context (or started by configuration bursts), the channel moved a frame in it, the configuration that
    a module waits for was fetched."""

    name = "wait-has-cause"
    kinds = ("context_begin", "unit", "transfer", "action")
    actions = semantics.TRIGGERS_SEQUENCER | semantics.ENABLES_LCU | semantics.CONFIG_FETCHES | semantics.AWAITS

    def __init__(self, runtime: str) -> None:
        super().__init__(runtime)
        self._done: set[str] = set()
        self._triggered: set[str] = set()
        self._enabled: set[str] = set()
        self._fetched: set[str] = set()

    def check(self, record: Record) -> Iterable[str]:
        kind = record["kind"]
        if kind == "action":
            return self._action(record["action"], record.get("arguments", {}))
        if kind == "unit":
            self._done.add(record.get("unit", ""))
        elif kind == "transfer":
            self._done.add(semantics.channel_of(record.get("unit", "")))
        elif record.get("context") != "batch_switching":
            self._done.clear()
            self._triggered.clear()
            if application_begins(record):
                self._enabled.clear()
                self._fetched.clear()
        return ()

    def _action(self, action: str, arguments: dict[str, Any]) -> Iterable[str]:
        if action in semantics.AWAITS:
            unit = semantics.awaited(action, arguments, self.runtime)
            lacks = self._lacks(action, unit) if unit != "NMS" else ""
            return (f"{action} ended although {lacks}",) if lacks else ()
        if action in semantics.TRIGGERS_SEQUENCER:
            self._triggered.add(semantics.sequencer_name(arguments["cluster_index"]))
        elif action in semantics.ENABLES_LCU:
            self._enabled.add(semantics.lcu_name(arguments["packed_lcu_id"]))
        elif action in semantics.CONFIG_FETCHES:
            self._fetched.add(action)
        return ()

    def _lacks(self, action: str, unit: str) -> str:
        """What a wait for `unit` needs and did not have; empty where nothing is missing."""
        if unit == "config bus":
            return "" if self._fetched else "nothing was fetched"
        if action == "SEQUENCER_DONE_INTERRUPT" and unit not in self._triggered:
            # by bursts: started by register writes among the configuration (ccw.md)
            by_bursts = "FETCH_CCW_BURSTS" in self._fetched
            return "" if by_bursts else f"no action triggered {unit} in this context"
        if action == "LCU_INTERRUPT" and unit not in self._enabled:
            return f"no action enabled {unit}"
        return "" if unit in self._done else f"{unit} was never done in this context"


class WaitEnds(Rule):
    """An action that began to wait is the next one of its context to end, and begins to wait once."""

    name = "wait-ends"
    kinds = ("context_begin", "context_end", "action", "wait")

    def __init__(self, runtime: str) -> None:
        super().__init__(runtime)
        self._waiting: dict[str, int] = {}

    def check(self, record: Record) -> Iterable[str]:
        return self._check(record) if self._waiting or record["kind"] == "wait" else ()

    def _check(self, record: Record) -> Iterator[str]:
        context = record.get("context", "")
        if record["kind"] == "wait":
            if context in self._waiting:
                yield f"action {record.get('action_index')} begins to wait while action {self._waiting[context]} waits"
            self._waiting[context] = record.get("action_index", -1)
        elif record["kind"] == "context_begin":
            self._waiting.pop(context, None)
        elif record["kind"] == "action" and context in self._waiting:
            waiting = self._waiting.pop(context)
            if record.get("action_index") != waiting:
                yield f"action {record.get('action_index')} ends while action {waiting} waits"
        elif record["kind"] == "context_end" and context in self._waiting:
            yield f"{context} ends while its action {self._waiting.pop(context)} waits"
