"""What a short command costs, against loading numpy and the generated schema of HEFs.

    pytest benchmarks/bench_startup.py

CPU time of whole processes, interpreter start on both sides, compiled modules in place, the least of interleaved
rounds. Limits: parse-hef 1.0, the other commands that do not run 1.3, a run of one frame 2.1. Measured on a busy two-
core machine with the given mnist_cnn (in brackets examples/two_context.hef): parse-hef 0.81 (0.81), actions 1.00
(0.96), inspect 1.20 (1.14), check 1.28 (1.13), estimate 1.02 (0.95), run 2.20 (2.06); since estimates and runs work
out the sequencer programs of well-formed configuration, which takes numpy, check 1.93, estimate 1.63, run 2.31 with
the former (since then estimates load no simpy and check no structlog, docs/performance.md). Of the run's, 0.3 is
simpy, most of which looks up the version that it was installed as.
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
LIMITS = {"parse-hef": 1.0, "actions": 1.3, "inspect": 1.3, "check": 1.3, "estimate": 1.3, "run": 2.1}


def cpu_seconds(command: list[str], environment: dict[str, str]) -> float:
    """User and system time of one process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, cwd=ROOT, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def bench_start_of_commands() -> None:
    compileall.compile_dir(ROOT / "emu", quiet=1)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
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
