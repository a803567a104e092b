"""Fetches and LCU_INTERRUPTs that are done together, where nobody watches, leave what doing them one by one leaves."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emu.errors import EmuError
from tests.conftest import SHARED, needs_shared
from tests.hw.captures import run_capture, state_of
from tests.hw.lists import Lists, act, bursts, configuring, double


def outcome(lists: Lists, frames: int) -> tuple[Any, ...]:
    """What a run leaves or ends with, and every action that was counted until then."""
    session = lists.session(frames=frames)
    chip = session.chip
    chip.probe.one_by_one = True
    ended = ""
    try:
        session.run_group(session.applications[0], leave=False)
    except EmuError as error:
        ended = error.line()
    units = [(unit.name, unit.counters(), unit.levels()) for unit in chip.inspection.units()]
    place = chip.firmware.now, chip.firmware.step, chip.clock.time, chip.clock.events
    counted = list(chip.probe.actions.counts.items())
    return ended, place, units, sorted(counted), list(chip.hazards), chip.memory.content_hash, chip.memory.snapshot()


KINDS = ["fetch", "fetch many", "done", "done too", "disabled", "never named", "no such cluster", "no such channel"]
ACTIONS = st.sampled_from(KINDS)


def of(kind: str) -> Any:
    lcus = {"done": 0, "done too": 1, "disabled": 6, "never named": 5, "no such cluster": 0xFF}
    if kind in lcus:
        return act("LCU_INTERRUPT", packed_lcu_id=lcus[kind])
    if kind == "no such channel":
        return act("FETCH_CCW_BURSTS", config_stream_index=3, ccw_bursts=1)
    return bursts(1 if kind == "fetch" else 1 << 14)


@settings(max_examples=60)
@given(st.lists(ACTIONS, max_size=12), st.lists(ACTIONS, max_size=12), st.integers(1, 4), st.integers(1, 3))
def test_random_stretches(first: list[str], second: list[str], frames: int, batch: int) -> None:
    lists = double(device="hailo15h", batch=batch)
    # the config channel stays open
    lists.preliminary = [act("DISABLE_LCU", packed_lcu_id=6), *configuring(lists.device)[:-1]]
    at = lists.dynamic[0].index(act("LCU_INTERRUPT", packed_lcu_id=0))
    lists.dynamic[0][at:at] = [of(kind) for kind in first]
    lists.dynamic[1][-1:-1] = [of(kind) for kind in second]
    together = outcome(lists, frames)
    with patch("emu.hw.list_execution.TOGETHER", frozenset()):
        assert outcome(lists, frames) == together


@needs_shared
@pytest.mark.parametrize("batch", ["", ".batch8"])
def test_a_captured_network(batch: str) -> None:
    path = SHARED / f"oracle/5.2/face_landmarks_lite_2ctx.v3.hailo1xh{batch}.on-hailo15h.json"
    together = run_capture(path, 12, may_jump=False)
    assert together.device is not None
    counted = dict(together.device.probe.actions.counts)
    with patch("emu.hw.list_execution.TOGETHER", frozenset()):
        singly = run_capture(path, 12, may_jump=False)
    assert singly.device is not None
    assert state_of(together) == state_of(singly)
    assert together.events == singly.events
    assert counted == singly.device.probe.actions.counts
