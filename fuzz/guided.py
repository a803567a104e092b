"""The driver of atheris (extra `emu[fuzz]`): libFuzzer's corpus and coverage, mutated by the target's own mutator."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from random import Random

import atheris

from emu.output import make_folder, write
from fuzz.finds import Finds, kind_of
from fuzz.guard import guarded
from fuzz.mutation import mutate_bytes

_LONGEST = 1 << 16  # bytes of an input: longer ones are slow and show little more
_LIBRARY_SHARE = 0.2  # of the mutations: libFuzzer's own, which splices values that comparisons were seen with


def instrument(packages: tuple[str, ...]) -> None:
    """From now on modules below these get coverage counters when they are imported, readers' late ones too."""
    atheris.instrument_imports(include=list(packages)).__enter__()


def drive(name: str, finds: Finds, corpus: Path, *, seconds: float | None, runs: int | None, seed: int) -> None:
    """Run until the time or the count is over; libFuzzer ends the process. Never returns."""
    from fuzz.targets import load, packages_of

    instrument(packages_of(name))
    target = load(name)
    seeds = target.seeds()
    if not any(make_folder(corpus).iterdir()):
        for number, data in enumerate(seeds):
            write(corpus / f"seed-{number:03d}", data)
    target.judge(seeds[0])  # what it loads is instrumented, which would count as the time of the first input
    outcomes: Counter[str] = Counter()

    def judge(data: bytes) -> None:
        try:
            outcomes[guarded(target.judge, data)] += 1
        except BaseException as error:
            if finds.add(data, kind := kind_of(error)):
                sys.stderr.write(f"find: {target.name}: {kind}\n")

    def mutate(data: bytes, max_size: int, seed: int) -> bytes:
        random = Random(seed)
        if random.random() < _LIBRARY_SHARE:
            return bytes(atheris.Mutate(data, max_size))
        return (target.mutate(data, random) if data else mutate_bytes(data, random))[:max_size]

    options = [
        f"-seed={seed + 1}",
        f"-max_len={_LONGEST}",
        "-timeout=120",
        "-rss_limit_mb=0",
        "-print_final_stats=1",
        "-len_control=0",
        *([f"-max_total_time={int(seconds)}"] if seconds is not None else []),
        *([f"-runs={runs}"] if runs is not None else []),
    ]
    atheris.Setup([sys.argv[0], *options, str(corpus)], judge, custom_mutator=mutate)
    atheris.Fuzz()
