"""What a bound model makes of a device's input bytes, against onnxruntime and arithmetic of this file's own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import emu
from emu.dataflow.edges import input_edges
from emu.dataflow.frames import FrameBridge, frame_files
from emu.dataflow.nms_inverse import boxes_by_class
from emu.errors import HailoError, UsageError
from emu.graph.writers.om import write_om
from emu.hef import builder, model
from emu.hef import operations as ops
from emu.hef.enums import EdgeConnectionType, EPlanesFormat, HwArch, LogitsType
from emu.hef.formats import Shape
from emu.hef.infos import NetworkGroupInfo
from emu.hef.writer import write_hef
from emu.reference import SOURCE
from emu.reference.binding import BindOptions, bind
from emu.reference.choose import choose_references
from emu.reference.models import open_reference
from emu.reference.reference import FunctionReference, Reference, References
from tests.conftest import ROOT, SHARED, needs_shared
from tests.graph.test_om_control import dynamic_model
from tests.onnx_session import onnx_session
from tests.reference import models
from tests.reference.test_binding import DIGITS, DIGITS_ONNX, group_of

IMAGES = 300


def frame_bytes(group: NetworkGroupInfo, arrays: dict[str, np.ndarray]) -> dict[str, bytes]:
    """Input streams of a frame; these HEFs' inputs are uint8 NHCW, padded to eight columns."""
    streams = {}
    for vstream in group.input_vstreams:
        array = arrays[vstream.name]
        height, width, features = array.shape
        wire = np.zeros((height, features, -(-width // 8) * 8), np.uint8)
        wire[:, :, :width] = array.transpose(0, 2, 1)
        streams[vstream.name] = wire.tobytes()
    return streams


def outputs_of(group: NetworkGroupInfo, reference: Reference, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    wire = reference(0, frame_bytes(group, arrays))
    sizes = {stream.name: stream.hw_frame_size for stream in group.output_streams}
    assert {name: len(data) for name, data in wire.items()} == sizes
    return FrameBridge(group, runtime="4.23", origin=SOURCE).outputs(wire)


def run_onnx(path: Path, feeds: dict[str, np.ndarray], outputs: list[str] | None = None) -> list[np.ndarray]:
    return onnx_session(path).run(outputs, feeds)


def test_digits_within_one_step_of_the_float_model() -> None:
    group = group_of(DIGITS)
    reference = Reference(bind(group, open_reference(DIGITS_ONNX), BindOptions(scale=(255.0,))))
    images = np.random.default_rng(4).integers(0, 256, (IMAGES, 8, 8, 1), np.uint8) // 3
    qp = group.output_vstreams[0].quant_info
    for image in images:
        codes = outputs_of(group, reference, {"digits/input_layer1": image})["digits/fc2"]
        (scores,) = run_onnx(DIGITS_ONNX, {"image": image.transpose(2, 0, 1)[None].astype(np.float32) / 255})
        wanted = np.clip(np.rint(scores[0].astype(np.float64) / qp.scale + qp.zp), 0, 255)
        assert np.abs(codes - wanted).max() <= 1
    assert any("clipped" in note for note in reference.notes()) == bool((wanted == 0).any() or (wanted == 255).any())


def iou(a: np.ndarray, b: np.ndarray) -> float:
    height, width = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    if height <= 0 or width <= 0:
        return 0.0
    inside = height * width
    return inside / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - inside)


def detect(heads: list[tuple[np.ndarray, np.ndarray, int]], threshold: float, overlap: float) -> list[list[np.ndarray]]:
    """Boxes by class of float heads (box logits, class probabilities, stride): a decoder and an NMS of our own."""
    height, width = models.YOLO_IMAGE
    found: list[list[np.ndarray]] = [[] for _ in range(models.YOLO_CLASSES)]
    for boxes, scores, stride in heads:
        rows, columns, _ = scores.shape
        for row in range(rows):
            for column in range(columns):
                sides = boxes[row, column].reshape(4, -1).astype(np.float64)
                chances = np.exp(sides) / np.exp(sides).sum(1, keepdims=True)
                left, top, right, bottom = (chances * np.arange(sides.shape[1])).sum(1) * stride
                x, y = (column + 0.5) * stride, (row + 0.5) * stride
                box = [(y - top) / height, (x - left) / width, (y + bottom) / height, (x + right) / width]
                for kind in np.flatnonzero(scores[row, column] >= threshold):
                    found[kind].append(np.array([*box, scores[row, column, kind]]))
    kept: list[list[np.ndarray]] = []
    for boxes_of_class in found:
        mine: list[np.ndarray] = []
        for box in sorted(boxes_of_class, key=lambda one: -one[4]):
            if all(iou(box, other) < overlap for other in mine):
                mine.append(box)
        kept.append(mine)
    return kept


@pytest.mark.parametrize("sigmoid_in_model", [False, True])
def test_a_yolov8_head_gives_the_boxes_of_the_float_model(tmp_path: Path, sigmoid_in_model: bool) -> None:
    pair = models.yolov8(tmp_path, sigmoid_in_model=sigmoid_in_model)
    group = group_of(pair.hef)
    reference = Reference(bind(group, open_reference(pair.onnx)))
    names = ["/model.22/cv2.0/cv2.0.2/Conv_output_0", "scores0", "/model.22/cv2.1/cv2.1.2/Conv_output_0", "scores1"]
    total = 0
    for seed in range(6):
        image = np.random.default_rng(seed).integers(0, 256, (*models.YOLO_IMAGE, 3), np.uint8)
        found = outputs_of(group, reference, {"yolo/input_layer1": image})["yolo/nms"]
        boxes = boxes_by_class(found, models.YOLO_CLASSES)
        heads = run_onnx(pair.onnx, {"images": image.transpose(2, 0, 1)[None].astype(np.float32)}, names)
        last = [head[0].transpose(1, 2, 0).astype(np.float64) for head in heads]
        # as the edges quantise them: the oracle rounds to codes itself, then decodes in double precision
        highest = models.YOLO_CODES
        scale = float(np.float32(24 / highest))
        zp = round(12 / scale)
        decoded = [(np.clip(np.rint(one / scale + zp), 0, highest) - zp) * scale for one in last[::2]]
        scores = [np.rint(one * highest) / highest for one in last[1::2]]
        heads_of = list(zip(decoded, scores, models.YOLO_STRIDES, strict=True))
        wanted = detect(heads_of, models.YOLO_THRESHOLD, models.YOLO_IOU)
        assert [len(one) for one in boxes] == [len(one) for one in wanted]
        for mine, other in zip(boxes, wanted, strict=True):
            if len(mine):
                assert np.abs(mine - np.array(other)).max() < 1e-5
            total += len(mine)
    assert total > 20


def test_argmax_and_softmax_work_on_the_raw_tensor(tmp_path: Path) -> None:
    image = np.random.default_rng(2).integers(0, 256, (8, 8, 3), np.uint8)
    feeds = {"x": image.transpose(2, 0, 1)[None].astype(np.float32)}
    scale = 32 / 255
    for kind in (LogitsType.ARGMAX, LogitsType.SOFTMAX):
        folder = tmp_path / kind.name
        folder.mkdir()
        pair = models.cube(folder, kind)
        group = group_of(pair.hef)
        reference = Reference(bind(group, open_reference(pair.onnx)))
        found = outputs_of(group, reference, {"cube/input_layer1": image})["cube/post"]
        tensor = run_onnx(pair.onnx, feeds)[0][0].transpose(1, 2, 0).astype(np.float64)
        zp = round(16 / scale)
        real = (np.clip(np.rint(tensor / scale + zp), 0, 255) - zp) * scale
        if kind is LogitsType.ARGMAX:
            assert np.array_equal(found, real.argmax(-1))
        else:
            chances = np.exp(real) / np.exp(real).sum(-1, keepdims=True)
            assert np.allclose(found, chances, atol=1e-5)


def test_two_inputs_and_a_third(tmp_path: Path) -> None:
    pair = models.two_inputs(tmp_path)
    group = group_of(pair.hef)
    rng = np.random.default_rng(1)
    right, left = (rng.integers(0, 256, (4, 4, 3), np.uint8) for _ in range(2))
    mask = rng.integers(0, 256, (4, 4, 1), np.uint8)
    reference = Reference(bind(group, open_reference(pair.onnx)))
    arrays = {"pair/input_layer1": right, "pair/input_layer2": mask, "pair/input_layer3": left}
    found = outputs_of(group, reference, arrays)["pair/ew1"]
    value = left.astype(float) - 2 * right.astype(float) + mask
    scale = 1020 / 255
    assert np.abs(found - np.clip(np.rint(value / scale + round(510 / scale)), 0, 255)).max() <= 1


def test_a_layout_by_hand_turns_the_tensor(tmp_path: Path) -> None:
    pair = models.cube(tmp_path)
    group = group_of(pair.hef)
    image = np.random.default_rng(2).integers(0, 256, (8, 8, 3), np.uint8)
    plain = outputs_of(group, Reference(bind(group, open_reference(pair.onnx))), {"cube/input_layer1": image})
    told = BindOptions(maps={"cube/conv7": "/head/conv_output_0:NHWC"})
    turned = outputs_of(group, Reference(bind(group, open_reference(pair.onnx), told)), {"cube/input_layer1": image})
    assert np.array_equal(plain["cube/conv7"].transpose(2, 0, 1), turned["cube/conv7"])


# --- callables ------------------------------------------------------------------------------------------------------


def test_a_function_gives_real_numbers_codes_or_bytes() -> None:
    group = group_of(DIGITS)
    qp = group.output_vstreams[0].quant_info
    seen: list[tuple[int, int, dict[str, bytes]]] = []

    def function(position: int, frame: int, inputs: dict[str, bytes]) -> dict[str, object]:
        seen.append((position, frame, inputs))
        scores = np.linspace(-20, 15, 10)
        codes = np.arange(10, dtype=np.uint8)
        return [{"digits/fc2": scores}, {"/fc2/Gemm": codes}, {"digits/fc2": bytes(range(16))}][frame]

    reference = FunctionReference(group, function)
    inputs = frame_bytes(group, {"digits/input_layer1": np.zeros((8, 8, 1), np.uint8)})
    real, codes, raw = (np.frombuffer(reference(frame, inputs)["digits/fc2"], np.uint8) for frame in range(3))
    assert np.array_equal(real[:10], np.rint(np.linspace(-20, 15, 10) / qp.scale + qp.zp))
    assert codes.tolist() == [*range(10), 0, 0, 0, 0, 0, 0]
    assert raw.tolist() == list(range(16))
    assert seen == [(0, frame, inputs) for frame in range(3)]
    all_groups = References([None, reference])
    assert all_groups(0, 0, inputs) == {} and "digits/fc2" in all_groups(1, 0, inputs)


@pytest.mark.parametrize(
    ("result", "message"),
    [({"other": np.zeros(10)}, "'other'"), ({"digits/fc2": np.zeros(11)}, "float64")],
)
def test_what_a_function_does_wrong_is_one_clear_error(result: dict, message: str) -> None:
    group = group_of(DIGITS)
    inputs = frame_bytes(group, {"digits/input_layer1": np.zeros((8, 8, 1), np.uint8)})
    with pytest.raises(UsageError, match=message):
        FunctionReference(group, lambda *_: result)(0, inputs)
    assert FunctionReference(group, lambda *_: {})(0, inputs) == {}  # what is left out stays synthetic


# --- edges between contexts -----------------------------------------------------------------------------------------


def two_contexts(folder: Path) -> tuple[Path, Path]:
    """x -> conv -> (an edge of 8 steps) -> relu -> out, cut behind the convolution."""
    inter, boundary = EdgeConnectionType.INTERMEDIATE, EdgeConnectionType.BOUNDARY
    coarse = builder.numeric_info(zp=4.0, scale=8.0, limvals_min=-32.0, limvals_max=2008.0)
    middle = models.layer("two/conv1", Shape(8, 8, 4), 9, coarse, ["/conv/Conv"])
    again = models.layer("two/conv1_in", Shape(8, 8, 4), 1, coarse, ["/conv/Conv"])
    out = models.layer("two/out", Shape(8, 8, 4), 8, models.digits.calibrated(0.0, 255.0), ["/Relu"])
    allow = ops.ActionAllowInputDataflow
    contexts = [
        builder.context(
            [
                builder.operation(ops.TriggerNone(), allow(0, boundary)),
                builder.operation(ops.TriggerAllDataWasSentToHostPCIe(9)),
            ],
            [
                builder.edge_layer(models.layer("two/input_layer1", Shape(8, 8, 3), 0), models.digits.H2D),
                builder.edge_layer(middle, models.digits.D2H, connection=inter, connected=[(1, 1)]),
            ],
        ),
        builder.context(
            [
                builder.operation(ops.TriggerNone(), allow(1, inter)),
                builder.operation(ops.TriggerAllDataWasSentToHostPCIe(8)),
            ],
            [
                builder.edge_layer(again, models.digits.H2D, context_index=1, connection=inter, connected=[(0, 9)]),
                builder.edge_layer(out, models.digits.D2H, context_index=1),
            ],
            index=1,
        ),
    ]
    core = builder.core_op("two", contexts, sorted_outputs=["two/out"], networks=["two"])
    contents = builder.hef_contents(HwArch.HAILO8P, [builder.network_group(core)])
    (folder / "two.hef").write_bytes(write_hef(contents, version=2))
    from onnx import helper

    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["/conv/Conv_output_0"], name="/conv/Conv"),
        helper.make_node("Relu", ["/conv/Conv_output_0"], ["y"], name="/Relu"),
    ]
    rng = np.random.default_rng(5)
    weights = {"w": rng.normal(0, 0.3, (4, 3, 1, 1)), "b": rng.normal(0, 20, 4)}
    path = models.onnx_file(folder / "two.onnx", nodes, {"x": [1, 3, 8, 8]}, {"y": [1, 4, 8, 8]}, weights)
    return folder / "two.hef", path


def test_edges_between_contexts_are_quantised_on_request(tmp_path: Path) -> None:
    hef, path = two_contexts(tmp_path)
    group = group_of(hef)
    image = np.random.default_rng(6).integers(0, 256, (8, 8, 3), np.uint8)
    feeds = {"x": image.transpose(2, 0, 1)[None].astype(np.float32)}
    relu = run_onnx(path, feeds)[0][0].transpose(1, 2, 0)
    before = path.read_bytes()
    plain = bind(group, open_reference(path))
    assert not plain.inner
    found = outputs_of(group, Reference(plain), {"two/input_layer1": image})["two/out"]
    assert np.abs(found.astype(int) - np.clip(np.rint(relu), 0, 255)).max() <= 1
    binding = bind(group, open_reference(path), BindOptions(quantise_edges=True))
    assert [(one.edge.name, one.tensor.name) for one in binding.inner] == [("two/conv1", "/conv/Conv_output_0")]
    found = outputs_of(group, Reference(binding), {"two/input_layer1": image})["two/out"]
    coarse = np.rint(relu / 8) * 8
    assert np.array_equal(found, np.clip(np.rint(coarse), 0, 255))
    assert not np.array_equal(found, np.clip(np.rint(relu), 0, 255))
    assert path.read_bytes() == before


# --- OM and MS ------------------------------------------------------------------------------------------------------


def test_an_ms_graph_is_a_reference_too(tmp_path: Path) -> None:
    """examples/lenet.ms: its own executor's numbers, at the edges of a made-up HEF."""
    from emu.graph.executor import run as run_graph
    from emu.graph.load import map_file, read_graph

    path = ROOT / "examples" / "lenet.ms"
    graph = read_graph(map_file(path))
    reference_model = open_reference(path)
    (port,) = graph.inputs
    shape = graph.tensors[port.tensor].shape
    (result,) = graph.outputs
    wanted = run_graph(graph, {port.name: np.full(shape, 0.5, graph.tensors[port.tensor].dtype)})[result.name]
    found = reference_model.run({port.name: np.full(shape, 0.5, np.float32)}, [result.name])[result.name]
    assert np.array_equal(found, wanted)
    assert reference_model.inputs[port.name].shape == shape
    inner = next(iter(reference_model.tensors))
    assert reference_model.run({port.name: np.full(shape, 0.5, np.float32)}, [inner])[inner].size > 0


def test_an_om_graph_with_open_dims_takes_those_of_the_frame(tmp_path: Path) -> None:
    made = dynamic_model()
    made.end("y:0")
    (tmp_path / "dynamic.om").write_bytes(write_om(made.message))
    reference_model = open_reference(tmp_path / "dynamic.om")
    assert reference_model.inputs["x"].shape == (None, 4)
    x = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
    found = reference_model.run({"x": x}, ["rows:0"])["rows:0"]
    assert np.array_equal(found, x.reshape(-1, 2))


@needs_shared
def test_mnist_by_a_float_model_on_the_given_hef(tmp_path: Path) -> None:
    """The given HEF's output edge holds what shared/network says its float model computes."""
    group = group_of(SHARED / "hef" / "mnist_cnn.v0.hailo8.hef")
    with np.load(SHARED / "network" / "mnist_cnn.npz") as archive:
        images, floats = archive["images"][:20], archive["float_output"][:20]
    qp = group.output_vstreams[0].quant_info

    def function(position: int, frame: int, inputs: dict[str, bytes]) -> dict[str, np.ndarray]:
        (edge,) = input_edges(group)
        assert np.array_equal(edge.values(inputs), images[frame].astype(np.float32))
        return {"MNIST_CNN/maxpool3/MaxPool": floats[frame]}

    reference = FunctionReference(group, function)
    for frame in range(len(images)):
        wire = reference(frame, frame_bytes(group, {"MNIST_CNN/input_layer1": images[frame]}))
        codes = FrameBridge(group, runtime="4.23", origin=SOURCE).outputs(wire)["MNIST_CNN/maxpool3"]
        inside = np.clip(floats[frame], 0, 255 * qp.scale)
        assert np.abs(codes.astype(float) * qp.scale - inside).max() <= qp.scale / 2 * 1.001


# --- inputs of cameras, on-chip NMS ---------------------------------------------------------------------------------


def camera(folder: Path, planes: bool) -> Path:
    """An NV12 input of 8 x 16 pixels, as one stream or as two planes, and an output of the same picture's size."""
    name = "cam/input_layer1"
    edge: model.EdgeLayerInfo | model.EdgeLayerPlanes
    if planes:
        parts = [
            models.layer(f"cam/plane{at}", shape, at, None)
            for at, shape in enumerate((Shape(8, 16, 1), Shape(4, 8, 2)))
        ]
        edge = builder.planes_layer(name, EPlanesFormat.NV12, parts, Shape(4, 16, 3))
    else:
        edge = builder.layer_info(name, builder.layer_base(Shape(4, 16, 3), padded=Shape(4, 16, 3), format=14))
    out = models.layer("cam/out", Shape(8, 16, 3), 8, models.digits.calibrated(0.0, 255.0), ["/out"])
    streams = [0, 1] if planes else [0]
    allow = [ops.ActionAllowInputDataflow(index, EdgeConnectionType.BOUNDARY) for index in streams]
    core = builder.core_op(
        "cam",
        [
            builder.context(
                [
                    builder.operation(ops.TriggerNone(), *allow),
                    builder.operation(ops.TriggerAllDataWasSentToHostPCIe(8)),
                ],
                [builder.edge_layer(edge, models.digits.H2D), builder.edge_layer(out, models.digits.D2H)],
            )
        ],
        preliminary=[builder.operation(ops.TriggerNone(), models.digits.ccw(0x20200000, [0] * 8))],
        sorted_outputs=["cam/out"],
        networks=["cam"],
    )
    contents = builder.hef_contents(HwArch.HAILO8P, [builder.network_group(core)])
    (folder / "cam.hef").write_bytes(write_hef(contents, version=2))
    return folder / "cam.hef"


@pytest.mark.parametrize("planes", [False, True])
def test_a_camera_s_frame_reaches_the_model_as_rgb(tmp_path: Path, planes: bool) -> None:
    from onnx import helper

    hef = camera(tmp_path, planes)
    group = group_of(hef)
    nodes = [helper.make_node("Identity", ["x"], ["y"], name="/out")]
    path = models.onnx_file(tmp_path / "cam.onnx", nodes, {"x": [1, 3, 8, 16]}, {"y": [1, 3, 8, 16]}, {})
    binding = bind(group, open_reference(path))
    assert any("BT.601" in note for note in binding.notes)
    luma, u, v = 81, 90, 240  # what BT.601 makes of pure red
    np.save(tmp_path / "nv12.npy", np.concatenate([np.full(128, luma), np.tile([u, v], 32)]).astype(np.uint8))
    files = frame_files([group], [str(tmp_path / "nv12.npy")])
    bridge = FrameBridge(group, runtime="4.23", files=files, origin=SOURCE)
    assert set(bridge.stream_sources.values()) == {str(tmp_path / "nv12.npy")}
    wire = Reference(binding)(0, bridge.inputs_for(0))
    (found,) = bridge.outputs(wire).values()
    assert np.abs(found.astype(int) - (255, 0, 0)).max() <= 2


def test_boxes_of_an_on_chip_nms(tmp_path: Path) -> None:
    """Two classes, at most three boxes: a model's tensor, a list of arrays and too many boxes."""
    from onnx import helper

    scale = 1 / 4000
    nms = builder.nms_layer_info(
        "nms/out", classes=2, max_output_size=3, sys_index=8, numeric=builder.numeric_info(0.0, scale)
    )
    contents = models.digits.network("nms", [models.layer("nms/input_layer1", Shape(8, 8, 3), 0)], [nms])
    (tmp_path / "nms.hef").write_bytes(write_hef(contents, version=2))
    group = group_of(tmp_path / "nms.hef")
    boxes = np.zeros((2, 3, 5), np.float32)
    boxes[0, 0] = (0.1, 0.2, 0.5, 0.6, 0.9)
    boxes[1, :2] = ((0.0, 0.0, 1.0, 1.0, 0.8), (0.3, 0.3, 0.4, 0.4, 0.7))
    nodes = [
        helper.make_node("ReduceMin", ["x"], ["least"], name="/least", keepdims=0),
        helper.make_node("Mul", ["least", "nothing"], ["zero"], name="/zero"),
        helper.make_node("Add", ["boxes", "zero"], ["y"], name="/nms/boxes"),
    ]
    path = models.onnx_file(
        tmp_path / "nms.onnx", nodes, {"x": [1, 3, 8, 8]}, {"y": [2, 3, 5]}, {"boxes": boxes, "nothing": np.zeros(())}
    )
    image = np.random.default_rng(0).integers(0, 256, (8, 8, 3), np.uint8)
    inputs = frame_bytes(group, {"nms/input_layer1": image})
    by_model = Reference(bind(group, open_reference(path), BindOptions(maps={"nms/out": "y"})))(0, inputs)
    given = [boxes[0, :1], boxes[1, :2]]
    by_function = FunctionReference(group, lambda *_: {"nms/out": given})(0, inputs)
    assert by_model == by_function
    (frame,) = FrameBridge(group, runtime="4.23", origin=SOURCE).outputs(by_model).values()
    for found, wanted in zip(boxes_by_class(frame, 2), given, strict=True):
        assert np.abs(found - wanted).max() <= scale / 2 * 1.001
    with pytest.raises(HailoError, match="4 boxes of class 0"):
        FunctionReference(group, lambda *_: {"nms/out": [np.full((4, 5), 0.5), np.zeros((0, 5))]})(0, inputs)


def test_references_are_chosen_by_group() -> None:
    group = group_of(DIGITS)
    inputs = frame_bytes(group, {"digits/input_layer1": np.full((8, 8, 1), 90, np.uint8)})
    options = BindOptions(scale=(255.0,))
    plain = choose_references([group], DIGITS_ONNX, options)
    named = choose_references([group], {"digits": str(DIGITS_ONNX)}, options)
    assert plain(0, 0, inputs) == named(0, 0, inputs) != {}
    assert any("normalises" in text for text in choose_references([group], DIGITS_ONNX).binding_notes)
    scores = np.zeros(10)
    assert choose_references([group], lambda *_: {"digits/fc2": scores})(0, 3, inputs).keys() == {"digits/fc2"}
    assert choose_references([group], {})(0, 0, inputs) == {}
    with pytest.raises(UsageError, match="no network group 'other'"):
        choose_references([group], {"other": DIGITS_ONNX})
    with pytest.raises(UsageError, match="which of digits, digits"):
        choose_references([group, group], DIGITS_ONNX)
    with pytest.raises(UsageError, match="--map nothing"):
        choose_references([group], DIGITS_ONNX, BindOptions(maps={"nothing": "scores"}))


def test_the_shipped_example_is_what_its_script_makes() -> None:
    """The HEF from the weights that the shipped ONNX holds; training itself may differ in the last bit elsewhere."""
    pytest.importorskip("sklearn.datasets")
    arrays = {one.name: onnx.numpy_helper.to_array(one) for one in onnx.load(str(DIGITS_ONNX)).graph.initializer}
    layers = [(arrays[f"fc{at}.weight"], arrays[f"fc{at}.bias"]) for at in (1, 2)]
    made = models.digits.onnx_model(layers)
    assert made.SerializeToString() == DIGITS_ONNX.read_bytes()
    output = models.digits.digits_output(*models.digits.score_range(layers))
    contents = models.digits.network("digits", [models.digits.digits_input()], [output])
    assert write_hef(contents, version=2) == DIGITS.read_bytes()


# --- the door -------------------------------------------------------------------------------------------------------


def test_a_reference_computes_what_an_open_device_gives() -> None:
    """The same bytes from emu.run, an open device, a callable of arrays and one of bytes: all through the device."""
    images = np.random.default_rng(8).integers(0, 256, (3, 8, 8, 1), np.uint8)
    (qp,) = (info.quant_info for info in group_of(DIGITS).output_vstreams)
    floats = [run_onnx(DIGITS_ONNX, {"image": one.reshape(1, 1, 8, 8).astype(np.float32)})[0][0] for one in images]
    wanted = np.clip(np.rint(np.array(floats, np.float64) / qp.scale + qp.zp), 0, 255)
    inputs = {"digits/input_layer1": images}
    by_file = emu.run(DIGITS, inputs=inputs, reference=DIGITS_ONNX).outputs["digits/fc2"]
    assert np.abs(by_file - wanted).max() <= 1
    scaled = emu.run(DIGITS, inputs=inputs, reference=str(DIGITS_ONNX), input_scale="255").outputs["digits/fc2"]
    assert not np.array_equal(scaled, by_file)
    for reference in (
        lambda group, frame, streams: {"digits/fc2": floats[frame]},
        lambda group, frame, streams: {"digits/fc2": by_file[frame].tobytes() + bytes(6)},
    ):
        assert np.abs(emu.run(DIGITS, inputs=inputs, reference=reference).outputs["digits/fc2"] - wanted).max() <= 1
        named = emu.run(DIGITS, inputs=inputs, reference={"digits": reference}).outputs["digits/fc2"]
        assert np.abs(named - wanted).max() <= 1
    for given in (DIGITS_ONNX, lambda group, frame, streams: {"/fc2/Gemm": floats[frame]}):
        with emu.open_device() as device:
            found = device.configure(DIGITS, reference=given).infer(inputs)["digits/fc2"]
        assert np.abs(found - wanted).max() <= 1
    with emu.open_device() as device, pytest.raises(HailoError, match=r"cannot (open|read)"):
        device.configure(DIGITS, reference="absent.onnx")
