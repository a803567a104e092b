"""`emu check`: try every model of a folder, or check traces against the invariants."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from emu.catalog import names
from emu.cli.colour import Tone, Toned
from emu.cli.command import Command
from emu.cli.document import print_document
from emu.cli.log import note, warn
from emu.cli.options import LoadRelease, Whole, output_path
from emu.cli.progress import progress
from emu.cli.screen import say
from emu.errors import CommandLineError, EmuError, ExitCode
from emu.files import shown
from emu.hef.runtime import by_preference
from emu.recognise import read_head

if TYPE_CHECKING:
    from emu.check.verdict import Verdict
    from emu.output import Output
    from emu.trace.reader import TraceReader
    from emu.trace.stamped import StampedTrace


@click.command(cls=Command)
@click.argument("paths", nargs=-1, metavar="DIR|FILE...")
@click.option(
    "--device", "devices", multiple=True, type=click.Choice(names("chips")), help="Only this device (repeatable)."
)
@click.option(
    "--runtime",
    "runtimes",
    multiple=True,
    type=LoadRelease(),
    metavar="VERSION",
    help="Only this runtime, from 4.6 on (repeatable).",
)
@click.option("--clock-mhz", type=Whole(1), metavar="MHZ", help="Clock of the NN core.")
@click.option("--trace", "traces", multiple=True, metavar="FILE", help="Check a trace against the invariants.")
@click.option("--rules", is_flag=True, help="List the invariants and what they say.")
@click.option("--junit", metavar="FILE", help="Also write the result as JUnit XML.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(
    paths: tuple[str, ...],
    devices: tuple[str, ...],
    runtimes: tuple[str, ...],
    clock_mhz: int | None,
    traces: tuple[str, ...],
    rules: bool,
    junit: str | None,
    as_json: bool,
) -> int:
    """Try models on runtimes and devices, a line each; or check traces (--trace).

    REFUSED: not for these devices or runtimes. FOREIGN: another format, or a version that none of them reads.
    DAMAGED: cannot be read. MISSING: asks for what emu does not have.

    Exit code 3 if any model is unreadable, else 4 if any is refused; 6 if a trace violates a rule.
    """
    if bool(paths) + bool(traces) + rules != 1:
        raise CommandLineError("check takes models, or --trace FILE, or --rules")
    if rules:
        return _rules(as_json)
    if traces:
        given = ["--device"] * bool(devices) + ["--runtime"] * bool(runtimes) + ["--junit"] * (junit is not None)
        if given:
            raise CommandLineError(f"{', '.join(given)}: not for traces")
        return _check_traces(traces, as_json)
    if runtimes and not set(runtimes) & set(names("runtimes")):
        given = ["--device"] * bool(devices) + ["--clock-mhz"] * (clock_mhz is not None)
        if given:
            known = f"of HailoRT {', '.join(runtimes)} is known what loads, not what it configures"
            raise CommandLineError(f"{', '.join(given)}: {known}")
    devices, runtimes = devices or names("chips"), runtimes or names("runtimes")
    if junit is None:
        return _check_models(paths, devices, runtimes, clock_mhz, None, as_json)
    from emu.output import Output

    with Output(output_path(junit)) as target:
        return _check_models(paths, devices, runtimes, clock_mhz, target, as_json)


def _check_models(
    paths: tuple[str, ...],
    devices: tuple[str, ...],
    runtimes: tuple[str, ...],
    clock_mhz: int | None,
    target: Output | None,
    as_json: bool,
) -> int:
    from emu.check.verdict import models, verdict

    found: list[Verdict] = []
    files = list(models([Path(path) for path in paths]))
    if not files:
        raise CommandLineError(f"no model in {', '.join(paths)}")
    with progress("checking", len(files)) as advance:
        for path in files:
            one = verdict(path, runtimes, devices, clock_mhz)
            found.append(one)
            advance(1)
            if not as_json:
                say(_line(one))
                for warning in one.warnings:
                    warn(f"{shown(one.path)}: {warning}")
                for remark in one.notes:
                    note(f"{shown(one.path)}: {remark}")
    codes = {one.exit_code for one in found}
    code = 3 if 3 in codes else max(codes)
    if target is not None:
        from emu.check.junit import junit as junit_xml

        target.stream.write(junit_xml(found))
    if as_json:
        document = {
            "models": [one.document() for one in found],
            "accepted": sum(one.exit_code == 0 for one in found),
            "refused": sum(one.exit_code == ExitCode.REFUSED for one in found),
            "unreadable": sum(one.exit_code == ExitCode.UNREADABLE for one in found),
        }
        print_document(document)
    return code


_WORDS = {
    "ok": ("ok", Tone.GOOD),
    "fails": ("FAILS", Tone.BAD),
    "refused": ("REFUSED", Tone.CAUTION),
    "foreign": ("FOREIGN", Tone.CAUTION),
    "damaged": ("DAMAGED", Tone.BAD),
    "not implemented": ("MISSING", Tone.CAUTION),
}


def _line(one: Verdict) -> str:
    """The line of a model; its path stands there once."""
    (word, tone), file = _WORDS[one.state], shown(one.path)
    if one.error is None:
        where = one.where()
        rest = [one.summary, where, " ".join(one.failure.split())]
        return Toned(f"{word:<8}{file}: {'; '.join(filter(None, rest))}", len(word), tone)
    about = f"{one.summary}; " if one.summary else ""
    place = {key: value for key, value in one.error.where.items() if key != "file"}
    error = EmuError(one.error.name, one.error.number, one.error.message.removeprefix(f"{file}: "), **place)
    return Toned(f"{word:<8}{file}: {about}{' '.join(error.line().split())}", len(word), tone)


def _check_traces(traces: tuple[str, ...], as_json: bool) -> int:
    from emu.trace.invariants import RULES, check

    results = []
    for name in traces:
        reader = _trace(Path(name))
        with progress(reader.name, reader.path.stat().st_size) as advance:
            reader.advance = advance
            results.append((reader.name, check(reader)))
    if as_json:
        document = {
            "traces": [
                {
                    "file": name,
                    "events": result.events,
                    "violations": [violation._asdict() for violation in result.violations],
                    "more": result.more,
                    "unjudged": list(result.unjudged),
                }
                for name, result in results
            ]
        }
        print_document(document)
    else:
        for name, result in results:
            judged = ""
            if result.unjudged:
                count = len(RULES) - len(result.unjudged)
                judged = f" ({count} of {len(RULES)} rules can be told from it)"
            for violation in result.violations:
                # a profile has no lines that a person could look up
                place = f" {violation.context} action {violation.action_index}" if judged else str(violation.line)
                where = f"{name}:{place}: {violation.rule}"
                say(Toned(f"{where}: {violation.message}", len(where), Tone.BAD))
            if result.more:
                say(f"{name}: {result.more} more violations")
            if not result.violations:
                say(f"{name}: {result.events:,} events, no rule violated{judged}")
    return ExitCode.DIFFERENT if any(result.violations for _, result in results) else 0


def _trace(path: Path) -> TraceReader | StampedTrace:
    """A trace of emu, or what measure-fw-actions wrote."""
    from emu.trace.fw_actions import is_fw_actions
    from emu.trace.reader import TraceReader
    from emu.trace.stamped import StampedTrace

    if is_fw_actions(read_head(path)):
        return StampedTrace(path, by_preference(names("runtimes"))[0])
    return TraceReader(path)


def _rules(as_json: bool) -> int:
    from emu.trace.invariants import RULES

    if as_json:
        print_document([{"name": rule.name, "says": rule.says()} for rule in RULES])
    else:
        for rule in RULES:
            say(f"{rule.name:<32} {rule.says()}")
    return 0
