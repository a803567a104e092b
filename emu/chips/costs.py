"""Measured action costs in place of those of a chip: a TOML file that `emu calibrate` wrote, or that looks the same.

device = "hailo8"
[action_ns]
ENABLE_LCU_DEFAULT = { value = 812.5, unit = "ns", basis = "measured", source = "..." }
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from emu.catalog import BASES, Quantity
from emu.errors import UsageError
from emu.files import open_regular, shown

MAX_SIZE = 1 << 20
MAX_NS = 1e9  # no action takes the firmware a second
_NAME = re.compile(r"default|[A-Z][A-Z0-9_]{0,79}")
_KEYS = {"value", "unit", "source", "basis"}


def read_costs(path: str | Path, device: str) -> Mapping[str, Quantity]:
    """`action_ns.NAME` -> Quantity of such a file; UsageError for anything else, and for another device's."""
    name = shown(path)
    with open_regular(Path(path)) as file:
        data = file.read(MAX_SIZE + 1)
    try:
        document = tomllib.loads(data.decode()) if len(data) <= MAX_SIZE else {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError):
        document = {}
    costs = document.get("action_ns")
    if not isinstance(costs, dict) or set(document) != {"device", "action_ns"}:
        raise UsageError(f"--costs {name} holds no [action_ns] of a device (emu calibrate writes such a file)")
    if document["device"] != device:
        raise UsageError(f"--costs {name} is of {str(document['device'])[:40]!r}, not of {device}")
    return {f"action_ns.{key}": _quantity(name, key, entry) for key, entry in costs.items()}


def to_toml(device: str, costs: Mapping[str, Quantity], title: str) -> str:
    """The file that `read_costs` reads; `title` is its first line."""
    lines = [f"# {title}", f'device = "{device}"', "", "[action_ns]"]
    for name, entry in costs.items():
        text = entry.source.replace("\\", "/").replace('"', "'")
        source = "".join(char if char.isprintable() else "?" for char in text)
        numbers = f'value = {entry.value:.6g}, unit = "{entry.unit}", basis = "{entry.basis}"'
        lines.append(f'{name} = {{ {numbers}, source = "{source}" }}')
    return "\n".join(lines) + "\n"


def _quantity(file: str, name: str, entry: Any) -> Quantity:
    good = isinstance(entry, dict) and set(entry) == _KEYS and entry["basis"] in BASES and entry["unit"] == "ns"
    value = entry["value"] if good and type(entry["value"]) in (int, float) else math.nan
    if not _NAME.fullmatch(name) or not 0 <= value <= MAX_NS:  # not-a-number is in no range
        raise UsageError(f"--costs {file}: {name[:80]} needs value (0 to {MAX_NS:g}), unit ns, basis and source")
    return Quantity(float(value), "ns", str(entry["source"]), entry["basis"])
