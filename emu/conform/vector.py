"""A vector: what is said to a device from power-on, what it has to answer, and on what ground."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct

from emu.conform.protocol import DIGEST_SIZE, Kind, Message, Watch, message
from emu.errors import HailoError
from emu.wire.control import Response, decode_response, encode_request


class Basis(StrEnum):
    """What an expectation rests on, the strongest first."""

    CAPTURED = "captured"  # bytes that a real device answered
    MEASURED = "measured"  # seen on a real device, its bytes were not kept
    DOCUMENTED = "documented"  # public headers, driver or library say so
    HOUSE_RULE = "house rule"  # nothing outside says it: decided in docs/reference


class Reply(Struct, frozen=True):
    """A control message's reply: `parameters` None: whatever they are, one of them None: any bytes (`sizes` says how
    many). `minor` None: any. `echo`: its opcode."""

    major: int = 0
    minor: int | None = None
    echo: int | None = None
    parameters: tuple[bytes | None, ...] | None = None
    sizes: tuple[int, ...] | None = None

    def wrong(self, data: bytes) -> str:
        """What of a reply is not as it should be; nothing: all is."""
        try:
            found = decode_response(data)
        except HailoError as error:
            return f"its reply cannot be read: {error.message}"
        if found.major_status != self.major:
            return f"status 0x{found.major_status:08X} instead of 0x{self.major:08X}"
        if self.minor is not None and found.minor_status != self.minor:
            return f"minor status 0x{found.minor_status:08X} instead of 0x{self.minor:08X}"
        if self.echo is not None and found.opcode != self.echo:
            return f"opcode 0x{found.opcode:X} instead of 0x{self.echo:X}"
        return self._wrong_parameters(found)

    def _wrong_parameters(self, found: Response) -> str:
        sizes = tuple(map(len, found.parameters))
        if self.sizes is not None and sizes != self.sizes:
            return f"parameters of {list(sizes)} bytes instead of {list(self.sizes)}"
        if self.parameters is None:
            return ""
        if len(self.parameters) != len(found.parameters):
            return f"{len(found.parameters)} parameters instead of {len(self.parameters)}"
        for at, (wanted, got) in enumerate(zip(self.parameters, found.parameters, strict=True)):
            if wanted is not None and wanted != got:
                return f"parameter {at} is {got.hex()}, not {wanted.hex()}"
        return ""


class Moved(Struct, frozen=True):
    """One transfer that has to be told, in its order among those of its channel."""

    channel: int
    stream: int
    direction: int
    frame: int


class Step(Struct, frozen=True):
    """One message and its answer. `notified`: events of the device (id, how its payload begins), all of them;
    `moved`: transfers, all of them (None: whatever they are). `why` of RUN."""

    send: Message
    reply: Reply | None = None
    notified: tuple[tuple[int, bytes], ...] = ()
    moved: tuple[Moved, ...] | None = None
    refused: bool = False


class Vector(Struct, frozen=True):
    """`name` is the rule that it tests, `says` its sentence, `source` the place in docs/reference. `covers`: actions,
    controls, statuses, hazards and triggers by their names. `hazards`: what it has to find, None: whatever it finds."""

    name: str
    says: str
    basis: Basis
    source: str
    device: str
    runtime: str
    steps: tuple[Step, ...]
    memory: tuple[Message, ...] = ()
    clusters: int = 0
    covers: tuple[str, ...] = ()
    hazards: frozenset[str] | None = None
    needs: Watch = Watch(0)

    def opening(self) -> list[Message]:
        """From power-on to the first step."""
        watch = Watch.TRANSFERS | Watch.HAZARDS
        names = f"{self.device}\0{self.runtime}"
        return [message(Kind.POWER, watch=int(watch), clusters=self.clusters, seed=0, names=names), *self.memory]


def control(request: bytes, notified: tuple[tuple[int, bytes], ...] = (), **expected: Any) -> Step:
    """A control message; `expected` as `Reply` has them, none: it succeeds."""
    return Step(message(Kind.CONTROL, request=request), Reply(**expected), notified)


def asked(opcode: int, given: Sequence[bytes] = (), **expected: Any) -> Step:
    """The same by opcode and the parameters that it is given."""
    return control(encode_request(opcode, given), **expected)


def launched(channel: int, num_available: int, transfers: int = 1, frame: int | None = None) -> Step:
    """The host queues transfers on a channel; inputs of `frame` and the next ones have made-up digests."""
    digests = b"" if frame is None else b"".join(digest_of(frame + at) for at in range(transfers))
    return Step(
        message(Kind.LAUNCH, channel=channel, num_available=num_available, transfers=transfers, digests=digests)
    )


def digest_of(frame: int) -> bytes:
    """What stands for the bytes of an input frame in a vector."""
    return frame.to_bytes(DIGEST_SIZE, "big")


def ran(events: int = 0, wait_ms: int = 5000, **expected: Any) -> Step:
    """Time passes until the device can do nothing more, or has told so many events."""
    return Step(message(Kind.RUN, events=events, wait_ms=wait_ms), **expected)
