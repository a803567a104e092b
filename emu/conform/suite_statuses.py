"""Vectors of the statuses that stop an application: where each comes, in a reply or as a notification."""

from __future__ import annotations

from collections.abc import Iterator

from emu.conform.applications import FRAME, IN, LENGTH, OUT, PAGE, Application
from emu.conform.statuses import CASES, Told
from emu.conform.suite_controls import ENABLE
from emu.conform.vector import Basis, Step, Vector, control, launched, ran
from emu.sequencer.program import ContextType
from emu.wire.actions import Action
from emu.wire.control import set_context_info, set_network_group_header
from emu.wire.notifications import EventId
from emu.wire.status import FirmwareStatus as S

PREFILLED = 8  # transfers that a host queues on an output (silicon-facts.md c)
PER_FRAME = FRAME // PAGE
# seen on a board (silicon-facts.md d); all others are named by the public header and told apart by house rules
SEEN = {
    S.CONFIG_MANAGER_WRAPPER_STATUS_ACTION_TYPE_NOT_SUPPORTED,
    S.VDMA_SERVICE_STATUS_INVALID_ENGINE_INDEX,
    S.VDMA_SERVICE_STATUS_HOST_DESCRITPOR_BASE_ADDRESS_IS_NOT_64KB_ALIGNED,
}


def configured(made: Application, until: ContextType | None = None, status: int = 0) -> list[Step]:
    """The messages that configure an application, each of which succeeds; that of the context `until` does not."""
    steps = [control(set_network_group_header(made.header()))]
    for one in made.program().network_groups[0].contexts:
        sent = list(set_context_info(one.context_type, one.action_list, one.chunks))
        if one.context_type is until:
            return [*steps, *map(control, sent[:-1]), control(sent[-1], major=status)]
        steps += map(control, sent)
    return steps


def fed(made: Application, frames: int | None = None, first: int = 0) -> list[Step]:
    """Buffers on the output, eight more than frames, then frames on the input, on the channels that the activation
    list opens. `frames` None: a batch; `first`: how many went before."""
    opened = {one.arguments().get("packed_vdma_channel_id") for one in made.activation if isinstance(one, Action)}
    last = first + (made.batch if frames is None else frames)
    buffers = range(first + PREFILLED if first else 0, last + PREFILLED)
    outputs = [launched(OUT, (at + 1) * PER_FRAME % LENGTH) for at in buffers]
    inputs = [launched(IN, (at + 1) * PER_FRAME % LENGTH, frame=at) for at in range(first, last)]
    return outputs * (OUT in opened) + inputs * (IN in opened)


def statuses() -> Iterator[Vector]:
    """A vector for each case."""
    for case in CASES:
        made = case.make()
        stop = (int(EventId.CONTEXT_SWITCH_RUN_TIME_ERROR), case.status.to_bytes(4, "little"))
        if case.told is Told.CONTEXT:
            steps = [*configured(made, ContextType.PRELIMINARY, case.status)]
        elif case.told is Told.ENABLE:
            steps = [*configured(made), control(ENABLE, notified=(stop,), major=case.status)]
        else:
            steps = [*configured(made), control(ENABLE), *fed(made), ran(notified=(stop,))]
        seen = case.status in SEEN
        yield Vector(
            f"status/{case.name.replace(' ', '-')}",
            f"stops the application with {case.status.name}",
            Basis.MEASURED if seen else Basis.HOUSE_RULE,
            "silicon-facts.md d" if seen else "firmware-actions.md 7",
            made.device,
            made.runtime,
            tuple(steps),
            made.memory(),
            made.layout,
            (case.status.name,),
        )
