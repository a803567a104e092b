"""What every rule is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from emu.trace.reader import Record
from emu.wire import semantics


class Rule:
    """One invariant. `name` is what `emu check --trace` prints, `kinds` the records it looks at (none: all), `actions`
    those it looks at of the records of actions (None: all)."""

    name = ""
    kinds: tuple[str, ...] = ()
    actions: frozenset[str] | None = None

    def __init__(self, runtime: str) -> None:
        self.runtime = runtime

    @classmethod
    def says(cls) -> str:
        """The rule in a sentence."""
        return " ".join((cls.__doc__ or "").split())

    def check(self, record: Record) -> Iterable[str]:
        """What is wrong with a record, in sentences; a generator, or nothing where that is quicker."""
        raise NotImplementedError

    def _channel(self, arguments: dict[str, Any]) -> str:
        return semantics.channel_name(arguments["packed_vdma_channel_id"], self.runtime)


def application_begins(record: Record) -> bool:
    """A new application starts from nothing: channels are closed, units off."""
    return record["kind"] == "context_begin" and record.get("context") == "activation"
