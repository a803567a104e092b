"""Frames pass only while the LCUs that they need are enabled (units.md 5); a stall names the LCU and why."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from emu.host.prepare import prepare
from emu.host.session import StalledError, run_program
from emu.host.spec import RunSpec
from emu.sequencer.program import ContextType, Program
from emu.wire.actions import ACTIONS, Action, ActionType, Role, make_action
from emu.wire.lists import Entry, Repeated
from emu.wire.wire import wire_of
from tests.conftest import needs_shared
from tests.hw.lists import Lists, act, double, single, without
from tests.hw.mutants import Sound, load, with_list

ENABLES = (ActionType.ENABLE_LCU_DEFAULT, ActionType.ENABLE_LCU_NON_DEFAULT)


def named(lists: Lists, *lcus: int) -> Lists:
    """With more LCUs (packed) in the batch-switching list."""
    lists.batch_switching = [*(act("SWITCH_LCU_BATCH", packed_lcu_id=one) for one in lcus), *lists.batch_switching]
    return lists


def stall_of(lists: Lists, frames: int = 20) -> str:
    with pytest.raises(StalledError) as stalled:
        lists.run(frames=frames)
    return stalled.value.message


@pytest.mark.parametrize("make", [single, double])
def test_an_lcu_that_is_named_and_never_enabled_stalls(make: Callable[[], Lists]) -> None:
    text = stall_of(named(make(), 7))
    assert "cluster 0 LCU 7: named by SWITCH_LCU_BATCH of the batch-switching list, never enabled" in text
    # the same where its ENABLE_LCU is left out
    text = stall_of(replaced(make(), without(make().preliminary, "ENABLE_LCU_DEFAULT")))
    assert "cluster 0 LCU 0" in text and ("never enabled" in text or "is not enabled" in text)


def replaced(lists: Lists, preliminary: list[Entry]) -> Lists:
    lists.preliminary = preliminary
    return lists


def test_a_cluster_that_nothing_triggers_says_nothing_of_its_lcus() -> None:
    named(single(), 0x17).run(frames=20)


def test_an_lcu_that_is_enabled_in_any_list_is_none_that_is_missing() -> None:
    lists = named(double(), 7)
    lists.dynamic[1].insert(0, act("ENABLE_LCU_DEFAULT", packed_lcu_id=7))
    lists.run(frames=20)


def test_an_lcu_that_its_list_disables_again_stops_the_flow() -> None:
    lists = single()
    lists.dynamic[0] = [
        act("ENABLE_LCU_DEFAULT", packed_lcu_id=5),
        act("DISABLE_LCU", packed_lcu_id=5),
        *lists.dynamic[0],
    ]
    text = stall_of(lists)
    assert "cluster 0 LCU 5: the list of dynamic_0 enabled it, and disabled it again" in text
    assert "0 of endless delivered" in text


def test_frames_inside_stop_when_an_lcu_is_disabled_under_them() -> None:
    """The list disables the LCU when one frame has passed: the others wait inside."""
    lists = single(batch=1)
    wait = act("LCU_INTERRUPT", packed_lcu_id=0)
    lists.dynamic[0] = [
        act("ENABLE_LCU_DEFAULT", packed_lcu_id=5),
        *lists.dynamic[0][:-1],
        wait,
        act("DISABLE_LCU", packed_lcu_id=5),
        lists.dynamic[0][-1],
    ]
    text = stall_of(lists)
    assert "cluster 0 LCU 5" in text and "0 of endless delivered" not in text


def test_frames_wait_for_an_lcu_that_is_enabled_later() -> None:
    """Disabled, then enabled again when the frames are inside: they come out then."""
    lists = single()
    lists.dynamic[0] = [
        act("ENABLE_LCU_DEFAULT", packed_lcu_id=5),
        act("DISABLE_LCU", packed_lcu_id=5),
        *lists.dynamic[0][:-1],
        act("MODULE_CONFIG_DONE_INTERRUPT", module_index=3),
        act("SLEEP", sleep_time=3000),
        act("ENABLE_LCU_DEFAULT", packed_lcu_id=5),
        lists.dynamic[0][-1],
    ]
    lists.run(frames=20)


def test_an_lcu_that_is_enabled_behind_a_wait_for_data_is_not_waited_for() -> None:
    lists = double()
    at = next(n for n, one in enumerate(lists.dynamic[0]) if isinstance(one, Action) and "INTERRUPT" in one.type.name)
    lists.dynamic[0].insert(at + 1, act("ENABLE_LCU_DEFAULT", packed_lcu_id=5))
    lists.run(frames=20)


def without_enable(program: Program, nth: int) -> Program | None:
    """The first group's preliminary list without its nth ENABLE_LCU; None where it has fewer."""
    (group,), wire = program.network_groups, wire_of(program.runtime)
    contexts = list(group.contexts)
    at = next(n for n, one in enumerate(contexts) if one.context_type is ContextType.PRELIMINARY)
    flat: list[Action] = []
    for located in wire.decode(contexts[at].action_list):
        flat += located.entry.items if isinstance(located.entry, Repeated) else (located.entry,)
    places = [n for n, action in enumerate(flat) if action.type in ENABLES]
    if nth >= len(places):
        return None
    del flat[places[nth]]
    data = b"".join(wire.encode(flat))
    chunks = tuple(min(1461, len(data) - start) for start in range(0, len(data), 1461))
    contexts[at] = replace(contexts[at], action_list=data, chunks=chunks)
    return replace(program, network_groups=(replace(group, contexts=tuple(contexts)),))


@needs_shared
def test_every_enable_of_a_real_file_is_missed(shared: Path) -> None:
    """mnist_cnn enables ten LCUs; without any one of them no frame comes out."""
    prepared = prepare(RunSpec.of(shared / "hef" / "mnist_cnn.v0.hailo8.hef", frames=3))
    missed = 0
    while (mutant := without_enable(prepared.program, missed)) is not None:
        with pytest.raises(StalledError) as stalled:
            run_program(mutant, prepared.profile, prepared.request)
        assert "named by SWITCH_LCU_BATCH of the batch-switching list, never enabled" in stalled.value.message
        missed += 1
    assert missed == 10


# -- well-formed configuration: real files (units.md 5)


def edited(sound: Sound, title: str, edit: Callable[[list[Action]], list[Action]]) -> str:
    """How a real file ends with one list changed: the stall's message."""
    position = next(n for n in range(len(sound.lists)) if sound.title(n) == title)
    program = with_list(sound.program, position, edit(list(sound.lists[position])))
    with pytest.raises(StalledError) as stalled:
        run_program(program, sound.prepared.profile, sound.prepared.request)
    return stalled.value.message


def lacking(*kinds: ActionType) -> Callable[[list[Action]], list[Action]]:
    return lambda actions: [action for action in actions if action.type not in kinds]


@needs_shared
def test_a_device_that_nothing_configures_computes_nothing(shared: Path) -> None:
    """No configuration, no LCU, no sequencer: on either family the frames wait inside."""
    kinds = {kind for kind, made in ACTIONS.items() if made.role in (Role.FETCH, Role.CONFIG_CHANNEL)}
    kinds |= {ActionType.DEACTIVATE_CFG_CHANNEL, ActionType.MODULE_CONFIG_DONE_INTERRUPT}
    kinds |= {ActionType.TRIGGER_SEQUENCER, ActionType.SEQUENCER_DONE_INTERRUPT, *ENABLES}
    for name, verb in (("mnist_cnn.v0.hailo8", "enabled"), ("scrfd_2.5g.v3.hailo1xh", "started")):
        text = edited(load(shared / "hef" / f"{name}.hef"), "preliminary_0", lacking(*kinds))
        assert f"named by SWITCH_LCU_BATCH of the batch-switching list, never {verb}" in text


@needs_shared
def test_a_cluster_that_nothing_triggers_holds_the_frames(shared: Path) -> None:
    sound = load(shared / "hef" / "mnist_cnn.v0.hailo8.hef")
    gone = lacking(ActionType.TRIGGER_SEQUENCER, ActionType.SEQUENCER_DONE_INTERRUPT)
    assert "cluster 4: nothing started its sequencer" in edited(sound, "preliminary_0", gone)


@needs_shared
def test_a_program_that_breaks_off_holds_the_frames_that_nobody_waits_for(shared: Path) -> None:
    """The wait for the sequencer is left out with a trigger that starts elsewhere."""
    sound = load(shared / "hef" / "mnist_cnn.v0.hailo8.hef")

    def elsewhere(actions: list[Action]) -> list[Action]:
        first = next(action for action in actions if action.type is ActionType.TRIGGER_SEQUENCER)
        values = first.arguments() | {"initial_l3_cut": 77}
        moved = make_action(first.type, tuple(values.values()))
        return [moved if one is first else one for one in lacking(ActionType.SEQUENCER_DONE_INTERRUPT)(actions)]

    assert "cluster 4: its program breaks off at L3 block 77" in edited(sound, "preliminary_0", elsewhere)


@needs_shared
def test_an_lcu_that_the_list_before_does_not_start_holds_the_second_context(shared: Path) -> None:
    """Cluster 1 LCU 13 runs in context 0 alone: awaited in dynamic_1 as well, it is one that nothing started for it."""
    sound = load(shared / "hef" / "face_landmarks_lite_2ctx.v3.hailo1xh.hef")
    awaited = make_action(ActionType.LCU_INTERRUPT, (29,))
    first = next(n for n in range(len(sound.lists)) if sound.title(n) == "dynamic_0")
    assert awaited in sound.lists[first] and awaited not in sound.lists[first + 1]

    def one_more(actions: list[Action]) -> list[Action]:
        at = next(at for at, action in enumerate(actions) if action.type is ActionType.LCU_INTERRUPT)
        return [*actions[:at], awaited, *actions[at:]]

    text = edited(sound, "dynamic_1", one_more)
    assert "cluster 1 LCU 13: awaited by LCU_INTERRUPT of the list of dynamic_1" in text
    assert "the list before it did not start it" in text
