"""What a short command costs, against loading numpy and the generated schema of HEFs.

    pytest benchmarks/bench_startup.py

CPU time of whole processes, interpreter start on both sides, compiled modules in place, the least of interleaved
rounds. What is held is the ratio to numpy loaded with one thread of BLAS, which is what emu takes: where nobody has set
anything numpy starts a second one, which spins while there is nothing to multiply and costs up to half as much again on
two idle cores, and nothing where others use them. Ratios to that are told beside it. docs/performance.md has what was
measured.
"""

from __future__ import annotations

import compileall
import os
import resource
import subprocess
import sys

from tests.conftest import ROOT, SHARED
from tests.effort import sized

GIVEN = SHARED / "hef" / "mnist_cnn.v0.hailo8.hef"
MODEL = str(GIVEN) if GIVEN.exists() else "examples/two_context.hef"
ROUNDS = sized(9, 1)
LIMITS = {"parse-hef": 1.1, "actions": 1.25, "inspect": 1.5, "check": 2.8, "estimate": 1.85, "run": 2.5}
BASELINE = ["-c", "import numpy, emu.schemas.hef_pb2"]
# the tests keep BLAS to one thread (tests/conftest.py); whoever types a command or loads numpy has set nothing
NOT_OF_A_USER = ("PYTHONDONTWRITEBYTECODE", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def cpu_seconds(command: list[str], environment: dict[str, str]) -> float:
    """User and system time of one process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, cwd=ROOT, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def bench_start_of_commands() -> None:
    compileall.compile_dir(ROOT / "emu", quiet=1)
    environment = {name: value for name, value in os.environ.items() if name not in NOT_OF_A_USER}
    one_thread = environment | {"OMP_NUM_THREADS": "1"}
    names = tuple(LIMITS)[:: sized(1, 5)]
    commands = {"baseline": (BASELINE, one_thread), "as typed": (BASELINE, environment)}
    commands |= {name: (["-m", "emu", name, MODEL], environment) for name in names}
    least = dict.fromkeys(commands, float("inf"))
    for _ in range(ROUNDS):
        for name, (arguments, variables) in commands.items():
            least[name] = min(least[name], cpu_seconds([sys.executable, *arguments], variables))
    ratios = {name: least[name] / least["baseline"] for name in names}
    print(", ".join(f"{name} {ratio:.2f} ({least[name] / least['as typed']:.2f})" for name, ratio in ratios.items()))
    assert {name: ratio for name, ratio in ratios.items() if ratio > LIMITS[name]} == {}
