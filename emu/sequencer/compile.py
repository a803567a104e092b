"""HEF to Program: what the runtime sends when it configures a device (hef-compile.md)."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from emu.chips.runtimes import (
    DeviceProfile,
    RuntimeProfile,
    device_profile,
    runtime_profile,
)
from emu.chips.runtimes import default_device as first_device
from emu.errors import HailoError, HailoStatus, IncompatibleError, UsageError
from emu.hef import Hef
from emu.hef.layers import network_names
from emu.hef.load import check_load
from emu.hef.model import CoreOp, NetworkGroup
from emu.naming import full_name, listed, similar
from emu.sequencer.caches import CacheManager
from emu.sequencer.compatibility import check_compatible, check_layout, check_strict_version, select_core_op
from emu.sequencer.group import Configuration, GroupCompiler
from emu.sequencer.host import HostMemory
from emu.sequencer.limits import check_size
from emu.sequencer.options import CompileOptions
from emu.sequencer.program import Program

__all__ = ["CompileOptions", "compile_hef", "default_device"]


def default_device(hw_arch: int) -> str:
    """The first device of hef-container.md 5.1's table; an architecture that it lacks has none (93)."""
    device = first_device(hw_arch)
    if device is None:
        raise IncompatibleError(
            HailoStatus.HAILO_HEF_NOT_COMPATIBLE_WITH_DEVICE, f"no device runs HEFs of architecture {hw_arch}"
        )
    return device


def compile_hef(hef: Hef, options: CompileOptions | None = None) -> Program:
    """Everything the runtime sends to the device for one configure call.

    Raises HailoError with the status of the runtime where it refuses, IncompatibleError where the HEF is sound but not
    for this device or runtime, UsageError for options that make no sense.
    """
    options = options or CompileOptions()
    runtime = runtime_profile(options.runtime or hef.runtime)
    with _no_collection():
        check_size(hef)
        check_load(hef)
        device = device_profile(options.device or default_device(hef.header.hw_arch))
        return _configure(hef, options, runtime, device)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Without cyclic garbage collection: actions are small tuples without cycles, yet each generation that fills up
    would walk the whole model again (a third of the compile time)."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def chosen_core_ops(
    hef: Hef, options: CompileOptions, runtime: RuntimeProfile, device: DeviceProfile
) -> list[tuple[NetworkGroup, CoreOp]]:
    """The network groups that are compiled, each with the core op for the device's cluster layout."""
    check_layout(runtime, device, options.cluster_layout)
    check_compatible(hef, runtime, device)
    return [
        (group, select_core_op(hef, group, device, options.cluster_layout, options.host))
        for group in _groups(hef, options)
    ]


def _configure(hef: Hef, options: CompileOptions, runtime: RuntimeProfile, device: DeviceProfile) -> Program:
    chosen = chosen_core_ops(hef, options, runtime, device)
    groups, core_ops = [group for group, _ in chosen], [core_op for _, core_op in chosen]
    _check_networks(hef, options, groups, core_ops)
    check_strict_version(hef, runtime, options.host)
    if len(groups) > runtime.max_applications:
        raise HailoError(
            HailoStatus.HAILO_INVALID_OPERATION,
            f"{len(groups)} network groups, at most {runtime.max_applications} can be configured",
        )
    host = HostMemory(options.host)
    configuration = Configuration(
        hef,
        options,
        runtime,
        device,
        host,
        options.host.hw_consts or device.hw_consts,
        CacheManager(host, runtime),
    )
    programs = tuple(
        GroupCompiler(configuration, group, core_op, index).run()
        for index, (group, core_op) in enumerate(zip(groups, core_ops, strict=True))
    )
    return Program(
        runtime.name,
        device.name,
        options.batch,
        programs,
        host.descriptor_lists(),
        host.continuous_buffers(),
    )


def _groups(hef: Hef, options: CompileOptions) -> Sequence[NetworkGroup]:
    groups = hef.ordered_network_groups
    if options.network_group is None:
        return groups
    chosen = [group for group in groups if group.network_group_name == options.network_group]
    if not chosen:
        names = [group.network_group_name for group in groups]
        near = similar(options.network_group, names)
        raise UsageError(f"no network group {options.network_group!r} in the HEF (it has {listed(names)}).{near}")
    return chosen


def _check_networks(
    hef: Hef, options: CompileOptions, groups: Sequence[NetworkGroup], core_ops: Sequence[CoreOp]
) -> None:
    known = {
        name
        for group, core_op in zip(groups, core_ops, strict=True)
        for name in network_names(group.network_group_name, core_op, hef.features)
    }
    for name in options.net_batch:
        if full_name(name, known) is None:
            near = similar(name, sorted(known))
            raise UsageError(f"a batch for network {name!r}, the HEF has {listed(sorted(known))}.{near}")
