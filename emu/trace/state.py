"""What stands where at a moment of a trace: who waits for what, which units run, which channels hold what credits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from emu.wire import semantics

_MOST_SHOWN = 12


class TraceState:
    """Follows the records of a trace, one by one; constant memory (units and channels of one chip)."""

    def __init__(self, runtime: str) -> None:
        self._runtime = runtime
        self.waiting: dict[tuple[int, str], dict[str, Any]] = {}
        self.contexts: dict[int, str] = {}
        self.lcus: dict[str, str] = {}
        self.pending: dict[str, dict[str, Any]] = {}
        self.channels: dict[str, dict[str, int]] = {}
        self.stall = ""

    def follow(self, record: dict[str, Any]) -> None:
        kind = record["kind"]
        if kind == "action":
            self._action(record)
        elif kind in ("launch", "transfer"):
            arguments = record.get("arguments")
            if arguments:
                self.channels[semantics.channel_of(record.get("unit", ""))] = arguments
        elif kind == "wait":
            self.waiting[record.get("application", -1), record.get("context", "")] = record
        elif kind == "unit":
            self.pending.pop(record.get("unit", ""), None)
            if record.get("unit") in self.lcus:
                self.lcus[record["unit"]] = record.get("action", "")
        elif kind == "context_begin":
            self.contexts[record.get("application", -1)] = record.get("context", "")
        elif kind == "context_end":
            self.contexts.pop(record.get("application", -1), None)
        elif kind == "stall":
            self.stall = record.get("cause", "")

    def _action(self, record: dict[str, Any]) -> None:
        action, arguments = record.get("action", ""), record.get("arguments", {})
        self.waiting.pop((record.get("application", -1), record.get("context", "")), None)
        if action in semantics.TRIGGERS_SEQUENCER:
            self.pending[semantics.sequencer_name(arguments["cluster_index"])] = record
        elif action in semantics.ENABLES_LCU:
            self.lcus[semantics.lcu_name(arguments["packed_lcu_id"])] = "counts"
        elif action in semantics.DISABLES_LCU:
            self.lcus.pop(semantics.lcu_name(arguments["packed_lcu_id"]), None)
        elif action in semantics.CLOSES:
            self.channels.pop(semantics.channel_name(arguments["packed_vdma_channel_id"], self._runtime), None)

    def describe(self) -> Iterator[str]:
        """One line a fact, who waits first."""
        for (_, context), record in self.waiting.items():
            yield (
                f"{context} #{record.get('action_index', -1)} {record.get('action', '')} waits for "
                f"{record.get('cause', '?')}"
            )
        if not self.waiting:
            contexts = ", ".join(self.contexts.values())
            yield f"nothing waits, {contexts} runs" if contexts else "nothing waits, no context runs"
        if self.stall:
            yield self.stall
        for unit in self.pending:
            yield f"{unit} is not done"
        if self.lcus:
            yield "LCUs on: " + _shortened([f"{lcu} ({state})" for lcu, state in self.lcus.items()])
        for channel, counters in list(self.channels.items())[:_MOST_SHOWN]:
            available, processed = counters.get("available", 0), counters.get("processed", 0)
            # channels between contexts have no host side that makes descriptors available
            credit = f"{available - processed} descriptors of credit, " if available >= processed else ""
            yield f"{channel}: {credit}{processed} processed"


def _shortened(names: list[str]) -> str:
    more = len(names) - _MOST_SHOWN
    return ", ".join(names[:_MOST_SHOWN]) + (f" and {more} more" if more > 0 else "")
