"""A server inside the test process, on a port of its own."""

from __future__ import annotations

import asyncio
import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from emu.server.limits import Limits
from emu.server.log import server_log
from emu.server.server import Server
from emu.server.service import Service


class Serving:
    """`port` to connect to, `log` what was logged so far, `server` the thing itself (of another thread)."""

    def __init__(self, server: Server, log: io.StringIO, loop: asyncio.AbstractEventLoop) -> None:
        self.server = server
        self._log = log
        self._loop = loop

    @property
    def port(self) -> int:
        return self.server.port

    @property
    def log(self) -> str:
        return self._log.getvalue()

    def held(self) -> list[Any]:
        """What clients hold at this moment."""

        async def look() -> list[Any]:
            return list(self.server.service.handles._resources.values())

        return asyncio.run_coroutine_threadsafe(look(), self._loop).result(10)


@contextmanager
def serving(device: str = "hailo10h", limits: Limits | None = None, **options: Any) -> Iterator[Serving]:
    """Serve from a thread; `options` as of `Service`."""
    log = io.StringIO()
    loop = asyncio.new_event_loop()

    async def start() -> Server:
        service = Service(device, options.pop("runtime", None), limits=limits, log=server_log(log, False), **options)
        server = Server(service, "127.0.0.1", 0)
        await server.start()
        return server

    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        server = asyncio.run_coroutine_threadsafe(start(), loop).result(20)
        try:
            yield Serving(server, log, loop)
        finally:
            asyncio.run_coroutine_threadsafe(server.stop(), loop).result(20)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
