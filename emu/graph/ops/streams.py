"""Ops on streams that start, stop and repeat each other: what StreamActive, StreamSwitch and labels make of a graph.

A stream runs its ops in list order. Streams that some op starts wait for that, all others run from the beginning. An op
waits until its operands are there and its event is sent. A switch whose condition holds, and a jump to a label, end the
stream that they are on and start the other at its beginning, or at the label (CANN, aclrtSwitchStream,
aclrtSwitchLabelByIndex, aclrtActiveStream); a switch whose condition does not hold does nothing.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from emu.errors import GraphError, GraphStatus
from emu.graph import layouts
from emu.graph.ir import Array, Graph, Node, Port, Shape, node_error
from emu.graph.ops import Operand, OpError
from emu.graph.ops.call import Caller

if TYPE_CHECKING:
    from emu.graph.plan import Plan

STEP_LIMIT = 200_000
"""Ops that a run may take: streams that start each other for ever cost no more."""

CONDITIONS: tuple[Callable[[Any, Any], bool], ...] = (
    operator.eq,
    operator.ne,
    operator.gt,
    operator.ge,
    operator.lt,
    operator.le,
)
"""By the number of the runtime's rtCondition_t."""


class ControlKind(StrEnum):
    """What a control op does."""

    ACTIVATE = "activate"
    SWITCH = "switch"
    MERGE = "merge"
    LABEL = "label"
    GOTO = "goto"
    CHOOSE = "choose"


@dataclass(frozen=True, slots=True)
class Control:
    """A control op: the `streams` that it starts, the `labels` that it sets or jumps to, the condition of a switch."""

    kind: ControlKind
    streams: tuple[int, ...] = ()
    labels: tuple[int, ...] = ()
    condition: int = 0


@dataclass(slots=True)
class _State:
    """What changes during a run; `born` orders the tensors by the step that made them."""

    arrays: dict[int, Array]
    places: dict[int, int] = field(default_factory=dict)
    events: set[int] = field(default_factory=set)
    born: dict[int, int] = field(default_factory=dict)
    step: int = 0


@dataclass(slots=True)
class StreamProgram(Caller):
    """The nodes of `graph` on their streams; operands and results are its inputs and outputs in order."""

    graph: Graph
    controls: dict[int, Control]
    _prepared: bool = field(default=False, init=False)
    _plans: dict[int, Plan] = field(default_factory=dict, init=False)
    _queues: dict[int, list[int]] = field(default_factory=dict, init=False)
    _labels: dict[int, tuple[int, int]] = field(default_factory=dict, init=False)

    def shape(self, *operands: Operand | None) -> list[Shape]:
        if not self._prepared:
            self._prepare()
            self._prepared = True
        return [self.graph.tensors[port.tensor].op_shape for port in self.graph.outputs]

    def graphs(self) -> tuple[Graph, ...]:
        return (self.graph,)

    def _prepare(self) -> None:
        """Queues, labels, and a plan for every op that computes; raises what is wrong with an op."""
        from emu.graph.plan import make_plan

        self._queues.clear()
        self._labels.clear()
        for place, node in enumerate(self.graph.nodes):
            if node.refusal is not None:
                raise node.refusal
            queue = self._queues.setdefault(node.stream, [])
            control = self.controls.get(place)
            if control is not None and control.kind is ControlKind.LABEL:
                (label,) = control.labels
                if label in self._labels:
                    raise self._error(node, f"label {label} is set twice")
                self._labels[label] = node.stream, len(queue)
            if node.op is not None:
                self._plans[place] = make_plan(_alone(self.graph, node))
            queue.append(place)
        for place, control in self.controls.items():
            missing = [label for label in control.labels if label not in self._labels]
            if missing:
                raise self._error(self.graph.nodes[place], f"label {missing[0]} is set nowhere")

    def _error(self, node: Node, message: str) -> GraphError:
        return node_error(self.graph, node, message, status=GraphStatus.GRAPH_STRUCTURE)

    def call(self, arrays: tuple[Array | None, ...], reference: bool) -> list[Array]:
        state = _State({at: t.value for at, t in enumerate(self.graph.tensors) if t.value is not None})
        for port, array in zip(self.graph.inputs, arrays, strict=True):
            assert array is not None  # plan.check_arity has seen it
            tensor = self.graph.tensors[port.tensor]
            state.arrays[port.tensor] = array if tensor.logical_shape is None else layouts.pack(array, tensor.layout)
        started = {stream for control in self.controls.values() for stream in control.streams}
        started |= {self._labels[label][0] for at, control in self.controls.items() for label in self._jumps(control)
                    if self._labels[label][0] != self.graph.nodes[at].stream}  # fmt: skip
        state.places = {stream: 0 for stream in sorted(self._queues) if stream not in started}
        while state.places:
            moved = [self._advance(stream, state, reference) for stream in sorted(state.places)]
            if not any(moved):
                self._stuck(state)
        return [self._result(port, state) for port in self.graph.outputs]

    @staticmethod
    def _jumps(control: Control) -> tuple[int, ...]:
        return () if control.kind is ControlKind.LABEL else control.labels

    def _advance(self, stream: int, state: _State, reference: bool) -> bool:
        """One op of a stream, if it can run; whether it did."""
        at = state.places.get(stream)
        if at is None:
            return False  # another stream ended it in this round
        place = self._queues[stream][at]
        node = self.graph.nodes[place]
        control = self.controls.get(place)
        if not self._ready(node, control, state):
            return False
        state.step += 1
        if state.step > STEP_LIMIT:
            raise OpError(f"more than {STEP_LIMIT} steps", "stream_id", GraphStatus.GRAPH_UNSUPPORTED)
        if node.waits is not None:
            state.events.discard(node.waits)
        if node.sends is not None:
            state.events.add(node.sends)
        if at + 1 < len(self._queues[stream]):
            state.places[stream] = at + 1
        else:
            del state.places[stream]
        if control is not None:
            self._control(node, control, stream, state)
        elif place in self._plans:
            self._compute(place, node, state, reference)
        return True

    def _ready(self, node: Node, control: Control | None, state: _State) -> bool:
        if node.waits is not None and node.waits not in state.events:
            return False
        there = (at is None or at in state.arrays for at in node.inputs)
        return any(there) if control is not None and control.kind is ControlKind.MERGE else all(there)

    def _compute(self, place: int, node: Node, state: _State, reference: bool) -> None:
        from emu.graph.executor import run_plan

        given = {str(at): state.arrays[at] for at in node.inputs if at is not None}
        for name, array in run_plan(self._plans[place], given, reference=reference).items():
            state.arrays[int(name)] = array
            state.born[int(name)] = state.step

    def _control(self, node: Node, control: Control, stream: int, state: _State) -> None:
        values = [state.arrays.get(at) for at in node.inputs if at is not None]
        match control.kind:
            case ControlKind.ACTIVATE:
                self._start(control.streams, state)
            case ControlKind.SWITCH:
                left, right = (value.reshape(-1)[0] for value in values if value is not None)
                if CONDITIONS[control.condition](left, right):
                    state.places.pop(stream, None)
                    self._start(control.streams, state)
            case ControlKind.MERGE:
                self._merge(node, state)
            case ControlKind.GOTO:
                self._jump(control.labels[0], stream, state)
            case ControlKind.CHOOSE:
                index = int(values[0].reshape(-1)[0]) if values[0] is not None else 0
                # beyond the list is its last label, and the index is unsigned
                self._jump(control.labels[index if 0 <= index < len(control.labels) else -1], stream, state)
            case ControlKind.LABEL:
                pass

    def _start(self, streams: tuple[int, ...], state: _State) -> None:
        """Streams from their beginning; one without ops is over at once."""
        state.places.update({stream: 0 for stream in streams if stream in self._queues})

    def _jump(self, label: int, stream: int, state: _State) -> None:
        state.places.pop(stream, None)
        target, place = self._labels[label]
        state.places[target] = place

    def _merge(self, node: Node, state: _State) -> None:
        """The operand that was made last, and its place among the operands."""
        made = [
            (state.born.get(at, 0), place, at)
            for place, at in enumerate(node.inputs)
            if at is not None and at in state.arrays
        ]
        _, place, at = max(made)
        for target, array in zip(node.outputs, (state.arrays[at], np.array(place, np.int32)), strict=False):
            tensor = self.graph.tensors[target]
            if array.shape != tensor.shape and array.size == 1:
                array = array.reshape(tensor.shape)
            if array.shape != tensor.shape:
                raise self._error(node, f"operand {place} is {list(array.shape)}, the result {tensor}")
            state.arrays[target] = array.astype(tensor.dtype, copy=False)
            state.born[target] = state.step

    def _stuck(self, state: _State) -> None:
        waiting = [self.graph.nodes[self._queues[stream][at]] for stream, at in sorted(state.places.items())]
        node = waiting[0]
        why = f"waits for event {node.waits}" if node.waits is not None else "waits for an operand that no op makes"
        raise self._error(node, f"deadlock: {why}, on {len(waiting)} streams nothing can run")

    def _result(self, port: Port, state: _State) -> Array:
        tensor = self.graph.tensors[port.tensor]
        array = state.arrays.get(port.tensor)
        if array is None:
            raise OpError(f"result {port.name!r} was not computed: its stream never ran", "stream_id")
        return array if tensor.logical_shape is None else layouts.unpack(array, tensor.layout, tensor.logical_shape)


def _alone(graph: Graph, node: Node) -> Graph:
    """A graph of one node, its ports called by the places of their tensors."""
    places = list(dict.fromkeys(at for at in (*node.inputs, *node.outputs) if at is not None))
    local = {at: index for index, at in enumerate(places)}
    found = Graph(graph.format, graph.kind, graph.name, tensors=[graph.tensors[at] for at in places])
    given = dict.fromkeys(at for at in node.inputs if at is not None and graph.tensors[at].value is None)
    found.inputs = [Port(str(at), local[at]) for at in given]
    found.outputs = [Port(str(at), local[at]) for at in node.outputs]
    inside = replace(
        node,
        inputs=tuple(None if at is None else local[at] for at in node.inputs),
        outputs=tuple(local[at] for at in node.outputs),
        sends=None,
        waits=None,
        after=(),
    )
    found.nodes = [inside]
    return found


def changes_order(graph: Graph, controls: dict[int, Control]) -> bool:
    """Whether the control ops matter to the ops of the graph: they do not where all that they start is elsewhere."""
    own = {node.stream for node in graph.nodes}
    return any(control.kind is not ControlKind.ACTIVATE or own & set(control.streams) for control in controls.values())


def gathered(graph: Graph, controls: dict[int, Control]) -> Graph:
    """The graph as one node that runs its streams; tensors, ports and notes are the same."""
    node = Node(
        graph.name,
        "streams",
        StreamProgram(replace(graph), controls),
        tuple(port.tensor for port in graph.inputs),
        tuple(port.tensor for port in graph.outputs),
    )
    return replace(graph, nodes=[node])


def checked_streams(streams: Sequence[int], count: int, attribute: str) -> tuple[int, ...]:
    """Streams that an op starts; OpError for one that the model has not."""
    for stream in streams:
        if not 0 <= stream < count:
            raise OpError(f"{stream} of {count}", attribute, GraphStatus.GRAPH_STRUCTURE)
    return tuple(streams)
