"""Makes examples/computed_digits.hef: a network that classifies handwritten digits, whose outputs emu computes.

    python examples/make_computed_digits.py [FILE]       (needs scikit-learn: digits, training)

8 x 8 pixels of 17 greys (codes 0 to 240) pass a 3 x 3 convolution of 16 fixed filters, a 2 x 2 maximum, a dense layer
of 32 and one of 10 outputs. The weights are rounded to 8 bits and written as a chip's configuration (emu.net.build).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

from emu.hef.formats import Shape
from emu.hef.writer import write_hef
from emu.net.build import IntegerLayer, line, rectifier
from emu.net.build_hef import Quantised, hef_contents
from emu.net.layers import Kind

NAME = "digits"
TIMESTAMP_MS = 1_704_067_200_000  # 2024-01-01T00:00:00Z
FILTERS, HIDDEN, SEED = 16, 32, 3
GREY = 15  # codes of one step of the digits' 17
UNSEEN = 4  # every fourth digit is not trained with
LOGIT_ZERO_POINT = 128

Floats = NDArray[np.float64]


def filters() -> Floats:
    """Sixteen 3 x 3 filters [output, row, column]: steps and ridges in eight directions."""
    angles = np.arange(FILTERS) * 2 * np.pi / FILTERS
    rows, columns = np.mgrid[-1:2, -1:2]
    return np.stack([np.cos(a) * rows + np.sin(a) * columns + 0.4 * np.cos(2 * a + rows * columns) for a in angles])


def features(images: Floats) -> Floats:
    """What the dense layers see of images [n, 8, 8]: [n, 4 * 4 * filters], in the order row, column, channel."""
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    maps = sum(
        padded[:, row : row + 8, column : column + 8, None] * filters()[:, row, column]
        for row in range(3)
        for column in range(3)
    )
    return np.maximum(maps, 0).reshape(-1, 4, 2, 4, 2, FILTERS).max((2, 4)).reshape(len(images), -1)


def quantised(
    kind: Kind, kernel: Floats, bias: Floats, scale: float, level: int, result: float, zero_point: int | None = None
) -> IntegerLayer:
    """A layer of inputs of `scale` and outputs of scale `result`; `zero_point`: of a line instead of a rectifier."""
    step = float(np.abs(kernel).max()) / 127
    acc = scale * step * 2 ** (2 + level)
    slope = acc / result
    return IntegerLayer(
        kind,
        np.round(kernel / step).astype(np.int8),
        np.round(2 * bias / acc).astype(np.int16),
        level,
        0,
        rectifier(slope) if zero_point is None else line(slope, zero_point),
        padded=kind is Kind.CONV,
    )


def network() -> tuple[list[Any], float]:
    """The layers, and the scale of their output."""
    digits = load_digits()
    trained = np.arange(len(digits.images)) % UNSEEN != UNSEEN - 1
    images = digits.images[trained] * GREY
    seen = features(images)
    top = float(seen.max())
    model = MLPClassifier((HIDDEN,), alpha=0.3, max_iter=600, random_state=SEED)
    model.fit(seen / top, digits.target[trained])
    (first, second), (first_bias, second_bias) = model.coefs_, model.intercepts_
    hidden = np.maximum(seen / top @ first + first_bias, 0)
    logits = hidden @ second + second_bias
    seen_scale, hidden_scale = 1 / 255, float(hidden.max()) / 255
    logit_scale = float(np.abs(logits).max()) / 127
    layers = [
        quantised(Kind.CONV, filters()[..., None] / top, np.zeros(FILTERS), 1.0, 1, seen_scale),
        IntegerLayer(Kind.MAX_POOL),
        quantised(Kind.DENSE, first.T, first_bias, seen_scale, 3, hidden_scale),
        quantised(Kind.DENSE, second.T, second_bias, hidden_scale, 2, logit_scale, LOGIT_ZERO_POINT),
    ]
    return layers, logit_scale


def main(argv: list[str]) -> None:
    path = Path(argv[1]) if len(argv) > 1 else Path(__file__).with_name("computed_digits.hef")
    layers, scale = network()
    source = Quantised(f"{NAME}/input_layer1", Shape(8, 8, 1), 0, 1.0)
    result = Quantised(f"{NAME}/fc2", Shape(1, 1, 10), LOGIT_ZERO_POINT, scale)
    path.write_bytes(write_hef(hef_contents(NAME, [layers], [source, result], TIMESTAMP_MS), version=2))


if __name__ == "__main__":
    main(sys.argv)
