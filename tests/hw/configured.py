"""The given real files with their configuration carried out once: what the tests over all of them count."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from emu.hef import open_hef
from emu.hw.config.execute import Executed, Executor, ListRun, preliminary
from emu.sequencer.configuration import HAILO1XH, HAILO8, Configuration, read_configuration
from tests.conftest import SHARED


class Layout(NamedTuple):
    """One layout of a file, with what its preliminary list made of the chip."""

    name: str
    configuration: Configuration
    executed: Executed


@cache
def configurations() -> tuple[tuple[str, Configuration], ...]:
    """Every layout of every given file, in the order of names."""
    found = []
    for path in sorted((SHARED / "hef").glob("*.hef")):
        hef = open_hef(path)
        found += [(path.name, read_configuration(hef, core_op)) for core_op in hef.core_ops() if core_op.contexts]
    return tuple(found)


@cache
def layouts(family: str = HAILO8) -> tuple[Layout, ...]:
    """The layouts of one family, their preliminary list carried out."""
    return tuple(
        Layout(name, configuration, preliminary(configuration))
        for name, configuration in configurations()
        if configuration.family == family
    )


@cache
def runs_1xh() -> tuple[tuple[str, Configuration, tuple[ListRun, ...]], ...]:
    """Every list of the 1xh files that holds records, carried out one after the other."""
    found = []
    for name, configuration in configurations():
        if configuration.family == HAILO1XH:
            executor = Executor(HAILO1XH)
            runs = tuple(executor.execute(steps) for steps in configuration.lists)
            found.append((name, configuration, tuple(run for run in runs if len(run.records))))
    return tuple(found)
