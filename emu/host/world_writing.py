"""What has changed in a world of objects, written down as data (emu.host.world)."""

from __future__ import annotations

from collections import deque
from enum import Enum
from functools import partial
from types import BuiltinMethodType, FunctionType, MethodType
from typing import Any

import msgspec
import simpy
from msgspec import Struct

from emu.errors import UsageError
from emu.host.world import (
    DICTS,
    EVENT,
    LARGEST,
    NAMED,
    RESUME,
    Changes,
    World,
    address,
    attributes,
    is_array,
    is_frozen_struct,
    is_state,
    name_of,
    owner_of,
    thing_named,
)
from emu.hw.unit import NotNowError


def changes(world: World, awaited: simpy.Event | None) -> Changes:
    """What has changed since `remember`; NotNowError where something is under way that no data says."""
    return _Writer(world).all(awaited)


class _Writer:
    def __init__(self, world: World) -> None:
        self._world = world
        self._names: dict[str, int] = {}
        self._numbers: dict[int, int] = {}
        self._made: list[Any] = []
        self._held: list[Any] = []  # so that no identity is used twice

    def all(self, awaited: simpy.Event | None) -> Changes:
        world, clock = self._world, self._world.clock
        # first, for here it shows whether something is under way
        queue = [(ns, priority, self.value(event)) for ns, priority, event in clock.to_come]
        waits = self.value(awaited)
        for one in list(self._made):
            if isinstance(one, simpy.Event):
                self._event(one)
        changed = [
            (number, self._content(one) if new is None else [[name, self.value(held)] for name, held in new])
            for number, one, new in world.changed()
        ]
        made = [(self._kind(one), self._content(one)) for one in self._made]  # which grows meanwhile
        when = clock.time, clock.events
        return Changes(len(world.objects), world.shape, list(self._names), changed, made, queue, waits, when)

    def _name(self, what: Any) -> int:
        name = name_of(what)
        if not name.startswith(NAMED) or thing_named(name) is not what:
            raise UsageError(f"a checkpoint cannot keep {name}")
        return self._names.setdefault(name, len(self._names))

    def value(self, one: Any) -> Any:
        """Plain values as they are, everything else as [tag, …]."""
        kind = type(one)
        if one is None or kind in (bool, float, str, bytes):
            return one
        if kind is int:
            return one if -LARGEST <= one < LARGEST else ["i", hex(one)]
        if isinstance(one, Enum):
            return ["e", self._name(kind), one.name]
        if isinstance(one, type):
            return ["c", self._name(one)]
        if kind is tuple:
            return ["t", *map(self.value, one)]
        number = self._world.number(one)
        if number is not None:
            return ["o", number]
        if isinstance(one, tuple):
            return ["n", self._name(kind), *map(self.value, one)]
        if kind is frozenset:
            return ["z", *sorted(map(self.value, one), key=msgspec.msgpack.encode)]
        if isinstance(one, MethodType | BuiltinMethodType):
            return self._method(one)
        if isinstance(one, FunctionType):
            return ["f", self._name(one)]
        if is_frozen_struct(one) and is_state(kind):
            return ["n", self._name(kind), *(self.value(getattr(one, name)) for name in kind.__struct_fields__)]
        return ["o", self._number(one)]

    def _method(self, one: Any) -> Any:
        if isinstance(one.__self__, simpy.Process):
            firmware = one.__self__
            if one.__name__ == "_resume" and firmware.is_alive:
                self._held.append(firmware)
                return [RESUME]
            raise NotNowError("a task that has come to its end")
        return ["m", self.value(one.__self__), one.__name__]

    def _number(self, one: Any) -> int:
        number = self._numbers.get(id(one))
        if number is None:
            number = self._numbers[id(one)] = len(self._world.objects) + len(self._made)
            self._made.append(one)
        return number

    def _kind(self, one: Any) -> Any:
        kind = type(one)
        for name, dictionary in DICTS.items():
            if kind is dictionary:
                return name
        if kind in (list, set, deque, bytearray):
            return kind.__name__
        if isinstance(one, partial):
            return "partial"
        if isinstance(one, bytes):
            return "bytes"
        if isinstance(one, memoryview):
            return "view"
        if is_array(one):
            return "array"
        if isinstance(one, simpy.Event):
            return EVENT
        if not is_state(kind) or (isinstance(one, Struct) and hasattr(kind, "__post_init__")):
            raise UsageError(f"a checkpoint cannot keep {name_of(kind)}")
        return self._name(kind)

    def _content(self, one: Any) -> Any:
        value = self.value
        if isinstance(one, dict):
            return [[value(key), value(held)] for key, held in one.items()]
        if isinstance(one, list):
            return [value(held) for held in one]
        if isinstance(one, deque):
            return [one.maxlen, *(value(held) for held in one)]
        if isinstance(one, set):
            return sorted(map(value, one), key=msgspec.msgpack.encode)
        if isinstance(one, bytes | bytearray):
            return bytes(one)
        if isinstance(one, partial):
            if one.keywords:
                raise UsageError("a checkpoint cannot keep calls with keywords")
            return [value(one.func), *map(value, one.args)]
        if isinstance(one, memoryview):
            return self._shown(one) or bytes(one)
        if is_array(one):
            return [one.dtype.str, list(one.shape), bool(one.flags.writeable), self._shown(one) or one.tobytes()]
        if isinstance(one, simpy.Event):
            return self._event(one)
        return [[name, value(held)] for name, held in attributes(one)]

    def _shown(self, one: Any) -> Any:
        """Where the bytes of a view or array lie, where they are another object's; else None."""
        owner = owner_of(one)
        if owner is None or not (one.contiguous if isinstance(one, memoryview) else one.flags.c_contiguous):
            return None
        number = self._world.number(owner)
        if number is None:
            if not isinstance(owner, bytes) or len(owner) > 2 * one.nbytes:
                return None
            number = self._number(owner)
        return [number, address(one) - address(owner), one.nbytes] if one.nbytes else None

    def _event(self, one: simpy.Event) -> Any:
        if one.callbacks is None:
            raise NotNowError("an event that is over")
        callbacks = [self.value(callback) for callback in one.callbacks]
        if [RESUME] in callbacks[:-1]:
            raise NotNowError("an event that several wait for")
        if one.triggered and (not one.ok or one.value is not None):
            raise NotNowError("an event that failed or brings something")
        return [not one.triggered, callbacks]
