"""The small applications of the vectors (`emu.conform.applications`), which the tests of single actions run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from emu.chips.chips import load
from emu.conform import applications
from emu.conform.applications import (
    BASE,
    BOUNDARY,
    DDR_IN,
    DDR_OUT,
    FRAME,
    IN,
    INTER_IN,
    INTER_OUT,
    OUT,
    PAGE,
    STRIDE,
    Application,
    act,
    buffer,
    bursts,
    changed,
    close,
    config_off,
    config_on,
    configuring,
    descriptors,
    fetch,
    stream_in,
    stream_out,
    without,
)
from emu.host.session import RunRequest, RunResult, Session, open_for, run_program
from emu.host.streams import Host
from emu.sequencer.program import Program

__all__ = [
    "BASE",
    "BOUNDARY",
    "DDR_IN",
    "DDR_OUT",
    "FRAME",
    "IN",
    "INTER_IN",
    "INTER_OUT",
    "OUT",
    "PAGE",
    "STRIDE",
    "Lists",
    "act",
    "bare_host",
    "buffer",
    "bursts",
    "changed",
    "close",
    "config_off",
    "config_on",
    "configuring",
    "descriptors",
    "double",
    "fetch",
    "runnable",
    "single",
    "stream_in",
    "stream_out",
    "with_ddr",
    "without",
]


@dataclass
class Lists(Application):
    """An application that can be run."""

    def program(self, config_bytes: bytes | None = None) -> Program:
        made = self if config_bytes is None else replace(self, config=config_bytes)
        return Application.program(made)

    def run(self, frames: int | None = None, config_bytes: bytes | None = None, **settings: Any) -> RunResult:
        request = RunRequest(frames=frames or self.batch, layout=self.layout or None, **settings)
        return run_program(self.program(config_bytes), load(self.device), request)

    def session(self, frames: int = 1, config_bytes: bytes | None = None, **settings: Any) -> Session:
        """A configured device, not yet enabled."""
        program = self.program(config_bytes)
        request = RunRequest(frames=frames, layout=self.layout or None, **settings)
        session = Session(open_for(program, load(self.device), request), program, request)
        session.configure()
        return session


def runnable(made: Application) -> Lists:
    return Lists(**vars(made))


def single(**settings: Any) -> Lists:
    return runnable(applications.single(**settings))


def with_outputs(outputs: int, **settings: Any) -> Lists:
    """As `single`, with so many boundary outputs."""
    lists = single(**settings)
    for number in range(1, outputs):
        at = buffer(2 + number)
        lists.activation.append(act("OPEN_BOUNDARY_OUTPUT_CHANNEL", packed_vdma_channel_id=OUT + number, **at))
        lists.dynamic[0].insert(0, stream_out("BOUNDARY", OUT + number, 9 + number, 2 + number))
    return lists


def double(**settings: Any) -> Lists:
    return runnable(applications.double(**settings))


def with_ddr(**settings: Any) -> Lists:
    return runnable(applications.with_ddr(**settings))


def bare_host(session: Session) -> Host:
    """A host for the first application of a session, attached; the application itself knows nothing of it."""
    application = session.applications[0]
    host = Host(session.chip, application.group.streams, application.batch, lambda stream, frame: None)
    session.chip.attach_host(host)
    return host
