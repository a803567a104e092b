"""What the action lists of an application must agree on among themselves: each breach is a hazard (units.md 4, 6)."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from emu.hw.application import SETS_UP, Application, Context, Step
from emu.hw.cluster import DEFAULT_KERNEL_DONE_COUNT
from emu.sequencer.program import ContextType
from emu.timing.model import GRANTS
from emu.trace.hazards import Hazard
from emu.wire.actions import ActionType, Edge, having

_OPENS = ActionType.OPEN_BOUNDARY_INPUT_CHANNEL
_ACTIVATES_INPUT = having(edge=Edge.BOUNDARY, inward=True)


class FoundInLists(Struct, frozen=True):
    """A hazard that lists show before they run, and the action that it lies in (-1: it is of a whole list)."""

    hazard: Hazard
    action_index: int = -1


def list_hazards(application: Application, *, well_formed: bool, starts_units: bool) -> Iterator[FoundInLists]:
    """Breaches of one application. `well_formed`: its configuration is (units.md 0); `starts_units`: configuration
    starts LCUs (10H/15H), not the lists."""
    yield from _first_context(application, well_formed)
    yield from _opened(application)
    if well_formed:
        yield from _same_lcus(application, starts_units)
        yield from _counts(application)


def _first_context(application: Application, well_formed: bool) -> Iterator[FoundInLists]:
    """A preliminary list that ran as context 0 set up what the list of context 0 names."""
    header = application.header
    if not header.preliminary_run_asap or not (application.single_context or well_formed):
        return
    if header.split_allow_input_action and not application.single_context:
        return  # each list sets up the next context (hef-compile.md 4.5, ENABLE_CONFIG_CHANNELS)
    preliminary, first = application.context(ContextType.PRELIMINARY), application.dynamic[0]
    ran, named = _setting_up(preliminary), _setting_up(first)
    for one, other in zip(ran, named, strict=False):
        if (one.type, one.arguments) != (other.type, other.arguments):
            what = f"{one.type.name} as action {one.number} of the preliminary list is another"
            yield FoundInLists(Hazard("context-mismatch", f"{first.name}, {other.type.name}", what), other.number)
            return
    if len(ran) != len(named):
        what = f"{len(ran)} actions of the preliminary list set up edge layers, {len(named)} of this one"
        yield FoundInLists(Hazard("context-mismatch", first.name, what))


def _setting_up(context: Context) -> list[Step]:
    return [step for step in context.steps if step.type in SETS_UP | GRANTS]


def _opened(application: Application) -> Iterator[FoundInLists]:
    """A boundary input is activated with the transfer sizes that it was opened with (in all captures)."""
    opened = {step.arguments.packed_vdma_channel_id: step.arguments for step in _steps(application, _OPENS)}
    for context in application.contexts:
        for step in context.steps:
            if step.type not in _ACTIVATES_INPUT:
                continue
            a, channel = step.arguments, opened.get(step.arguments.packed_vdma_channel_id)
            sent = getattr(channel, "periph_bytes_per_buffer", None)  # older runtimes do not send it
            if sent is not None and sent != a.periph_bytes_per_buffer:
                what = f"{a.periph_bytes_per_buffer} periph bytes a buffer, its channel was opened with {sent}"
                where = f"{context.name}, H2D stream {a.stream_index}"
                yield FoundInLists(Hazard("stream-misconfigured", where, what), step.number)


def _steps(application: Application, kind: ActionType) -> Iterator[Step]:
    for context in application.contexts:
        for step in context.steps:
            if step.type is kind:
                yield step


def _same_lcus(application: Application, starts_units: bool) -> Iterator[FoundInLists]:
    """SWITCH_LCU_BATCH of a batch switch names the LCUs that run: those that lists enable (14 of 14 files), or those
    that the preliminary list armed (units.md 4)."""
    switching = application.context(ContextType.BATCH_SWITCHING)
    if starts_units:
        running = set(application.context(ContextType.PRELIMINARY).batch_switches)
    else:
        running = {packed for context in application.contexts for packed in context.enables}
    for packed in sorted(running - switching.batch_switches.keys()):
        verb = "armed" if starts_units else "enabled"
        where = f"{switching.name}, {lcu_name(packed)}"
        yield FoundInLists(Hazard("lcu-mismatch", where, f"{verb}, not named for another batch"))
    for packed in sorted(switching.batch_switches.keys() - running):
        yield FoundInLists(Hazard("armed-unused", f"{switching.name}, {lcu_name(packed)}", ""))


def _counts(application: Application) -> Iterator[FoundInLists]:
    """An LCU keeps its kernel_done_count when the batch changes (in all real files)."""
    counts: dict[int, int] = {}
    for context in application.contexts:
        for packed, step in context.enables.items():
            counts.setdefault(packed, getattr(step.arguments, "kernel_done_count", DEFAULT_KERNEL_DONE_COUNT))
    for context in (application.context(ContextType.PRELIMINARY), application.context(ContextType.BATCH_SWITCHING)):
        for step in context.steps:
            if step.type is ActionType.SWITCH_LCU_BATCH:
                a = step.arguments
                expected = counts.setdefault(a.packed_lcu_id, a.kernel_done_count)
                if a.kernel_done_count != expected:
                    what = f"counts to {a.kernel_done_count} a frame, before that to {expected}"
                    where = f"{context.name}, {lcu_name(a.packed_lcu_id)}"
                    yield FoundInLists(Hazard("batch-not-switched", where, what), step.number)


def lcu_name(packed: int) -> str:
    """An LCU by its packed_lcu_id, as units are called."""
    return f"cluster {packed >> 4} LCU {packed & 0xF}"
