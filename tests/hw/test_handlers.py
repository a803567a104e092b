"""Handlers are typed: each takes the action that it is entered for, and says whether it waits."""

from __future__ import annotations

from typing import get_type_hints

import pytest

from emu.hw.execution import Execution
from emu.hw.handlers import HANDLERS
from emu.hw.waits import Wait
from emu.wire.actions import ACTIONS, ActionType


@pytest.mark.parametrize("kind", [kind for kind in ActionType if kind in ACTIONS], ids=lambda kind: kind.name)
def test_a_handler_takes_its_own_action(kind: ActionType) -> None:
    hints = get_type_hints(HANDLERS[kind])
    assert list(hints.values())[:2] == [Execution, ACTIONS[kind]]
    may_wait = hints["return"] in (Wait, Wait | None)
    assert may_wait or hints["return"] is type(None)
    assert may_wait or ACTIONS[kind].waits_for is None, "an action that waits returns what it waits for"
