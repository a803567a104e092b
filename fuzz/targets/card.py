"""What clients say to the card's driver: calls with their arguments, of two clients that may go and come again."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from random import Random
from typing import Any

from emu.card.calls import CALLS, Call
from emu.card.card import Answer, Card
from emu.card.networks import Networks
from emu.hw.faults import Fault
from fuzz.mutation import mutate_bytes, mutate_word
from fuzz.target import Target
from tests.card.conversation import Client, PlainMemory, make_card
from tests.card.fuzzing import ERRNOS, Sequence, program
from tests.card.runtime import InProcess, MiniRuntime
from tests.conftest import RUNTIMES

_CALLS = sorted(CALLS.values(), key=lambda call: call.number)
_MOST_CALLS = 40
_RUNNING, _LOSES_INTERRUPTS = 1, 2  # bits of the first byte: what the card does before the first call
_SECOND, _LEAVES = 1, 2  # bits of the byte before a call: who calls; it closes its file first and opens it again

# the bits of the client, the call, its argument
Step = tuple[int, Call, bytes]


def _steps(data: bytes) -> Iterator[Step]:
    """A call is two bytes, bits and its number in order, and the bytes of its argument; zeros where they end early."""
    at = 1
    while at + 2 <= len(data):
        call = _CALLS[data[at + 1] % len(_CALLS)]
        yield data[at] & 3, call, data[at + 2 : at + 2 + call.size].ljust(call.size, b"\0")
        at += 2 + call.size


def _encoded(state: int, steps: list[Step]) -> bytes:
    return bytes([state]) + b"".join(bytes([bits, _CALLS.index(call)]) + data for bits, call, data in steps)


class _Recorded(Client):
    """A client whose calls are written down in `steps`."""

    bits = 0

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.steps: list[Step] = []

    def raw(self, call: Call, argument: bytes, ticket: Any = None) -> Answer | None:
        self.steps.append((self.bits, call, argument))
        return super().raw(call, argument, ticket)


def _opened(state: int) -> tuple[Card, list[_Recorded], MiniRuntime | None]:
    """A card, its clients, and what the first of them has made run."""
    faults = [Fault.parse("drop-interrupt:16#1")] if state & _LOSES_INTERRUPTS else []
    card = make_card("hailo8", RUNTIMES[0], Networks(compute="off"), faults=faults)
    clients = [_Recorded(card, PlainMemory(), process) for process in (77, 78)]
    runtime = None
    if state & _RUNNING:
        runtime = MiniRuntime(InProcess(clients[0]), program())
        runtime.configure()
        runtime.activate(program().network_groups[0])
    return card, clients, runtime


def read_calls(data: bytes) -> str:
    """Every call is answered with an errno or served, and a closed file leaves nothing behind."""
    card, opened, _ = _opened(data[0] if data else 0)
    clients: list[Client] = [*opened]
    served = 0
    for number, (bits, call, argument) in enumerate(_steps(data)):
        if number == _MOST_CALLS:
            break
        which = bits & _SECOND
        if bits & _LEAVES:
            clients[which].close()
            clients[which] = Client(card, clients[which].memory, clients[which].process)
        answer: Answer | None = clients[which].raw(call, argument, number)
        assert answer is None or answer.error in ERRNOS, f"errno {answer.error}"
        served += answer is not None and not answer.error
    for client in clients:
        client.close()
    assert not card.files and not card.device.host_memory.lists, "kept behind its clients"
    assert not [line for line in card.errors if "internal" in line], "an error of our own"
    return "served" if served else "refused"


@functools.cache
def _seeds() -> list[bytes]:
    """What `tests.card.fuzzing` plays, of which most calls are right or nearly so."""
    found = [b"\0"]
    for number in range(24):
        state = (0, _RUNNING, _RUNNING, _RUNNING | _LOSES_INTERRUPTS)[number % 4]
        card, clients, runtime = _opened(state)
        sequence = Sequence(number, card)
        sequence.clients, sequence.mini = [*clients], runtime
        if runtime is not None:
            sequence.lists += [handle for handle, _, _ in runtime.lists.values()]
            sequence.handles += list(runtime.mapped)
        steps: list[Step] = []
        for bits, client in enumerate(clients):
            client.steps, client.bits = steps, bits
        for _ in range(20):
            sequence._step()
        found.append(_encoded(state, steps))
    return found


def _mutate_calls(data: bytes, random: Random) -> bytes:
    steps = list(_steps(data))
    if not steps or random.random() < 0.05:
        return mutate_bytes(data, random)
    at = random.randrange(len(steps))
    bits, call, argument = steps[at]
    kind = random.randrange(10)
    if kind == 0:
        del steps[at]
    elif kind == 1:
        steps.insert(random.randrange(len(steps) + 1), steps[at])
    elif kind == 2:
        other = random.randrange(len(steps))
        steps[at], steps[other] = steps[other], steps[at]
    elif kind == 3:
        steps[at] = random.randrange(4), call, argument
    elif kind == 4:
        steps.insert(at, next(_steps(b"\0" + bytes([bits, random.randrange(len(_CALLS))]))))
    elif kind == 5:
        steps += list(_steps(random.choice(_seeds())))[: random.randrange(1, 6)]
    else:
        steps[at] = bits, call, mutate_word(argument, random)[: call.size].ljust(call.size, b"\0")
    state = data[0] if random.random() < 0.9 else random.randrange(4)
    return _encoded(state, steps[: 2 * _MOST_CALLS])


TARGETS = (Target("card", _seeds, read_calls, _mutate_calls),)
