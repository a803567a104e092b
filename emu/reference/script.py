"""A Hailo model script (.alls), as far as it says what moved into the chip: normalisation and output activations.

Lines are commands: `normalization1 = normalization([means], [deviations])`, with the input layer as a third argument
where there are several, and `change_output_activation(layer, sigmoid)`. Everything else is passed over.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from pathlib import Path

from emu.errors import UsageError
from emu.files import open_regular

_MAX_BYTES = 1 << 20
_COMMAND = re.compile(r"^\s*(?:([\w/.,\s-]+?)\s*=\s*)?(normalization|change_output_activation)\s*\((.*)\)\s*;?\s*$")


@dataclass(frozen=True, slots=True)
class Normalisation:
    """(x - mean) / deviation per channel; `layer` is the input layer it belongs to, empty where there is one."""

    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    layer: str = ""


@dataclass(slots=True)
class ModelScript:
    """What a script says. `activations` has layer names (without the network's) and "" for all outputs."""

    normalisations: list[Normalisation] = field(default_factory=list)
    activations: dict[str, str] = field(default_factory=dict)


def read_script(path: Path) -> ModelScript:
    """UsageError for a file that is no script, with the line."""
    with open_regular(path) as file:
        data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES or b"\0" in data:
        raise UsageError(f"{path} is no model script", file=str(path))
    script = ModelScript()
    for number, line in enumerate(data.decode(errors="replace").splitlines(), 1):
        match = _COMMAND.match(line.split("#", 1)[0])
        if match is None:
            continue
        arguments = _arguments(match[3])
        try:
            if match[2] == "normalization":
                script.normalisations.append(_normalisation(arguments))
            else:
                _activation(script, arguments)
        except ValueError as error:
            raise UsageError(f"{path}: {error}", file=str(path), line=number) from None
    return script


def _arguments(text: str) -> list[str]:
    """The arguments of a command: split at commas outside brackets."""
    parts, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [part.strip() for part in [*parts, text[start:]] if part.strip()]


def _numbers(text: str) -> tuple[float, ...]:
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        raise ValueError(f"{text[:40]!r} is no list of numbers") from None
    values = found if isinstance(found, list | tuple) else [found]
    if not values or not all(isinstance(value, int | float) for value in values):
        raise ValueError(f"{text[:40]!r} is no list of numbers")
    return tuple(float(value) for value in values)


def _normalisation(arguments: list[str]) -> Normalisation:
    if len(arguments) < 2:
        raise ValueError("normalization takes means and deviations")
    mean, deviation = _numbers(arguments[0]), _numbers(arguments[1])
    if len(mean) != len(deviation):
        raise ValueError(f"{len(mean)} means and {len(deviation)} deviations")
    return Normalisation(mean, deviation, _layer(arguments[2]) if len(arguments) > 2 else "")


def _activation(script: ModelScript, arguments: list[str]) -> None:
    if not arguments:
        raise ValueError("change_output_activation takes an activation")
    layers, activation = arguments[:-1], arguments[-1].split("=")[-1].strip()
    names = [_layer(name) for layer in layers for name in layer.strip("[]").split(",")] or [""]
    script.activations.update(dict.fromkeys(names, activation))


def _layer(text: str) -> str:
    """A layer without the scope of its network."""
    return text.strip().rpartition("/")[2]
