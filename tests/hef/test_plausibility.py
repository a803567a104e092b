"""The host's side of a HEF against itself: what does not fit is said, what fits is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from emu.hef import model, open_hef
from emu.hef.plausibility import implausible
from tests.conftest import SHARED, needs_shared
from tests.reference import models


def yolo(tmp_path: Path, **changes: object) -> list[str]:
    """The warnings of the YOLOv8 test network with fields of its op (or of the op's kind) changed."""
    image = changes.pop("image", models.YOLO_IMAGE)

    def edit(op: model.NmsOp) -> model.NmsOp:
        kinds = set(model.Yolov8NmsOp.__struct_fields__)
        kind = replace(op.nms_op, **{name: value for name, value in changes.items() if name in kinds})
        return replace(op, nms_op=kind, **{name: value for name, value in changes.items() if name not in kinds})

    return implausible(open_hef(models.yolov8(tmp_path, image=image, edit=edit).hef))


def test_a_sound_network_has_no_warning(tmp_path: Path) -> None:
    assert yolo(tmp_path) == []


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"image": (64, 128)}, "for a picture of 128 x 64 pixels, the input has 64 x 32: boxes come out 0.5 times"),
        ({"image": (32, 128)}, "0.5 (width) and 1 (height) times"),
        ({"image": (0, 64)}, "a picture of 64 x 0 pixels"),
        ({"classes": 5}, "yolo/conv42 has 3 channels, 5 classes need 5"),
        ({"nms_score_th": 1.5}, "score threshold 1.5 is not within 0..1"),
        ({"nms_iou_th": -0.1}, "IoU threshold -0.1 is not within 0..1"),
        ({"max_proposals_per_class": 0}, "none comes out"),
        (
            {"bbox_decoders": (model.Yolov8BboxDecoder(16, 0, 1), model.Yolov8BboxDecoder(16, 2, 3))},
            "yolo/conv42 has 8 x 4 cells of stride 16, that is 128 x 64 pixels of a picture of 64 x 32",
        ),
    ],
)
def test_what_does_not_fit_is_said(tmp_path: Path, changes: dict[str, object], text: str) -> None:
    found = yolo(tmp_path, **changes)
    assert any(text in line for line in found), found


@needs_shared
def test_of_the_given_files_only_the_one_with_half_size_boxes_is_warned_of() -> None:
    warned = {path.name: implausible(open_hef(path)) for path in sorted((SHARED / "hef").glob("*.hef"))}
    found = {name: lines for name, lines in warned.items() if lines}
    assert list(found) == ["yolov8n_320_nms.v2.hailo8.hef"]
    (line,) = found["yolov8n_320_nms.v2.hailo8.hef"]
    assert "640 x 640 pixels, the input has 320 x 320: boxes come out 0.5 times as large" in line


@needs_shared
def test_inspect_and_check_say_so(emu) -> None:
    path = SHARED / "hef" / "yolov8n_320_nms.v2.hailo8.hef"
    for command in ("inspect", "check"):
        code, _, err = emu(command, path)
        assert code == 0
        assert err.count("640 x 640 pixels, the input has 320 x 320") == 1
