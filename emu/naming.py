"""Names that a user types: the unique end of a long name stands for it, and a slip is answered with what was near."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

T = TypeVar("T")

_MOST_LISTED = 12


def full_name(name: str, known: Iterable[str]) -> str | None:
    """`name` itself where it is known, else the only one of `known` that ends in `/name`; None: none or several."""
    found = list(dict.fromkeys(known))
    if name in found:
        return name
    ends = [one for one in found if name and one.endswith(f"/{name}")]
    return ends[0] if len(ends) == 1 else None


def with_full_names(given: Mapping[str, T], known: Iterable[str]) -> dict[str, T]:
    """The mapping by full names, where they can be told; two names for one thing stay as they are."""
    found = list(known)
    names = {name: full_name(name, found) or name for name in given}
    return {names[name]: value for name, value in given.items()} if len({*names.values()}) == len(names) else {**given}


def similar(name: str, known: Iterable[str]) -> str:
    """` Did you mean …?` with the names that are close, or nothing."""
    from difflib import get_close_matches

    there = list(dict.fromkeys(known))
    ends = [one for one in there if name and one.endswith(f"/{name}")]
    by_end: dict[str, str] = {}
    for one in there:
        by_end.setdefault(one.rpartition("/")[2], one)
    found = ends or get_close_matches(name, there, n=3) or [by_end[end] for end in get_close_matches(name, by_end, n=3)]
    return f" Did you mean {' or '.join(found[:3])}?" if found else ""


def listed(known: Iterable[str]) -> str:
    """The names, but not hundreds of them."""
    there = list(dict.fromkeys(known))
    more = f" and {len(there) - _MOST_LISTED} more" if len(there) > _MOST_LISTED else ""
    return (", ".join(there[:_MOST_LISTED]) or "none") + more
