"""Quantisation arithmetic shared by both formats; "rhe" of graph-conventions.md 0.6 is numpy's rint."""

from __future__ import annotations

from typing import Any

import numpy as np

from emu.graph.ir import Array, Quantisation


def _along(values: Array, axis: int | None, rank: int) -> Array:
    if axis is None:
        return values.reshape(())
    return values.reshape([-1 if at == axis else 1 for at in range(rank)])


def dequantise(stored: Array, quantisation: Quantisation) -> Array:
    """scale * (stored - zero_point) as float32."""
    scale = _along(quantisation.scale, quantisation.axis, stored.ndim)
    zero = _along(quantisation.zero_point, quantisation.axis, stored.ndim)
    # the difference is exact in float64; one rounding for the product, one for the storage
    return ((stored.astype(np.float64) - zero) * scale).astype(np.float32)


def quantise(real: Array, quantisation: Quantisation, dtype: np.dtype[Any]) -> Array:
    """clip(rhe(real / scale) + zero_point) as `dtype`."""
    scale = _along(quantisation.scale, quantisation.axis, real.ndim)
    zero = _along(quantisation.zero_point, quantisation.axis, real.ndim)
    steps = np.rint(real.astype(np.float64) / scale) + zero
    stored: Array = np.clip(steps, quantisation.lowest, quantisation.highest).astype(dtype)
    return stored
