"""A network computed in integers, a layer at a time over many frames at once (network.md 6, 11).

Maps are arrays [frames, rows, columns, channels] of codes as the chip has them, zero points left in. The accumulator
is held as A = acc * 2 ** (2 + L), an integer; it has 16 bits of half units, in which biases and breaks are counted too,
and wraps around. Rounding of a real chip is not proven: half is rounded up here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from emu.net.dataflow import Source, Stream
from emu.net.layers import Curve, Kind
from emu.net.network import Layer, Network
from emu.net.shapes import Area, Geometry
from emu.net.units import LcuId
from emu.net.weights import Weights

Codes = NDArray[Any]
Floats = NDArray[np.floating[Any]]

_EXACT = 1 << 24  # integers below are exact in float32
_LIMIT = 1 << 15  # of the accumulator, in half units
_HALF = 0.5
_BLOCKS = (8, 4, 2, 1)  # columns that a convolution computes at once
_WIDEST = 48  # values of a row of windows up to which that pays


class Computation:
    """Computes the output streams of a network, all of whose needed layers are read and have their geometry."""

    def __init__(self, network: Network, geometry: Mapping[LcuId, Geometry], outputs: tuple[int, ...]) -> None:
        self._network = network
        self._outputs = outputs
        self._geometry = geometry
        self._layers = network.needed(outputs)
        self._products = {
            layer.lcu: _Product(layer, layer.weights) for layer in self._layers if layer.weights is not None
        }
        self._last_use: dict[Source, int] = {}
        for place, layer in enumerate(self._layers):
            self._last_use.update(dict.fromkeys(layer.inputs, place))
        self._pooled = self._pools_of_sums()

    def __call__(self, inputs: Mapping[int, Codes]) -> dict[int, Codes]:
        """Codes of the output streams by sys_index, [frames, rows, columns, channels], from those of the inputs."""
        kept = {self._network.outputs[index] for index in self._outputs}
        maps: dict[Source, Codes] = {Stream(index): codes for index, codes in inputs.items()}
        for place, layer in enumerate(self._layers):
            if layer.lcu in self._pooled:
                self._rectify_pool(layer, maps)
            elif layer.lcu not in maps:
                maps[layer.lcu] = self._layer(layer, [maps[source] for source in layer.inputs])
            for source in layer.inputs:
                if self._last_use[source] == place and source not in kept:
                    maps.pop(source, None)
        found = {}
        for index in self._outputs:
            carried = self._network.outputs[index]
            if carried is None:
                raise KeyError(f"stream {index} carries nothing that was read")
            features = self._network.streams[index].shape.features
            found[index] = maps[carried][..., :features]
        return found

    def maps(self, inputs: Mapping[int, Codes]) -> dict[Source, Codes]:
        """The maps of all needed layers and of the input streams, each layer by itself."""
        maps: dict[Source, Codes] = {Stream(index): codes for index, codes in inputs.items()}
        for layer in self._layers:
            maps[layer.lcu] = self._layer(layer, [maps[source] for source in layer.inputs])
        return maps

    def _pools_of_sums(self) -> dict[LcuId, Layer]:
        """Convolutions whose map only one pool reads, and whose curve never falls: the pool may come first."""
        readers: dict[Source, list[Layer]] = {}
        for layer in self._layers:
            for source in layer.inputs:
                readers.setdefault(source, []).append(layer)
        carried = set(self._network.outputs.values())
        found = {}
        for layer in self._layers:
            after = readers.get(layer.lcu, [])
            if layer.kind is not Kind.CONV or len(layer.inputs) != 1 or layer.lcu in carried or len(after) != 1:
                continue
            pool = after[0]
            if (
                pool.kind is Kind.MAX_POOL
                and not self._geometry[pool.lcu].window.padded
                and layer.registers.curve.never_falls
            ):
                found[layer.lcu] = pool
        return found

    def _rectify_pool(self, layer: Layer, maps: dict[Source, Codes]) -> None:
        """A convolution and its pool at once: the largest sums, then the curve for a fraction of them; where a sum
        wraps around the pool has to come last."""
        pool = self._pooled[layer.lcu]
        product, registers = self._products[layer.lcu], layer.registers
        codes = maps[layer.inputs[0]]
        sums = product.without_bias(codes, self._geometry[layer.lcu])
        if product.may_wrap(sums, codes):
            given = activate(product.with_bias(sums), registers.curve, registers.level)
            maps[pool.lcu] = _max_pool(given, self._geometry[pool.lcu])
            return
        largest = _max_pool(sums, self._geometry[pool.lcu])
        maps[pool.lcu] = activate(product.with_bias(largest), registers.curve, registers.level, wraps=False)

    def _layer(self, layer: Layer, inputs: list[Codes]) -> Codes:
        geometry = self._geometry[layer.lcu]
        if layer.kind is Kind.COPY:
            return np.concatenate(inputs, axis=-1)
        codes = inputs[0]
        if layer.kind is Kind.MAX_POOL:
            return _max_pool(_pad(codes, geometry, 0, codes.dtype), geometry)  # no code is below 0
        if layer.kind is Kind.UPSAMPLE:
            return codes.repeat(2, 1).repeat(2, 2)
        if layer.kind is Kind.MEAN:
            sums = codes.sum((1, 2), keepdims=True, dtype=np.float64) * layer.registers.factor
            return activate(sums, layer.registers.curve, layer.registers.level)
        if layer.kind is Kind.SCALE and layer.weights is None:
            return activate(codes * float(layer.registers.factor), layer.registers.curve, layer.registers.level)
        product = self._products[layer.lcu]
        if layer.kind is Kind.ADD:
            return activate(product.sum_of(inputs), layer.registers.curve, layer.registers.level)
        sums = product.with_bias(product.without_bias(codes, geometry))
        if len(inputs) > 1:
            sums = sums + inputs[1] * float(layer.registers.factor * layer.registers.repeats)
        return activate(sums, layer.registers.curve, layer.registers.level)


class _Product:
    """Multiplies a map by the weights of one layer: A of every output, exact in the floats it chooses."""

    def __init__(self, layer: Layer, weights: Weights) -> None:
        self._kind = layer.kind
        self._zero_point = layer.registers.zero_point
        self._kernel = weights.kernel[: layer.channels]
        self._half = float(2 << layer.registers.level)
        self._bias = weights.bias[: layer.channels] * self._half
        self._apart = layer.per_channel
        self._first = layer.first
        self._inputs = len(self._kernel) if self._apart else weights.kernel.shape[-1]
        rows = np.abs(weights.kernel.reshape(len(weights.kernel), -1).astype(np.int64)).sum(1)
        self._largest = int(rows.max())
        self._ready: dict[str, Floats] = {}

    def without_bias(self, codes: Codes, geometry: Geometry) -> Floats:
        """The sums of products, exact."""
        kernel = self._as_floats(codes)
        sums: Floats
        if self._kind is Kind.SCALE:
            sums = codes * kernel[: codes.shape[-1]]
        elif self._kind is Kind.DENSE:
            used = self._inputs // (codes.shape[1] * codes.shape[2])
            flat = codes[..., :used].reshape(len(codes), -1).astype(kernel.dtype)
            sums = (flat @ kernel.T)[:, None, None, :]
        else:
            read = codes[..., self._first : self._first + self._inputs]
            sums = (
                convolve_apart(read, kernel, geometry, self._zero_point)
                if self._apart
                else convolve(read, kernel, geometry, self._zero_point)
            )
        return sums

    def sum_of(self, maps: list[Codes]) -> Floats:
        """A of a sum of two maps, each channel of each with its factor."""
        factors = self._kernel.astype(np.float64)
        return self.with_bias(maps[0] * factors[:, 0] + maps[1] * factors[:, 1])

    def may_wrap(self, sums: Floats, codes: Codes) -> bool:
        """Whether a sum of products of some codes could leave the accumulator with a bias."""
        limit = _LIMIT * self._half
        if self._largest * int(np.iinfo(codes.dtype).max) + float(np.abs(self._bias).max()) < limit:
            return False
        return bool(sums.max() + self._bias.max() >= limit or sums.min() + self._bias.min() < -limit)

    def with_bias(self, sums: Floats) -> Floats:
        """A, from the sums of products."""
        return sums + self._bias[: sums.shape[-1]]

    def _as_floats(self, codes: Codes) -> Floats:
        """The kernel as floats: single precision where no sum of products can lose a bit."""
        ready = self._ready.get(codes.dtype.str)
        if ready is None:
            exact = self._largest * int(np.iinfo(codes.dtype).max) < _EXACT
            dtype: type[np.floating[Any]] = np.float32 if exact else np.float64
            ready = self._ready[codes.dtype.str] = self._kernel.astype(dtype)
        return ready


def convolve(codes: Codes, kernel: Floats, geometry: Geometry, zero_point: int) -> Floats:
    """Sums of products of windows [frames, rows, columns, channels] with a kernel [outputs, rows, columns, channels].

    Some columns at once are one product with a banded matrix: what is read again costs more than what is 0 in it.
    """
    (rows, columns, stride), area = geometry.window[:3], geometry.area
    padded = _pad(codes, geometry, zero_point, kernel.dtype)
    frames, outputs, channels = len(codes), len(kernel), codes.shape[-1]
    blocks = (size for size in _BLOCKS if not area.width % size and columns * channels * size <= _WIDEST)
    block = next(blocks, 1) if columns > 1 else 1
    span = (block - 1) * stride + columns
    banded = np.zeros((rows, span, channels, block, outputs), kernel.dtype)
    for column in range(block):
        banded[:, column * stride : column * stride + columns, :, column] = kernel.transpose(1, 2, 3, 0)
    frame, row, pixel, channel = padded.strides
    windows = np.lib.stride_tricks.as_strided(
        padded,
        (frames, area.height, area.width // block, rows, span * channels),
        (frame, row * stride, pixel * stride * block, row, channel),
    )
    product: Floats = windows.reshape(-1, rows * span * channels) @ banded.reshape(-1, block * outputs)
    return product.reshape(frames, *area, outputs)


def convolve_apart(codes: Codes, kernel: Floats, geometry: Geometry, zero_point: int) -> Floats:
    """Sums of products of each channel's windows with a kernel of its own, [channels, rows, columns, 1]."""
    (rows, columns, stride), area = geometry.window[:3], geometry.area
    padded = _pad(codes, geometry, zero_point, kernel.dtype)
    sums: Floats = np.zeros((len(codes), *area, len(kernel)), kernel.dtype)
    for row, column in np.ndindex(rows, columns):
        seen = padded[:, row : row + stride * area.height : stride, column : column + stride * area.width : stride]
        sums += seen[:, : area.height, : area.width] * kernel[:, row, column, 0]
    return sums


def _pad(codes: Codes, geometry: Geometry, value: int, dtype: DTypeLike) -> NDArray[Any]:
    """The map as numbers of `dtype`, with what its windows reach beyond its borders: `value`."""
    window, area = geometry.window, geometry.area
    height, width = codes.shape[1:3]
    top, left = window.before(Area(height, width))
    rows = max((area.height - 1) * window.stride + window.rows, top + height)
    columns = max((area.width - 1) * window.stride + window.columns, left + width)
    if (rows, columns) == (height, width):
        return np.ascontiguousarray(codes, dtype)
    padded = np.full((len(codes), rows, columns, codes.shape[-1]), value, dtype)
    padded[:, top : top + height, left : left + width] = codes
    return padded


def _max_pool(values: NDArray[Any], geometry: Geometry) -> NDArray[Any]:
    """The largest value of each window of a map that holds its padding already."""
    window, area = geometry.window, geometry.area
    rows = values[:, : window.stride * area.height : window.stride]
    for row in range(1, window.rows):
        rows = np.maximum(rows, values[:, row : row + window.stride * area.height : window.stride])
    found = rows[:, :, : window.stride * area.width : window.stride]
    for column in range(1, window.columns):
        found = np.maximum(found, rows[:, :, column : column + window.stride * area.width : window.stride])
    return found


def activate(sums: Floats, curve: Curve, level: int, wraps: bool = True) -> Codes:
    """Output codes of A: the accumulator in its 16 bits, the line of the piece that it falls into, rounded.

    `wraps`: it may not fit these.

    Double precision holds every step exactly: 24 bits of A times 12 of the slope, and eighths.
    """
    half = float(2 << level)
    held = _wrapped(sums, _LIMIT * half) if wraps else sums
    factors = np.array([mantissa / 1024 * 2.0**-exponent / half for mantissa, exponent in curve.slopes])
    offsets = np.array([offset / 8 + _HALF for offset in curve.offsets])
    codes: NDArray[np.float64]
    top = curve.top + _HALF
    if curve.is_rectifier:
        codes = np.multiply(held, factors[-1], dtype=np.float64)
        codes += offsets[-1]
        np.maximum(codes, max(offsets[0], 0.0), out=codes)
        np.minimum(codes, top, out=codes)
    else:
        piece = 0 if curve.is_linear else np.searchsorted(np.array(curve.breaks) * half, held, side="right")
        codes = held * factors[piece] + offsets[piece]
        np.clip(codes, 0.0, top, out=codes)
    return codes.astype(np.uint16 if curve.wide else np.uint8)  # cuts off what lies behind the point


def _wrapped(sums: Floats, limit: float) -> Floats:
    if sums.size and sums.min() >= -limit and sums.max() < limit:
        return sums
    wrapped: Floats = np.mod(sums + limit, 2 * limit) - limit
    return wrapped
