"""The Ethernet control protocol of HailoRT 4.x: control messages as UDP datagrams (eth-control.md).

The firmware's own messages go to a simulated chip as they are. Streams are configured and opened, but no frame is
carried: the data ports are not built.
"""

from __future__ import annotations

import asyncio
import struct
from collections import Counter, OrderedDict
from contextlib import suppress
from enum import IntEnum
from typing import Any, cast

from emu.chips.runtimes import device_profile
from emu.errors import HailoError, OutputError, UsageError
from emu.hw.config.addresses import CLUSTER_BASE, CLUSTER_STRIDE
from emu.hw.device import Device
from emu.server.service import Service
from emu.wire.control import MAX_MESSAGE_SIZE, Opcode, Request, decode_request, encode_response
from emu.wire.messages import MAX_MEMORY_CHUNK
from emu.wire.status import FirmwareStatus

PORT = 22401  # of the device; the host's is any
ALL_STREAMS = 0xFF
NN_CORE_RESET = 1
# lengths of CONFIG_STREAM's parameters, the last by is_input (eth-control.md, CONFIG_STREAM payloads)
_CONFIG_STREAM = (1, 1, 4, 1, 1, 17)
_UDP_PARAMETERS = {1: 18, 0: 12}
_MOST_STREAMS = 32
# a host sends the next request when it has its answer, or the same one again: more come from nobody who waits
_MOST_WAITING_OF_PEER, _MOST_WAITING, _MOST_PEERS = 3, 64, 64

Address = tuple[str, int]


class EthernetOpcode(IntEnum):
    """What only Ethernet devices serve."""

    OPEN_STREAM = 4
    CLOSE_STREAM = 5


class EthernetDevice:
    """What the firmware of an Ethernet device does with a control message; of the thread of the devices."""

    def __init__(self, service: Service) -> None:
        self._chip = Device(service.profile, service.runtime)
        self._streams: dict[int, bool] = {}  # dataflow manager -> whether it is an input
        self._open: set[int] = set()

    def answer(self, message: bytes) -> bytes | None:
        """The reply to a datagram; None where the firmware gives none."""
        try:
            request = decode_request(message)
        except HailoError:
            return self._chip.control(message)  # the firmware has its statuses for damage
        match request.opcode:
            case Opcode.CONFIG_STREAM:
                return self._config_stream(request)
            case EthernetOpcode.OPEN_STREAM | EthernetOpcode.CLOSE_STREAM:
                return self._open_or_close(request)
            case Opcode.WRITE_MEMORY if self._is_configuration(request):
                return self._write_configuration(request)
            case Opcode.RESET if request.parameters[:1] != (NN_CORE_RESET.to_bytes(4, "big"),):
                self._chip.control(message)
                self._streams.clear()
                self._open.clear()
                return None  # the device is away; the host polls with IDENTIFY
            case _:
                return self._chip.control(message)

    def _config_stream(self, request: Request) -> bytes:
        parameters = request.parameters
        lengths = tuple(map(len, parameters))
        is_input = parameters[1][0] if lengths[:2] == (1, 1) else -1
        if lengths != (*_CONFIG_STREAM, _UDP_PARAMETERS.get(is_input)) or len(self._streams) >= _MOST_STREAMS:
            return _refusal(request)
        manager = len(self._streams)
        self._streams[manager] = bool(is_input)
        return _success(request, bytes([manager]))

    def _open_or_close(self, request: Request) -> bytes:
        """Closing takes all inputs or all outputs where the manager is 0xff, as a host begins."""
        if tuple(map(len, request.parameters)) != (1, 1):
            return _refusal(request)
        manager, is_input = request.parameters[0][0], bool(request.parameters[1][0])
        if request.opcode == EthernetOpcode.OPEN_STREAM:
            if self._streams.get(manager) is not is_input:
                return _refusal(request)
            self._open.add(manager)
        else:
            ended = [one for one, kind in self._streams.items() if kind is is_input and manager in (one, ALL_STREAMS)]
            for one in ended:
                del self._streams[one]
            self._open.difference_update(ended)
        return _success(request)

    def _is_configuration(self, request: Request) -> bool:
        """Whether it writes a cluster's memory, which is how the whole configuration comes to an Ethernet device."""
        if len(request.parameters) != 2 or len(request.parameters[0]) != 4:
            return False
        (address,) = struct.unpack(">I", request.parameters[0])
        data = request.parameters[1]
        end = CLUSTER_BASE + self._chip.profile.clusters * CLUSTER_STRIDE
        return (
            address >= CLUSTER_BASE
            and address + len(data) <= end
            and address % 4 == len(data) % 4 == 0
            and 0 < len(data) <= MAX_MEMORY_CHUNK
        )

    def _write_configuration(self, request: Request) -> bytes:
        (address,) = struct.unpack(">I", request.parameters[0])
        for at, (word,) in enumerate(struct.iter_unpack("<I", request.parameters[1])):
            self._chip.memory.write_word(address + 4 * at, word)
        return _success(request)


def _success(request: Request, *parameters: bytes) -> bytes:
    return encode_response(request.opcode, parameters, sequence=request.sequence)


def _refusal(request: Request) -> bytes:
    status = FirmwareStatus.CONTROL_PROTOCOL_STATUS_PARSE_COMMAND_FAILED
    return encode_response(request.opcode, (), status, sequence=request.sequence)


class EthernetControl(asyncio.DatagramProtocol):
    """Listens for control messages and answers each to its sender, one after the other.

    A host that had no answer sends the same datagram again (10 s, three times): it gets the answer of the first.
    """

    def __init__(self, service: Service, host: str, port: int = PORT) -> None:
        if device_profile(service.device).integrated:
            raise UsageError(f"--control: only devices of the Hailo-8 family have Ethernet, not {service.device}")
        self.service = service
        self.host = host
        self.port = port
        self.device = EthernetDevice(service)
        self._answered: OrderedDict[Address, tuple[bytes, bytes | None]] = OrderedDict()
        self._requests: asyncio.Queue[tuple[bytes, Address]] = asyncio.Queue(_MOST_WAITING)
        self._waiting: Counter[Address] = Counter()

    async def start(self) -> None:
        """Listen; OutputError where the address cannot be had. `port` is the real one afterwards."""
        loop = asyncio.get_running_loop()
        try:
            transport, _ = await loop.create_datagram_endpoint(lambda: self, (self.host, self.port))
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise OutputError(f"cannot listen on {self.host}:{self.port}: {reason}") from None
        self.port = transport.get_extra_info("sockname")[1]
        self._task = loop.create_task(self._serve())

    def announce(self) -> None:
        where = f"{self.host}:{self.port}"
        self.service.log.info("control", message=f"Ethernet control of {self.service.device} on {where} (UDP)")

    async def stop(self) -> None:
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
        self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, address: tuple[Any, ...]) -> None:
        peer = address[:2]
        if len(data) > MAX_MESSAGE_SIZE or self._requests.full() or self._waiting[peer] >= _MOST_WAITING_OF_PEER:
            return  # as a network loses datagrams: whoever wants an answer sends it again
        self._waiting[peer] += 1
        self._requests.put_nowait((data, peer))

    def error_received(self, error: Exception) -> None:
        """A peer that has gone before its answer: no concern of the others."""

    async def _serve(self) -> None:
        while True:
            data, peer = await self._requests.get()
            self._waiting[peer] -= 1
            if not self._waiting[peer]:
                del self._waiting[peer]
            known = self._answered.pop(peer, None)
            if known is None or known[0] != data:
                try:
                    known = data, await self.service.engine.call(self.device.answer, data)
                except Exception as error:  # of ours: this request has no answer, the server goes on
                    self.service.log.error("internal_error", error=f"{type(error).__name__}: {error}")
                    continue
            self._answered[peer] = known
            while len(self._answered) > _MOST_PEERS:
                self._answered.popitem(last=False)
            if known[1] is not None:
                self._transport.sendto(known[1], peer)
