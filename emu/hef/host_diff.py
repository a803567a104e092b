"""What two HEFs have the host do otherwise: streams, vstreams, formats, shapes, quantisation, post-processing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from emu.hef.hef import Hef
from emu.hef.infos import hef_infos
from emu.hef.report import host_side

NOT_COMPARED = (
    "compiler and time of making",
    "checksums",
    "extensions",
    "external resources",
    "the compiler's estimate of FPS",
)
"""Of two HEFs, beyond their lists, their configuration and the host's side."""


class HostDifference(Struct, frozen=True):
    """A value that differs: where (group, stream, vstream or op by name, then keys), what each has; None: nothing."""

    path: str
    a: Any
    b: Any

    def line(self) -> str:
        """As a person reads it."""
        if self.a is None or self.b is None:
            return f"{self.path}: only in {'B' if self.a is None else 'A'}"
        return f"{self.path}: {self.a} != {self.b}"


def host_differences(a: Hef, b: Hef, groups: Iterable[tuple[str, str]]) -> list[HostDifference]:
    """The host's side of pairs of network groups, named in `a` and in `b`; both are read by the release that each was
    opened for. Raises what loading them raises.
    """
    sides = [{group.name: host_side(group) for group in hef_infos(hef).network_groups} for hef in (a, b)]
    found: list[HostDifference] = []
    for first, second in groups:
        found += _differences(first, sides[0][first], sides[1][second])
    return found


def _differences(path: str, a: Any, b: Any) -> Iterator[HostDifference]:
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        for name in dict.fromkeys((*a, *b)):
            yield from _differences(f"{path} {name}", a.get(name), b.get(name))
    elif _listed(a) and _listed(b) and len(a) == len(b) and any(isinstance(one, Mapping) for one in (*a, *b)):
        for at, (one, other) in enumerate(zip(a, b, strict=True)):
            yield from _differences(f"{path}[{at}]", one, other)
    elif a != b:
        yield HostDifference(path, _short(a), _short(b))


def _listed(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _short(value: Any) -> Any:
    """What is left out of a whole entry that only one has: its name is in the path."""
    return "…" if isinstance(value, Mapping) else value
