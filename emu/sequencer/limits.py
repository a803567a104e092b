"""How large a HEF may be before the model of it is built: time and memory stay bounded whatever a file claims."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from emu.errors import HailoError, HailoStatus
from emu.hef import Hef

if TYPE_CHECKING:
    from emu.schemas import hef_pb2 as pb

MAX_CONTEXT_ACTIONS = 0xFFFF  # the firmware names actions by a u16 index (firmware-actions.md 5.6, 6)
MAX_ACTIONS = 4 * MAX_CONTEXT_ACTIONS  # of a HEF; a limit of our own


def check_size(hef: Hef) -> None:
    """HAILO_OUT_OF_FW_MEMORY for more actions, triggers included, than a device could hold."""
    total = 0
    for name, operations in _operation_lists(hef.message):
        count = len(operations) + sum(len(operation.actions) for operation in operations[:MAX_CONTEXT_ACTIONS])
        total += count
        if count > MAX_CONTEXT_ACTIONS or total > MAX_ACTIONS:
            raise HailoError(
                HailoStatus.HAILO_OUT_OF_FW_MEMORY,
                f"{count} actions in a context, {total} up to there; at most {MAX_CONTEXT_ACTIONS} and {MAX_ACTIONS} "
                "are possible",
                network_group=name,
            )


def _operation_lists(message: pb.ProtoHEFHef) -> Iterator[tuple[str, Sequence[pb.ProtoHEFOperation]]]:
    """Every list of operations in the file, of all layouts, with its group's name."""
    for group in message.network_groups:
        cores: list[pb.ProtoHEFNetworkGroup | pb.ProtoHEFCoreOp] = [group]
        cores += [partial.network_group for partial in group.partial_network_groups]
        for op in group.ops:
            cores.append(op.core_op)
            cores += [partial.core_op for partial in op.core_op.partial_core_ops]
        for core in cores:
            name = core.network_group_metadata.network_group_name
            yield name, core.preliminary_config.operation
            for context in core.contexts:
                yield name, context.operations
