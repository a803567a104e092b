"""How far the context-switch task is, as data: a checkpoint keeps it, and the task goes on from there."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from emu.hw.application import Context, Step
from emu.hw.periodic import BatchLoop
from emu.hw.waits import Wait


class Stage(Enum):
    """What the task does of the batches of an application."""

    EARLY = "early"  # preliminary list and what belongs to it
    LISTS = "lists"  # dynamic contexts
    ROUND = "round"  # a round is over


class Round(Struct, eq=False):
    """How far the task is: in a stage, at which part of it (the dynamic context, or the part of the early ones).

    `idling`: behind the list, until the frames have passed; `since`: when that began. `moved`, `before`: boundary
    transfers at the end of this round and of the one before it.
    """

    loop: BatchLoop
    stage: Stage = Stage.EARLY
    part: int = 0
    idling: bool = False
    since: int = 0
    moved: int = -1
    before: int = -1


class Standing(Struct, eq=False):
    """Where a list waits: what `_context` goes on with."""

    outer: Context | None
    outer_step: Step | None
    started: int
    begun: int
    wait: Wait
