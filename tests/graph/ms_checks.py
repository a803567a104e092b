"""One operator against an independent oracle: what such a check holds, and how it is carried out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from emu.schemas.generated import ms_v0_1, ms_v0_5
from tests.graph.ms_cases import Array, check, file_a, file_b, run_file, within_ulp

Rng = np.random.Generator


@dataclass
class Check:
    """An operator of either generation on inputs, and what the oracle says. `how`: "exact", "ulp" (4 ulp of float64)
    or "close" (rtol 1e-4, atol 1e-5 of the largest, the bound against onnxruntime)."""

    attr: ms_v0_5.OpT | ms_v0_1.OpT
    inputs: Sequence[Array]
    wants: Sequence[Array]
    how: str = "exact"
    constants: Sequence[int] = ()
    formats: dict[int, ms_v0_5.Format] = field(default_factory=dict)
    last: bool = False
    quant: Sequence[Sequence[ms_v0_5.QuantParam]] = ()

    def file(self) -> bytes:
        outputs = [(want.shape, np.float32 if want.dtype == np.float64 else want.dtype) for want in self.wants]
        if isinstance(self.attr, ms_v0_1.OPT.members):
            attr: Any = self.attr
            return file_a(attr, self.inputs, outputs, constants=self.constants, last=self.last)
        attr = self.attr
        return file_b(attr, self.inputs, outputs, constants=self.constants, formats=self.formats, quant=self.quant)

    def run(self) -> None:
        data = self.file()
        given = [array for at, array in enumerate(self.inputs) if at not in self.constants]
        for reference in (False, True):
            found = run_file(data, given, reference=reference)
            assert len(found) == len(self.wants)
            for got, want in zip(found, self.wants, strict=True):
                if self.how == "ulp":
                    within_ulp(got, want)
                elif self.how == "close":
                    check(got, want)
                else:
                    assert got.dtype == want.dtype
                    np.testing.assert_array_equal(got, want)


Maker = Callable[[Rng], Check]


class Cases(dict[str, Maker]):
    """Checks by name: `Member` or `Member variant`."""

    def add(self, name: str) -> Callable[[Maker], Maker]:
        def register(maker: Maker) -> Maker:
            assert name not in self
            self[name] = maker
            return maker

        return register

    def members(self) -> set[str]:
        return {name.split()[0] for name in self}

    def run(self, name: str) -> None:
        made = self[name](np.random.default_rng(sorted(self).index(name)))
        assert type(made.attr).__name__ == name.split()[0]
        made.run()


def normal(rng: Rng, *shape: int) -> Array:
    return rng.standard_normal(shape, dtype=np.float32)


def ints(rng: Rng, low: int, high: int, *shape: int, dtype: Any = np.int32) -> Array:
    return rng.integers(low, high, shape).astype(dtype)
