"""Turns a drawn HEF into one that also runs to its end: every wait has what it waits for, every unit exists."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from typing import TypeAlias

from msgspec.structs import replace

from emu.hef import builder, model
from emu.hef import operations as ops
from emu.hef.enums import EdgeLayerDirection, HwArch
from emu.hef.writer import HefContents

CLUSTERS = (0, 1, 4)  # of every device and of the Hailo-8L layout 51
CONFIG_MODULES = 26  # indices that occur in real files
MAX_SLEEP_US = 5000
CCW_ADDRESS = 0x11000000  # in cluster 0, where CCW data goes

Record: TypeAlias = Callable[[bytes], bytes]


def runnable(contents: HefContents) -> HefContents:
    record = _record_1xh if contents.header.hw_arch is HwArch.HAILO1XH else _record_hailo8
    return replace(contents, network_groups=tuple(_group(group, record) for group in contents.network_groups))


def _record_hailo8(data: bytes) -> bytes:
    """A CCW record around drawn data: words - 1, address, words (ccw.md)."""
    return struct.pack("<II", len(data) // 4 - 1, CCW_ADDRESS) + data


def _record_1xh(data: bytes) -> bytes:
    """A CCW record of the later chips: id, flags and size, address, payload, check value (ccw.md)."""
    return struct.pack("<II", len(data) - 8 << 17 | 0x0800, CCW_ADDRESS) + data + struct.pack("<II", 0x123456, 0)


def _group(group: model.NetworkGroup, record: Record) -> model.NetworkGroup:
    if not group.ops:
        assert group.core_op is not None
        return replace(group, core_op=_core_op(group.core_op, record))
    nodes = tuple(
        replace(op, op=_core_op(op.op, record)) if isinstance(op.op, model.CoreOp) else op for op in group.ops
    )
    return replace(group, ops=nodes, core_op=next(op.op for op in nodes if isinstance(op.op, model.CoreOp)))


def _core_op(core: model.CoreOp, record: Record) -> model.CoreOp:
    preliminary = _Rewriter(record).rewrite(core.preliminary_config.operation)
    return replace(
        core,
        preliminary_config=ops.PreliminaryConfig(preliminary),
        contexts=tuple(_context(context, record) for context in core.contexts),
        partial_core_ops=tuple(replace(part, core_op=_core_op(part.core_op, record)) for part in core.partial_core_ops),
    )


def _context(context: model.Context, record: Record) -> model.Context:
    operations = list(_Rewriter(record).rewrite(context.operations))
    waits = [
        builder.operation(_wait(layer.edge.edge_layer_base.sys_index))
        for layer in context.metadata.edge_layers
        if layer.direction is EdgeLayerDirection.DEVICE_TO_HOST
    ]
    # the markers of ENABLE_CONFIG_CHANNELS end a context that has others behind it
    last = operations[-1].actions
    at = len(operations) - 1 if last and isinstance(last[0], ops.ActionDisableDataChannels) else len(operations)
    return replace(context, operations=tuple(operations[:at] + waits + operations[at:]))


def _wait(stream: int) -> ops.Trigger:
    """Either of the two waits for an output, by turns."""
    return ops.WaitDmaIdleTrigger(stream) if stream % 3 == 0 else ops.TriggerAllDataWasSentToHostPCIe(stream)


class _Rewriter:
    """Rewrites the operations of one context in order, knowing what runs by then."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._sequencers: set[int] = set()
        self._lcus: set[tuple[int, int]] = set()

    def rewrite(self, operations: Iterable[ops.Operation]) -> tuple[ops.Operation, ...]:
        out = []
        for item in operations:
            trigger = self._trigger(item.trigger)
            actions = (self._action(action) for action in item.actions)
            out.append(ops.Operation(trigger, tuple(action for action in actions if action is not None)))
        return tuple(out)

    def _trigger(self, trigger: ops.Trigger | None) -> ops.Trigger | None:
        if isinstance(trigger, ops.TriggerLcu):
            trigger = replace(trigger, cluster_index=_cluster(trigger.cluster_index))
            if (trigger.cluster_index, trigger.lcu_index) not in self._lcus:
                return ops.TriggerNone()
        if isinstance(trigger, ops.TriggerAllDataWasSentToHostPCIe | ops.WaitDmaIdleTrigger):
            return ops.TriggerNone()  # a second wait for the same frames would never end
        return trigger

    def _action(self, action: ops.Action | None) -> ops.Action | None:
        rewrite = _REWRITES.get(type(action))
        return action if rewrite is None else rewrite(self, action)

    def _enable_lcu(self, action: ops.ActionEnableLcu) -> ops.Action:
        action = replace(
            action,
            cluster_index=_cluster(action.cluster_index),
            lcu_kernel_done_count=action.lcu_kernel_done_count & 0xFFFF,
        )
        self._lcus.add((action.cluster_index, action.lcu_index))
        return action

    def _disable_lcu(self, action: ops.ActionDisableLcu) -> ops.Action | None:
        action = replace(action, cluster_index=_cluster(action.cluster_index))
        # one that was enabled would hold the frames inside (units.md 5)
        return None if (action.cluster_index, action.lcu_index) in self._lcus else action

    def _enable_sequencer(self, action: ops.ActionEnableSequencer) -> ops.Action:
        self._sequencers.add(_cluster(action.cluster_index))
        return replace(action, cluster_index=_cluster(action.cluster_index))

    def _wait_sequencer(self, action: ops.ActionWaitForSequencer) -> ops.Action | None:
        cluster = _cluster(action.cluster_index)
        if cluster not in self._sequencers:
            return None
        self._sequencers.discard(cluster)
        return ops.ActionWaitForSequencer(cluster)

    def _module(self, action: ops.ActionWaitForModuleConfigDone) -> ops.Action:
        return ops.ActionWaitForModuleConfigDone(action.index % CONFIG_MODULES)

    def _sleep(self, action: ops.ActionDebug) -> ops.Action:
        return replace(action, action=ops.ActionDebugSleep(1000 + action.action.duration_in_usec % MAX_SLEEP_US))

    def _ccw(self, action: ops.ActionWriteDataCcw) -> ops.Action:
        return replace(action, data=self._record(action.data))

    def _leave_out(self, action: ops.Action) -> None:
        """NMS units and LCU batches need what only a compiler knows."""


_REWRITES: dict[type[object], Callable[[_Rewriter, object], ops.Action | None]] = {
    ops.ActionEnableLcu: _Rewriter._enable_lcu,
    ops.ActionDisableLcu: _Rewriter._disable_lcu,
    ops.ActionEnableSequencer: _Rewriter._enable_sequencer,
    ops.ActionWaitForSequencer: _Rewriter._wait_sequencer,
    ops.ActionWaitForModuleConfigDone: _Rewriter._module,
    ops.ActionDebug: _Rewriter._sleep,
    ops.ActionWriteDataCcw: _Rewriter._ccw,
    ops.ActionEnableNMS: _Rewriter._leave_out,
    ops.ActionSwitchLcuBatch: _Rewriter._leave_out,
}


def _cluster(index: int) -> int:
    return CLUSTERS[index % len(CLUSTERS)]
