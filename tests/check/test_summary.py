"""The line that `inspect` and `check` begin with, and the release from which on a file loads."""

from __future__ import annotations

from pathlib import Path

import pytest

import emu
from emu.check.summary import accepted_first, one_line
from emu.errors import EmuError
from emu.hef import open_hef
from emu.hef.damage import overlooked_damage
from emu.hef.load import check_load
from emu.hef.oldest import loads_since
from emu.sequencer.acceptance import acceptances
from tests.conftest import ROOT, SHARED, needs_shared

RELEASES = [*(f"4.{minor}" for minor in range(6, 24)), "5.0", "5.0.1", "5.1", "5.2"]
FILES = sorted(SHARED.glob("hef/*.hef")) + sorted(SHARED.glob("synth/hef/*.hef"))[::9]


def loads(path: Path, version: str) -> bool:
    try:
        check_load(open_hef(path, runtime_version=version))
    except EmuError:
        return False
    return True


@needs_shared
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_loads_from_that_release_on(path: Path) -> None:
    """The release itself takes it, and the one before does not."""
    first = next((release for release in RELEASES if loads(path, release)), None)
    if first is None:
        pytest.skip("no release loads it")
    hef = open_hef(path, runtime_version=first)
    if list(overlooked_damage(hef)):
        pytest.skip("damaged, which this release overlooks")
    assert str(loads_since(hef)) == first


@needs_shared
@pytest.mark.parametrize(
    ("name", "line"),
    [
        (
            "yolov8n_320_nms.v2.hailo8",
            "HAILO8 (HAILO8P) HEF V2, 1 input UINT8 NHWC 320x320x3, NMS of 110 classes on the host, 1 context, "
            "~973 FPS on hailo8 (estimated), its file is read by HailoRT 4.20 and later",
        ),
        (
            "driving_partial.v1.hailo8l",
            "HAILO8L HEF V1, 1 input UINT8 NHWC 120x160x3, 2 outputs UINT8 NC 1x1x1, 1 context, "
            "~12,094 FPS on hailo8l (estimated), its file is read by HailoRT 4.18 and later",
        ),
    ],
)
def test_the_line_of_a_real_file(name: str, line: str) -> None:
    """Each part as parse-hef, the compiler's bottleneck_fps and the container's version give it."""
    hef = open_hef(SHARED / "hef" / f"{name}.hef")
    assert one_line(hef, accepted_first(hef, acceptances(hef))) == line


def test_inspect_and_check_begin_with_it(capsys: pytest.CaptureFixture[str]) -> None:
    from emu.cli.main import main

    path = str(ROOT / "examples" / "two_context.hef")
    hef = open_hef(path)
    answers = list(acceptances(hef))
    line = one_line(hef, accepted_first(hef, answers), answers=answers)
    for command, start in (("inspect", f"{path}: {line}"), ("check", f"ok      {path}: {line}; ")):
        with pytest.raises(SystemExit):
            main([command, path])
        assert capsys.readouterr().out.splitlines()[0].startswith(start)


def test_a_refused_file_says_what_it_is_and_not_that_it_loads() -> None:
    hef = open_hef(ROOT / "examples" / "two_context.hef")
    assert one_line(hef, []).endswith(", 2 contexts")


@needs_shared
@pytest.mark.parametrize("path", sorted(SHARED.glob("hef/*.hef")), ids=lambda path: path.stem)
def test_its_fps_are_those_of_estimate(path: Path) -> None:
    hef = open_hef(path)
    accepted = accepted_first(hef, acceptances(hef))
    first = accepted[0]
    layout = first.cluster_layouts[0] if first.cluster_layouts else None
    expected = emu.estimate(path, 1, runtime=first.runtime, device=first.device, cluster_layout=layout).batches[0].fps
    assert f"~{expected:,.0f} FPS on {first.device} (estimated)" in one_line(hef, accepted)


def test_later_releases_that_refuse_it_stand_beside_those_that_read_it() -> None:
    """A Hailo-8 file: the 5.x releases have no Hailo-8 (runtimes.md), and neither is said without the other."""
    hef = open_hef(ROOT / "examples" / "two_context.hef")
    answers = list(acceptances(hef))
    line = one_line(hef, accepted_first(hef, answers), answers=answers)
    assert line.endswith(
        "its file is read by HailoRT 4.20 and later, 5.0.1 to 5.2 refuse it: HAILO_HEF_NOT_COMPATIBLE_WITH_DEVICE"
    )
    asked = [one for one in answers if one.runtime in ("4.23", "4.19")]
    assert "refuse" not in one_line(hef, accepted_first(hef, asked), answers=asked)
