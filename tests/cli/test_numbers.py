"""Numbers that no one means, in every option that takes one: refused in one short line, or taken, and at once."""

from __future__ import annotations

from collections.abc import Callable

import click
import pytest

from tests.cli.attacks import commands
from tests.conftest import ROOT

EXAMPLES = ROOT / "examples"
Emu = Callable[..., tuple[int, str, str]]
HUGE = "9" * 5000
NUMBERS = (
    HUGE,
    f"-{HUGE}",
    f"0x{'f' * 5000}",
    "9" * 400,
    "1e400",
    "nan",
    "-1",
    "1_0",
    "٣",
    "",
    " ",
    "1" * 21,
    "\x1b[31m",
)
ARGUMENTS = {
    "run": [str(EXAMPLES / "two_context.hef")],
    "asm": ["no.yaml"],
    "replay": ["no"],
    "coverage": ["no"],
    "bind": [str(EXAMPLES / "digits.hef"), str(EXAMPLES / "digits.onnx")],
    "diff": [str(EXAMPLES / "two_context.hef")] * 2,
    "export": [str(EXAMPLES / "lenet.ms"), "-o", "/dev/null"],
    "net": [str(EXAMPLES / "configured.hef")],
    "compare": [str(EXAMPLES / "digits.hef"), "--reference", str(EXAMPLES / "digits.onnx"), "--against", "no.npz"],
}
NEVER_ENDS = {"serve", "exec"}
# options that take a number among other things, with the number in its place
FORMS = {
    "--net-batch": "x={}",
    "--host": "desc_max_page={}",
    "--inject": "stall-channel:{}",
    "--assume": "0.0.stride={}",
    "--limit": "frames={}",
    "--break": "dynamic_0:{}",
    "--table": "1,1,{}x2x3",
    "--input-mean": "{}",
    "--link": "gen{}x4",
}


def options() -> list[tuple[str, str, bool]]:
    found = []
    for name, command in commands():
        if name in NEVER_ENDS:
            continue
        for option in command.params:
            if isinstance(option, click.Option) and not option.is_flag and not isinstance(option.type, click.Choice):
                spelled = max(option.opts, key=len)
                is_path = any(word in (option.metavar or "") for word in ("FILE", "DIR", "MODEL", "X.", "REF"))
                if not is_path:
                    found.append((name, spelled, isinstance(option.type, click.IntRange | click.FloatRange)))
    return found


@pytest.mark.parametrize(("name", "option", "is_number"), options(), ids=lambda one: str(one))
def test_an_odd_number(emu: Emu, name: str, option: str, is_number: bool) -> None:
    arguments = ARGUMENTS.get(name, [str(EXAMPLES / "two_context.hef")])
    if option == "--table":
        arguments = []
    for number in NUMBERS:
        code, _, err = emu(name, *arguments, f"{option}={FORMS.get(option, '{}').format(number)}")
        assert "internal error" not in err and "Traceback" not in err, (number[:20], err[:300])
        assert len(err) < 2500 and "9" * 300 not in err, (number[:20], err[:300])
        if is_number:
            assert code == 2, (number[:20], err[:300])
            assert err.splitlines()[-1].startswith(
                ("emu: error: HAILO_INVALID_ARGUMENT(2): ", "emu: error: USAGE(2): ")
            )
            assert err.count("emu: error: ") == 1


@pytest.mark.parametrize(
    "extra", [["--schedule", "round-robin"], ["--trace"], ["--outputs", "o.npz"], ["--record", "r"]]
)
def test_frames_that_nobody_waits_for_are_refused_where_each_is_run(emu: Emu, extra: list[str]) -> None:
    hef = str(EXAMPLES / "two_context.hef")
    code, _, err = emu("run", hef, *[hef] * (extra[0] == "--schedule"), "--frames", str((1 << 63) - 1), *extra)
    assert code == 2 and "at most 10000000" in err


@pytest.mark.parametrize("batch", [1, 8])
def test_frames_without_end_are_run_in_steps(emu: Emu, batch: int) -> None:
    """Beyond a century of simulated time nothing stalls that did not before."""
    code, out, err = emu(
        "run", EXAMPLES / "two_context.hef", "--frames", str((1 << 63) - 1), "--batch", str(batch), "--json"
    )
    assert (code, err) == (0, "") and f'"frames": {(1 << 63) - 1}' in out.replace('"frames":9', '"frames": 9')
