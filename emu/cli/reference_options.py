"""The options that name a reference model and explain it: `--reference`, `--map`, `--input-mean` and the like."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar

import click

from emu.reference.options import ReferenceOptions

F = TypeVar("F", bound=Callable[..., Any])


_BINDING = (
    click.option("--map", "maps", multiple=True, metavar="NAME=TENSOR", help="Bind by hand; TENSOR:NHWC says how."),
    click.option("--input-mean", metavar="M[,M,M]", help="Mean that the chip subtracts, per channel."),
    click.option("--input-scale", metavar="S[,S,S]", help="Deviation that the chip divides by, per channel."),
    click.option("--alls", metavar="FILE", help="Model script: normalisation and output activations."),
    click.option("--quantise-edges", is_flag=True, help="Also quantise the edges between contexts."),
)
_REFERENCE = click.option(
    "--reference",
    multiple=True,
    metavar="[GROUP=]FILE",
    help="Compute the outputs with this ONNX, OM or MS model.",
)


def binding_options(function: F) -> F:
    """Add the options without `--reference`; the command receives a `ReferenceOptions` as `reference`."""
    return _add(function, _BINDING)


def reference_options(function: F) -> F:
    """Add them all; the command receives a `ReferenceOptions` as `reference`."""
    return _add(function, (_REFERENCE, *_BINDING))


def _add(function: F, options: Sequence[Callable[[Any], Any]]) -> F:
    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        names = ReferenceOptions.__struct_fields__
        found = ReferenceOptions(**{name: kwargs.pop(name) for name in names if name in kwargs})
        return function(*args, reference=found, **kwargs)

    decorated: Any = wrapper
    for option in reversed(options):
        decorated = option(decorated)
    result: F = decorated
    return result
