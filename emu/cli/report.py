"""`emu report`: one page to look at, of one model or of several beside each other."""

from __future__ import annotations

from pathlib import Path

import click

from emu.cli.command import Command
from emu.cli.options import hef_options, output_path
from emu.cli.progress import progress
from emu.cli.screen import say
from emu.errors import CommandLineError
from emu.files import shown
from emu.host.spec import HefSettings

_ACTING = (
    "runtime",
    "device",
    "cluster_layout",
    "network_group",
    "clock_mhz",
    "link",
    "host_profile",
    "costs",
    "host",
    "kv_cache",
    "from_memory",
)
_RUNNING = (*_ACTING, "batch", "net_batch", "frames", "seed")


@click.command(cls=Command)
@click.argument("models", nargs=-1, required=True, metavar="MODEL...")
@hef_options(_RUNNING)
@click.option("-o", "--output", required=True, metavar="FILE.html", help="Where the page goes.")
@click.option("--run", "run_too", is_flag=True, help="Also run each model: lanes of the trace, times of operators.")
def command(models: tuple[str, ...], common: HefSettings, output: str, run_too: bool) -> None:
    """Write one self-contained HTML page that tells what models are and do.

    With --run each HEF is also run, and each graph timed: --batch, --net-batch, --frames and --seed are of that run.

    A trace (JSONL) and a file of `hailortcli run2 measure-fw-actions` are told by their lists and their lanes.
    """
    common.refuse_but(_RUNNING if run_too else _ACTING, "a report" if run_too else "a report without --run")
    try:
        from emu.report import model_facts, page
    except ImportError:
        raise CommandLineError("a report needs jinja2: install emu[report]") from None
    from emu.output import Output

    with Output(output_path(output)) as target:
        found = []
        with progress("looking at models", len(models)) as advance:
            for name in models:
                found.append(model_facts(Path(name), common, run_too))
                advance(1)
        html = page(found).encode()
        target.stream.write(html)
    say(f"{shown(Path(output))}: {len(html):,} bytes, {len(models)} model{'s' * (len(models) > 1)}")
