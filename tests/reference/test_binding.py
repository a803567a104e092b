"""Which tensor a stream is bound to, and what is said where none is."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from emu.errors import EmuError, HailoError, UsageError
from emu.hef import open_hef
from emu.hef.enums import LogitsType
from emu.hef.formats import Shape
from emu.hef.infos import NetworkGroupInfo, hef_infos
from emu.reference.binding import BindOptions, bind
from emu.reference.models import open_reference
from emu.reference.names import NameIndex
from emu.reference.script import read_script
from emu.reference.tensors import TensorInfo, fit, input_shape, to_features_last
from tests.conftest import ROOT, SHARED, needs_shared
from tests.reference import models

DIGITS = ROOT / "examples" / "digits.hef"
DIGITS_ONNX = ROOT / "examples" / "digits.onnx"


def group_of(path: Path) -> NetworkGroupInfo:
    return hef_infos(open_hef(path)).network_groups[0]


def index_of(*tensors: tuple[str, str, str]) -> NameIndex:
    """(tensor, node, op type) in order."""
    infos = [TensorInfo(name, None, np.dtype(np.float32), node, op) for name, node, op in tensors]
    return NameIndex({info.name: info for info in infos})


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["/model.22/cv3.0/cv3.0.2/Conv"], "/model.22/cv3.0/cv3.0.2/Conv_output_0"),
        (["model.22/cv3.0/cv3.0.2"], "/model.22/cv3.0/cv3.0.2/Conv_output_0"),
        (["cv3.0.2"], "/model.22/cv3.0/cv3.0.2/Conv_output_0"),
        (["Conv_82", "Relu_83"], "relu"),
        (["Relu_83", "Conv_82"], "relu"),  # the order of the names does not say what comes last
        (["Conv_82", "Relu_999"], "conv"),
        (["Identity_1"], "Identity_1:0"),
        (["/other/Conv"], None),  # a node that is called Conv alone is the end of every path
        (["nowhere"], None),
    ],
)
def test_names(names: list[str], expected: str | None) -> None:
    index = index_of(
        ("/model.22/cv3.0/cv3.0.2/Conv_output_0", "/model.22/cv3.0/cv3.0.2/Conv", "Conv"),
        ("conv", "Conv_82", "Conv"),
        ("relu", "Relu_83", "Relu"),
        ("Identity_1:0", "Identity_1", "Identity"),
        ("first", "Conv", "Conv"),
    )
    found = index.candidates(names)
    assert (found[0].tensor if found else None) == expected


@pytest.mark.parametrize(
    ("shape", "wanted", "expected"),
    [
        ((1, 3, 8, 5), Shape(8, 5, 3), ("NCHW",)),
        ((1, 8, 5, 3), Shape(8, 5, 3), ("NHWC",)),
        ((1, 8, 8, 8), Shape(8, 8, 8), ("NCHW", "NHWC")),
        ((1, 40, 3), Shape(8, 5, 3), ("NHWC",)),
        ((1, 3, 40), Shape(8, 5, 3), ("NCHW",)),
        ((1, 120), Shape(8, 5, 3), ("NCHW", "NHWC")),
        ((1, 512), Shape(1, 1, 512), ("NCHW", "NHWC")),
        ((1, 16, 4, 4), Shape(1, 1, 256), ("NHWC",)),
        ((1, 8, 5), Shape(8, 5, 1), ("NCHW", "NHWC")),
        ((1, 3, 5, 8), Shape(8, 5, 3), ()),
    ],
)
def test_shapes(shape: tuple[int, ...], wanted: Shape, expected: tuple[str, ...]) -> None:
    assert fit(shape, wanted, "NCHW") == expected


def test_open_dimensions() -> None:
    assert input_shape((None, 3, None, None), Shape(8, 5, 3), "NCHW") == (1, 3, 8, 5)
    assert input_shape((None, None, None, 3), Shape(8, 5, 3), "NHWC") == (1, 8, 5, 3)
    assert input_shape((None, 4, None, None), Shape(8, 5, 3), "NCHW") is None
    assert input_shape((2, 3, 8, 5), Shape(8, 5, 3), "NCHW") is None
    array = np.arange(120).reshape(1, 3, 8, 5)
    assert np.array_equal(to_features_last(array, Shape(8, 5, 3), "NCHW"), array[0].transpose(1, 2, 0))


def test_the_example_binds_and_warns_of_the_folded_normalisation() -> None:
    group = group_of(DIGITS)
    binding = bind(group, open_reference(DIGITS_ONNX))
    assert [(one.edge.info.name, one.tensor.name) for one in binding.inputs] == [("digits/input_layer1", "image")]
    assert [(one.edge.name, one.tensor.name) for one in binding.outputs] == [("digits/fc2", "scores")]
    assert any("normalises" in note for note in binding.notes)
    script = read_script(ROOT / "examples" / "digits.alls")
    for options in (BindOptions(script=script), BindOptions(scale=(255.0,))):
        binding = bind(group, open_reference(DIGITS_ONNX), options)
        assert binding.inputs[0].scale == (255.0,)
        assert not any("normalises" in note for note in binding.notes)


def test_heads_of_probabilities_get_the_sigmoid_that_moved_into_the_chip(tmp_path: Path) -> None:
    pair = models.yolov8(tmp_path)
    binding = bind(group_of(pair.hef), open_reference(pair.onnx))
    assert not binding.missing
    found = {one.edge.name: (one.tensor.name, one.activation) for one in binding.outputs}
    assert found == {
        "yolo/conv41": ("/model.22/cv2.0/cv2.0.2/Conv_output_0", ""),
        "yolo/conv42": ("/model.22/cv3.0/cv3.0.2/Conv_output_0", "sigmoid"),
        "yolo/conv43": ("/model.22/cv2.1/cv2.1.2/Conv_output_0", ""),
        "yolo/conv44": ("/model.22/cv3.1/cv3.1.2/Conv_output_0", "sigmoid"),
    }
    assert "tensor" in next(one.why for one in binding.outputs if one.activation)
    by_hand = BindOptions(maps={"yolo/conv42": "scores0"})
    bound = {one.edge.name: one for one in bind(group_of(pair.hef), open_reference(pair.onnx), by_hand).outputs}
    assert (bound["yolo/conv42"].tensor.name, bound["yolo/conv42"].activation) == ("scores0", "")
    (tmp_path / "net.alls").write_text("# heads\nchange_output_activation([conv42, yolo/conv44], sigmoid)\n")
    said = BindOptions(maps={"yolo/conv42": "scores0"}, script=read_script(tmp_path / "net.alls"))
    binding = bind(group_of(pair.hef), open_reference(pair.onnx), said)
    bound = {one.edge.name: one for one in binding.outputs}
    assert bound["yolo/conv42"].activation == ""  # a sigmoid is not applied twice
    assert (bound["yolo/conv44"].activation, bound["yolo/conv44"].why) == ("sigmoid", "model script")
    assert any("not applied again" in note for note in binding.notes)


def test_a_shape_that_says_nothing_follows_the_model_unless_told(tmp_path: Path) -> None:
    pair = models.cube(tmp_path)
    model = open_reference(pair.onnx)
    assert bind(group_of(pair.hef), model).outputs[0].layout == "NCHW"
    told = BindOptions(maps={"cube/conv7": "/head/conv_output_0:NHWC"})
    assert bind(group_of(pair.hef), model, told).outputs[0].layout == "NHWC"


@pytest.mark.parametrize("kind", [LogitsType.ARGMAX, LogitsType.SOFTMAX])
def test_a_logits_op_goes_by_its_vstream_and_reads_the_raw_tensor(tmp_path: Path, kind: LogitsType) -> None:
    pair = models.cube(tmp_path, kind)
    binding = bind(group_of(pair.hef), open_reference(pair.onnx))
    assert [(one.edge.name, one.tensor.name) for one in binding.outputs] == [("cube/post", "/head/conv_output_0")]
    other = BindOptions(maps={"cube/conv7": "/head/conv_output_0:NHWC"})  # the stream's name is as good
    assert bind(group_of(pair.hef), open_reference(pair.onnx), other).outputs[0].how == "--map"


def test_inputs_bind_by_name_then_by_shape(tmp_path: Path) -> None:
    pair = models.two_inputs(tmp_path)
    binding = bind(group_of(pair.hef), open_reference(pair.onnx))
    assert {one.edge.info.name: (one.tensor.name, one.how) for one in binding.inputs} == {
        "pair/input_layer1": ("right", "name"),
        "pair/input_layer2": ("mask", "shape"),
        "pair/input_layer3": ("left", "name"),
    }
    assert binding.outputs[0].tensor.name == "/Add_output_0"


def test_what_is_missing_is_named_with_the_reason(tmp_path: Path) -> None:
    group = group_of(DIGITS)
    renamed = onnx.load(str(DIGITS_ONNX))
    for node in renamed.graph.node:
        node.name = ""
    (tmp_path / "renamed.onnx").write_bytes(renamed.SerializeToString())
    binding = bind(group, open_reference(tmp_path / "renamed.onnx"))
    assert [one.name for one in binding.missing] == ["digits/fc2"]
    with pytest.raises(HailoError, match=r"digits/fc2 is bound to nothing.*--map digits/fc2=TENSOR") as caught:
        binding.require_complete()
    assert caught.value.exit_code == 3
    mapped = bind(group, open_reference(tmp_path / "renamed.onnx"), BindOptions(maps={"digits/fc2": "scores"}))
    assert not mapped.missing and mapped.outputs[0].how == "--map"
    wrong = bind(group, open_reference(DIGITS_ONNX), BindOptions(maps={"digits/fc2": "/Relu_output_0"}))
    assert "shape 1x24, not 1x1x10" in wrong.missing[0].reason
    with pytest.raises(UsageError, match="--map digits/other"):
        bind(group, open_reference(DIGITS_ONNX), BindOptions(maps={"digits/other": "scores"}))
    with pytest.raises(UsageError, match="2 values for an input of 1 channels"):
        bind(group, open_reference(DIGITS_ONNX), BindOptions(mean=(1.0, 2.0)))
    with pytest.raises(UsageError, match="0 divides nothing"):
        bind(group, open_reference(DIGITS_ONNX), BindOptions(scale=(0.0,)))
    with pytest.raises(UsageError, match="--quantise-edges"):
        bind(group, open_reference(DIGITS_ONNX), BindOptions(quantise_edges=True))


@needs_shared
def test_the_given_yolov8_binds_to_a_model_of_its_names(tmp_path: Path) -> None:
    group = group_of(SHARED / "hef" / "yolov8n_320_nms.v2.hailo8.hef")
    nodes, weights = [], {}
    for stream in group.output_streams:
        (name,) = stream.layer.original_names
        stride = 320 // stream.shape.height
        weights[f"{name}.w"] = np.zeros((stream.shape.features, 3, 1, 1))
        weights[f"{name}.b"] = np.linspace(-3, 3, stream.shape.features)
        nodes.append(
            helper.make_node(
                "Conv", ["images", f"{name}.w", f"{name}.b"], [f"{name}_output_0"], name=name, strides=[stride] * 2
            )
        )
    outputs = {f"{group.output_streams[0].layer.original_names[0]}_output_0": [1, 110, 40, 40]}
    path = models.onnx_file(tmp_path / "yolov8n.onnx", nodes, {"images": [1, 3, 320, 320]}, outputs, weights)
    binding = bind(group, open_reference(path))
    assert not binding.missing
    assert {one.edge.name for one in binding.outputs} == {stream.name for stream in group.output_streams}
    classes = {one.edge.name for one in binding.outputs if one.activation == "sigmoid"}
    assert classes == {"yolov8n/conv42_97", "yolov8n/conv53_97", "yolov8n/conv63_97"}


# --- scripts and files ----------------------------------------------------------------------------------------------


def test_model_scripts(tmp_path: Path) -> None:
    path = tmp_path / "net.alls"
    path.write_text(
        "normalization1 = normalization([123.675, 116.28, 103.53], [58.395, 57.12, 57.375], net/input_layer2)\n"
        "quantization_param(conv1, bits=4)\n"
        "change_output_activation(net/conv42, sigmoid)  # the heads\n"
        "change_output_activation(relu)\n"
    )
    script = read_script(path)
    assert script.normalisations[0].layer == "input_layer2"
    assert script.normalisations[0].mean == (123.675, 116.28, 103.53)
    assert script.activations == {"conv42": "sigmoid", "": "relu"}


@pytest.mark.parametrize(
    "text",
    [
        "normalization1 = normalization([1, 2], [1])",
        "n = normalization([a], [1])",
        "normalization([1])",
        "normalization((((((((((1], [1])",
    ],
)
def test_hostile_model_scripts(tmp_path: Path, text: str) -> None:
    (tmp_path / "net.alls").write_text(text)
    with pytest.raises(UsageError):
        read_script(tmp_path / "net.alls")


@pytest.mark.parametrize(
    "data",
    [b"", b"\x08\x07", b"\x89PNG\r\n\x1a\n" + bytes(40), b"\x01HEF" + bytes(40), bytes(64), b"PK\x03\x04" + bytes(40)],
)
def test_hostile_models(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "model.onnx").write_bytes(data)
    with pytest.raises(HailoError) as caught:
        open_reference(tmp_path / "model.onnx")
    assert caught.value.exit_code == 3 and len(caught.value.line().splitlines()) == 1


def test_a_truncated_model_is_one_clear_error(tmp_path: Path) -> None:
    data = DIGITS_ONNX.read_bytes()
    for size in range(16, len(data), 997):
        (tmp_path / "model.onnx").write_bytes(data[:size])
        with pytest.raises(HailoError) as caught:
            bind(group_of(DIGITS), open_reference(tmp_path / "model.onnx")).require_complete()
        assert caught.value.exit_code == 3


# --- the command ----------------------------------------------------------------------------------------------------


def test_the_command_prints_the_table(emu, tmp_path: Path) -> None:
    pair = models.yolov8(tmp_path)
    code, out, err = emu("bind", pair.hef, pair.onnx)
    assert (code, err) == (0, "")
    assert "then sigmoid" in out and "yolo/conv42" in out
    code, out, err = emu("bind", pair.hef, pair.onnx, "--json")
    document = json.loads(out)
    assert code == 0 and document["missing"] == []
    assert {"hef": "yolo/conv41", "model": "/model.22/cv2.0/cv2.0.2/Conv_output_0"}.items() <= next(
        one for one in document["bound"] if one["hef"] == "yolo/conv41"
    ).items()


def test_the_command_ends_with_3_where_something_is_missing(emu) -> None:
    code, out, err = emu("bind", DIGITS, DIGITS_ONNX, "--map", "digits/fc2=nothing", "--json")
    assert code == 3
    assert json.loads(out)["missing"] == ["digits/fc2"]
    assert err.count("\n") == 1 and "--map digits/fc2=TENSOR" in err
    assert emu("bind", DIGITS, DIGITS_ONNX, "--map", "digits/none=scores")[0] == 2
    assert emu("bind", DIGITS, DIGITS_ONNX, "--network-group", "other")[0] == 2
    assert emu("bind", DIGITS, DIGITS_ONNX, "--input-scale", "nan")[0] == 2


def test_damaged_models_give_one_clear_error_or_run(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Bytes of the structure exchanged: whatever protobuf, onnx and onnxruntime make of it, nothing else comes out."""
    data = DIGITS_ONNX.read_bytes()
    rng = np.random.default_rng(7)
    places = [*range(400), *range(len(data) - 400, len(data))]
    ended = 0
    for _ in range(80):
        broken = bytearray(data)
        for place in rng.choice(places, rng.integers(1, 4)):
            broken[place] = rng.integers(0, 256)
        (tmp_path / "model.onnx").write_bytes(broken)
        try:
            bind(group_of(DIGITS), open_reference(tmp_path / "model.onnx"))
        except EmuError as error:
            ended += 1
            assert error.exit_code == 3 and len(error.line().splitlines()) == 1
    assert ended > 20
    assert capfd.readouterr().out == ""
