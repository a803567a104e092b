"""The Ethernet control protocol against a host of our own that speaks it from eth-control.md."""

from __future__ import annotations

import asyncio
import io
import random
import socket
import struct
import threading
from collections.abc import Iterator, Sequence

import pytest

from emu.errors import UsageError
from emu.server.control import EthernetControl
from emu.server.engine import Engine
from emu.server.log import server_log
from emu.server.service import Service


def request(opcode: int, *parameters: bytes, sequence: int = 0, version: int = 2) -> bytes:
    head = struct.pack(">5I", version, 0, sequence, opcode, len(parameters))
    return head + b"".join(struct.pack(">I", len(one)) + one for one in parameters)


def reply(data: bytes) -> tuple[tuple[int, ...], list[bytes]]:
    """((version, flags, sequence, opcode, major, minor), parameters) of a datagram that ends with its last one."""
    *head, count = struct.unpack_from(">7I", data)
    parameters, at = [], 28
    for _ in range(count):
        (length,) = struct.unpack_from(">I", data, at)
        parameters.append(data[at + 4 : at + 4 + length])
        at += 4 + length
    assert at == len(data)
    return tuple(head), parameters


class Host:
    """One UDP socket of a host."""

    def __init__(self, port: int) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.settimeout(3)
        self.socket.connect(("127.0.0.1", port))
        self.sequence = 0

    def ask(self, opcode: int, *parameters: bytes) -> list[bytes]:
        """The parameters of a successful reply to the next control, which is sent three times at most."""
        for attempt in range(3):
            self.socket.send(request(opcode, *parameters, sequence=self.sequence))
            try:
                data = self.socket.recv(2000)
                break
            except TimeoutError:
                assert attempt < 2
        head, found = reply(data)
        assert head == (2, 1, self.sequence, opcode, 0, 0)
        self.sequence += 1
        return found

    def raw(self, data: bytes) -> bytes:
        self.socket.send(data)
        return self.socket.recv(2000)


@pytest.fixture
def control() -> Iterator[EthernetControl]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def start() -> EthernetControl:
        service = Service("hailo8", None, log=server_log(io.StringIO(), False))
        one = EthernetControl(service, "127.0.0.1", 0)
        service.engine.start()
        await one.start()
        return one

    one = asyncio.run_coroutine_threadsafe(start(), loop).result(20)
    try:
        yield one
    finally:
        asyncio.run_coroutine_threadsafe(one.stop(), loop).result(5)
        engine: Engine = one.service.engine
        assert engine.stop(5)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@pytest.fixture
def host(control: EthernetControl) -> Iterator[Host]:
    one = Host(control.port)
    yield one
    one.socket.close()


def lengths(parameters: Sequence[bytes]) -> list[int]:
    return [len(one) for one in parameters]


def test_identify(host: Host) -> None:
    identity = host.ask(0)
    assert lengths(identity) == [4, 12, 4, 32, 4, 16, 16, 42]
    assert identity[0] == bytes((0, 0, 0, 2))
    major, minor, revision = struct.unpack("<3I", identity[1])
    assert (major, minor, revision & 0x7FFFFFF) == (4, 23, 0)
    assert not revision & 1 << 27  # the application CPU's
    assert identity[3].rstrip(b"\0") == b"Hailo-8"
    assert identity[4] == bytes((0, 0, 0, 1))


def test_device_information(host: Host) -> None:
    information = host.ask(51)
    assert lengths(information) == [4, 8, 4, 1, 32, 6, 12, 24, 4]
    assert struct.unpack(">I", information[0]) == (400_000_000,)


def test_a_host_configures_and_opens_its_streams(host: Host) -> None:
    """The order of eth-control.md's table, for one input and one output."""
    host.ask(0)
    host.ask(51)
    assert host.ask(37, b"\0", b"\xff", b"\0\0", b"\0\0") == []
    for is_input in (1, 0):
        assert host.ask(5, b"\xff", bytes([is_input])) == []
    assert host.ask(7, struct.pack(">I", 1)) == []
    for at in range(4):  # the lower half of a cluster, and its memory, which PCIe hosts may not write
        assert host.ask(1, struct.pack(">I", 0x10000000 + at * 0x02000000), bytes(range(64))) == []
        assert host.ask(1, struct.pack(">I", 0x11000000 + at * 0x02000000), bytes(range(64))) == []
    assert host.ask(2, struct.pack(">I", 0x11000000), struct.pack(">I", 64)) == [bytes(range(64))]
    stream = (struct.pack(">I", 0), b"\0", b"\1", bytes(17))
    assert host.ask(3, b"\0", b"\1", *stream, bytes(18)) == [b"\0"]
    assert host.ask(3, b"\1", b"\0", *stream, bytes(12)) == [b"\1"]
    assert host.ask(4, b"\0", b"\1") == host.ask(4, b"\1", b"\0") == []
    assert host.ask(46)[0][:4] == struct.pack("<f", 35.7)
    assert host.ask(5, b"\0", b"\1") == host.ask(5, b"\1", b"\0") == []


def test_a_datagram_that_comes_again_gets_the_answer_of_the_first(control: EthernetControl, host: Host) -> None:
    clock = control.device._chip.clock
    message = request(0, sequence=5)
    first = host.raw(message)
    time = clock.time
    assert host.raw(message) == first
    assert clock.time == time  # it was not served again
    assert reply(host.raw(request(0, sequence=6)))[0][2] == 6
    assert clock.time > time


@pytest.mark.parametrize(
    "data",
    [
        request(0)[:-1],
        request(0) + b"\0",
        request(1, b"\0\0\0", b"\0"),
        request(0, version=3),
        request(200),
        request(3, b"\0"),
        request(3, b"\0", b"\1", bytes(4), b"\0", b"\1", bytes(17), bytes(17)),
        request(4, b"\7", b"\1"),
        request(4),
        request(1, struct.pack(">I", 0xFFFFFFFC), bytes(8)),
        request(2, struct.pack(">I", 0x10000000), struct.pack(">I", 4096)),
    ],
    ids=lambda data: data[12:24].hex(),
)
def test_what_is_wrong_is_answered_with_a_status(host: Host, data: bytes) -> None:
    head, parameters = reply(host.raw(data))
    assert head[4] != 0
    assert parameters == []
    host.ask(0)


def test_a_chip_reset_has_no_answer_and_the_device_comes_back(host: Host) -> None:
    host.socket.send(request(7, struct.pack(">I", 0), sequence=0))
    host.sequence = 1
    assert len(host.ask(0)) == 8


def test_garbage_and_floods_are_borne(control: EthernetControl, host: Host) -> None:
    rng = random.Random(0)
    other = Host(control.port)
    for _ in range(2000):
        data = bytearray(
            request(rng.randrange(90), *[rng.randbytes(rng.choice([1, 4, 17])) for _ in range(rng.randrange(8))])
        )
        for _ in range(rng.randrange(3)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        other.socket.send(bytes(data))
    other.socket.send(bytes(1501))
    other.socket.close()
    host.ask(0)


def test_only_the_hailo8_family_has_ethernet() -> None:
    service = Service("hailo10h", None, log=None)
    with pytest.raises(UsageError):
        EthernetControl(service, "127.0.0.1")
