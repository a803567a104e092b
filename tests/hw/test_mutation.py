"""What of damaged action lists is noticed: mutants of the given real files (tests/hw/mutants.py says what one is).

Of those that can matter four of five have to end in a status, a stall, a hazard or a violated rule; every kind that
survives is listed here with a reason. `benchmarks/action_mutants.py` judges as many as it is asked to.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

from emu.wire.actions import ActionType as A
from tests.conftest import SHARED, needs_shared
from tests.hw.mutants import Mutant, Sound, draw, load, mutate, neutral, noticed, outcome

pytestmark = needs_shared

SEED, COUNT, LEAST = 14, 500, 0.8

_DISJOINT = "the neighbour acts on another unit or channel"
_BUFFER = "what it says of the host's buffer is not compared with what ACTIVATE says"
_SAME_CLUSTER = "whose data a block of the second context is can be read off this list alone"
_AHEAD = "nothing on the chip yet depends on when it comes, as long as that is before its use"
SURVIVORS: dict[A, str] = {
    A.ACTIVATE_BOUNDARY_OUTPUT: "a register of its own that no record sets again in a run; or " + _AHEAD,
    A.ACTIVATE_BOUNDARY_INPUT: _AHEAD,
    A.ACTIVATE_DDR_BUFFER_INPUT: _AHEAD,
    A.ACTIVATE_DDR_BUFFER_OUTPUT: _AHEAD,
    A.ACTIVATE_INTER_CONTEXT_INPUT: _AHEAD,
    A.ACTIVATE_INTER_CONTEXT_OUTPUT: _AHEAD,
    A.ACTIVATE_CFG_CHANNEL: "a list longer than what is fetched from it; or " + _DISJOINT,
    A.BURST_CREDITS_TASK_RESET: _DISJOINT,
    A.BURST_CREDITS_TASK_START: "frames wait inside for the LCUs that are enabled behind it",
    A.CHANGE_BOUNDARY_INPUT_BATCH: _DISJOINT,
    A.CHANGE_VDMA_TO_STREAM_MAPPING: _AHEAD,
    A.DDR_BUFFERING_RESET: _DISJOINT,
    A.DEACTIVATE_CFG_CHANNEL: "everything was fetched before: closing it earlier loses nothing",
    A.DEACTIVATE_VDMA_CHANNEL: "its credit size has no meaning where the channel is closed",
    A.DISABLE_LCU: _DISJOINT,
    A.ENABLE_LCU_DEFAULT: _AHEAD,
    A.FETCH_CCW_BURSTS: _SAME_CLUSTER + "; or " + _DISJOINT,
    A.FETCH_CFG_CHANNEL_DESCRIPTORS: "the same descriptors in other portions; or " + _DISJOINT,
    A.FETCH_DATA_FROM_VDMA_CHANNEL: _AHEAD,
    A.LCU_INTERRUPT: _SAME_CLUSTER,
    A.MODULE_CONFIG_DONE_INTERRUPT: _DISJOINT,
    A.OPEN_BOUNDARY_INPUT_CHANNEL: _BUFFER,
    A.OPEN_BOUNDARY_OUTPUT_CHANNEL: _BUFFER + "; or " + _DISJOINT,
    A.OUTPUT_CHANNEL_TRANSFER_DONE_INTERRUPT: "a flag that changes no wait; or " + _DISJOINT,
    A.PAUSE_VDMA_CHANNEL: "the batch has come in before",
    A.RESUME_VDMA_CHANNEL: _AHEAD,
    A.SEQUENCER_DONE_INTERRUPT: "awaited later, yet before anything needs it",
    A.SWITCH_LCU_BATCH: _AHEAD,
    A.TRIGGER_SEQUENCER: "L2 offsets and bits of units that the program does not touch; or " + _DISJOINT,
    A.WRITE_DATA_BY_TYPE: _AHEAD,
}

# action types none of whose drops is noticed
UNNOTICED_DROPS: dict[A, str] = {
    A.BURST_CREDITS_TASK_RESET: "it stands first in the activation list: nothing has run that it could reset",
    A.DDR_BUFFERING_RESET: "real files have it in batch-switching lists alone, where no task of theirs runs",
}


@cache
def sounds() -> tuple[Sound, ...]:
    return tuple(load(path) for path in sorted((SHARED / "hef").glob("*.hef")))


def named(mutant: Mutant) -> str:
    return str(mutant)


def test_the_files_themselves_show_nothing(tmp_path: Path) -> None:
    found = {sound.name: outcome(sound, sound.program, tmp_path / "t") for sound in sounds()}
    assert len(found) >= 9 and not any(found.values()), found


def test_four_of_five_mutants_that_matter_are_noticed(tmp_path: Path) -> None:
    matter, alive = 0, []
    for mutant in draw(sounds(), COUNT, SEED):
        if not neutral(mutant):
            matter += 1
            if not noticed(mutant, tmp_path / "t"):
                alive.append(mutant)
    listed = "\n".join(map(named, alive))
    assert matter > COUNT / 2
    assert len(alive) <= (1 - LEAST) * matter, f"{len(alive)} of {matter} survive:\n{listed}"
    unlisted = Counter(mutant.action.type.name for mutant in alive if mutant.action.type not in SURVIVORS)
    assert not unlisted, f"no reason is given for {dict(unlisted)}:\n{listed}"


def test_the_loss_of_an_action_of_each_type_is_noticed_somewhere(tmp_path: Path) -> None:
    """In the first of the places where it stands, the middle one or the last, of any file that executes it."""
    types = {action.type for sound in sounds() for listed in sound.lists for action in listed}
    unnoticed = {kind for kind in types if not any(noticed(drop, tmp_path / "t") for drop in _drops(kind))}
    assert {kind.name for kind in unnoticed} == {kind.name for kind in UNNOTICED_DROPS}


def _drops(kind: A) -> list[Mutant]:
    drops = []
    for sound in sounds():
        places = [
            (position, at)
            for position, listed in enumerate(sound.lists)
            for at, action in enumerate(listed)
            if action.type is kind and sound.executed(position)
        ]
        for position, at in {places[0], places[len(places) // 2], places[-1]} if places else ():
            drop = mutate(sound, "drop", position, at)
            assert drop is not None
            drops.append(drop)
    return drops
