"""Writes a chain of integer layers as the well-formed configuration of one cluster (emu.net.build_hef: as a HEF).

What is written is what emu.net reads (network.md); a real chip would miss the LCUs' programs, whose instructions are
not known. For examples and tests.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from emu.hw.config import build
from emu.net.layers import L2_END, L2_START, LINE, Curve, Kind
from emu.net.units import VALID
from emu.net.weights import INTERLEAVED, OUTPUTS

_CODES = {Kind.CONV: 0x2F, Kind.DENSE: 0x30, Kind.MAX_POOL: 0x20, Kind.SCALE: 0x2A}
_NOWHERE = 0x7F  # an entry of a row of the graph
_CONTROL_WORDS = 1124
_MOST_LAYERS = 16
_SCATTERS = {"sub-cluster": (1, 0, 7), "APU": (2, 0xC00000, 43), "input aligner": (4, 0x400000, 6)}
_ALIGNMENT = 64
_PADDED = struct.pack(
    "<8xI3s", 0x20000880, bytes((0x02, 0x80, 0x00))
)  # an instruction of padded layers (network.md 11)
_PLAIN = struct.pack("<15B", *range(15))
IDENTITY = Curve((0,) * 8, ((512, 0),) * 9, (0,) * 9, False)


@dataclass(frozen=True, slots=True)
class IntegerLayer:
    """One layer of a chain, as emu.net.weights.Weights and emu.net.layers.Curve have it.

    `kernel` and `bias` are None of a pool; `padded` of a convolution: the map keeps its size at stride 1.
    """

    kind: Kind
    kernel: NDArray[np.int8] | None = None
    bias: NDArray[np.int16] | None = None
    level: int = 0
    zero_point: int = 0
    curve: Curve = IDENTITY
    padded: bool = False


def rectifier(slope: float, zero_point: int = 0) -> Curve:
    """max(0, slope * acc) behind a zero point, with the nearest slope that registers hold."""
    return Curve((0, *(0x7FFF,) * 7), ((0, 1), *(_slope(slope),) * 8), (8 * zero_point,) * 9, False)


def line(slope: float, zero_point: int = 0) -> Curve:
    """slope * acc behind a zero point, with the nearest slope that registers hold."""
    return Curve((0,) * 8, (_slope(slope),) * 9, (8 * zero_point,) * 9, False)


def _slope(value: float) -> tuple[int, int]:
    for exponent in range(15, -1, -1):
        mantissa = round(value * 512 * 2**exponent)
        if -2048 <= mantissa < 2048:
            return mantissa, exponent
    raise ValueError(f"a slope of {value}: registers hold less than 4")


def cluster_writes(layers: Sequence[IntegerLayer]) -> Iterator[tuple[int, Sequence[int]] | build.Scatter]:
    """What the cluster's program writes; layer n is LCU n with sub-cluster, APU and input aligner n.

    ValueError for a chain that does not fit a cluster.
    """
    if not 1 <= len(layers) <= _MOST_LAYERS:
        raise ValueError(f"{len(layers)} layers: a cluster has {_MOST_LAYERS} LCUs")
    numbers = range(len(layers))
    yield 0xE00000, _control(len(layers))
    words = {"sub-cluster": _sub_cluster, "APU": _apu, "input aligner": _aligner}
    for unit, (kind, address, _) in _SCATTERS.items():
        order = sorted(numbers, key=lambda number: (number & 3, number)) if unit == "sub-cluster" else numbers
        table = np.array([words[unit](layers[number]) for number in order], np.uint32)
        yield build.Scatter(kind, address, table.T.reshape(-1).tolist())
    yield 0xA00000, [0] * 8
    yield 0xB00000, [0] * 8
    for number, layer in enumerate(layers):
        memory = _memory(layer)
        if memory:
            if len(memory) > L2_END - L2_START:
                raise ValueError(f"layer {number}: {len(memory)} bytes of biases and weights, a sub-cluster has 16384")
            yield number * 0x10000 + L2_END - len(memory), np.frombuffer(memory, "<u4").tolist()
        base = 0x800000 + number * 0x20000
        size = len(memory) if memory else 0x4000
        yield base + 0xE018, [0x400 - size // LINE]
        loop, groups = _words(layer) - 1, _groups(layer)
        yield base + 0xD008, [loop if layer.kind is Kind.DENSE else 0, loop if layer.kind is Kind.CONV else 0]
        yield base + 0xE008, [8 * groups - 4, 0] if layer.kind is Kind.CONV else [0, 4 * max(groups, 1) - 4]
        if layer.kind is Kind.CONV:
            # its address generator goes over rows as they stand, eight columns after the other: stride 1
            yield base + 0x8024, [0x1000]
            yield base + 0x8078, [1]  # widths are left to be solved: no loop over channels
        yield from build.lcu_writes(number, [_PLAIN, _PADDED] if layer.padded else [_PLAIN])


def _control(count: int) -> list[int]:
    """The tables of units and the rows of the graph (network.md 2, 3)."""
    words = [0] * _CONTROL_WORDS
    for number in range(count):
        words[(0x7B4 + 4 * number) // 4] = VALID | (number - 12 - (number + 2) // 4) % 16
        words[(0x8B4 + 4 * number) // 4] = VALID | (number - 12 - (4 * number + 2) // 5) % 16
        words[(0x904 + 4 * number) // 4] = VALID | (number - 14 - (number + 1) // 2) % 16
        for first in (0, 64, 84):
            words[0x5E4 // 4 + first + number] = VALID
    rows = [[_NOWHERE] * 8 for _ in range(32)]
    rows[16][0] = 16 << 3  # input buffer 0 to port 0 of LCU 0
    for number in range(count):
        rows[number][0] = 8 << 3 if number == 0 else (16 + number - 1) << 3 | 1  # the acknowledgement
        rows[number][1] = 0 if number == count - 1 else (16 + number + 1) << 3
    rows[24][0] = (16 + count - 1) << 3 | 1
    words[0xB88 // 4 : 0xB88 // 4 + 256] = [word for row in rows for word in row]
    return words


def _steps(layer: IntegerLayer) -> int:
    return 1 if layer.kind is Kind.DENSE else max(_groups(layer), 1)


def _sub_cluster(layer: IntegerLayer) -> list[int]:
    return [_CODES[layer.kind] << 12 | (_steps(layer) - 1) << 4 | layer.level << 2, 0, 0, 0, 0, 0, 0]


def _aligner(layer: IntegerLayer) -> list[int]:
    return [0, 2 << layer.level if layer.kernel is not None else 0, layer.zero_point, 0, 0, 0]


def _apu(layer: IntegerLayer) -> list[int]:
    curve = layer.curve
    slopes = [mantissa & 0xFFF | exponent << 12 for mantissa, exponent in curve.slopes]
    breaks = [brk & 0xFFFF for brk in curve.breaks]
    return [8 if curve.wide else 0, 0, *breaks, *slopes, *curve.offsets, *[0] * 15]


def _groups(layer: IntegerLayer) -> int:
    return 0 if layer.kernel is None else -(-len(layer.kernel) // OUTPUTS)


def _words(layer: IntegerLayer) -> int:
    return 1 if layer.kernel is None else _groups(layer) * (layer.kernel.size // len(layer.kernel))


def _memory(layer: IntegerLayer) -> bytes:
    """Biases, zeros and weights of a layer, as they lie up to 0xC000 (network.md 5)."""
    if layer.kernel is None or layer.bias is None:
        return b""
    outputs = -(-len(layer.kernel) // OUTPUTS) * OUTPUTS
    groups = outputs // OUTPUTS
    kernel = np.zeros((outputs, *layer.kernel.shape[1:]), np.int8)
    kernel[: len(layer.kernel)] = layer.kernel
    bias = np.zeros(outputs, "<i2")
    bias[: len(layer.bias)] = layer.bias
    if layer.kind is Kind.DENSE:
        lines = np.repeat(bias.reshape(groups, 1, OUTPUTS), 4, 1)
        words = kernel.reshape(groups, OUTPUTS, -1).transpose(0, 2, 1).reshape(-1, OUTPUTS)[::-1]
    else:
        lines = np.repeat(bias[:, None], OUTPUTS, 1)
        taps = kernel.reshape(groups, OUTPUTS, -1) if layer.kind is Kind.SCALE else _taps(kernel, groups)
        words = taps.transpose(2, 0, 1).reshape(-1, OUTPUTS)[::-1][:, list(INTERLEAVED)]
    head, tail = lines.tobytes(), np.ascontiguousarray(words).tobytes()
    return head + bytes(-(len(head) + len(tail)) % _ALIGNMENT) + tail


def _taps(kernel: NDArray[np.int8], groups: int) -> NDArray[np.int8]:
    """[group, output, input * row * column]: the order in which words rise from the end of memory."""
    return kernel.transpose(0, 3, 1, 2).reshape(groups, OUTPUTS, -1)
