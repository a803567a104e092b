"""An application whose configuration is well formed, so that a device executes it: a chain of two dense layers."""

from __future__ import annotations

from functools import cache

from emu.conform.applications import Application
from emu.hef import open_hef
from emu.hef.formats import Shape
from emu.hef.writer import write_hef
from emu.sequencer.compile import compile_hef
from emu.sequencer.options import CompileOptions
from emu.sequencer.program import ContextType, Program
from emu.wire.headers import ApplicationHeader
from emu.wire.lists import Entry, Repeated
from emu.wire.wire import wire_of

WIDTH = 8  # inputs and outputs of each layer
CLUSTER = 4  # that it configures, by config channel 1
LCUS = (64, 65)
IN, OUT = 2, 16
IN_STREAM, OUT_STREAM = 1, 0


@cache
def _program(contexts: int) -> Program:
    import numpy as np

    from emu.net.build import IntegerLayer, line, rectifier
    from emu.net.build_hef import Quantised, hef_contents
    from emu.net.layers import Kind

    kernel, bias = np.ones((WIDTH, 1, 1, WIDTH), np.int8), np.zeros(WIDTH, np.int16)
    layers = [
        IntegerLayer(Kind.DENSE, kernel, bias, 0, 0, activation) for activation in (rectifier(0.01), line(0.01, 128))
    ]
    zeros = (0, *[128] * contexts)
    streams = [Quantised(f"stream{at}", Shape(1, 1, WIDTH), zero, 1.0) for at, zero in enumerate(zeros)]
    data = write_hef(hef_contents("net", [layers] * contexts, streams, 0), version=2)
    return compile_hef(open_hef(data), CompileOptions())


def built(contexts: int = 1) -> Application:
    """It as a compiler makes it, its REPEATED actions one by one; each of several contexts is such a chain."""
    program = _program(contexts)
    group = program.network_groups[0]
    lists: dict[ContextType, list[list[Entry]]] = {}
    for one in group.contexts:
        flat: list[Entry] = []
        for located in one.actions(program.runtime):
            flat += located.entry.items if isinstance(located.entry, Repeated) else (located.entry,)
        lists.setdefault(one.context_type, []).append(flat)
    header: ApplicationHeader = wire_of(program.runtime).header.decode(group.application_header)
    return Application(
        lists[ContextType.ACTIVATION][0],
        lists[ContextType.BATCH_SWITCHING][0],
        lists[ContextType.PRELIMINARY][0],
        lists[ContextType.DYNAMIC],
        device=program.device,
        batch=header.batch_size,
        base=program,
    )
