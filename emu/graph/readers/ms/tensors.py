"""TensorDef and QuantParam of MindSpore predict → the IR's (graph-conventions.md MS-T, MS-Q)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from emu.errors import GraphError, GraphStatus
from emu.graph import layouts
from emu.graph.ir import Array, Layout, Quantisation, Shape, Tensor
from emu.graph.readers.flatbuffer import MAXIMUM_SIZE
from emu.schemas.generated import ms_v0_1, ms_v0_5

TensorDef: TypeAlias = ms_v0_1.TensorDef | ms_v0_5.TensorDef

DTYPES: dict[int, np.dtype[Any]] = {
    ms_v0_5.DataType.DT_FLOAT: np.dtype(np.float32),
    ms_v0_5.DataType.DT_FLOAT16: np.dtype(np.float16),
    ms_v0_5.DataType.DT_INT8: np.dtype(np.int8),
    ms_v0_5.DataType.DT_INT32: np.dtype(np.int32),
    ms_v0_5.DataType.DT_UINT8: np.dtype(np.uint8),
    ms_v0_5.DataType.DT_INT16: np.dtype(np.int16),
    ms_v0_5.DataType.DT_UINT32: np.dtype(np.uint32),
    ms_v0_5.DataType.DT_INT64: np.dtype(np.int64),
    ms_v0_5.DataType.DT_UINT16: np.dtype(np.uint16),
}
"""Both generations number their types alike; 0.1 has not all of them (graph-conventions.md MS-T2)."""

TENSOR_LIMIT = 100 << 20
"""Bytes that one tensor without data may take: the runtime's own limit (ms-predict.md 1)."""


def read_tensor(tensor: TensorDef, name: str, place: str) -> Tensor:
    """One tensor; a constant is a view of the file, or unpacked where it is NC4HW4.

    Raises GraphError: GRAPH_UNSUPPORTED for a type or format that is none, GRAPH_SHAPE for dims that are no shape or do
    not fit the data.
    """
    dtype = DTYPES.get(tensor.dataType)
    if dtype is None:
        raise _error(GraphStatus.GRAPH_UNSUPPORTED, place, f"data type {tensor.dataType.name} is none")
    if tensor.format == ms_v0_5.Format.NUM_OF_FORMAT:
        raise _error(GraphStatus.GRAPH_UNSUPPORTED, place, f"format {tensor.format.name} is none")
    layout = Layout[tensor.format.name]
    if len(tensor.dims) > 32:  # as many as every numpy has
        raise _error(GraphStatus.GRAPH_SHAPE, place, f"{len(tensor.dims)} dims, at most 32 are possible")
    if any(size < 0 for size in tensor.dims):
        raise _error(GraphStatus.GRAPH_SHAPE, place, f"dims {list(tensor.dims)} are negative")
    if layout is Layout.NC4HW4 and len(tensor.dims) != 4:
        raise _error(GraphStatus.GRAPH_SHAPE, place, f"NC4HW4 needs four dims, not {list(tensor.dims)}")
    if math.prod(size or 1 for size in tensor.dims) > MAXIMUM_SIZE:  # numpy counts so, even where a dim is 0
        raise _error(GraphStatus.GRAPH_SHAPE, place, f"dims {list(tensor.dims)} overflow")
    size = math.prod(layouts.packed_shape(layout, tensor.dims, dtype)) * dtype.itemsize
    if not tensor.data and size:  # writers give an activation an empty vector, or none
        if size > TENSOR_LIMIT:
            raise _error(
                GraphStatus.GRAPH_SHAPE,
                place,
                f"{dtype}{list(tensor.dims)} takes {size} bytes, the runtime allows {TENSOR_LIMIT}",
            )
        return Tensor(name, tensor.dims, dtype, layout)
    if tensor.data is None:
        return Tensor(name, tensor.dims, dtype, layout)
    value = _constant(tensor.data, size, tensor.dims, dtype, layout, place)
    return Tensor(name, tensor.dims, dtype, layout, value=value)


def _constant(data: memoryview, size: int, shape: Shape, dtype: np.dtype[Any], layout: Layout, place: str) -> Array:
    if len(data) != size:
        raise _error(
            GraphStatus.GRAPH_SHAPE, place, f"{dtype}{list(shape)} takes {size} bytes, its data has {len(data)}"
        )
    flat = np.frombuffer(data, dtype.newbyteorder("<")).astype(dtype, copy=False)
    if layout is Layout.NC4HW4:
        return np.ascontiguousarray(layouts.unpack(flat, layout, shape))
    return flat.reshape(shape)


def _error(status: GraphStatus, place: str, problem: str) -> GraphError:
    return GraphError(status, f"{place}: {problem}", tensor=place)


def read_quant_params(
    params: Sequence[ms_v0_5.QuantParam], tensor: Tensor, axis: int, place: str
) -> Quantisation | None:
    """The parameters of one operand (generation B); several run along `axis`. None where there are none (MS-Q1, Q2)."""
    if not params:
        return None
    first = params[0]
    lowest, highest = _range(tensor.dtype, first, place)
    if any((param.narrowRange, param.numBits) != (first.narrowRange, first.numBits) for param in params):
        raise _error(GraphStatus.GRAPH_UNSUPPORTED, place, "numBits or narrowRange differ between channels")
    found = _quantisation(
        [param.scale for param in params],
        [param.zeroPoint for param in params],
        tensor,
        axis,
        (lowest, highest),
        place,
    )
    return found if tensor.dtype.kind in "iu" else None  # of a float they only tell its range


def read_quantization_def(
    definition: ms_v0_1.QuantizationDef | None, tensor: Tensor, place: str
) -> Quantisation | None:
    """The parameters of one tensor (generation A); several run along `dimension` (MS-Q3)."""
    if definition is None or not definition.scale:
        return None
    zeros = definition.zero_point or (0,) * len(definition.scale)
    if len(zeros) != len(definition.scale):
        raise _error(GraphStatus.GRAPH_SHAPE, place, f"{len(definition.scale)} scales and {len(zeros)} zero points")
    if tensor.dtype.kind not in "iu":
        return None
    limits = np.iinfo(tensor.dtype)
    return _quantisation(definition.scale, zeros, tensor, definition.dimension, (limits.min, limits.max), place)


def _range(dtype: np.dtype[Any], param: ms_v0_5.QuantParam, place: str) -> tuple[int, int]:
    """The stored values that Q2 allows; types other than the two of 8 bits keep their whole range."""
    if dtype.kind not in "iu":
        return 0, 0
    if dtype.itemsize > 1:
        limits = np.iinfo(dtype)
        return int(limits.min), int(limits.max)
    if not 1 <= param.numBits <= 8:
        raise _error(GraphStatus.GRAPH_UNSUPPORTED, place, f"numBits {param.numBits} of {dtype}")
    if dtype == np.uint8:
        return 0, 2**param.numBits - 1
    half = 2 ** (param.numBits - 1)
    return -half + param.narrowRange, half - 1


def _quantisation(
    scales: Sequence[float],
    zero_points: Sequence[int],
    tensor: Tensor,
    axis: int,
    limits: tuple[int, int],
    place: str,
) -> Quantisation:
    for scale in scales:
        if not (scale > 0 and math.isfinite(scale)):
            raise _error(GraphStatus.GRAPH_SHAPE, place, f"scale {scale} is not positive")
    along: int | None = None
    if len(scales) > 1:
        if not 0 <= axis < len(tensor.shape) or tensor.shape[axis] != len(scales):
            raise _error(
                GraphStatus.GRAPH_SHAPE,
                place,
                f"{len(scales)} quantisation parameters for axis {axis} of {list(tensor.shape)}",
            )
        along = axis
    return Quantisation(np.array(scales, np.float64), np.array(zero_points, np.int64), limits[0], limits[1], along)
