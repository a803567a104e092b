"""Modules of the user's, by their names: those of the working directory too."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping
from typing import Any

from emu.errors import UsageError

HANDLERS = "HANDLERS"
"""What a module calls its handlers."""


def load_attribute(module: str, name: str) -> Any:
    """What a module calls `name`; UsageError where there is none, or where the module raises while it loads."""
    here = os.getcwd()  # noqa: PTH109
    if "" not in sys.path and here not in sys.path:
        sys.path.append(here)
    try:
        return getattr(importlib.import_module(module), name)
    except Exception as error:  # a module may raise anything
        raise UsageError(f"{module:.80}:{name}: {type(error).__name__}: {error}") from None


def load_handlers(module: str) -> Mapping[Any, Any]:
    """The `HANDLERS` of a module; UsageError where it has none."""
    found = load_attribute(module, HANDLERS)
    if not isinstance(found, Mapping):
        raise UsageError(f"{module}: its {HANDLERS} are a {type(found).__name__}, no mapping of actions to functions")
    return found
