"""Finding what is asked about: by name, by a part of it, by number, or out of a whole error line."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from functools import cache

from emu.errors import UsageError
from emu.explain import device, model, rules, statuses
from emu.explain.explanation import Explanation

MOST = 8
"""Explanations that one question gets: more than that are told as names."""
_ERROR_LINE = re.compile(
    r"(?:.*?: )?(?P<name>[A-Z][A-Z0-9_]{2,})\((?P<number>0[xX][0-9a-fA-F]{1,8}|\d{1,10})\)(?P<rest>.*)"
)
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]{1,8}|\d{1,10}")
_LONGEST = 2000


@cache
def everything() -> tuple[Explanation, ...]:
    """All that has a name, statuses first."""
    return (
        *statuses.explanations(),
        *device.explanations(),
        *model.explanations(),
        *rules.explanations(),
    )


def _key(name: str) -> str:
    """Names are found whatever is between their words; the header of 4.23 misspells some of them."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return re.sub(r"[^A-Z0-9]+", "_", spaced.upper()).strip("_").replace("SWTICH", "SWITCH")


@cache
def _by_key() -> dict[str, list[Explanation]]:
    found: dict[str, list[Explanation]] = {}
    for one in everything():
        for key in dict.fromkeys(map(_key, (one.name, *one.aliases))):
            found.setdefault(key, []).append(one)
    return found


def explain(thing: str) -> list[Explanation]:
    """What is meant by a name, a number or an error line; several where it may be several.

    UsageError, with the nearest names, for what is nothing here.
    """
    thing = thing.strip()
    if not thing or len(thing) > _LONGEST:
        raise UsageError("explain takes a status, an action, a field, an extension, a register, a rule or a number")
    if _NUMBER.fullmatch(thing):
        return _by_number(thing)
    line = _ERROR_LINE.fullmatch(thing)
    if line is not None:
        return _of_line(line["name"], line["number"], line["rest"])
    return _by_name(thing)


def _of_line(name: str, number: str, rest: str) -> list[Explanation]:
    """`NAME(NUMBER): message`: the name counts; a hazard's own name begins its message."""
    found = _by_name(name) if name != "FIRMWARE_STATUS" else _by_number(number)
    if name == "HAZARD":
        hazard = rest.removeprefix(": ").partition(":")[0]
        place = int(number, 0)
        named = [one for one in everything() if one.kind == "hazard" and (one.name == hazard or one.number == place)]
        found = named[:1] + found
    return found


def _by_number(text: str) -> list[Explanation]:
    number = int(text, 16 if text[:2].lower() == "0x" else 10)
    found = [one for one in everything() if one.number == number]
    if not found and statuses.is_firmware_status(number):
        found = [statuses.unknown_firmware_status(number)]
    found = found or list(model.addresses(f"0x{number:08X}"))
    if not found:
        raise UsageError(f"{text} is the number of nothing that is known here")
    return found


def _by_name(thing: str) -> list[Explanation]:
    by_key, key = _by_key(), _key(thing)
    if key in by_key:
        return by_key[key]
    if found := list(model.addresses(thing)):
        return found
    for matches in (lambda one: one.endswith(f"_{key}"), lambda one: key in one):
        near = _distinct([one for name, all_ in by_key.items() if key and matches(name) for one in all_])
        if 0 < len(near) <= MOST:
            return near
        if near:
            raise UsageError(f"{thing!r} may be any of {_names(near)}")
    close = difflib.get_close_matches(key, by_key, n=3, cutoff=0.6)
    hint = f"; near to it: {_names([by_key[name][0] for name in close])}" if close else ""
    raise UsageError(f"nothing here is called {thing!r}{hint}")


def _distinct(found: Sequence[Explanation]) -> list[Explanation]:
    return list({(one.name, one.kind): one for one in found}.values())


def _names(found: Sequence[Explanation]) -> str:
    more = f" and {len(found) - MOST} more" if len(found) > MOST else ""
    return ", ".join(one.name for one in found[:MOST]) + more
