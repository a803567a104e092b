"""A picture of a sweep: throughput over the batch size, a line for each file, device and link.

Many lines become a small picture a file, on the same axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from emu.errors import UsageError
from emu.sweep.table import Row

_MOST_IN_ONE = 8
"""Lines that one picture keeps apart; more become a small picture a file."""
_COLUMNS = 3


def plot(rows: Sequence[Row], stream: BinaryIO, kind: str) -> None:
    """Draw the rows that have figures; `kind` is png, svg or pdf."""
    try:
        import matplotlib
    except ImportError:
        raise UsageError("a plot needs matplotlib: install emu[plot]") from None
    matplotlib.use("agg")
    # the same rows give the same bytes: no creation date, no random element ids
    matplotlib.rcParams["svg.hashsalt"] = "emu"
    from matplotlib.figure import Figure

    lines: dict[tuple[str, str | None, str | None], list[tuple[int, float]]] = {}
    for row in rows:
        if row.fps is not None:
            lines.setdefault((row.file, row.device, row.link), []).append((row.batch, row.fps))
    panels: dict[str, list[tuple[str, list[tuple[int, float]]]]] = {}
    split = len(lines) > _MOST_IN_ONE
    for (file, device, link), points in lines.items():
        name = Path(file).name
        panels.setdefault(file if split else "", []).append(
            (f"{device}, {link}" if split else f"{name} on {device}, {link}", sorted(points))
        )
    columns = min(_COLUMNS, max(1, len(panels)))
    tall = -(-max(1, len(panels)) // columns)
    figure = Figure(figsize=(9, 6) if tall == 1 else (4.5 * columns, 3.2 * tall), layout="constrained")
    grid = figure.subplots(tall, columns, squeeze=False, sharex=True, sharey=True).ravel()
    batches = sorted({row.batch for row in rows})
    for axes in grid[max(1, len(panels)) :]:
        axes.set_visible(False)
    for axes, (file, drawn) in zip(grid, list(panels.items()) or [("", [])], strict=False):
        for label, points in drawn:
            axes.plot(*zip(*points, strict=True), marker="o", markersize=4, label=label)
        axes.set(xscale="log", yscale="log")
        axes.set_xticks(batches, labels=[str(batch) for batch in batches])
        axes.minorticks_off()
        axes.grid(visible=True, alpha=0.3)
        if file:
            axes.set_title(Path(file).name, fontsize="small")
        if drawn:
            axes.legend(fontsize="x-small" if split else "small")
    figure.supxlabel("batch")
    figure.supylabel("frames per second (estimate)")
    metadata = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[kind]
    figure.savefig(stream, format=kind, metadata=metadata)
