"""A world of objects as data: what has changed in it since it was made, to be made so again in another process.

Two worlds that are made in the same way have the same objects in the same order, so an object is known by its number.
`emu.host.world_writing` writes down what differs from when the world was looked at first, and everything that has come
since; `emu.host.world_reading` does the same to another one. Data, no code: a class, a function or a method is known by
its name, and only those of the simulated world are; what a file says is checked before anything is made of it.
"""

from __future__ import annotations

import re
import sys
from collections import Counter, OrderedDict, deque
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from functools import partial
from types import BuiltinMethodType, FunctionType, MethodType
from typing import Any

import simpy
from msgspec import Struct

from emu.errors import HailoError, HailoStatus
from emu.hw.clock import Clock
from emu.wire.actions import Action

# whose objects are state: all others are the same in every world that is made in the same way, and never change
_STATE = (
    "emu.hw.",
    "emu.host.",
    "emu.net.frames",
    "emu.sequencer.program",
    "emu.timing.",
    "emu.trace.hazards",
    "emu.wire.breakpoints",
    "emu.wire.notifications",
)
NAMED = (*_STATE, "emu.wire.", "emu.net.streams", "emu.sequencer.", "emu.trace.events")
_FIXED = frozenset(
    {
        "emu.host.computing:GroupComputing",
        "emu.host.jobs:Job",
        "emu.host.session:RunRequest",
        "emu.hw.application:ActionList",
        "emu.hw.clock:Clock",
        "emu.hw.config.addresses:ChipMap",
        "emu.hw.inspection:Inspection",
        "emu.net.frames:ContextFrames",
        "emu.sequencer.program:NetworkGroupProgram",
        "emu.sequencer.program:Program",
        "emu.timing.model:GroupTiming",
    }
)
# attributes that belong to whoever watches, that a task has anew, or that are worked out again
_NOT_STATE: Mapping[str, frozenset[str]] = {
    "emu.hw.probe:Probe": frozenset(
        {
            "tracer",
            "observers",
            "action_hooks",
            "context_hooks",
            "write_hooks",
            "read_hooks",
            "register_hooks",
            "judges",
            "stop_at_hazard",
        }
    ),
    "emu.hw.firmware:Firmware": frozenset({"_process", "_goes_on", "handlers", "_costs", "_straight"}),
    "emu.hw.application:Context": frozenset({"_subjects"}),
    "emu.hw.frame_events:FrameEvents": frozenset({"_subjects", "_launches", "_transfers"}),
    "emu.hw.hostmem:HostMemory": frozenset({"action_lists"}),
    "emu.hw.vdma:Vdma": frozenset({"_sound"}),
    "emu.net.frames:CoreFrames": frozenset({"_held", "_contexts", "_assumed"}),
    "emu.host.device:OpenDevice": frozenset({"_tracer_for", "_on_chip", "_handlers", "_host_settings"}),
    "emu.host.session:Session": frozenset({"request", "program", "paused"}),
}
NAME = re.compile(r"emu(?:\.[a-z_][a-z0-9_]*)+:[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", re.ASCII)
LARGEST = 1 << 63
# whose methods and functions may be called by what a file says: none of them opens, loads or writes anything
CALLED = ("emu.hw.", "emu.host.pcie:", "emu.host.streams:", "emu.host.application:", "emu.host.session:Session")
LIST_METHODS = ("append", "extend")
DICTS: Mapping[str, type] = {"dict": dict, "Counter": Counter, "OrderedDict": OrderedDict}
EVENT, RESUME = "event", "resume"
SHOWING = ("view", "array")


class Changes(Struct, frozen=True):
    """What changed in a world of `objects` objects of certain classes (`shape`), in the form of
    `emu.host.world_writing`.

    `names` are those of classes and functions, `changed` [number, content] of objects that were there, `made` [class,
    content] of those that were not, `queue` [instant, priority, event], `awaited` what the firmware's task waits for,
    `clock` its time, the discrete events so far.
    """

    objects: int
    shape: bytes
    names: list[str]
    changed: list[tuple[int, Any]]
    made: list[tuple[Any, Any]]
    queue: list[tuple[int, int, Any]]
    awaited: Any
    clock: tuple[int, int]


def name_of(what: Any) -> str:
    """What a class or function is called in a file."""
    return f"{what.__module__}:{what.__qualname__}"


def is_state(kind: type) -> bool:
    name = name_of(kind)
    return name.startswith(_STATE) and name not in _FIXED and not issubclass(kind, BaseException)


def fields(kind: type) -> list[str]:
    """The attributes that objects of a class have beside those of their `__dict__`."""
    if issubclass(kind, Struct):
        return list(kind.__struct_fields__)
    found: list[str] = []
    for one in reversed(kind.__mro__):
        slots = one.__dict__.get("__slots__", ())
        found += [slots] if isinstance(slots, str) else slots
    return [name for name in found if name not in ("__dict__", "__weakref__")]


def attributes(one: Any) -> Iterator[tuple[str, Any]]:
    kind = type(one)
    without = left_out(kind)
    for name in (*fields(kind), *getattr(one, "__dict__", ())):
        if name not in without and hasattr(one, name):
            yield name, getattr(one, name)


def left_out(kind: type) -> frozenset[str]:
    found: frozenset[str] = frozenset()
    for one in kind.__mro__:
        found |= _NOT_STATE.get(name_of(one), frozenset())
    return found


def is_frozen_struct(value: Any) -> bool:
    return isinstance(value, Struct) and type(value).__struct_config__.frozen


def is_array(value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


def owner_of(value: Any) -> Any:
    """Whose bytes a view or array shows; None where they are its own."""
    found = value
    while True:
        if isinstance(found, memoryview):
            found = found.obj
        elif is_array(found) and found.base is not None:
            found = found.base
        else:
            return None if found is value else found


def address(value: Any) -> int:
    import numpy as np

    array = value if isinstance(value, np.ndarray) else np.frombuffer(value, np.uint8)
    return int(array.__array_interface__["data"][0])


class World:
    """The objects that are reached from some roots, in the order in which they are come by."""

    def __init__(self, clock: Clock, roots: Iterable[object]) -> None:
        self.clock = clock
        self.objects: list[Any] = []
        self._numbers: dict[int, int] = {}
        self._before: list[Any] = []
        for root in roots:
            self._reach(root)
        for one in self.objects:  # which grows meanwhile
            for value in _parts(one):
                self._reach(value)

    @property
    def shape(self) -> bytes:
        """What tells worlds apart that were not made in the same way."""
        import xxhash

        return xxhash.xxh3_128_digest("\n".join(name_of(type(one)) for one in self.objects).encode())

    def number(self, one: object) -> int | None:
        return self._numbers.get(id(one))

    def remember(self) -> None:
        """From now on it is known what changes."""
        self._before = [_content(one) for one in self.objects]

    def changed(self) -> Iterator[tuple[int, Any, Any]]:
        """(number, object, what of its content is new) of those whose content is another one than it was."""
        for number, (one, before) in enumerate(zip(self.objects, self._before, strict=True)):
            now = None if before is None else _content(one)
            if now is None or _same(before, now):
                continue
            if isinstance(one, dict | list | deque | set | bytearray):
                yield number, one, None
            else:
                was = dict(before)
                new = [(name, held) for name, held in now if name not in was or not same_value(was[name], held)]
                yield number, one, new

    def _reach(self, value: Any) -> None:
        pending = [value]
        while pending:
            one = pending.pop()
            if isinstance(one, Action):
                pass  # of which a runtime may have classes that have no name of their own
            elif isinstance(one, tuple | frozenset) or is_frozen_struct(one):
                if not isinstance(one, Struct) or is_state(type(one)):
                    pending += reversed(list(_parts(one)))
                    continue
            elif isinstance(one, MethodType | BuiltinMethodType):
                pending.append(one.__self__)
                continue
            if not _has_identity(one) or id(one) in self._numbers:
                continue
            self._numbers[id(one)] = len(self.objects)
            self.objects.append(one)


def _has_identity(one: Any) -> bool:
    """Whether it matters which one it is."""
    if one is None or isinstance(one, bool | int | float | str | bytes | Enum | type | BuiltinMethodType):
        return False
    if isinstance(one, FunctionType):
        return thing_named(name_of(one)) is not one
    return True


def _parts(one: Any) -> Iterable[Any]:
    """What an object is made of."""
    if isinstance(one, Mapping):
        return (value for pair in one.items() for value in pair)
    if isinstance(one, list | tuple | deque):
        return one
    if isinstance(one, set | frozenset):
        return ()  # in no order that two processes share: values, and no objects that anybody else knows
    if isinstance(one, partial):
        return (one.func, *one.args, *one.keywords.values())
    if isinstance(one, memoryview):
        return () if owner_of(one) is None or isinstance(owner_of(one), bytes) else (owner_of(one),)
    if is_frozen_struct(one) or is_state(type(one)):
        return (value for _, value in attributes(one))
    return ()


def _content(one: Any) -> Any:
    """What can change of an object, as it is now; None where nothing can."""
    if isinstance(one, dict):
        return list(one.items())
    if isinstance(one, list | deque | set):
        return list(one)
    if isinstance(one, bytearray):
        return bytes(one)
    if not isinstance(one, Mapping | simpy.Environment) and is_state(type(one)) and not is_frozen_struct(one):
        return list(attributes(one))
    return None


def _same(before: Any, now: Any) -> bool:
    """Whether two contents are made of the same objects and equal plain values."""
    if isinstance(before, bytes):
        return bool(before == now)
    return len(before) == len(now) and all(map(same_value, before, now))


def same_value(before: Any, now: Any) -> bool:
    if before is now:
        return True
    if type(before) is not type(now):
        return False
    if isinstance(now, tuple):
        return len(before) == len(now) and all(map(same_value, before, now))
    if isinstance(now, int | float | str | bytes):
        return bool(before == now)
    return isinstance(now, MethodType) and bool(before == now)


def thing_named(name: str) -> Any:
    """The class or function of a name, None where there is none."""
    if NAME.fullmatch(name) is None:
        return None
    module, _, inside = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in inside.split("."):
        found = None if found is None else found.__dict__.get(part) if hasattr(found, "__dict__") else None
        found = getattr(found, "__func__", found) if isinstance(found, staticmethod | classmethod) else found
    return found


def refusal(why: str) -> HailoError:
    """For a file that is no checkpoint, or one of another run."""
    return HailoError(HailoStatus.HAILO_INVALID_ARGUMENT, why)
