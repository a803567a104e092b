"""The conversations of `../shared/hrpc`: units in the order in which the recorded server saw and sent them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

NAMES = ("identify", "run2-10h", "python-nms", "refused", "run2-5.1.1")


class Unit(NamedTuple):
    """`kind`: message, hef, input, output or closed. The last four are a message's header."""

    direction: str
    kind: str
    data: bytes
    message_id: int
    action: int
    status: int
    size: int


def units(shared: Path, name: str) -> list[Unit]:
    streams = {way: (shared / "hrpc" / f"{name}.{way}.bin").read_bytes() for way in ("c2s", "s2c")}
    found = []
    for line in (shared / "hrpc" / f"{name}.jsonl").read_text().splitlines():
        one = json.loads(line)
        if "file" in one:
            data = (shared / "hef" / one["file"]).read_bytes()
        else:
            data = streams[one["dir"]][one["offset"] : one["offset"] + one["length"]]
        header = [one.get(key, -1) for key in ("message_id", "action", "status", "size")]
        found.append(Unit(one["dir"], one["kind"], data, *header))
    return found
