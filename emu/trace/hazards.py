"""Hazards: what a chip would carry out without complaint, with wrong results (units.md 6). One name, one sentence."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from msgspec import Struct

from emu.errors import HazardError


class Hazard(NamedTuple):
    """One finding: a name of `HAZARDS`, where (list, cluster …), and what exactly is wrong there."""

    rule: str
    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.where}: {self.what}"

    @property
    def context(self) -> str:
        """The list that it was found in; empty where it is of the whole application."""
        head = self.where.partition(", ")[0]
        return head if _LIST.fullmatch(head) else ""

    @property
    def unit(self) -> str:
        """What is wrong there; empty where it is the list as a whole."""
        return self.where.removeprefix(self.context).removeprefix(", ")


class FoundHazard(Struct, frozen=True):
    """A hazard of a run: the application's index, and the action that it came with (-1: it is of no one action)."""

    application: int
    hazard: Hazard
    action_index: int

    def document(self) -> dict[str, str | int | None]:
        """Its JSON (cli.md, "Names that are binding"); `action_index` and `context` are null where there is none."""
        hazard = self.hazard
        return {
            "rule": hazard.rule,
            "context": hazard.context or None,
            "action_index": self.action_index if self.action_index >= 0 else None,
            "unit": hazard.unit,
            "message": hazard.what or HAZARDS[hazard.rule],
        }

    def line(self) -> str:
        """As a person reads it."""
        action = f" action {self.action_index}" if self.action_index >= 0 else ""
        place = ", ".join(filter(None, (self.hazard.context + action, self.hazard.unit)))
        return ": ".join(filter(None, (self.hazard.rule, place, self.hazard.what or HAZARDS[self.hazard.rule])))

    def error(self) -> HazardError:
        """What ends a run that is to end at its first hazard."""
        document = self.document()
        rule, message = document.pop("rule"), document.pop("message")
        where = {name: value for name, value in document.items() if value not in (None, "")}
        return HazardError(TABLE.index(self.hazard.rule) + 1, f"{rule}: {message}", **where)


_LIST = re.compile(r"activation|batch_switching|preliminary|dynamic_[0-9]+")


HAZARDS: Mapping[str, str] = MappingProxyType(
    {
        "config-over-running": "a record overwrites what an LCU works with that has frames to do",
        "record-refused": "a record whose check value, parity or constant bits are wrong is not written",
        "config-outside": "a record goes outside the known windows, or does not decode",
        "program-broken": "a sequencer program does not walk to its end",
        "started-unwritten": "a sequencer starts where nobody wrote",
        "go-without-barrier": "a command's go comes before every config channel has come to it",
        "raise-missing": "a config-done is awaited that nothing raised before",
        "raise-unawaited": "a config-done is left pending at the end of its list",
        "raise-overwritten": "a config-done is raised again before it was awaited",
        "late-block": "a block of L3 comes on the wrong side of the raise of its cluster, or by another channel",
        "enabled-before-config": "an LCU or a sequencer starts before the config-done of its cluster or group",
        "enabled-before-sequencer": "an LCU is enabled although a SEQUENCER_DONE of its cluster is still to come",
        "enabled-unconfigured": "an LCU is enabled that no program configured",
        "batch-not-switched": "an LCU counts to the end of another batch than the one that runs",
        "left-running": "an LCU that a list enabled still runs at its end, although the list disables others",
        "not-disabled": "configuration of a cluster begins although an LCU of it may still be enabled",
        "done-not-cleared": "a list triggers a sequencer without clearing its done bits",
        "armed-unused": "an LCU is named for batches and never enabled or started",
        "lcu-mismatch": "the LCUs that programs configure are not those that actions enable or await",
        "disable-order": "LCUs are not disabled in the reverse of the order in which they are enabled",
        "ring-order": "the slots of a ring of commands do not follow each other, or not in the order of completion",
        "next-context-mismatch": "a list does not configure exactly the LCUs of the context that follows",
        "block-overwritten": "a list writes the same memory twice",
        "routing-mismatch": "the crossbar does not carry what programs and neighbours read or feed",
        "stream-misconfigured": "a stream's registers disagree with its edge layer",
        "lcu-without-unit": "an LCU that programs configure has no sub-cluster, APU or input aligner",
        "edge-one-way": "an edge between LCUs or buffers has no return edge",
        "zero-point-mismatch": "a convolution takes another zero point for granted than its one source has",
        "output-offset-mismatch": "the layer behind an output stream has another zero point than the stream",
        "weights-do-not-fit": "an LCU counts other weight words than its part of the memory holds",
        "read-unwritten": "a channel reads memory that nobody wrote",
        "delivered-not-asked": "frames arrive at another stream, in another number or order than was asked",
        "list-order": "actions of a list stand in another order than in every real file",
        "done-unawaited": "a SEQUENCER_DONE is left pending at the end of its list",
        "cluster-not-prepared": "a cluster is configured before the write that prepares its sequencer",
        "context-mismatch": "the preliminary list ran as context 0 and set up other edge layers than that names",
    }
)
"""Every hazard that is looked for, by its name in a trace."""

TABLE = (
    "config-over-running",
    "enabled-before-config",
    "enabled-before-sequencer",
    "enabled-unconfigured",
    "not-disabled",
    "done-not-cleared",
    "batch-not-switched",
    "started-unwritten",
    "program-broken",
    "config-outside",
    "raise-unawaited",
    "raise-overwritten",
    "armed-unused",
    "left-running",
    "lcu-mismatch",
    "disable-order",
    "ring-order",
    "next-context-mismatch",
    "late-block",
    "stream-misconfigured",
    "record-refused",
    "go-without-barrier",
    "raise-missing",
    "block-overwritten",
    "routing-mismatch",
    "read-unwritten",
    "delivered-not-asked",
    "lcu-without-unit",
    "edge-one-way",
    "zero-point-mismatch",
    "output-offset-mismatch",
    "weights-do-not-fit",
    "list-order",
    "done-unawaited",
    "cluster-not-prepared",
    "context-mismatch",
)
"""All names of the table in units.md 6, in its order, which numbers them."""
