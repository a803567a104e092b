"""What the firmware needs for each kind of action, from time stamps that a device wrote (`emu.trace.fw_actions`).

An action is stamped when it is done, so that the time between two stamps of a list is the second action's own: the
median counts. What waits for something shows its cost where it has nothing left to wait for, which is most likely
behind another wait of its kind: the least time of those counts, and what never stands there is not told.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from statistics import median

from msgspec import Struct

from emu.trace.fw_actions import CYCLES, FirmwareProfile, StampedAction, StampedContext
from emu.wire.actions import ActionType, Role, Target, having

_WAITS = (
    frozenset().union(*(having(waits_for=target) for target in Target))
    | having(role=Role.WAIT)
    | {ActionType.DEACTIVATE_CFG_CHANNEL, ActionType.SLEEP, ActionType.WAIT_FOR_CACHE_UPDATED, ActionType.HALT}
)
_BOUNDED = {ActionType.SLEEP, ActionType.HALT}  # their time is what they say, or without end


class ActionCost(Struct, frozen=True):
    """Firmware time of one kind of action: ns, how often it was seen, and the least and greatest time."""

    action: ActionType
    ns: float
    samples: int
    least_ns: float
    greatest_ns: float


def action_costs(profile: FirmwareProfile) -> list[ActionCost]:
    """The costs of all kinds that were stamped behind another action, in the order of their numbers."""
    times: dict[ActionType, list[float]] = {}
    for run in profile.runs:
        for context in run.contexts:
            for kind, cycles in _durations(context):
                times.setdefault(kind, []).append(cycles * 1e3 / profile.cycle_mhz)
    return [
        ActionCost(kind, min(seen) if kind in _WAITS else median(seen), len(seen), min(seen), max(seen))
        for kind, seen in sorted(times.items())
        if kind not in _BOUNDED
    ]


def _durations(context: StampedContext) -> Iterator[tuple[ActionType, float]]:
    """Cycles of each action of a list behind its first; those of a REPEATED share its one stamp."""
    before: int | None = None
    kind_before: ActionType | None = None
    executed = [one for one in context.actions if one.timestamp and one.type is not ActionType.REPEATED_ACTION]
    for stamp, group in groupby(executed, key=_stamp_of):
        actions = list(group)
        kind = actions[0].type
        if before is not None and (kind not in _WAITS or kind is kind_before):
            cycles = ((stamp[0] - before) % CYCLES) / len(actions)
            yield from [(kind, cycles)] * len(actions)
        before, kind_before = stamp[0], kind


def _stamp_of(action: StampedAction) -> tuple[int, bool, int]:
    """What the actions of one list entry have in common."""
    return action.timestamp, action.sub >= 0, action.address if action.sub < 0 else -1
