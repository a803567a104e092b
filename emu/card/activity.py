"""What the applications of a card did, for whoever reports it: how often they ran, their frames, their rate."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from msgspec import Struct, field

from emu.hw.application import Application, Context
from emu.hw.inspection import Inspection

if TYPE_CHECKING:
    from emu.card.compiled import Network
    from emu.trace.sinks.fw_actions import DownloadedContext

_NS_PER_S = 1e9


class Passed(Struct):
    """What passed a boundary stream: bytes and frames in all, `run_frames` since the application was enabled.

    `mark_ns`: when the last frame of the first batch since then had passed, `last_ns` the last one at all.
    """

    to_device: bool
    size: int = 0
    frames: int = 0
    run_frames: int = 0
    mark_ns: int = 0
    last_ns: int = 0


class Activity(Struct):
    """What one application did, whenever it was enabled. `network`: what it is, None: no HEF was seen for it.

    `simulated_ns`: from each ENABLE to the last output behind it, in all. `steady_frames` left in `steady_ns`, the time
    behind the first batch of each activation. `batches`: of the last activation.
    """

    application: Application
    network: Network | None = None
    activations: int = 0
    simulated_ns: int = 0
    steady_frames: int = 0
    steady_ns: int = 0
    batches: int = 0
    streams: dict[int, Passed] = field(default_factory=dict)
    _enabled_ns: int | None = None
    _unended: Counter[str] = field(default_factory=Counter)  # ns of lists that never end, by context
    _runs: Counter[str] = field(default_factory=Counter)

    @property
    def fps(self) -> float | None:
        """Frames a second behind the first batch of each activation; None where nothing came behind it."""
        return self.steady_frames * _NS_PER_S / self.steady_ns if self.steady_ns else None

    def runs(self, context: Context) -> int:
        """How often the list of a context was executed."""
        return context.runs + self._runs[context.name]

    def time(self, context: Context) -> int:
        """How long the list of a context was executed, in simulated ns."""
        return context.simulated_ns + self._unended[context.name]

    def lists(self) -> tuple[DownloadedContext, ...]:
        """The lists with their time stamps, as the device gave them out while it held the application."""
        from emu.host.profiler import LIST_ORDER
        from emu.hw.controls import ACTION_LIST_BASE, ACTION_LIST_STRIDE
        from emu.trace.sinks.fw_actions import DownloadedContext

        return tuple(
            DownloadedContext(
                context.name,
                ACTION_LIST_BASE + context.firmware_index * ACTION_LIST_STRIDE,
                context.stamped(),
                self.batches,
                0,
            )
            for kind in LIST_ORDER
            for context in self.application.contexts
            if context.type is kind
        )

    def enter(self, network: Network | None, ns: int) -> None:
        """The application is enabled."""
        self.network = network
        self.activations += 1
        self._enabled_ns = ns
        for passed in self.streams.values():
            passed.run_frames = 0

    def passed(self, channel: int, to_device: bool, size: int, frame_size: int, ns: int) -> None:
        """Bytes passed a channel (packed id), whose frames have `frame_size` of them."""
        found = self.streams.get(channel)
        if found is None:
            found = self.streams[channel] = Passed(to_device)
        found.size += size
        frames = found.size // frame_size - found.frames
        batch = self.application.header.batch_size
        if found.run_frames < batch <= found.run_frames + frames:
            found.mark_ns = ns
        found.frames += frames
        found.run_frames += frames
        found.last_ns = ns

    def leave(self, chip: Inspection) -> None:
        """The application is about to be disabled; without effect on one that is not enabled."""
        if self._enabled_ns is None:
            return
        outputs = [one for one in self.streams.values() if not one.to_device and one.run_frames]
        last = max((one.last_ns for one in outputs), default=self._enabled_ns)
        self.simulated_ns += last - self._enabled_ns
        frames = min((one.run_frames for one in outputs), default=0)
        mark = max((one.mark_ns for one in outputs), default=0)
        if frames > self.application.header.batch_size and last > mark:
            self.steady_frames += frames - self.application.header.batch_size
            self.steady_ns += last - mark
        for context in self.application.contexts:
            since = chip.running_since(context)
            if since is not None:
                self._runs[context.name] += 1
                self._unended[context.name] += max(0, last - since)
        self.batches = chip.batch
        self._enabled_ns = None
