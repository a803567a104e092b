"""The estimates against Hailo's published figures, none of which any fit has seen."""

from __future__ import annotations

import csv
import statistics

import pytest

from emu.chips import chips
from emu.hef import builder, open_hef
from emu.hef import operations as ops
from emu.hef.enums import EdgeConnectionType, EdgeLayerDirection, HwArch
from emu.hef.formats import Shape
from emu.hef.writer import write_hef
from emu.host.estimate import estimate
from emu.sequencer.compile import CompileOptions
from emu.timing.estimate import Conditions, Estimate, estimate_compiled
from tests.conftest import SHARED, needs_shared
from tests.timing.cases import SINGLE_CONTEXT, TWO_CONTEXTS, Published, compiled, opened

pytestmark = needs_shared


def estimated(case: Published) -> Estimate:
    path = SHARED / "hef" / case.file
    batches = [one for batch in (1, 8) if (one := compiled(path, case.device, batch)) is not None]
    return estimate_compiled(opened(path), [one for _, one in batches], Conditions())


def errors(case: Published) -> tuple[float, float]:
    one, eight = (figures.fps for figures in estimated(case).batches)
    return one / case.fps1 - 1, eight / case.fps8 - 1


@pytest.mark.parametrize("case", [*SINGLE_CONTEXT, *TWO_CONTEXTS], ids=lambda case: f"{case.file}-{case.device}")
def test_the_cases_are_the_published_rows(case: Published) -> None:
    arch, model = case.device.upper(), case.file.split(".v")[0].replace("_ddr", "").replace("_2ctx", "")
    with (SHARED / "data" / "model_zoo_fps.csv").open(newline="") as file:
        rows = [
            row
            for row in csv.DictReader(file)
            if (row["arch"], row["model"], row["model_zoo_tag"]) == (arch, model, case.release)
        ]
    assert [(float(row["batch1_fps"]), float(row["batch8_fps"])) for row in rows] == [(case.fps1, case.fps8)]
    assert not any(row["suspect"] for row in rows)


@pytest.mark.parametrize("case", SINGLE_CONTEXT, ids=lambda case: f"{case.file}-{case.device}")
def test_single_context(case: Published) -> None:
    assert max(map(abs, errors(case))) <= 0.15


def test_single_context_where_the_published_figure_is_compute_bound() -> None:
    found = [abs(error) for case in SINGLE_CONTEXT if case.compute_bound for error in errors(case)]
    assert found
    assert statistics.median(found) <= 0.05


@pytest.mark.parametrize("case", TWO_CONTEXTS, ids=lambda case: case.device)
def test_two_contexts(case: Published) -> None:
    one, eight = errors(case)
    assert max(abs(one), abs(eight)) <= 0.20
    assert abs((1 + eight) / (1 + one) - 1) <= 0.15


def test_the_medians() -> None:
    """Over both batch sizes: one context 3 %, several 15 %, batch 8 / batch 1 of several 12 %."""
    single = [abs(error) for case in SINGLE_CONTEXT for error in errors(case)]
    several = [errors(case) for case in TWO_CONTEXTS]
    assert statistics.median(single) <= 0.03
    assert statistics.median([abs(error) for pair in several for error in pair]) <= 0.15
    assert statistics.median([abs((1 + eight) / (1 + one) - 1) for one, eight in several]) <= 0.12


@pytest.mark.parametrize(
    ("case", "bound_by"),
    [
        (SINGLE_CONTEXT[0], "input dma"),
        (SINGLE_CONTEXT[1], "host"),
        (SINGLE_CONTEXT[2], "host"),
        (SINGLE_CONTEXT[3], "compute"),
        (TWO_CONTEXTS[1], "host"),
    ],
    ids=lambda value: getattr(value, "file", value),
)
def test_what_bounds_them(case: Published, bound_by: str) -> None:
    """fast_depth: its DDR portal shares the input DMA; scrfd: ten streams and 1.5 MB a frame."""
    assert estimated(case).batches[1].bound_by == bound_by


def boundary_of(name: str, inputs: tuple[int, int, int], outputs: tuple[tuple[int, int, int], ...]) -> bytes:
    """A HEF for Hailo-10H and 15H with these boundary streams, whose core takes no time."""
    layers = [
        builder.edge_layer(
            builder.layer_info(f"{name}/in", builder.layer_base(Shape(*inputs), sys_index=0)),
            EdgeLayerDirection.HOST_TO_DEVICE,
        )
    ]
    heads = [
        builder.layer_info(f"{name}/out{at}", builder.layer_base(Shape(*shape), sys_index=16 + at))
        for at, shape in enumerate(outputs)
    ]
    layers += [builder.edge_layer(head, EdgeLayerDirection.DEVICE_TO_HOST) for head in heads]
    flow = ops.ActionAllowInputDataflow(0, EdgeConnectionType.BOUNDARY)
    waits = [builder.operation(ops.TriggerAllDataWasSentToHostPCIe(16 + at)) for at in range(len(outputs))]
    context = builder.context([builder.operation(ops.TriggerNone(), flow), *waits], layers)
    core = builder.core_op(name, [context], sorted_outputs=[head.name for head in heads], networks=[name])
    return write_hef(builder.hef_contents(HwArch.HAILO1XH, [builder.network_group(core)]), version=3)


SCALES = (80, 40, 20)
# Hailo's model zoo, cfg/networks/*.yaml: input and output shapes; published at batch 1 and 8 in release v5.2.0
MANY_OUTPUTS = {
    "lightface_slim": (
        (240, 320, 3),
        tuple(
            (h, w, c)
            for h, w, two in ((30, 40, (12, 6)), (15, 20, (8, 4)), (8, 10, (8, 4)), (4, 5, (12, 6)))
            for c in two
        ),
        {"hailo15h": (2484, 2890), "hailo10h": (897, 897)},
    ),
    "scrfd_500m": (
        (640, 640, 3),
        tuple((size, size, c) for size in SCALES for c in (8, 2, 20)),
        {"hailo15h": (789, 768), "hailo10h": (533, 515)},
    ),
    "yolov6n_0.2.1": (
        (640, 640, 3),
        tuple((size, size, c) for size in SCALES for c in (4, 80)),
        {"hailo15h": (705, 664), "hailo10h": (563, 582)},
    ),
}


@pytest.mark.parametrize("device", ["hailo15h", "hailo10h"])
@pytest.mark.parametrize("name", MANY_OUTPUTS)
def test_many_outputs_cost_the_host(name: str, device: str) -> None:
    """Whatever the core, the host bounds these; the first two took part in its fit, yolov6n was left out of it."""
    inputs, outputs, published = MANY_OUTPUTS[name]
    result = estimate(open_hef(boundary_of(name, inputs, outputs)), CompileOptions(device=device), (8,))
    (figures,) = result.batches
    assert figures.bound_by == "host"
    one, eight = published[device]
    assert figures.fps == pytest.approx(eight, rel=0.12)
    assert figures.fps <= max(one, eight) * 1.03


@pytest.mark.parametrize("device", ["hailo15h", "hailo10h"])
def test_each_stream_and_each_byte_of_output_costs(device: str) -> None:
    """The same input: one output of so many bytes, nine that share them, nine of twice the bytes."""

    def frame_us(outputs: tuple[tuple[int, int, int], ...]) -> float:
        hef = open_hef(boundary_of("net", (64, 64, 8), outputs))
        return 1e6 / estimate(hef, CompileOptions(device=device), (1,)).batches[0].fps

    entries = chips.quantities(device)
    one, shared, each = (frame_us(shapes) for shapes in (((72, 64, 64),), ((8, 64, 64),) * 9, ((16, 64, 64),) * 9))
    assert shared - one == pytest.approx(8 * entries["host.stream_ns"].value / 1e3)
    assert each - shared == pytest.approx(72 * 64 * 64 / entries["host.bytes_per_second"].value * 1e6)
