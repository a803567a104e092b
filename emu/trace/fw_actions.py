"""Reading HailoRT's profile of the firmware: the JSON of `measure-fw-actions` and `fw-control action-list`.

fw-trace.md 6.1, version "2.0"; `emu.trace.sinks.fw_actions` writes the same. Nothing of the file is believed: sizes,
types and names are checked before use.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from emu.errors import HailoError, HailoStatus
from emu.files import read_document, shown
from emu.trace.sinks.fw_actions import VERSION, type_name
from emu.wire.actions import ActionType

CYCLES = 1 << 32  # time stamps are 32 bits
_TYPES = {type_name(kind): kind for kind in ActionType}
_SAYS_PROFILE = re.compile(rb'\s*\{\s*"version"\s*:\s*"[^"]{1,20}"\s*,\s*"creation_time"\s*:')


class StampedAction(NamedTuple):
    """One entry: `timestamp` in cycles when it was done (0: never executed), `sub` its place in a REPEATED (-1)."""

    type: ActionType
    address: int
    timestamp: int
    sub: int
    data: dict[str, Any]


class StampedContext(NamedTuple):
    """One action list: `activation`, `preliminary`, `dynamic_0` … or `batch_switching`; `idle_time` in cycles."""

    name: str
    base_address: int
    size: int
    batch_counter: int
    idle_time: int
    actions: tuple[StampedAction, ...]


class StampedRun(NamedTuple):
    """One network group; -1 where a number is not known."""

    batch_size: int
    fps: float
    contexts: tuple[StampedContext, ...]


class FirmwareProfile(NamedTuple):
    """The whole file: `cycle_mhz` the clock of the time stamps, `hef` the path that it names, `file_hash` its md5."""

    cycle_mhz: int
    hef: str
    file_hash: str
    runs: tuple[StampedRun, ...]


def read_fw_actions(path: Path) -> FirmwareProfile:
    """The runs of a measured file, or the network groups of one that `action-list` wrote.

    HAILO_INVALID_ARGUMENT with the place for what is no such file.
    """
    name = shown(path)
    try:
        document = orjson.loads(read_document(path, b"{"))
    except orjson.JSONDecodeError as error:
        raise _error(name, f"no JSON ({error})") from None
    return profile_of(document, name)


def profile_of(document: Any, name: str) -> FirmwareProfile:
    """The runs of a document that was parsed already; raises as `read_fw_actions`, with `name` as the file."""
    return _Reader(name).profile(document)


def is_fw_actions(head: bytes) -> bool:
    """Whether a file that begins like this is such a profile: what it says first is its version and its clock."""
    return _SAYS_PROFILE.match(head) is not None


def _error(name: str, what: str) -> HailoError:
    message = f"{name} is no profile of measure-fw-actions: {what}"
    return HailoError(HailoStatus.HAILO_INVALID_ARGUMENT, message, file=name)


class _Reader:
    def __init__(self, name: str) -> None:
        self._name = name

    def profile(self, document: Any) -> FirmwareProfile:
        self._require(
            isinstance(document, dict) and document.get("version") == VERSION, f'"version" is not "{VERSION}"'
        )
        hef = self._get(document, "hef", dict, "the file")
        mhz = self._get(document, "clock_cycle_MHz", int, "the file")
        self._require(1 <= mhz <= 10_000, f"clock_cycle_MHz is {mhz}")
        listed = self._get(document, "runs", list, "the file")
        groups = document.get("network_groups", [])
        self._require(isinstance(groups, list), "network_groups is no list")
        single = [one[0] for one in groups if isinstance(one, list) and len(one) == 1]
        self._require(len(single) == len(groups), "network_groups holds no lists of one group each")
        return FirmwareProfile(
            mhz,
            self._get(hef, "path", str, "hef"),
            self._get(hef, "file_hash", str, "hef"),
            tuple(self._run(run, f"run {at}") for at, run in enumerate(listed or single)),
        )

    def _run(self, run: Any, place: str) -> StampedRun:
        self._require(isinstance(run, dict), f"{place} is no object")
        fps = run.get("fps", -1.0)
        self._require(isinstance(fps, int | float) and not isinstance(fps, bool), f"fps of {place}")
        contexts = self._get(run, "contexts", list, place)
        return StampedRun(
            self._get(run, "batch_size", int, place),
            float(fps),
            tuple(self._context(one, f"context {at} of {place}") for at, one in enumerate(contexts)),
        )

    def _context(self, context: Any, place: str) -> StampedContext:
        self._require(isinstance(context, dict), f"{place} is no object")
        name = self._get(context, "context_name", str, place)
        base, size, counter, idle = (
            self._get(context, key, int, place)
            for key in ("action_list_base_address", "action_list_size", "batch_counter", "idle_time")
        )
        actions = self._get(context, "actions", list, place)
        return StampedContext(name, base, size, counter, idle, tuple(self._actions(actions, place)))

    def _actions(self, actions: list[Any], place: str) -> Iterator[StampedAction]:
        for at, action in enumerate(actions):
            where = f"action {at} of {place}"
            self._require(isinstance(action, dict), f"{where} is no object")
            name = self._get(action, "type", str, where)
            self._require(name in _TYPES, f"{where} has the unknown type {name[:40]!r}")
            stamp = self._get(action, "timestamp", int, where)
            self._require(0 <= stamp < CYCLES, f"the timestamp of {where} does not fit 32 bits")
            sub = action.get("sub_action_index", -1)
            self._require(type(sub) is int and sub >= -1, f"sub_action_index of {where}")
            data = self._get(action, "data", dict, where)
            yield StampedAction(_TYPES[name], self._get(action, "address", int, where), stamp, sub, data)

    def _get(self, holder: dict[str, Any], key: str, kind: type, place: str) -> Any:
        value = holder.get(key)
        self._require(type(value) is kind, f"{key} of {place} is missing or no {kind.__name__}")
        return value

    def _require(self, condition: bool, what: str) -> None:
        if not condition:
            raise _error(self._name, what)
