"""The one JSON document that `--json` prints (cli.md)."""

from __future__ import annotations

import re
import sys
from typing import Any

import click

_CONTROL = re.compile(rb"\x7f|\xc2[\x80-\x9f]")


def print_document(found: Any, indent: bool = False) -> None:
    """One document on stdout and nothing else."""
    import orjson

    try:
        data = orjson.dumps(found, option=orjson.OPT_INDENT_2 if indent else None)
    except TypeError:  # numbers beyond 64 bits, names with lone surrogates
        import json

        data = json.dumps(found, indent=2 if indent else None).encode()
    print_utf8(data + b"\n")


def print_utf8(data: bytes) -> None:
    """Bytes of JSON as orjson makes them, in UTF-8 whatever the encoding of stdout is."""
    # orjson escapes the control characters of ASCII but the last, and none of Latin-1; terminals act upon them too
    data = _CONTROL.sub(lambda match: b"\\u00%02x" % match[0][-1], data)
    # a stdout that a caller has replaced by a text buffer takes no bytes
    click.echo(data if hasattr(sys.stdout, "buffer") else data.decode(), nl=False)
