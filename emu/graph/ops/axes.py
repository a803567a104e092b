"""Checks of axes, shapes and counts that many ops share."""

from __future__ import annotations

from collections.abc import Sequence

from emu.graph.ir import Shape
from emu.graph.ops import OpError
from emu.graph.ops.elementwise import check_axis


def axes_of(axes: Sequence[int], rank: int, attribute: str = "axis") -> tuple[int, ...]:
    """Several axes counted from the front; none may come twice."""
    found = tuple(check_axis(axis, rank, attribute) for axis in axes)
    if len(set(found)) != len(found):
        raise OpError(f"{list(axes)} names an axis twice", attribute)
    return found


def need_rank(shape: Shape, rank: int, what: str) -> None:
    """Refuse a shape that has not `rank` dimensions."""
    if len(shape) != rank:
        raise OpError(f"{what} {list(shape)} has {len(shape)} dimensions, not {rank}")


def need_shape(shape: Shape, wanted: Shape, what: str) -> None:
    """Refuse a shape other than `wanted`."""
    if shape != wanted:
        raise OpError(f"{what} is {list(shape)}, not {list(wanted)}")


def need_count(values: Sequence[object], count: int, attribute: str) -> None:
    """Refuse an attribute list that has not `count` entries."""
    if len(values) != count:
        raise OpError(f"{len(values)} values, not {count}", attribute)


def need_positive(value: int, attribute: str) -> None:
    """Refuse a size that is not at least 1."""
    if value < 1:
        raise OpError(f"{value} is not positive", attribute)
