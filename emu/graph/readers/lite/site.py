"""What a lowering sees of the node it turns into an op, and the registry of lowerings.

A lowering takes the operator's table (1.2 schema) and the `Site`, and returns the IR op. It raises OpError for what it
refuses; the reader turns that into the node's refusal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from emu.errors import GraphStatus
from emu.graph.ir import Array, Op, OpError, Shape, Tensor

Lowering = Callable[[Any, "Site"], Op]
F = TypeVar("F", bound=Lowering)

LOWERINGS: dict[str, Lowering] = {}
"""By the name of the member of PrimitiveType in the 1.2 schema."""


@dataclass(slots=True)
class Site:
    """The operands and results of one node.

    `values` holds what is known of each operand before anything runs: Lite keeps shapes, axes and sizes in tensors.
    What a lowering has put into its op it leaves out of `taken`, the places of the operands that the op gets, in its
    order; None is all. `more` are constants that follow them, `reads` the dims under which the op reads operand i.
    """

    type: str
    inputs: list[Tensor]
    values: list[Array | None]
    outputs: list[Tensor]
    taken: tuple[int, ...] | None = None
    more: list[Array] = field(default_factory=list)
    reads: dict[int, Shape] = field(default_factory=dict)

    def need(self, least: int, most: int | None = None) -> None:
        """Refuse fewer inputs than `least`, or more than `most`."""
        count = len(self.inputs)
        if count < least or (most is not None and count > most):
            wanted = f"{least}" if most == least else f"{least} to {most}" if most is not None else f"at least {least}"
            raise OpError(f"takes {wanted} inputs, has {count}", status=GraphStatus.GRAPH_STRUCTURE)

    def need_outputs(self, count: int) -> None:
        """Refuse any other number of outputs."""
        if len(self.outputs) != count:
            problem = f"gives {count} outputs, the file has {len(self.outputs)}"
            raise OpError(problem, status=GraphStatus.GRAPH_STRUCTURE)

    def shape(self, place: int) -> Shape:
        """Dims of input `place`; refused where it is absent."""
        self.need(place + 1)
        return self.inputs[place].shape

    def has(self, place: int) -> bool:
        return place < len(self.inputs)

    def value(self, place: int, what: str) -> Array:
        """The array of an operand that must be known before anything runs."""
        self.need(place + 1)
        value = self.values[place]
        if value is None:
            raise unsupported(f"the {what} (input {place}) is computed at run time")
        return value

    def integers(self, place: int, what: str) -> tuple[int, ...]:
        """The whole numbers of an operand that must be known before anything runs."""
        value = self.value(place, what)
        if value.dtype.kind not in "iu":
            raise OpError(f"the {what} is {value.dtype}, not integers")
        return tuple(int(number) for number in value.reshape(-1))

    def integer(self, place: int, what: str) -> int:
        """The one whole number of an operand that must be known before anything runs."""
        found = self.integers(place, what)
        if len(found) != 1:
            raise OpError(f"the {what} is {list(found)}, not one number")
        return found[0]

    def take(self, *places: int) -> None:
        """Give the op these operands alone; refused where the node has them not."""
        self.need(max(places, default=-1) + 1)
        self.taken = places


def lowers(*names: str) -> Callable[[F], F]:
    """Register a lowering for members of PrimitiveType."""

    def register(function: F) -> F:
        for name in names:
            assert name not in LOWERINGS
            LOWERINGS[name] = function
        return function

    return register


def unsupported(message: str, attribute: str | None = None) -> OpError:
    """The refusal of what this reader does not execute."""
    return OpError(message, attribute, GraphStatus.GRAPH_UNSUPPORTED)
