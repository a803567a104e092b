"""What rings, triggers and lists of a 10H/15H must agree on, by a made-up one of two contexts (chip-config.md 4).

Context 0 has LCUs 3 and 5 of cluster 0, context 1 has LCU 7. Whatever is changed in it is found, and only that.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from emu.hw.config.addresses import LCU_BASE, LCU_STRIDE, MAPS
from emu.hw.config.agreement_1xh import hazards_1xh
from emu.sequencer.configuration import HAILO1XH, LcuInterrupt, SwitchLcuBatch, TriggerSequencer, WriteData

DONE = (0xF0014C, 0xBAAB)
CLEAR = MAPS[HAILO1XH].window(0) + 0xF0019C


def packets(*writes: tuple[int, int]) -> SimpleNamespace:
    return SimpleNamespace(packets=[SimpleNamespace(address=address, words=[value]) for address, value in writes])


def run(
    writes: list[tuple[int, int]], lcus: set[int], started: set[int], slots: tuple[int, int] | None = None
) -> SimpleNamespace:
    """A program that a trigger started (`slots` None) or a command in slot `slots[0]`, followed by `slots[1]`."""
    command = None if slots is None else SimpleNamespace(slot=slots[0], next_slot=slots[1])
    trigger = SimpleNamespace() if slots is None else None
    effects = SimpleNamespace(lcus=lcus, started=started)
    return SimpleNamespace(cluster=0, command=command, trigger=trigger, program=packets(*writes), effects=effects)


def lcu_program(lcu: int, slot: int, following: int) -> SimpleNamespace:
    first = LCU_BASE + 0x10000 + lcu * LCU_STRIDE
    return run([(first, 1), (0xF00158, slot)], {lcu}, {lcu}, (slot, following))


def starts_sequencer(cluster: int = 0) -> TriggerSequencer:
    return TriggerSequencer(cluster, 0, 0, 0, 0, 0, 0, (0, 0, 0, 0))


def dynamic(number: int, awaited: list[int], following: set[int]) -> SimpleNamespace:
    """A list that waits for its own LCUs, configures and starts those of the next context."""
    steps: list[Any] = [LcuInterrupt(0, lcu) for lcu in awaited]
    steps += [WriteData(CLEAR, b"\xff\xff\xff\xff"), starts_sequencer()]
    runs = [run([(0x1000, 1)], set(following), set()), run([DONE], set(), set(following), (0, 0))]
    return SimpleNamespace(source=SimpleNamespace(name=f"dynamic_{number}", steps=steps), runs=runs, records=[1])


def sound() -> SimpleNamespace:
    boot = run([(0x1000, 1), DONE], set(), set(), (0, 1))
    steps: list[Any] = [SwitchLcuBatch(0, lcu) for lcu in (3, 5, 7)]
    first = SimpleNamespace(
        source=SimpleNamespace(name="preliminary", steps=steps),
        runs=[boot, lcu_program(5, 1, 2), lcu_program(3, 2, 0)],
        records=[1],
    )
    lists = [first, dynamic(0, [5, 3], {7}), dynamic(1, [7], {3, 5})]
    return SimpleNamespace(runs=lists, image=SimpleNamespace(chip=MAPS[HAILO1XH]))


def rules(executed: Any) -> list[str]:
    return [hazard.rule for hazard in hazards_1xh(executed)]


def test_a_sound_configuration_agrees() -> None:
    assert rules(sound()) == []


def test_lists_without_records_say_nothing() -> None:
    executed = sound()
    for one in executed.runs:
        one.records = []
    executed.runs[0].runs[0].command.next_slot = 7
    assert rules(executed) == []


def _slot(executed: Any, number: int, **values: int) -> None:
    vars(executed.runs[0].runs[number].command).update(values)


def _last_word(executed: Any, at: int, number: int, value: int) -> None:
    executed.runs[at].runs[number].program.packets[-1].words[-1] = value


CHANGES: dict[str, tuple[Callable[[Any], object], list[str]]] = {
    # a slot that leads nowhere: the ring breaks off behind it, LCU 3 is not reached, nor in the order of dynamic 0
    "no slot follows": (lambda e: _slot(e, 1, next_slot=9), ["ring-order", "ring-order"]),
    # boot comes a second time, as a program that starts no LCU
    "the ring leaves out a slot": (
        lambda e: _slot(e, 1, next_slot=0),
        ["ring-order", "lcu-mismatch", "ring-order"],
    ),
    "the ring does not close": (lambda e: _slot(e, 2, next_slot=4), ["ring-order"]),
    "the ring comes back too early": (lambda e: _slot(e, 2, next_slot=1), ["ring-order"]),
    "slot 0 does not end": (lambda e: _last_word(e, 0, 0, 0xBAAC), ["ring-order"]),
    "slot 0 has an LCU": (lambda e: e.runs[0].runs[0].effects.lcus.add(1), ["ring-order"]),
    "a program that ends in another slot": (lambda e: _last_word(e, 0, 1, 2), ["lcu-mismatch"]),
    "a program that starts two LCUs": (
        lambda e: e.runs[0].runs[1].effects.started.add(6),
        ["lcu-mismatch", "ring-order"],
    ),
    "a program that begins at another LCU": (
        lambda e: vars(e.runs[0].runs[1].program.packets[0]).update(address=LCU_BASE + 0x10000 + 6 * LCU_STRIDE),
        ["lcu-mismatch"],
    ),
    "a program without packets": (lambda e: e.runs[0].runs[1].program.packets.clear(), ["lcu-mismatch"]),
    "LCUs awaited in another order": (lambda e: e.runs[1].source.steps.insert(2, LcuInterrupt(0, 5)), ["ring-order"]),
    "an LCU that is not named for batches": (lambda e: e.runs[0].source.steps.pop(), ["lcu-mismatch"]),
    "an LCU that never starts": (lambda e: e.runs[0].source.steps.append(SwitchLcuBatch(1, 2)), ["armed-unused"]),
    "a trigger that starts LCUs": (lambda e: e.runs[1].runs[0].effects.started.add(7), ["next-context-mismatch"]),
    "a start that does not end": (lambda e: _last_word(e, 1, 1, 0), ["next-context-mismatch"]),
    "a context that configures too few": (
        lambda e: e.runs[2].runs[0].effects.lcus.remove(3),
        ["next-context-mismatch"],
    ),
    "a context that starts too many": (lambda e: e.runs[1].runs[1].effects.started.add(8), ["next-context-mismatch"]),
    "a sequencer whose done stands": (lambda e: e.runs[1].source.steps.pop(-2), ["done-not-cleared"]),
    "a sequencer of a cluster that was not cleared": (
        lambda e: e.runs[2].source.steps.append(starts_sequencer(1)),
        ["done-not-cleared"],
    ),
    "a clear of other bits": (
        lambda e: e.runs[1].source.steps.__setitem__(-2, WriteData(CLEAR, b"\xff\xff\xff\x7f")),
        ["done-not-cleared"],
    ),
    "a clear of another register": (
        lambda e: e.runs[1].source.steps.__setitem__(-2, WriteData(CLEAR + 4, b"\xff\xff\xff\xff")),
        ["done-not-cleared"],
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_found(change: str) -> None:
    executed = sound()
    make, expected = CHANGES[change]
    make(executed)
    assert rules(executed) == expected


def test_what_is_said_names_list_cluster_and_lcu() -> None:
    executed = sound()
    executed.runs[2].runs[0].effects.lcus.remove(3)
    executed.runs[0].source.steps.append(SwitchLcuBatch(1, 2))
    first, second = hazards_1xh(executed)
    assert (first.where, first.what) == (
        "dynamic_1, cluster 0",
        "configures [5], the next context has [3, 5]",
    )
    assert second.where == "cluster 1 LCU 2"


def test_a_single_context_is_started_by_its_ring_alone() -> None:
    executed = sound()
    del executed.runs[2]
    executed.runs[1].runs.clear()
    executed.runs[1].source.steps[:2] = []
    executed.runs[0].source.steps[:] = [SwitchLcuBatch(0, lcu) for lcu in (3, 5)]
    assert rules(executed) == []
    executed.runs[0].source.steps.pop()
    assert rules(executed) == ["lcu-mismatch"]
