"""`emu run` of HEFs with files: inputs, supplied device bytes, kept outputs (cli.md)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from emu.hef import open_hef
from emu.hef.infos import hef_infos
from tests.conftest import SHARED, needs_shared
from tests.dataflow.test_frames import end_to_end_streams

pytestmark = needs_shared
YOLOV8N = SHARED / "hef" / "yolov8n_320_nms.v2.hailo8.hef"
MNIST = SHARED / "hef" / "mnist_cnn.v0.hailo8.hef"


def test_six_given_streams_give_the_recorded_detections(emu, tmp_path: Path) -> None:
    case = json.loads((SHARED / "vectors" / "e2e_yolov8n.json").read_text())
    streams = end_to_end_streams(case, hef_infos(open_hef(YOLOV8N)).network_groups[0])
    arguments = []
    for position, (name, data) in enumerate(streams.items()):
        path = tmp_path / f"{position}.bin"
        path.write_bytes(data)
        arguments += ["--device-output", f"{name}={path}"]
    code, out, err = emu(
        "run", YOLOV8N, *arguments, "--output-dir", tmp_path / "kept", "--outputs", tmp_path / "all.npz"
    )
    assert code == 0
    assert "640 x 640 pixels, the input has 320 x 320" in err  # its boxes are half as large (stream-infos.md 9)
    assert "synthetic" not in out
    (kept,) = (tmp_path / "kept").iterdir()
    assert kept.name == "00_yolov8n_yolov8_nms_postprocess.npy"
    found = np.load(kept)
    with np.load(tmp_path / "all.npz") as archive:
        assert list(archive) == ["yolov8n/yolov8_nms_postprocess"]
        assert np.array_equal(archive["yolov8n/yolov8_nms_postprocess"], found)
    assert found.dtype == np.uint8 and found.shape == (1, 220440)
    wanted = np.frombuffer(bytes.fromhex(case["output_hex"]), "<f4")[: case["valid_bytes"] // 4]
    assert np.abs(found[0].view("<f4")[: wanted.size] - wanted).max() <= 1e-6


def test_outputs_follow_inputs_seed_and_frame(emu, tmp_path: Path) -> None:
    image = np.random.default_rng(1).integers(0, 256, (2, 32, 32, 1), np.uint8)
    np.save(tmp_path / "image.npy", image)

    def outputs(*more) -> tuple[str, np.ndarray]:
        code, out, err = emu("run", MNIST, "--frames", 3, "--outputs", tmp_path / "o.npz", *more)
        assert (code, err) == (0, "")
        with np.load(tmp_path / "o.npz") as archive:
            (array,) = archive.values()
        return out, array

    text, given = outputs("--input", tmp_path / "image.npy")
    assert "image.npy" in text and "computed" in text
    assert given.shape == (3, 4, 4, 16) and given.dtype == np.uint8
    assert not np.array_equal(given[0], given[1])
    assert np.array_equal(outputs("--input", f"MNIST_CNN/input_layer1={tmp_path / 'image.npy'}")[1], given)
    text, random = outputs()
    assert "random (seed 0)" in text
    assert not np.array_equal(random, given)
    assert np.array_equal(outputs()[1], random)
    assert not np.array_equal(outputs("--seed", 1)[1], random)


@pytest.mark.parametrize("as_json", [False, True])
def test_a_float64_image_is_told_what_it_is(emu, tmp_path: Path, as_json: bool) -> None:
    np.save(tmp_path / "image.npy", np.zeros((320, 320, 3)))
    code, out, err = emu("run", YOLOV8N, "--input", tmp_path / "image.npy", *["--json"] * as_json)
    assert code == 2
    assert len(err.splitlines()) == 1
    message = "2457600 bytes given, 307200 = 320·320·3·1 expected: 8x means float64"
    assert message in err and err.startswith("emu: error: HAILO_INVALID_ARGUMENT(2): ")
    if as_json:
        assert message in json.loads(out)["error"]["message"]
    else:
        assert out == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ("--input", "MNIST_CNN/other={image}"),
        ("--input", "{image}", "--input", "{image}"),
        ("--input", "{absent}"),
        ("--inputs", "{image}"),
        ("--device-output", "{image}"),
        ("--device-output", "MNIST_CNN/maxpool3={short}"),
        ("--outputs", "{model}"),
        ("--output-dir", ""),
        ("--outputs", ""),
    ],
)
def test_wrong_uses(emu, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    np.save(tmp_path / "image.npy", np.zeros((32, 32, 1), np.uint8))
    model = tmp_path / "model.hef"
    model.write_bytes(b"\x01HEF" + bytes(40))
    (tmp_path / "short.bin").write_bytes(bytes(255))
    places = {
        "short": tmp_path / "short.bin",
        "image": tmp_path / "image.npy",
        "absent": tmp_path / "absent.npy",
        "model": model,
    }
    before = sorted(path.read_bytes() for path in tmp_path.iterdir())
    code, out, err = emu("run", MNIST, *(argument.format(**places) for argument in arguments))
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert sorted(path.read_bytes() for path in tmp_path.iterdir()) == before


def test_the_same_outputs_of_two_models_are_refused_before_the_run(emu, tmp_path: Path) -> None:
    code, out, err = emu("run", MNIST, MNIST, "--outputs", tmp_path / "all.npz")
    assert (code, out) == (2, "") and "MNIST_CNN/maxpool3" in err
    assert not (tmp_path / "all.npz").exists()


def test_an_output_folder_that_is_a_file(emu, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    code, _, err = emu("run", MNIST, "--output-dir", str(tmp_path / "file"))
    assert code == 7 and len(err.splitlines()) == 1
    assert (tmp_path / "file").read_bytes() == b"x"
