"""The made-up OM cases: index, arrays, tolerances."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.conftest import DATA

FOLDER = DATA / "graphs"


@dataclass(frozen=True)
class Case:
    name: str
    valid: bool
    covers: str
    kind: str
    tolerance: str

    @property
    def path(self) -> Path:
        return FOLDER / "om" / self.name

    @property
    def data(self) -> bytes:
        return self.path.read_bytes()

    def arrays(self, which: str) -> dict[str, np.ndarray]:
        with np.load(self.path.with_suffix(f".{which}.npz")) as archive:
            return dict(archive)

    @property
    def limits(self) -> tuple[float, float]:
        """(atol, rtol)"""
        if self.tolerance == "exact":
            return 0.0, 0.0
        absolute, relative = re.fullmatch(r"atol=(\S+) rtol=(\S+)", self.tolerance).groups()
        return float(absolute), float(relative)


def load() -> list[Case]:
    with (FOLDER / "INDEX-om.tsv").open(encoding="utf-8") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [
            Case(
                Path(row["name"]).name,
                row["valid"] == "valid",
                row["covers"],
                row["oracle_or_refusal"],
                row["tolerance"],
            )
            for row in rows
        ]


CASES = load()
VALID = [case for case in CASES if case.valid]
INVALID = [case for case in CASES if not case.valid]


def compare(got: dict[str, np.ndarray], want: dict[str, np.ndarray], absolute: float, relative: float) -> None:
    """graph-conventions.md 0.2: same keys, shapes and dtypes, values within the tolerance."""
    assert got.keys() == want.keys()
    for key, expected in want.items():
        assert got[key].shape == expected.shape, key
        assert got[key].dtype == expected.dtype, key
        wide = expected.astype(np.float64)
        error = np.abs(got[key].astype(np.float64) - wide)
        assert (error <= absolute + relative * np.abs(wide)).all(), f"{key}: {error.max()}"
