"""Rules about channels, their counters and their frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from emu.trace.reader import Record
from emu.trace.rules.rule import Rule, application_begins
from emu.wire import semantics

_STATUS_CHANGE = "CHANGE_CONTEXT_SWITCH_STATUS"
_ACTIVATES = semantics.ACTIVATES | semantics.OPENS_CONFIG
_NEEDS_ACTIVE = (
    semantics.CONFIG_FETCHES
    | semantics.WAITS
    | semantics.CLOSES
    | {"FETCH_DATA_FROM_VDMA_CHANNEL", "VALIDATE_VDMA_CHANNEL"}
)


class ClosedChannel(Rule):
    """No channel between contexts is used after DEACTIVATE_VDMA_CHANNEL, no config channel after
    DEACTIVATE_CFG_CHANNEL, unless it was activated again."""

    name = "closed-channel"
    kinds = ("context_begin", "transfer", "action")
    actions = _ACTIVATES | (_NEEDS_ACTIVE & semantics.ON_CHANNEL) | semantics.CONFIG_FETCHES

    def __init__(self, runtime: str) -> None:
        super().__init__(runtime)
        self._closed: set[str] = set()
        self._closed_streams: set[int] = set()

    def check(self, record: Record) -> Iterable[str]:
        kind = record["kind"]
        if kind == "action":
            return self._action(record["action"], record.get("arguments", {}))
        if kind == "transfer":
            channel = semantics.channel_of(record.get("unit", ""))
            if channel in self._closed:
                return (f"frame {record.get('frame')} passes {channel}, which is closed",)
        elif application_begins(record):
            self._closed.clear()
            self._closed_streams.clear()
        return ()

    def _action(self, action: str, arguments: dict[str, Any]) -> Iterable[str]:
        stream, closed, channel = arguments.get("config_stream_index"), False, ""
        if action in semantics.CONFIG_FETCHES and stream is not None:
            closed = stream in self._closed_streams
        elif "packed_vdma_channel_id" in arguments:
            channel = self._channel(arguments)
            if action in _ACTIVATES:
                self._closed.discard(channel)
                self._closed_streams.discard(stream)
                return ()
            closed = channel in self._closed and action in _NEEDS_ACTIVE
            if action in semantics.CLOSES:
                self._closed.add(channel)
                if stream is not None:
                    self._closed_streams.add(stream)
        return (f"{action} on {channel or f'config stream {stream}'}, which is closed",) if closed else ()


class CreditsConserved(Rule):
    """Credits are conserved: a boundary channel never processes more descriptors than the host made available, both
    counts only grow while it is open, only a launch makes descriptors available, and as many for each transfer."""

    name = "credits-conserved"
    kinds = ("action", "launch", "transfer")
    actions = semantics.OPENS

    def __init__(self, runtime: str) -> None:
        super().__init__(runtime)
        self._counters: dict[str, tuple[int, int]] = {}
        self._launched: dict[str, tuple[int, int]] = {}  # transfers and descriptors of the first launch

    def check(self, record: Record) -> Iterator[str]:
        kind, arguments = record["kind"], record.get("arguments", {})
        if kind == "action" and record["action"] in semantics.OPENS:
            self._counters.pop(self._channel(arguments), None)
            self._launched.pop(self._channel(arguments), None)
        elif kind == "launch" or (kind == "transfer" and record.get("cause", "").startswith("boundary")):
            channel = semantics.channel_of(record.get("unit", ""))
            now = arguments["available"], arguments["processed"]
            before = self._counters.get(channel, (0, 0))
            self._counters[channel] = now
            # an on-chip NMS frame is many transfers, queued again one by one while it passes
            if kind == "transfer" and now[1] > now[0] and arguments.get("transfers", 1) == 1:
                yield f"{channel} processed {now[1]} descriptors, {now[0]} were available"
            if now[0] < before[0] or now[1] < before[1]:
                yield f"{channel} went back from {before} to {now} (available, processed)"
            if kind == "transfer" and now[0] != before[0]:
                yield f"{channel}: a transfer changed what is available from {before[0]} to {now[0]}"
            if kind == "launch" and now[1] != before[1]:
                yield f"{channel}: a launch changed what is processed from {before[1]} to {now[1]}"
            if kind == "launch":
                yield from self._launch(channel, arguments["transfers"], now[0] - before[0])

    def _launch(self, channel: str, transfers: int, descriptors: int) -> Iterator[str]:
        """Every transfer of a channel lies behind as many descriptors."""
        if not isinstance(transfers, int | float):  # a text or list times a forged number would be memory
            raise TypeError("transfers is no number")
        known = self._launched.setdefault(channel, (transfers, descriptors))
        if transfers * known[1] != known[0] * descriptors:
            yield (
                f"{channel}: a launch of {transfers} transfers made {descriptors} descriptors available, "
                f"one of {known[0]} made {known[1]} available"
            )


class ReadWasWritten(Rule):
    """Every frame that a context reads from a buffer between contexts was written there before."""

    name = "read-was-written"
    kinds = ("context_begin", "transfer")

    def __init__(self, runtime: str) -> None:
        super().__init__(runtime)
        self._written: dict[int, range] = {}

    def check(self, record: Record) -> Iterator[str]:
        if application_begins(record):
            self._written.clear()
        elif record["kind"] == "transfer" and record.get("cause", "").startswith("inter-context"):
            address, frame = record["arguments"]["dma_address"], record.get("frame", -1)
            written = self._written.get(address, range(0))
            if record["unit"].endswith("(D2H)"):
                first = written.start if frame == written.stop else frame
                self._written[address] = range(first, frame + 1)
            elif frame not in written:
                yield f"frame {frame} is read from the buffer at 0x{address:X}, where it was never written"


class FramesInOrder(Rule):
    """Within a context the frames of a channel pass in order, none twice and none left out, while its application
    stays enabled."""

    name = "frames-in-order"
    kinds = ("context_begin", "control", "transfer")

    def __init__(self, runtime: str) -> None:
        super().__init__(runtime)
        self._last: dict[tuple[str, str], int] = {}

    def check(self, record: Record) -> Iterator[str]:
        # a batch switch drops what is under way, and the frames after it count on from what was delivered
        if application_begins(record) or (record["kind"] == "control" and record.get("action") == _STATUS_CHANGE):
            self._last.clear()
        elif record["kind"] == "transfer":
            place, frame = (record.get("context", ""), record.get("unit", "")), record.get("frame", -1)
            before = self._last.get(place)
            if before is not None and frame != before + 1:
                yield f"frame {frame} passes {place[1]} after frame {before}"
            self._last[place] = frame
