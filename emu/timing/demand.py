"""What a compiled network group asks of the hardware, whatever the profile: decoded once, timed as often as wanted.

Everything that a profile, link or host decides is `emu.timing.model` and `emu.timing.schedule`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from msgspec import Struct

from emu.chips.chips import Profile
from emu.sequencer.program import ContextProgram, ContextType, Direction, NetworkGroupProgram, Program
from emu.timing.model import GRANTS, Traffic
from emu.timing.programs import ProgramStarts, Starts, may_hold_programs
from emu.timing.steps import Costs, GroupSteps, steps_of
from emu.timing.stretches import BurstSizes, Event, Stretch, burst_sizes, fetch_sizes, stretches
from emu.wire.actions import Action, ActionType, Edge, Role, Target, having
from emu.wire.lists import Located, Repeated

_A = ActionType
# what a list does not do again where the preliminary one ran as its context
_DONE_BEFORE = frozenset(kind.name for kind in having(sets_up=True) | GRANTS)
_HOST_WAITS = frozenset(kind.name for kind in having(waits_for=Target.APPLICATION))
_INTERNAL_EDGES = having(role=Role.ACTIVATE) - having(edge=Edge.BOUNDARY)
_EDGE_INPUTS = _INTERNAL_EDGES & having(inward=True)
_EDGE_OUTPUTS = _INTERNAL_EDGES - _EDGE_INPUTS


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
        self._steps: GroupSteps | None = None
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

    def steps(self, profile: Profile) -> GroupSteps:
        """Its lists at the costs of a profile, worked out anew only where those are not the ones asked for before."""
        costs = Costs.of(profile, self._action_names)
        if self._steps is None or self._steps.costs != costs:
            ns = dict(zip(self._action_names, costs.actions, strict=True))
            self._steps = GroupSteps(
                costs,
                steps_of(self.activation, profile, ns),
                steps_of(self.preliminary, profile, ns),
                tuple(steps_of(context.stretches, profile, ns) for context in self.dynamic),
                sum(ns[name] * count for name, count in self._entry()),
            )
        return self._steps

    @property
    def well_formed(self) -> bool:
        """Whether the sequencer programs of the group are known (units.md 0)."""
        return self._starts is not None

    @cached_property
    def _action_names(self) -> tuple[str, ...]:
        lists = (self.activation, self.preliminary, *(context.stretches for context in self.dynamic))
        return tuple({name: None for listed in lists for stretch in listed for name, _ in stretch.actions})

    def _entry(self) -> Iterator[tuple[str, int]]:
        """The actions of context 0's list before it waits for frames, where the preliminary list ran as context 0.

        Of a single context nothing is left to do but to wait for the host (firmware-actions.md 8).
        """
        if self.single_context:
            for stretch in self.dynamic[0].stretches:
                yield from ((name, count) for name, count in stretch.actions if name in _HOST_WAITS)
            return
        for stretch in self.dynamic[0].stretches:
            yield from ((name, count) for name, count in stretch.actions if name not in _DONE_BEFORE)
            if stretch.event is Event.FRAMES:
                return

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
