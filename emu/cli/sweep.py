"""`emu sweep`: estimates of many HEFs as a table."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import orjson

from emu.cli.document import print_document
from emu.cli.options import DEVICES, output_path, parse_batches
from emu.errors import UsageError
from emu.sequencer.actions import RUNTIMES

_PLOTS = (".png", ".svg", ".pdf")


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="DIR|FILE...", type=click.Path(path_type=Path))
@click.option("--batch", default="1", metavar="N,N,...", help="Batch sizes (default 1).")
@click.option("--device", metavar="NAME,NAME,...", help="Devices (default: the first that each HEF allows).")
@click.option("--link", metavar="LINK,LINK,...", help="Host links: genXxY or integrated (default: the device's).")
@click.option("--runtime", type=click.Choice(RUNTIMES), help="HailoRT version (default: by architecture).")
@click.option("--network-group", metavar="NAME", help="Use only this network group.")
@click.option("--cluster-layout", type=click.IntRange(min=0), metavar="N", help="Cluster bitmap of the device.")
@click.option("--clock-mhz", type=click.IntRange(min=1), metavar="MHZ", help="Clock of the NN core.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Local processes (default: the processors).")
@click.option("--scheduler", metavar="ADDRESS", help="Use the Dask cluster of this scheduler instead.")
@click.option(
    "--output",
    multiple=True,
    metavar="FILE",
    help="Write FILE.csv, FILE.json or a plot (.png, .svg, .pdf) instead of printing; repeatable.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of CSV.")
def command(
    paths: tuple[Path, ...],
    batch: str,
    device: str | None,
    link: str | None,
    runtime: str | None,
    network_group: str | None,
    cluster_layout: int | None,
    clock_mhz: int | None,
    jobs: int | None,
    scheduler: str | None,
    output: tuple[str, ...],
    as_json: bool,
) -> None:
    """Estimate every HEF at every batch size, device and link, and write a table."""
    from emu.hw.profiles import load
    from emu.sweep.sweep import Sweep, find_files, sweep
    from emu.sweep.table import document, to_csv

    devices, links = _split(device), _split(link)
    for name in links:
        load("hailo8", clock_mhz, name)  # a link or clock that does not exist is wrong use, not an error of every file
    for name in devices:
        if name is not None and name not in DEVICES:
            raise UsageError(f"--device {name!r} is not one of {', '.join(DEVICES)}")
    targets = [output_path(name) for name in output]
    for target in targets:
        if target.suffix.lower() not in (".csv", ".json", *_PLOTS):
            raise UsageError(f"--output {target} ends in none of .csv, .json, {', '.join(_PLOTS)}")
    if jobs is not None and scheduler is not None:
        raise UsageError("--jobs is for local processes, --scheduler for a cluster: not both")
    plan = Sweep(
        find_files(paths), parse_batches(batch), devices, links, runtime, clock_mhz, cluster_layout, network_group
    )
    with click.progressbar(
        length=len(plan.files), label="sweep", file=sys.stderr, hidden=not sys.stderr.isatty()
    ) as bar:
        rows = sweep(plan, jobs=jobs, scheduler=scheduler, progress=bar.update)
    for target in targets:
        kind = target.suffix.lower()
        if kind in _PLOTS:
            from emu.sweep.plot import plot

            plot(rows, target)
        else:
            target.write_bytes(to_csv(rows).encode() if kind == ".csv" else orjson.dumps(document(rows)) + b"\n")
    if as_json:
        print_document(document(rows))
    elif not targets:
        click.echo(to_csv(rows), nl=False)


def _split(text: str | None) -> tuple[str | None, ...]:
    return (None,) if text is None else tuple(text.split(","))
