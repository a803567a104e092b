"""What the runtime checks in the message when it loads a HEF (Hef::create), in its order, with its statuses.

hef-container.md 10, hef-compile.md 2, and hef.cpp of 4.23 and 5.2. The checks of edge layers are in
`emu.hef.context_layers`, those of post-process ops in `emu.hef.ops`; those of configure belong to the sequencer. Where
the real program crashes on a file, ours refuses it as HAILO_INVALID_HEF.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NoReturn
from weakref import WeakKeyDictionary

import msgspec

from emu.errors import HailoStatus
from emu.hef import operations as ops
from emu.hef.context_layers import context_layers
from emu.hef.enums import EdgeConnectionType, HwArch, WriteDataType
from emu.hef.features import first_supported, unsupported_extensions
from emu.hef.hef import Hef
from emu.hef.layer_checks import check_context, check_unique_names
from emu.hef.layers import LayerInfo, StreamDirection
from emu.hef.model import Context, CoreOp, Extension, NetworkGroup
from emu.hef.op_checks import check_op
from emu.hef.ops import group_ops
from emu.hef.runtime import V4_18, V4_21, V5_0, V5_0_1, Runtime, runtimes

MULTI_LAYOUT_ARCHS = frozenset({HwArch.HAILO8L, HwArch.HAILO15M})
"""Architectures whose HEFs hold one configuration per cluster layout (is_multi_layout, hef-container.md 5.2)."""

MIN_SLEEP_TIME_USEC = 1000
_UINT8, _UINT16, _UINT32 = 0xFF, 0xFFFF, 0xFFFFFFFF

ACTION_SINCE: Mapping[type[Any], Runtime] = MappingProxyType(
    {
        ops.ActionEnableNMS: Runtime(4, 13),
        ops.ActionWriteDataByType: Runtime(4, 14),
        ops.ActionSwitchLcuBatch: Runtime(4, 17),
        ops.ActionWriteDataCcwPtr: V4_18,
        ops.ActionDebug: Runtime(4, 19),
        ops.ActionAllowConfigChannel: V5_0_1,
        ops.ActionDisableDataChannels: V5_0_1,
    }
)
"""Fields that a schema does not have yet count as unset there (hef-compile.md 2.2)."""


class _RefusalError(Exception):
    """A check that failed; the place is added on the way out."""

    def __init__(self, status: HailoStatus, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


def _invalid(message: str) -> NoReturn:
    raise _RefusalError(HailoStatus.HAILO_INVALID_HEF, message)


def _fits(record: object, maximum: int, *fields: str) -> None:
    for field in fields:
        value = getattr(record, field)
        if value > maximum:
            _invalid(f"{type(record).__name__}: {field} {value} is greater than {maximum}")


# --- triggers -------------------------------------------------------------------------------------------------------


def _trigger_received(_: ops.TriggerAllDataWasReceivedFromHostPCIe) -> NoReturn:
    raise _RefusalError(HailoStatus.HAILO_NOT_IMPLEMENTED, "trigger_all_data_was_received is implemented by no runtime")


_TRIGGER_CHECKS: Mapping[type[Any], Callable[[Any], None]] = MappingProxyType(
    {
        ops.TriggerLcu: lambda t: _fits(t, _UINT8, "cluster_index", "lcu_index"),
        ops.TriggerAllDataWasSentToHostPCIe: lambda t: _fits(t, _UINT8, "shmifo_index"),
        ops.WaitDmaIdleTrigger: lambda t: _fits(t, _UINT8, "shmifo_index"),
        ops.TriggerNms: lambda t: _fits(t, _UINT8, *ops.TriggerNms.__struct_fields__),
        ops.TriggerAllDataWasReceivedFromHostPCIe: _trigger_received,
        ops.TriggerNone: lambda t: None,
        type(None): lambda t: _invalid("an operation whose trigger is not set or unknown"),
    }
)


# --- actions --------------------------------------------------------------------------------------------------------


def _lcu(action: ops.ActionDisableLcu | ops.ActionEnableLcu | ops.ActionSwitchLcuBatch) -> None:
    # most actions name one: the names of fields are looked up only for what does not fit
    if action.cluster_index > _UINT8 or action.lcu_index > _UINT8:
        _fits(action, _UINT8, "cluster_index", "lcu_index")


def _enable_lcu(action: ops.ActionEnableLcu) -> None:
    _lcu(action)
    if action.lcu_kernel_done_address > _UINT16:
        _fits(action, _UINT16, "lcu_kernel_done_address")


def _enable_sequencer(action: ops.ActionEnableSequencer) -> None:
    _fits(action, _UINT8, "cluster_index")
    if action.initial_l3_info.includes_initial_l3_info:
        _fits(action.initial_l3_info, _UINT8, "initial_l3_index")
        _fits(action.initial_l3_info, _UINT16, "initial_l3_offset")


def _enable_nms(action: ops.ActionEnableNMS) -> None:
    _fits(action, _UINT8, "nms_unit_index", "network_index")
    if not action.number_of_classes or not action.burst_size:
        _invalid(
            f"ActionEnableNMS: number_of_classes {action.number_of_classes} and burst_size {action.burst_size} "
            f"must not be 0 (a compiler before 3.24?)"
        )
    _fits(action, _UINT8, "division_factor")


def _write_data_by_type(action: ops.ActionWriteDataByType) -> None:
    _fits(action, _UINT32, "address")
    if action.address % 4:
        _invalid(f"ActionWriteDataByType: address 0x{action.address:x} is not a multiple of 4")
    if not isinstance(action.data_type, WriteDataType):
        _invalid(f"ActionWriteDataByType: data_type {action.data_type} is neither of 0 and 1")
    if len(action.data) > 4:
        _invalid(f"ActionWriteDataByType: {len(action.data)} bytes of data, at most 4 are possible")
    _fits(action, _UINT8, "shift")


def _debug(action: ops.ActionDebug) -> None:
    if action.action is None:
        _invalid(f"ActionDebug with neither sleep nor halt (type {int(action.type)}; a compiler before 4.19?)")
    if isinstance(action.action, ops.ActionDebugSleep):
        duration = action.action.duration_in_usec
        if duration < MIN_SLEEP_TIME_USEC:
            _invalid(f"ActionDebugSleep: {duration} us are less than {MIN_SLEEP_TIME_USEC}")


def _not_implemented(action: object) -> NoReturn:
    what = "an action that is not set or unknown" if action is None else type(action).__name__
    raise _RefusalError(HailoStatus.HAILO_INTERNAL_FAILURE, f"{what} is implemented by no runtime")


_ACTION_CHECKS: Mapping[type[Any], Callable[[Any], None]] = MappingProxyType(
    {
        ops.ActionDisableLcu: _lcu,
        ops.ActionEnableLcu: _enable_lcu,
        ops.ActionSwitchLcuBatch: _lcu,
        ops.ActionEnableSequencer: _enable_sequencer,
        ops.ActionNone: lambda a: None,
        ops.ActionWaitForSequencer: lambda a: _fits(a, _UINT8, "cluster_index"),
        ops.ActionAllowInputDataflow: lambda a: _fits(a, _UINT8, "sys_index"),
        ops.ActionAllowConfigChannel: lambda a: _fits(a, _UINT8, "config_index"),
        ops.ActionDisableDataChannels: lambda a: None,
        ops.ActionWaitForModuleConfigDone: lambda a: _fits(a, _UINT8, "index"),
        ops.ActionEnableNMS: _enable_nms,
        ops.ActionWriteDataByType: _write_data_by_type,
        ops.ActionDebug: _debug,
        ops.ActionWriteData: _not_implemented,
        ops.ActionWriteCompressedData: _not_implemented,
        type(None): _not_implemented,
    }
)


class _Operations:
    """The checks of a list of operations, for one runtime and one container version."""

    def __init__(self, hef: Hef) -> None:
        self.version = hef.container.version
        self.runtime = hef.version
        self.newer = {kind for kind, since in ACTION_SINCE.items() if self.runtime < since}
        own: type[Any] = ops.ActionWriteDataCcw if self.version == 0 else ops.ActionWriteDataCcwPtr
        other: type[Any] = ops.ActionWriteDataCcwPtr if self.version == 0 else ops.ActionWriteDataCcw
        self.ccw = None if own in self.newer else own
        self.checks = dict(_ACTION_CHECKS)
        self.checks[other] = self._check_other
        self.checks.update(dict.fromkeys(self.newer, self._check_newer))
        # hef-compile.md 2.3: 4.21-4.23 take SHARED_CONFIG as "aligned CCWs", for V3 only; V0 never asks.
        self.refuses_shared_config = (
            hef.features.shared_config and V4_21 <= self.runtime < V5_0 and self.version in (1, 2)
        )

    def check(self, operations: tuple[ops.Operation, ...], **where: object) -> None:
        for index, operation in enumerate(operations):
            try:
                _TRIGGER_CHECKS[type(operation.trigger)](operation.trigger)
            except _RefusalError as refused:
                raise self.runtime.refusal(refused.status, refused.message, **where, operation=index) from None
            self._check_actions(operation.actions, {**where, "operation": index})

    def _check_actions(self, actions: tuple[ops.Action | None, ...], where: dict[str, object]) -> None:
        run: list[Any] = []
        checked, checks, ccw = 0, self.checks, self.ccw
        try:
            for action in actions:
                kind = type(action)
                if kind is ccw:
                    run.append(action)
                else:
                    if run:
                        self._check_ccw_run(run)
                        run = []
                    checks[kind](action)
                checked += 1
            if run:
                self._check_ccw_run(run)
        except _RefusalError as refused:
            raise self.runtime.refusal(refused.status, refused.message, **where, action=checked) from None
        if self.refuses_shared_config:
            raise self.runtime.incompatible(
                HailoStatus.HAILO_HEF_NOT_SUPPORTED,
                f"SHARED_CONFIG in a file of container version {self.version}: HailoRT {self.runtime} takes it "
                f"in version 3 only",
                **where,
            )

    def _check_newer(self, action: ops.Action) -> NoReturn:
        kind = type(action)
        raise _RefusalError(
            HailoStatus.HAILO_INTERNAL_FAILURE,
            f"{kind.__name__} is known since HailoRT {ACTION_SINCE[kind]}, not to {self.runtime}",
        )

    def _check_other(self, action: ops.Action) -> NoReturn:
        _invalid(f"{type(action).__name__} in a file of container version {self.version}")

    @staticmethod
    def _check_ccw_run(run: list[ops.ActionWriteDataCcwPtr | ops.ActionWriteDataCcw]) -> None:
        for action in run:
            if action.cfg_channel_index > _UINT8:
                _invalid(f"{type(action).__name__}: cfg_channel_index {action.cfg_channel_index} is greater than 255")
        if len(run) > _UINT16:
            channel, bursts = Counter(action.cfg_channel_index for action in run).most_common(1)[0]
            if bursts > _UINT16:
                _invalid(f"{bursts} CCW writes in a row for config channel {channel}, at most {_UINT16} are possible")


class Loaded(msgspec.Struct, eq=False):
    """What loading a HEF found: the layers of each context of every core op that the runtime makes metadata of."""

    _layers: dict[int, tuple[tuple[LayerInfo, ...], ...]] = msgspec.field(default_factory=dict)

    def keep(self, core_op: CoreOp, layers: tuple[tuple[LayerInfo, ...], ...]) -> None:
        self._layers[id(core_op)] = layers  # which lives as long as its Hef, and this no longer

    def layers(self, core_op: CoreOp) -> tuple[tuple[LayerInfo, ...], ...]:
        """In file order, context by context."""
        return self._layers[id(core_op)]


# --- core ops and groups --------------------------------------------------------------------------------------------


def alternatives(hef: Hef, group: NetworkGroup) -> list[tuple[int | None, CoreOp]]:
    """The core ops that the runtime makes metadata of: (cluster layout, core op) for the multi-layout
    architectures, the one core op of the group, with None, for all others.

    The runtime checks each of them, but keeps them in a map that a later one of the same layout overwrites
    (CoreOpMetadataPerArch::add_metadata): `dict` of the list is what it goes on with.
    """
    assert group.core_op is not None
    if hef.header.hw_arch in MULTI_LAYOUT_ARCHS:
        return [
            (partial.layout.partial_clusters_layout_bitmap, partial.core_op)
            for partial in group.core_op.partial_core_ops
        ]
    return [(None, group.core_op)]


def _crash(hef: Hef, message: str, **where: object) -> NoReturn:
    raise hef.version.refusal(HailoStatus.HAILO_INVALID_HEF, f"{message} (the real runtime crashes on it)", **where)


def _check_config_channels(hef: Hef, core_op: CoreOp, group: str) -> None:
    metadata = core_op.network_group_metadata
    count = metadata.cfg_channels_count
    if count > _UINT8:
        raise hef.version.refusal(
            HailoStatus.HAILO_INVALID_HEF, f"cfg_channels_count {count} is greater than 255", network_group=group
        )
    engines: dict[int, int] = {}
    for channel in metadata.cfg_channels_config:
        engines.setdefault(channel.cfg_channel_index, channel.engine_id)
    for index in range(count or 1):
        engine = engines.get(index, 0)
        if engine > _UINT8:
            raise hef.version.refusal(
                HailoStatus.HAILO_INVALID_HEF,
                f"engine_id {engine} of config channel {index} is greater than 255",
                network_group=group,
            )


def _check_core_op(
    hef: Hef, group: NetworkGroup, core_op: CoreOp, layout: int | None, loaded: Loaded
) -> list[LayerInfo]:
    """One core op; the layers of all its contexts."""
    where: dict[str, object] = {"network_group": group.network_group_name}
    if layout is not None:
        where["layout"] = layout
    operations = _Operations(hef)
    operations.check(core_op.preliminary_config.operation, **where, context="preliminary")
    by_context = []
    for index, context in enumerate(core_op.contexts):
        operations.check(context.operations, **where, context=index)
        by_context.append(_check_edge_layers(hef, group, core_op, context, index))
    loaded.keep(core_op, tuple(by_context))
    layers = [layer for found in by_context for layer in found]
    check_unique_names(layers)
    _check_config_channels(hef, core_op, group.network_group_name)
    if not core_op.contexts:
        _crash(hef, "a core op without contexts", **where)
    return layers


def _check_edge_layers(
    hef: Hef, group: NetworkGroup, core_op: CoreOp, context: Context, index: int
) -> tuple[LayerInfo, ...]:
    layers = context_layers(
        group.network_group_name, core_op, context, index, hef.header.hw_arch, hef.features, hef.version
    )
    check_context(layers, index)
    return layers


def _check_group(hef: Hef, group: NetworkGroup, loaded: Loaded) -> None:
    name = group.network_group_name
    found = alternatives(hef, group)
    if not found:
        _crash(hef, "no configuration for any cluster layout", network_group=name)
    for layout, core_op in found:
        layers = _check_core_op(hef, group, core_op, layout, loaded)
        if hef.features.hailo_net_flow:
            for op in group_ops(group, [layer for layer in layers if _is_output(layer)], hef.version):
                check_op(op)


def _is_output(layer: LayerInfo) -> bool:
    return layer.type is EdgeConnectionType.BOUNDARY and layer.direction is StreamDirection.D2H


def _check_sorted_outputs(hef: Hef, group: NetworkGroup, core_op: CoreOp) -> None:
    """Some place must order the outputs (hef-container.md 6.3)."""
    if core_op.fused_layers_metadata.network_has_fused_layers or group.sorted_outputs_order:
        return
    if not core_op.contexts:
        _crash(hef, "sorted_outputs_order is nowhere to be found", network_group=group.network_group_name)
    if not core_op.contexts[-1].metadata.sorted_outputs_order:
        raise hef.version.refusal(
            HailoStatus.HAILO_INVALID_HEF,
            "sorted_outputs_order is set nowhere",
            network_group=group.network_group_name,
        )


def _describe(extension: Extension) -> str:
    since = first_supported(extension.type_index)
    known = "unknown to all up to 5.2" if since is None else f"since HailoRT {since}"
    return f"{extension.name or 'without a name'} ({extension.type_index}, {known})"


def _check_extensions(hef: Hef) -> None:
    runtime = hef.version
    refused = unsupported_extensions(hef.extensions, runtime)
    if refused:
        names = ", ".join(_describe(extension) for extension in refused)
        elsewhere = [other for other in runtimes() if other != runtime and not unsupported_extensions(refused, other)]
        message = f"HailoRT {runtime} does not support the extensions {names}"
        if elsewhere:
            remedy = f"{elsewhere[-1]} does (--runtime {elsewhere[-1]})"
            raise runtime.incompatible(HailoStatus.HAILO_HEF_NOT_SUPPORTED, f"{message}; {remedy}", file=hef.name)
        raise runtime.refusal(HailoStatus.HAILO_HEF_NOT_SUPPORTED, message, file=hef.name)
    if runtime >= V4_21 and not hef.features.periph_calculation_in_hailort:
        raise runtime.refusal(
            HailoStatus.HAILO_HEF_NOT_SUPPORTED,
            "extension PERIPH_CALCULATION_IN_HAILORT (26) is missing: HailoRT 4.21 and later refuse files of "
            "compilers before 3.24; compile the model again with a newer Dataflow Compiler, or use HailoRT 4.20 "
            "or earlier (--runtime 4.20)",
            file=hef.name,
        )


_LOADED: WeakKeyDictionary[Hef, Loaded] = WeakKeyDictionary()


def check_load(hef: Hef) -> Loaded:
    """Refuse what the runtime refuses in Hef::create; once for a HEF, which does not change.

    Raises HailoError with the runtime's status (26, 2, 6, 7, 8, 61, 92); IncompatibleError where only the version is
    wrong (92 for extensions that another runtime supports).
    """
    loaded = _LOADED.get(hef)
    if loaded is None:
        loaded = Loaded()
        _check(hef, loaded)
        _LOADED[hef] = loaded
    return loaded


def _check(hef: Hef, loaded: Loaded) -> None:
    groups = list(_with_core_op(hef))
    seen: set[str] = set()
    for group, core_op in groups:
        _check_group(hef, group, loaded)
        if group.network_group_name in seen:
            raise hef.version.refusal(
                HailoStatus.HAILO_INVALID_OPERATION,
                f"two network groups are named {group.network_group_name!r}",
                file=hef.name,
            )
        seen.add(group.network_group_name)
        _check_sorted_outputs(hef, group, core_op)
    _check_extensions(hef)


def _with_core_op(hef: Hef) -> Iterator[tuple[NetworkGroup, CoreOp]]:
    for group in hef.ordered_network_groups:
        if group.core_op is None:
            _crash(hef, "a net-flow group without a core op", network_group=group.network_group_name)
        yield group, group.core_op
