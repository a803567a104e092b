"""What a compiled network group asks of the hardware, whatever the profile: decoded once, timed as often as wanted.

An action list boils down to `Stretch`es: runs of actions that only cost firmware time, each ended by one that starts,
loads or waits. Everything that a profile, link or host decides is `emu.timing.model` and `emu.timing.schedule`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum, auto
from functools import cached_property
from typing import NamedTuple

from msgspec import Struct

from emu.sequencer.program import ContextProgram, ContextType, Direction, NetworkGroupProgram, Program
from emu.timing.model import GRANTS, Traffic
from emu.timing.programs import ProgramStarts, Start, Starts, may_hold_programs
from emu.wire.actions import Action, ActionType, Edge, Role, Target, having
from emu.wire.lists import Located, Repeated

_A = ActionType
_FETCHES = having(role=Role.FETCH)
# a config channel is not closed before it is empty
_CONFIG_WAITS = having(waits_for=Target.CONFIG) | {_A.DEACTIVATE_CFG_CHANNEL}
_BATCH_WAITS = having(waits_for=Target.LCU) | having(waits_for=Target.CHANNEL) | having(waits_for=Target.NMS)
# what a list does not do again where the preliminary one ran as its context
_DONE_BEFORE = frozenset(kind.name for kind in having(sets_up=True) | GRANTS)
_INTERNAL_EDGES = having(role=Role.ACTIVATE) - having(edge=Edge.BOUNDARY)
_EDGE_INPUTS = _INTERNAL_EDGES & having(inward=True)
_EDGE_OUTPUTS = _INTERNAL_EDGES - _EDGE_INPUTS

BurstSizes = Mapping[int, Sequence[int]]


class Event(Enum):
    """What ends a stretch of actions; in brackets the meaning of `Stretch.amount`."""

    FETCH = auto()  # configuration is queued (bytes)
    CONFIG = auto()  # waits until all that was queued is loaded
    TRIGGER = auto()  # starts a sequencer (cluster)
    SEQUENCER = auto()  # waits for one whose program is not known (cluster)
    PROGRAM = auto()  # waits for the next program that ends a sequence (cluster)
    GRANT = auto()  # lets frames in
    FRAMES = auto()  # waits for frames
    CACHE = auto()  # waits for the host's word
    SLEEP = auto()  # (microseconds)
    START = auto()  # starts programs alone
    END = auto()  # the list ends


def _events() -> dict[ActionType, Event]:
    kinds = (
        (GRANTS, Event.GRANT),
        (_BATCH_WAITS, Event.FRAMES),
        (_CONFIG_WAITS, Event.CONFIG),
        (_FETCHES, Event.FETCH),
        ({_A.TRIGGER_SEQUENCER}, Event.TRIGGER),
        ({_A.SEQUENCER_DONE_INTERRUPT}, Event.SEQUENCER),
        ({_A.WAIT_FOR_CACHE_UPDATED}, Event.CACHE),
        ({_A.SLEEP}, Event.SLEEP),
    )
    return {action: event for actions, event in kinds for action in actions}


_EVENT_OF = _events()
_AMOUNTS = {
    _A.TRIGGER_SEQUENCER: "cluster_index",
    _A.SEQUENCER_DONE_INTERRUPT: "sequencer_index",
    _A.SLEEP: "sleep_time",
}


class Stretch(NamedTuple):
    """Actions interpreted one after the other, by name, the last one's `event` with its `amount`.

    `starts`: sequencer programs that the last one starts behind its event.
    """

    actions: tuple[tuple[str, int], ...]
    event: Event
    amount: float
    starts: tuple[Start, ...] = ()


class ContextDemand(Struct, frozen=True):
    """One action list: its stretches, the bytes of configuration that it fetches, what a frame moves through it."""

    stretches: tuple[Stretch, ...]
    config_bytes: float
    traffic: Traffic


class GroupDemand:
    """A network group: its lists (decoded on first use) and what its frames are for the host.

    `streams` boundary streams, `input_bytes` of a frame over all inputs, `output_bytes` over all outputs. `starts`
    finds the sequencer programs of the group; without it each takes the profile's `sequencer_ns`.
    """

    def __init__(self, program: Program, group: NetworkGroupProgram, starts: ProgramStarts | None = None) -> None:
        self.name = group.name
        self.figures = group.figures
        self.batch = group.batch_size
        self.streams = len(group.streams)
        self.input_bytes = _bytes_of(group, Direction.H2D)
        self.output_bytes = _bytes_of(group, Direction.D2H)
        self._program = program
        self._group = group
        self._starts_of = starts
        self._contexts = contexts_of(group)
        self.single_context = sum(one.context_type is ContextType.DYNAMIC for one in self._contexts) == 1

    @cached_property
    def activation(self) -> tuple[Stretch, ...]:
        return self._joined(ContextType.ACTIVATION)

    @cached_property
    def preliminary(self) -> tuple[Stretch, ...]:
        return self._joined(ContextType.PRELIMINARY)

    @cached_property
    def dynamic(self) -> tuple[ContextDemand, ...]:
        return tuple(
            self._demand(one, number)
            for number, one in enumerate(self._contexts)
            if one.context_type is ContextType.DYNAMIC
        )

    @cached_property
    def grants_early(self) -> bool:
        """Whether the preliminary list lets frames in: it is then the first run of context 0."""
        return any(stretch.event is Event.GRANT for stretch in self.preliminary)

    def entry(self) -> Iterator[tuple[str, int]]:
        """The actions of context 0's list before it waits for frames, where the preliminary list ran as context 0."""
        for stretch in self.dynamic[0].stretches:
            yield from ((name, count) for name, count in stretch.actions if name not in _DONE_BEFORE)
            if stretch.event is Event.FRAMES:
                return

    @property
    def well_formed(self) -> bool:
        """Whether the sequencer programs of the group are known (units.md 0)."""
        return self._starts is not None

    @cached_property
    def _bursts(self) -> BurstSizes:
        return burst_sizes(self._program)

    @cached_property
    def _starts(self) -> Sequence[Starts] | None:
        if self._starts_of is None or not may_hold_programs(self._program):
            return None
        return self._starts_of(self._program, self._group)

    def _started(self, number: int) -> Starts | None:
        return None if self._starts is None else self._starts[number]

    def _joined(self, kind: ContextType) -> tuple[Stretch, ...]:
        """All lists of a kind one after the other (there is one, but for a hostile capture)."""
        numbers = [number for number, one in enumerate(self._contexts) if one.context_type is kind]
        lists = [self._actions(self._contexts[number]) for number in numbers]
        starts = self._started(numbers[0]) if len(numbers) == 1 else None
        return stretches([action for actions in lists for action in actions], self._bursts, starts)

    def _demand(self, context: ContextProgram, number: int) -> ContextDemand:
        actions = self._actions(context)
        return ContextDemand(
            stretches(actions, self._bursts, self._started(number)),
            sum(fetch_sizes(actions, {})),
            _traffic(self._group, context.index, actions),
        )

    def _actions(self, context: ContextProgram) -> list[Action]:
        return list(plain_actions(context.actions(self._program.runtime)))


def stretches(actions: Sequence[Action], bursts: BurstSizes, starts: Starts | None = None) -> tuple[Stretch, ...]:
    """An action list (REPEATED unrolled) as what takes time; `starts`: the programs that it starts, None: not known."""
    found: list[Stretch] = []
    counts: dict[str, int] = {}
    sizes = iter(fetch_sizes(actions, bursts))
    known: Starts = {} if starts is None else starts
    for number, action in enumerate(actions):
        kind = action.type
        counts[kind.name] = counts.get(kind.name, 0) + 1
        event, started = _EVENT_OF.get(kind), tuple(known.get(number, ()))
        if event is None and not started:
            continue
        if event is Event.SEQUENCER and starts is not None:
            event = Event.PROGRAM
        amount = next(sizes) if event is Event.FETCH else action.value(_AMOUNTS[kind]) if kind in _AMOUNTS else 0.0
        found.append(Stretch(tuple(counts.items()), event or Event.START, amount, started))
        counts = {}
    return (*found, Stretch(tuple(counts.items()), Event.END, 0.0))


def contexts_of(group: NetworkGroupProgram) -> tuple[ContextProgram, ...]:
    """The contexts of a group, wherever their action lists are: in control messages or in DDR."""
    return group.contexts or tuple(record.context for record in group.ddr_action_list)


def plain_actions(entries: Iterable[Located]) -> Iterator[Action]:
    """The actions of a list with REPEATED blocks unrolled."""
    for located in entries:
        if isinstance(located.entry, Repeated):
            yield from located.entry.items
        else:
            yield located.entry


def burst_sizes(program: Program) -> BurstSizes:
    """Bytes of every configuration burst, by the DMA address of the buffer or list that holds them in order."""
    sizes: dict[int, list[int]] = {}
    for buffer in program.continuous_buffers:
        sizes[buffer.dma_address] = [len(segment) for segment in buffer.segments or ()]
    for listed in program.descriptor_lists:
        sizes[listed.dma_address] = [len(segment) for part in listed.programs for segment in part.segments or ()]
    return sizes


def fetch_sizes(actions: Iterable[Action], bursts: BurstSizes) -> list[float]:
    """Bytes that each fetch action of a context moves, in list order.

    FETCH_CFG_CHANNEL_DESCRIPTORS names descriptors, whose page size the context's ACTIVATE_CFG_CHANNEL gives.
    FETCH_CCW_BURSTS names bursts; where `bursts` does not know them (a capture), they share the channel's
    `bytes_in_pattern` evenly.
    """
    listed = list(actions)
    pages: dict[int, int] = {}
    buffers: dict[int, tuple[int, int]] = {}
    counts: dict[int, int] = {}
    for action in listed:
        if action.type is _A.ACTIVATE_CFG_CHANNEL:
            pages[action.value("packed_vdma_channel_id")] = action.value("desc_page_size")
            buffers[action.value("config_stream_index")] = (
                action.value("dma_address"),
                action.value("bytes_in_pattern"),
            )
        elif action.type is _A.FETCH_CCW_BURSTS:
            stream = action.value("config_stream_index")
            counts[stream] = counts.get(stream, 0) + action.value("ccw_bursts")
    sizes: list[float] = []
    fetched: dict[int, int] = {}
    for action in listed:
        if action.type is _A.FETCH_CFG_CHANNEL_DESCRIPTORS:
            page = pages.get(action.value("packed_vdma_channel_id"), 0)
            sizes.append(action.value("descriptors_count") * page)
        elif action.type is _A.FETCH_CCW_BURSTS:
            stream, count = action.value("config_stream_index"), action.value("ccw_bursts")
            start = fetched.get(stream, 0)
            fetched[stream] = start + count
            address, whole = buffers.get(stream, (0, 0))
            known = bursts.get(address, ())
            if len(known) >= counts[stream]:
                sizes.append(sum(known[start : start + count]))
            else:
                sizes.append(whole * count / counts[stream])
    return sizes


def _bytes_of(group: NetworkGroupProgram, direction: Direction, context: int | None = None) -> int:
    return sum(
        stream.transfer_size * stream.transfers_per_frame
        for stream in group.streams
        if stream.direction == direction and context in (None, stream.context_index)
    )


def _traffic(group: NetworkGroupProgram, context: int, actions: Sequence[Action]) -> Traffic:
    size = {direction: _bytes_of(group, direction, context) for direction in (Direction.H2D, Direction.D2H)}
    rows: dict[int, int] = {}
    for action in actions:
        if action.type is _A.ACTIVATE_BOUNDARY_OUTPUT:
            rows[action.value("packed_vdma_channel_id")] = max(1, action.value("core_buffers_per_frame"))
        direction = (
            Direction.H2D if action.type in _EDGE_INPUTS else Direction.D2H if action.type in _EDGE_OUTPUTS else None
        )
        if direction is not None:
            size[direction] += action.value("periph_bytes_per_buffer") * action.value("periph_buffers_per_frame")
    outputs = tuple(
        (rows.get(stream.packed_vdma_channel_id, 1), stream.transfer_size * stream.transfers_per_frame)
        for stream in group.streams
        if stream.direction is Direction.D2H and stream.context_index == context
    )
    return Traffic(size[Direction.H2D], size[Direction.D2H], outputs)
