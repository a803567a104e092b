"""Tensors and quantisation parameters of MindSpore Lite → those of the IR."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from emu.errors import GraphError, GraphStatus
from emu.graph.ir import Array, Layout, Quantisation, Tensor

if TYPE_CHECKING:  # a file needs one of the schemas, and either takes long to load
    from emu.schemas.generated import ms_lite_v0, ms_lite_v2

    LiteTensor: TypeAlias = ms_lite_v0.Tensor | ms_lite_v2.Tensor
    QuantParam: TypeAlias = ms_lite_v0.QuantParam | ms_lite_v2.QuantParam

DTYPES: dict[int, np.dtype[Any]] = {
    30: np.dtype(np.bool_),
    32: np.dtype(np.int8),
    33: np.dtype(np.int16),
    34: np.dtype(np.int32),
    35: np.dtype(np.int64),
    37: np.dtype(np.uint8),
    38: np.dtype(np.uint16),
    39: np.dtype(np.uint32),
    40: np.dtype(np.uint64),
    42: np.dtype(np.float16),
    43: np.dtype(np.float32),
    44: np.dtype(np.float64),
}
"""MindSpore's TypeId (mindspore/core/ir/dtype/type_id.h)."""

UNTYPED = np.dtype(np.void)
"""Of a tensor whose type is none of these: strings, lists of tensors, or what the converter left open."""

MAXIMUM_SIZE = 1 << 40
"""Bytes of a tensor: beyond it dims are no dims of anything that could be computed."""

_PACKED_BITS = (*range(1, 8), *range(9, 16))
"""Bits a weight may have that are stored one after the other instead of one a byte or word."""


def read_tensor(tensor: LiteTensor, name: str, place: str) -> Tensor:
    """One tensor; a constant is a view of the file, or unpacked where its numbers have fewer bits than their type.

    Of a tensor without data the dims are what the converter knew: unknown ones (-1) become 0, the reader infers them,
    as it does the type where that is none of DTYPES.
    Raises GraphError: GRAPH_UNSUPPORTED for types and compressions that are not read, GRAPH_SHAPE for dims that are no
    shape or do not fit the data.
    """
    dtype = DTYPES.get(tensor.dataType, UNTYPED)
    if dtype == UNTYPED and tensor.data:
        raise _error(GraphStatus.GRAPH_UNSUPPORTED, place, name, f"data type {tensor.dataType} is not read")
    if len(tensor.dims) > 32:  # as many as every numpy has
        raise _error(GraphStatus.GRAPH_SHAPE, place, name, f"{len(tensor.dims)} dims, at most 32 are possible")
    layout = Layout[tensor.format.name] if tensor.format.name in Layout.__members__ else Layout.ND
    if math.prod(max(size, 1) for size in tensor.dims) > MAXIMUM_SIZE:
        raise _error(GraphStatus.GRAPH_SHAPE, place, name, f"dims {list(tensor.dims)} overflow")
    if not tensor.data:
        if getattr(tensor, "externalData", ()):
            raise _error(GraphStatus.GRAPH_UNSUPPORTED, place, name, "its data lies in another file (externalData)")
        return Tensor(name, tuple(max(size, 0) for size in tensor.dims), dtype, layout)
    _check_plain(tensor, place, name)
    if any(size < 0 for size in tensor.dims):
        raise _error(GraphStatus.GRAPH_SHAPE, place, name, f"dims {list(tensor.dims)} of a constant are negative")
    count = math.prod(tensor.dims)
    size = count * dtype.itemsize
    value = _unpacked(tensor, tensor.data, count, dtype)
    if value is None:
        if len(tensor.data) != size:
            problem = f"{dtype}{list(tensor.dims)} takes {size} bytes, its data has {len(tensor.data)}"
            raise _error(GraphStatus.GRAPH_SHAPE, place, name, problem)
        value = np.frombuffer(tensor.data, dtype.newbyteorder("<")).astype(dtype, copy=False)
    return Tensor(name, tensor.dims, dtype, layout, value=value.reshape(tensor.dims))


def _check_plain(tensor: LiteTensor, place: str, name: str) -> None:
    """Refuse data that is no list of numbers; the fields exist since 1.2."""
    kind = getattr(tensor, "weightQuantCompressType", None)
    how = "NONE" if kind is None else kind.name
    if getattr(tensor, "enableHuffmanCode", False):
        how = "Huffman"
    if how not in ("NONE", "BITPACKING"):
        raise _error(GraphStatus.GRAPH_UNSUPPORTED, place, name, f"compressed data ({how}) is not read")


def _unpacked(tensor: LiteTensor, data: memoryview, count: int, dtype: np.dtype[Any]) -> Array | None:
    """Numbers of fewer bits, the lowest first, raised by half their range; None where the length is another.

    Source: the bit unpacking of mindspore-lite/src/litert/weight_decoder.h.
    """
    bits = tensor.quantParams[0].numBits if tensor.quantParams else 0
    width = 8 * dtype.itemsize
    if dtype not in (np.int8, np.int16) or bits not in _PACKED_BITS or bits >= width:
        return None
    if len(data) != -(-count * bits // width) * dtype.itemsize:
        return None
    flat = np.unpackbits(np.frombuffer(data, np.uint8), count=count * bits, bitorder="little").reshape(count, bits)
    numbers: Array = flat @ (1 << np.arange(bits)) - (1 << bits - 1)
    return numbers.astype(dtype)


def _error(status: GraphStatus, place: str, name: str, problem: str) -> GraphError:
    return GraphError(status, f"{place} ({name!r}): {problem}", tensor=place)


def parameters(tensor: LiteTensor) -> tuple[QuantParam, ...]:
    """The quantisation parameters of a tensor of integers; none where the file only repeats the defaults."""
    dtype = DTYPES.get(tensor.dataType)
    if dtype is None or dtype not in (np.int8, np.uint8, np.int16, np.int32):
        return ()
    if any(param.inited or param.scale not in (0.0, 1.0) for param in tensor.quantParams):
        return tensor.quantParams
    return ()


def quantisation(tensor: LiteTensor, place: str, name: str) -> Quantisation | None:
    """How a tensor that is computed stores its values; None where it stores them as they are."""
    params = parameters(tensor)
    dtype = DTYPES.get(tensor.dataType)
    if not params or dtype is None or dtype == np.int32:
        return None
    if len(params) != 1:
        problem = f"{len(params)} quantisation parameters of a tensor that is computed"
        raise _error(GraphStatus.GRAPH_UNSUPPORTED, place, name, problem)
    scale, zero = _checked(params, place, name)
    limits = np.iinfo(dtype)
    return Quantisation(scale, zero, int(limits.min), int(limits.max))


def dequantised(tensor: LiteTensor, value: Array, axis: int, place: str, name: str) -> Array | None:
    """The real numbers of a constant, float32; None where it has no parameters.

    Several parameters are one for each index of `axis`, with the correction of a weight's spread and mean.
    """
    params = parameters(tensor)
    if not params:
        return None
    scale, zero = _checked(params, place, name)
    if len(params) == 1:
        alike: Array = (value - float(zero[0])) * scale[0]
        return alike.astype(np.float32)
    if not 0 <= axis < value.ndim or value.shape[axis] != len(params):
        problem = f"{len(params)} quantisation parameters for axis {axis} of {list(value.shape)}"
        raise _error(GraphStatus.GRAPH_SHAPE, place, name, problem)
    along = [-1 if at == axis else 1 for at in range(value.ndim)]
    spread = np.array([param.varCorr if 0 <= param.varCorr <= 10 else 1.0 for param in params])
    shift = np.array([param.meanCorr for param in params])
    real: Array = (value - zero.astype(np.float64).reshape(along)) * (scale * spread).reshape(along)
    real = real + shift.reshape(along)
    return real.astype(np.float32)


def _checked(params: tuple[QuantParam, ...], place: str, name: str) -> tuple[Array, Array]:
    for param in params:
        if not (param.scale > 0 and math.isfinite(param.scale)):
            raise _error(GraphStatus.GRAPH_SHAPE, place, name, f"scale {param.scale} is not positive")
    scale = np.array([param.scale for param in params], np.float64)
    return scale, np.array([param.zeroPoint for param in params], np.int64)
