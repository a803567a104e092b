"""Stored applications: headers and context lists as they arrive in control messages, ready to execute."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from msgspec import Struct

from emu.hw.unit import Unit
from emu.sequencer.program import ContextType
from emu.timing.model import GRANTS
from emu.trace.events import Kind, Subject
from emu.wire.actions import ACTIONS, Action, ActionType, having
from emu.wire.headers import ApplicationHeader
from emu.wire.lists import TIMESTAMP_INIT, DamagedListError, Repeated, UnknownActionError, UnknownSubActionError
from emu.wire.status import FirmwareStatus as S
from emu.wire.status import FirmwareStopError
from emu.wire.wire import Wire

# the order in which contexts arrive and their index inside the firmware (firmware-actions.md 4)
CONTEXT_ORDER = (ContextType.ACTIVATION, ContextType.BATCH_SWITCHING, ContextType.PRELIMINARY)
FIRST_DYNAMIC = len(CONTEXT_ORDER)
MAX_CONTEXTS = 1024

# the fetch action that a config style does not know (silicon-facts.md d: seen for bursts on 8L, bare or repeated)
FOREIGN_FETCH = {
    "descriptors": ActionType.FETCH_CCW_BURSTS,
    "bursts": ActionType.FETCH_CFG_CHANNEL_DESCRIPTORS,
}


SETS_UP = having(sets_up=True)
_ENABLES = (ActionType.ENABLE_LCU_DEFAULT, ActionType.ENABLE_LCU_NON_DEFAULT)

# the answer to a list that cannot be read (silicon-facts.md d)
LIST_STATUS: dict[type[DamagedListError], S] = {
    DamagedListError: S.CONTEXT_SWTICH_STATUS_MISALIGNMENT_ERROR_WHILE_READING_ACTIONS,
    UnknownActionError: S.CONTEXT_SWITCH_STATUS_READ_INVALID_ACTION_TYPE,
    UnknownSubActionError: S.CONTEXT_SWITCH_STATUS_REPEATED_ACTION_INVALID_SUBACTION_TYPE,
}
_ADDRESS = "dma_address"
_ADDRESS_AT = {made: made.NAMES.index(_ADDRESS) for made in ACTIONS.values() if _ADDRESS in made.NAMES}
_OWN_ADDRESS = 0xFFFFFFFF


def chip_settings(arguments: Action) -> tuple[int, ...]:
    """The arguments of an action as they count for what it configures, wherever the host has mapped its program.

    Several programs lie 4 GiB apart (`emu.host.combine`): the lower half of an address is the program's own.
    """
    at = _ADDRESS_AT.get(type(arguments))
    if at is None:
        return tuple(arguments)
    return (*arguments[:at], arguments[at] & _OWN_ADDRESS, *arguments[at + 1 :])


class Step(NamedTuple):
    """One action or sub-action to execute, numbered from 0 in its context.

    `entry` is the list entry it belongs to, `sub` its place in a REPEATED.
    """

    number: int
    type: ActionType
    arguments: Any
    entry: int
    sub: int


class Entry(Struct):
    """One entry of the byte list: where its header is, and when it was executed (firmware-actions.md 2)."""

    offset: int
    timestamp: int = TIMESTAMP_INIT
    last_executed: int = 0
    repeated: bool = False


@dataclass(eq=False, repr=False, slots=True)
class Context(Unit):
    """One stored context: its bytes, its steps, and what was measured."""

    COUNTERS: ClassVar[tuple[str, ...]] = ("runs", "simulated_ns", "config_bytes", "data_bytes")
    OUTLIVES_APPLICATIONS: ClassVar[bool] = True

    type: ContextType
    index: int
    action_list: bytes
    name: str = field(init=False)  # as messages and traces call it
    steps: list[Step] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    bursts: Counter[int] = field(default_factory=Counter)
    enables: dict[int, Step] = field(default_factory=dict)  # the first ENABLE_LCU of each LCU (packed)
    batch_switches: dict[int, int] = field(default_factory=dict)  # network by LCU of SWITCH_LCU_BATCH
    triggers: set[int] = field(default_factory=set)  # clusters whose sequencer it triggers
    interrupts: tuple[int, ...] = ()  # LCUs (packed) that it awaits, in their order
    maps: set[int] = field(default_factory=set)  # channels that it maps to a stream or to none
    last_grant: int = -1
    runs: int = 0
    simulated_ns: int = 0
    config_bytes: int = 0
    data_bytes: int = 0
    _subjects: dict[int, list[Subject]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.name = f"dynamic_{self.index}" if self.type is ContextType.DYNAMIC else self.type.name.lower()

    @property
    def firmware_index(self) -> int:
        """0 activation, 1 batch switching, 2 preliminary, 3+ dynamic (firmware-actions.md 4)."""
        return CONTEXT_ORDER.index(self.type) if self.type in CONTEXT_ORDER else FIRST_DYNAMIC + self.index

    @property
    def title(self) -> str:
        """As a sentence says it: "batch-switching list", "list of dynamic_0"."""
        return f"list of {self.name}" if self.type is ContextType.DYNAMIC else f"{self.name.replace('_', '-')} list"

    def reset(self) -> None:
        """What was measured stays: whoever measures a run takes the difference."""

    def subjects(self, application: int) -> list[Subject]:
        """What a trace says of each action whenever it is done, by its number."""
        found = self._subjects.get(application)
        if found is None:
            name = self.name
            found = self._subjects[application] = [
                Subject(Kind.ACTION, application, name, number, step.type.name, step.arguments.arguments())
                for number, step in enumerate(sorted(self.steps))
            ]
        return found

    def parse(self, wire: Wire, config_style: str) -> None:
        """Decode the list into steps; FirmwareStopError as the firmware answers (silicon-facts.md d)."""
        if not self.action_list:
            raise FirmwareStopError(
                S.CONTEXT_SWITCH_TASK_STATUS_CONTEXT_HEADER_INDICATES_THERE_IS_NO_CONTEXT_NETWORK_INFO,
                f"{self.name} has no actions",
            )
        self.entries = []
        self._subjects.clear()
        steps = self.steps = []
        new = tuple.__new__  # lists are long: past the namedtuples' own __new__
        try:
            for located in wire.decode(self.action_list):
                entry = len(self.entries)
                if isinstance(located.entry, Repeated):
                    kind, number = located.entry.of, len(steps)
                    if not ACTIONS[kind].repeatable and kind is not ActionType.FETCH_CCW_BURSTS:
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
                    steps += [
                        new(Step, (number + sub, kind, item, entry, sub))
                        for sub, item in enumerate(located.entry.items)
                    ]
                else:
                    self.entries.append(Entry(located.offset))
                    action = located.entry
                    steps.append(new(Step, (len(steps), action.type, action, entry, 0)))
        except DamagedListError as error:
            raise FirmwareStopError(LIST_STATUS[type(error)], error.message) from None
        self._survey()
        if wire.runtime.sets_up_first and self.type is ContextType.DYNAMIC:
            self._set_up_first()
        foreign = FOREIGN_FETCH[config_style]
        if self.counts[foreign.name]:
            raise FirmwareStopError(
                S.CONFIG_MANAGER_WRAPPER_STATUS_ACTION_TYPE_NOT_SUPPORTED,
                f"{foreign.name} on a device whose config channels work in {config_style}",
            )

    def _set_up_first(self) -> None:
        """Actions that set up what the context works with, from behind its first grant to before it."""
        first = next((at for at, step in enumerate(self.steps) if step.type in GRANTS), len(self.steps))
        late = [step for step in self.steps[first:] if ACTIONS[step.type].sets_up]
        rest = [step for step in self.steps[first:] if not ACTIONS[step.type].sets_up]
        self.steps[first:] = late + rest

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
        self.enables.clear()
        for step in self._of(counts, *_ENABLES):
            self.enables.setdefault(step.arguments.packed_lcu_id, step)
        switches = [step.arguments for step in self._of(counts, ActionType.SWITCH_LCU_BATCH)]
        self.batch_switches = {a.packed_lcu_id: a.network_index for a in switches}
        self.triggers = {step.arguments.cluster_index for step in self._of(counts, ActionType.TRIGGER_SEQUENCER)}
        self.interrupts = tuple(step.arguments.packed_lcu_id for step in self._of(counts, ActionType.LCU_INTERRUPT))
        mappings = self._of(counts, ActionType.CHANGE_VDMA_TO_STREAM_MAPPING)
        self.maps = {step.arguments.packed_vdma_channel_id for step in mappings}
        for grant in GRANTS:
            if grant in counts:
                self.last_grant = max(self.last_grant, len(kinds) - 1 - kinds[::-1].index(grant))

    def _of(self, counts: Counter[ActionType], *wanted: ActionType) -> list[Step]:
        """The steps of some types."""
        if not any(kind in counts for kind in wanted):
            return []
        return [step for step in self.steps if step.type in wanted]


@dataclass(eq=False, slots=True)
class Application:
    """One network group as stored in the device; `contexts` in the firmware's index order."""

    index: int
    header: ApplicationHeader
    header_bytes: bytes
    contexts: list[Context] = field(default_factory=list)
    _configuring: dict[str, tuple[str, ...]] = field(default_factory=dict, repr=False)  # by dynamic context

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

    def configuring(self, context: Context) -> tuple[str, ...]:
        """The lists that configure a dynamic context, by their names, whichever of its runs this is.

        Where the preliminary context is the first run of context 0, context 0's own list only restores what it wrote.
        """
        found = self._configuring.get(context.name)
        if found is None:
            lists = [self.context(ContextType.ACTIVATION), self.context(ContextType.PRELIMINARY)]
            restores = bool(self.header.preliminary_run_asap) and context is self.dynamic[0]
            if self.single_context or not restores:
                lists.append(context)
            found = self._configuring[context.name] = tuple(list_name(self.index, one) for one in lists)
        return found

    def next_type(self) -> ContextType:
        """The context type that has to come next."""
        position = len(self.contexts)
        return CONTEXT_ORDER[position] if position < FIRST_DYNAMIC else ContextType.DYNAMIC

    def next_index(self) -> int:
        return max(0, len(self.contexts) - FIRST_DYNAMIC)


def list_name(application: int, context: Context) -> str:
    """What a list is called among those of all applications."""
    return f"{application}/{context.name}"


def clusters_named(action_lists: Iterable[bytes], wire: Wire) -> int:
    """Bitmap of the clusters whose LCUs or sequencers the lists name."""
    bitmap = 0
    for data in action_lists:
        for located in wire.decode(data):
            items = located.entry.items if isinstance(located.entry, Repeated) else (located.entry,)
            for item in items:
                for value, what in zip(item, item.FIELDS.values(), strict=True):
                    if what.shift >= 0:
                        bitmap |= 1 << (value >> what.shift)
    return bitmap
