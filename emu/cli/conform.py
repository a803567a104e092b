"""`emu conform`: vectors against an implementation of the device, and which rules hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from emu.cli.colour import Tone, Toned
from emu.cli.command import Command
from emu.cli.document import print_document
from emu.cli.screen import say
from emu.errors import ExitCode

if TYPE_CHECKING:
    from emu.conform.conform import Verdict


@click.command(cls=Command)
@click.option("--target", required=True, metavar="TARGET", help="tcp://H:P, udp://H:P, cmd:PROGRAM or python:MOD:NAME.")
@click.option("--rule", "rules", multiple=True, metavar="GLOB", help="Only the rules whose names fit.")
@click.option("--vectors", "folder", metavar="DIR", help="Those of a folder of `emu vectors` instead of the built-in.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(target: str, rules: tuple[str, ...], folder: str | None, as_json: bool) -> int:
    """Send every vector to a target, and say which rules hold, by what they rest on (exit code 6: not all do).

    A target that says nothing for 10 s of a vector is given up (exit code 7). docs/conform.md describes the protocol
    and the vectors' files.
    """
    from emu.conform.conform import Outcome, conform
    from emu.conform.suite import chosen
    from emu.conform.targets import PATIENCE_S
    from emu.conform.vector_document import read_folder

    found = list(conform(target, chosen(rules, None if folder is None else read_folder(folder)), PATIENCE_S))
    if as_json:
        print_document(_document(target, found))
    else:
        say(_lines(found))
    outcomes = {one.outcome for one in found}
    if Outcome.SILENT in outcomes:
        return ExitCode.UNREACHABLE
    return ExitCode.DIFFERENT if Outcome.BROKEN in outcomes else ExitCode.DONE


def _document(target: str, found: Sequence[Verdict]) -> dict[str, Any]:
    from emu.conform.conform import Outcome

    return {
        "target": target,
        "rules": [
            {
                "rule": one.vector.name,
                "basis": one.vector.basis.value,
                "holds": None if one.outcome is Outcome.NOT_ASKED else one.outcome is Outcome.HOLDS,
                "outcome": one.outcome.value,
                "source": one.vector.source,
                "why": one.why,
            }
            for one in found
        ],
    }


def _lines(found: Sequence[Verdict]) -> list[str]:
    from emu.conform.conform import Outcome
    from emu.conform.vector import Basis

    lines: list[str] = [
        Toned(
            f"{one.outcome.value}: {one.vector.name} ({one.vector.basis}, {one.vector.source}): {one.why}",
            len(one.outcome.value),
            Tone.CAUTION if one.outcome is Outcome.NOT_ASKED else Tone.BAD,
        )
        for one in found
        if one.outcome is not Outcome.HOLDS
    ]
    for basis in Basis:
        counts = Counter(one.outcome for one in found if one.vector.basis is basis)
        if counts:
            rest = "".join(f", {count} {kind.value}" for kind, count in counts.items() if kind is not Outcome.HOLDS)
            held, asked = counts[Outcome.HOLDS], sum(counts.values())
            tone = Tone.GOOD if held == asked else Tone.CAUTION
            lines.append(Toned(f"{basis}: {held} of {asked} rules hold{rest}", len(str(basis)), tone))
    return lines
