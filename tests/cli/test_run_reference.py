"""`emu run` with a reference model, pictures and detections: numbers that mean something, end to end (cli.md)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from emu.dataflow.nms_inverse import boxes_by_class
from emu.hef import open_hef
from emu.hef.enums import LogitsType
from emu.hef.infos import hef_infos
from emu.images.draw import class_colour
from tests.conftest import DATA, ROOT, SHARED, needs_shared
from tests.onnx_session import onnx_session
from tests.reference import models
from tests.reference.test_reference import camera, detect

DIGITS = ROOT / "examples" / "digits.hef"
DIGITS_ONNX = ROOT / "examples" / "digits.onnx"
DIGITS_ALLS = ROOT / "examples" / "digits.alls"
SOURCE = "reference (float model, quantised at the edges)"


def digit_images() -> tuple[np.ndarray, np.ndarray]:
    """500 digits of scikit-learn (pixels to 16) that the example was not trained on, in the form its input takes."""
    with np.load(DATA / "digits.npz") as archive:
        return np.rint(archive["images"] * (255 / 16)).astype(np.uint8)[..., None], archive["labels"]


def test_500_digits_are_as_accurate_as_the_float_model(emu, tmp_path: Path) -> None:
    images, labels = digit_images()
    assert len(images) == 500
    np.save(tmp_path / "digits.npy", images)
    code, out, _err = emu(
        "run",
        DIGITS,
        "--reference",
        DIGITS_ONNX,
        "--alls",
        DIGITS_ALLS,
        "--input",
        tmp_path / "digits.npy",
        "--frames",
        500,
        "--outputs",
        tmp_path / "out.npz",
    )
    assert code == 0 and SOURCE in out and "synthetic" not in out
    traced = emu("run", DIGITS, "--reference", DIGITS_ONNX, "--alls", DIGITS_ALLS, "--trace")[1]
    assert f"data of outputs is {SOURCE}" in traced and "synthetic" not in traced
    with np.load(tmp_path / "out.npz") as archive:
        codes = archive["digits/fc2"]
    session = onnx_session(DIGITS_ONNX)
    floats = np.concatenate(
        [session.run(None, {"image": one.reshape(1, 1, 8, 8).astype(np.float32) / 255})[0] for one in images]
    )
    qp = hef_infos(open_hef(DIGITS)).network_groups[0].output_vstreams[0].quant_info
    assert np.abs(codes - np.clip(np.rint(floats / qp.scale + qp.zp), 0, 255)).max() <= 1
    accuracy, expected = (codes.argmax(1) == labels).mean(), (floats.argmax(1) == labels).mean()
    assert expected > 0.9 and abs(accuracy - expected) <= 0.01


def test_a_yolov8_head_is_decoded_and_suppressed_by_the_host(emu, tmp_path: Path) -> None:
    pair = models.yolov8(tmp_path)
    image = np.random.default_rng(3).integers(0, 256, (*models.YOLO_IMAGE, 3), np.uint8)
    np.save(tmp_path / "image.npy", image)
    arguments = ["run", pair.hef, "--reference", pair.onnx, "--input", tmp_path / "image.npy"]
    code, out, err = emu(*arguments, "--json", "--outputs", tmp_path / "out.npz")
    assert (code, err) == (0, "")
    document = json.loads(out)
    (output,) = document["outputs"]
    assert (output["name"], output["source"], output["order"]) == ("yolo/nms", "reference", "HAILO_NMS_BY_CLASS")
    names = ["/model.22/cv2.0/cv2.0.2/Conv_output_0", "scores0", "/model.22/cv2.1/cv2.1.2/Conv_output_0", "scores1"]
    feeds = {"images": image.transpose(2, 0, 1)[None].astype(np.float32)}
    heads = [one[0].transpose(1, 2, 0).astype(np.float64) for one in onnx_session(pair.onnx).run(names, feeds)]
    wanted = detect(
        list(zip(heads[::2], heads[1::2], models.YOLO_STRIDES, strict=True)), models.YOLO_THRESHOLD, models.YOLO_IOU
    )
    expected = sorted(
        ((box[4], kind, box) for kind, boxes in enumerate(wanted) for box in boxes), key=lambda one: -one[0]
    )
    assert len(output["detections"]) == len(expected) > 5
    for one, (score, kind, box) in zip(output["detections"], expected, strict=True):
        assert one["class"] == kind and one["label"] is None and one["frame"] == 0
        assert one["score"] == pytest.approx(score, abs=1e-4)
        assert one["box"] == pytest.approx([box[1] * 64, box[0] * 32, box[3] * 64, box[2] * 32], abs=0.05)
    with np.load(tmp_path / "out.npz") as archive:
        assert sum(map(len, boxes_by_class(archive["yolo/nms"][0], 3))) == len(expected)
    code, out, err = emu(*arguments, "--score-threshold", 0.8, "--json")
    fewer = json.loads(out)["outputs"][0]["detections"]
    assert fewer == [one for one in output["detections"] if one["score"] >= 0.8]
    assert len(json.loads(emu(*arguments, "--max-boxes", 1, "--json")[1])["outputs"][0]["detections"]) == 3
    looser = json.loads(emu(*arguments, "--iou-threshold", 1, "--json")[1])["outputs"][0]["detections"]
    assert len(looser) > len(expected)


def test_boxes_are_in_pixels_of_the_picture_and_are_drawn(emu, tmp_path: Path) -> None:
    """A letterboxed picture of twice the size: boxes as of the input, moved and enlarged by hand."""
    pair = models.yolov8(tmp_path)
    small = np.random.default_rng(3).integers(0, 256, (32, 32, 3), np.uint8)
    Image.fromarray(small).resize((64, 64), Image.Resampling.NEAREST).save(tmp_path / "big.png")
    (tmp_path / "labels.txt").write_text("car\nbus\nbike\n")
    arguments = ["run", pair.hef, "--reference", pair.onnx, "--json"]
    code, out, err = emu(
        *arguments, "--input", tmp_path / "big.png", "--labels", tmp_path / "labels.txt", "--draw", tmp_path / "drawn"
    )
    assert code == 0, err
    (output,) = json.loads(out)["outputs"]
    assert json.loads(out)["inputs"][0]["source"].endswith("big.png")
    # what the network saw, made here: halved bilinearly by Pillow, 16 grey columns on either side
    halved = np.asarray(Image.open(tmp_path / "big.png").resize((32, 32), Image.Resampling.BILINEAR))
    seen = np.full((32, 64, 3), 114, np.uint8)
    seen[:, 16:48] = halved
    np.save(tmp_path / "seen.npy", seen)
    code, out, _ = emu(*arguments, "--input", tmp_path / "seen.npy")
    plain = json.loads(out)["outputs"][0]["detections"]
    assert len(plain) == len(output["detections"]) > 0
    for one, other in zip(output["detections"], plain, strict=True):
        x0, y0, x1, y1 = other["box"]
        assert one["box"] == pytest.approx([(x0 - 16) * 2, y0 * 2, (x1 - 16) * 2, y1 * 2])
        assert one["label"] == ["car", "bus", "bike"][one["class"]]
    (drawn,) = (tmp_path / "drawn").iterdir()
    assert Image.open(drawn).size == (64, 64)
    assert not np.array_equal(np.asarray(Image.open(drawn)), np.asarray(Image.open(tmp_path / "big.png")))
    text = emu(*arguments[:-1], "--input", tmp_path / "big.png", "--labels", tmp_path / "labels.txt")[1]
    assert "detections" in text and "car" in text


def test_masks_are_drawn_on_the_picture(emu, tmp_path: Path) -> None:
    Image.fromarray(np.full((64, 128, 3), 60, np.uint8)).save(tmp_path / "grey.png")
    hef = models.yolov5_seg(tmp_path)
    arguments = ["--input", tmp_path / "grey.png", "--draw", tmp_path / "drawn", "--score-threshold", 0.05]
    code, out, err = emu("run", hef, *arguments, "--json")
    assert code == 0 and "the same" in err  # a constant picture is said to be one
    (output,) = json.loads(out)["outputs"]
    assert (output["source"], output["order"]) == ("synthetic", "HAILO_NMS_WITH_BYTE_MASK")
    assert output["detections"]
    (drawn,) = (tmp_path / "drawn").iterdir()
    pixels = np.asarray(Image.open(drawn)).astype(int)
    masked = np.rint((60 + np.array(class_colour(0))) / 2)
    assert pixels.shape == (64, 128, 3) and (pixels == masked).all(-1).any()


def test_argmax_draws_its_map_and_softmax_gives_probabilities(emu, tmp_path: Path) -> None:
    for kind in (LogitsType.ARGMAX, LogitsType.SOFTMAX):
        folder = tmp_path / kind.name
        folder.mkdir()
        pair = models.cube(folder, kind)
        draw = ["--draw", folder / "maps"] if kind is LogitsType.ARGMAX else []
        code, _out, err = emu(
            "run", pair.hef, "--reference", pair.onnx, "--frames", 2, "--outputs", folder / "o.npz", *draw
        )
        assert code == 0, err
        with np.load(folder / "o.npz") as archive:
            found = archive["cube/post"]
        if kind is LogitsType.ARGMAX:
            _first, second = sorted((folder / "maps").iterdir())
            colours = np.asarray(Image.open(second))
            assert colours.shape == (8, 8, 3)
            for number in np.unique(found[1]):
                assert len(np.unique(colours[found[1] == number], axis=0)) == 1
        else:
            assert np.allclose(found.sum(-1), 1, atol=1e-5)


def test_two_inputs_of_two_files(emu, tmp_path: Path) -> None:
    pair = models.two_inputs(tmp_path)
    rng = np.random.default_rng(1)
    arrays = {f"pair/input_layer{at}": rng.integers(0, 256, (4, 4, 1 if at == 2 else 3), np.uint8) for at in (1, 2, 3)}
    np.savez(tmp_path / "in.npz", **arrays)
    code, out, _err = emu(
        "run",
        pair.hef,
        "--reference",
        f"pair={pair.onnx}",
        "--inputs",
        tmp_path / "in.npz",
        "--output-dir",
        tmp_path / "o",
    )
    assert code == 0 and SOURCE in out
    found = np.load(tmp_path / "o" / "00_pair_ew1.npy")[0]
    right, mask, left = (arrays[f"pair/input_layer{at}"].astype(float) for at in (1, 2, 3))
    scale = 1020 / 255
    assert np.abs(found - np.clip(np.rint((left - 2 * right + mask) / scale + round(510 / scale)), 0, 255)).max() <= 1


def test_planes_come_from_the_file_of_their_frame(emu, tmp_path: Path) -> None:
    hef = camera(tmp_path, planes=True)
    np.save(tmp_path / "nv12.npy", np.arange(192, dtype=np.uint8).reshape(12, 16))
    code, out, err = emu("run", hef, "--input", tmp_path / "nv12.npy")
    assert (code, err) == (0, "") and "random" not in out and out.count("nv12.npy") == 2
    Image.fromarray(np.full((8, 16, 3), 200, np.uint8)).save(tmp_path / "grey.png")
    code, out, err = emu("run", hef, "--input", tmp_path / "grey.png", "--fit", "none")
    assert code == 0 and out.count("grey.png") == 2
    assert emu("run", hef, "--input", tmp_path / "grey.png", "--colour", "bgr")[0] == 2  # 4:2:0 has no such order


def test_outputs_that_nobody_looks_at_are_listed(emu, tmp_path: Path) -> None:
    np.save(tmp_path / "in.npy", np.arange(64, dtype=np.uint8).reshape(8, 8, 1))
    for more in ([], ["--input", tmp_path / "in.npy"], ["--outputs", tmp_path / "o.npz"]):
        code, out, _ = emu("run", DIGITS, "--json", *more)
        (found,) = json.loads(out)["outputs"]
        assert code == 0
        found.pop("top", None)  # of outputs that are kept
        expected = {"name": "digits/fc2", "shape": [10], "dtype": "uint8", "order": "NC"}
        assert found == {**expected, "source": "synthetic", "detections": None}


def test_suspicious_inputs_are_said(emu, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    picture = rng.integers(0, 256, (8, 8, 1)).astype(np.float32)
    for array, verdict, word in (
        (picture, "ok", ""),
        (picture / 255, "unit_range", "0..1"),
        (np.full((8, 8, 1), 3, np.uint8), "constant", "the same"),
        (picture * 2, "clipped", "clipped"),
        (np.stack([picture] * 4), "unused_frames", "--frames 4"),
    ):
        np.save(tmp_path / "in.npy", array.astype(np.float32) if array.dtype != np.uint8 else array)
        code, out, err = emu("run", DIGITS, "--input", tmp_path / "in.npy", "--json")
        assert code == 0
        (found,) = json.loads(out)["inputs"]
        assert found["verdict"] == verdict and word in err
        assert set(found) == {"name", "source", "min", "max", "mean", "codes_used", "clipped", "verdict"}
        assert 0 <= found["codes_used"] <= 1 and 0 <= found["clipped"] <= 1


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--map", "digits/fc2=scores"], 2),
        (["--input-scale", "255"], 2),
        (["--alls", "{alls}"], 2),
        (["--quantise-edges"], 2),
        (["--fit", "resize"], 2),
        (["--colour", "bgr"], 2),
        (["--score-threshold", "0.5"], 2),
        (["--score-threshold", "nan"], 2),
        (["--max-boxes", "0"], 2),
        (["--labels", "{alls}", "--device-output", "digits/fc2={alls}"], 2),
        (["--draw", ""], 2),
        (["--reference", "{onnx}", "--quantise-edges"], 2),
        (["--reference", "{onnx}", "--map", "digits/none=scores"], 2),
        (["--reference", "{onnx}", "--map", "digits/fc2=nothing"], 3),
        (["--reference", "{onnx}", "--input-mean", "1,2"], 2),
        (["--reference", "{onnx}", "--reference", "{onnx}"], 2),
        (["--reference", "other={onnx}"], 2),
        (["--reference", "{alls}"], 3),
        (["--reference", "{absent}"], 3),
        (["--reference", "{onnx}", "--alls", "{absent}"], 3),
        (["--input", "{absent}.png"], 2),
        (["--input", "{onnx}.png"], 2),
    ],
)
def test_wrong_uses_end_with_one_line(emu, tmp_path: Path, arguments: list[str], code: int) -> None:
    places = {"alls": DIGITS_ALLS, "onnx": DIGITS_ONNX, "absent": tmp_path / "absent"}
    found, out, err = emu("run", DIGITS, *(one.format(**places) for one in arguments))
    errors = [line for line in err.splitlines() if line.startswith("emu: error")]
    assert (found, out, len(errors)) == (code, "", 1), err
    assert "internal error" not in err


def test_options_of_references_are_not_for_graphs_or_captures(emu) -> None:
    lenet = ROOT / "examples" / "lenet.ms"
    for arguments in (["--reference", DIGITS_ONNX], ["--draw", "x"], ["--score-threshold", 0.5], ["--fit", "none"]):
        assert emu("run", lenet, *arguments)[0] == 2


def test_pictures_are_inputs_of_graphs(emu, tmp_path: Path) -> None:
    lenet = ROOT / "examples" / "lenet.ms"
    grey = np.random.default_rng(4).integers(0, 256, (12, 12), np.uint8)
    Image.fromarray(grey).save(tmp_path / "in.png")
    np.save(tmp_path / "in.npy", ((grey.astype(np.float32) - 10) / 200)[None, None])
    outputs = []
    for arguments in (["in.png", "--input-mean", 10, "--input-scale", 200, "--fit", "none"], ["in.npy"]):
        file, *more = arguments
        code, _, err = emu("run", lenet, "--input", tmp_path / file, *more, "--outputs", tmp_path / "o.npz")
        assert (code, err) == (0, "")
        with np.load(tmp_path / "o.npz") as archive:
            outputs.append(next(iter(archive.values())))
    assert np.allclose(*outputs, atol=1e-6)


@needs_shared
def test_a_picture_goes_into_an_aipp_as_nv12(emu, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    Image.fromarray(rng.integers(0, 256, (480, 640, 3), np.uint8)).save(tmp_path / "in.png")
    from emu.hef.formats import FormatOrder
    from emu.images.colour import yuv
    from emu.images.read import read_picture

    frame = yuv(read_picture(tmp_path / "in.png"), FormatOrder.NV12)
    np.save(tmp_path / "in.npy", frame[None])
    found = [
        emu("run", SHARED / "om" / "hiai.om", "--input", tmp_path / name, "--json") for name in ("in.png", "in.npy")
    ]
    assert [one[0] for one in found] == [0, 0]
    assert json.loads(found[0][1])["outputs"] == json.loads(found[1][1])["outputs"]


def test_without_pillow_the_refusal_names_the_type_and_the_extra(tmp_path: Path) -> None:
    (tmp_path / "PIL").mkdir()
    (tmp_path / "PIL" / "__init__.py").write_text("raise ImportError('no PIL', name='PIL')\n")
    Image.fromarray(np.zeros((8, 8, 3), np.uint8)).save(tmp_path / "in.png")
    program = "import sys; sys.path.insert(0, sys.argv.pop(1)); from emu.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path), "run", str(DIGITS), "--input", str(tmp_path / "in.png")],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 2
    assert "PNG" in done.stderr and "emu[image]" in done.stderr


def test_recorded_outputs_are_compared_with_the_float_model(emu, tmp_path: Path) -> None:
    images, _ = digit_images()
    np.save(tmp_path / "in.npy", images[:10])
    common = ["--reference", DIGITS_ONNX, "--alls", DIGITS_ALLS, "--input", tmp_path / "in.npy"]
    assert emu("run", DIGITS, *common, "--frames", 10, "--output-dir", tmp_path / "same")[0] == 0
    code, out, _ = emu("compare", DIGITS, *common, "--against", tmp_path / "same", "--json")
    (found,) = json.loads(out)["outputs"]
    assert (code, found["frames"], found["top1"], found["top5"]) == (0, 10, 1.0, 1.0)
    assert found["max_steps"] <= 0.501 and found["snr"] > 30
    (recorded,) = (tmp_path / "same").iterdir()
    codes = np.load(recorded).astype(int)
    session = onnx_session(DIGITS_ONNX)
    floats = np.concatenate(
        [session.run(None, {"image": one.reshape(1, 1, 8, 8).astype(np.float32) / 255})[0] for one in images[:10]]
    ).astype(np.float64)
    qp = hef_infos(open_hef(DIGITS)).network_groups[0].output_vstreams[0].quant_info
    wrong = codes.copy()
    wrong[3, 2] = (wrong[3, 2] + 40) % 256
    np.savez(tmp_path / "wrong.npz", **{"digits/fc2": wrong.astype(np.uint8)})
    code, out, _err = emu("compare", DIGITS, *common, "--against", tmp_path / "wrong.npz", "--json")
    (found,) = json.loads(out)["outputs"]
    floats = np.clip(floats, -qp.zp * qp.scale, (255 - qp.zp) * qp.scale)
    real = (wrong - qp.zp) * qp.scale
    error = real - floats
    assert code == 6
    assert found["snr"] == pytest.approx(10 * np.log10((floats**2).sum() / (error**2).sum()), rel=1e-3)
    assert found["psnr"] == pytest.approx(10 * np.log10(np.ptp(floats) ** 2 / (error**2).mean()), rel=1e-3)
    assert found["max_difference"] == pytest.approx(np.abs(error).max(), rel=1e-3)
    assert found["cosine"] == pytest.approx(
        (floats * real).sum() / np.sqrt((floats**2).sum() * (real**2).sum()), rel=1e-5
    )
    assert emu("compare", DIGITS, *common, "--against", tmp_path / "wrong.npz", "--tolerance", 300)[0] == 0
    np.savez(tmp_path / "other.npz", other=wrong)
    assert emu("compare", DIGITS, *common, "--against", tmp_path / "other.npz")[0] == 2
    assert emu("compare", DIGITS, *common, "--against", tmp_path / "absent.npz")[0] == 2
    assert emu("compare", DIGITS, "--against", tmp_path / "wrong.npz")[0] == 2
