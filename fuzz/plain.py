"""The plain driver: mutants by a fixed seed, a count or a time; needs no library and knows no coverage."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from random import Random

from fuzz.finds import Finds, kind_of
from fuzz.guard import guarded
from fuzz.target import Target


@dataclass
class Outcome:
    """What a drive did."""

    executions: int
    outcomes: Counter[str]
    finds: Finds


def drive(target: Target, finds: Finds, *, runs: int | None, seconds: float | None, seed: int) -> Outcome:
    """Judge mutants of the seeds, and mutants of mutants, until `runs` or `seconds` are over."""
    random = Random(f"{target.name}/{seed}")
    pool = list(target.seeds())
    first = len(pool)
    outcomes: Counter[str] = Counter()
    ends = None if seconds is None else time.monotonic() + seconds
    executions = 0
    while (runs is None or executions < runs) and (ends is None or time.monotonic() < ends):
        turn, is_mutant = divmod(executions, 2)  # in turns, so that a short drive tries both
        data = pool[turn] if not is_mutant and turn < first else target.mutate(random.choice(pool), random)
        executions += 1
        try:
            outcome = guarded(target.judge, data)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            finds.add(data, kind_of(error))
            continue
        if not outcomes[outcome] and executions > first:
            pool.append(data)  # it ended as nothing before: what is near it may too
        outcomes[outcome] += 1
    return Outcome(executions, outcomes, finds)
