"""Watch expressions of the debugger: a word of the chip's memory, or a counter of a channel, until it changes or meets
a condition."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from msgspec import Struct

from emu.errors import UsageError
from emu.hw.inspection import Inspection
from emu.numerals import whole_number

_NUMBER = r"0[xX][0-9a-fA-F]{1,8}|[0-9]{1,10}"
_WATCH = re.compile(
    rf"(?:channel (?P<channel>[0-9]{{1,3}})\.(?P<field>[a-z_]+)|(?P<address>{_NUMBER})(?: ?& ?(?P<mask>{_NUMBER}))?)"
    rf"(?: ?(?P<compare>==|!=|>=|<=|>|<) ?(?P<value>{_NUMBER}))?"
)
_COMPARE: Mapping[str, Callable[[int, int], bool]] = MappingProxyType(
    {
        "==": operator.eq,
        "!=": operator.ne,
        ">=": operator.ge,
        "<=": operator.le,
        ">": operator.gt,
        "<": operator.lt,
    }
)
FIELDS = (
    "available",
    "processed",
    "num_available",
    "num_processed",
    "transfers",
    "bytes",
    "paused",
    "dummy",
    "stalled",
)
"""Of a channel, as `channels` shows them."""


class Watch(Struct):
    """One expression. `address` None: of a channel, by its packed id."""

    text: str
    address: int | None = None
    mask: int = 0xFFFFFFFF
    channel: int = 0
    field: str = ""
    compare: str = ""
    wanted: int = 0
    last: int | None = None
    met: bool = False

    @classmethod
    def parse(cls, text: str, chip: Inspection) -> Watch:
        """`ADDRESS`, `ADDRESS & MASK` or `channel N.FIELD`, alone (whenever it changes) or compared with a number.

        UsageError for anything else.
        """
        found = _WATCH.fullmatch(" ".join(text.split()))
        if found is None or (found["field"] and found["field"] not in FIELDS):
            raise UsageError(
                f"watch {text!r}: ADDRESS, ADDRESS & MASK or channel N.FIELD ({', '.join(FIELDS)}), and, if not every "
                f"change counts, {', '.join(_COMPARE)} and a number"
            )
        watch = cls(
            text=found[0],
            address=None if found["address"] is None else _number(found["address"]),
            mask=_number(found["mask"] or "0xFFFFFFFF"),
            channel=_number(found["channel"] or "0"),
            field=found["field"] or "",
            compare=found["compare"] or "",
            wanted=_number(found["value"] or "0"),
        )
        watch.last = watch.read(chip)
        watch.met = watch._holds(watch.last)
        return watch

    def read(self, chip: Inspection) -> int | None:
        """What it is now; None where nothing was written, or the channel is not there."""
        if self.address is not None:
            word = chip.peek(self.address)
            return None if word is None else word & self.mask
        for channel, _ in chip.channels():
            if channel.packed == self.channel:
                return int(getattr(channel, self.field))
        return None

    def strikes(self, chip: Inspection) -> str:
        """Why the run is to stop here; empty where it is not."""
        before, now = self.last, self.read(chip)
        self.last = now
        if now == before:
            return ""
        if not self.compare:
            return f"{self.text}: {self._shown(before)} -> {self._shown(now)}"
        was, self.met = self.met, self._holds(now)
        return f"{self.text}: it is {self._shown(now)}" if self.met and not was else ""

    def line(self, chip: Inspection) -> str:
        """As `watches` lists it."""
        return f"{self.text} (now {self._shown(self.read(chip))})"

    def _holds(self, value: int | None) -> bool:
        return bool(self.compare) and value is not None and _COMPARE[self.compare](value, self.wanted)

    def _shown(self, value: int | None) -> str:
        if value is None:
            return "nothing"
        return f"0x{value:08X}" if self.address is not None else str(value)


def _number(text: str) -> int:
    return whole_number(text, "watch", 0, (1 << 32) - 1, hexadecimal=True)
