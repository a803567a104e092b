"""The table model: a guess for a network of which there is no HEF, from parameters, operations and input size.

It looks the network up among Hailo's published figures: those of the networks most like it on the same device, in
`published.csv` (benchmarks/calibrate.py writes it, and `table_model.toml`, which says how well this does on networks
that are not in the table). Never used where a HEF is given.
"""

from __future__ import annotations

import csv
import math
import tomllib
from collections.abc import Callable, Sequence
from functools import cache
from importlib import resources
from itertools import accumulate
from typing import Any, NamedTuple

from msgspec import Struct

from emu.errors import UsageError
from emu.numerals import whole_number

_LARGE_BATCH = 8  # the batch of the published figures besides 1
_SLACK = 4.0  # how far outside of the table a network may lie and still be guessed at
# what networks are compared by (see `Network.features`), how many are looked at, how much nearer ones count for more
_FPS_WEIGHTS, _FPS_NEIGHBOURS, _FPS_POWER = (1.0, 1.0, 1.0, 0.3), 12, 2.0
_RATIO_WEIGHTS, _RATIO_NEIGHBOURS, _RATIO_POWER = (1.0, 0.25, 0.25, 0.3), 7, 1.0
_FPS_OF_OPERATIONS = -0.5  # FPS go with operations to this power among networks that are alike
_LIKE = 3  # of the most similar networks are named
_NEAR = 0.05  # nearer than this counts as this


class Network(Struct, frozen=True):
    """Parameters in millions, operations (2 x MAC) in 1e9, pixels and channels of the input."""

    parameters: float
    operations: float
    pixels: int
    channels: int

    def features(self) -> tuple[float, float, float, float]:
        """What networks are compared by, as logarithms."""
        sizes = (self.parameters, self.operations, self.pixels, self.channels)
        return tuple(map(math.log, sizes))  # type: ignore[return-value]


class Published(NamedTuple):
    """A network on a device: the median of its published figures over all releases."""

    device: str
    model: str
    network: Network
    features: tuple[float, ...]
    fps1: float
    fps8: float


class BatchGuess(Struct, frozen=True):
    """FPS at a batch size; 8 of 10 networks left out of the table were between `low` and `high`."""

    batch: int
    fps: float
    low: float
    high: float


class TableEstimate(Struct, frozen=True):
    """Frames per second at each batch size, labelled as what they are; `like`: the most similar networks."""

    device: str
    network: Network
    batches: tuple[BatchGuess, ...]
    like: tuple[str, ...]
    accuracy: dict[str, Any]

    def document(self) -> dict[str, Any]:
        """The JSON form; `kind` differs from that of an estimate of a HEF."""
        return {
            "kind": "table model",
            "device": self.device,
            "network": {
                "params_M": self.network.parameters,
                "ops_G": self.network.operations,
                "pixels": self.network.pixels,
                "channels": self.network.channels,
            },
            "batches": [
                {"batch": one.batch, "fps": one.fps, "fps_interval": [one.low, one.high]} for one in self.batches
            ],
            "like": list(self.like),
            "accuracy": self.accuracy,
            "assumptions": [
                {"name": "table model", "value": self.device, "unit": "device", "source": self.accuracy["how"]},
            ],
        }


def parse_network(text: str) -> Network:
    """`PARAMS_M,OPS_G,HxWxC`; UsageError for anything else, and for what is far from every published network."""
    try:
        parameters, operations, shape = text.split(",")
        height, width, channels = (whole_number(part, "--table", 1) for part in shape.split("x"))
        network = Network(float(parameters), float(operations), height * width, channels)
        finite = min(height, width) > 0 and all(map(math.isfinite, network.features()))
    except (ValueError, OverflowError):
        finite = False
    if not finite:
        raise UsageError(f"--table takes PARAMS_M,OPS_G,HxWxC with positive numbers, not {text!r:.80}")
    for what, measure in _MEASURES.items():
        values = [measure(row.network) for row in published()]
        low, high, value = min(values) / _SLACK, max(values) * _SLACK, measure(network)
        if not low <= value <= high:
            raise UsageError(
                f"--table {text:.80}: {value:.3g} {what} are out of range, published networks have "
                f"{min(values):.3g} to {max(values):.3g}"
            )
    return network


_MEASURES: dict[str, Callable[[Network], float]] = {
    "million parameters": lambda network: network.parameters,
    "billion operations": lambda network: network.operations,
    "input pixels": lambda network: float(network.pixels),
    "input channels": lambda network: float(network.channels),
    "operations a parameter": lambda network: network.operations * 1e3 / network.parameters,
    "operations a parameter and input pixel": lambda network: (
        network.operations * 1e3 / network.parameters / network.pixels
    ),
}


def table_estimate(device: str, network: Network, batches: Sequence[int]) -> TableEstimate:
    """Figures of the table model; UsageError for a device that the table does not cover."""
    rows = [row for row in published() if row.device == device]
    if not rows:
        known = ", ".join(sorted({row.device for row in published()}))
        raise UsageError(f"no published figures for {device}: the table model knows {known}")
    fps1, fps8 = look_up(rows, network)
    spread, accuracy = _accuracy()["interval"], _accuracy()["accuracy"]
    # time of a batch = fixed + batch x interval, through the two
    period1, period8 = 1 / fps1, _LARGE_BATCH / fps8
    interval = (period8 - period1) / (_LARGE_BATCH - 1)
    guesses = []
    for batch in batches:
        fps = batch / (period1 + (batch - 1) * interval)
        low, high = spread["fps1" if batch == 1 else "fps8"]
        guesses.append(BatchGuess(batch, fps, fps * low, fps * high))
    like = tuple(dict.fromkeys(row.model for row, _ in _nearest(rows, network, _FPS_WEIGHTS, _LIKE, 1.0)))
    own = _accuracy()["devices"][device]
    return TableEstimate(device, network, tuple(guesses), like, {**accuracy, "device": own})


def look_up(rows: Sequence[Published], network: Network) -> tuple[float, float]:
    """FPS at batch 1 and 8 from the rows of one device: the published ones of the networks most like this one.

    The FPS at batch 8 are a mean, corrected for operations; batch 8 / batch 1 is the middle of those of the networks
    that are alike in size, which decides how many contexts there are.
    """
    logs = [
        (math.log(row.fps8) + _FPS_OF_OPERATIONS * (math.log(network.operations / row.network.operations)), weight)
        for row, weight in _nearest(rows, network, _FPS_WEIGHTS, _FPS_NEIGHBOURS, _FPS_POWER)
    ]
    fps8 = math.exp(sum(value * weight for value, weight in logs) / sum(weight for _, weight in logs))
    ratios = sorted(
        (row.fps8 / row.fps1, weight)
        for row, weight in _nearest(rows, network, _RATIO_WEIGHTS, _RATIO_NEIGHBOURS, _RATIO_POWER)
    )
    half = sum(weight for _, weight in ratios) / 2
    passed = accumulate(weight for _, weight in ratios)
    ratio = next(ratio for (ratio, _), weight in zip(ratios, passed, strict=True) if weight >= half)
    return fps8 / min(max(ratio, 1.0), _LARGE_BATCH * 0.99), fps8


def _nearest(
    rows: Sequence[Published], network: Network, weights: Sequence[float], count: int, power: float
) -> list[tuple[Published, float]]:
    """The rows most like a network, each with what it counts for."""
    features = network.features()
    found = sorted((_distance(row.features, features, weights), at) for at, row in enumerate(rows))[:count]
    return [(rows[at], (distance + _NEAR) ** -power) for distance, at in found]


def _distance(one: Sequence[float], other: Sequence[float], weights: Sequence[float]) -> float:
    return math.hypot(*[(a - b) * weight for a, b, weight in zip(one, other, weights, strict=True)])


@cache
def published() -> tuple[Published, ...]:
    """The table, in the order of its file."""
    text = resources.files(__package__).joinpath("published.csv").read_text(encoding="utf-8")
    found = []
    for row in csv.DictReader(text.splitlines()):
        network = Network(float(row["params_M"]), float(row["ops_G"]), int(row["pixels"]), int(row["channels"]))
        fps = float(row["fps1"]), float(row["fps8"])
        found.append(Published(row["device"], row["model"], network, network.features(), *fps))
    return tuple(found)


@cache
def _accuracy() -> dict[str, Any]:
    text = resources.files(__package__).joinpath("table_model.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
