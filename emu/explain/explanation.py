"""What every explanation says, and the TOML files that hold the text."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from msgspec import Struct

_FOLDER = Path(__file__).parent / "texts"


class Explanation(Struct, frozen=True):
    """One thing that somebody may ask about.

    `text` is what it is, `when` when it occurs, `do` what helps; `details` what can be said of it in figures, by name;
    `documented` the sections that say more. `aliases`: what else it is asked for by.
    """

    name: str
    kind: str
    text: str
    number: int | None = None
    when: str = ""
    do: str = ""
    details: tuple[tuple[str, str], ...] = ()
    documented: tuple[str, ...] = ()
    source: str = ""
    aliases: tuple[str, ...] = ()

    @property
    def number_text(self) -> str:
        """The number as it is written: statuses of the firmware and addresses in hex; empty where there is none."""
        if self.number is None:
            return ""
        return str(self.number) if self.number < _WRITTEN_IN_HEX else f"0x{self.number:08X}"

    def document(self) -> dict[str, Any]:
        """Its JSON: `name`, `number`, `kind`, `text` (cli.md), and the rest as the text's words."""
        return {
            "name": self.name,
            "number": self.number,
            "kind": self.kind,
            "text": self.text,
            "when": self.when,
            "do": self.do,
            "details": dict(self.details),
            "documented": list(self.documented),
            "source": self.source,
        }


_WRITTEN_IN_HEX = 0x10000


class Entry(Struct, frozen=True):
    """One table of a file; `number` and `at` only where no code owns them."""

    what: str
    when: str = ""
    do: str = ""
    documented: tuple[str, ...] = ()
    number: int | None = None
    at: str = ""


class Texts(Struct, frozen=True):
    """One file: its entries by name, tables of other sorts (`modules`, `helps`), and where all of it comes from."""

    source: str
    entries: Mapping[str, Entry]
    tables: Mapping[str, Mapping[str, str]]


def own_words(name: str) -> Entry:
    """For what has no text yet: its name, read aloud."""
    words = name.replace("_", " ").lower()
    return Entry(f"{words[0].upper()}{words[1:]}.")


@cache
def texts(name: str) -> Texts:
    """The file of that name in `texts/`; TypeError for an entry with a key that there is not."""
    document = tomllib.loads((_FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    source = document.pop("source")
    tables = {key: MappingProxyType(value) for key, value in document.items() if "what" not in value}
    entries = {
        key: Entry(**{**value, "documented": tuple(value.get("documented", ()))})
        for key, value in document.items()
        if key not in tables
    }
    return Texts(source, MappingProxyType(entries), MappingProxyType(tables))
