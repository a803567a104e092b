"""What a reference model is to the rest of the room, and how its tensors lie against a HEF's shapes.

A HEF says (height, width, features); a model says whatever its framework does. `fit` finds the ways in which a tensor's
shape can be read as the HEF's: features last (NHWC) or first (NCHW), neighbouring axes merged, axes of one left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from emu.hef.formats import QuantInfo, Shape

Array = NDArray[Any]
NCHW, NHWC = "NCHW", "NHWC"
LAYOUTS = (NCHW, NHWC)


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """One tensor of a model. A dimension of `shape` that the file leaves open is None, so is a shape not known at all.

    `node` is the name of the node that makes it and `op` that node's type, empty for an input. `layout` is where the
    model keeps features if the shape does not tell.
    """

    name: str
    shape: tuple[int | None, ...] | None
    dtype: np.dtype[Any]
    node: str = ""
    op: str = ""
    layout: str = NCHW


class ReferenceModel(Protocol):
    """A model that a HEF was compiled from, or that stands for one."""

    file: str
    kind: str

    @property
    def inputs(self) -> Mapping[str, TensorInfo]:
        """What has to be fed, in the model's order."""

    @property
    def tensors(self) -> Mapping[str, TensorInfo]:
        """Everything that nodes make, in an order in which they run."""

    def expose(self, names: Sequence[str]) -> None:
        """Have `run` able to give these tensors; the user's file stays as it is."""

    def quantise(self, name: str, qp: QuantInfo, highest: int) -> None:
        """Let whatever reads tensor `name` read it quantised to the codes 0..`highest`."""

    def run(self, feeds: Mapping[str, Array], names: Sequence[str]) -> dict[str, Array]:
        """The tensors `names` for one frame. HailoError where the model cannot be run."""


def squeezed(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(extent for extent in shape if extent != 1)


def _merged(dims: Sequence[int]) -> set[tuple[int, ...]]:
    """The shapes that hold three axes in this order: as they are, neighbours merged, all in one; without ones."""
    first, second, third = dims
    ways = ((first, second, third), (first * second, third), (first, second * third), (first * second * third,))
    return {squeezed(way) for way in ways}


def fit(shape: Sequence[int], wanted: Shape, preferred: str) -> tuple[str, ...]:
    """The layouts in which an array of `shape` holds `wanted`, the preferred one first; empty if it does not fit."""
    height, width, features = wanted
    given = squeezed(shape)
    found = [
        layout
        for layout, dims in ((NHWC, (height, width, features)), (NCHW, (features, height, width)))
        if given in _merged(dims)
    ]
    if not found and height == width == 1 and math.prod(shape) == features:
        found = [NHWC]  # flattened features: in the order of the model's memory
    return tuple(sorted(found, key=lambda layout: layout != preferred))


def to_features_last(array: Array, wanted: Shape, layout: str) -> Array:
    """A tensor that `fit` accepted, as [height, width, features]."""
    if layout == NHWC:
        return array.reshape(wanted)
    height, width, features = wanted
    return array.reshape(features, height, width).transpose(1, 2, 0)


def from_features_last(array: Array, shape: Sequence[int], layout: str) -> Array:
    """[height, width, features] as a tensor of `shape`, contiguous."""
    ordered = array if layout == NHWC else array.transpose(2, 0, 1)
    return np.ascontiguousarray(ordered).reshape(tuple(shape))


def input_shape(shape: Sequence[int | None], wanted: Shape, layout: str) -> tuple[int, ...] | None:
    """`shape` with its open dimensions settled so that it holds one frame of `wanted`; None if it cannot.

    An open first dimension in front of a frame is the batch, of which there is one.
    """
    height, width, features = wanted
    frame = (height, width, features) if layout == NHWC else (features, height, width)
    rank = len(shape)
    for dims in (frame, squeezed(frame), (math.prod(frame),)):
        lead = rank - len(dims)
        if lead < 0:
            continue
        full = (1,) * lead + tuple(dims)
        if all(have is None or have == want for have, want in zip(shape, full, strict=True)):
            return full
    if None not in shape and layout in fit([extent or 0 for extent in shape], wanted, layout):
        return tuple(extent or 0 for extent in shape)
    return None
