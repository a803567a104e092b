"""What no link changes of an action list is worked out once: the waits that count, the programs, what it all takes."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from emu.chips import chips
from emu.host.estimate import compile_batch
from emu.sequencer.compile import CompileOptions
from emu.timing.estimate import Conditions, estimate_compiled
from emu.timing.programs import Start
from emu.timing.schedule import schedule
from emu.timing.steps import Step, steps_of
from emu.timing.stretches import Event, Stretch, stretches
from emu.wire.actions import Action, units
from emu.wire.actions.channels import BurstCreditsTaskStart
from tests.conftest import needs_shared
from tests.effort import calls
from tests.timing.cases import CASES, FILES, compiled

FETCH = units.FetchCcwBursts(1, 0)
LOADED = units.ModuleConfigDoneInterrupt(0)
GRANT = BurstCreditsTaskStart()
LCUS = (units.LcuInterrupt(0), units.LcuInterrupt(1))
DONE = units.SequencerDoneInterrupt(2)
TRIGGER = units.TriggerSequencer(2, 0, 0, 0, 0, 0, 0, 0, 0)
PROFILE = replace(chips.load("hailo15h"), sequencer_ns=700, program_cycles_a_word=6, nn_hz=1e9, config_fetch_ns=50)


def events(*actions: Action) -> list[Event]:
    return [stretch.event for stretch in stretches(actions, {})]


def ns_of(*listed: Stretch) -> tuple[Step, ...]:
    return steps_of(listed, PROFILE, {"A": 10, "B": 3})


@pytest.mark.parametrize(
    ("actions", "counting"),
    [
        ((LOADED, LOADED, FETCH, LOADED, LOADED), [Event.CONFIG, Event.FETCH, Event.CONFIG]),
        ((GRANT, *LCUS, FETCH, *LCUS), [Event.GRANT, Event.FRAMES, Event.FETCH]),
        # what waits before frames are let in waits again behind that
        ((*LCUS, GRANT, *LCUS), [Event.FRAMES, Event.GRANT, Event.FRAMES]),
    ],
)
def test_a_wait_for_what_was_waited_for_is_an_action_like_any_other(
    actions: tuple[Action, ...], counting: list[Event]
) -> None:
    assert events(*actions) == [*counting, Event.END]
    counted = sum(count for stretch in stretches(actions, {}) for _, count in stretch.actions)
    assert counted == len(actions)


def test_a_trigger_counts_where_its_program_is_not_known() -> None:
    assert events(TRIGGER, DONE) == [Event.TRIGGER, Event.SEQUENCER, Event.END]
    known = stretches((TRIGGER, DONE, TRIGGER), {}, {0: [Start(2, 5, True)]})
    assert [stretch.event for stretch in known] == [Event.START, Event.PROGRAM, Event.END]


def test_fetches_wait_for_nothing_and_are_one_step_with_what_follows() -> None:
    a, b = (("A", 1),), (("B", 2),)
    found = ns_of(
        Stretch(a, Event.FETCH, 100),
        Stretch(b, Event.FETCH, 200),
        Stretch(a, Event.SLEEP, 4),
        Stretch(b, Event.CONFIG, 0.0),
        Stretch(a, Event.END, 0.0),
    )
    assert found == (
        Step(((10, 100), (6, 200)), 10 + 4000 + 6, Event.CONFIG, 0, ()),
        Step((), 10, Event.END, 0, ()),
    )
    run = schedule(replace(PROFILE, config_bytes_per_second=1e9), found, None, 1)
    assert run.loads == [(10, 10 + 50 + 100), (160, 160 + 50 + 200)]
    assert run.total_ns == run.ready_ns == 10 + 6 + 4016 + 10


@pytest.mark.parametrize(
    ("starts", "waits", "end"),
    [
        ([(1, 100)], [1], 600),
        ([(1, 100), (1, 50)], [1], 600),
        ([(1, 100), (1, 50)], [1, 1], 900),
        ([(1, 100), (2, 50)], [2], 300),
        ([(1, 100), (2, 50)], [2, 1], 600),
        ([(1, 100)], [2], 0),  # none runs there
    ],
)
def test_a_cluster_runs_its_programs_one_after_the_other(
    starts: list[tuple[int, int]], waits: list[int], end: int
) -> None:
    """Six cycles a word at 1 GHz, all of them started at once."""
    started = tuple(Start(cluster, words, True) for cluster, words in starts)
    listed = [Stretch((), Event.START, 0.0, started), *(Stretch((), Event.PROGRAM, cluster) for cluster in waits)]
    assert schedule(PROFILE, ns_of(*listed), None, 1).total_ns == end


def test_an_unknown_program_lasts_from_the_latest_trigger_on() -> None:
    a = (("A", 1),)
    trigger, wait = Stretch(a, Event.TRIGGER, 2), Stretch(a, Event.SEQUENCER, 2)
    assert schedule(PROFILE, ns_of(trigger, trigger, wait), None, 1).total_ns == 20 + 700
    elsewhere = Stretch(a, Event.SEQUENCER, 1)
    (step, *_) = ns_of(elsewhere)
    assert step.event is Event.CONFIG  # nothing was triggered: what is being loaded has to be there


@needs_shared
def test_steps_are_kept_for_every_link_and_made_anew_for_other_costs() -> None:
    (path,) = (path for path in FILES if path.name.startswith("face_landmarks"))
    found = compiled(path, "hailo15h", 8)
    assert found is not None
    demand = found[1].demand
    profile = chips.load("hailo15h")
    kept = demand.steps(profile)
    assert demand.steps(chips.load("hailo15h", link="gen1x1")) is kept
    dearer = replace(profile, action_ns={**profile.action_ns, "LCU_INTERRUPT": 9e9})
    assert demand.steps(dearer) != kept
    for name in ("sequencer_ns", "program_cycles_a_word", "nn_hz"):
        assert demand.steps(replace(profile, **{name: 12345.0})).costs != kept.costs
    assert demand.steps(profile) == kept


@needs_shared
@pytest.mark.parametrize(("path", "device"), CASES, ids=lambda value: getattr(value, "name", value))
def test_one_more_link_is_a_small_part_of_compiling(path: Path, device: str | None) -> None:
    """By calls, which are the same on every machine; benchmarks/bench_estimate.py has the time."""
    found = compiled(path, device, 8)
    assert found is not None
    hef, one = found
    estimate_compiled(hef, (one,), Conditions())
    linking = calls(lambda: estimate_compiled(hef, (one,), Conditions(link="gen2x1")))
    assert linking <= 0.2 * calls(lambda: compile_batch(hef, CompileOptions(device=device), 8))
