"""Background tasks of the firmware: burst credits for boundary inputs, credit copying for DDR pairs.

Both are configured while idle, started by an action, and go idle by themselves once the batch has passed
(firmware-actions.md 7, modules 51 and 37).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from msgspec import Struct

from emu.hw.unit import Unit
from emu.wire.status import FirmwareStatus as S
from emu.wire.status import require

MAX_BURST_ACTIONS = 32
MAX_DESCRIPTORS_PER_BATCH = (1 << 32) - 1


class BurstJob(Struct):
    """One boundary input: bytes of credit a frame, for so many frames (0: nobody said)."""

    channel: int
    stream: int
    network: int
    frame_periph_size: int
    batch: int = 0


@dataclass(eq=False, repr=False, slots=True)
class BurstCreditsTask(Unit):
    """Gives a boundary input the credits of one frame after the other until the batch is consumed."""

    name: ClassVar[str] = "burst-credits task"

    jobs: dict[int, BurstJob] = field(default_factory=dict)
    running: bool = False
    held: bool = False  # the host paused the application

    @property
    def feeds(self) -> bool:
        """Whether inputs get credits."""
        return self.running and not self.held

    def add(self, job: BurstJob) -> None:
        require(
            not self.running,
            S.BURST_CREDITS_TASK_STATUS_TRYING_TO_ADD_ACTION_WHILE_NOT_IN_IDLE_STATE,
            lambda: f"stream {job.stream} added while the burst-credits task runs",
        )
        require(
            len(self.jobs) < MAX_BURST_ACTIONS,
            S.BURST_CREDITS_TASK_STATUS_TOO_MANY_ACTIONS,
            lambda: f"more than {MAX_BURST_ACTIONS} inputs",
        )
        self.jobs[job.channel] = job

    def start(self) -> None:
        require(
            not self.running,
            S.BURST_CREDITS_TASK_STATUS_TRYING_TO_CHANGE_STATE_TO_INFER_WHILE_ALREADY_IN_INFER,
            "the burst-credits task is already running",
        )
        require(
            bool(self.jobs),
            S.BURST_CREDITS_TASK_STATUS_TASK_NO_CONFIGURED_ACTIONS,
            "the burst-credits task has no configured inputs",
        )
        self.running = True

    def finish(self) -> None:
        """The batch is consumed."""
        self.running = False
        self.jobs.clear()

    def stop(self) -> None:
        """A batch switch stops the task; its jobs stay for the new batch."""
        self.running = False

    def reset(self) -> None:
        self.finish()

    def state(self, now: int) -> tuple[object, ...]:
        return (
            self.running,
            self.held,
            tuple(
                (job.channel, job.stream, job.network, job.frame_periph_size, job.batch) for job in self.jobs.values()
            ),
        )


class DdrPair(Struct):
    """A DDR portal: what the core writes through `d2h` comes back through `h2d`."""

    h2d: int
    d2h: int
    network: int
    descriptors_per_frame: int
    programmed_descriptors: int


@dataclass(eq=False, repr=False, slots=True)
class DdrBufferingTask(Unit):
    """Copies credits from the producing to the consuming channel of each pair."""

    name: ClassVar[str] = "DDR-buffering task"
    COUNTERS: ClassVar[tuple[str, ...]] = ("moved_descriptors",)

    pairs: dict[int, DdrPair] = field(default_factory=dict)
    running: bool = False
    moved_descriptors: int = 0

    def add(self, pair: DdrPair, batch: int) -> None:
        require(
            not self.running,
            S.DDR_BUFFER_STATUS_TRYING_TO_ADD_DDR_PAIR_WHILE_NOT_IN_IDLE_STATE,
            lambda: f"DDR pair {pair.d2h} -> {pair.h2d} added while the task runs",
        )
        require(
            pair.descriptors_per_frame * batch <= MAX_DESCRIPTORS_PER_BATCH,
            S.DDR_BUFFER_STATUS_OVERFLOW_IN_DESCRIPTORS_PER_BATCH,
            lambda: f"{pair.descriptors_per_frame} descriptors a frame x batch {batch} exceed 32 bits",
        )
        self.pairs[pair.d2h] = pair

    def start(self) -> None:
        require(
            not self.running,
            S.DDR_BUFFER_STATUS_TRYING_TO_CHANGE_STATE_TO_INFER_WHILE_ALREADY_DURING_INFER,
            "the DDR task is already running",
        )
        require(bool(self.pairs), S.DDR_BUFFER_STATUS_NO_DDR_PAIRS_TO_RUN_INFER_ON, "the DDR task has no pairs")
        self.running = True

    def count_frames(self, frames: int) -> None:
        self.moved_descriptors += frames * sum(pair.descriptors_per_frame for pair in self.pairs.values())

    def reset(self) -> None:
        self.pairs.clear()
        self.running = False

    def state(self, now: int) -> tuple[object, ...]:
        return self.running, tuple(
            (pair.h2d, pair.d2h, pair.network, pair.descriptors_per_frame, pair.programmed_descriptors)
            for pair in self.pairs.values()
        )


@dataclass(eq=False, repr=False, slots=True)
class CacheUpdates(Unit):
    """The host's signals that it moved the cache offset, and how many the lists have waited for."""

    name: ClassVar[str] = "cache updates"
    COUNTERS: ClassVar[tuple[str, ...]] = ("signals", "awaited")
    OUTLIVES_APPLICATIONS: ClassVar[bool] = True

    signals: int = 0
    awaited: int = 0

    def reset(self) -> None:
        self.signals = self.awaited = 0
