"""What is written of a world of objects, checked and made of another one (emu.host.world)."""

from __future__ import annotations

import importlib
from collections import deque
from collections.abc import Callable
from enum import Enum
from functools import partial
from types import FunctionType, MethodType
from typing import Any

import msgspec
import simpy
from msgspec import Struct

from emu.host.world import (
    CALLED,
    DICTS,
    EVENT,
    LIST_METHODS,
    NAME,
    NAMED,
    RESUME,
    SHOWING,
    Changes,
    World,
    fields,
    is_state,
    left_out,
    name_of,
    refusal,
    thing_named,
)
from emu.hw.clock import Clock


def apply(found: Changes, world: World) -> simpy.Event | None:
    """Make a world what it was when the changes were written; returns the event that the firmware's task waits for.

    HAILO_INVALID_ARGUMENT where the changes are of another world, or make no sense.
    """
    if (found.objects, found.shape) != (len(world.objects), world.shape):
        raise refusal("the checkpoint is of a run that was made in another way, or of another version of emu")
    try:
        return _Reader(found, world).all()
    except (LookupError, TypeError, ValueError, AttributeError, ImportError, RuntimeError, OverflowError) as error:
        raise refusal(f"the checkpoint is damaged: {type(error).__name__}: {error!s:.200}") from None


class _Reader:
    def __init__(self, found: Changes, world: World) -> None:
        self._found = found
        self._clock = world.clock
        self._objects = list(world.objects)
        self._succeeded: list[simpy.Event] = []
        self._names = [self._named(name) for name in found.names]

    def _named(self, name: str) -> Any:
        if not name.startswith(NAMED) or NAME.fullmatch(name) is None:
            raise ValueError(f"no name {name!r:.60}")
        importlib.import_module(name.partition(":")[0])
        what = thing_named(name)
        if not isinstance(what, type | FunctionType):
            raise ValueError(f"no class or function {name!r:.60}")
        return what

    def all(self) -> simpy.Event | None:
        found, objects = self._found, self._objects
        first = len(objects)
        objects += [None] * len(found.made)
        for shows in (False, True):  # bytes before what shows them
            for number, (kind, content) in enumerate(found.made, first):
                if (kind in SHOWING) == shows:
                    objects[number] = self._new(kind, content)
        places = [*found.changed, *((number, content) for number, (_, content) in enumerate(found.made, first))]
        for number, content in places:
            if not 0 <= number < len(objects):
                raise IndexError(f"object {number}")
            self._set(objects[number], content)
        for number, content in places:  # last, for keys are compared by what they hold
            self._fill(objects[number], content)
        queue: list[Any] = []
        last = now = found.clock[0]
        for at, (ns, priority, what) in enumerate(found.queue):
            event = self._event(self.value(what))
            if ns < last or ns < now or priority not in (0, 1) or event.callbacks is None:
                raise ValueError(f"an event at {ns} ns behind one at {last} ns")
            last = ns
            queue.append((ns, priority, at, event))
        if len({id(event) for *_, event in queue}) != len(queue) or found.clock[1] < 0:
            raise ValueError("an event that comes twice")
        for event in self._succeeded:
            event.succeed()  # which schedules it too: what is to come is set up behind it
        awaited = self.value(found.awaited)
        self._clock.set_up(now, found.clock[1], queue)
        return None if awaited is None else self._event(awaited)

    @staticmethod
    def _event(one: Any) -> simpy.Event:
        if not isinstance(one, simpy.Event):
            raise TypeError("no event")
        return one

    def value(self, one: Any) -> Any:
        if not isinstance(one, list):
            return one
        tag, *rest = one
        if tag == "o":
            return self._objects[self._index(rest[0])]
        if tag == "t":
            return tuple(map(self.value, rest))
        if tag == "n":
            kind, values = self._names[self._index(rest[0])], [self.value(value) for value in rest[1:]]
            if issubclass(kind, Struct) and kind.__struct_config__.frozen and not hasattr(kind, "__post_init__"):
                return kind(**dict(zip(kind.__struct_fields__, values, strict=True)))
            if not issubclass(kind, tuple):
                raise TypeError(f"{kind.__name__} is no row of values")
            if len(getattr(kind, "_fields", values)) != len(values):
                raise ValueError(f"{len(values)} values of {kind.__name__}")
            return tuple.__new__(kind, values)
        if tag == "e":
            kind = self._names[self._index(rest[0])]
            if not issubclass(kind, Enum):
                raise TypeError(f"{kind.__name__} has no members")
            return kind[rest[1]]
        if tag == "m":
            return self._method(self.value(rest[0]), rest[1])
        if tag in ("f", "c"):
            what = self._names[self._index(rest[0])]
            if isinstance(what, type) != (tag == "c") or (tag == "f" and not name_of(what).startswith(CALLED)):
                raise TypeError(f"{what.__name__} is not called")
            return what
        if tag == "z":
            return frozenset(map(self.value, rest))
        if tag == "i":
            return int(rest[0], 16)
        raise ValueError(f"no value {tag!r:.20}")

    @staticmethod
    def _index(number: Any) -> int:
        if type(number) is not int or number < 0:
            raise IndexError(f"{number!r:.20}")
        return number

    @staticmethod
    def _method(one: Any, name: Any) -> Any:
        if type(one) is list and name in LIST_METHODS:
            return getattr(one, name)
        method = getattr(type(one), name)
        if not name_of(type(one)).startswith(CALLED) or not isinstance(method, FunctionType):
            raise TypeError(f"no method {name!r:.40}")
        return getattr(one, name)

    def _new(self, kind: Any, content: Any) -> Any:
        """An object of a kind, still empty where others may be part of it."""
        if kind in DICTS:
            return DICTS[kind]()
        if kind in ("list", "set"):
            return [] if kind == "list" else set()
        if kind == "deque":
            return deque(maxlen=content[0])
        if kind == "bytearray":
            return bytearray(_bytes(content))
        if kind == "bytes":
            return _bytes(content)
        if kind in SHOWING:
            return self._view(kind, content)
        if kind == "partial":
            return partial(_nothing)
        if kind == EVENT:
            return simpy.Event(self._clock)
        made = self._names[self._index(kind)]
        if not isinstance(made, type) or not is_state(made) or issubclass(made, tuple | Enum):
            raise TypeError(f"no object is made of {made!r:.60}")
        if issubclass(made, Struct):
            if hasattr(made, "__post_init__"):
                raise TypeError(f"no object is made of {made!r:.60}")
            return made(**dict.fromkeys(made.__struct_fields__))
        return object.__new__(made)

    def _view(self, kind: str, content: Any) -> Any:
        shown = content if kind == "view" else content[3]
        if isinstance(shown, list):
            number, offset, size = map(self._index, shown)
            data = memoryview(self._objects[number]).cast("B")[offset : offset + size]
            if len(data) != size:
                raise ValueError(f"{size} bytes from {offset} on")
        else:
            data = memoryview(_bytes(shown))
        if kind == "view":
            return data
        import numpy as np

        dtype, shape, writeable = np.dtype(content[0]), tuple(map(self._index, content[1])), content[2]
        if dtype.hasobject:
            raise TypeError("an array of objects")
        array = np.frombuffer(data, dtype).reshape(shape)
        return array.copy() if writeable else array

    def _set(self, one: Any, content: Any) -> None:
        """Give an object its attributes."""
        if isinstance(one, simpy.Event):
            pending, callbacks = content
            one.callbacks = [self._callback(callback) for callback in callbacks if callback != [RESUME]]
            if pending is not True:
                self._succeeded.append(one)
        elif isinstance(one, partial):
            func, *arguments = map(self.value, content)
            if not isinstance(func, FunctionType | MethodType):
                raise TypeError("no function")
            call: Any = one  # whose attributes are read-only
            call.__setstate__((func, tuple(arguments), {}, {}))
        elif not isinstance(one, dict | list | set | deque | bytes | bytearray | memoryview | Clock) and is_state(
            type(one)
        ):
            kind = type(one)
            known, open_ended = set(fields(kind)) - left_out(kind), hasattr(one, "__dict__")
            for name, held in content:
                # what a class calls its own, methods among it, is no state of an object, but for its fields' defaults
                named = name in known or (
                    open_ended and not callable(getattr(kind, name, None)) and name.isidentifier()
                )
                if not named or name in left_out(kind):
                    raise AttributeError(f"{kind.__name__}.{name!r:.40}")
                if isinstance(one, Struct):
                    msgspec.structs.force_setattr(one, name, self.value(held))
                else:
                    object.__setattr__(one, name, self.value(held))

    def _callback(self, value: Any) -> Callable[[simpy.Event], None]:
        found = self.value(value)
        if not isinstance(found, MethodType | partial):
            raise TypeError("no callback")
        return found

    def _fill(self, one: Any, content: Any) -> None:
        """Put into a container what it holds."""
        if isinstance(one, dict):
            pairs = [(self.value(key), self.value(held)) for key, held in content]
            one.clear()
            for key, held in pairs:
                one[key] = held
        elif isinstance(one, list):
            one[:] = [self.value(held) for held in content]
        elif isinstance(one, deque):
            one.clear()
            one.extend([self.value(held) for held in content[1:]])
        elif isinstance(one, set):
            values = [self.value(held) for held in content]
            one.clear()
            one.update(values)
        elif isinstance(one, bytearray):
            one[:] = _bytes(content)


def _bytes(value: Any) -> bytes:
    if not isinstance(value, bytes):  # a number would be so many bytes
        raise TypeError("no bytes")
    return value


def _nothing() -> None:
    return None
