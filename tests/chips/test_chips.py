"""Every number of a profile has a source, and the loaded profile is the one the documents describe."""

from __future__ import annotations

import tomllib
from importlib import resources

import pytest

from emu import catalog
from emu.chips import chips
from emu.chips.runtimes import device_names
from emu.errors import UsageError
from emu.timing.model import Compute, Traffic
from emu.timing.passage import flow_of


def own_entries(device: str) -> dict[str, object]:
    text = resources.files("emu.chips").joinpath("chips", f"{device}.toml").read_text(encoding="utf-8")
    return {
        f"{section}.{name}": entry
        for section, members in tomllib.loads(text).items()
        if isinstance(members, dict)
        for name, entry in members.items()
    }


@pytest.mark.parametrize("device", device_names())
def test_every_number_has_a_source_and_a_basis(device: str) -> None:
    for name, entry in {**own_entries(device)}.items():
        assert isinstance(entry, dict), f"{device} {name}: a bare value"
        assert set(entry) == {"value", "unit", "source", "basis"}, f"{device} {name}"
    for name, quantity in chips.quantities(device).items():
        assert quantity.source.strip(), f"{device} {name}"
        assert quantity.unit.strip(), f"{device} {name}"
        assert quantity.basis in catalog.BASES, f"{device} {name}"


@pytest.mark.parametrize("device", device_names())
def test_top_level_holds_no_number(device: str) -> None:
    text = resources.files("emu.chips").joinpath("chips", f"{device}.toml").read_text(encoding="utf-8")
    loose = {key for key, value in tomllib.loads(text).items() if not isinstance(value, dict)}
    assert loose <= {"extends", "inherited", "guessed"}


def test_a_number_without_a_source_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    document = {"clocks": {"nn_hz": {"value": 1.0, "unit": "Hz", "basis": "measured"}}}
    monkeypatch.setattr(catalog, "document", lambda kind, device: document)
    catalog.forget()
    try:
        with pytest.raises(ValueError, match=r"clocks\.nn_hz"):
            chips.quantities("hailo8")
    finally:
        catalog.quantities.cache_clear()


@pytest.mark.parametrize("device", device_names())
def test_only_the_12l_is_a_guess_as_a_whole(device: str) -> None:
    assert chips.load(device).guessed == (device == "hailo12l")


def test_what_another_family_lends_is_marked_guessed() -> None:
    assert chips.quantities("hailo8l")["control.IDENTIFY"].basis == "measured"
    assert chips.quantities("hailo15h")["control.IDENTIFY"].basis == "guessed"
    assert all(
        quantity.basis == "guessed"
        for name, quantity in chips.quantities("hailo12l").items()
        if name not in own_entries("hailo12l")
    )


def test_hailo_8l_answers_as_the_measured_board() -> None:
    identity = chips.load("hailo8l").identity
    assert identity.hw_consts == chips.HwConsts(8, 65535, 65535, 40960, 65536, 1, 65536)
    assert (identity.device_architecture, identity.partial_clusters_layout_bitmap) == (2, 51)
    assert (identity.board_name, identity.firmware_version) == ("Hailo-8", (4, 23, 0))


def test_hailo_8r_is_the_hailo_8_at_half_the_clock() -> None:
    profile = chips.load("hailo8", clock_mhz=200)
    assert (profile.nn_hz, profile.clock_scale, profile.timestamp_hz) == (200e6, 2.0, 100e6)
    assert chips.load("hailo15h", clock_mhz=300).timestamp_hz == 200e6


@pytest.mark.parametrize(
    ("device", "link", "name"),
    [
        ("hailo8", None, "gen3x4"),
        ("hailo8l", None, "gen3x2"),
        ("hailo15h", None, "integrated"),
        ("hailo10h", None, "integrated"),
        ("hailo8", "gen1x1", "gen1x1"),
    ],
)
def test_links(device: str, link: str | None, name: str) -> None:
    assert chips.load(device, link=link).link.name == name


def test_more_lanes_are_never_slower() -> None:
    rates = [chips.load("hailo8", link=f"gen{g}x{n}").link.bytes_per_second for g in (1, 2, 3) for n in (1, 2, 4)]
    for generation in range(3):
        lanes = rates[3 * generation : 3 * generation + 3]
        assert lanes == sorted(lanes)


@pytest.mark.parametrize(
    ("message", "request_bytes", "first", "median_us"),
    [
        ("IDENTIFY", 20, False, 87),
        ("GET_DEVICE_INFORMATION", 20, True, 457),
        ("GET_DEVICE_INFORMATION", 20, False, 109),
        ("GET_HW_CONSTS", 20, False, 65.5),
        ("CHANGE_CONTEXT_SWITCH_STATUS", 42, False, 70),
        ("CLEAR_CONFIGURED_APPS", 20, False, 4384),
        ("SET_NETWORK_GROUP_HEADER", 56, False, 73),
        ("SET_CONTEXT_INFO", 102, False, 86),
        ("SET_CONTEXT_INFO", 153, False, 92),
        ("SET_CONTEXT_INFO", 161, False, 94),
        ("SET_CONTEXT_INFO", 302, False, 125),
        ("SET_CONTEXT_INFO", 411, False, 138),
        ("SET_CONTEXT_INFO", 513, False, 163),
        ("SET_CONTEXT_INFO", 528, False, 178),
        ("SET_CONTEXT_INFO", 1131, False, 305),
    ],
)
def test_control_messages_against_silicon(message: str, request_bytes: int, first: bool, median_us: float) -> None:
    """silicon-facts.md b: within 15 % of the measured medians."""
    cost = chips.load("hailo8l", link="gen2x1").control_cost(message, request_bytes, first=first)
    assert cost == pytest.approx(median_us * 1000, rel=0.15)


def test_input_transfer_against_silicon() -> None:
    """silicon-facts.md f: 1,228,800 bytes in 2.938 ms over gen2 x1."""
    profile = chips.load("hailo8l", link="gen2x1")
    flow = flow_of(profile, Compute(0.0, 0.0, 0.0, ""), Traffic(1_228_800, 0), 0.0)
    assert flow.input_ns == pytest.approx(2.94e6, rel=0.05)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("hailo9",), "unknown device"),
        (("hailo8", 0), "out of range"),
        (("hailo8", float("nan")), "out of range"),
        (("hailo8", None, "gen6x4"), "unknown link"),
        (("hailo8", None, "gen3x3"), "unknown link"),
        (("hailo8", None, ""), "unknown link"),
    ],
)
def test_wrong_arguments_are_usage_errors(arguments: tuple[str], part: str) -> None:
    with pytest.raises(UsageError, match=part):
        chips.load(*arguments)
