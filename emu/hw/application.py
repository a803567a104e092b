"""Stored applications: headers and context lists as they arrive in control messages, ready to execute."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
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


class Entry(NamedTuple):
    """One entry of the byte list: where its header is, and whether it is a REPEATED_ACTION (firmware-actions.md 2)."""

    offset: int
    repeated: bool


class Stamp(NamedTuple):
    """When an entry was executed last, and which of its sub-actions: as the runtime sends them, where it never was."""

    timestamp: int = TIMESTAMP_INIT
    last_executed: int = 0


class ActionList(Struct, frozen=True, eq=False):
    """A list as it was read, and what the firmware needs to know of it before it runs it.

    `steps` in the order of execution, `by_type` in that of the list. `bursts` by config stream; `enables`: the first
    ENABLE_LCU of each LCU (packed); `batch_switches`: network by LCU of SWITCH_LCU_BATCH; `triggers`: clusters whose
    sequencer it triggers; `interrupts`: LCUs that it awaits, in their order; `maps`: channels that it maps to a stream
    or to none; `last_grant`: the number of the last step that lets frames flow, -1: none does.
    """

    data: bytes
    entries: tuple[Entry, ...]
    steps: tuple[Step, ...]
    by_type: Mapping[ActionType, tuple[Step, ...]]
    counts: Mapping[str, int]
    bursts: Mapping[int, int]
    enables: Mapping[int, Step]
    batch_switches: Mapping[int, int]
    triggers: frozenset[int]
    interrupts: tuple[int, ...]
    maps: frozenset[int]
    last_grant: int

    @classmethod
    def of(cls, data: bytes, entries: Iterable[Entry], steps: list[Step], sets_up_first: bool) -> ActionList:
        """Of the steps in the order of the list; `sets_up_first`: they are executed in another."""
        by_type: dict[ActionType, list[Step]] = {}
        for step in steps:
            by_type.setdefault(step.type, []).append(step)
        bursts: Counter[int] = Counter()
        for step in by_type.get(ActionType.FETCH_CCW_BURSTS, ()):
            bursts[step.arguments.config_stream_index] += step.arguments.ccw_bursts
        enables: dict[int, Step] = {}
        for step in sorted(one for kind in _ENABLES for one in by_type.get(kind, ())):
            enables.setdefault(step.arguments.packed_lcu_id, step)
        switches = [step.arguments for step in by_type.get(ActionType.SWITCH_LCU_BATCH, ())]
        mappings = by_type.get(ActionType.CHANGE_VDMA_TO_STREAM_MAPPING, ())
        return cls(
            data,
            tuple(entries),
            tuple(_set_up_first(steps) if sets_up_first else steps),
            {kind: tuple(found) for kind, found in by_type.items()},
            {kind.name: len(found) for kind, found in by_type.items()},
            bursts,
            enables,
            {a.packed_lcu_id: a.network_index for a in switches},
            frozenset(step.arguments.cluster_index for step in by_type.get(ActionType.TRIGGER_SEQUENCER, ())),
            tuple([step.arguments.packed_lcu_id for step in by_type.get(ActionType.LCU_INTERRUPT, ())]),
            frozenset(step.arguments.packed_vdma_channel_id for step in mappings),
            max((by_type[grant][-1].number for grant in GRANTS if grant in by_type), default=-1),
        )


def _set_up_first(steps: list[Step]) -> list[Step]:
    """Actions that set up what the context works with, from behind its first grant to before it."""
    first = next((at for at, step in enumerate(steps) if step.type in GRANTS), len(steps))
    late = [step for step in steps[first:] if ACTIONS[step.type].sets_up]
    rest = [step for step in steps[first:] if not ACTIONS[step.type].sets_up]
    return steps[:first] + late + rest


_KEPT_LISTS = 32  # of 64 KiB at most; the same program is sent again and again


@lru_cache(maxsize=_KEPT_LISTS)
def read_list(data: bytes, kind: ContextType, wire: Wire, config_style: str) -> ActionList:
    """Decode a list; FirmwareStopError as the firmware answers (silicon-facts.md d).

    The same bytes are read once a process while they are kept, and give the same object.
    """
    entries: list[Entry] = []
    steps: list[Step] = []
    new = tuple.__new__  # lists are long: past the namedtuples' own __new__
    try:
        for located in wire.decode(data):
            entry, action = len(entries), located.entry
            if isinstance(action, Repeated):
                if not ACTIONS[action.of].repeatable and action.of is not ActionType.FETCH_CCW_BURSTS:
                    raise FirmwareStopError(
                        S.CONTEXT_SWITCH_STATUS_REPEATED_ACTION_INVALID_SUBACTION_TYPE,
                        f"{action.of.name} cannot be repeated",
                    )
                if not action.items:
                    raise FirmwareStopError(
                        S.CONTEXT_SWITCH_STATUS_REPEATED_ACTION_INVALID_ACTION_COUNT,
                        f"REPEATED_ACTION of 0 {action.of.name}",
                    )
                number = len(steps)
                steps += [
                    new(Step, (number + sub, action.of, item, entry, sub)) for sub, item in enumerate(action.items)
                ]
            else:
                steps.append(new(Step, (len(steps), action.type, action, entry, 0)))
            entries.append(Entry(located.offset, isinstance(action, Repeated)))
    except DamagedListError as error:
        raise FirmwareStopError(LIST_STATUS[type(error)], error.message) from None
    found = ActionList.of(data, entries, steps, wire.runtime.sets_up_first and kind is ContextType.DYNAMIC)
    foreign = FOREIGN_FETCH[config_style]
    if foreign in found.by_type:
        raise FirmwareStopError(
            S.CONFIG_MANAGER_WRAPPER_STATUS_ACTION_TYPE_NOT_SUPPORTED,
            f"{foreign.name} on a device whose config channels work in {config_style}",
        )
    return found


@dataclass(eq=False, repr=False, slots=True)
class Context(Unit):
    """One stored context: its list, and what was measured. `stamps` by the number of the entry."""

    COUNTERS: ClassVar[tuple[str, ...]] = ("runs", "simulated_ns", "config_bytes", "data_bytes")
    OUTLIVES_APPLICATIONS: ClassVar[bool] = True

    type: ContextType
    index: int
    actions: ActionList
    name: str = field(init=False)
    stamps: dict[int, Stamp] = field(default_factory=dict)
    runs: int = 0
    simulated_ns: int = 0
    config_bytes: int = 0
    data_bytes: int = 0
    _subjects: dict[int, list[Subject]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.name = context_name(self.type, self.index)

    @classmethod
    def read(cls, kind: ContextType, index: int, data: bytes, wire: Wire, config_style: str) -> Context:
        """With its list decoded; FirmwareStopError as the firmware answers (silicon-facts.md d)."""
        if not data:
            raise FirmwareStopError(
                S.CONTEXT_SWITCH_TASK_STATUS_CONTEXT_HEADER_INDICATES_THERE_IS_NO_CONTEXT_NETWORK_INFO,
                f"{context_name(kind, index)} has no actions",
            )
        return cls(kind, index, read_list(data, kind, wire, config_style))

    @property
    def firmware_index(self) -> int:
        """0 activation, 1 batch switching, 2 preliminary, 3+ dynamic (firmware-actions.md 4)."""
        return _firmware_index(self.type, self.index)

    @property
    def title(self) -> str:
        """As a sentence says it."""
        return title_of(self.name)

    def reset(self) -> None:
        """What was measured stays: whoever measures a run takes the difference."""

    def subjects(self, application: int) -> list[Subject]:
        """What a trace says of each action whenever it is done, by its number."""
        found = self._subjects.get(application)
        if found is None:
            name = self.name
            found = self._subjects[application] = [
                Subject(Kind.ACTION, application, name, number, step.type.name, step.arguments.arguments())
                for number, step in enumerate(sorted(self.actions.steps))
            ]
        return found

    def stamped(self) -> bytes:
        """The list with its time stamps and last_executed filled in, as DOWNLOAD_CONTEXT_ACTION_LIST returns it."""
        data = bytearray(self.actions.data)
        never = Stamp()
        for number, entry in enumerate(self.actions.entries):
            stamp = self.stamps.get(number, never)
            data[entry.offset + 1 : entry.offset + 5] = stamp.timestamp.to_bytes(4, "little")
            if entry.repeated:
                data[entry.offset + 6] = stamp.last_executed
        return bytes(data)


class Sent(NamedTuple):
    """What the host sent of an application: its header, and its lists in the firmware's index order.

    It is equal to another where header and lists are the same, so what follows from it alone need not be found twice.
    """

    header: ApplicationHeader
    lists: tuple[ActionList, ...]

    @property
    def single_context(self) -> bool:
        return self.header.dynamic_contexts_count == 1

    def list_of(self, kind: ContextType, index: int = 0) -> ActionList:
        return self.lists[_firmware_index(kind, index)]

    def named(self) -> Iterator[tuple[str, ActionList]]:
        """All lists by their contexts' names."""
        for at, actions in enumerate(self.lists):
            kind = CONTEXT_ORDER[at] if at < FIRST_DYNAMIC else ContextType.DYNAMIC
            yield context_name(kind, max(0, at - FIRST_DYNAMIC)), actions


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

    @property
    def sent(self) -> Sent:
        return Sent(self.header, tuple([context.actions for context in self.contexts]))

    def context(self, kind: ContextType, index: int = 0) -> Context:
        return self.contexts[_firmware_index(kind, index)]

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


def _firmware_index(kind: ContextType, index: int) -> int:
    return FIRST_DYNAMIC + index if kind is ContextType.DYNAMIC else CONTEXT_ORDER.index(kind)


def context_name(kind: ContextType, index: int) -> str:
    """What messages and traces call a context."""
    return f"dynamic_{index}" if kind is ContextType.DYNAMIC else kind.name.lower()


def title_of(context: str) -> str:
    """A list by the name of its context, as a sentence says it: "batch-switching list", "list of dynamic_0"."""
    return f"list of {context}" if context.startswith("dynamic_") else f"{context.replace('_', '-')} list"


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
