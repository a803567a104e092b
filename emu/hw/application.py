"""Stored applications: headers and context lists as they arrive in control messages, ready to execute."""

from __future__ import annotations

from collections import Counter, namedtuple
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from emu.errors import HailoError
from emu.hw.status import FirmwareStatus as S
from emu.hw.status import FirmwareStopError
from emu.hw.timing import GRANTS
from emu.sequencer.actions import FIELD_NAMES, REPEATABLE, TIMESTAMP_INIT, ActionType, Repeated, decode
from emu.sequencer.control import ApplicationHeader
from emu.sequencer.program import ContextType

# the order in which contexts arrive and their index inside the firmware (firmware-actions.md 4)
CONTEXT_ORDER = (ContextType.ACTIVATION, ContextType.BATCH_SWITCHING, ContextType.PRELIMINARY)
FIRST_DYNAMIC = len(CONTEXT_ORDER)
MAX_CONTEXTS = 1024

# the fetch action that a config style does not know (silicon-facts.md d: seen for bursts on 8L, bare or repeated)
FOREIGN_FETCH = {
    "descriptors": ActionType.FETCH_CCW_BURSTS,
    "bursts": ActionType.FETCH_CFG_CHANNEL_DESCRIPTORS,
}

# arguments of an action by name; one class an action, so that handlers read like the documentation
ARGUMENTS: dict[ActionType, Any] = {kind: namedtuple(kind.name, names) for kind, names in FIELD_NAMES.items()}


class Step(NamedTuple):
    """One action or sub-action to execute, numbered from 0 in its context.

    `entry` is the list entry it belongs to, `sub` its place in a REPEATED.
    """

    number: int
    type: ActionType
    arguments: Any
    entry: int
    sub: int


@dataclass(slots=True)
class Entry:
    """One entry of the byte list: where its header is, and when it was executed (firmware-actions.md 2)."""

    offset: int
    timestamp: int = TIMESTAMP_INIT
    last_executed: int = 0
    repeated: bool = False


@dataclass(slots=True)
class Context:
    """One stored context: its bytes, its steps, and what was measured."""

    type: ContextType
    index: int
    action_list: bytes
    steps: list[Step] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    bursts: Counter[int] = field(default_factory=Counter)
    last_grant: int = -1
    runs: int = 0
    simulated_ns: int = 0
    config_bytes: int = 0
    data_bytes: int = 0

    @property
    def name(self) -> str:
        if self.type is ContextType.DYNAMIC:
            return f"dynamic_{self.index}"
        return self.type.name.lower()

    def parse(self, runtime: str, config_style: str) -> None:
        """Decode the list into steps; FirmwareStopError as the firmware answers (silicon-facts.md d)."""
        if not self.action_list:
            raise FirmwareStopError(
                S.CONTEXT_SWITCH_TASK_STATUS_CONTEXT_HEADER_INDICATES_THERE_IS_NO_CONTEXT_NETWORK_INFO,
                f"{self.name} has no actions",
            )
        self.entries = []
        steps = self.steps = []
        new = tuple.__new__  # lists are long: past the namedtuples' own __new__
        try:
            for located in decode(self.action_list, runtime):
                entry = len(self.entries)
                if isinstance(located.entry, Repeated):
                    if located.entry.of not in REPEATABLE and located.entry.of is not ActionType.FETCH_CCW_BURSTS:
                        raise FirmwareStopError(
                            S.CONTEXT_SWITCH_STATUS_REPEATED_ACTION_INVALID_SUBACTION_TYPE,
                            f"{located.entry.of.name} cannot be repeated",
                        )
                    if not located.entry.items:
                        raise FirmwareStopError(
                            S.CONTEXT_SWITCH_STATUS_REPEATED_ACTION_INVALID_ACTION_COUNT,
                            f"REPEATED_ACTION of 0 {located.entry.of.name}",
                        )
                    self.entries.append(Entry(located.offset, repeated=True))
                    kind, arguments, number = located.entry.of, ARGUMENTS[located.entry.of], len(steps)
                    steps += [
                        new(Step, (number + sub, kind, new(arguments, values), entry, sub))
                        for sub, (_, values) in enumerate(located.entry.items)
                    ]
                else:
                    self.entries.append(Entry(located.offset))
                    kind, values = located.entry
                    steps.append(new(Step, (len(steps), kind, new(ARGUMENTS[kind], values), entry, 0)))
        except HailoError as error:
            raise FirmwareStopError(_parse_status(error), error.message) from None
        self._survey()
        foreign = FOREIGN_FETCH[config_style]
        if self.counts[foreign.name]:
            raise FirmwareStopError(
                S.CONFIG_MANAGER_WRAPPER_STATUS_ACTION_TYPE_NOT_SUPPORTED,
                f"{foreign.name} on a device whose config channels work in {config_style}",
            )

    def stamped(self) -> bytes:
        """The list with its time stamps and last_executed filled in, as DOWNLOAD_CONTEXT_ACTION_LIST returns it."""
        data = bytearray(self.action_list)
        for entry in self.entries:
            data[entry.offset + 1 : entry.offset + 5] = entry.timestamp.to_bytes(4, "little")
            if entry.repeated:
                data[entry.offset + 6] = entry.last_executed
        return bytes(data)

    def _survey(self) -> None:
        """What the firmware needs to know of a whole list before it runs it."""
        kinds = [step.type for step in self.steps]
        counts = Counter(kinds)
        self.counts = Counter({kind.name: count for kind, count in counts.items()})
        if ActionType.FETCH_CCW_BURSTS in counts:
            for step in self.steps:
                if step.type is ActionType.FETCH_CCW_BURSTS:
                    self.bursts[step.arguments.config_stream_index] += step.arguments.ccw_bursts
        for grant in GRANTS:
            if grant in counts:
                self.last_grant = max(self.last_grant, len(kinds) - 1 - kinds[::-1].index(grant))


def _parse_status(error: HailoError) -> S:
    if "does not exist" in error.message and "sub-action" not in error.message:
        return S.CONTEXT_SWITCH_STATUS_READ_INVALID_ACTION_TYPE
    if "sub-action" in error.message:
        return S.CONTEXT_SWITCH_STATUS_REPEATED_ACTION_INVALID_SUBACTION_TYPE
    return S.CONTEXT_SWITCH_STATUS_MISALIGNMENT_ERROR_WHILE_READING_ACTIONS


@dataclass(slots=True)
class Application:
    """One network group as stored in the device; `contexts` in the firmware's index order."""

    index: int
    header: ApplicationHeader
    header_bytes: bytes
    contexts: list[Context] = field(default_factory=list)

    @property
    def expected_contexts(self) -> int:
        return self.header.dynamic_contexts_count + FIRST_DYNAMIC

    @property
    def complete(self) -> bool:
        return len(self.contexts) == self.expected_contexts

    @property
    def single_context(self) -> bool:
        return self.header.dynamic_contexts_count == 1

    def context(self, kind: ContextType, index: int = 0) -> Context:
        if kind is ContextType.DYNAMIC:
            return self.contexts[FIRST_DYNAMIC + index]
        return self.contexts[CONTEXT_ORDER.index(kind)]

    @property
    def dynamic(self) -> list[Context]:
        return self.contexts[FIRST_DYNAMIC:]

    def next_type(self) -> ContextType:
        """The context type that has to come next."""
        position = len(self.contexts)
        return CONTEXT_ORDER[position] if position < FIRST_DYNAMIC else ContextType.DYNAMIC

    def next_index(self) -> int:
        return max(0, len(self.contexts) - FIRST_DYNAMIC)


def clusters_named(action_lists: Iterable[bytes], runtime: str) -> int:
    """Bitmap of the clusters whose LCUs or sequencers the lists name."""
    bitmap = 0
    for data in action_lists:
        for located in decode(data, runtime):
            items = located.entry.items if isinstance(located.entry, Repeated) else (located.entry,)
            for item in items:
                name, shift = _CLUSTER_FIELDS.get(item.type, ("", 0))
                if name:
                    bitmap |= 1 << (item.value(name) >> shift)
    return bitmap


_CLUSTER_FIELDS = {
    ActionType.ENABLE_LCU_DEFAULT: ("packed_lcu_id", 4),
    ActionType.ENABLE_LCU_NON_DEFAULT: ("packed_lcu_id", 4),
    ActionType.DISABLE_LCU: ("packed_lcu_id", 4),
    ActionType.LCU_INTERRUPT: ("packed_lcu_id", 4),
    ActionType.SWITCH_LCU_BATCH: ("packed_lcu_id", 4),
    ActionType.TRIGGER_SEQUENCER: ("cluster_index", 0),
    ActionType.SEQUENCER_DONE_INTERRUPT: ("sequencer_index", 0),
}
