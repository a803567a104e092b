"""Matrix products in the pieces that BLAS multiplies fastest."""

from __future__ import annotations

import numpy as np

from emu.graph.ir import Array

_UNPACKED = 1_000_000
"""Multiplications up to which OpenBLAS (interface/gemm.c, small matrices) takes both operands as they lie, without
copying them into its own order first. That copy costs as much as the product where the left matrix is small."""

_LEAST_COLUMNS = 256


def multiply(matrix: Array, columns: Array, out: Array) -> None:
    """out [M, N] = matrix [M, K] @ columns [K, N], some columns at a time where the matrix is small."""
    step = _UNPACKED // max(matrix.size, 1) // 16 * 16
    if step < _LEAST_COLUMNS:
        np.matmul(matrix, columns, out=out)
        return
    for start in range(0, columns.shape[1], step):
        np.matmul(matrix, columns[:, start : start + step], out=out[:, start : start + step])
