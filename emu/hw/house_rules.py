"""The house rules that a run rested on: what the model decides where nothing outside says how the chip does it.

Each has its paragraph in docs/reference, where it is marked [H] or [I]. `emu run --rules` lists those of a run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from msgspec import Struct

from emu.hw.application import Application
from emu.hw.chip import Chip
from emu.sequencer.program import ContextType
from emu.wire.actions import ActionType as A


class Circumstances(Struct, frozen=True):
    """What of a run decides which rules it rested on: the types of actions in the lists that were executed."""

    actions: frozenset[A]
    well_formed: bool
    starts_units: bool
    single_context: bool
    ran_first: bool  # the preliminary list ran as context 0
    batch_switched: bool
    hazards: bool

    def has(self, *kinds: A) -> bool:
        return not self.actions.isdisjoint(kinds)


Rests = Callable[[Circumstances], bool]
HOUSE_RULES: Mapping[str, tuple[str, Rests]] = MappingProxyType(
    {
        "units.md 0": (
            "configuration is well formed, and then strict, where one of its records shows a real compiler's file",
            lambda c: True,
        ),
        "units.md 1": (
            "where it is not, a config-done comes when everything that was fetched before has been written",
            lambda c: not c.well_formed and c.has(A.MODULE_CONFIG_DONE_INTERRUPT),
        ),
        "units.md 5": (
            "frames wait inside until the LCUs, clusters and streams that they need are there",
            lambda c: True,
        ),
        "units.md 6": ("what the chip would carry out with wrong results is a hazard", lambda c: c.hazards),
        "units.md 7": (
            "channels share engines and links evenly; DDR pairs move the descriptors that they name",
            lambda c: True,
        ),
        "firmware-actions.md 8": (
            "activation and preliminary once, then the dynamic contexts batch by batch; an LCU is done after its count "
            "times the batch; credits, tasks and waits as listed there",
            lambda c: True,
        ),
        "firmware-actions.md 5.3": (
            "another batch of the running application: its batch-switching list runs, or all is loaded again",
            lambda c: c.batch_switched,
        ),
        "hef-compile.md 4.5": (
            "each list sets up the edge layers of the next context, or the preliminary list those of context 0",
            lambda c: c.ran_first and not c.single_context,
        ),
        "chip-config.md 8": (
            "records are checked and programs run from what L3 holds; a program that breaks off is never done",
            lambda c: c.well_formed,
        ),
        "vdma.md 8": (
            "how far ahead channels take and give frames",
            lambda c: c.has(A.ACTIVATE_BOUNDARY_INPUT, A.ACTIVATE_BOUNDARY_OUTPUT),
        ),
        "ccw.md": (
            "sequencers that configuration starts are done when it has been consumed",
            lambda c: c.starts_units and not c.well_formed and c.has(A.SEQUENCER_DONE_INTERRUPT),
        ),
        "netflow-nms.md 10": (
            "an on-chip NMS frame is as many transfers as the host counts",
            lambda c: c.has(A.ENABLE_NMS),
        ),
    }
)
"""By the paragraph: what is decided, and which runs rest on it."""


def rested_on(chip: Chip, application: Application) -> tuple[str, ...]:
    """The paragraphs of the rules that the last run of an application rested on."""
    executed = [context for context in application.contexts if context.runs or context in application.dynamic]
    actions = frozenset(kind for context in executed for kind in context.actions.by_type)
    found = Circumstances(
        actions,
        chip.logic.active,
        chip.profile.config_starts_units,
        application.single_context,
        bool(application.header.preliminary_run_asap),
        application.context(ContextType.BATCH_SWITCHING).runs > 0,
        any(one.application == application.index for one in chip.hazards),
    )
    return tuple(name for name, (_, rests) in HOUSE_RULES.items() if rests(found))
