"""Estimating: `emu estimate` as a process, and how a sweep scales from one process to two.

    pytest benchmarks/bench_estimate.py

The process is measured against one that only imports numpy and the generated schema module (processor time of both,
each the best of several runs). Two figures say how the sweep of the given files at four batch sizes scales: what a
second worker costs in processor time, which holds on a busy machine too, on one, four and many links; and the elapsed
time of the sweep over many links beside what the machine gives two processes at present, which is told and not held.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from benchmarks.hefs import HEFS, needs_hefs
from emu.hef import open_hef
from emu.host.estimate import compile_batch, estimate
from emu.sequencer.compile import CompileOptions
from emu.sweep import Sweep, sweep
from emu.sweep.pools import run_processes
from emu.sweep.sweep import processors
from emu.sweep.work import Task, run_task
from emu.timing.estimate import Conditions, estimate_compiled
from tests.effort import least, sized

MAX_PROCESS_RATIO = 4.5  # 3.4 to 4.0: of the largest given file, half of it to decode what its triggers start
MIN_SCALING = 1.7
MAX_LINK_SHARE = 0.25
BATCHES = sized((1, 2, 4, 8), (1,))
FILES = tuple(HEFS[: sized(len(HEFS), 2)])
LINKS = tuple(f"gen{generation}x{lanes}" for generation in (1, 2, 3, 4) for lanes in sized((1, 2, 4, 8, 16), (1,)))

pytestmark = needs_hefs


def spent(*arguments: str) -> float:
    """Processor seconds of a process."""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    return processor_time(
        lambda: subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, env=environment),
        resource.RUSAGE_CHILDREN,
    )


def processor_time(work: Callable[[], object], *of: int) -> float:
    """Processor seconds of this process and of those that it started and joined, or of what `of` names."""

    def so_far() -> float:
        usages = [resource.getrusage(who) for who in of or (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(usage.ru_utime + usage.ru_stime for usage in usages)

    before = so_far()
    work()
    return so_far() - before


def largest() -> Path:
    return max(FILES, key=lambda path: path.stat().st_size)


def bench_process(benchmark):
    command = ("-m", "emu", "estimate", str(largest()), "--batch", "1,8", "--json")
    imports = ("-c", "import numpy, emu.schemas.hef_pb2")
    benchmark.pedantic(lambda: spent(*command), rounds=3)
    ratio = min(spent(*command) for _ in range(sized(8, 1))) / min(spent(*imports) for _ in range(sized(8, 1)))
    benchmark.extra_info["ratio"] = round(ratio, 2)
    assert ratio <= MAX_PROCESS_RATIO


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def bench_file(benchmark, path):
    hef = open_hef(path)
    assert hef.network_groups
    benchmark.pedantic(lambda: estimate(hef, CompileOptions(), BATCHES), rounds=5)


def bench_sweep(benchmark):
    plan = Sweep(FILES, batches=BATCHES)
    rows = benchmark.pedantic(lambda: sweep(plan, jobs=1), rounds=3)
    assert len(rows) == len(FILES) * len(BATCHES)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def bench_one_more_link(benchmark, path):
    """A sweep compiles once for each device and batch: one more link costs a quarter of that at most."""
    hef = open_hef(path)
    compiled = compile_batch(hef, CompileOptions(), 8)

    def links() -> None:
        for link in LINKS:
            estimate_compiled(hef, (compiled,), Conditions(link=link))

    benchmark.pedantic(links, rounds=3)
    linking, compiling = least(links, lambda: [compile_batch(hef, CompileOptions(), 8) for _ in LINKS], rounds=8)
    share = linking / compiling
    benchmark.extra_info["share of a compile"] = round(share, 2)
    for count in (2, 3, 5):  # rows a second against compiling for each: as many times more as there are links, at most
        benchmark.extra_info[f"{count} links"] = round(count * (1 + share) / (1 + count * share), 2)
    assert linking <= MAX_LINK_SHARE * compiling


def one_and_two_workers(links: int) -> tuple[float, float]:
    """Processor seconds of all files in a pool of one worker, and of half of them in each of two such pools.

    In turn, not at once, so that they do not depend on what shares the machine.
    """
    tasks = Sweep(FILES, batches=BATCHES, links=LINKS[-links:]).tasks()

    def pools(*shares: Sequence[Task]) -> float:
        return processor_time(lambda: [list(run_processes(share, run_task, 1)) for share in shares])

    rounds = [(pools(tasks), pools(tasks[::2], tasks[1::2])) for _ in range(sized(8, 1))]
    one, two = (min(column) for column in zip(*rounds, strict=True))
    return one, two


@pytest.mark.parametrize("links", [1, 4, len(LINKS)])
def bench_second_worker(benchmark, links):
    """What a second worker costs: two with a processor each are 2 / cost times as fast as one.

    In a new process, as a sweep's is: workers are forked, and what other benchmarks worked out would be done for them.
    """

    def measured() -> tuple[float, float]:
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as fresh:
            return fresh.submit(one_and_two_workers, links).result()

    one, two = benchmark.pedantic(measured, rounds=1)
    benchmark.extra_info["scaling with free processors"] = round(2 * one / two, 2)
    assert 2 * one / two >= MIN_SCALING


@pytest.mark.skipif(processors() < 2, reason="one processor")
def bench_scaling(benchmark):
    """One process to two, beside what this machine gives two processes at present: told, not held, as time passes."""
    plan = Sweep(FILES, batches=BATCHES, links=LINKS)

    def one() -> float:
        return elapsed(lambda: sweep(plan, jobs=1))

    def two() -> float:
        return elapsed(lambda: sweep(plan, jobs=2))

    def both() -> float:
        context = multiprocessing.get_context("fork")
        pair = [context.Process(target=sweep, args=(plan,), kwargs={"jobs": 1}) for _ in range(2)]

        def run() -> None:
            for process in pair:
                process.start()
            for process in pair:
                process.join()

        return elapsed(run)

    benchmark.pedantic(two, rounds=1)
    # interleaved, so that what else the machine does meets all three alike
    times = [(one(), two(), both()) for _ in range(sized(3, 1))]
    alone, spread, pair = (statistics.median(column) for column in zip(*times, strict=True))
    benchmark.extra_info |= {"scaling": round(alone / spread, 2), "machine": round(2 * alone / pair, 2)}


def elapsed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
