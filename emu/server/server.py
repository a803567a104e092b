"""The TCP server: it accepts clients, and ends when it is told to."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from typing import Protocol

from emu.errors import OutputError
from emu.server.connection import Connection
from emu.server.service import Service

PORT = 12133  # in every version (hrpc-5.2.md, Facts)
STOP_SECONDS = 0.5  # for what is under way, of the second that a server has to end in


class Listener(Protocol):
    """What listens beside the server."""

    async def start(self) -> None: ...

    def announce(self) -> None: ...

    async def stop(self) -> None: ...


class Server:
    """Serves one `Service`. Use: `await start()`, then `await stop()`."""

    def __init__(self, service: Service, host: str, port: int) -> None:
        self.service = service
        self.host = host
        self.port = port
        self._connections: set[Connection] = set()
        self._gone = asyncio.Event()  # one of them
        self._clients = 0

    async def start(self) -> None:
        """Listen; OutputError where the address cannot be had. `port` is the real one afterwards."""
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(self._accept, self.host, self.port)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise OutputError(f"cannot listen on {self.host}:{self.port}: {reason}") from None
        self.port = self._server.sockets[0].getsockname()[1]
        self.service.engine.start()
        self.service.log.info("serving", message=f"serving {self.service.device} on {self.host}:{self.port}")

    async def stop(self) -> bool:
        """Close every connection; whether the thread of the devices has ended too."""
        self._server.close()
        for connection in list(self._connections):
            connection.shut()
        with suppress(TimeoutError):
            async with asyncio.timeout(STOP_SECONDS):
                while self._connections:
                    self._gone.clear()
                    await self._gone.wait()
        stopped = self.service.engine.stop(STOP_SECONDS / 2)
        self.service.log.info("stopped")
        return stopped

    def _accept(self) -> asyncio.Protocol:
        self._clients += 1
        if len(self._connections) >= self.service.limits.connections:
            self.service.log.warning("refused_connection", connections=len(self._connections))
            return _Refused()
        connection = Connection(self.service, self._clients, self._forget)
        self._connections.add(connection)
        return connection

    def _forget(self, connection: Connection) -> None:
        self._connections.discard(connection)
        self._gone.set()


class _Refused(asyncio.Protocol):
    """One client too many."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()


async def serve(server: Server, *others: Listener) -> tuple[int, bool]:
    """Serve until SIGTERM or SIGINT; (which, whether everything has ended).

    Raises OutputError where an address cannot be had.
    """
    loop = asyncio.get_running_loop()
    told: asyncio.Queue[int] = asyncio.Queue()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told.put_nowait, number)
    for one in others:
        await one.start()
    await server.start()
    for one in others:
        one.announce()
    ending = await told.get()
    for one in others:
        await one.stop()
    return ending, await server.stop()
