"""`emu coverage`: what runs touched, merged over the reports that `emu run --coverage-file` and pytest write."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import click

from emu.cli.command import Command
from emu.cli.document import print_document
from emu.cli.options import FiniteRange, open_output
from emu.cli.screen import complain, say
from emu.errors import ExitCode
from emu.host.coverage import Coverage


@click.command(cls=Command)
@click.argument("reports", nargs=-1, required=True, metavar="FILE...")
@click.option("-o", "--output", metavar="FILE", help="Write the merged report.")
@click.option("--threshold", type=FiniteRange(0, 100), metavar="PCT", help="Exit with 6 below this share.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(reports: tuple[str, ...], output: str | None, threshold: float | None, as_json: bool) -> int:
    """Merge coverage reports and show which actions, statuses and units were touched, and which actions never."""
    import orjson

    total = Coverage()
    with ExitStack() as files:
        target = open_output(output, files)
        for report in reports:
            total.merge(Coverage.read(Path(report)))
        if target is not None:
            target.stream.write(orjson.dumps(total.document(), option=orjson.OPT_INDENT_2) + b"\n")
            target.commit()
    if as_json:
        print_document(total.document())
    else:
        say(total.text())
    if threshold is not None and total.percent < threshold:
        complain(f"emu: {total.percent:.1f} % of the action types, {threshold:g} % are required")
        return ExitCode.DIFFERENT
    return 0
