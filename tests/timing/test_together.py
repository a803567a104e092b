"""Networks that take turns, and devices that share an uplink: against runs, and against a published measurement."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from click.testing import CliRunner

import emu
from emu.cli.main import cli, main
from emu.errors import UsageError
from emu.hef import open_hef
from emu.host.estimate import estimate
from emu.timing.together import together
from emu.timing.uplink import fleets, parse_uplink
from tests.conftest import ROOT, SHARED, needs_shared
from tests.timing.cases import camera_network

EXAMPLE = ROOT / "examples" / "two_context.hef"
MNIST = SHARED / "hef" / "mnist_cnn.v0.hailo8.hef"
ARCFACE = SHARED / "hef" / "arcface_mobilefacenet.v1.hailo8.hef"
YOLOV8 = SHARED / "hef" / "yolov8n_320_nms.v2.hailo8.hef"
LANDMARKS = SHARED / "hef" / "face_landmarks_lite_2ctx.v3.hailo1xh.hef"
SCRFD = SHARED / "hef" / "scrfd_2.5g.v3.hailo1xh.hef"
# silicon-facts.md f: yolov5m_wo_spp on Hailo-8, alone 217 FPS; 14.9 Gbit/s in all behind one Gen3 switch
PUBLISHED = {1: 217.0, 2: 434.0, 3: 540.0, 4: 547.0}
IN_ALL = 14.9e9 / 8


@needs_shared
@pytest.mark.parametrize(
    ("paths", "batch"),
    [((MNIST, ARCFACE), 1), ((ARCFACE, YOLOV8), 8), ((EXAMPLE, ARCFACE), 2), ((LANDMARKS, SCRFD), 4)],
    ids=lambda value: value if isinstance(value, int) else "+".join(path.name.split(".")[0] for path in value),
)
def test_what_they_get_is_what_a_round_robin_run_gives(paths: tuple[Path, ...], batch: int) -> None:
    rounds = 16
    (turns,) = together([estimate(open_hef(path), None, (batch,)) for path in paths])
    done = emu.run(list(paths), batch=batch, frames=rounds * batch, schedule="round-robin")
    for group in done.network_groups:
        assert group.wall_fps == pytest.approx(turns.fps[group.name], rel=0.01)
    # the first activation leaves no other network; the run's changes are those from the second on
    changes = [switch.ns for switch in done.switches]
    assert sum(changes) / len(changes) / 1e6 <= turns.switch_ms * 1.02


@needs_shared
@pytest.mark.parametrize("link", ["gen2x1", "gen1x1"])
@pytest.mark.parametrize("paths", [(LANDMARKS, SCRFD), (SCRFD, LANDMARKS), (EXAMPLE, MNIST)])
def test_what_a_network_still_loads_is_in_the_way_of_the_next(paths: tuple[Path, ...], link: str) -> None:
    """A list that waits for a frame may have queued configuration, which moves on over a slow link."""
    (turns,) = together([estimate(open_hef(path), None, (2,), link=link) for path in paths])
    done = emu.run(list(paths), batch=2, frames=32, schedule="round-robin", link=link)
    for group in done.network_groups:
        assert group.wall_fps == pytest.approx(turns.fps[group.name], rel=0.01)


@needs_shared
def test_turns_of_the_threshold_make_switching_a_tenth() -> None:
    """Found here by trying every batch; ready switching costs the same whatever the batch."""
    results = [estimate(open_hef(path), None, (1,)) for path in (EXAMPLE, ARCFACE)]
    (turns,) = together(results)
    assert turns.threshold is not None
    intervals = sum(1 / result.batches[0].fps for result in results)
    whole = 1 / turns.fps["two_context"]
    beyond = whole - intervals
    for frames, enough in ((turns.threshold, True), (turns.threshold - 1, False)):
        assert (frames * intervals >= 0.9 * (beyond + frames * intervals)) == enough


@needs_shared
def test_the_command_takes_several_files() -> None:
    arguments = ["estimate", str(MNIST), str(ARCFACE), "--batch", "1,8"]
    document = json.loads(CliRunner().invoke(cli, [*arguments, "--json"]).output)
    assert [model["kind"] for model in document["models"]] == ["estimate", "estimate"]
    shared = document["together"]
    assert set(shared["fps"]) == {"MNIST_CNN", "arcface_mobilefacenet"}
    assert shared["switch_ms"] > 0
    assert [one["batch"] for one in shared["batches"]] == [1, 8]
    assert shared["threshold"] is None or 1 <= shared["threshold"] <= 63
    text = CliRunner().invoke(cli, arguments).output
    assert "taking turns on one hailo8" in text
    assert f"{shared['fps']['MNIST_CNN']:.2f} FPS" in text


@needs_shared
def test_networks_of_several_devices_do_not_take_turns() -> None:
    with pytest.raises(UsageError, match="one device"):
        together([estimate(open_hef(path), None, (1,)) for path in (MNIST, SCRFD)])


def test_devices_behind_one_uplink_against_a_published_measurement() -> None:
    result = estimate(open_hef(camera_network()), None, (1,))
    found = {count: fleets(result, count, f"{IN_ALL:.0f}")[0] for count in PUBLISHED}
    for count, published in PUBLISHED.items():
        assert found[count].fps_all == pytest.approx(published, rel=0.10)
    assert [found[count].bound_by for count in PUBLISHED] == ["devices", "devices", "uplink", "uplink"]


def test_each_direction_of_a_pcie_uplink_has_its_own_budget() -> None:
    """PCIe is full duplex: the greater direction decides; 250 MB/s a lane of gen1 at the profile's efficiency."""
    result = estimate(open_hef(camera_network()), None, (1,))
    outputs = (80 * 80 + 40 * 40 + 20 * 24) * 256  # rows are padded to eight
    (fleet,) = fleets(result, 8, "gen1x4")
    assert fleet.fps_all == pytest.approx(1e9 * 128 / 148 / outputs, rel=0.01)
    uplink = parse_uplink("gen1x4", "hailo8")
    assert uplink.in_all == math.inf


@needs_shared
@pytest.mark.parametrize("batch", [1, 8])
@pytest.mark.parametrize("path", [EXAMPLE, LANDMARKS, SCRFD, ARCFACE], ids=lambda path: path.name)
def test_one_device_behind_an_uplink_is_what_it_is_on_that_link(path: Path, batch: int) -> None:
    """Several contexts wait for their configuration, so that a slow way costs more than its bytes."""
    hef = open_hef(path)
    plain = estimate(hef, None, (batch,), link="gen3x4")
    for name in ("gen4x4", "gen3x1", "gen2x1", "gen1x1"):
        own_link = "gen3x4" if name == "gen4x4" else name  # the slower of the two
        own = estimate(hef, None, (batch,), link=own_link).batches[0].fps
        (one,), (four,) = fleets(plain, 1, name), fleets(plain, 4, name)
        assert one.fps_all == pytest.approx(own, rel=1e-9)
        assert one.fps_all <= four.fps_all * (1 + 1e-9)
        assert four.fps_all <= 4 * own * (1 + 1e-9)
        assert (one.bound_by == "uplink") == (own < plain.batches[0].fps)


def test_the_command_takes_devices(tmp_path: Path) -> None:
    path = tmp_path / "net.hef"
    path.write_bytes(camera_network())
    arguments = ["estimate", str(path), "--devices", "3", "--uplink", f"{IN_ALL:.0f}"]
    (batch,) = json.loads(CliRunner().invoke(cli, [*arguments, "--json"]).output)["batches"]
    assert (batch["devices"], batch["uplink"]) == (3, f"{IN_ALL:.0f}")
    assert batch["fps_all"] == pytest.approx(PUBLISHED[3], rel=0.10)
    assert "3 devices behind" in CliRunner().invoke(cli, arguments).output


@pytest.mark.parametrize(
    "arguments",
    [
        ["--devices", "2"],
        ["--uplink", "gen3x4"],
        ["--devices", "0", "--uplink", "gen3x4"],
        ["--devices", "65", "--uplink", "gen3x4"],
        ["--devices", "2", "--uplink", "gen9x4"],
        ["--devices", "2", "--uplink", "integrated"],
        ["--devices", "2", "--uplink", "0"],
        ["--devices", "2", "--uplink", "nan"],
        ["--devices", "2", "--uplink", "1e99"],
        ["--devices", "2", "--uplink", "gen3x4", "--link", "integrated"],
        ["--devices", "2", "--uplink", "gen3x4", str(EXAMPLE)],
    ],
)
def test_wrong_use_of_an_uplink(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["estimate", str(EXAMPLE), *arguments])
    assert stop.value.code == 2
