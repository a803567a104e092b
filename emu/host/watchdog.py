"""When nothing can progress: the wait-for chain, from the waiting action to who would have to act."""

from __future__ import annotations

from msgspec import Struct

from emu.errors import FirmwareError
from emu.hw.inspection import Inspection
from emu.wire.status import FirmwareStatus as S


class Stall(Struct, frozen=True):
    """What waits, where, and why it never ends; `chain` goes from the action down to the culprit."""

    application: int
    context: str
    action_index: int
    action: str
    arguments: dict[str, int]
    waits_for: str
    chain: tuple[str, ...]
    ns: int

    def line(self) -> str:
        arguments = " ".join(f"{name}={value}" for name, value in self.arguments.items())
        action = f"{self.action} ({arguments})" if arguments else self.action
        where = f"{self.context} action {self.action_index} {action}"
        if self.action_index < 0:
            where = f"{self.context}, at the end of its list,"
        return f"stalled: {where} waits for {self.waits_for}" + "".join(f"; {line}" for line in self.chain)

    def error(self) -> FirmwareError:
        """As the command line reports it: a stall has no status of its own, an interrupt wait would time out."""
        status = S.CONTEXT_SWITCH_STATUS_TIMEOUT_WHILE_WAITING_FOR_INTERRUPT
        return FirmwareError(
            status.name,
            int(status),
            self.line(),
            context=self.context,
            action_index=self.action_index,
            action=self.action,
            waits_for=self.waits_for,
            chain=list(self.chain),
            simulated_ns=self.ns,
        )


def examine(chip: Inspection, missing: str) -> Stall:
    """The stall of a chip whose event queue ran empty; `missing` is what the host still expects."""
    wait, context, step = chip.waiting, chip.context, chip.step
    chain = list(wait.chain()) if wait is not None else []
    for one in chip.passes:
        chain += [why for why in (one.held, one.blocked) if why and why not in chain]
    chain.append(missing)
    chain += chip.faults()
    return Stall(
        application=chip.application,
        context=context.name if context is not None else "no context",
        action_index=step.number if step is not None else -1,
        action=step.type.name if step is not None else "",
        arguments=step.arguments.arguments() if step is not None else {},
        waits_for=wait.what if wait is not None else "a control message",
        chain=tuple(chain),
        ns=chip.time,
    )
