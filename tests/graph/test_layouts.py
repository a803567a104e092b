"""Packed layouts against their index formulas (om-format.md 3), and weight axis orders."""

from __future__ import annotations

import numpy as np
import pytest

from emu.graph.ir import Layout
from emu.graph.layouts import AXIS_ORDERS, pack, packed_shape, to_oihw, unpack

DTYPES = [np.float32, np.float16, np.int8, np.uint8, np.int32]


def values(shape: tuple[int, ...], dtype: type) -> np.ndarray:
    return (np.arange(np.prod(shape)) % 97 + 1).astype(dtype).reshape(shape)


def by_formula(layout: Layout, array: np.ndarray) -> np.ndarray:
    """The packed array, element by element."""
    c0 = 32 if array.dtype.itemsize == 1 else 16
    out = np.zeros(packed_shape(layout, array.shape, array.dtype), array.dtype)
    for place in np.ndindex(*array.shape):
        match layout:
            case Layout.NC1HWC0:
                n, c, h, w = place
                out[n, c // c0, h, w, c % c0] = array[place]
            case Layout.NC4HW4:
                n, c, h, w = place
                out[n, c // 4, h, w, c % 4] = array[place]
            case Layout.FRACTAL_Z:
                n, c, h, w = place
                height, width = array.shape[2:]
                out[(c // c0 * height + h) * width + w, n // 16, n % 16, c % c0] = array[place]
            case Layout.FRACTAL_Z_C04:
                n, c, h, w = place
                k = (h * array.shape[3] + w) * 4 + c
                out[k // 16, n // 16, n % 16, k % 16] = array[place]
            case Layout.FRACTAL_NZ:
                *lead, r, c = place
                out[(*lead, c // c0, r // 16, r % 16, c % c0)] = array[place]
    return out


SHAPES = {
    Layout.NC1HWC0: [(1, 3, 2, 5), (2, 33, 3, 1), (1, 32, 1, 1)],
    Layout.NC4HW4: [(1, 3, 2, 5), (2, 9, 3, 1)],
    Layout.FRACTAL_Z: [(3, 5, 2, 3), (17, 33, 1, 2), (16, 32, 1, 1)],
    Layout.FRACTAL_Z_C04: [(3, 3, 3, 3), (17, 4, 2, 1), (1, 1, 5, 5)],
    Layout.FRACTAL_NZ: [(3, 5), (17, 40), (2, 3, 18, 33)],
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("layout", "shape"), [(key, shape) for key, shapes in SHAPES.items() for shape in shapes])
def test_pack_and_unpack(layout: Layout, shape: tuple[int, ...], dtype: type):
    array = values(shape, dtype)
    packed = pack(array, layout)
    assert np.array_equal(packed, by_formula(layout, array))
    assert np.array_equal(unpack(packed, layout, shape), array)
    longer = np.concatenate([packed.reshape(-1), np.full(7, 5, dtype)])
    assert np.array_equal(unpack(longer, layout, shape), array)


@pytest.mark.parametrize("layout", [Layout.ND, Layout.NCHW, Layout.NHWC])
def test_plain_layouts_stay(layout: Layout):
    array = values((2, 3, 4, 5), np.float32)
    assert pack(array, layout) is array
    assert np.array_equal(unpack(array.reshape(-1), layout, array.shape), array)


def test_impossible_shapes():
    for layout, shape in ((Layout.NC1HWC0, (2, 3)), (Layout.FRACTAL_Z_C04, (2, 5, 1, 1)), (Layout.FRACTAL_NZ, (4,))):
        with pytest.raises(ValueError, match=str(layout).split("_")[0]):
            packed_shape(layout, shape, np.dtype(np.float32))


@pytest.mark.parametrize("order", sorted(AXIS_ORDERS))
def test_weight_axis_orders(order: str):
    """K is N, the output channels, in the names of MindSpore."""
    sizes = {"N": 2, "C": 3, "H": 4, "W": 5}
    axes = order.replace("K", "N")
    array = values(tuple(sizes[axis] for axis in axes), np.int32)
    turned = to_oihw(array, order)
    assert turned.shape == (2, 3, 4, 5)
    place = {"N": 1, "C": 2, "H": 3, "W": 4}
    assert turned[1, 2, 3, 4] == array[tuple(place[axis] for axis in axes)]
