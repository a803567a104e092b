"""Makes examples/lenet.ms: a small LeNet in the schema of MindSpore predict 0.5, its second layer quantised.

    python examples/make_lenet_ms.py [FILE]
    emu inspect examples/lenet.ms
    emu run examples/lenet.ms

A 12x12 image goes through two convolutions with pooling and two full connections to ten probabilities:

    input 1x12x12 ──Conv2D+RELU──► 4x10x10 ──Pooling──► 4x5x5 ──Conv2D (int8)──► 8x3x3 ──FullConnection──► 16
        ──Activation──► 16 ──FullConnection──► 10 ──SoftMax──► output

The weights are made up (seed 0). Those of the second convolution are stored as INT8 with one scale for each output
channel (quantType WeightQuant): a reader computes scale * (stored - zeroPoint).
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from emu.graph.writers.ms import SubGraphBuilder, write
from emu.schemas.generated import ms_v0_5 as ms

NONE = ms.QuantParamArray()


def lenet() -> ms.GraphDef:
    """The whole file as tables of the schema."""
    rng = np.random.default_rng(0)
    graph = SubGraphBuilder()

    def weights(*shape: int) -> np.ndarray:
        fan_in = int(np.prod(shape[1:]))
        return (rng.standard_normal(shape) / np.sqrt(fan_in)).astype(np.float32)

    image = graph.input((1, 1, 12, 12))

    first = graph.tensor((1, 4, 10, 10))
    operands = [image, graph.constant(weights(4, 1, 3, 3)), graph.constant(weights(4))]
    graph.node(convolution(channels=1, filters=4, activation=ms.ActivationType.RELU), operands, [first], name="conv1")

    pooled = graph.tensor((1, 4, 5, 5))
    pooling = ms.Pooling(windowW=2, windowH=2, strideW=2, strideH=2, padMode=ms.PadMode.VALID)
    graph.node(pooling, [first], [pooled], name="pool1")

    second = graph.tensor((1, 8, 3, 3))
    stored, params = quantised(weights(8, 4, 3, 3))
    graph.node(
        convolution(channels=4, filters=8),
        [pooled, graph.constant(stored), graph.constant(weights(8))],
        [second],
        name="conv2",
        quant_type=ms.QuantType.WeightQuant,
        quant_param=[NONE, params, NONE, NONE],  # inputs, then outputs
    )

    hidden, active, logits, output = (graph.tensor((1, size)) for size in (16, 16, 10, 10))
    dense = ms.FullConnection(hasBias=True, axis=1)
    graph.node(dense, [second, graph.constant(weights(16, 72)), graph.constant(weights(16))], [hidden], name="ip1")
    graph.node(ms.Activation(ms.ActivationType.RELU), [hidden], [active], name="relu1")
    graph.node(dense, [active, graph.constant(weights(10, 16)), graph.constant(weights(10))], [logits], name="ip2")
    graph.node(ms.SoftMax((1,)), [logits], [output], name="prob")
    graph.outputs.append(output)
    return graph.graph("lenet")


def convolution(
    channels: int, filters: int, activation: ms.ActivationType = ms.ActivationType.NO_ACTIVATION
) -> ms.Conv2D:
    """3x3, stride 1, no padding."""
    return ms.Conv2D(
        group=1,
        channelIn=channels,
        channelOut=filters,
        kernelW=3,
        kernelH=3,
        strideW=1,
        strideH=1,
        padMode=ms.PadMode.VALID,
        dilateW=1,
        dilateH=1,
        hasBias=True,
        activationType=activation,
    )


def quantised(weight: np.ndarray) -> tuple[np.ndarray, ms.QuantParamArray]:
    """The weight as INT8 in -127..127, and its parameters: one scale for each output channel (axis 0)."""
    scales = np.abs(weight).reshape(len(weight), -1).max(axis=1) / 127
    stored = np.rint(weight / scales.reshape(-1, 1, 1, 1)).astype(np.int8)
    params = tuple(ms.QuantParam(scale=scale, narrowRange=True, numBits=8) for scale in scales.tolist())
    return stored, ms.QuantParamArray(params)


def main() -> None:
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("lenet.ms")
    target.write_bytes(write(lenet()))
    print(f"{target}: {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
