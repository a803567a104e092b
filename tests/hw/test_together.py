"""Actions that only take their time, done together where nobody watches, leave what doing them one by one leaves."""

from __future__ import annotations

import struct
from collections import Counter
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emu.errors import EmuError
from emu.hw.execution import Execution
from emu.hw.foresight import STRAIGHT, foreseen
from emu.hw.stretch import Stretch
from emu.wire.actions import ActionType
from emu.wire.control import ContextSwitchStatus, change_context_switch_status
from tests.conftest import SHARED, needs_shared
from tests.hw.captures import run_capture, state_of
from tests.hw.lists import Lists, act, bare_host, bursts, config_off, config_on, configuring, double


def outcome(lists: Lists, frames: int, config: bytes | None = None, watched: bool = False) -> tuple[Any, ...]:
    """What a run leaves or ends with, every action that was counted until then, and what a hook saw."""
    session = lists.session(frames=frames, config_bytes=config)
    chip = session.chip
    chip.probe.one_by_one = True
    seen: list[tuple[int, int, bytes]] = []
    if watched:
        chip.probe.write_hooks.append(lambda address, data: seen.append((chip.firmware.now, address, data)))
    ended = ""
    try:
        session.run_group(session.applications[0], leave=False)
    except EmuError as error:
        ended = error.line()
    units = [(unit.name, unit.counters(), unit.levels()) for unit in chip.inspection.units()]
    states = [(unit.name, unit.state(chip.clock.time)) for unit in chip.inspection.units()]
    place = chip.firmware.now, chip.firmware.step, chip.clock.time, chip.clock.events
    counted = list(chip.probe.actions.counts.items())
    memory = chip.memory.content_hash, chip.memory.written_by_lists(), chip.memory.snapshot()
    return ended, place, units, states, sorted(counted), list(chip.hazards), memory, seen


WORD = 0xFFFFFFFF
KINDS = {
    "fetch": bursts(1),
    "fetch some": bursts(20),
    "fetch many": bursts(1 << 14),
    "no such channel": bursts(1, 3),
    "done": act("LCU_INTERRUPT", packed_lcu_id=0),
    "done too": act("LCU_INTERRUPT", packed_lcu_id=1),
    "disabled": act("LCU_INTERRUPT", packed_lcu_id=6),
    "never named": act("LCU_INTERRUPT", packed_lcu_id=5),
    "no such cluster": act("LCU_INTERRUPT", packed_lcu_id=0xFF),
    "write": act("WRITE_DATA_BY_TYPE", address=0x200, data=5, shift=1, mask=WORD),
    "write the batch": act("WRITE_DATA_BY_TYPE", address=0x204, data_type=1, mask=WORD),
    "write a part": act("WRITE_DATA_BY_TYPE", address=0x200, data=0x77, mask=0xF0),
    "write to no word": act("WRITE_DATA_BY_TYPE", address=0x201, mask=WORD),
    "trigger": act("TRIGGER_SEQUENCER", cluster_index=0, active_apu=5),
    "trigger another": act("TRIGGER_SEQUENCER", cluster_index=1, active_sc=1 << 40),
    "trigger none": act("TRIGGER_SEQUENCER", cluster_index=7),
    "sequenced": act("SEQUENCER_DONE_INTERRUPT", sequencer_index=0),
    "another sequenced": act("SEQUENCER_DONE_INTERRUPT", sequencer_index=1),
    "configured": act("MODULE_CONFIG_DONE_INTERRUPT", module_index=5),
    "open": config_on(1, 1),
    "fetch there": bursts(12, 1),
    "close": config_off(1, 1),
    "close the other": config_off(),
}
ACTIONS = st.lists(st.sampled_from(sorted(KINDS)), max_size=12)
SOUND = st.lists(
    st.sampled_from(
        sorted({*KINDS} - {"no such channel", "no such cluster", "never named", "fetch many", "write to no word"})
    ),
    max_size=16,
)  # fewer of them end a run in its first round
# a register, and 16 bytes of memory (ccw.md): bursts whose meaning is known, but not well formed as a whole
RECORDS = (struct.pack("<6I", 5, 0, 3, 0x200, 0, 0) + struct.pack("<10I", 16 << 17, 0x400, *range(1, 8), 0)) * 30


def both(lists: Lists, frames: int, config: bytes | None, watched: bool) -> None:
    together = outcome(lists, frames, config, watched)
    with patch.multiple("emu.hw.list_execution", STRAIGHT=frozenset(), SINGLY=frozenset()):
        assert outcome(lists, frames, config, watched) == together


def with_stretches(first: list[str], second: list[str], batch: int) -> Lists:
    lists = double(device="hailo15h", batch=batch, config_channels=(0, 1))
    # the config channel stays open
    lists.preliminary = [act("DISABLE_LCU", packed_lcu_id=6), *configuring(lists.device)[:-1]]
    at = lists.dynamic[0].index(act("LCU_INTERRUPT", packed_lcu_id=0))
    lists.dynamic[0][at:at] = [KINDS[kind] for kind in first]
    lists.dynamic[1][-1:-1] = [KINDS[kind] for kind in second]
    return lists


@settings(max_examples=60)
@given(ACTIONS, ACTIONS, st.integers(1, 4), st.integers(1, 3), st.sampled_from([None, RECORDS]), st.booleans())
def test_random_stretches(
    first: list[str], second: list[str], frames: int, batch: int, config: bytes | None, watched: bool
) -> None:
    both(with_stretches(first, second, batch), frames, config, watched)


@settings(max_examples=100)
@given(SOUND, SOUND, st.integers(3, 5), st.sampled_from([None, RECORDS]))
def test_random_stretches_that_repeat(first: list[str], second: list[str], frames: int, config: bytes | None) -> None:
    both(with_stretches(first, second, 1), frames, config, watched=False)


@pytest.mark.parametrize("config", [None, RECORDS], ids=["unknown", "known"])
def test_a_stretch_of_all_kinds(config: bytes | None) -> None:
    """What a real list begins and ends with, in one."""
    names = ["open", "fetch there", "fetch there", "write", "trigger", "trigger another", "fetch there", "configured"]
    ends = ["sequenced", "another sequenced", "write the batch", "fetch there", "close", "done", "done too"]
    lists = with_stretches([], [*names, *ends], 1)
    both(lists, 5, config, watched=False)
    carried = Counter[int]()
    carry_out = Stretch.carry_out

    def counted(stretch: Stretch, fw: Execution) -> None:
        carried[sum(count for _, count in stretch.counts)] += 1
        carry_out(stretch, fw)

    with patch.object(Stretch, "carry_out", counted):
        lists.run(5, config, may_jump=False)
    assert carried[len(names + ends)] == 4


@pytest.mark.parametrize(
    "names",
    [
        ["write", "fetch", "fetch"],  # the last one to write a register wins
        ["fetch", "fetch", "write", "trigger", "write"],
        ["fetch some", "configured", "write"],  # in the third round more than there is
        ["open", "fetch", "configured", "fetch there", "fetch there", "fetch there", "fetch there", "close"],
        ["open", *["fetch there"] * 4, "write", "configured", "close"],  # that repeats
        ["trigger", "trigger", "fetch", "trigger another", "sequenced", "another sequenced", "sequenced"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("config", [None, RECORDS], ids=["unknown", "known"])
@pytest.mark.parametrize("watched", [False, True], ids=["", "watched"])
def test_stretches(names: list[str], config: bytes | None, watched: bool) -> None:
    both(with_stretches([], names, 1), 5, config, watched)


def test_what_depends_on_the_batch_is_of_the_batch_that_runs() -> None:
    lists = with_stretches([], ["write", "write the batch"], 4)
    session = lists.session(frames=40)
    device, host = session.chip, bare_host(session)
    device.control(change_context_switch_status(ContextSwitchStatus.ENABLED, 0))
    host.queue_outputs()
    for batch in (4, 2, 4):
        device.control(change_context_switch_status(ContextSwitchStatus.ENABLED, 0, batch))
        host.feed(3 * batch)
        device.run_until(lambda: host.done)
        device.run_until(lambda: device.firmware.resting)
        assert (device.firmware.batch, device.memory.peek(0x204)) == (batch, batch)


def test_a_stretch_rests_on_its_lcus_and_on_all_config_channels() -> None:
    lists = with_stretches([], ["write", "done", "configured"], 1)
    session = lists.session(frames=3)
    session.run_group(session.applications[0], leave=False)
    firmware = session.chip.firmware
    firmware.context = context = firmware.applications[0].dynamic[1]
    place = [step.type for step in context.actions.steps].index(ActionType.WRITE_DATA_BY_TYPE)
    stretch = foreseen(firmware, context.actions.steps, place, Counter(), STRAIGHT)
    assert stretch is not None and stretch.end == place + 3
    for frames in (1, 0):
        session.chip.clusters.lcu(0).count.frames = frames
        assert stretch.stands_alone(firmware) == bool(frames)
    assert stretch.repeats(firmware)
    channels = session.chip.config.channels
    channels[1] = channels[0].again()
    assert not stretch.repeats(firmware)


@needs_shared
@pytest.mark.parametrize("batch", ["", ".batch8"])
def test_a_captured_network(batch: str) -> None:
    path = SHARED / f"oracle/5.2/face_landmarks_lite_2ctx.v3.hailo1xh{batch}.on-hailo15h.json"
    together = run_capture(path, 12, may_jump=False)
    assert together.device is not None
    counted = dict(together.device.probe.actions.counts)
    with patch.multiple("emu.hw.list_execution", STRAIGHT=frozenset(), SINGLY=frozenset()):
        singly = run_capture(path, 12, may_jump=False)
    assert singly.device is not None
    assert state_of(together) == state_of(singly)
    assert together.events == singly.events
    assert counted == singly.device.probe.actions.counts
