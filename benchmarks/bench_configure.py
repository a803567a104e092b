"""Configuring a device whose configuration is executed: the first time in a process, and again.

    pytest benchmarks/bench_configure.py

CPU time as ratios against work measured in the same process: numpy's sort of a million numbers for the first
configure of a content, a configure with the configuration left opaque for later ones.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.conftest import ROOT, SHARED, needs_shared
from tests.effort import sized

pytestmark = needs_shared

# a sort of a million 64-bit numbers takes about 60 ms: 250, 40 and 10 ms
MOST_SORTS = {
    "yolov8n_320_nms.v2.hailo8": 4.2,
    "scrfd_2.5g.v3.hailo1xh": 0.67,
    "face_landmarks_lite_2ctx.v3.hailo1xh": 0.67,
    "mnist_cnn.v0.hailo8": 0.17,
}
MOST_LATER = 1.5
TRIES = sized(5, 1)

PROGRAM = """
import gc, json, sys, time
import numpy as np
from emu.chips import chips
from emu.hef import open_hef
from emu.host.device import OpenDevice
from emu.hw.config import logic
from emu.sequencer.compile import CompileOptions, compile_hef

gc.disable()
path, mode = sys.argv[1:]
program = compile_hef(open_hef(path), CompileOptions())
profile = chips.load(program.device)
np.sort(np.arange(1000)[::-1])

def timed(function):
    start = time.process_time()
    function()
    return time.process_time() - start

def configure():
    device = OpenDevice(profile, program.runtime)
    application = device.configure_program(program)[0]
    device._enter(application)

rng = np.random.default_rng(0)
sort = min(timed(lambda: np.sort(rng.integers(0, 1 << 62, 1_000_000))) for _ in range(3))
if mode == "opaque":
    logic._looked_at = lambda application, cache, style: (False, ())
first = timed(configure)
later = min(timed(configure) for _ in range(25))
print(json.dumps({"sort": sort, "first": first, "later": later}))
"""


def measured(name: str) -> tuple[list[dict[str, float]], list[dict[str, float]]]:
    """Fresh processes, in turn with the configuration executed and opaque."""
    found: dict[str, list[dict[str, float]]] = {"executed": [], "opaque": []}
    for _ in range(TRIES):
        for mode, runs in found.items():
            command = [sys.executable, "-c", PROGRAM, str(SHARED / "hef" / f"{name}.hef"), mode]
            done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
            runs.append(json.loads(done.stdout))
    return found["executed"], found["opaque"]


@pytest.mark.parametrize(("name", "most"), tuple(MOST_SORTS.items())[:: sized(1, -1)])
def test_first_and_later_configures(name: str, most: float) -> None:
    executed, opaque = measured(name)
    sort = min(run["sort"] for run in [*executed, *opaque])
    # what executing adds to a first configure, against the sort
    added = min(run["first"] for run in executed) - min(run["first"] for run in opaque)
    later = min(run["later"] for run in executed) / min(run["later"] for run in opaque)
    ms = 1000 * min(run["later"] for run in executed)
    print(f"{name}: first +{1000 * added:.1f} ms ({added / sort:.2f} sorts), later {ms:.1f} ms ({later:.2f} x)")
    assert added / sort <= most
    assert later <= MOST_LATER
