"""`--trace=registers`: accesses to a card's registers among all that a trace tells (registers.md, cli.md)."""

from __future__ import annotations

from pathlib import Path

import pytest

from emu.chips.chips import load
from emu.cli.run_options import register_trace
from emu.cli.tracing import check_registers
from emu.errors import UsageError
from emu.trace.reader import TraceReader
from tests.conftest import ROOT

DIGITS = ROOT / "examples" / "digits.hef"
ADDED = {"register", "interrupt"}


def test_a_line_for_each_access(emu) -> None:
    code, plain, _ = emu("run", DIGITS, "--trace")
    assert not code
    code, told, _ = emu("run", DIGITS, "--trace=registers")
    assert not code
    added = [line for line in told.splitlines() if line not in plain.splitlines()]
    assert [line for line in told.splitlines() if line not in added] == plain.splitlines()
    said = [line.split(maxsplit=1)[1] for line in added]
    assert said[0] == "host reads BAR0+0x188 IMASK_HOST = 0x00000000"
    assert "<- MSI, status 0x04800000" in said
    assert "host writes BAR4+0x1684 doorbell = 0x00000002: core_cpu=1" in said
    assert any("num_available=1" in line and line.startswith("host writes BAR2+") for line in said)


def test_a_file_of_it_is_a_trace_as_any(emu, tmp_path: Path) -> None:
    plain, told = tmp_path / "plain", tmp_path / "told"
    assert not emu("run", DIGITS, f"--trace={plain}")[0]
    assert not emu("run", DIGITS, f"--trace=registers:{told}")[0]
    records = list(TraceReader(told))
    kept = [record for record in records if record["kind"] not in ADDED]
    assert kept == list(TraceReader(plain)) and len(kept) < len(records)
    accesses = [one for one in records if one["kind"] == "register"]
    launch = next(one for one in accesses if one["action"] == "write" and one["arguments"]["bar"] == 2)
    assert launch["unit"].endswith("base") and launch["arguments"]["num_available"]
    assert launch["arguments"]["value"] >> 16 == launch["arguments"]["num_available"]
    assert not emu("check", "--trace", told)[0]


def test_perfetto_has_a_track_of_it(emu, tmp_path: Path) -> None:
    path = tmp_path / "run.perfetto"
    assert not emu("run", DIGITS, f"--trace=registers:{path}", "--trace-format", "perfetto")[0]
    assert b"write doorbell" in path.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--trace=registers:",), "needs the name of a file"),
        (("--trace=registers", "--json"), "--trace=FILE"),
        (("--trace=registers:x.json", "--trace-format", "fw-actions"), "no place for registers"),
        (("--trace", "registers"), "behind an equals sign, --trace=registers"),
    ],
)
def test_what_is_wrong_use(emu, arguments: tuple[str, ...], why: str) -> None:
    code, _, err = emu("run", DIGITS, *arguments)
    assert code == 2 and why in err


def test_a_device_that_is_part_of_its_host_has_none() -> None:
    for option in ("--trace=registers", "--record-registers"):
        with pytest.raises(UsageError, match=f"{option}: hailo15h is part of its host, only cards have registers"):
            check_registers(load("hailo15h"), option)
        check_registers(load("hailo8l"), option)


def test_where_it_goes() -> None:
    assert register_trace("registers") == ("", True)
    assert register_trace("registers:a:b") == ("a:b", True)
    assert register_trace("./registers") == ("./registers", False)
    assert register_trace("") == ("", False)
    with pytest.raises(UsageError):
        register_trace("registers:")
