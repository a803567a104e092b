"""The networks of the given real Hailo-8/8L files, each cluster layout by itself, read once."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from emu.hef import open_hef
from emu.hef.infos import NetworkGroupInfo, hef_infos
from emu.hw.config.execute import Executed, preliminary
from emu.net.network import Network, read_network
from emu.net.streams import streams_of
from emu.sequencer.configuration import HAILO8, Configuration, read_configuration
from tests.conftest import SHARED


class Given(NamedTuple):
    """One layout of a file: its chip after configuration, and the network read from it."""

    name: str
    group: NetworkGroupInfo
    configuration: Configuration
    executed: Executed
    network: Network


@cache
def given() -> tuple[Given, ...]:
    """Every layout of every file, in the order of names."""
    found = []
    for path in sorted((SHARED / "hef").glob("*.hef")):
        hef = open_hef(path)
        for core_op in hef.core_ops():
            if not core_op.contexts:
                continue
            configuration = read_configuration(hef, core_op)
            if configuration.family != HAILO8:
                continue
            group = hef_infos(hef).network_groups[0]
            executed = preliminary(configuration)
            network = read_network(executed, streams_of(group.layers[0]))
            found.append(Given(path.name, group, configuration, executed, network))
    return tuple(found)


def network_of(part: str) -> Network:
    """The network of the first file whose name has that part."""
    return next(one.network for one in given() if part in one.name)
