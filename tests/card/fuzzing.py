"""Hostile clients: sequences of calls with arguments that are right, nearly right, and absurd.

Whatever a client does, a call fails with an errno or succeeds: nothing else is raised, and nothing is kept beyond what
open files may hold. A sequence follows from its number alone.
"""

from __future__ import annotations

import errno
import random
from functools import cache
from typing import Any

import emu
from emu.card.calls import CALLS, NO_HANDLE, Call, Name
from emu.card.card import Answer, Card
from emu.card.networks import Networks
from emu.hw.faults import Fault
from emu.wire.control import ContextSwitchStatus, Opcode, change_context_switch_status, encode_request
from tests.card.conversation import BY_NAME, Client, PlainMemory, make_card
from tests.card.runtime import InProcess, MiniRuntime
from tests.conftest import ROOT, RUNTIMES

EXAMPLE = ROOT / "examples" / "two_context.hef"
ERRNOS = {0, *(getattr(errno, name) for name in (
    "ENOMEM", "EFAULT", "EINVAL", "ENOTTY", "ERANGE", "ECONNRESET", "ENOBUFS", "ETIMEDOUT", "ECANCELED", "EIO"
))}  # fmt: skip
_CALLS = sorted(CALLS.values(), key=lambda call: call.number)
_LIKELY = [call for call in _CALLS if call.name in (
    Name.VDMA_LAUNCH_TRANSFER, Name.VDMA_BUFFER_MAP, Name.DESC_LIST_PROGRAM, Name.FW_CONTROL, Name.DESC_LIST_CREATE,
    Name.VDMA_ENABLE_CHANNELS, Name.VDMA_INTERRUPTS_WAIT,
)]  # fmt: skip
_NUMBERS = (0, 1, 2, 3, 7, 8, 16, 63, 64, 127, 128, 255, 256, 512, 1023, 1024, 4095, 4096, 65535, 65536, 1 << 20)
_LARGE = ((1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 63) - 1, NO_HANDLE)


@cache
def program() -> Any:
    return emu.compile_hef(emu.open_hef(EXAMPLE))


@cache
def messages() -> tuple[bytes, ...]:
    """Controls that make sense in some order."""
    group = program().network_groups[0]
    return (
        *group.controls(),
        change_context_switch_status(ContextSwitchStatus.ENABLED, 0),
        change_context_switch_status(ContextSwitchStatus.ENABLED, 0, 1),
        change_context_switch_status(ContextSwitchStatus.RESET),
        encode_request(Opcode.CONTEXT_SWITCH_CLEAR_CONFIGURED_APPS),
        encode_request(Opcode.IDENTIFY),
        encode_request(Opcode.RESET, (b"\0\0\0\1",)),
        encode_request(Opcode.RESET, (b"\0\0\0\2",)),
        encode_request(Opcode.SIGNAL_DRIVER_DOWN),
    )


class Sequence:
    """One sequence of calls by two clients of a card."""

    def __init__(self, number: int, card: Card) -> None:
        self.random = random.Random(number)
        self.card = card
        self.clients = [Client(card, PlainMemory(), process) for process in (77, 78)]
        self.handles = [1, 2]
        self.lists = [4096, 8192]
        self.mini: MiniRuntime | None = None  # what runs on the card for the first client

    def play(self, calls: int = 20) -> None:
        try:
            if self.random.random() < 0.5:
                self._configured(self.clients[0])
            for _ in range(calls):
                self._step()
        finally:
            for client in self.clients:
                client.close()

    def _step(self) -> None:
        client = self.clients[self.random.random() < (0.2 if self.mini is None else 0.05)]
        if self.random.random() < 0.01:
            client.close()
            self.clients[self.clients.index(client)] = Client(self.card, client.memory, client.process)
            return
        call = self.random.choice(_LIKELY if self.random.random() < 0.7 else _CALLS)
        if self.mini is not None and self.random.random() < 0.6:
            call = BY_NAME[Name.VDMA_LAUNCH_TRANSFER]
        answer = client.raw(call, self._argument(call), object())
        if answer is not None:
            self._learn(call, answer)

    def _learn(self, call: Call, answer: Answer) -> None:
        assert answer.error in ERRNOS, (call.name, answer.error)
        if answer.data is None:
            return
        fields = call.fields.unpack(answer.data)
        if call.name is Name.VDMA_BUFFER_MAP:
            self.handles.append(fields[5])
        elif call.name is Name.DESC_LIST_CREATE:
            self.lists.append(fields[3])

    def _number(self) -> int:
        chance = self.random.random()
        if chance < 0.6:
            return self.random.choice(_NUMBERS)
        return self.random.choice(_LARGE) if chance < 0.75 else self.random.getrandbits(self.random.choice((3, 12, 33)))

    def _argument(self, call: Call) -> bytes:
        if call.name is Name.FW_CONTROL:
            return self._control(call)
        if self.random.random() < 0.1:
            return self.random.randbytes(call.size)
        made = getattr(self, f"_{call.name.name.lower()}", None)
        fields = made(call) if made is not None else [self._number() for _ in call.fields.unpack(bytes(call.size))]
        return _packed(call, fields)

    def _control(self, call: Call) -> bytes:
        message = bytearray(self.random.choice(messages()))
        if self.random.random() < 0.3:
            for _ in range(self.random.randrange(1, 4)):
                message[self.random.randrange(len(message))] = self.random.getrandbits(8)
        length = len(message) if self.random.random() < 0.9 else self._number() & 0xFFFFFFFF
        return _packed(call, [b"", length, bytes(message), 1000, self.random.randrange(2)])

    # -- arguments that may succeed

    def _address(self) -> int:
        return self.random.choice((0x10000, 0x11000, 0x20000, 0x20800, 8, self._number()))

    def _vdma_buffer_map(self, call: Call) -> list[Any]:
        kind, allocated = self.random.random() < 0.1, self.random.choice((NO_HANDLE, NO_HANDLE, self._number()))
        return [self._address(), self._number(), self.random.randrange(4), kind, allocated, 0]

    def _vdma_buffer_unmap(self, call: Call) -> list[Any]:
        return [self.random.choice(self.handles)]

    def _vdma_buffer_sync(self, call: Call) -> list[Any]:
        return [self.random.choice(self.handles), self.random.randrange(3), self._number(), self._number()]

    def _desc_list_create(self, call: Call) -> list[Any]:
        return [
            self._number(),
            self.random.choice((64, 256, 512, 4096, self._number())),
            self.random.random() < 0.5,
            0,
            0,
        ]

    def _desc_list_release(self, call: Call) -> list[Any]:
        return [self.random.choice(self.lists)]

    def _desc_list_program(self, call: Call) -> list[Any]:
        head = [self.random.choice(self.handles), self._number(), self.random.choice((0, 512, self._number()))]
        where = [self.random.choice(self.lists), self.random.randrange(32), self._number(), self.random.random() < 0.5]
        batch = [] if call.by_handle else [self.random.choice((1, 2, 8, self._number()))]
        return [*head, *batch, *where, self.random.randrange(4), 0, *([] if call.by_handle else [self._number()])]

    def _vdma_enable_channels(self, call: Call) -> list[Any]:
        return [self.random.choice((4, 1 << 16, 0x10004, self._number())), 0, 0, self.random.random() < 0.5]

    def _vdma_disable_channels(self, call: Call) -> list[Any]:
        return [self.random.choice((4, 1 << 16, 0x10004, self._number())), 0, 0]

    def _vdma_interrupts_wait(self, call: Call) -> list[Any]:
        return [self.random.choice((4, 1 << 16, 0x10004, 0, self._number())), 0, 0, 0, b""]

    def _vdma_launch_transfer(self, call: Call) -> list[Any]:
        if self.mini is not None and not call.by_handle and self.random.random() < 0.6:
            return self._right_launch()
        channel = self.random.choice((2, 16, 0, self.random.randrange(40)))
        count = self.random.choice((1, 1, 1, 2, 8, 9, 0))
        pieces: list[int] = []
        for _ in range(2 if call.by_handle else 8):
            size = self.random.choice((3072, 640, 512, self._number()))
            if call.by_handle:
                pieces += [self.random.choice(self.handles), self.random.choice((0, self._number())), size]
            else:
                pieces += [self.random.random() < 0.05, self._address(), size]
        list_handle, start = self.random.choice(self.lists), self.random.choice((0, 0, self._number()))
        tail = [0, 0] if call.by_handle else []
        return [0, channel, list_handle, start, self.random.random() < 0.5, count, *pieces, 0, 2, 0, *tail]

    def _right_launch(self) -> list[Any]:
        """What the running network would take, but for at most one field."""
        assert self.mini is not None
        stream = self.random.choice(program().network_groups[0].streams)
        packed = stream.packed_vdma_channel_id
        _, address, step = self.mini._frames[packed]
        handle = self.mini.lists[stream.dma_address][0]
        start = self.card.channels[packed].num_available
        piece = [0, address + self.random.randrange(8) * step, stream.transfer_size]
        fields = [0, packed, handle, start, self.random.random() < 0.5, 1, *piece, *[0] * 21, 0, 2, 0]
        if self.random.random() < 0.2:
            fields[self.random.randrange(9)] = self._number()
        return fields

    def _configured(self, client: Client) -> None:
        """A network that runs, so that what follows meets a busy device."""
        mini = MiniRuntime(InProcess(client), program())
        try:
            mini.configure()
            mini.activate(program().network_groups[0])
        except (RuntimeError, AssertionError, ValueError):
            return  # another sequence left the card otherwise
        self.mini = mini
        self.lists += [handle for handle, _, _ in mini.lists.values()]
        self.handles += list(mini.mapped)


def _packed(call: Call, fields: list[Any]) -> bytes:
    """The fields as they fit: numbers that are too large lose their upper bits."""
    formats = _formats(call)
    return call.fields.pack(*(_fitted(value, code) for value, code in zip(fields, formats, strict=True)))


@cache
def _formats(call: Call) -> tuple[str, ...]:
    import re

    found: list[str] = []
    for count, code in re.findall(r"(\d*)([a-zA-Z])", call.fields.format):
        found += [code] if code == "s" else [code] * int(count or 1)
    return tuple(found)


def _fitted(value: Any, code: str) -> Any:
    if code == "s":
        return value if isinstance(value, bytes) else b""
    bits = {"B": 8, "H": 16, "I": 32, "i": 32, "Q": 64}[code]
    number = int(value) & ((1 << bits) - 1)
    return number - (1 << bits) if code == "i" and number >> (bits - 1) else number


def fuzz(first: int, count: int, each_card: int = 50) -> int:
    """Play sequences `first` to `first + count`; the number of calls. A card serves `each_card` of them."""
    card = None
    calls = 0
    for number in range(first, first + count):
        if card is None or number % each_card == 0:
            faults = [Fault.parse("drop-interrupt:16#1")] if number % 3 == 0 else []
            card = make_card("hailo8", RUNTIMES[0], Networks(compute="off"), faults=faults)
        try:
            Sequence(number, card).play()
        except Exception as error:
            error.add_note(f"sequence {number} (its card began with {number - number % each_card})")
            raise
        assert not card.files, f"sequence {number}"
        assert not card.device.host_memory.lists, f"sequence {number}"
        assert len(card.errors) < 1000
        unforeseen = [line for line in card.errors if "internal" in line]
        assert not unforeseen, unforeseen[:1]
        calls += 20
    return calls
