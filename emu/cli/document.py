"""The one JSON document that `--json` prints (cli.md)."""

from __future__ import annotations

import sys
from typing import Any

import click


def print_document(found: Any, indent: bool = False) -> None:
    """One document on stdout and nothing else."""
    import orjson

    print_utf8(orjson.dumps(found, option=orjson.OPT_INDENT_2 if indent else None) + b"\n")


def print_utf8(data: bytes) -> None:
    """Bytes of UTF-8 text as they are, whatever the encoding of stdout is."""
    # a stdout that a caller has replaced by a text buffer takes no bytes
    click.echo(data if hasattr(sys.stdout, "buffer") else data.decode(), nl=False)
