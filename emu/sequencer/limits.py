"""How large a HEF may be before the model of it is built: time and memory stay bounded whatever a file claims."""

from __future__ import annotations

from weakref import WeakSet

from emu.errors import HailoError, HailoStatus
from emu.hef import Hef

MAX_CONTEXT_ACTIONS = 0xFFFF  # the firmware names actions by a u16 index (firmware-actions.md 5.6, 6)
MAX_ACTIONS = 4 * MAX_CONTEXT_ACTIONS  # of a HEF; a limit of our own
MAX_CONTEXT_LAYERS = 256  # no device has more channels (vdma.md 1)
MAX_LAYERS = 1 << 14  # of a HEF; a limit of our own

_HAVE_ROOM: WeakSet[Hef] = WeakSet()


def check_size(hef: Hef) -> None:
    """Refuse what no device has room for; once for a HEF, which does not change.

    HAILO_OUT_OF_FW_MEMORY for more actions, triggers included; HAILO_INTERNAL_FAILURE, as a failed channel allocation,
    for more edge layers.
    """
    if hef in _HAVE_ROOM:
        return
    actions = layers = 0
    for core in hef.core_op_messages():
        name = core.network_group_metadata.network_group_name
        for operations in (core.preliminary_config.operation, *(context.operations for context in core.contexts)):
            count = len(operations) + sum(len(operation.actions) for operation in operations[:MAX_CONTEXT_ACTIONS])
            actions += count
            if count > MAX_CONTEXT_ACTIONS or actions > MAX_ACTIONS:
                raise HailoError(
                    HailoStatus.HAILO_OUT_OF_FW_MEMORY,
                    f"{count} actions in a context, {actions} up to there; at most {MAX_CONTEXT_ACTIONS} and "
                    f"{MAX_ACTIONS} are possible",
                    network_group=name,
                )
        for context in core.contexts:
            count = len(context.metadata.edge_layers)
            layers += count
            if count > MAX_CONTEXT_LAYERS or layers > MAX_LAYERS:
                raise HailoError(
                    HailoStatus.HAILO_INTERNAL_FAILURE,
                    f"{count} edge layers in a context, {layers} up to there; at most {MAX_CONTEXT_LAYERS} and "
                    f"{MAX_LAYERS} are possible",
                    network_group=name,
                )
    _HAVE_ROOM.add(hef)
