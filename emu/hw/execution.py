"""What the context-switch task is executing: the part of the firmware that handlers read and write."""

from __future__ import annotations

from enum import Enum

from emu.chips.chips import Profile
from emu.hw.application import Application, Context, Step
from emu.hw.chip import Chip
from emu.hw.clock import Clock
from emu.hw.probe import Probe
from emu.hw.unit import Unit
from emu.hw.waits import Wait, at


class State(Enum):
    """What the state machine is doing."""

    RESET = "reset"
    ACTIVATING = "activating"
    RUNNING = "running"
    STOPPED = "stopped"  # batch_count reached
    FAILED = "failed"


class Execution(Unit):
    """The state of the task. `now` is its own instant in ns, never behind the clock's."""

    COUNTERS = ("batch_index", "frames_done")
    OUTLIVES_APPLICATIONS = True  # it is what resets the others

    def __init__(self, chip: Chip) -> None:
        self.device: Chip = chip
        self.probe: Probe = chip.probe
        self.clock: Clock = chip.clock
        self.profile: Profile = chip.profile
        self.phase = State.RESET
        self.now = 0
        self.application: Application | None = None
        self.context: Context | None = None
        self.step: Step | None = None
        self.waiting: Wait | None = None
        self.batch = 1
        self.batch_count = 0
        self.batch_index = 0
        self.frames_done = 0
        self.grant_at: int | None = None
        self.activated_streams: set[tuple[int, int]] = set()
        self.batch_switching = False
        # what a handler wants the trace to say about the action: what it started or moved
        self.note = ""
        self.note_bytes = 0

    @property
    def tracing(self) -> bool:
        return self.probe.tracer is not None

    def until(self, ns: int, what: str, woke_by: str) -> Wait | None:
        """Wait for an instant that is already known: no more than a later one, where nobody hears of the wait."""
        if self.probe.tracer is not None or self.device.own_handlers:
            return at(ns, what, woke_by)
        if ns > self.now:
            self.now = ns
        return None
