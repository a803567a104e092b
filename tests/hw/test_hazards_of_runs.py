"""Hazards that a run shows (units.md 6), each by the smallest lists that have it; sound lists have none."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from msgspec.structs import replace

from emu.errors import FirmwareError
from emu.host.session import StalledError, run_program
from emu.hw.device import Device
from emu.hw.run_checks import left_running
from emu.wire.actions import Action, ActionType, make_action
from emu.wire.lists import Entry, Repeated
from tests.conftest import needs_shared
from tests.hw.lists import (
    FRAME,
    IN,
    INTER_IN,
    OUT,
    Lists,
    act,
    changed,
    double,
    fetch,
    single,
    stream_in,
    with_ddr,
    without,
)
from tests.hw.mutants import load, with_list

A = ActionType
MAPPING = ActionType.CHANGE_VDMA_TO_STREAM_MAPPING


def rules(lists: Lists, frames: int) -> set[str]:
    """Of a run that may end in a stall: hazards show then too."""
    session = lists.session(frames)
    with suppress(FirmwareError):
        session.run_group(session.applications[0])
    return {one.hazard.rule for one in session.chip.hazards}


@pytest.mark.parametrize("make", [single, double, with_ddr])
@pytest.mark.parametrize("batch", [1, 4])
def test_sound_lists_have_none(make: Callable[..., Lists], batch: int) -> None:
    assert rules(make(batch=batch), 2 * batch + 1) == set()


def test_an_lcu_that_a_batch_switch_forgets_keeps_its_batch_and_stalls() -> None:
    lists = double(batch=4)
    lists.batch_switching = without(lists.batch_switching, "SWITCH_LCU_BATCH")
    lists.preliminary.append(act("SWITCH_LCU_BATCH", packed_lcu_id=0, kernel_done_count=2))
    session = lists.session(6)
    with pytest.raises(StalledError) as stalled:
        session.run_group(session.applications[0])
    assert "cluster 0 LCU 0: it counts to a batch of 4, the host's is 2" in stalled.value.message
    (found,) = session.chip.hazards
    assert (found.hazard.rule, found.hazard.unit) == ("batch-not-switched", "cluster 0 LCU 0")


def test_an_input_that_a_batch_switch_forgets_is_named() -> None:
    lists = double(batch=4)
    lists.batch_switching = without(lists.batch_switching, "CHANGE_BOUNDARY_INPUT_BATCH")
    assert "batch-not-switched" in rules(lists, 6)


def test_an_lcu_that_no_list_switches_takes_the_new_batch() -> None:
    lists = double(batch=4)
    lists.batch_switching = without(lists.batch_switching, "SWITCH_LCU_BATCH")
    assert rules(lists, 6) == set()


def test_an_input_that_reads_what_nobody_wrote() -> None:
    lists = double()
    lists.dynamic[1] = [
        stream_in("INTER_CONTEXT", INTER_IN, 4, 5)
        if getattr(entry, "type", None) is ActionType.ACTIVATE_INTER_CONTEXT_INPUT
        else entry
        for entry in lists.dynamic[1]
    ]
    assert rules(lists, 1) == {"read-unwritten"}


def test_frames_at_a_stream_that_the_host_did_not_ask_for() -> None:
    """The host was told by the lists as they were: what it is given comes from another stream."""
    lists = single()
    program = lists.program()
    lists.dynamic[0] = changed(lists.dynamic[0], "ACTIVATE_BOUNDARY_OUTPUT", stream_index=12)
    lists.program = lambda config_bytes=None: _streams_of(program, lists)  # type: ignore[method-assign]
    assert "delivered-not-asked" in rules(lists, 2)


def _streams_of(program, lists: Lists):  # type: ignore[no-untyped-def]
    """The changed lists with the streams of the sound program."""
    from msgspec.structs import replace

    made = Lists.program(lists)
    group = replace(made.network_groups[0], streams=program.network_groups[0].streams)
    return replace(made, network_groups=(group,))


def test_an_output_that_stays_mapped_delivers_frames_of_another_context() -> None:
    """In the second round the output of dynamic_1 is still routed to its stream while dynamic_0 runs."""

    def kept(entry: Entry) -> Entry:
        if isinstance(entry, Repeated) and entry.of is MAPPING:
            return Repeated(MAPPING, tuple(item for item in entry.items if item.value("packed_vdma_channel_id") != OUT))
        return entry

    lists = double()
    lists.dynamic[0] = [kept(entry) for entry in lists.dynamic[0]]
    assert "delivered-not-asked" in rules(lists, 3)


def test_a_preliminary_list_that_sets_up_something_else_than_context_0() -> None:
    lists = single(asap=1)
    lists.preliminary += lists.dynamic[0][:-1]
    assert rules(lists, 2) == set()
    lists.dynamic[0] = changed(lists.dynamic[0], "ACTIVATE_BOUNDARY_OUTPUT", core_buffers_per_frame=8)
    assert rules(lists, 2) == {"context-mismatch"}
    lists.asap = 0  # the same lists behind a header that does not say that it ran
    assert "context-mismatch" not in rules(lists, 2)


def test_an_input_that_is_activated_with_another_transfer_than_it_was_opened_with() -> None:
    lists = single()
    lists.activation = changed(lists.activation, "OPEN_BOUNDARY_INPUT_CHANNEL", periph_bytes_per_buffer=512)
    assert rules(lists, 2) == {"stream-misconfigured"}


def test_the_fixtures_are_what_the_cases_assume() -> None:
    assert fetch(IN, 1).value("frame_periph_size") == FRAME


def test_an_lcu_that_its_list_leaves_running() -> None:
    lists = double()
    lists.dynamic[0][:0] = [act("DISABLE_LCU", packed_lcu_id=4), act("ENABLE_LCU_DEFAULT", packed_lcu_id=5)]
    session = lists.session(2)
    session.run_group(session.applications[0], leave=False)
    chip = session.chip
    context = chip.applications[0].dynamic[0]
    (found,) = left_running(context, chip.clusters)
    assert (found.rule, found.unit) == ("left-running", "cluster 0 LCU 5")
    chip.clusters.disable(5)
    assert list(left_running(context, chip.clusters)) == []


# -- real files: well-formed configuration


def hazards_of_file(path: Path, edits: dict[str, Callable[[list[Action]], list[Action]]]) -> list[str]:
    """The rules of the hazards of a real file with some of its lists changed."""
    sound = load(path)
    program = sound.program
    for position, listed in enumerate(sound.lists):
        if sound.title(position) in edits:
            program = with_list(program, position, edits[sound.title(position)](list(listed)))
    found: list[Device] = []
    request = replace(sound.prepared.request, on_device=found.append)
    with suppress(FirmwareError):
        run_program(program, sound.prepared.profile, request)
    return [one.hazard.rule for one in found[0].hazards]


@needs_shared
def test_blocks_that_come_again_while_frames_are_inside(shared: Path) -> None:
    """behaviour_cnn's whole configuration is fetched once more behind the first frame."""
    again: list[Action] = []

    def without_waits(actions: list[Action]) -> list[Action]:
        config = {A.ACTIVATE_CFG_CHANNEL, A.DEACTIVATE_CFG_CHANNEL, A.FETCH_CFG_CHANNEL_DESCRIPTORS}
        again.extend(action for action in actions if action.type in config)
        first = next(action for action in actions if action.type is A.ENABLE_LCU_DEFAULT)
        # a wait for data opens the gate: frames are inside from then on
        return [*actions, make_action(A.LCU_INTERRUPT, (first.value("packed_lcu_id"),)), *again]

    assert "config-over-running" in hazards_of_file(
        shared / "hef" / "behaviour_cnn.v2.hailo8.hef", {"preliminary_0": without_waits}
    )


@needs_shared
def test_a_register_write_to_nowhere(shared: Path) -> None:
    def elsewhere(actions: list[Action]) -> list[Action]:
        at = next(at for at, action in enumerate(actions) if action.type is A.WRITE_DATA_BY_TYPE)
        extra = make_action(A.WRITE_DATA_BY_TYPE, (0x0F000000, *actions[at].values[1:]))
        return [*actions[: at + 1], extra, *actions[at + 1 :]]

    assert hazards_of_file(shared / "hef" / "scrfd_2.5g.v3.hailo1xh.hef", {"preliminary_0": elsewhere}) == [
        "config-outside"
    ]
