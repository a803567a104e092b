"""Expected outputs: arrays kept beside a test, compared element by element, and written anew on demand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from emu.arrays import open_arrays, save_to_archive
from emu.output import Output

MOST = 8
"""Outputs that a failure speaks of."""


def check_outputs(
    what: str,
    expected: Path | Mapping[str, Any],
    outputs: Mapping[str, Any],
    *,
    update: bool = False,
    atol: float = 0.0,
    rtol: float = 0.0,
) -> None:
    """AssertionError where outputs are not those of an .npz file, which holds all of them, or of a mapping, which may
    name some; elements are equal within `atol` + `rtol` * expected. `update` writes the file instead.
    """
    __tracebackhide__ = True
    if isinstance(expected, Path):
        if update:
            save_to_archive(Output(expected), {name: np.asarray(array) for name, array in outputs.items()})
            return
        if not expected.exists():
            raise AssertionError(f"there is no file {expected}: run `pytest --emu-update` and look at what it writes")
        wanted: dict[str, Any] = {name: file.load() for name, file in open_arrays(expected).items()}
        left = [f"{name}: not in {expected.name}" for name in outputs if name not in wanted]
    else:
        wanted, left = {name: np.asarray(array) for name, array in expected.items()}, []
    lines = [*_differences(wanted, outputs, atol, rtol), *left]
    if lines:
        more = [f"and {len(lines) - MOST} more"] if len(lines) > MOST else []
        raise AssertionError("\n  ".join([f"{what}: outputs differ", *lines[:MOST], *more]))


def _differences(wanted: Mapping[str, Any], outputs: Mapping[str, Any], atol: float, rtol: float) -> Iterator[str]:
    for name, want in wanted.items():
        if name not in outputs:
            yield f"{name}: there is no such output; there are {', '.join(outputs) or 'none'}"
            continue
        have = np.asarray(outputs[name])
        if have.shape != want.shape or have.dtype != want.dtype:
            yield f"{name}: expected {want.dtype}{list(want.shape)}, came out {have.dtype}{list(have.shape)}"
            continue
        same = _same(want, have, atol, rtol)
        if not same.all():
            place = tuple(int(one) for one in np.argwhere(~same)[0])
            yield (
                f"{name}: {int((~same).sum()):,} of {same.size:,} elements, first {list(place)}: expected "
                f"{want[place]}, came out {have[place]}"
            )


def _same(want: Any, have: Any, atol: float, rtol: float) -> Any:
    if want.dtype.kind in "fc":
        return np.isclose(have, want, rtol=rtol, atol=atol, equal_nan=True)
    if not atol and not rtol:
        return want == have
    # of integers as numbers without a width: their difference may not fit it
    return np.isclose(have.astype(np.float64), want.astype(np.float64), rtol=rtol, atol=atol)
