"""The host's end of boundary channels, as the protocol tells of it: what LAUNCH queued, known by digests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from emu.conform.memory import ANY_CONTEXT, NO_STREAM
from emu.conform.protocol import DIGEST_SIZE, MOST_TRANSFERS, Message, ProtocolError
from emu.host.streams import StreamState
from emu.hw.border import StreamLabel
from emu.hw.device import Device
from emu.hw.hostmem import FrameBuffer
from emu.hw.payload import Content, Payload
from emu.hw.pcie.card import PcieCard
from emu.sequencer.program import BoundaryStream, Direction


class GivenFrames:
    """The streams of one host and what is queued on them; outputs are told as transfers and kept nowhere.

    `card`: the registers that the interrupts of channels go to, where the host reads them.
    """

    keeps_outputs = True

    def __init__(self, chip: Device, card: PcieCard | None = None) -> None:
        self._chip = chip
        self._application = 0
        self._streams: dict[tuple[int, int], BoundaryStream] = {}  # by application and channel
        self._states: dict[int, StreamState] = {}
        self._frames: dict[int, FrameBuffer] = {}
        self._labels: dict[int, dict[int, StreamLabel]] = {}
        self._card = card
        self._attach()

    def _attach(self, first: int = 0) -> None:
        card = self._card
        if card is None:
            self._chip.attach_host(self, first)
            return
        card.attach(self, first)
        self._chip.tell_of(partial(self._through_card, card))

    def _through_card(self, card: PcieCard, packed: int, processed_ns: Sequence[int]) -> None:
        """Descriptors are free again at once; the host hears of it as its card tells."""
        self.interrupt(packed, processed_ns)
        card.channel_done(packed, processed_ns)
        card.passed(packed)

    def name(self, told: Message) -> None:
        """STREAM; ProtocolError for one without bytes or direction."""
        try:
            direction = Direction(told["direction"])
        except ValueError:
            raise ProtocolError(f"no stream has the direction {told['direction']}") from None
        if not told["transfer_size"] or not told["transfers"]:
            raise ProtocolError(f"frames of {told['transfers']} transfers of {told['transfer_size']} bytes")
        stream = -1 if told["stream"] == NO_STREAM else told["stream"]
        context = None if told["context"] == ANY_CONTEXT else told["context"]
        size, transfers, channel = told["transfer_size"], told["transfers"], told["channel"]
        self._streams[told["application"], channel] = BoundaryStream(
            told["name"], direction, stream, channel, 0, context or 0, size * transfers, size, transfers,
            told["address"], 1,
        )  # fmt: skip
        labels = self._labels.setdefault(told["application"], {})
        labels[channel] = StreamLabel(told["name"], transfers, stream, context, size * transfers)
        self._chip.name_streams(told["application"], labels)

    def begin(self, first: int = 0) -> None:
        """Nothing is queued any more; the next frame has this number."""
        self._states.clear()
        self._frames.clear()
        self._attach(first)

    def enable(self, application: int) -> None:
        """The channels are those of this application from now on."""
        if application != self._application:
            self._application = application
            self._states.clear()
            self._frames.clear()

    def launch(self, told: Message, write: bool = True) -> str:
        """LAUNCH, or QUEUE, behind which the host itself does `write`; why it cannot be, empty: it is done."""
        packed, transfers, digests = told["channel"], told["transfers"], told["digests"]
        if len(digests) % DIGEST_SIZE or not 0 < transfers <= MOST_TRANSFERS:
            return f"{transfers} transfers and {len(digests)} bytes of digests"
        opened = self._chip.vdma.channels.get(packed)
        if opened is None or not opened.host_opened:
            return f"channel {packed} is not open"
        state = self._state(packed)
        if state is None:
            return f"no STREAM has named channel {packed} and its list"
        if state.room < transfers:
            return f"channel {packed} has room for {state.room} transfers"
        length = state.listed.count
        if (state.position + transfers * state.per_transfer - told["num_available"]) % length:
            return f"channel {packed}: num_available {told['num_available']} does not lie behind {transfers} transfers"
        for at in range(transfers):
            moved = self._bind(packed, state, digests[at * DIGEST_SIZE : (at + 1) * DIGEST_SIZE])
            if write:
                self._chip.launch(packed, moved)
        return ""

    def _state(self, packed: int) -> StreamState | None:
        if packed not in self._states:
            stream = self._streams.get((self._application, packed))
            listed = None if stream is None else self._chip.host_memory.lists.get(stream.dma_address)
            if stream is None or listed is None:
                return None
            listed.bound.clear()
            self._states[packed] = StreamState(stream, listed, -(-stream.transfer_size // listed.page_size))
        return self._states[packed]

    def _bind(self, packed: int, state: StreamState, key: bytes) -> int:
        size, transfers = state.stream.transfer_size, state.stream.transfers_per_frame
        part = state.queued % transfers
        if not part:
            make = _content(key, size * transfers) if key else None
            self._frames[packed] = FrameBuffer(size * transfers, make=make)
        state.queued += 1
        return state.bind(self._frames[packed], part * size)

    # -- HostPort

    def interrupt(self, packed: int, processed_ns: Sequence[int]) -> None:
        state = self._states.get(packed)
        if state is not None:
            state.progress(self._chip.num_processed(packed))

    def free_frames(self, inputs: Iterable[int] | None = None) -> int:
        return 0

    def free_batches(self, batch: int) -> int:
        return 0

    def at_once(self, batch: int, ns: int, first: int, last: int) -> bool:
        return False

    def counters(self) -> Iterator[tuple[object, str]]:
        return iter(())

    def skip(self, descriptors: Mapping[int, int]) -> Mapping[int, int]:
        raise AssertionError("it has no free frames")


def _content(key: bytes, size: int) -> Callable[[int], Content | None]:
    return lambda number: Payload(lambda: key, size)
