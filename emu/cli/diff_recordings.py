"""`emu diff` of two recordings: record by record, the first that they have otherwise."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from emu.cli.colour import Tone, Toned
from emu.cli.document import print_document
from emu.cli.records import decoded, described, differing_fields
from emu.cli.screen import say
from emu.errors import CommandLineError, ExitCode
from emu.files import is_folder
from emu.trace.record import DivergedError, Recording, Replay


def are_recordings(a: str, b: str | None) -> bool:
    """Whether both are folders; UsageError where only one of them is."""
    folders = [is_folder(one) for one in (a, b) if one is not None]
    if not any(folders):
        return False
    if b is None or not all(folders):
        raise CommandLineError("a recording can be compared with a recording only (`--record DIR` makes one)")
    return True


def compare(a: str, b: str, as_json: bool) -> int:
    """Print the first difference; exit code 6 where there is one. Raises what opening them raises."""
    first, second = Recording.open(Path(a)), Recording.open(Path(b))
    replay = Replay(first)
    with suppress(DivergedError):
        for record in second.records():
            replay.put(record)
        replay.finish()
    if replay.damage is not None:
        raise replay.damage
    found = replay.difference
    if as_json:
        document: dict[str, Any] = {"equal": found is None, "records": replay.number, "divergence": None}
        if found is not None:
            sides: dict[str, Any] = {"a": found.recorded, "b": found.replayed}
            fields = [{"field": name, "a": one, "b": other} for name, one, other in decoded(*sides.values())]
            document["divergence"] = {"number": found.number, "fields": found.fields, "decoded": fields} | sides
        print_document(document)
    elif found is None:
        line = f"{replay.number:,} records: no difference"
        say(Toned(line, len(line), Tone.GOOD))
    else:
        where = f"first difference at record {found.number:,}:"
        say(Toned(f"{where} {', '.join(found.fields)}", len(where), Tone.BAD))
        for word, one in (("A", found.recorded), ("B", found.replayed)):
            say(f"  {word} " + ("nothing: it ends here" if one is None else described(one)))
        say(differing_fields(found.recorded, found.replayed))
    return 0 if found is None else ExitCode.DIFFERENT
