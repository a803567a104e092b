"""`emu sweep`: estimates of many HEFs as a table."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click
import orjson

from emu.catalog import names
from emu.cli.command import Command
from emu.cli.document import print_document
from emu.cli.options import Release, Whole, output_path, parse_batches
from emu.cli.progress import progress
from emu.cli.screen import columns, complain_of, say
from emu.errors import CommandLineError, HailoStatus
from emu.output import Output

if TYPE_CHECKING:
    from emu.sweep.table import Row

UNREADABLE, REFUSED = 3, 4
_PLOTS = (".png", ".svg", ".pdf")


@click.command(cls=Command)
@click.argument("paths", nargs=-1, required=True, metavar="DIR|FILE...", type=click.Path(path_type=Path))
@click.option("--batch", default="1", metavar="N,N,...", help="Batch sizes (default 1).")
@click.option("--device", metavar="NAME,NAME,...", help="Devices (default: the first that each HEF allows).")
@click.option("--link", metavar="LINK,LINK,...", help="Host links: genXxY or integrated (default: the device's).")
@click.option("--host-profile", type=click.Choice(names("hosts")), help="The host that the devices are in.")
@click.option("--runtime", type=Release(), help="HailoRT version (default: by architecture).")
@click.option("--network-group", metavar="NAME", help="Use only this network group.")
@click.option("--cluster-layout", type=Whole(0), metavar="N", help="Cluster bitmap of the device.")
@click.option("--clock-mhz", type=Whole(1), metavar="MHZ", help="Clock of the NN core.")
@click.option("--jobs", type=Whole(1), metavar="N", help="Local processes (default: the processors).")
@click.option("--scheduler", metavar="ADDRESS", help="Use the Dask cluster of this scheduler instead.")
@click.option(
    "--output",
    multiple=True,
    metavar="FILE",
    help="Write FILE.csv, FILE.json or a plot (.png, .svg, .pdf) instead of printing; repeatable.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of CSV.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV with every digit, on a terminal too.")
@click.option("--table", "as_table", is_flag=True, help="Print an aligned table, as on a terminal, into a pipe too.")
def command(
    paths: tuple[Path, ...],
    batch: str,
    device: str | None,
    link: str | None,
    host_profile: str | None,
    runtime: str | None,
    network_group: str | None,
    cluster_layout: int | None,
    clock_mhz: int | None,
    jobs: int | None,
    scheduler: str | None,
    output: tuple[str, ...],
    as_json: bool,
    as_csv: bool,
    as_table: bool,
) -> int:
    """Estimate every HEF at every batch size, device and link, and write a table.

    Exit code 3 if no file could be read, 4 if all were refused for the device, else 0.
    """
    from emu.chips.chips import load
    from emu.sweep.sweep import Sweep, UnfinishedError, find_files, sweep
    from emu.sweep.table import document, to_csv

    devices, links = _split(device), _split(link)
    # a link or clock that does not exist is wrong use, not an error of every file
    for name in links:
        load(names("chips")[0], None, name)
    for name in devices:
        if name is not None and name not in names("chips"):
            raise CommandLineError(f"--device {name!r} is not one of {', '.join(names('chips'))}")
    if clock_mhz is not None:
        chosen = [name for name in devices if name is not None] or names("chips")
        load(max(chosen, key=lambda name: load(name).nominal_nn_hz), clock_mhz)
    targets = [output_path(name) for name in output]
    for target in targets:
        if target.suffix.lower() not in (".csv", ".json", *_PLOTS):
            raise CommandLineError(f"--output {target} ends in none of .csv, .json, {', '.join(_PLOTS)}")
    ways = ["--json"] * as_json + ["--csv"] * as_csv + ["--table"] * as_table
    if len(ways) > 1 or (targets and (as_csv or as_table)):
        said = f"{' and '.join(ways)}: one way to print" if len(ways) > 1 else f"{ways[0]}: no effect with --output"
        raise CommandLineError(said)
    if jobs is not None and scheduler is not None:
        raise CommandLineError("--jobs is for local processes, --scheduler for a cluster: not both")
    plan = Sweep(
        find_files(paths),
        parse_batches(batch),
        devices,
        links,
        runtime,
        clock_mhz,
        cluster_layout,
        network_group,
        host_profile,
    )
    unfinished: UnfinishedError | None = None
    with ExitStack() as stack:
        files = [stack.enter_context(Output(target)) for target in targets]
        with progress("sweep", len(plan.files)) as advance:
            try:
                rows = sweep(plan, jobs=jobs, scheduler=scheduler, progress=advance)
            except UnfinishedError as error:
                rows, unfinished = error.rows, error  # what is done is not lost
        for file in files:
            kind = file.path.suffix.lower()
            if kind in _PLOTS:
                from emu.sweep.plot import plot

                plot(rows, file.stream, kind.removeprefix("."))
            else:
                file.stream.write(to_csv(rows).encode() if kind == ".csv" else orjson.dumps(document(rows)) + b"\n")
    if as_json:
        print_document(document(rows) | ({} if unfinished is None else unfinished.document()))
    elif not targets:
        if as_csv or not (as_table or sys.stdout.isatty()):
            say(to_csv(rows).removesuffix("\n").split("\n"))
        else:
            from emu.sweep.columns import table

            say(table(rows, columns(sys.stdout)))
    if unfinished is not None:
        complain_of(unfinished)  # stdout has its one document already
        return unfinished.exit_code
    return _code(rows)


def _code(rows: Sequence[Row]) -> int:
    """As `check` has it, where not one combination could be estimated: refused for the device, else unreadable."""
    statuses = {row.error_status for row in rows}
    if None in statuses:
        return 0
    return REFUSED if statuses == {HailoStatus.HAILO_HEF_NOT_COMPATIBLE_WITH_DEVICE} else UNREADABLE


def _split(text: str | None) -> tuple[str | None, ...]:
    return (None,) if text is None else tuple(text.split(","))
