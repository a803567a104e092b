"""`emu respond`: the simulated device behind the protocol of docs/conform.md, on standard input and output."""

from __future__ import annotations

import sys

import click

from emu.cli.command import Command


@click.command(cls=Command)
@click.option("--handlers", metavar="MODULE", help="Actions served by a module of your own (docs/hacking.md).")
def command(handlers: str | None) -> None:
    """Answer the protocol of `emu conform` and `emu replay --target` on standard input and output."""
    from emu.conform.respond import serve
    from emu.host.modules import load_handlers

    own = None if handlers is None else load_handlers(handlers)
    serve(sys.stdin.buffer, sys.stdout.buffer, own)
