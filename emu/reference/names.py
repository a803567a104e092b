"""Which tensor of a model a layer of a HEF is: the compiler keeps the names of nodes, each exporter has its own way.

An original name is looked for as a tensor, as a node, then without what exporters add (a leading slash, `:0`,
`_output_0`), then as a path with and without the op behind it (`/model.22/cv3.0/cv3.0.2/Conv`), at last as the end of a
longer path. A compiled layer bears the names of all that was fused into it: of the tensors found the last one counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from emu.reference.tensors import TensorInfo

_SUFFIX = re.compile(r"(:\d+|_output_\d+|/output_\d+)$")
# what ends a path without being part of it: ONNX and TensorFlow op types as node names, numbered or not
_OP = re.compile(
    r"(Conv|Conv2D|ConvTranspose|Gemm|MatMul|BiasAdd|Add|Mul|Sub|Relu|Relu6|LeakyRelu|PRelu|Clip|Sigmoid|Tanh|"
    r"BatchNormalization|FusedBatchNormV3|MaxPool|AveragePool|GlobalAveragePool|Concat|Reshape|Flatten|Softmax)(_\d+)?"
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A tensor that a name may mean, and how it was found."""

    tensor: str
    name: str
    how: str


def plain(name: str) -> str:
    """A name without what exporters put around it."""
    return _SUFFIX.sub("", name.strip("/"))


def without_op(name: str) -> str:
    """A plain name without an op type as its last part."""
    head, slash, last = name.rpartition("/")
    return head if slash and _OP.fullmatch(last) else name


class NameIndex:
    """The tensors of a model by every spelling."""

    def __init__(self, tensors: Mapping[str, TensorInfo]) -> None:
        self._tensors = tensors
        self._order = {name: place for place, name in enumerate(tensors)}
        self._nodes: dict[str, str] = {}
        self._plain: dict[str, list[str]] = {}
        self._paths: dict[str, list[str]] = {}
        for name, info in tensors.items():
            self._nodes.setdefault(info.node, name)
            for spelling in {plain(name), plain(info.node)} - {""}:
                self._plain.setdefault(spelling, []).append(name)
                self._paths.setdefault(without_op(spelling), []).append(name)

    def find(self, name: str) -> tuple[Candidate, ...]:
        """The tensors that one original name may mean, by the strictest rule that finds any."""
        for how, found in self._by_rule(name):
            unique = dict.fromkeys(found)
            if unique:
                return tuple(Candidate(tensor, name, how) for tensor in unique)
        return ()

    def _by_rule(self, name: str) -> Iterator[tuple[str, list[str]]]:
        yield "tensor name", [name] if name in self._tensors else []
        yield "node name", [self._nodes[name]] if name and name in self._nodes else []
        bare = plain(name)
        if not bare:
            return
        yield "name", self._plain.get(bare, [])
        yield "layer path", self._paths.get(without_op(bare), [])
        yield "end of path", list(self._endings(bare))

    def _endings(self, bare: str) -> Iterator[str]:
        for spellings, wanted in ((self._plain, bare), (self._paths, without_op(bare))):
            for spelling, names in spellings.items():
                if _OP.fullmatch(spelling):
                    continue  # every path ends so
                if spelling.endswith(f"/{wanted}") or wanted.endswith(f"/{spelling}"):
                    yield from names

    def latest(self, names: Iterable[str]) -> str:
        """Of several tensors the one that is made last."""
        return max(names, key=lambda name: self._order[name])

    def candidates(self, original_names: Sequence[str]) -> tuple[Candidate, ...]:
        """All that the names of a layer may mean, the last made first."""
        found: dict[str, Candidate] = {}
        for name in original_names:
            for candidate in self.find(name):
                found.setdefault(candidate.tensor, candidate)
        return tuple(sorted(found.values(), key=lambda one: -self._order[one.tensor]))
