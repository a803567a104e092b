"""Numberings of the .om format, and constants: what bytes mean under a data type, a format and dims.

Facts: om-format.md 2 and 3, graph-conventions.md OM-T.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from emu.errors import GraphError, GraphStatus
from emu.graph import layouts
from emu.graph.ir import Array, Layout, Shape
from emu.graph.ops import OpError

DIM_LIMIT = 1 << 40
"""Element count above which dims are refused: no file holds as many bytes, and products stay far from overflow."""

RANK_LIMIT = 64 if int(np.__version__.partition(".")[0]) >= 2 else 32
"""Dims that numpy takes; the device never has as many."""

# the int numbering of om.proto and of attributes such as DstT (om-format.md 2), as far as values can be computed with
INT_DTYPES: dict[int, np.dtype[np.generic]] = {
    0: np.dtype(np.float32),
    1: np.dtype(np.float16),
    2: np.dtype(np.int8),
    3: np.dtype(np.int32),
    4: np.dtype(np.uint8),
    6: np.dtype(np.int16),
    7: np.dtype(np.uint16),
    8: np.dtype(np.uint32),
    9: np.dtype(np.int64),
    10: np.dtype(np.uint64),
    11: np.dtype(np.float64),
    12: np.dtype(np.bool_),
}
DOMI_DTYPES = {number: INT_DTYPES[number] for number in (0, 1, 2, 3, 4, 9)}
"""What graph-conventions.md OM-T1 lists; other numbers are refused."""

# the proto enum of ge_ir (om-format.md 2)
PROTO_DTYPES: dict[int, np.dtype[np.generic]] = {
    1: np.dtype(np.float32),
    2: np.dtype(np.float16),
    3: np.dtype(np.int8),
    4: np.dtype(np.uint8),
    5: np.dtype(np.int16),
    6: np.dtype(np.uint16),
    7: np.dtype(np.int32),
    8: np.dtype(np.int64),
    9: np.dtype(np.uint32),
    10: np.dtype(np.uint64),
    11: np.dtype(np.bool_),
    12: np.dtype(np.float64),
}

INT_FORMATS: dict[int, Layout] = {
    0: Layout.NCHW,
    1: Layout.NHWC,
    2: Layout.ND,
    3: Layout.NC1HWC0,
    4: Layout.FRACTAL_Z,
    13: Layout.FRACTAL_Z_C04,
    16: Layout.HWCN,
    29: Layout.FRACTAL_NZ,
}


def check_dims(dims: Iterable[int], what: str, *, least: int = 0) -> Shape:
    """Dims of a file as a shape; OpError for too many, too small or overflowing ones. A `least` of -1 allows dims that
    only the run knows."""
    shape = tuple(int(size) for size in dims)
    if len(shape) > RANK_LIMIT:
        raise OpError(f"{len(shape)} dims, at most {RANK_LIMIT} are possible", what)
    if any(size < least for size in shape):
        raise OpError(f"negative dims {list(shape)}", what)
    # neither a zero nor an unknown size must hide the others
    if math.prod(size for size in shape if size > 0) > DIM_LIMIT:
        raise OpError(f"dims {list(shape)} are out of all proportion", what)
    return shape


def decode_constant(
    raw: bytes | memoryview,
    dtype: np.dtype[np.generic],
    layout: Layout,
    shape: Shape,
    what: str,
    *,
    size_tells: bool = False,
) -> Array:
    """The logical array that `raw` holds; surplus bytes are padding. A view where the layout is not packed.

    `size_tells`: the size of a FRACTAL_Z filter says to how many outputs it is padded (om-format.md 3).
    """
    try:
        packed = layouts.packed_shape(layout, shape, dtype)
    except ValueError as error:
        raise OpError(str(error), what) from error
    if layout is Layout.FRACTAL_Z and size_tells:
        packed = _fractal_z_shape(raw, dtype, shape, packed)
    count = math.prod(packed)
    if len(raw) < count * dtype.itemsize:
        raise OpError(f"{len(raw)} bytes, {dtype}{list(shape)} in {layout} takes {count * dtype.itemsize}", what)
    flat: Array = np.frombuffer(raw, dtype.newbyteorder("<"), count)
    if packed == shape:
        return flat.reshape(shape)
    if layout is Layout.FRACTAL_Z and packed[1] != -(-shape[0] // layouts.CUBE):
        more = (packed[1] * layouts.CUBE, *shape[1:])
        return layouts.unpack(flat, layout, more)[: shape[0]]
    return layouts.unpack(flat, layout, shape)


def _fractal_z_shape(raw: bytes | memoryview, dtype: np.dtype[np.generic], shape: Shape, packed: Shape) -> Shape:
    """int8 filters whose output is requantised have their outputs padded to 32, not 16 (om-format.md 3)."""
    blocks, n1, n0, c0 = packed
    if dtype.itemsize == 1 and blocks and n1 % 2 and len(raw) == blocks * (n1 + 1) * n0 * c0:
        return blocks, n1 + 1, n0, c0
    return packed


def weight_range(weights: memoryview | None, offset: int, size: int | None, what: str) -> memoryview:
    """Bytes of WEIGHTS_DATA from `offset` on; OpError where they do not lie inside."""
    length = 0 if weights is None else len(weights)
    end = length if size is None else offset + size
    if weights is None or offset < 0 or offset >= length or end > length or end < offset:
        raise OpError(f"bytes {offset} to {end} of WEIGHTS_DATA, which has {length}", what)
    return weights[offset:end]


def model_error(message: str, status: GraphStatus = GraphStatus.OM_MODEL, **where: str | int) -> GraphError:
    return GraphError(status, message, **where)
