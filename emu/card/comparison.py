"""What a client sent for an application against what is compiled for the same HEF and batch: the first difference.

Addresses are the client's own: each stands for one of the compiled program's, and what lies there has to be the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct, field

from emu.hw.application import Application, Context
from emu.hw.hostmem import HostList, HostMemory
from emu.sequencer.program import ContextProgram, DescriptorList, NetworkGroupProgram, Program
from emu.wire.actions import Action
from emu.wire.lists import Entry
from emu.wire.wire import Wire

_ADDRESS = "dma_address"


class Comparison(Struct):
    """Compares one application with one compiled group; `addresses`: the client's by the compiled ones."""

    wire: Wire
    addresses: dict[int, int] = field(default_factory=dict)

    def lists(self, application: Application, group: NetworkGroupProgram) -> str:
        """The first difference of header and action lists; empty where there is none."""
        for what in (self._header(application, group), *self._contexts(application, group)):
            if what:
                return what
        return ""

    def memory(self, client: HostMemory, program: Program) -> str:
        """The first difference of the descriptor lists behind the addresses; call `lists` before."""
        compiled = HostMemory.from_program(program).lists
        described = {one.dma_address: one for one in program.descriptor_lists}
        for address, theirs in self.addresses.items():
            ours, found = compiled.get(address), client.lists.get(theirs)
            if ours is None or found is None:
                if (ours is None) != (found is None):
                    return f"descriptor list 0x{theirs:X}: compiled {_shown(ours)}, the client has {_shown(found)}"
                continue
            shapes = [(one.count, one.page_size, one.circular) for one in (ours, found)]
            if shapes[0] != shapes[1]:
                return f"descriptor list 0x{theirs:X}: compiled {_shown(ours)}, the client has {_shown(found)}"
            if ours.extents:
                different = _programming(described[address], ours, found)
                if different:
                    return f"descriptor list 0x{theirs:X}: {different}"
        return ""

    def _header(self, application: Application, group: NetworkGroupProgram) -> str:
        if application.header_bytes == group.application_header:
            return ""
        theirs, ours = application.header, self.wire.header.decode(group.application_header)
        for name, a, b in zip(theirs._fields, ours, theirs, strict=True):
            if a != b:
                return f"application header: {name}: compiled {a}, the client sent {b}"
        return "application header: the bytes differ, the fields do not"

    def _contexts(self, application: Application, group: NetworkGroupProgram) -> Iterator[str]:
        compiled = [*group.contexts]
        if not compiled:
            compiled = [record.context for record in group.ddr_action_list]
        if len(compiled) != len(application.contexts):
            yield f"contexts: compiled {len(compiled)}, the client sent {len(application.contexts)}"
            return
        for ours, theirs in zip(compiled, application.contexts, strict=True):
            yield self._context(ours, theirs)

    def _context(self, ours: ContextProgram, theirs: Context) -> str:
        a = [located.entry for located in self.wire.decode(ours.action_list)]
        b = [located.entry for located in self.wire.decode(theirs.actions.data)]
        for number, (compiled, sent) in enumerate(zip(a, b, strict=False)):
            different = self._entry(compiled, sent)
            if different:
                return f"{theirs.name} action {number}: {different}"
        if len(a) != len(b):
            return f"{theirs.name}: compiled {len(a)} actions, the client sent {len(b)}"
        return ""

    def _entry(self, ours: Entry, theirs: Entry) -> str:
        if ours == theirs:
            self._note(ours, theirs)
            return ""
        if not isinstance(ours, Action) or not isinstance(theirs, Action) or ours.type is not theirs.type:
            return f"compiled {_named(ours)}, the client sent {_named(theirs)}"
        for name, a, b in zip(ours.NAMES, ours, theirs, strict=True):
            if a != b and not (name == _ADDRESS and self.addresses.setdefault(a, b) == b):
                return f"{_named(ours)}: {name}: compiled {a}, the client sent {b}"
        return ""

    def _note(self, ours: Entry, theirs: Entry) -> None:
        if isinstance(ours, Action) and _ADDRESS in ours.NAMES:
            address = ours[ours.NAMES.index(_ADDRESS)]
            self.addresses.setdefault(address, address)


def _named(entry: Any) -> str:
    return entry.type.name if isinstance(entry, Action) else f"REPEATED_ACTION of {len(entry.items)} {entry.of.name}"


def _shown(one: HostList | None) -> str:
    if one is None:
        return "none"
    return f"{'circular ' * one.circular}{one.count} x {one.page_size}"


def _programming(described: DescriptorList, ours: HostList, theirs: HostList) -> str:
    """The first descriptor whose bytes differ in number or in content (where the content is known)."""
    a, b = _described_sizes(described), _sizes(theirs)
    for number, (compiled, sent) in enumerate(zip(a, b, strict=True)):
        if compiled >= 0 and compiled != sent:
            return f"descriptor {number}: compiled {compiled} bytes, the client programmed {max(sent, 0)}"
    for extent in ours.extents:
        if extent.start + extent.count > ours.count:
            continue
        compiled_bytes, _ = ours.read(extent.start, extent.count)
        sent_bytes, _ = theirs.read(extent.start, extent.count)
        if compiled_bytes is not None and sent_bytes is not None and compiled_bytes != sent_bytes:
            pairs = enumerate(zip(compiled_bytes, sent_bytes, strict=False))
            at = next((at for at, (one, other) in pairs if one != other), min(len(compiled_bytes), len(sent_bytes)))
            return f"byte {at} behind descriptor {extent.start}: the content differs"
    return ""


def _sizes(one: HostList) -> Sequence[int]:
    """Bytes of each descriptor; -1 for one that was never programmed."""
    sizes = [-1] * one.count
    for extent in one.extents:
        for at in range(extent.count):
            left = extent.size - at * one.page_size
            sizes[(extent.start + at) % one.count] = max(0, min(one.page_size, left))
    return sizes


def _described_sizes(described: DescriptorList) -> Sequence[int]:
    """As `_sizes`: each transfer of a batch ends with what is left of it (`HostMemory` has whole pages there)."""
    sizes = [-1] * described.count
    page = described.page_size
    for entry in described.programs:
        each = -(-entry.size // page)
        for transfer in range(entry.transfers):
            for at in range(each):
                left = entry.size - at * page
                sizes[(entry.start + transfer * each + at) % described.count] = min(page, left)
    return sizes
