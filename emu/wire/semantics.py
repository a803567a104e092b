"""What an action touches, starts and waits for: the traits of its class, as diff, Perfetto and the
invariants ask for them.

A unit is named as the device names it in its trace (`cluster 0 LCU 3`), a channel without its direction
(`channel 16`). From firmware-actions.md 8.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from emu.wire.actions import ACTIONS, Role, Target, having
from emu.wire.wire import wire_of

Arguments = Mapping[str, Any]

LCUS_PER_CLUSTER = 16
_MOST_NAMES = 1 << 12  # that are kept: a trace may name anything
_CLASSES = {kind.name: made for kind, made in ACTIONS.items()}
# the units that the fields of an action name, in the order of its fields
_NAMED = {
    name: tuple((key, field.names) for key, field in made.FIELDS.items() if field.names is not None)
    for name, made in _CLASSES.items()
}


def _names(**traits: object) -> frozenset[str]:
    return frozenset(kind.name for kind in having(**traits))


WAITS = _names(role=Role.WAIT)
ON_CHANNEL = frozenset(name for name, made in _CLASSES.items() if "packed_vdma_channel_id" in made.FIELDS)
BARRIERS = _names(role=Role.BARRIER)
CONFIG_FETCHES = _names(role=Role.FETCH)
ENABLES_LCU = _names(starts=Target.LCU)
DISABLES_LCU = _names(role=Role.STOP)
TRIGGERS_SEQUENCER = _names(starts=Target.SEQUENCER)
OPENS = _names(role=Role.OPEN)
ACTIVATES = _names(role=Role.ACTIVATE)
OPENS_CONFIG = _names(role=Role.CONFIG_CHANNEL)
CLOSES = _names(role=Role.CLOSE)


@lru_cache(_MOST_NAMES)
def channel_name(packed: int, runtime: str) -> str:
    """A channel as the device calls it, without its direction."""
    engine, index = channel_place(packed, runtime)
    return f"channel {index}" + (f" of engine {engine}" if engine else "")


def channel_of(unit: str) -> str:
    """The channel in the `unit` of an event (`channel 16 (D2H)`)."""
    return unit.partition(" (")[0]


def channel_place(packed: int, runtime: str) -> tuple[int, int]:
    """(engine, index) of a packed channel id, which runtimes pack differently."""
    return wire_of(runtime).channel(packed)


@lru_cache(_MOST_NAMES)
def lcu_name(packed: int) -> str:
    """An LCU as the device calls it."""
    return f"cluster {packed >> 4} LCU {packed & 15}"


def sequencer_name(cluster: int) -> str:
    """The sequencer of a cluster as the device calls it."""
    return f"cluster {cluster} sequencer"


def touched(action: str, arguments: Arguments, runtime: str) -> tuple[str, ...]:
    """The units an action acts on: two actions with none in common may change places. Not for WAITS and BARRIERS."""
    units: list[str] = []
    for name, unit in _NAMED.get(action, ()):
        value = arguments[name]
        if unit is Target.LCU:
            units.append(lcu_name(value))
        elif unit is Target.SEQUENCER:
            units += (sequencer_name(value), *(lcu_name(value << 4 | index) for index in range(LCUS_PER_CLUSTER)))
        elif unit is Target.CHANNEL:
            units.append(channel_name(value, runtime))
        elif unit is Target.CONFIG_STREAM:
            units.append(f"config stream {value}")
        else:
            units.append(f"NMS unit {value}")
    if action in ACTIVATES:
        side = "H2D" if _CLASSES[action].inward else "D2H"
        units.append(f"{side} stream {arguments['stream_index']}")
    return tuple(units) or (action,)


def started(action: str, arguments: Arguments, runtime: str) -> str:
    """The unit whose completion a later wait can be for; empty if the action starts none."""
    return _unit(_STARTED.get(action), arguments, runtime)


def awaited(action: str, arguments: Arguments, runtime: str) -> str:
    """The unit that a wait is for; empty for waits for the host and for actions that do not wait."""
    return _unit(_AWAITED.get(action), arguments, runtime)


def _unit(place: tuple[Target, str] | None, arguments: Arguments, runtime: str) -> str:
    if place is None:
        return ""
    unit, field = place
    if not field:
        return unit.value
    value = arguments[field]
    if unit is Target.LCU:
        return lcu_name(value)
    return sequencer_name(value) if unit is Target.SEQUENCER else channel_name(value, runtime)


def _places(units: Iterable[tuple[str, Target | None]]) -> dict[str, tuple[Target, str]]:
    """By action: the kind of unit, and the field that names it. Those that exist once have the name of their kind; the
    host is none."""
    nameless = (Target.CONFIG, Target.NMS)
    return {
        action: (unit, "" if unit in nameless else next(field for field, named in _NAMED[action] if named is unit))
        for action, unit in units
        if unit not in (None, Target.HOST, Target.APPLICATION)
    }


_STARTED = _places((name, made.starts) for name, made in _CLASSES.items())
_AWAITED = _places((name, made.waits_for) for name, made in _CLASSES.items())
AWAITS = frozenset(_AWAITED)
