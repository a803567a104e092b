"""Make the table model (emu/timing/table.py) of Hailo's published figures, and measure how good it is.

    python benchmarks/fit_table.py [--table model_zoo_fps.csv] [--write]

All rows with an empty `suspect` and with parameters, operations and resolution serve. A network's figures on a
device are the median over its releases (`published.csv`). The errors are those of every row, looked up with the row's
own model left out (every release and device of it), and with its whole family left out (its name up to the second `_`
or group of digits): `table_model.toml`, which also has the 10th and 90th percentile of published / guessed of the
latter.
tests/timing/test_table.py checks that both files are what this makes.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from statistics import median, quantiles

from emu.timing.table import Network, Published, look_up

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("EMU_SHARED", ROOT.parent / "shared"))
TABLE = SHARED / "data" / "model_zoo_fps.csv"
PLACE = ROOT / "emu" / "timing"
# HAILO10 is what the oldest release calls the Hailo-10H
DEVICES = {"HAILO10": "hailo10h"} | {
    arch: arch.lower() for arch in ("HAILO8", "HAILO8L", "HAILO15H", "HAILO15M", "HAILO15L", "HAILO10H")
}
_WORDS = re.compile(r"_|[0-9]+")


@dataclass(frozen=True)
class Row:
    """One published row."""

    device: str
    model: str
    network: Network
    fps1: float
    fps8: float


def family(model: str) -> str:
    """A model's name up to the second `_` or group of digits."""
    marks = list(_WORDS.finditer(model))
    return model[: marks[1].start()] if len(marks) > 1 else model


def read_rows(path: Path = TABLE) -> list[Row]:
    rows = []
    with path.open(newline="") as file:
        for record in csv.DictReader(file):
            if record["suspect"]:
                continue
            try:
                height, width, channels = (int(part) for part in record["input_res"].split("x"))
                network = Network(float(record["params_M"]), float(record["ops_G"]), height * width, channels)
                fps = float(record["batch1_fps"]), float(record["batch8_fps"])
            except ValueError:
                continue
            if min(*fps, network.parameters, network.operations, network.pixels, network.channels) > 0:
                rows.append(Row(DEVICES[record["arch"]], record["model"], network, *fps))
    return rows


def key_of(row: Row) -> tuple[str, str, float, float, int, int]:
    network = row.network
    return row.device, row.model, network.parameters, network.operations, network.pixels, network.channels


def published(rows: Iterable[Row]) -> list[Published]:
    """One row a network and device."""
    found = []
    for _, group in groupby(sorted(rows, key=key_of), key=key_of):
        same = list(group)
        first = same[0]
        fps = [float(f"{median(values):.6g}") for values in ([one.fps1 for one in same], [one.fps8 for one in same])]
        found.append(Published(first.device, first.model, first.network, first.network.features(), *fps))
    return found


def to_csv(table: Iterable[Published]) -> str:
    lines = ["device,model,params_M,ops_G,pixels,channels,fps1,fps8"]
    for row in table:
        network = row.network
        sizes = (f"{network.parameters:g}", f"{network.operations:g}", str(network.pixels), str(network.channels))
        lines.append(",".join([row.device, row.model, *sizes, f"{row.fps1:g}", f"{row.fps8:g}"]))
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Errors:
    """Published / guessed of rows whose like was left out."""

    fps1: list[float]
    fps8: list[float]
    ratio: list[float]

    def medians(self) -> tuple[float, float]:
        """Median error of FPS over both batch sizes, and of batch 8 / batch 1."""
        fps, ratio = ([abs(1 / value - 1) for value in values] for values in (self.fps1 + self.fps8, self.ratio))
        return median(fps), median(ratio)


def cross_validate(rows: Iterable[Row], table: list[Published], like: Callable[[str], str]) -> dict[str, Errors]:
    """Every row by device, looked up among the networks that `like` tells apart from it."""
    by_device: dict[str, list[Published]] = {}
    for one in table:
        by_device.setdefault(one.device, []).append(one)
    guesses: dict[tuple[object, ...], tuple[float, float]] = {}
    found = {device: Errors([], [], []) for device in by_device}
    for row in rows:
        key = key_of(row)
        if key not in guesses:
            others = [one for one in by_device[row.device] if like(one.model) != like(row.model)]
            guesses[key] = look_up(others, row.network)
        fps1, fps8 = guesses[key]
        errors = found[row.device]
        errors.fps1.append(row.fps1 / fps1)
        errors.fps8.append(row.fps8 / fps8)
        errors.ratio.append(row.fps8 / row.fps1 / (fps8 / fps1))
    return found


def together(errors: Iterable[Errors]) -> Errors:
    listed = list(errors)
    return Errors(*([value for one in listed for value in getattr(one, name)] for name in ("fps1", "fps8", "ratio")))


def to_toml(rows: list[Row], table: list[Published]) -> str:
    own = cross_validate(rows, table, lambda model: model)
    families = cross_validate(rows, table, family)
    whole, whole_family = together(own.values()), together(families.values())
    fps, ratio = whole.medians()
    family_fps, family_ratio = whole_family.medians()
    how = (
        f"cross-validation over {len(rows)} published rows: median error with the network itself left out (every "
        "release and device of it), and with its whole family left out; the interval is the 10th to 90th percentile of "
        "the latter"
    )
    lines = [
        "# How good the table model is (emu/timing/table.py), measured and written by benchmarks/fit_table.py.",
        "",
        "[accuracy]",
        f"fps_median_error = {fps:.4f}",
        f"ratio_median_error = {ratio:.4f}",
        f"family_fps_median_error = {family_fps:.4f}",
        f"family_ratio_median_error = {family_ratio:.4f}",
        f'how = "{how}"',
        "",
        "# published / guessed, 10th and 90th percentile",
        "[interval]",
    ]
    for name, values in (("fps1", whole_family.fps1), ("fps8", whole_family.fps8)):
        cuts = quantiles(values, n=10)
        lines.append(f"{name} = [{cuts[0]:.4f}, {cuts[-1]:.4f}]")
    for device in sorted(own):
        fps, ratio = own[device].medians()
        family_fps, family_ratio = families[device].medians()
        lines += [
            "",
            f"[devices.{device}]",
            f"fps_median_error = {fps:.4f}",
            f"ratio_median_error = {ratio:.4f}",
            f"family_fps_median_error = {family_fps:.4f}",
            f"family_ratio_median_error = {family_ratio:.4f}",
        ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", type=Path, default=TABLE)
    parser.add_argument("--write", action="store_true", help="write both files")
    options = parser.parse_args()
    rows = read_rows(options.table)
    table = published(rows)
    text = to_toml(rows, table)
    print(text)
    if options.write:
        (PLACE / "published.csv").write_text(to_csv(table), encoding="utf-8")
        (PLACE / "table_model.toml").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
