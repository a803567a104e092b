"""One TCP connection: bytes in, requests to its session, replies out in time (hrpc-5.2.md part 2, 2 and 3)."""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import cast

from emu.server.actions import RUN_ACTIONS, V5_1_1
from emu.server.framing import Decoder, ProtocolError, Request, encode_message
from emu.server.replies import Reply
from emu.server.service import Service
from emu.server.session import Session

# a waiting client sends first and only then waits: a reply that is there before is lost (part 2, 3: 2 ms are enough
# on an idle machine, 5 ms on a busy one)
REPLY_SECONDS = 0.005
# a client that pads sends a whole block at once; one that does not waits for its reply (part 2, 1)
UNPADDED_SECONDS = 0.05
WRITE_BUFFER = 1 << 20


class Connection(asyncio.Protocol):
    """Reads no more while requests or frames of its client fill the limits, answers no more while it does not read."""

    def __init__(self, service: Service, client: int, ended: Callable[[Connection], None]) -> None:
        self.service = service
        self.client = client
        self.log = service.log.bind(client=client)
        self.session = Session(service, client, self._send, self.log)
        self.session.on_frame_ended(self._frame_ended)
        self._ended = ended  # called when everything that the client held has been given back
        self._loop = asyncio.get_running_loop()
        self._requests: deque[tuple[Request, float]] = deque()
        self._arrived = asyncio.Event()
        self._room = asyncio.Event()  # for one more frame
        self._writable = asyncio.Event()
        self._writable.set()
        self._reading = True
        self._deadline: asyncio.TimerHandle | None = None  # of the message that is coming in
        self._write_deadline: asyncio.TimerHandle | None = None
        self._silence: asyncio.TimerHandle | None = None
        self._waiting_bytes = 0  # behind requests that wait for their turn
        self._task: asyncio.Task[None] | None = None
        self._ending: asyncio.Task[None] | None = None

    # -- from the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=WRITE_BUFFER)
        self._socket = transport.get_extra_info("socket")
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._peer = transport.get_extra_info("peername")[0]
        self.decoder = Decoder(self.session.following, self.service.numbering_of(self._peer))
        self.log.info("connected", peer=self._peer)
        self._task = self._loop.create_task(self._serve())

    def data_received(self, data: bytes) -> None:
        # else a client's small frame waits 40 ms for our acknowledgement (part 2, 3)
        if hasattr(socket, "TCP_QUICKACK"):
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        self._read(data)

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, error: Exception | None) -> None:
        for timer in (self._deadline, self._write_deadline, self._silence):
            if timer is not None:
                timer.cancel()
        if self.decoder.numbering is not None:
            self.service.remember(self._peer, self.decoder.numbering)
        assert self._task is not None
        self._task.cancel()
        self._ending = self._loop.create_task(self._end(error))

    def pause_writing(self) -> None:
        self._writable.clear()
        self._write_deadline = self._loop.call_later(
            self.service.limits.message_seconds, self._abort, "takes nothing of what was sent"
        )
        self._throttle()

    def resume_writing(self) -> None:
        self._writable.set()
        if self._write_deadline is not None:
            self._write_deadline.cancel()
        self._throttle()

    # -- requests

    def _read(self, data: bytes | None) -> None:
        """Bytes of the client; None: it has been silent behind a message that may be whole."""
        decoder, now = self.decoder, self._loop.time()
        try:
            for request in decoder.settle() if data is None else decoder.feed(data):
                self._requests.append((request, now))
                self._waiting_bytes += len(request.data)
                self._arrived.set()
                if self._deadline is not None:
                    self._deadline.cancel()
                    self._deadline = None
        except ProtocolError as error:
            self._abort(str(error))
            return
        if self._silence is None and decoder.undecided:
            self._silence = self._loop.call_later(UNPADDED_SECONDS, self._read, None)
        if decoder.partial and self._deadline is None:
            self._deadline = self._loop.call_later(self.service.limits.message_seconds, self._abort, "a message stalls")
        elif not decoder.partial and self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        self._throttle()

    async def _serve(self) -> None:
        """Answer requests one after the other, as the real server's action thread does."""
        while True:
            while not self._requests:
                self._arrived.clear()
                await self._arrived.wait()
            await self._writable.wait()
            request, came = self._requests.popleft()
            self._waiting_bytes -= len(request.data)
            while request.action in RUN_ACTIONS and not self.session.has_room:
                self._room.clear()
                await self._room.wait()
            reply = await self.session.answer(request)
            if reply is not None:
                if request.action not in RUN_ACTIONS:
                    await asyncio.sleep(came + REPLY_SECONDS - self._loop.time())
                self._send(request, reply)
            self._throttle()

    def _send(self, request: Request, reply: Reply) -> None:
        if self._transport.is_closing():
            return
        numbering = self.decoder.numbering or V5_1_1  # none yet: VDEVICE__CREATE, which has one number in all
        self._transport.write(
            encode_message(numbering, request.action, request.message_id, reply.status, reply.body, reply.data)
        )

    def _frame_ended(self) -> None:
        self._room.set()
        self._throttle()

    def _throttle(self) -> None:
        """Read only what there is room for."""
        limits = self.service.limits
        room = (
            len(self._requests) < limits.requests
            and self._waiting_bytes < limits.frame_bytes
            and self.session.has_room
            and self._writable.is_set()
        )
        if room is self._reading or self._transport.is_closing():
            return
        self._reading = room
        if room:
            self._transport.resume_reading()
            return
        self._transport.pause_reading()
        if self._deadline is not None:  # it is we who let the message wait
            self._deadline.cancel()
            self._deadline = None

    # -- the end

    def _abort(self, reason: str) -> None:
        self.log.warning("closed", reason=reason)
        self._transport.abort()

    async def _end(self, error: Exception | None) -> None:
        if self._task is not None:
            with suppress(asyncio.CancelledError):
                await self._task
        await self.session.close()
        self.log.info("disconnected", **({"error": type(error).__name__} if error is not None else {}))
        self._ended(self)

    def shut(self) -> None:
        """The server ends."""
        self._transport.abort()
