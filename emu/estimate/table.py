"""The table model: a guess for a network of which there is no HEF, from parameters, operations and input size.

It is fitted to published figures of other networks (benchmarks/calibrate.py) and assumes that the network needs more
than one context. Never used where a HEF is given.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from emu.errors import UsageError


@dataclass(frozen=True, slots=True)
class Network:
    """Parameters in millions, operations (2 x MAC) in 1e9, input bytes."""

    parameters: float
    operations: float
    input_bytes: int

    def features(self) -> tuple[float, float, float, float]:
        """What the fits are linear in."""
        return (1.0, math.log(self.parameters), math.log(self.operations), math.log(self.input_bytes))


@dataclass(frozen=True, slots=True)
class TableEstimate:
    """Frames per second at each batch size, labelled as what they are."""

    device: str
    network: Network
    fps: tuple[tuple[int, float], ...]
    source: str

    def document(self) -> dict[str, Any]:
        """The JSON form; `kind` differs from that of an estimate of a HEF."""
        return {
            "kind": "table model",
            "device": self.device,
            "network": {
                "params_M": self.network.parameters,
                "ops_G": self.network.operations,
                "input_bytes": self.network.input_bytes,
            },
            "batches": [{"batch": batch, "fps": fps} for batch, fps in self.fps],
            "assumptions": [
                {"name": "contexts", "value": "more than one", "unit": "", "source": "guessed: no HEF is given"},
                {"name": "table model", "value": self.device, "unit": "device", "source": self.source},
            ],
        }


def parse_network(text: str) -> Network:
    """`PARAMS_M,OPS_G,HxWxC`; UsageError for anything else."""
    try:
        parameters, operations, shape = text.split(",")
        height, width, channels = (int(part) for part in shape.split("x"))
        network = Network(float(parameters), float(operations), height * width * channels)
        finite = all(map(math.isfinite, network.features()))
    except (ValueError, OverflowError):
        finite = False
    if not finite:
        raise UsageError(f"--table takes PARAMS_M,OPS_G,HxWxC with positive numbers, not {text!r}")
    return network


def table_estimate(device: str, network: Network, batches: Sequence[int]) -> TableEstimate:
    """Figures of the table model; UsageError for a device that the table does not cover."""
    model = _model()
    if device not in model:
        raise UsageError(f"no published figures for {device}: the table model knows {', '.join(model)}")
    entry = model[device]
    source = f"{entry['basis']}: {entry['source']}"
    fixed = fixed_intervals(entry["fixed_intervals"], network)
    batch8_s = 8 * math.exp(-_dot(entry["log_fps8"], network))
    interval_s = batch8_s / (fixed + 8)
    return TableEstimate(
        device,
        network,
        tuple((batch, batch / (interval_s * (fixed + batch))) for batch in batches),
        source,
    )


def fixed_intervals(coefficients: Sequence[float], network: Network) -> float:
    """The fixed time of a batch (configuration, switches, fill), in intervals of a frame."""
    return math.exp(_dot(coefficients, network))


def _dot(coefficients: Sequence[float], network: Network) -> float:
    total = sum(c * f for c, f in zip(coefficients, network.features(), strict=True))
    return max(-50.0, min(50.0, total))  # far outside of the table: still finite


@cache
def _model() -> dict[str, dict[str, Any]]:
    text = resources.files(__package__).joinpath("table_model.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
