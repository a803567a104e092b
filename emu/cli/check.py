"""`emu check`: try every model of a folder, or check traces against the invariants."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from emu.cli.document import print_document
from emu.cli.options import DEVICES
from emu.cli.progress import progress
from emu.errors import UsageError
from emu.files import shown
from emu.sequencer.actions import RUNTIMES

if TYPE_CHECKING:
    from emu.check.verdict import Verdict

VIOLATED = 6


@click.command()
@click.argument("paths", nargs=-1, metavar="DIR|FILE...")
@click.option("--device", "devices", multiple=True, type=click.Choice(DEVICES), help="Only this device (repeatable).")
@click.option("--runtime", "runtimes", multiple=True, type=click.Choice(RUNTIMES), help="Only this runtime.")
@click.option("--clock-mhz", type=click.IntRange(min=1), metavar="MHZ", help="Clock of the NN core.")
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

    Exit code 3 if any model is unreadable, else 4 if any is refused; 6 if a trace violates a rule.
    """
    if bool(paths) + bool(traces) + rules != 1:
        raise UsageError("check takes models, or --trace FILE, or --rules")
    if rules:
        return _rules(as_json)
    if traces:
        given = ["--device"] * bool(devices) + ["--runtime"] * bool(runtimes) + ["--junit"] * (junit is not None)
        if given:
            raise UsageError(f"{', '.join(given)}: not for traces")
        return _check_traces(traces, as_json)
    return _check_models(paths, devices or DEVICES, runtimes or RUNTIMES, clock_mhz, junit, as_json)


def _check_models(
    paths: tuple[str, ...],
    devices: tuple[str, ...],
    runtimes: tuple[str, ...],
    clock_mhz: int | None,
    junit: str | None,
    as_json: bool,
) -> int:
    from emu.check.verdict import models, verdict
    from emu.cli.tracing import writable

    target = writable(junit) if junit is not None else None
    found: list[Verdict] = []
    files = list(models([Path(path) for path in paths]))
    if not files:
        raise UsageError(f"no model in {', '.join(paths)}")
    with progress("checking", len(files)) as advance:
        for path in files:
            one = verdict(path, runtimes, devices, clock_mhz)
            found.append(one)
            advance(1)
            if not as_json:
                click.echo(_line(one))
                for warning in one.warnings:
                    click.echo(f"emu: warning: {shown(one.path)}: {warning}", err=True)
    codes = {one.exit_code for one in found}
    code = 3 if 3 in codes else max(codes)
    if target is not None:
        from emu.check.junit import junit as junit_xml

        target.write_bytes(junit_xml(found))
    if as_json:
        document = {
            "models": [one.document() for one in found],
            "accepted": sum(one.exit_code == 0 for one in found),
            "refused": sum(one.exit_code == 4 for one in found),
            "unreadable": sum(one.exit_code == 3 for one in found),
        }
        print_document(document)
    return code


def _line(one: Verdict) -> str:
    """The line of a model."""
    if one.error is None:
        where = one.where()
        return f"ok      {shown(one.path)}: {one.summary}" + (f"; {where}" if where else "")
    word = "REFUSED" if one.exit_code == 4 else "BROKEN "
    about = f"{one.summary}; " if one.summary else ""
    return f"{word} {shown(one.path)}: {about}{' '.join(one.error.line().split())}"


def _check_traces(traces: tuple[str, ...], as_json: bool) -> int:
    from emu.trace.invariants import check
    from emu.trace.reader import TraceReader

    results = []
    for name in traces:
        reader = TraceReader(Path(name))
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
                }
                for name, result in results
            ]
        }
        print_document(document)
    else:
        for name, result in results:
            for violation in result.violations:
                click.echo(f"{name}:{violation.line}: {violation.rule}: {violation.message}")
            if result.more:
                click.echo(f"{name}: {result.more} more violations")
            if not result.violations:
                click.echo(f"{name}: {result.events:,} events, no rule violated")
    return VIOLATED if any(result.violations for _, result in results) else 0


def _rules(as_json: bool) -> int:
    from emu.trace.invariants import RULES

    if as_json:
        print_document([{"name": rule.name, "says": rule.says()} for rule in RULES])
    else:
        for rule in RULES:
            click.echo(f"{rule.name:<32} {rule.says()}")
    return 0
