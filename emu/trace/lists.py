"""Compiled action lists as something to compare: records as in a trace, without time and without waiting."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import xxhash
from msgspec import Struct

from emu.sequencer.program import ContextProgram, ContextType, NetworkGroupProgram, Program
from emu.sequencer.segments import Segments
from emu.trace.reader import Record
from emu.wire.lists import Repeated
from emu.wire.wire import wire_of


class ActionLists(Struct, frozen=True):
    """A program as a source of `diff.compare`. `with_config`: the configuration bytes too, by their hash; `without`:
    fields that are left out, as another runtime has none of that name."""

    name: str
    program: Program
    with_config: bool = False
    without: frozenset[str] = frozenset()

    @property
    def runtime(self) -> str:
        return self.program.runtime

    def lines(self) -> Iterator[bytes]:
        for record in self._records():
            yield orjson.dumps({"ns": 0, **record}) + b"\n"

    def parse(self, line: bytes, number: int) -> Record:
        record: Record = orjson.loads(line)
        return record

    def _records(self) -> Iterator[dict[str, Any]]:
        for group in self.program.network_groups:
            yield from self._group(group)
        if self.with_config:
            yield from self._config()

    def _group(self, group: NetworkGroupProgram) -> Iterator[dict[str, Any]]:
        header = wire_of(self.runtime).header.decode(group.application_header)
        fields = self._left(header._asdict())
        about = {"application": group.application_index}
        yield {
            "kind": "control",
            **about,
            "action": "CONTEXT_SWITCH_SET_NETWORK_GROUP_HEADER",
            "arguments": fields,
        }
        contexts = group.contexts or tuple(record.context for record in group.ddr_action_list)
        for context in contexts:
            name = _context_name(context)
            yield {"kind": "context_begin", **about, "context": name}
            index = 0
            for located in context.actions(self.runtime):
                items = located.entry.items if isinstance(located.entry, Repeated) else (located.entry,)
                for item in items:
                    yield {
                        "kind": "action",
                        **about,
                        "context": name,
                        "action_index": index,
                        "action": item.type.name,
                        "arguments": self._left(item.arguments()) if self.without else item.arguments(),
                    }
                    index += 1
            yield {"kind": "context_end", **about, "context": name}

    def _left(self, fields: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in fields.items() if name not in self.without}

    def _config(self) -> Iterator[dict[str, Any]]:
        """What lies behind the descriptor lists and in the continuous buffers, by its hash."""
        for number, item in enumerate(self.program.descriptor_lists):
            for program in item.programs:
                if program.segments is not None:
                    yield _contents(f"descriptor list {number}", program.segments)
        for number, buffer in enumerate(self.program.continuous_buffers):
            if buffer.segments is not None:
                yield _contents(f"continuous buffer {number}", buffer.segments)


def _contents(unit: str, segments: Segments) -> dict[str, Any]:
    digest = xxhash.xxh3_128()
    size = 0
    for segment in segments:
        digest.update(segment)
        size += len(segment)
    return {"kind": "transfer", "unit": unit, "bytes": size, "cause": f"contents {digest.hexdigest()}"}


def _context_name(context: ContextProgram) -> str:
    if context.context_type is ContextType.DYNAMIC:
        return f"dynamic_{context.index}"
    return context.context_type.name.lower()
