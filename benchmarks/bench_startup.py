"""What a short command costs, against loading numpy and the generated schema of HEFs.

    pytest benchmarks/bench_startup.py

CPU time of whole processes, interpreter start on both sides, compiled modules in place, the least of interleaved
rounds, numpy as it loads where nobody has set anything: half of what that costs on two cores is the second thread of
BLAS, which spins while there is nothing to multiply. emu takes one thread. Because of the spinning, which depends on
what else runs, all ratios move together; measured on a busy two-core machine with the given mnist_cnn: parse-hef 0.58
to 0.72, actions 0.74 to 0.89, inspect 0.88 to 1.06, estimate 1.14 to 1.37, run 1.67 to 2.04, check 1.70 to 2.11.
Against numpy with one thread, which costs 0.63 of that: 0.93, 1.10, 1.31, 1.82, 2.76 and 2.85.
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
LIMITS = {"parse-hef": 1.0, "actions": 1.3, "inspect": 1.3, "check": 2.2, "estimate": 1.4, "run": 2.1}
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
    commands = {"baseline": ["-c", "import numpy, emu.schemas.hef_pb2"]}
    names = tuple(LIMITS)[:: sized(1, 5)]
    commands |= {name: ["-m", "emu", name, MODEL] for name in names}
    least = dict.fromkeys(commands, float("inf"))
    for _ in range(ROUNDS):
        for name, arguments in commands.items():
            least[name] = min(least[name], cpu_seconds([sys.executable, *arguments], environment))
    ratios = {name: least[name] / least["baseline"] for name in names}
    print(", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items()))
    assert {name: ratio for name, ratio in ratios.items() if ratio > LIMITS[name]} == {}
