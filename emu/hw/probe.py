"""Who watches the device: one place for tracer, observers, hooks, coverage, time stamps and breakpoints.

Whatever adds frames or batches up instead of playing them asks `skippable`, and nothing else, how many it may.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from msgspec import Struct, field

from emu.hw.application import Context, Step
from emu.hw.unit import Tally
from emu.hw.vdma import Channel, Edge
from emu.trace.hazards import Hazard
from emu.trace.tracer import Tracer
from emu.wire.breakpoints import Breakpoints

ActionHook = Callable[[Context, Step], None]
ContextHook = Callable[[str], None]
WriteHook = Callable[[int, bytes], None]
ReadHook = Callable[[int, int], None]
Judge = Callable[[], Iterable[Hazard]]


class Access(Struct, frozen=True):
    """An access of the host to a register or window of its card, or the interrupt that the card sent.

    `what`: read, write or interrupt; `name`: whose. A word has a `value` and its `fields`, a window `data`.
    """

    ns: int
    what: str
    name: str
    bar: int = -1
    offset: int = 0
    size: int = 0
    value: int = 0
    fields: Mapping[str, int] = {}
    data: bytes = b""


AccessHook = Callable[[Access], None]


class Observer(Protocol):
    """Sees everything that crosses the border of the device, register accesses excepted (they have hooks)."""

    def control(self, ns: int, request: bytes, reply: bytes) -> None: ...

    def launch(self, channel: Channel, transfers: int) -> None: ...

    def transfer(self, edge: Edge, frame: int, digest: bytes) -> None: ...


class Probe(Struct, eq=False):
    """Everybody who watches one device.

    `action_hooks` are called before each action, `context_hooks` before each list with its name, `write_hooks` and
    `read_hooks` at each access to the chip's memory (a write hook that has `loaded` gets what is loaded together there,
    as the image that it is), `register_hooks` at each of the host to the registers of its card.
    `timestamp_batch` is the batch whose actions get time stamps
    (None: no action does). `actions` and `statuses` count what was executed and answered, skipped batches included.
    `judges`, by application, say what does not agree beyond the lists, where its configuration is well formed.
    `one_by_one`: somebody wants every frame played. `stop_at_hazard`: the first hazard is an error (HazardError).
    """

    tracer: Tracer | None = None
    observers: list[Observer] = field(default_factory=list)
    action_hooks: list[ActionHook] = field(default_factory=list)
    context_hooks: list[ContextHook] = field(default_factory=list)
    write_hooks: list[WriteHook] = field(default_factory=list)
    read_hooks: list[ReadHook] = field(default_factory=list)
    register_hooks: list[AccessHook] = field(default_factory=list)
    breakpoints: Breakpoints = field(default_factory=Breakpoints)
    judges: dict[int, Judge] = field(default_factory=dict)
    timestamp_batch: int | None = None
    one_by_one: bool = False
    stop_at_hazard: bool = False
    actions: Tally = field(default_factory=lambda: Tally("actions"))
    statuses: Tally = field(default_factory=lambda: Tally("statuses"))

    def skippable(self, wanted: int, batch: int | None = None, told: bool = False) -> int:
        """How many of `wanted` things to come nobody has to see one by one.

        They are frames of the list that runs, or whole batches from number `batch` on. `told`: a tracer is told what
        happens in them all the same.
        """
        if (
            self.one_by_one
            or (self.tracer is not None and not told)
            or self.observers
            or self.action_hooks
            or self.context_hooks
            or self.write_hooks
            or self.read_hooks
            or self.register_hooks
            or self.breakpoints
        ):
            return 0
        stamped = self.timestamp_batch
        if batch is not None and stamped is not None and stamped >= batch:
            wanted = min(wanted, stamped - batch)
        return max(0, wanted)

    @property
    def attends_actions(self) -> bool:
        """Whether anybody has to be asked at every action."""
        # asked after every wait: places rather than the truth of the breakpoints, which is a call
        return bool(self.breakpoints.places or self.action_hooks) or self.timestamp_batch is not None

    def reset(self) -> None:
        """What the host set up in the firmware is gone with a reset of the chip; who watches from outside stays."""
        self.breakpoints = Breakpoints()
        self.timestamp_batch = None
