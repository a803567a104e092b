"""Numbers that a user types: plain digits, within bounds, and one clear line where they are not."""

from __future__ import annotations

import re
from math import isfinite

from emu.errors import UsageError

MOST = (1 << 63) - 1
"""What a number without a bound of its own may be: JSON, arrays and counters hold it."""

_PLAIN = re.compile(r"-?[0-9]+")
_HEXADECIMAL = re.compile(r"0[xX][0-9a-fA-F]+")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_MOST_DIGITS = 20  # int() takes a time in the square of them, and refuses thousands with an error of its own


def whole_number(
    text: str, what: str, least: int = 0, most: int = MOST, *, hexadecimal: bool = False, whose: str = ""
) -> int:
    """The number; UsageError where the text is none (int() takes underscores and the digits of every script too) or it
    lies outside. `hexadecimal`: 0x… is taken as well. `whose`: who sets the limit."""
    plain = text.strip()
    if hexadecimal and _HEXADECIMAL.fullmatch(plain):
        base = 16
    elif _PLAIN.fullmatch(plain):
        base = 10
    else:
        raise UsageError(f"{what} takes a whole number, not {text!r:.80}")
    digits = plain.lstrip("+-0")
    number = int(plain, base) if len(digits) <= _MOST_DIGITS else None
    if number is None or not least <= number <= most:
        shown = plain if len(plain) <= _MOST_DIGITS else f"{plain[:_MOST_DIGITS]}…"
        raise UsageError(f"{what}: {shown} is out of range ({least} to {most}{whose and f', {whose}'})")
    return number


def decimal_number(text: str, what: str) -> float:
    """A finite number, with a point or an exponent; UsageError for anything else."""
    plain = text.strip()
    number = float(plain) if _DECIMAL.fullmatch(plain) else None
    if number is None or not isfinite(number):
        raise UsageError(f"{what} takes a finite number, not {text!r:.80}")
    return number
