"""Rounds of turns that are added up give what playing them one by one gives."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emu.chips.chips import load
from emu.hef import open_hef
from emu.host.combine import combine
from emu.host.session import RunRequest, RunResult, Session, run_program
from emu.hw.application import Context
from emu.hw.device import Device
from emu.hw.hostmem import HostBuffer
from emu.sequencer.compile import CompileOptions, compile_hef
from emu.sequencer.program import Program
from tests.conftest import ROOT, SHARED, needs_shared
from tests.hw.captures import state_of
from tests.hw.lists import Lists, act, double, single, with_ddr

FILES = sorted((ROOT / "examples").glob("*.hef"))


def taken_in_turns(program: Program, frames: int, **request: Any) -> RunResult:
    return run_program(program, load(program.device), RunRequest(frames, round_robin=True, **request))


def assert_skipping_equals_playing(program: Program, frames: int) -> int:
    """Every counter, instant, switch, hazard and byte; returns how many times rounds were added up."""
    contexts: dict[bool, list[Context]] = {}
    buffers: dict[bool, list[HostBuffer]] = {}

    def keep(session: Session) -> None:
        """What the end of the run gives back."""
        chip, jumps = session.chip, session.request.may_jump
        contexts[jumps] = [context for one in chip.applications for context in one.contexts]
        lists = chip.host_memory.lists.values()
        buffers[jumps] = [extent.buffer for one in lists for extent in one.extents]
        buffers[jumps] += list(chip.host_memory.continuous.values())

    played = taken_in_turns(program, frames, may_jump=False, on_session=keep)
    skipped = taken_in_turns(program, frames, on_session=keep)
    assert played.device is not None and skipped.device is not None
    assert played.device.core.jumps == 0
    assert skipped.groups == played.groups
    assert skipped.switches == played.switches
    assert skipped.wall_ns == played.wall_ns
    assert state_of(skipped) == state_of(played)
    assert [one.counters() for one in contexts[True]] == [one.counters() for one in contexts[False]]
    assert [one.writes for one in buffers[True]] == [one.writes for one in buffers[False]]
    return skipped.device.core.jumps


MAKERS = st.sampled_from([single, double, with_ddr])


@settings(max_examples=15)
@given(
    st.lists(st.tuples(MAKERS, st.integers(1, 5)), min_size=2, max_size=4),
    st.integers(1, 25),
    st.booleans(),
)
def test_random_applications_in_turns(
    made: list[tuple[Callable[..., Lists], int]], frames: int, with_a_hazard: bool
) -> None:
    lists = [make(batch=batch) for make, batch in made]
    if with_a_hazard:
        # an LCU that its sequencer is not done for: a hazard in every activation
        lists[0].preliminary.insert(0, act("ENABLE_LCU_DEFAULT", packed_lcu_id=2))
    jumps = assert_skipping_equals_playing(combine([one.program() for one in lists]), frames)
    rounds = min(frames // batch for _, batch in made)
    assert jumps > 0 or rounds < 5


def test_examples_in_turns() -> None:
    for pair in combinations(FILES, 2):
        program = combine([compile_hef(open_hef(path), CompileOptions()) for path in pair])
        assert assert_skipping_equals_playing(program, 12) == 1, pair


@needs_shared
@pytest.mark.parametrize(("runtime", "device"), [("4.23", "hailo8"), ("5.2", "hailo15h")])
def test_given_files_in_turns(runtime: str, device: str) -> None:
    wanted = "hailo8.hef" if device == "hailo8" else "hailo1xh.hef"
    paths = [path for path in sorted((SHARED / "hef").glob("*.hef")) if path.name.endswith(wanted)]
    options = CompileOptions(device=device)
    program = combine([compile_hef(open_hef(path, runtime=runtime), options) for path in paths])
    assert assert_skipping_equals_playing(program, 8) == 1


def test_turns_that_somebody_watches_are_played() -> None:
    """Each of them alone; what is asked for of every frame is there."""
    program = combine([single().program(), double().program()])
    frames = 20
    taken: list[tuple[int, int]] = []
    watches: list[dict[str, Any]] = [
        {"keep_outputs": True},
        {"take": lambda group, frame, row, real: taken.append((group, frame))},
        {"outputs": lambda group, frame, inputs: {}},
        {"measure_actions": True},
        {"on_device": _hooked},
    ]
    for watch in watches:
        result = taken_in_turns(program, frames, **watch)
        assert result.device is not None and result.device.core.jumps == 0, watch
    assert taken == [(group, frame) for frame in range(frames) for group in (0, 1)]


def _hooked(device: Device) -> None:
    device.probe.action_hooks.append(lambda context, step: None)


def test_a_notification_in_every_round_is_kept() -> None:
    """Rounds in which the device tells the host something are played: each notification is one of its own."""
    program = combine([single().program(), double().program()])

    def watch(session: Session) -> None:
        firmware = session.chip.firmware
        enable = firmware.enable

        def tell(*arguments: Any) -> None:
            session.chip.report_start_update_cache_offset(firmware.now)
            enable(*arguments)

        firmware.enable = tell  # type: ignore[method-assign]

    result = taken_in_turns(program, 10, on_session=watch)
    assert result.device is not None
    assert len(result.device.notifications) == 20
