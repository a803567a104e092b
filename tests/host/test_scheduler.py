"""HailoRT's scheduler (pyhailort-api.md, Scheduler): who runs next, and how the turns of applications follow."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from emu.errors import HailoError
from emu.host.device import open_device
from emu.host.scheduler import Scheduler, Scheduling
from tests.host.test_device import frames_of
from tests.hw.lists import double, single


@dataclass
class Waiting:
    name: str
    queued: int = 1
    scheduling: Scheduling = field(default_factory=lambda: Scheduling(burst=1))

    @property
    def ready(self) -> int:
        return self.queued


def _order(scheduler: Scheduler, waiting: list[Waiting], turns: int, now: int = 0) -> str:
    return "".join(one.name if (one := scheduler.choose(waiting, now)) is not None else "-" for _ in range(turns))


def test_round_robin_begins_behind_the_last() -> None:
    one, two, three = Waiting("a"), Waiting("b"), Waiting("c")
    scheduler = Scheduler()
    assert _order(scheduler, [one, two, three], 5) == "abcab"
    three.queued = 0
    assert _order(scheduler, [one, two, three], 3) == "aba"
    one.queued = two.queued = 0
    assert _order(scheduler, [one, two, three], 1) == "-"


def test_the_higher_priority_comes_first_and_keeps_its_own_round() -> None:
    low, one, two = Waiting("l"), Waiting("a"), Waiting("b")
    one.scheduling.priority = two.scheduling.priority = 20
    scheduler = Scheduler()
    assert _order(scheduler, [low, one, two], 3) == "aba"
    one.queued = two.queued = 0
    assert _order(scheduler, [low, one, two], 2) == "ll"
    one.queued = two.queued = 1
    assert _order(scheduler, [low, one, two], 2) == "ba"


def test_thresholds_hold_back_until_the_timeout_unless_nobody_else_runs() -> None:
    eager, patient = Waiting("e"), Waiting("p", queued=2)
    patient.scheduling.threshold, patient.scheduling.timeout_ns = 4, 1000
    patient.scheduling.priority = 20
    scheduler = Scheduler()
    assert _order(scheduler, [eager, patient], 1, now=999) == "e"
    assert _order(scheduler, [eager, patient], 1, now=1000) == "p"
    patient.queued = 4
    assert _order(scheduler, [eager, patient], 1, now=0) == "p"
    patient.queued, eager.queued = 1, 0
    assert _order(scheduler, [eager, patient], 1, now=0) == "p"  # the idle switch


def test_a_contender_is_of_the_same_or_a_higher_priority() -> None:
    running, other = Waiting("r"), Waiting("o")
    scheduler = Scheduler()
    assert scheduler.contender(running, [running, other], 0)
    other.scheduling.priority = 15
    assert not scheduler.contender(running, [running, other], 0)
    other.scheduling.priority, other.queued = 16, 0
    assert not scheduler.contender(running, [running, other], 0)


def test_applications_take_turns_of_a_batch() -> None:
    """Both queue eight frames: bursts of their batches alternate."""
    with open_device() as device:
        one, two = device.configure(double(batch=2).program()), device.configure(double(batch=4).program())
        ended: list[str] = []
        jobs = []
        for _ in range(8):
            for name, application in (("1", one), ("2", two)):
                job = application.submit_raw(frames_of(application, 1))
                job.add_done_callback(lambda done, name=name: ended.append(name))
                jobs.append(job)
        for job in jobs:
            job.wait()
    assert "".join(ended) == "11" + "2222" + "11" + "2222" + "1111"


@pytest.mark.parametrize(("priority", "order"), [(16, "121212"), (17, "222111"), (15, "111222")])
def test_priorities_decide_who_is_first(priority: int, order: str) -> None:
    with open_device() as device:
        one, two = device.configure(single().program()), device.configure(single().program())
        two.set_scheduler(priority=priority)
        ended: list[str] = []
        jobs = [(name, app.submit_raw(frames_of(app, 1))) for _ in range(3) for name, app in (("1", one), ("2", two))]
        for name, job in jobs:
            job.add_done_callback(lambda done, name=name: ended.append(name))
        jobs[-1][1].wait()
        jobs[-2][1].wait()
    assert "".join(ended) == order


def test_what_the_library_refuses_changes_nothing() -> None:
    with open_device() as device:
        several, flows = device.configure(double(batch=4).program()), device.configure(single(batch=4).program())
        for wrong in ({"threshold": 5}, {"priority": 32}, {"threshold": 2, "priority": -1}, {"timeout_ms": -1}):
            with pytest.raises(HailoError) as caught:
                several.set_scheduler(**wrong)
            assert caught.value.number == 2
        assert (several.scheduling.threshold, several.scheduling.priority) == (0, 16)
        several.set_scheduler(threshold=4, timeout_ms=1.5, priority=31)
        assert (several.scheduling.threshold, several.scheduling.timeout_ns) == (4, 1_500_000)
        flows.set_scheduler(threshold=5)  # above the batch only where batches matter
