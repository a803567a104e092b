"""Grouping of equal actions into REPEATED_ACTION blocks (hef-compile.md 4.9)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby, pairwise
from operator import attrgetter
from typing import Any, Final

from emu.errors import HailoError, HailoStatus
from emu.wire.actions import Action
from emu.wire.lists import MAX_REPEATED, Entry, Repeated

_TYPE = attrgetter("type")


class Marker:
    """An entry that only has a place in the list and no bytes on the wire."""

    __slots__ = ("name",)
    type: Final = None

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


NONE: Final = Marker("NONE")
PRE_ALLOW_INPUT: Final = Marker("CONFIG_CHANNEL_PRE_ALLOW_INPUT_DATAFLOW")
DISABLE_DATA_CHANNELS: Final = Marker("DISABLE_DATA_CHANNELS")


def group_repeated(actions: Iterable[Action | Marker]) -> list[Entry]:
    """Merge runs of one repeatable type, at most 255 each, and drop the markers, which break runs.

    Two adjacent PRE_ALLOW_INPUT markers are HAILO_INVALID_HEF: the runtime tries to repeat them.
    """
    out: list[Entry] = []
    for kind, same in groupby(actions, key=_TYPE):
        run: list[Any] = list(same)
        if kind is None:
            if any(one is other is PRE_ALLOW_INPUT for one, other in pairwise(run)):
                raise HailoError(
                    HailoStatus.HAILO_INVALID_HEF,
                    "two allow_config_channels actions in a row (a repeated action of a type that has no bytes)",
                )
        elif len(run) > 1 and run[0].repeatable:
            _flush(out, run)
        else:
            out += run
    return out


def _flush(out: list[Entry], run: list[Action]) -> None:
    for start in range(0, len(run), MAX_REPEATED):
        chunk = run[start : start + MAX_REPEATED]
        if len(chunk) == 1:
            out.append(chunk[0])
        else:
            out.append(Repeated(chunk[0].type, tuple(chunk)))
