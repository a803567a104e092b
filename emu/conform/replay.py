"""A recording against another implementation: what the host did is done again, what the device did is compared.

Times are nobody's: the host goes on when as much has happened as had in the recording, however long it took. Channel by
channel the transfers have to be the same in the same order, and so have all register accesses together. Where recording
and target have the registers of a card, the host does all that it does through them (`emu.conform.registers`).
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from emu.conform.memory import memory_messages, stream_messages
from emu.conform.protocol import (
    DIGEST_SIZE,
    MOST,
    MOST_READ,
    MOST_TRANSFERS,
    Kind,
    Message,
    Watch,
    Why,
    message,
)
from emu.conform.registers import (
    SOFTWARE,
    Rules,
    consequences,
    is_access,
    is_of_card,
    is_reply,
    sent_access,
    with_data,
)
from emu.conform.targets import Answer, Target
from emu.conform.tolerance import differing
from emu.errors import HailoError, HailoStatus
from emu.sequencer.program import Direction, Program
from emu.wire.control import ContextSwitchStatus, status_change
from emu.wire.wire import wire_of

Record = Mapping[str, Any]
_WAIT_MS = 5000
_NO_APPLICATION = -1


class Divergence(Struct, frozen=True):
    """The first thing that the target did otherwise; None on a side that had nothing there."""

    number: int
    fields: tuple[str, ...]
    recorded: Record | None
    found: Record | None


class Compared(Struct):
    """What was compared until the end or the first difference."""

    replies: int = 0
    transfers: int = 0
    accesses: int = 0
    registers: int = 0
    interrupts: int = 0
    divergence: Divergence | None = None


class _DifferError(Exception):
    def __init__(self, divergence: Divergence) -> None:
        self.divergence = divergence


class Replayer:
    """Does one recording again on one target. `clusters`, `seed`: of the recorded run; `computed`: its outputs were
    computed or given, which no target can follow."""

    def __init__(self, target: Target, program: Program, clusters: int, seed: int, computed: bool = False) -> None:
        self.target = target
        self.compared = Compared()
        self._program = program
        self._clusters = clusters
        self._seed = seed
        self._computed = computed
        self._wire = wire_of(program.runtime)
        self._inputs = {
            stream.packed_vdma_channel_id: max(1, stream.transfers_per_frame)
            for group in program.network_groups
            for stream in group.streams
            if stream.direction is Direction.H2D
        }
        self._told: dict[object, deque[Record]] = defaultdict(deque)  # by channel, and the accesses
        self._expected: dict[object, deque[tuple[int, Record]]] = defaultdict(deque)
        self._through_registers = False
        self._rules = Rules(self._wire, ())

    def run(self, records: Iterable[Record]) -> Compared:
        """Compare to the end or to the first difference. Raises as `Target.ask`, and what reading records raises."""
        listed = list(records)
        self._through_registers = bool(self.target.watch & Watch.REGISTERS) and any(map(is_of_card, listed))
        self.target.allow()
        for sent in self._opening():
            self.target.ask(sent, Kind.DONE)
        try:
            self._play(listed)
        except _DifferError as stopped:
            self.compared.divergence = stopped.divergence
        return self.compared

    def _opening(self) -> Iterator[Message]:
        watch = Watch.TRANSFERS | Watch.ACCESSES
        if self._through_registers:
            watch |= Watch.REGISTERS
        names = f"{self._program.device}\0{self._program.runtime}"
        yield message(Kind.POWER, watch=int(watch), clusters=self._clusters, seed=self._seed, names=names)
        yield from memory_messages(self._program)
        yield from stream_messages(self._program)

    def _play(self, records: list[Record]) -> None:
        frames = _Frames(records, self._inputs)
        running = _NO_APPLICATION
        through = self._through_registers
        self._rules = Rules(self._wire, records)
        coming = consequences(records) if through else {}
        for number, record in enumerate(records, 1):
            kind = record["kind"]
            self.target.allow()
            if is_of_card(record) and not through:
                continue
            if kind == "interrupt":
                if record["value"] & SOFTWARE:
                    self._expected["interrupts"].append((number, record))
            elif kind == "register":
                self._catch_up(number)
                running = self._register(number, record, coming.get(number), frames, running)
            elif through and kind in ("control", "launch"):
                continue  # it came of the write before it
            elif kind == "control":
                self._catch_up(number)
                running = self._control(number, record, frames, running)
            elif kind == "launch":
                self._catch_up(number)
                self._launch(number, record, frames)
            elif kind == "transfer":
                self._expected[record["channel"]].append((number, record))
            elif self.target.watch & Watch.ACCESSES:
                self._expected["accesses"].append((number, record))
        self._catch_up(len(records))
        self._compare()
        self._nothing_more(len(records) + 1)

    def _control(self, number: int, record: Record, frames: _Frames, running: int) -> int:
        request = bytes.fromhex(record["request"])
        application = self._begin_frames(number, request, frames, running)
        answer = self.target.ask(message(Kind.CONTROL, request=request), Kind.REPLY)
        self._take(answer)
        fields = differing(self._wire, bytes.fromhex(record["reply"]), answer.closing["reply"])
        if fields:
            found = {**record, "reply": answer.closing["reply"].hex()}
            raise _DifferError(Divergence(number, fields, record, found))
        self.compared.replies += 1
        return application

    def _begin_frames(self, number: int, request: bytes, frames: _Frames, running: int) -> int:
        """Before a control message: the application that runs behind it, whose first frame the target is told."""
        change = status_change(request)
        if change is None:
            return running
        enabled = change["state_machine_status"] == ContextSwitchStatus.ENABLED
        application: int = change["application_index"] if enabled else _NO_APPLICATION
        if enabled and application != running:
            self._take(self.target.ask(message(Kind.FRAMES, first=frames.first_behind(number)), Kind.DONE))
        return application

    def _register(self, number: int, record: Record, comes: Record | None, frames: _Frames, running: int) -> int:
        """An access; `comes` is the control message or launch that a write comes to."""
        if comes is not None and comes["kind"] == "control":
            running = self._begin_frames(number, bytes.fromhex(comes["request"]), frames, running)
        elif comes is not None:
            self._launch(number, comes, frames, Kind.QUEUE)
        if record["access"] == "read":
            data = self._read(number, record)
            fields = self._rules.differing(record, data)
            if fields:
                raise _DifferError(Divergence(number, fields, record, with_data(record, data)))
            self.compared.replies += is_reply(record)
        else:
            self._access(number, record, Kind.DONE)
            self._rules.written(record)
        self.compared.registers += 1
        return running

    def _read(self, number: int, record: Record) -> bytes:
        """A read, again while time still brings what was pending in the recording."""
        while True:
            data: bytes = self._access(number, record, Kind.VALUE)["data"]
            if not self._rules.lacking(record, data):
                return data
            answer = self.target.ask(message(Kind.RUN, events=1, wait_ms=_WAIT_MS), Kind.DONE)
            self._take(answer)
            if answer.closing["why"] in (Why.IDLE, Why.TIME):
                return bytes(self._access(number, record, Kind.VALUE)["data"])

    def _access(self, number: int, record: Record, closing: Kind) -> Message:
        answer = self.target.ask(sent_access(record), closing, Kind.REFUSED)
        self._take(answer)
        if answer.closing.kind is Kind.REFUSED:
            refused = {"kind": "refused", "why": answer.closing["why"]}
            raise _DifferError(Divergence(number, ("register",), record, refused))
        return answer.closing

    def _launch(self, number: int, record: Record, frames: _Frames, kind: Kind = Kind.LAUNCH) -> None:
        channel = record["channel"]
        digests = frames.digests(channel, record["transfers"])
        sent = message(
            kind,
            channel=channel,
            num_available=record["num_available"],
            transfers=record["transfers"],
            digests=digests,
        )
        answer = self.target.ask(sent, Kind.DONE, Kind.REFUSED)
        self._take(answer)
        if answer.closing.kind is Kind.REFUSED:
            refused = {"kind": "refused", "why": answer.closing["why"]}
            raise _DifferError(Divergence(number, ("launch",), record, refused))

    def _catch_up(self, number: int) -> None:
        """Let time pass until as many transfers have come as the recording has before this record."""
        while lacking := self._lacking():
            answer = self.target.ask(message(Kind.RUN, events=lacking, wait_ms=_WAIT_MS), Kind.DONE)
            self._take(answer)
            if answer.closing["why"] in (Why.IDLE, Why.TIME) and self._lacking():
                break
        self._compare()
        for channel, expected in self._expected.items():
            if expected and channel != "accesses":
                at, record = expected[0]
                raise _DifferError(Divergence(at, (str(record["kind"]),), record, None))

    def _lacking(self) -> int:
        return sum(
            max(0, len(expected) - len(self._told[channel]))
            for channel, expected in self._expected.items()
            if channel != "accesses"
        )

    def _take(self, answer: Answer) -> None:
        for one in answer:
            if one.kind is Kind.TRANSFER:
                self._told[one["channel"]].append(_transfer(one))
            elif one.kind in (Kind.WRITE, Kind.READ):
                self._told["accesses"].append(_access(one))
            elif one.kind is Kind.INTERRUPT and self._rules.interrupted(one["value"]):
                self._told["interrupts"].append({"kind": "interrupt", "value": one["value"]})

    def _compare(self) -> None:
        """What both sides have."""
        for channel, expected in self._expected.items():
            told = self._told[channel]
            while expected and told:
                number, record = expected.popleft()
                found = told.popleft()
                fields = tuple(name for name in found if record.get(name) != found[name])
                if channel == "interrupts" and not (record["value"] ^ found["value"]) & SOFTWARE:
                    fields = ()
                if not self.target.watch & Watch.CONTENTS or (self._computed and channel not in self._inputs):
                    fields = tuple(name for name in fields if name != "digest")
                if fields:
                    raise _DifferError(Divergence(number, fields, record, found))
                if channel == "accesses":
                    self.compared.accesses += 1
                elif channel == "interrupts":
                    self.compared.interrupts += 1
                else:
                    self.compared.transfers += 1

    def _nothing_more(self, number: int) -> None:
        for channel, expected in self._expected.items():
            if expected:
                at, record = expected[0]
                raise _DifferError(Divergence(at, (str(record["kind"]),), record, None))
            if self._told[channel]:
                found = self._told[channel][0]
                raise _DifferError(Divergence(number, (str(found["kind"]),), None, found))


class _Frames:
    """What the records say of frames: the first after each ENABLE, and the digests of inputs in their order."""

    def __init__(self, records: list[Record], inputs: Mapping[int, int]) -> None:
        self._records = records
        self._inputs = inputs
        self._digests: dict[int, deque[bytes]] = defaultdict(deque)
        self._parts: dict[int, int] = defaultdict(int)
        for record in records:
            if record["kind"] == "transfer" and record["channel"] in inputs:
                self._digests[record["channel"]].append(bytes.fromhex(record["digest"]))

    def first_behind(self, number: int) -> int:
        """The number of the first frame of an input behind a record; 0 where none follows."""
        for record in self._records[number:]:
            if record["kind"] == "transfer" and record["channel"] in self._inputs:
                return int(record["frame"])
        return 0

    def digests(self, channel: int, transfers: int) -> bytes:
        """Of the frames that so many transfers of a channel complete; nothing for an output."""
        if channel not in self._inputs:
            return b""
        self._parts[channel] += transfers
        whole, self._parts[channel] = divmod(self._parts[channel], self._inputs[channel])
        queue = self._digests[channel]
        return b"".join(queue.popleft() for _ in range(min(whole, len(queue))))


def _transfer(told: Message) -> Record:
    try:
        direction = Direction(told["direction"]).name.lower()
    except ValueError:
        direction = str(told["direction"])
    return {
        "kind": "transfer",
        "channel": told["channel"],
        "stream": told["stream"],
        "direction": direction,
        "frame": told["frame"],
        "num_processed": told["num_processed"],
        "digest": told["digest"].hex(),
    }


def _access(told: Message) -> Record:
    if told.kind is Kind.READ:
        return {"kind": "read", "address": told["address"], "bytes": told["size"]}
    data = told["data"].hex()
    if told["size"] * 2 == len(data):
        return {"kind": "write", "address": told["address"], "data": data}
    return {"kind": "write", "address": told["address"], "bytes": told["size"], "digest": data}


def check_records(records: Iterable[Record]) -> Iterator[Record]:
    """The records of a run; HAILO_INVALID_ARGUMENT for one that lacks what its kind has."""
    for number, record in enumerate(records, 1):
        wanted = _FIELDS.get(record["kind"])
        if wanted is None or any(type(record.get(name)) is not kind for name, kind in wanted.items()):
            raise _damaged(record, number)
        if any(not 0 <= record[name] <= most for name, most in _MOST.items() if name in wanted):
            raise _damaged(record, number)
        digest = record["digest"] if record["kind"] == "transfer" else ""
        if len(str(record.get("request", ""))) > 2 * MOST_REQUEST or len(digest) not in (0, 2 * DIGEST_SIZE):
            raise _damaged(record, number)
        try:
            for name in ("request", "reply", "digest", "data"):
                bytes.fromhex(record.get(name, ""))
        except (ValueError, TypeError):
            raise _damaged(record, number) from None
        if record["kind"] == "register" and not is_access(record):
            raise _damaged(record, number)
        yield record


MOST_REQUEST = MOST - 1  # bytes that a CONTROL holds
_MOST = {"channel": 0xFF, "transfers": MOST_TRANSFERS, "num_available": 0xFFFF, "frame": 0xFFFFFFFFFFFFFFFF}
_MOST |= {"bar": 0xFF, "offset": 0xFFFFFFFF, "size": MOST_READ, "value": 0xFFFFFFFF}
_FIELDS: Mapping[str, Mapping[str, type]] = {
    "control": {"request": str, "reply": str},
    "launch": {"channel": int, "transfers": int, "num_available": int},
    "transfer": {"channel": int, "stream": int, "frame": int, "num_processed": int, "direction": str, "digest": str},
    "write": {"address": int},
    "read": {"address": int, "bytes": int},
    "register": {"access": str, "bar": int, "offset": int, "size": int},
    "interrupt": {"value": int},
}


def _damaged(record: Record, number: int) -> HailoError:
    return HailoError(
        HailoStatus.HAILO_INVALID_ARGUMENT,
        f"record {number} of kind {record['kind']!r:.40} is not as such ones are",
    )
