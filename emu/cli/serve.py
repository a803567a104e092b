"""`emu serve`: a simulated device that HailoRT 5.x programs reach over TCP (docs/serve.md)."""

from __future__ import annotations

import asyncio
import os
import sys

import click

from emu.catalog import names
from emu.cli.command import Command
from emu.cli.options import Whole
from emu.errors import UsageError
from emu.interrupts import ENDED_BY_SIGNAL


@click.command("serve", cls=Command, help="Serve a simulated device to HailoRT 5.x programs over TCP (HRPC).")
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Address to listen on.")
@click.option(
    "--port", type=Whole(0, 65535), metavar="N", default=12133, show_default=True, help="TCP port; 0: any that is free."
)
@click.option("--device", type=click.Choice(names("chips")), help="Device (default hailo10h, with --control hailo8).")
@click.option("--runtime", type=click.Choice(names("runtimes")), help="Who compiles (default: by the device's family).")
@click.option(
    "--reference", multiple=True, metavar="[GROUP=]FILE", help="Compute the outputs with this ONNX, OM or MS model."
)
@click.option("--compute", type=click.Choice(("strict", "partial", "off")), help="Outputs that the core computes.")
@click.option("--seed", type=Whole(0), default=0, metavar="N", help="Seed of made-up outputs.")
@click.option("--limit", multiple=True, metavar="NAME=N", help="Another limit for a client (docs/serve.md).")
@click.option("--handlers", metavar="MODULE", help="Actions served by a module of your own (docs/hacking.md).")
@click.option("--control", is_flag=True, help="Also the Ethernet control protocol of HailoRT 4.x (UDP port 22401).")
@click.option("--json-log", is_flag=True, help="The log as JSON, an object a line.")
def command(
    host: str,
    port: int,
    device: str | None,
    runtime: str | None,
    reference: tuple[str, ...],
    compute: str | None,
    seed: int,
    limit: tuple[str, ...],
    handlers: str | None,
    control: bool,
    json_log: bool,
) -> int:
    from emu.host.modules import load_handlers
    from emu.host.references import reference_files
    from emu.server.control import EthernetControl
    from emu.server.limits import Limits
    from emu.server.log import server_log
    from emu.server.server import Server, serve
    from emu.server.service import Service

    if reference and compute:
        raise UsageError("--compute: outputs either come from a reference or are computed")
    device = device or ("hailo8" if control else "hailo10h")
    log = server_log(sys.stderr, json_log)
    service = Service(
        device,
        runtime,
        seed=seed,
        limits=Limits().changed(limit),
        reference_for=reference_files(reference) if reference else None,
        compute=compute,
        handlers=None if handlers is None else load_handlers(handlers),
        log=log,
    )
    others = [EthernetControl(service, host)] if control else []
    number, stopped = asyncio.run(serve(Server(service, host, port), *others))
    if not stopped:
        # a simulation that nothing interrupts is still under way
        sys.stderr.flush()
        os._exit(ENDED_BY_SIGNAL + number)
    return ENDED_BY_SIGNAL + number
