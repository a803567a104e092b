"""The border between host and chip: the host writes and asks through `ChipPort`, the chip answers through `HostPort`.

Nothing else crosses it. A card has registers (`Bars`), and the host's driver of it (`emu.host.pcie`) is a `ChipPort`
over them; a device that is part of its host (Hailo-10H, 15H and their kin) has none, and is one itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from emu.hw.clock import Clock
from emu.hw.hostmem import HostMemory
from emu.hw.notifications import RunTimeError
from emu.hw.payload import Content
from emu.sequencer.program import Program

if TYPE_CHECKING:
    from emu.hw.config.execute import Held

# what a network makes of the inputs of a frame, both by stream, from (number of the frame, its inputs)
Model = Callable[[int, Mapping[str, Content | None]], Mapping[str, bytes]]
# what the core computes of a frame in one context: its output streams by index, from (number of the frame, dynamic
# context, its input streams by index, what the chip holds where that may not be what the lists say)
CoreModel = Callable[[int, int, Mapping[int, Content | None], "Held | None"], Mapping[int, bytes]]


class StreamLabel(Struct, frozen=True):
    """What the host knows of a boundary channel and the device does not: its name, transfers and bytes a frame, the
    stream (-1: not known) and the dynamic context (None: any) that it was asked for."""

    name: str
    transfers_per_frame: int = 1
    stream: int = -1
    context: int | None = None
    frame_bytes: int = 0


class HostPort(Protocol):
    """The host side of the boundary channels, as the core needs it. `keeps_outputs`: it will look at them."""

    keeps_outputs: bool

    def interrupt(self, packed: int, processed_ns: Sequence[int]) -> None:
        """The interrupt of a channel, on time or late; num_processed says how far it is.

        `processed_ns`: when each frame was through of which no interrupt has told yet.
        """

    def free_frames(self, inputs: Iterable[int] | None = None) -> int:
        """How many further frames of some inputs (None: of all) the host feeds without ever being late."""

    def free_batches(self, batch: int) -> int:
        """How many batches that flow alike come before the last ones, which have to be played."""

    def at_once(self, batch: int, ns: int, first: int, last: int) -> bool:
        """Whether frames are queued the moment there is room, never when the host has them, in batches that each take
        `ns`: from number `first` on (0: the next one, -1: the last one) to `last`.
        """

    def counters(self) -> Iterable[tuple[object, str]]:
        """What the host counts, as (holder, attribute)."""

    def skip(self, descriptors: Mapping[int, int]) -> Mapping[int, int]:
        """Many frames passed in one step: each of some channels (packed id) moved on by so many descriptors.

        Returns how many fewer than that are queued behind it, by channel, where the last frames were among them.
        """


class Surroundings(Protocol):
    """What a simulated host has of the chip beside all registers and messages: one time, one memory, and the outcome.

    Who only looks does so through `emu.hw.inspection.Inspection`.
    """

    @property
    def clock(self) -> Clock:
        """Simulated time, for what the host does later."""

    # -- memory of the host

    def map_memory(self, program: Program) -> None:
        """The buffers of a program are where its lists say; ValueError where another program's are."""

    def unmap_memory(self, program: Program) -> None:
        """They are no longer there."""

    @property
    def host_memory(self) -> HostMemory:
        """What the DMA reaches."""

    # -- frames

    def name_streams(self, application: int, labels: Mapping[int, StreamLabel]) -> None:
        """The boundary channels of an application by their packed ids."""

    def compute_with(self, application: int, model: Model | None, core: CoreModel | None = None) -> None:
        """What gives the outputs of an application's frames: first `model`, which knows frames by the host's streams,
        then what its core computes context by context; what neither gives is synthetic."""

    # -- how it goes on

    def run_until(self, stop: Callable[[], bool]) -> bool:
        """Let simulated time pass until `stop()`; False if nothing can progress before that."""

    @property
    def refusal(self) -> str:
        """Why the last control message that was refused was, in words."""

    @property
    def error(self) -> RunTimeError | None:
        """What stopped the application that was enabled last; None: nothing did."""

    @property
    def failed(self) -> bool:
        """Whether it stands there, until a RESET."""

    @property
    def resting(self) -> bool:
        """Whether nothing goes on before the host acts: frames, another batch or application."""

    @property
    def awaits_cache_update(self) -> bool:
        """Whether the firmware stands in WAIT_FOR_CACHE_UPDATED."""


class ChipPort(Surroundings, Protocol):
    """The chip as the host reaches it. Simulated time passes in `control` and `run_until` only."""

    def control(self, request: bytes) -> bytes:
        """Serve one control message; returns the reply."""

    def attach_host(self, host: HostPort, first_frame: int = 0) -> None:
        """Who hears of completed inputs and outputs; `first_frame` is the number of the first after the next ENABLE."""

    def launch(self, packed: int, num_available: int, /) -> None:
        """The host wrote descriptors of one transfer, and num_available of their channel."""

    def num_processed(self, packed: int, /) -> int:
        """The register of a channel: how far its DMA is, modulo its depth."""


class Bars(Protocol):
    """The registers of a card (`emu.hw.pcie`), by BAR and offset: all that a host reaches of it.

    `launch`, `num_processed` and `control` are what accesses to a channel's registers and to the mailboxes come to, for
    a driver that is told that it is spared them.
    """

    def launch(self, packed: int, num_available: int, /) -> None:
        """As `ChipPort.launch`."""

    def num_processed(self, packed: int, /) -> int:
        """As `ChipPort.num_processed`."""

    def control(self, request: bytes, /) -> bytes | None:
        """As `ChipPort.control`; None, and nothing done, where the accesses have to show what comes of it."""

    def connect(self, vector: Callable[[], None], spare: Callable[[bool], None] | None = None) -> None:
        """Who takes the interrupts. `spare` hears whether accesses are spared, at once and whenever that changes."""

    def read(self, bar: int, offset: int, size: int = 4) -> int:
        """A word, or a part of one."""

    def write(self, bar: int, offset: int, value: int, size: int = 4) -> None:
        """A word."""

    def read_block(self, bar: int, offset: int, size: int) -> bytes:
        """Bytes one after the other."""

    def write_block(self, bar: int, offset: int, data: bytes) -> None:
        """Bytes one after the other."""

    def attach(self, host: HostPort, first_frame: int = 0) -> None:
        """Whose frames they are, which no register says (`HostPort`)."""

    def passed(self, packed: int) -> Sequence[int]:
        """When the frames of a channel were through of which no interrupt has told yet: no register says."""
