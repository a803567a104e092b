"""Fit the constants that no document gives to Hailo's published figures, and validate them on the rest.

    python benchmarks/calibrate.py [--table model_zoo_fps.csv]

Rows: those with an empty `suspect` and with parameters, operations and resolution. The models of the given HEFs are
left out of everything (`HELD_OUT`). Of the others a model belongs to the fit if crc32(name) % 3 != 0, else to the
validation; so all releases and chips of a model are on the same side. Prints every fitted number as the profiles hold
it, and the errors on both sides. tests/timing/test_calibration.py checks that they still do.
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from emu.chips import chips
from emu.hef import open_hef
from emu.sequencer.compile import compile_hef
from emu.timing.demand import GroupDemand
from emu.timing.schedule import GroupSchedule
from emu.timing.workload import group_timing

Array: TypeAlias = NDArray[np.float64]
ROOT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("EMU_SHARED", ROOT.parent / "shared"))
TABLE = SHARED / "data" / "model_zoo_fps.csv"
TWO_CONTEXTS = SHARED / "hef" / "face_landmarks_lite_2ctx.v3.hailo1xh.hef"

HELD_OUT = frozenset({"fast_depth", "scrfd_2.5g", "arcface_mobilefacenet", "face_landmarks_lite"})
ARCHITECTURES = {
    "hailo8": "HAILO8",
    "hailo8l": "HAILO8L",
    "hailo15h": "HAILO15H",
    "hailo10h": "HAILO10H",
    "hailo15l": "HAILO15L",
}
RELEASE = "v5.2.0"  # the runtime that this project models for Hailo-10/15; speeds differ between releases
_SCRFD = sum(size * size * (8 + 2 + 20) for size in (80, 40, 20))
# boundary streams (one input, the outputs) and output bytes a frame of the fast networks of one context whose outputs
# are raw tensors: `output_shape` of hailo_model_zoo/cfg/networks/*.yaml in github.com/hailo-ai/hailo_model_zoo
BOUNDARY = {
    "tddfa_mobilenet_v1": (2, 62),
    "repvgg_a0_person_reid_512": (2, 512),
    "squeezenet_v1.1": (2, 1000),
    "mobilenet_v1": (2, 1001),
    "mobilenet_v2_1.0": (2, 1001),
    "mobilenet_v3": (2, 1001),
    "lightface_slim": (9, 30 * 40 * 18 + 15 * 20 * 12 + 8 * 10 * 12 + 4 * 5 * 18),
    "scrfd_500m": (10, _SCRFD),
    "yolov6n_0.2.1": (7, sum(size * size * (4 + 80) for size in (80, 40, 20))),
}
# a network of one context that the core bounds has the same figure at every batch, to a thousandth
CORE_BOUND = 0.005
MULTI_CONTEXT = 1.05  # batch 8 / batch 1 above this: more than one context
# up to here a multi-context network is taken to have two contexts: the largest sample before the errors on the rows
# left out grow (12: as good, with fewer rows; 20: worse on all three chips)
SMALL_MODEL_M = 15.0
CONTEXTS = 2
CONFIG_BYTES_PER_PARAMETER = 1.2  # median of the given HEFs: CCW bytes / parameters (docs/timing.md)


@dataclass(frozen=True)
class Row:
    """One published row: frames per second at batch 1 and 8, parameters in millions, operations in 1e9."""

    arch: str
    model: str
    release: str
    fps1: float
    fps8: float
    parameters: float
    operations: float
    input_bytes: int

    @property
    def fitted(self) -> bool:
        return zlib.crc32(self.model.encode()) % 3 != 0

    @property
    def ratio(self) -> float:
        return self.fps8 / self.fps1

    @property
    def interval_ms(self) -> float:
        """The time of each further frame, from T(b) = fixed + b * interval at b = 1 and 8."""
        return (8e3 / self.fps8 - 1e3 / self.fps1) / 7

    @property
    def fixed_ms(self) -> float:
        return 1e3 / self.fps1 - self.interval_ms


def read_table(path: Path) -> list[Row]:
    rows = []
    with path.open(newline="") as file:
        for record in csv.DictReader(file):
            if record["suspect"] or record["model"] in HELD_OUT:
                continue
            try:
                height, width, channels = (int(part) for part in record["input_res"].split("x"))
                row = Row(
                    record["arch"],
                    record["model"],
                    record["model_zoo_tag"],
                    float(record["batch1_fps"]),
                    float(record["batch8_fps"]),
                    float(record["params_M"]),
                    float(record["ops_G"]),
                    height * width * channels,
                )
            except ValueError:
                continue
            if min(row.fps1, row.fps8, row.parameters, row.operations, row.input_bytes) > 0:
                rows.append(row)
    return rows


def least_deviations(features: Array, target: Array) -> Array:
    """Coefficients with the least sum of absolute deviations, by iteratively reweighted least squares."""
    weights: Array = np.ones(len(target))
    solution: Array = np.zeros(features.shape[1])
    for _ in range(200):
        root = np.sqrt(weights)
        solution = np.asarray(np.linalg.lstsq(features * root[:, None], target * root, rcond=None)[0], np.float64)
        weights = np.asarray(1 / np.maximum(np.abs(features @ solution - target), 1e-4), np.float64)
    return solution


def relative(features: Sequence[Sequence[float]] | Array, target: Sequence[float]) -> Array:
    """As `least_deviations`, of the relative errors."""
    values = np.asarray(target, float)
    return least_deviations(np.asarray(features, float) / values[:, None], np.ones(len(values)))


def greatest_rate(rows: Iterable[Row]) -> float:
    """The greatest input rate in B/s: no fitted row shows that the DMA is slower."""
    return max(max(row.fps1, row.fps8) * row.input_bytes for row in rows)


def of(rows: Iterable[Row], arch: str, release: str | None = None, *, fitted: bool = True) -> list[Row]:
    return [
        row for row in rows if row.arch == arch and row.fitted == fitted and (release is None or row.release == release)
    ]


@dataclass(frozen=True)
class Fit:
    """A fitted number: where it is kept, its value, and the error it leaves on the rows left out."""

    place: str
    value: float
    validation: str


def fit_dma(rows: list[Row], device: str, release: str | None) -> Fit:
    arch = ARCHITECTURES[device]
    rate = greatest_rate(of(rows, arch, release))
    other = greatest_rate(of(rows, arch, release, fitted=False))
    return Fit(f"{device} dma.bytes_per_second", rate, f"greatest rate left out is {other / rate:.3f} of it")


def host_bound(rows: Iterable[Row], arch: str, *, fitted: bool) -> list[Row]:
    """Rows whose frames the host bounds: all that are known on Hailo-10H, on Hailo-15H those that the core does not."""
    known = [row for row in of(rows, arch, RELEASE, fitted=fitted) if row.model in BOUNDARY]
    return known if arch == "HAILO10H" else [row for row in known if abs(row.ratio - 1) > CORE_BOUND]


def fit_host(rows: list[Row], device: str, fixed: bool) -> list[Fit]:
    """A frame costs the host a time a stream and a time a byte of its inputs and outputs; `fixed`: one of its own too.

    The host of a Hailo-15 has few rows, all of many streams: they do not tell a time a frame from a time a stream.
    """
    arch = ARCHITECTURES[device]

    def data(fitted: bool) -> tuple[Array, list[float]]:
        features: list[list[float]] = []
        target: list[float] = []
        for row in host_bound(rows, arch, fitted=fitted):
            streams, output_bytes = BOUNDARY[row.model]
            for fps in (row.fps1, row.fps8):
                features.append([streams, row.input_bytes + output_bytes, *([1] if fixed else [])])
                target.append(1e9 / fps)
        return np.asarray(features, float), target

    features, target = data(True)
    found = relative(features, target)
    left_out, expected = data(False)
    error = np.median(np.abs(left_out @ found / expected - 1))
    note = f"median error {error:.1%} on {len(expected)} figures left out, {len(target)} fitted"
    return [
        Fit(f"{device} host.stream_ns", found[0], note),
        Fit(f"{device} host.bytes_per_second", 1e9 / found[1], note),
        *([Fit(f"{device} host.frame_ns", found[2], note)] if fixed else []),
    ]


def fit_switch(rows: list[Row], device: str, release: str | None, two_contexts: TwoContexts) -> list[Fit]:
    """Configuration bandwidth and the time of a context switch that nothing else in the model explains.

    The fixed time of a batch of small multi-context networks is fitted as contexts x time + configuration + pipeline
    fill in intervals. Of the time of a context the model explains the actions and the pipeline fill, as they are in
    the given two-context HEF; what remains is `context_switch_ns`.
    """
    arch = ARCHITECTURES[device]

    def data(fitted: bool) -> tuple[list[list[float]], list[float]]:
        chosen = [
            row
            for row in of(rows, arch, release, fitted=fitted)
            if row.ratio > MULTI_CONTEXT
            and row.parameters <= SMALL_MODEL_M
            and row.fixed_ms > 0
            and row.interval_ms > 0
        ]
        return [[CONTEXTS, row.parameters, row.interval_ms] for row in chosen], [row.fixed_ms for row in chosen]

    features, target = data(True)
    context_ms, parameter_ms, fill = relative(features, target)
    left_out, expected = data(False)
    error = np.median(np.abs(np.asarray(left_out) @ [context_ms, parameter_ms, fill] / expected - 1))
    note = (
        f"median error of the fixed time {error:.1%} on {len(expected)} rows left out, {len(target)} fitted; "
        f"a context takes {context_ms:.3f} ms from all causes, the fill {fill:.2f} intervals"
    )
    per_context_ns = context_ms * 1e6 + fill * two_contexts.interval_ns / CONTEXTS
    unexplained_ns = per_context_ns - two_contexts.actions_ns - two_contexts.fill_ns
    return [
        Fit(f"{device} firmware.context_switch_ns", max(0.0, unexplained_ns), note),
        Fit(f"{device} config.bytes_per_second", CONFIG_BYTES_PER_PARAMETER * 1e9 / parameter_ms, note),
    ]


@dataclass(frozen=True)
class TwoContexts:
    """What the model explains of a context of the given two-context HEF; its published figures are not used."""

    interval_ns: float
    fill_ns: float
    actions_ns: float


def read_two_contexts(path: Path = TWO_CONTEXTS) -> TwoContexts:
    hef = open_hef(path)
    program = compile_hef(hef)
    profile = msgspec.structs.replace(
        chips.load(program.device), config_bytes_per_second=math.inf, context_switch_ns=0.0
    )
    demand = GroupDemand(program, program.network_groups[0])
    timing = group_timing(demand, profile)
    fixed_ns, interval_ns = GroupSchedule(profile, demand, timing).line()
    fill_ns = sum(flow.latency_ns - flow.interval_ns for flow in timing.flows)
    contexts = len(timing.flows)
    return TwoContexts(interval_ns, fill_ns / contexts, (fixed_ns - fill_ns) / contexts)


def fit_all(rows: list[Row]) -> list[Fit]:
    """Every fitted number of the chips."""
    two_contexts = read_two_contexts()
    switch15 = fit_switch(rows, "hailo15l", RELEASE, two_contexts)
    return [
        fit_dma(rows, "hailo8", None),
        fit_dma(rows, "hailo15h", None),
        *fit_host(rows, "hailo15h", fixed=False),
        *fit_host(rows, "hailo10h", fixed=True),
        *fit_switch(rows, "hailo8", None, two_contexts),
        *fit_switch(rows, "hailo8l", None, two_contexts),
        # Hailo-15L has by far the most small multi-context networks of its family: its fit serves all of it
        *(replace(fit, place=fit.place.replace("hailo15l", "hailo15h")) for fit in switch15),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", type=Path, default=TABLE)
    rows = read_table(parser.parse_args().table)
    print(f"{len(rows)} rows, {sum(row.fitted for row in rows)} of them fitted")
    for fit in fit_all(rows):
        print(f"{fit.place} = {fit.value:.4g}\n    {fit.validation}")


if __name__ == "__main__":
    main()
