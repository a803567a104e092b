"""The TOML files of chips, runtimes and hosts: which there are, and what one says, inherited entries included.

A folder has `chips/NAME.toml`, `runtimes/NAME.toml` and `hosts/NAME.toml`; a file may extend another and then says what
differs. Names and values are read from the files alone, so that an added chip, runtime or host is an added file.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeVar, get_args

from emu.errors import UsageError

Kind = Literal["chips", "runtimes", "hosts"]
Basis = Literal["documented", "measured", "fitted", "guessed"]
BASES: tuple[str, ...] = get_args(Basis)
_WORD = {"chips": "device", "runtimes": "runtime", "hosts": "host profile"}
_REQUIRED = {"value", "unit", "source", "basis"}
_folders = [Path(__file__).parent / "chips"]
_T = TypeVar("_T")


class Quantity(NamedTuple):
    """One entry of a file with its provenance."""

    value: Any
    unit: str
    source: str
    basis: Basis


def add_folder(folder: Path) -> None:
    """Also look for chips and runtimes in `folder`; a file there wins over one of the same name."""
    _folders.insert(0, folder)
    forget()


def remove_folder(folder: Path) -> None:
    """Look there no more; ValueError for a folder that was not added."""
    _folders.remove(folder)
    forget()


def forget() -> None:
    """Read files anew when they are next asked for."""
    for clear in _caches:
        clear()


_caches: list[Callable[[], None]] = []


def forgetful(function: Callable[[str], _T]) -> Callable[[str], _T]:
    """A cached function of a name, whose results are dropped when a folder is added or removed."""
    kept = cache(function)
    _caches.append(kept.cache_clear)
    return kept


def _order(name: str) -> tuple[object, ...]:
    return tuple(int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name))


@cache
def names(kind: Kind) -> tuple[str, ...]:
    """All chips or runtimes, numbers in their names ascending."""
    return tuple(sorted({path.stem for folder in _folders for path in (folder / kind).glob("*.toml")}, key=_order))


@cache
def document(kind: Kind, name: str) -> dict[str, Any]:
    """The file of a chip or runtime as it is; UsageError for a name that has none."""
    for folder in _folders:
        path = folder / kind / f"{name}.toml"
        if name in names(kind) and path.exists():
            return tomllib.loads(path.read_text(encoding="utf-8"))
    raise UsageError(f"unknown {_WORD[kind]} {name!r}; one of {', '.join(names(kind))}")


@cache
def quantities(kind: Kind, name: str) -> Mapping[str, Quantity]:
    """All entries as `section.name` -> Quantity, inherited ones included and marked.

    ValueError for an entry that lacks its unit, source or basis.
    """
    found = document(kind, name)
    entries: dict[str, Quantity] = {}
    if "extends" in found:
        note = found.get("inherited")
        entries.update(
            {
                key: entry if note is None else entry._replace(basis="guessed", source=f"{note}: {entry.source}")
                for key, entry in quantities(kind, found["extends"]).items()
            }
        )
    for section, members in found.items():
        if not isinstance(members, dict):
            continue
        for key, entry in members.items():
            if not isinstance(entry, dict) or set(entry) != _REQUIRED or entry["basis"] not in BASES:
                raise ValueError(f"{kind} {name}: {section}.{key} needs {sorted(_REQUIRED)}, basis one of {BASES}")
            entries[f"{section}.{key}"] = Quantity(**entry)
    return MappingProxyType(entries)


_caches += [names.cache_clear, document.cache_clear, quantities.cache_clear]
