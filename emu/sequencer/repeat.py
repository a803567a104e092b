"""Grouping of equal actions into REPEATED_ACTION blocks (hef-compile.md 4.9)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from emu.errors import HailoError, HailoStatus
from emu.sequencer.actions import MAX_REPEATED, REPEATABLE, Action, Entry, Repeated


class Marker:
    """An entry that only has a place in the list and no bytes on the wire."""

    __slots__ = ("name", "repeatable")

    def __init__(self, name: str, repeatable: bool = False) -> None:
        self.name = name
        self.repeatable = repeatable

    def __repr__(self) -> str:
        return self.name


NONE: Final = Marker("NONE")
PRE_ALLOW_INPUT: Final = Marker("CONFIG_CHANNEL_PRE_ALLOW_INPUT_DATAFLOW", repeatable=True)
DISABLE_DATA_CHANNELS: Final = Marker("DISABLE_DATA_CHANNELS")


def group_repeated(actions: Iterable[Action | Marker]) -> list[Entry]:
    """Merge runs of one repeatable type, at most 255 each, and drop the markers, which break runs.

    Two adjacent PRE_ALLOW_INPUT markers are HAILO_INVALID_HEF: the runtime tries to repeat them.
    """
    out: list[Entry] = []
    run: list[Action] = []
    kind = None
    previous: Action | Marker | None = None
    for action in actions:
        if action.__class__ is Marker:
            if run:
                _flush(out, run)
                run = []
            kind = None
            if action is previous and action is PRE_ALLOW_INPUT:
                raise HailoError(
                    HailoStatus.HAILO_INVALID_HEF,
                    "two allow_config_channels actions in a row (a repeated action of a type that has no bytes)",
                )
        else:
            assert isinstance(action, Action)
            if action.type is kind:
                run.append(action)
            else:
                if run:
                    _flush(out, run)
                    run = []
                kind = action.type
                if kind in REPEATABLE:
                    run.append(action)
                else:
                    out.append(action)
                    kind = None
        previous = action
    if run:
        _flush(out, run)
    return out


def _flush(out: list[Entry], run: list[Action]) -> None:
    for start in range(0, len(run), MAX_REPEATED):
        chunk = run[start : start + MAX_REPEATED]
        if len(chunk) == 1:
            out.append(chunk[0])
        else:
            out.append(Repeated(chunk[0].type, tuple(chunk)))
