"""Profiles of hosts: data files with sources, which run and estimate take alike, and which are named where assumed."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import emu
from emu.catalog import quantities
from emu.chips import chips
from emu.chips.runtimes import device_names
from emu.cli.main import cli, main
from emu.errors import UsageError
from emu.hef import open_hef
from emu.host.estimate import estimate
from emu.sequencer.compile import CompileOptions
from tests.conftest import ROOT, SHARED, needs_shared

EXAMPLE = ROOT / "examples" / "two_context.hef"
REACHED = {"driver": "hailo8", "memory": "hailo15h", "calls": "hailo10h"}  # `host.reach`: a device with such a host
NUMBERS = {
    "host.reach",
    "link.default",
    "host.frame_ns",
    "host.stream_ns",
    "host.bytes_per_second",
    "host.desc_max_page",
}


def device_of(host: str) -> str:
    return REACHED[quantities("hosts", host)["host.reach"].value]


@pytest.mark.parametrize("name", chips.host_names())
def test_every_profile_has_all_numbers_and_their_sources(name: str) -> None:
    found = quantities("hosts", name)
    assert set(found) == NUMBERS
    assert all(entry.source and entry.unit for entry in found.values())
    profile = chips.load(device_of(name), host=name)
    assert (profile.host, profile.link.name) == (name, found["link.default"].value)


def test_no_chip_states_what_its_host_does() -> None:
    for device in device_names():
        own = quantities("chips", device)
        assert "link.default" not in own
        assert {name for name in own if name.startswith("host.")} == {"host.profile", "host.reach"}
        assert chips.load(device).host == own["host.profile"].value


def test_the_pi_is_what_was_measured() -> None:
    """silicon-facts.md c, f: gen2 x1, 418 MB/s (the model's figure is worked out, not read from it), 84,003 in 2 s."""
    profile = chips.load("hailo8l", host="rpi5")
    assert profile.link.name == "gen2x1"
    assert profile.link.bytes_per_second == pytest.approx(418e6, rel=0.04)
    assert profile.host_frame_ns == pytest.approx(2e9 / 84_003, rel=0.001)


@needs_shared
@pytest.mark.parametrize("name", chips.host_names())
def test_run_and_estimate_take_the_same_host(name: str) -> None:
    device = device_of(name)
    path = SHARED / "hef" / ("fast_depth_ddr.v1.hailo8.hef" if device == "hailo8" else "scrfd_2.5g.v3.hailo1xh.hef")
    (group,) = emu.run(path, device=device, frames=40, host_profile=name).network_groups
    result = estimate(open_hef(path), CompileOptions(device=device), (1,), host_profile=name)
    assert group.fps == pytest.approx(result.batches[0].fps, rel=0.01)
    assert result.host == name


def test_a_link_that_is_given_replaces_that_of_the_host() -> None:
    result = estimate(open_hef(EXAMPLE), CompileOptions(), (1,), host_profile="rpi5", link="gen3x1")
    assert (result.host, result.link) == ("rpi5", "gen3x1")


def test_the_one_that_was_assumed_is_named() -> None:
    text = CliRunner().invoke(cli, ["estimate", str(EXAMPLE)]).output
    assert "host x86-gen3x4 (assumed: --host-profile names another)" in text
    named = CliRunner().invoke(cli, ["estimate", str(EXAMPLE), "--host-profile", "rpi5"]).output
    assert "host rpi5\n" in named
    document = json.loads(CliRunner().invoke(cli, ["estimate", str(EXAMPLE), "--json"]).output)
    assert document["host_profile"] == "x86-gen3x4"
    assert "(host x86-gen3x4 assumed)" in CliRunner().invoke(cli, ["inspect", str(EXAMPLE)]).output


def test_what_does_not_exist_is_refused() -> None:
    with pytest.raises(UsageError, match="unknown host profile"):
        chips.load("hailo8", host="toaster")
    with pytest.raises(UsageError, match=r"rpi5 is no host of hailo15h; one of hailo15$"):
        chips.load("hailo15h", host="rpi5")
    with pytest.raises(UsageError, match="hailo15 is no host of hailo8l; one of rk3588-gen3x4, rpi5, "):
        chips.load("hailo8l", host="hailo15")
    with pytest.raises(UsageError, match=r"x86-gen3x4 is no host of hailo10h; one of rpi5-hailo10h, x86-hailo10h$"):
        chips.load("hailo10h", host="x86-gen3x4")
    with pytest.raises(SystemExit) as stop:
        main(["estimate", str(EXAMPLE), "--host-profile", "toaster"])
    assert stop.value.code == 2


@needs_shared
def test_devices_with_a_host_of_their_own_name_it() -> None:
    path = str(SHARED / "hef" / "face_landmarks_lite_2ctx.v3.hailo1xh.hef")
    assert "(host hailo15 assumed)" in CliRunner().invoke(cli, ["inspect", path]).output
    text = CliRunner().invoke(cli, ["estimate", path, "--device", "hailo15h"]).output
    assert "host hailo15 (assumed: --host-profile names another)" in text
    document = json.loads(CliRunner().invoke(cli, ["estimate", path, "--device", "hailo10h", "--json"]).output)
    assert document["host_profile"] == "x86-hailo10h"


def test_what_a_guessed_host_costs_is_a_guess() -> None:
    """The host of a Hailo-15H is the one that was fitted; that the other chips have such a one nobody says."""
    for device, basis in (
        ("hailo15h", "fitted"),
        ("hailo10h", "fitted"),
        ("hailo15l", "guessed"),
        ("hailo12l", "guessed"),
    ):
        assert chips.quantities(device)["host.stream_ns"].basis == basis


def test_the_narrow_link_of_a_pi_costs_frames() -> None:
    """Hailo-10H: 984.615 MB/s a lane of generation 3 (PCI Express base specification), 128 of 148 bytes of payload."""
    pc, pi = (chips.load("hailo10h", host=name) for name in ("x86-hailo10h", "rpi5-hailo10h"))
    assert pi.host_bytes_per_second == pytest.approx(984.615e6 * 128 / 148, rel=1e-3)
    assert (pi.host_frame_ns, pi.host_stream_ns) == (pc.host_frame_ns, pc.host_stream_ns)
