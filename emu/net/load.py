"""From an opened HEF to the networks of its contexts, each read once a process while it is kept."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

import xxhash

from emu.chips.runtimes import device_profile, runtime_profile
from emu.errors import HailoError, HailoStatus
from emu.hef import Hef
from emu.hef.infos import NetworkGroupInfo, hef_infos
from emu.hef.model import CoreOp
from emu.hw.config.execute import Executed, Executor, ListRun
from emu.net.network import Network, read_network
from emu.net.streams import streams_of
from emu.sequencer.compile import CompileOptions, chosen_core_ops, default_device
from emu.sequencer.configuration import (
    HAILO8,
    CcwRecords,
    Configuration,
    ConfigurationList,
    DisableLcu,
    EnableLcu,
    read_configuration,
)

_KEPT = 8  # core-ops a process

Networks = tuple[Network, ...]
"""One network for each dynamic context of a core-op."""

_kept: OrderedDict[int, Networks] = OrderedDict()


def networks_of(hef: Hef, options: CompileOptions) -> list[tuple[str, Networks]]:
    """The networks of each group that `options` compile, by the group's name; raises as `load_networks` does."""
    runtime = runtime_profile(hef.runtime)
    device = device_profile(options.device or default_device(hef.header.hw_arch))
    infos = {group.name: group for group in hef_infos(hef).network_groups}
    return [
        (group.network_group_name, load_networks(hef, core_op, infos[group.network_group_name]))
        for group, core_op in chosen_core_ops(hef, options, runtime, device)
    ]


def load_networks(hef: Hef, core_op: CoreOp, group: NetworkGroupInfo) -> Networks:
    """The network of each context of a core-op; the same content is read once a process while it is kept.

    Raises HailoError 7 where the networks of such a file are not read: 10H/15H, configuration without sequencer
    programs.
    """
    configuration = read_configuration(hef, core_op)
    if configuration.family != HAILO8:
        raise _unread("the networks of Hailo-10H and 15H files are not read", group)
    key = _content(configuration, group)
    networks = _kept.pop(key, None)
    if networks is None:
        networks = tuple(_networks(configuration, group))
    _kept[key] = networks
    while len(_kept) > _KEPT:
        _kept.popitem(last=False)
    return networks


def _networks(configuration: Configuration, group: NetworkGroupInfo) -> Iterator[Network]:
    """Carry out list by list; what the chip holds behind that of a context is the context's network (units.md 5)."""
    executor = Executor(configuration.family)
    runs: list[ListRun] = []
    enabled: set[tuple[int, int]] = set()
    for steps in configuration.lists:
        runs.append(executor.execute(steps))
        running = _running_in(steps, enabled)
        if steps.context is None:
            continue
        programs = [run.program for listed in runs for run in listed.runs]
        if not programs or any(program.broken is not None for program in programs):
            raise _unread("its configuration holds no whole sequencer programs", group)
        executed = Executed(configuration, tuple(runs), executor.image)
        yield read_network(executed, streams_of(group.layers[steps.context]), running)


def _running_in(steps: ConfigurationList, enabled: set[tuple[int, int]]) -> frozenset[tuple[int, int]]:
    """The LCUs that are enabled once a list has enabled its last one; `enabled` becomes those at its end."""
    running = frozenset(enabled)
    for step in steps.steps:
        if isinstance(step, EnableLcu):
            enabled.add((step.cluster, step.lcu))
            running = frozenset(enabled)
        elif isinstance(step, DisableLcu):
            enabled.discard((step.cluster, step.lcu))
    return running


def _unread(why: str, group: NetworkGroupInfo) -> HailoError:
    return HailoError(HailoStatus.HAILO_NOT_IMPLEMENTED, why, network_group=group.name)


def _content(configuration: Configuration, group: NetworkGroupInfo) -> int:
    digest = xxhash.xxh3_64()
    for steps in configuration.lists:
        digest.update(steps.name.encode())
        for step in steps.steps:
            if isinstance(step, CcwRecords):
                digest.update(step.data)
            else:
                digest.update(repr(step).encode())
    digest.update(repr([streams_of(layers) for layers in group.layers]).encode())
    return digest.intdigest()
