"""What a lowering sees of the node it turns into an op, and the registry of lowerings.

A lowering takes the operator's attribute table (of either generation) and the `Site`, and returns the IR op. It raises
OpError for what it refuses; the reader turns that into the node's refusal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from emu.errors import GraphStatus
from emu.graph.ir import Array, Layout, Shape, Tensor
from emu.graph.ops import Op, OpError
from emu.schemas.generated import ms_v0_1, ms_v0_5

Lowering = Callable[[Any, "Site"], Op | None]
F = TypeVar("F", bound=Lowering)

LOWERINGS: dict[str, Lowering] = {}
"""By the name of the member of OpT."""


@dataclass(slots=True)
class Site:
    """The operands and results of one node; `more` collects constants that the op needs beside the file's operands,
    `notes` what the attributes say otherwise than the tensors, which decide.

    `is_last_conv`: the file has the result of the op transposed from NCHW to NHWC (MS-O18).
    """

    type: str
    inputs: list[Tensor]
    outputs: list[Tensor]
    quantised: list[bool]
    is_last_conv: bool = False
    more: list[Array] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def shape(self, place: int) -> Shape:
        """Dims of input `place`; refused where it is absent."""
        self.need(place + 1)
        return self.inputs[place].shape

    def need(self, count: int) -> None:
        """Refuse fewer inputs than `count`."""
        if len(self.inputs) < count:
            raise OpError(f"needs {count} inputs, has {len(self.inputs)}", status=GraphStatus.GRAPH_STRUCTURE)

    def need_exactly(self, count: int) -> None:
        """Refuse any other number of inputs."""
        if len(self.inputs) != count:
            raise OpError(f"takes {count} inputs, has {len(self.inputs)}", status=GraphStatus.GRAPH_STRUCTURE)

    def need_outputs(self, count: int) -> None:
        """Refuse any other number of outputs."""
        if len(self.outputs) != count:
            raise OpError(
                f"gives {count} outputs, the file has {len(self.outputs)}", status=GraphStatus.GRAPH_STRUCTURE
            )

    def need_real(self, place: int) -> None:
        """Refuse a weight of 8 bits whose values mean nothing without parameters (MS-Q2)."""
        if self.inputs[place].dtype.itemsize == 1 and not self.quantised[place]:
            raise OpError(
                f"the {self.inputs[place].dtype} weight has no quantisation parameters",
                status=GraphStatus.GRAPH_UNSUPPORTED,
            )

    @property
    def output_shape(self) -> Shape:
        """Dims of the only, or first, result as the op computes it."""
        if not self.outputs:
            raise OpError("has no output", status=GraphStatus.GRAPH_STRUCTURE)
        shape = self.outputs[0].shape
        return (shape[0], shape[3], shape[1], shape[2]) if self.is_last_conv and len(shape) == 4 else shape

    def weight_axes(self, place: int, own: str, wanted: str) -> tuple[int, ...]:
        """Axes that bring a weight from the order its format names to `wanted`; NCHW there means `own` (MS-T4)."""
        layout = self.inputs[place].layout
        order = own if layout in (Layout.NCHW, Layout.NC4HW4) else layout.value
        if sorted(order) != sorted(wanted):
            raise unsupported(f"weight format {layout} does not say which axis is K")
        return tuple(order.index(axis) for axis in wanted)


def lowers(*names: str) -> Callable[[F], F]:
    """Register a lowering for members of OpT."""

    def register(function: F) -> F:
        for name in names:
            assert name not in LOWERINGS
            LOWERINGS[name] = function
        return function

    return register


def unsupported(message: str, attribute: str | None = None) -> OpError:
    """The refusal of a value that the formats do not define."""
    return OpError(message, attribute, GraphStatus.GRAPH_UNSUPPORTED)


def channels_last(attributes: Any) -> bool:
    """The activation layout of an op by its `format` field (MS-T6)."""
    if attributes.format in (ms_v0_5.Format.NCHW, ms_v0_1.DataFormatType.NCHW):
        return False
    if attributes.format in (ms_v0_5.Format.NHWC, ms_v0_1.DataFormatType.NHWC):
        return True
    raise unsupported(f"{attributes.format.name}, an activation is NCHW or NHWC", "format")
