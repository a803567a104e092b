"""The given HEFs, opened and compiled once for all tests; the figures Hailo publishes for some of them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

from emu.errors import EmuError
from emu.hef import Hef, builder, open_hef
from emu.hef import operations as ops
from emu.hef.enums import EdgeConnectionType, EdgeLayerDirection, HwArch
from emu.hef.formats import Shape
from emu.hef.writer import write_hef
from emu.host.estimate import compile_batch
from emu.host.session import GroupResult, RunRequest, run_program
from emu.sequencer.compile import CompileOptions, compile_hef
from emu.sequencer.program import Program
from emu.timing.estimate import BatchEstimate, Compiled, Conditions, Estimate, estimate_compiled
from emu.timing.workload import program_timings
from tests.conftest import SHARED

FILES = sorted((SHARED / "hef").glob("*.hef"))
MADE_UP = sorted((SHARED / "synth" / "hef").glob("*.hef"))
MOST_CONTEXTS = 50  # two made-up files have a thousand, which takes minutes by events
USUAL = Conditions()
DEVICES_OF_1XH = ("hailo15h", "hailo10h")


class Published(NamedTuple):
    """Frames per second at batch 1 and 8, in the release of the HEF's own compiler."""

    file: str
    device: str
    release: str
    fps1: float
    fps8: float
    compute_bound: bool = False


SINGLE_CONTEXT = (
    Published("fast_depth_ddr.v1.hailo8.hef", "hailo8", "v2.14", 1826, 1822),
    Published("scrfd_2.5g.v3.hailo1xh.hef", "hailo15h", "v5.2.0", 764, 784),
    Published("scrfd_2.5g.v3.hailo1xh.hef", "hailo10h", "v5.2.0", 525, 535),
    Published("arcface_mobilefacenet.v1.hailo8.hef", "hailo8", "v2.14", 3457, 3457, compute_bound=True),
)
TWO_CONTEXTS = (
    Published("face_landmarks_lite_2ctx.v3.hailo1xh.hef", "hailo15h", "v5.2.0", 993, 3058),
    Published("face_landmarks_lite_2ctx.v3.hailo1xh.hef", "hailo10h", "v5.2.0", 982, 2405),
)


def devices(name: str) -> tuple[str | None, ...]:
    """On which devices a given file is tried."""
    return DEVICES_OF_1XH if "1xh" in name else (None,)


CASES = [(path, device) for path in FILES for device in devices(path.name)]


@cache
def opened(path: Path) -> Hef:
    """Raises what `open_hef` raises."""
    return open_hef(path)


@cache
def program(path: Path, device: str | None, batch: int) -> Program:
    """What a run takes, of a file that is sound."""
    return compile_hef(opened(path), CompileOptions(device=device, batch=batch))


@cache
def compiled(path: Path, device: str | None, batch: int) -> tuple[Hef, Compiled] | None:
    """What an estimate takes; None where the runtime refuses the file or the batch, or there are too many contexts."""
    try:
        hef = opened(path)
        if any(len(one.contexts) > MOST_CONTEXTS for one in hef.core_op_messages()):
            return None
        return hef, compile_batch(hef, CompileOptions(device=device), batch)
    except EmuError:
        return None


def estimated(path: Path, device: str | None, batch: int, conditions: Conditions = USUAL) -> Estimate:
    """The estimate of what `compiled` gives for one batch size."""
    found = compiled(path, device, batch)
    assert found is not None
    hef, one = found
    return estimate_compiled(hef, (one,), conditions)


def figures(path: Path, device: str | None, batch: int, conditions: Conditions = USUAL) -> BatchEstimate:
    """Its figures."""
    return estimated(path, device, batch, conditions).batches[0]


def run(path: Path, device: str | None, batch: int, frames: int, conditions: Conditions = USUAL) -> GroupResult:
    """What the first network group of a sound file does by events."""
    lists = program(path, device, batch)
    profile = conditions.profile(lists.device)
    request = RunRequest(frames=frames, timings=program_timings(lists, profile))
    return run_program(lists, profile, request).groups[0]


def camera_network(latency_s: float = 0.0) -> bytes:
    """640x640x3 in (9.8 Mbit), 80x80, 40x40 and 20x20 of 256 out (17.2 Mbit), 218.1 FPS, one context, Hailo-8."""
    pixels = builder.layer_info("net/in", builder.layer_base(Shape(640, 640, 3), sys_index=0))
    heads = [
        builder.layer_info(f"net/out{size}", builder.layer_base(Shape(size, size, 256), sys_index=16 + at))
        for at, size in enumerate((80, 40, 20))
    ]
    layers = [
        builder.edge_layer(pixels, EdgeLayerDirection.HOST_TO_DEVICE),
        *(builder.edge_layer(head, EdgeLayerDirection.DEVICE_TO_HOST) for head in heads),
    ]
    flow = ops.ActionAllowInputDataflow(0, EdgeConnectionType.BOUNDARY)
    waits = [builder.operation(ops.TriggerAllDataWasSentToHostPCIe(16 + at)) for at in range(3)]
    core = builder.core_op(
        "net",
        [builder.context([builder.operation(ops.TriggerNone(), flow), *waits], layers)],
        sorted_outputs=[head.name for head in heads],
        networks=["net"],
        bottleneck_fps=218.1,
        latency_s=latency_s,
    )
    return write_hef(builder.hef_contents(HwArch.HAILO8P, [builder.network_group(core)]), version=2)
