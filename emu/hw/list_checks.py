"""What the action lists of an application must agree on among themselves: each breach is a hazard (units.md 4, 6)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct

from emu.hw.application import SETS_UP, ActionList, Sent, Step, context_name
from emu.hw.cluster import DEFAULT_KERNEL_DONE_COUNT
from emu.sequencer.program import ContextType
from emu.timing.model import GRANTS
from emu.trace.hazards import Hazard
from emu.wire.actions import ActionType, Edge, having
from emu.wire.semantics import lcu_name

_OPENS = ActionType.OPEN_BOUNDARY_INPUT_CHANNEL
_ACTIVATES_INPUT = having(edge=Edge.BOUNDARY, inward=True)


class FoundInLists(Struct, frozen=True):
    """A hazard that lists show before they run, and the action that it lies in (-1: it is of a whole list)."""

    hazard: Hazard
    action_index: int = -1


@lru_cache(maxsize=16)  # runs of a program send the same lists again and again
def list_hazards(sent: Sent, *, well_formed: bool, starts_units: bool) -> tuple[FoundInLists, ...]:
    """Breaches of one application. `well_formed`: its configuration is (units.md 0); `starts_units`: configuration
    starts LCUs (10H/15H), not the lists."""
    found = [*_first_context(sent, well_formed), *_opened(sent)]
    if well_formed:
        found += [*_same_lcus(sent, starts_units), *_counts(sent)]
    return tuple(found)


def _first_context(sent: Sent, well_formed: bool) -> Iterator[FoundInLists]:
    """A preliminary list that ran as context 0 set up what the list of context 0 names."""
    header = sent.header
    if not header.preliminary_run_asap or not (sent.single_context or well_formed):
        return
    if header.split_allow_input_action and not sent.single_context:
        return  # each list sets up the next context (hef-compile.md 4.5, ENABLE_CONFIG_CHANNELS)
    ran, named = _setting_up(sent.list_of(ContextType.PRELIMINARY)), _setting_up(sent.list_of(ContextType.DYNAMIC))
    first = context_name(ContextType.DYNAMIC, 0)
    for one, other in zip(ran, named, strict=False):
        if (one.type, one.arguments) != (other.type, other.arguments):
            what = f"{one.type.name} as action {one.number} of the preliminary list is another"
            yield FoundInLists(Hazard("context-mismatch", f"{first}, {other.type.name}", what), other.number)
            return
    if len(ran) != len(named):
        what = f"{len(ran)} actions of the preliminary list set up edge layers, {len(named)} of this one"
        yield FoundInLists(Hazard("context-mismatch", first, what))


def _setting_up(actions: ActionList) -> list[Step]:
    return [step for step in actions.steps if step.type in SETS_UP | GRANTS]


def _opened(sent: Sent) -> Iterator[FoundInLists]:
    """A boundary input is activated with the transfer sizes that it was opened with (in all captures)."""
    opens = [step.arguments for actions in sent.lists for step in actions.by_type.get(_OPENS, ())]
    opened = {arguments.packed_vdma_channel_id: arguments for arguments in opens}
    for name, actions in sent.named():
        for step in actions.steps:
            if step.type not in _ACTIVATES_INPUT:
                continue
            a, channel = step.arguments, opened.get(step.arguments.packed_vdma_channel_id)
            size = getattr(channel, "periph_bytes_per_buffer", None)  # older runtimes do not send it
            if size is not None and size != a.periph_bytes_per_buffer:
                what = f"{a.periph_bytes_per_buffer} periph bytes a buffer, its channel was opened with {size}"
                yield FoundInLists(
                    Hazard("stream-misconfigured", f"{name}, H2D stream {a.stream_index}", what), step.number
                )


def _same_lcus(sent: Sent, starts_units: bool) -> Iterator[FoundInLists]:
    """SWITCH_LCU_BATCH of a batch switch names the LCUs that run: those that lists enable (14 of 14 files), or those
    that the preliminary list armed (units.md 4)."""
    named = sent.list_of(ContextType.BATCH_SWITCHING).batch_switches
    if starts_units:
        running = set(sent.list_of(ContextType.PRELIMINARY).batch_switches)
    else:
        running = {packed for actions in sent.lists for packed in actions.enables}
    switching = context_name(ContextType.BATCH_SWITCHING, 0)
    for packed in sorted(running - named.keys()):
        verb = "armed" if starts_units else "enabled"
        where = f"{switching}, {lcu_name(packed)}"
        yield FoundInLists(Hazard("lcu-mismatch", where, f"{verb}, not named for another batch"))
    for packed in sorted(named.keys() - running):
        yield FoundInLists(Hazard("armed-unused", f"{switching}, {lcu_name(packed)}", ""))


def _counts(sent: Sent) -> Iterator[FoundInLists]:
    """An LCU keeps its kernel_done_count when the batch changes (in all real files)."""
    counts: dict[int, int] = {}
    for actions in sent.lists:
        for packed, step in actions.enables.items():
            counts.setdefault(packed, getattr(step.arguments, "kernel_done_count", DEFAULT_KERNEL_DONE_COUNT))
    for kind in (ContextType.PRELIMINARY, ContextType.BATCH_SWITCHING):
        for step in sent.list_of(kind).by_type.get(ActionType.SWITCH_LCU_BATCH, ()):
            a = step.arguments
            expected = counts.setdefault(a.packed_lcu_id, a.kernel_done_count)
            if a.kernel_done_count != expected:
                what = f"counts to {a.kernel_done_count} a frame, before that to {expected}"
                where = f"{context_name(kind, 0)}, {lcu_name(a.packed_lcu_id)}"
                yield FoundInLists(Hazard("batch-not-switched", where, what), step.number)
