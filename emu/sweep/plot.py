"""A picture of a sweep: throughput over the batch size, a line for each file, device and link."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from emu.errors import UsageError
from emu.sweep.table import Row


def plot(rows: Sequence[Row], path: Path) -> None:
    """Draw the rows that have figures; the suffix of `path` (png, svg, pdf) says the format."""
    try:
        import matplotlib
    except ImportError:
        raise UsageError("a plot needs matplotlib: install emu[plot]") from None
    matplotlib.use("agg")
    # the same rows give the same bytes: no creation date, no random element ids
    matplotlib.rcParams["svg.hashsalt"] = "emu"
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 6), layout="constrained")
    axes = figure.subplots()
    lines: dict[tuple[str, str | None, str | None], list[tuple[int, float]]] = {}
    for row in rows:
        if row.fps is not None:
            lines.setdefault((row.file, row.device, row.link), []).append((row.batch, row.fps))
    for (file, device, link), points in lines.items():
        batches, fps = zip(*sorted(points), strict=True)
        axes.plot(batches, fps, marker="o", label=f"{Path(file).name} on {device}, {link}")
    axes.set(xlabel="batch", ylabel="frames per second (estimate)", xscale="log", yscale="log")
    axes.set_xticks(sorted({row.batch for row in rows}), labels=[str(b) for b in sorted({row.batch for row in rows})])
    axes.minorticks_off()
    axes.grid(visible=True, alpha=0.3)
    if lines:
        axes.legend(fontsize="small")
    kind = path.suffix.removeprefix(".").lower()
    metadata = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[kind]
    figure.savefig(path, format=kind, metadata=metadata)
