"""A profile of the firmware as a trace: records of the actions that were executed, with the time of their stamps.

What hardware gives (`emu.trace.fw_actions`) says of one batch when each action was done, and nothing of launches,
transfers or units; a trace of emu can be brought into the same form, to be compared with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from emu.errors import HailoError, HailoStatus
from emu.files import shown
from emu.trace.events import Kind
from emu.trace.fw_actions import CYCLES, FirmwareProfile, StampedAction, StampedContext, StampedRun, read_fw_actions
from emu.trace.reader import Record, TraceReader
from emu.trace.sinks.fw_actions import UNKNOWN, data_of
from emu.wire.actions import ACTIONS, ActionType
from emu.wire.wire import Wire, wire_of

KINDS = frozenset({Kind.CONTEXT_BEGIN.value, Kind.CONTEXT_END.value, Kind.ACTION.value})
"""The kinds of records that a profile gives."""
MEASURED = 2  # the third batch, as HailoRT measures it (fw-trace.md 6.1)
_MAX_VALUE = 1 << 32


class StampedTrace:
    """The records of a file of measure-fw-actions, for whoever reads traces; iterating begins anew.

    The file does not say which release wrote it: ids are packed as `runtime` packs them.
    """

    kinds: frozenset[str] | None = KINDS

    def __init__(self, path: Path, runtime: str) -> None:
        self.path = path
        self.advance: Callable[[int], None] | None = None  # it is read at once
        self.profile = read_fw_actions(path)
        self.name = shown(path)
        self.runtime = runtime

    def known(self) -> Iterator[Record]:
        return records(self.profile, self.runtime, self.name)


def records(profile: FirmwareProfile, runtime: str, name: str) -> Iterator[Record]:
    """The actions of all runs, list by list; what was never executed is left out, with its number.

    HAILO_INVALID_ARGUMENT for values that no action can have.
    """
    wire = wire_of(runtime)
    cycles = 0
    for run in profile.runs:
        before: int | None = None
        for context in run.contexts:
            executed = [(index, one) for index, one in listed(context) if one.timestamp]
            for position, (index, one) in enumerate(executed):
                # stamps are 32 bits of a counter that goes round; one that goes back stays one that goes back
                if before is not None:
                    cycles += (one.timestamp - before + CYCLES // 2) % CYCLES - CYCLES // 2
                before = one.timestamp
                ns = max(0, cycles) * 1000 // profile.cycle_mhz
                if not position:
                    yield {"ns": ns, "kind": Kind.CONTEXT_BEGIN.value, "application": 0, "context": context.name}
                yield {
                    "ns": ns,
                    "kind": Kind.ACTION.value,
                    "application": 0,
                    "context": context.name,
                    "action_index": index,
                    "action": one.type.name,
                    "arguments": _arguments(one, wire, name),
                }
            if executed:
                yield {"ns": ns, "kind": Kind.CONTEXT_END.value, "application": 0, "context": context.name}


def listed(context: StampedContext) -> Iterator[tuple[int, StampedAction]]:
    """The actions of a list with their numbers, sub-actions counted and headers of REPEATED not, as everywhere."""
    actions = (one for one in context.actions if one.type is not ActionType.REPEATED_ACTION)
    return enumerate(actions)


def _arguments(action: StampedAction, wire: Wire, name: str) -> dict[str, int]:
    """The fields that the file shows, packed as on the wire."""
    data = action.data
    numbers = {key: value for key, value in data.items() if type(value) is int}
    if any(not 0 <= value < _MAX_VALUE for value in numbers.values()):
        raise _error(name, f"a value of {action.type.name} does not fit 32 bits")
    found = {key: value for key, value in numbers.items() if key in ACTIONS[action.type].NAMES}
    for prefix in ("", "d2h_", "h2d_"):
        engine = numbers.get(f"{prefix}engine_index")
        channel = numbers.get(f"{prefix}vdma_channel_index", numbers.get("channel_index") if not prefix else None)
        if engine is not None and channel is not None:
            found[f"{prefix}packed_vdma_channel_id"] = engine << wire.channel_id_shift | channel
    if "packed_lcu_id" in ACTIONS[action.type].NAMES and {"cluster_index", "lcu_index"} <= numbers.keys():
        found["packed_lcu_id"] = numbers["cluster_index"] << 4 | numbers["lcu_index"]
    if action.type is ActionType.CHANGE_VDMA_TO_STREAM_MAPPING:
        found["is_dummy_stream"] = int(data.get("type") == "dummy")
    return found


def profile_of_trace(reader: TraceReader) -> FirmwareProfile:
    """What measure-fw-actions would have said of the run that a trace tells: each list as the third batch executed
    it, or the last of fewer.

    Memory of a few executions of each list. Raises what reading the trace raises.
    """
    header, wire = reader.header, wire_of(reader.runtime)
    mhz = round(header.timestamp_mhz)
    if not 1 <= mhz <= 10_000:
        raise _error(reader.name, f"its time stamps count {header.timestamp_mhz} MHz")
    kept: dict[str, list[StampedAction]] = {}
    times: dict[str, int] = {}
    for number, record in enumerate(reader, 2):
        context = record.get("context", "")
        if record["kind"] == Kind.CONTEXT_BEGIN.value:
            times[context] = times.get(context, 0) + 1
            if times[context] <= MEASURED + 1:
                kept[context] = []
        elif record["kind"] == Kind.ACTION.value and times.get(context, 0) <= MEASURED + 1:
            try:
                kept.setdefault(context, []).append(_stamped(record, wire, mhz))
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                raise _error(
                    reader.name, f"the record does not say what it has to ({type(error).__name__} {error})", number
                ) from None
    contexts = tuple(
        StampedContext(name, 0, 0, times.get(name, 0), 0, tuple(actions)) for name, actions in kept.items()
    )
    return FirmwareProfile(mhz, header.model, "", (StampedRun(header.batch, float(UNKNOWN), contexts),))


def executed_only(profile: FirmwareProfile) -> FirmwareProfile:
    """The profile without what was never executed, of which a trace has nothing."""
    runs = []
    for run in profile.runs:
        contexts = (
            one._replace(actions=tuple(action for action in one.actions if action.timestamp)) for one in run.contexts
        )
        runs.append(run._replace(contexts=tuple(one for one in contexts if one.actions)))
    return profile._replace(runs=tuple(runs))


def _stamped(record: Record, wire: Wire, mhz: int) -> StampedAction:
    made = wire.lists.classes[ActionType[record["action"]]]
    arguments: dict[str, Any] = record.get("arguments", {})
    action = made(*[arguments[name] for name in made.NAMES])
    cycles = record["ns"] * mhz // 1000 % CYCLES
    return StampedAction(action.type, 0, cycles or 1, UNKNOWN, data_of(action, wire.name))


def _error(name: str, what: str, line: int | None = None) -> HailoError:
    where: dict[str, Any] = {"file": name} if line is None else {"file": name, "line": line}
    return HailoError(HailoStatus.HAILO_INVALID_ARGUMENT, what, **where)
