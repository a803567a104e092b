"""Handlers from outside: they replace or wrap what the firmware does with an action, or serve one that it has not."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from emu.errors import EmuError, HailoError, HailoStatus, UsageError
from emu.hw.execution import Execution
from emu.hw.handlers import HANDLERS, Handler
from emu.hw.waits import Wait
from emu.wire.actions import ACTIONS, Action, ActionType
from emu.wire.status import FirmwareStatus, FirmwareStopError

OwnHandler = Callable[[Execution, Any, Handler], Wait | None] | Handler
"""Takes the firmware, the action and, where it has a third parameter, the handler that it stands for; gives what the
action waits for, None: nothing."""
OwnHandlers = Mapping[str | type[Action], OwnHandler]
"""By the name of an action, by what several names begin with (`ENABLE_LCU`), or by the class of an added one."""


def handlers_with(own: OwnHandlers) -> dict[ActionType, Handler]:
    """The firmware's handlers with those of a user in their places.

    UsageError for a name that no action has, for two handlers of one action, and for what cannot be called.
    """
    if not isinstance(own, Mapping):
        raise UsageError(f"handlers are a mapping of actions to functions, no {type(own).__name__}")
    found: dict[ActionType, Handler] = dict(HANDLERS)
    taken: dict[ActionType, object] = {}
    for key, handler in own.items():
        if not callable(handler):
            raise UsageError(f"the handler of {_shown(key)} cannot be called")
        for kind in _types(key):
            if kind in taken:
                raise UsageError(f"{kind.name} has two handlers, by {_shown(taken[kind])} and by {_shown(key)}")
            taken[kind] = key
            found[kind] = _wrapped(kind.name, handler, HANDLERS.get(kind, _unknown))
    return found


def _types(key: object) -> list[ActionType]:
    if isinstance(key, type) and issubclass(key, Action):
        if key not in ACTIONS.values():
            raise UsageError(f"{key.__name__} is no action: its class says no type")
        return [key.type]
    if isinstance(key, str):
        exact = [kind for kind in ACTIONS if kind.name == key]
        found = exact or [kind for kind in ACTIONS if kind.name.startswith(f"{key}_")]
        if found:
            return found
    raise UsageError(f"no action is called {_shown(key)}")


def _wrapped(name: str, handler: Callable[..., Wait | None], inner: Handler) -> Handler:
    more = (inner,) if _takes_three(handler) else ()

    def serve(fw: Execution, action: Any) -> Wait | None:
        try:
            wait = handler(fw, action, *more)
        except (FirmwareStopError, EmuError):
            raise
        except Exception as error:  # of the user's code, which may do anything
            what = f"the handler of {name} raised {type(error).__name__}: {error}"
            raise HailoError(HailoStatus.HAILO_INTERNAL_FAILURE, what) from error
        if wait is not None and not isinstance(wait, Wait):
            raise HailoError(
                HailoStatus.HAILO_INTERNAL_FAILURE, f"the handler of {name} gave a {type(wait).__name__}, no Wait"
            )
        return wait

    return serve


def _takes_three(handler: Callable[..., object]) -> bool:
    """Whether it wants the handler that it stands for; one like the firmware's own does not."""
    try:
        inspect.signature(handler).bind(None, None, None)
    except TypeError:
        return False
    except ValueError:  # a function that tells nothing of its parameters
        return True
    return True


def _unknown(fw: Execution, action: Any) -> Wait | None:
    """What the firmware does with an action that it does not know (silicon-facts.md d)."""
    status = FirmwareStatus.CONTEXT_SWITCH_STATUS_READ_INVALID_ACTION_TYPE
    raise FirmwareStopError(status, f"the firmware has no action {action.type.name}")


def _shown(key: object) -> str:
    return key.__name__ if isinstance(key, type) else repr(key)
