"""`--runtime` of releases that are known by what they load alone, and what is said where one has no such device."""

from __future__ import annotations

import pytest

from tests.hef.test_releases import SINCE_4_14
from tests.trace.helpers import TWO_CONTEXT, Cli


def test_check_says_that_an_old_release_loads_a_file(cli: Cli) -> None:
    assert cli("check", SINCE_4_14, "--runtime", "4.14", "--json") == 0
    (model,) = cli.document["models"]
    assert model["accepted_by"] == [
        {
            "runtime": "4.14",
            "device": None,
            "accepted": True,
            "cluster_layouts": [],
            "status": 0,
            "name": "HAILO_SUCCESS",
        }
    ]
    assert "its file is read by HailoRT 4.14 and later" in model["summary"]
    assert cli("check", SINCE_4_14, "--runtime", "4.14") == 0
    assert cli.out.rstrip().endswith("; 4.14 loads it")


def test_check_says_why_an_older_one_does_not(cli: Cli) -> None:
    assert cli("check", SINCE_4_14, "--runtime", "4.13") == 4
    assert cli.out.startswith("REFUSED ")
    assert "HAILO_INVALID_HEF(26): HailoRT 4.13 does not support" in cli.out
    # container V2 is read since 4.20 (runtimes.md 3): the file is sound
    assert cli("check", TWO_CONTEXT, "--runtime", "4.14") == 3
    assert cli.out.startswith("FOREIGN ")
    assert cli("check", TWO_CONTEXT, "--runtime", "4.14", "--runtime", "4.23") == 0


def test_a_device_has_no_effect_on_what_loads(cli: Cli) -> None:
    for option in (("--device", "hailo8"), ("--clock-mhz", "200")):
        assert cli("check", SINCE_4_14, "--runtime", "4.14", *option) == 2
        assert option[0] in cli.err
        assert cli("check", SINCE_4_14, "--runtime", "4.14", "--runtime", "4.23", *option) == 0


def test_inspect_and_parse_hef(cli: Cli) -> None:
    assert cli("inspect", SINCE_4_14, "--runtime", "4.14", "--json") == 0
    assert cli.document["runtime"] == "4.14"
    assert cli.document["load"]["status"] == 0
    assert cli("inspect", SINCE_4_14, "--runtime", "4.14") == 0
    assert "HailoRT 4.14 loads it" in cli.out
    assert cli("inspect", SINCE_4_14, "--runtime", "4.13") == 0
    assert "HailoRT 4.13 refuses to load it: HAILO_INVALID_HEF(26)" in cli.out
    assert cli("parse-hef", SINCE_4_14, "--runtime", "4.23") == 0
    as_4_23 = cli.out
    assert cli("parse-hef", SINCE_4_14, "--runtime", "4.14") == 0
    assert cli.out == as_4_23
    assert "4.14" in cli.err
    assert cli("parse-hef", SINCE_4_14, "--runtime", "4.13") == 4
    assert cli.out == ""


@pytest.mark.parametrize(("asked", "meant"), [("5.0", "5.0.1"), ("4.17", "4.17.1"), ("5.0.0", "5.0.0"), ("4.8", "4.8")])
def test_a_release_without_its_last_number_is_its_newest(cli: Cli, asked: str, meant: str) -> None:
    assert cli("inspect", SINCE_4_14, "--runtime", asked, "--json") == 0
    assert cli.document["runtime"] == meant


@pytest.mark.parametrize("command", ["run", "actions", "estimate"])
def test_what_compiles_says_what_is_known_of_an_old_release(cli: Cli, command: str) -> None:
    assert cli(command, SINCE_4_14, "--runtime", "4.14") == 2
    assert "HailoRT 4.14" in cli.err
    assert "inspect, parse-hef, check" in cli.err


@pytest.mark.parametrize("version", ["4.5", "4.24", "6.0", "new", ""])
def test_what_is_no_release(cli: Cli, version: str) -> None:
    for command in ("inspect", "parse-hef", "check", "run"):
        assert cli(command, SINCE_4_14, "--runtime", version) == 2


def test_a_runtime_without_the_device_says_so(cli: Cli) -> None:
    """hef-container.md 5.1, runtimes.md 1: 5.x has no Hailo-8, and from 4.22 on 4.x has no 10H and 15H."""
    assert cli("run", TWO_CONTEXT, "--runtime", "5.2") == 4
    assert "HailoRT 5.2 has no Hailo-8 support: hailo8 needs HailoRT 4.17.1 to 4.23" in cli.err
    assert cli("run", TWO_CONTEXT, "--device", "hailo10h") == 4
    assert "HailoRT 4.23 has no Hailo-10H support: hailo10h needs HailoRT 4.17.1 to 4.21, 5.0.1 to 5.2" in cli.err
    # the file's own device is told of, whatever else is wrong with others
    assert cli("check", TWO_CONTEXT, "--runtime", "5.0.1") == 4
    assert "has no Hailo-8 support" in cli.out
    assert cli("inspect", TWO_CONTEXT) == 0
    assert "on hailo8: HAILO_HEF_NOT_COMPATIBLE_WITH_DEVICE(93): it has no Hailo-8 support" in cli.out
