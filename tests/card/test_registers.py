"""What HailoRT's programs do to a card goes through its registers: launches, interrupts, messages, the driver's end."""

from __future__ import annotations

from typing import Any

from emu.card.calls import Name
from emu.trace.events import Kind
from emu.trace.tracer import Tracer
from tests.card.ioctl_client import made_up
from tests.card.test_card import running
from tests.host.test_pcie import OF_REGISTERS, Kept


def frames(registers: bool) -> tuple[list[Any], Kept, int]:
    """Three frames of a client, its end, and what the trace told."""
    sink = Kept()
    mini, group, client = running(tracer_for=lambda runtime, clock: Tracer([sink], clock, registers))
    client.out(Name.MARK_AS_IN_USE, 0)
    got = mini.infer(group, [made_up(mini.program, number) for number in range(3)])
    client.close()
    device = client.card.device
    assert device.probe.tracer is not None
    device.probe.tracer.close()
    return got, sink, device.clock.time


def test_a_client_goes_through_the_registers() -> None:
    got, plain, ns = frames(registers=False)
    again, told, and_ns = frames(registers=True)
    assert again == got and and_ns == ns
    assert [event for event in told.events if event.kind not in OF_REGISTERS] == plain.events
    accesses = [(event.action, event.unit) for event in told.events if event.kind is Kind.REGISTER]
    launches = sum(event.kind is Kind.LAUNCH for event in plain.events)
    writes = sum(what == "write" and name.endswith("base") for what, name in accesses)
    assert writes == launches == 6
    assert sum(one == ("write", "control request") for one in accesses) == sum(
        event.kind is Kind.CONTROL and event.action != "SIGNAL_DRIVER_DOWN" for event in plain.events
    )
    *_, last = (event for event in told.events if event.kind is Kind.INTERRUPT)
    assert last.arguments == {"value": 0x08800000}  # the driver goes with the last file
