"""HailoRT's Python API, in processor time: a frame against the transforms, the import against numpy and the schema.

pytest benchmarks/bench_applications.py
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np

from emu.dataflow.vstreams import InputVStream, OutputVStream
from emu.hef import open_hef
from emu.hef.infos import hef_infos
from tests.conftest import ROOT, SHARED, needs_shared
from tests.effort import least, sized

YOLO = str(SHARED / "hef" / "yolov8n_320_nms.v2.hailo8.hef")
FRAMES = sized(48, 16)  # in calls of 16, as applications keep a device busy
MAX_FRAME_RATIO = 2
MAX_IMPORT_RATIO = 1.3


@needs_shared
def bench_a_frame_of_ready_arrays(hailo_platform: Any) -> None:
    """A reference gives ready bytes; what is left are the transforms, and a device that runs beside them."""
    group = hef_infos(open_hef(YOLO)).network_groups[0]
    ready = {stream.name: bytes(stream.hw_frame_size) for stream in group.output_streams}
    source = InputVStream(group, group.input_vstreams[0])
    sink = OutputVStream(group, group.output_vstreams[0], runtime="4.23")
    frame = np.random.default_rng(0).integers(0, 256, source.array_shape, np.uint8)

    def transforms() -> None:
        for _ in range(FRAMES):
            source(frame.reshape(-1))
            sink(ready)

    hailo_platform.install(reference=lambda position, number, inputs: ready)
    with hailo_platform.VDevice() as device:
        model = device.create_infer_model(YOLO)
        buffers = [np.zeros(model.output().shape, np.float32) for _ in range(16)]
        with model.configure() as configured:
            bindings = [configured.create_bindings(output_buffers={model.output().name: one}) for one in buffers]
            for one in bindings:
                one.input().set_buffer(frame)

            def run() -> None:
                for _ in range(FRAMES // 16):
                    configured.run(bindings, 10_000)

            ours, theirs = least(run, transforms)
    ratio = ours / theirs
    print(f"{ratio:.2f} times the transforms")
    assert ratio <= MAX_FRAME_RATIO


def bench_the_import() -> None:
    def seconds(statements: str) -> float:
        program = f"import time; begin = time.process_time(); {statements}; print(time.process_time() - begin)"
        command = [sys.executable, "-c", program]
        return float(subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout)

    programs = (
        "import numpy; from emu.schemas import hef_pb2",
        "import emu; emu.hailo_platform.install(); import hailo_platform",
        "import emu; emu.hailo_platform.install(); from hailo_platform import *",
    )
    rounds = [[seconds(program) for program in programs] for _ in range(sized(7, 1))]
    base, ours, everything = (min(column) for column in zip(*rounds, strict=True))
    print(f"{ours / base:.2f} times numpy and the schema, {everything / base:.2f} with all names")
    assert ours / base <= MAX_IMPORT_RATIO
