"""`--assume C.L.KEY=VALUE`: what a user takes for granted of a layer (cli.md)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from emu.errors import UsageError
from emu.net.shapes import Assumption
from emu.net.units import LcuId
from emu.numerals import whole_number

_FORM = re.compile(r"([0-7])\.([0-9]|1[0-5])\.(padding|stride|pool)=([a-z0-9]{1,5})")
_LARGEST = {"stride": 4, "pool": 15}


def parse_assumptions(texts: Iterable[str]) -> dict[LcuId, Assumption]:
    """Assumptions by LCU; UsageError for a text of another form."""
    found: dict[LcuId, Assumption] = {}
    for text in texts:
        match = _FORM.fullmatch(text)
        if match is None:
            raise UsageError(f"--assume takes CLUSTER.LCU.padding=same|valid, .stride=N or .pool=N, not {text!r}")
        cluster, number, key, value = match.groups()
        lcu = LcuId(whole_number(cluster, "--assume"), whole_number(number, "--assume"))
        before = found.get(lcu, Assumption())
        if key == "padding":
            if value not in ("same", "valid"):
                raise UsageError(f"--assume {text:.80}: padding is same or valid")
            found[lcu] = replace(before, padded=value == "same")
            continue
        size = whole_number(value, f"--assume {text:.80}: {key}", 1, _LARGEST[key])
        found[lcu] = replace(before, stride=size) if key == "stride" else replace(before, pool=size)
    return found
