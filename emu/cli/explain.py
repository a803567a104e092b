"""`emu explain`: what a status, action, field, extension, register or rule is, and what to do about it."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Sequence

import click

from emu.cli.command import Command
from emu.cli.document import print_document
from emu.cli.screen import columns, say
from emu.explain.explanation import Explanation
from emu.explain.find import explain

_WIDTH = 111
_COLUMN = 12


@click.command(cls=Command)
@click.argument("thing", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(thing: tuple[str, ...], as_json: bool) -> int:
    """Explain THING: what it is, when it occurs, what to do, and where it is documented.

    A status of HailoRT, of the firmware or of a graph, an action, one of its fields, a control message, a HEF
    extension, a register, a hazard or a rule of traces: by name or a part of it, by number (26, 0x40130016), or a
    whole error line.
    """
    found = explain(" ".join(thing))
    if as_json:
        print_document(found[0].document() | {"also": [one.document() for one in found[1:]]})
    else:
        say(_text(found, min(_WIDTH, columns(sys.stdout) or _WIDTH)))
    return 0


def _text(found: Sequence[Explanation], width: int) -> Iterator[str]:
    for position, one in enumerate(found):
        if position:
            yield ""
        number = f" ({one.number_text})" if one.number_text else ""
        yield f"{one.name}{number}: {one.kind}"
        documented = "".join(f"docs/reference/{section}, " for section in one.documented).removesuffix(", ")
        rows = (
            ("what", one.text),
            ("when", one.when),
            ("do", one.do),
            *one.details,
            ("see", documented),
            ("source", one.source),
        )
        for title, text in rows:
            if text:
                yield from _row(title, text, width)


def _row(title: str, text: str, width: int) -> Iterator[str]:
    lines = textwrap.wrap(text, width - _COLUMN - 3, break_long_words=False, break_on_hyphens=False)
    for at, line in enumerate(lines):
        yield f"  {title if not at else '':<{_COLUMN}} {line}"
