"""Vectors against a target: which rules hold, which do not and why."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from enum import Enum

from msgspec import Struct

from emu.conform.protocol import Kind, Message, ProtocolError, Watch, Why
from emu.conform.targets import PATIENCE_S, Answer, RefusedError, Target, UnreachableError
from emu.conform.vector import Moved, Step, Vector

_NOTIFICATION = struct.Struct("<7I")  # firmware-actions.md 6
_EVENT_ID = 4
MOST_SILENT = 2
"""Vectors in a row without an answer after which nobody is expected to come back."""


class Outcome(Enum):
    """What became of a rule."""

    HOLDS = "holds"
    BROKEN = "does not hold"
    SILENT = "no answer"
    NOT_ASKED = "not asked"


class Verdict(Struct, frozen=True):
    """One rule; `why` says at which step and what, unless it holds."""

    vector: Vector
    outcome: Outcome
    why: str = ""


class WrongAnswer(Exception):  # noqa: N818 - what a vector is for
    """A step's answer is not the expected one."""


def conform(
    address: str, chosen: Sequence[Vector], patience_s: float, told: Callable[[Verdict], None] | None = None
) -> Iterator[Verdict]:
    """The verdicts in the order of the vectors; a target that is gone, silent or talks garbage is connected to anew.

    UnreachableError where it cannot be reached at first, or has been silent for several vectors.
    """
    target: Target | None = connect(address, patience_s)
    silent = 0
    try:
        for vector in chosen:
            if target is None:
                target = connect(address, patience_s)
            verdict = judge(target, vector)
            if verdict.outcome is Outcome.SILENT or verdict.why.startswith(_GARBAGE):
                target.close()
                target = None
            silent = silent + 1 if verdict.outcome is Outcome.SILENT else 0
            yield verdict
            if silent >= MOST_SILENT:
                return
    finally:
        if target is not None:
            target.close()


_GARBAGE = "no message of the protocol"


def connect(address: str, patience_s: float = PATIENCE_S) -> Target:
    """A target that answers; UnreachableError for one that does not, or not by the protocol."""
    try:
        return Target(address, patience_s)
    except ProtocolError as error:
        raise UnreachableError(error.status, f"{address} does not speak the protocol: {error.message}") from None


def judge(target: Target, vector: Vector) -> Verdict:
    """One vector from power-on."""
    if vector.needs & ~target.watch:
        return Verdict(vector, Outcome.NOT_ASKED, "the target does not tell it")
    target.allow()
    at, found = "", set[str]()
    boundary = {one["channel"] for one in vector.memory if one.kind is Kind.STREAM}
    try:
        for sent in vector.opening():
            at = sent.kind.name
            target.ask(sent, Kind.DONE)
        for number, step in enumerate(vector.steps, 1):
            at = f"step {number}, {step.send.kind.name}"
            answer = target.ask(step.send, *_closings(step))
            found |= {one["finding"].partition(":")[0] for one in answer if one.kind is Kind.HAZARD}
            _check(step, answer, target.watch, boundary)
        _check_hazards(vector, found, target.watch)
    except WrongAnswer as wrong:
        return Verdict(vector, Outcome.BROKEN, f"{at}: {wrong}")
    except UnreachableError as error:
        return Verdict(vector, Outcome.SILENT, f"{at}: {error.message}")
    except RefusedError as error:
        return Verdict(vector, Outcome.BROKEN, f"{at}: {error.message}")
    except ProtocolError as error:
        return Verdict(vector, Outcome.BROKEN, f"{_GARBAGE} at {at}: {error.message}")
    return Verdict(vector, Outcome.HOLDS)


def _closings(step: Step) -> tuple[Kind, ...]:
    if step.refused:
        return (Kind.REFUSED,)
    return (Kind.REPLY,) if step.send.kind is Kind.CONTROL else (Kind.DONE,)


def _check(step: Step, answer: Answer, watch: Watch, boundary: Set[int]) -> None:
    if step.reply is not None:
        wrong = step.reply.wrong(answer.closing["reply"])
        if wrong:
            raise WrongAnswer(wrong)
    notified = [one["data"] for one in answer if one.kind is Kind.NOTIFICATION]
    _check_notified(step, notified)
    if step.moved is not None and watch & Watch.TRANSFERS:
        _check_moved(step.moved, [one for one in answer if one.kind is Kind.TRANSFER], boundary)
    if step.send.kind is Kind.RUN and answer.closing["why"] == Why.TIME:
        raise WrongAnswer("it is still at work when its time is over")


def _check_notified(step: Step, notified: Sequence[bytes]) -> None:
    for at, (number, begins) in enumerate(step.notified):
        if at >= len(notified):
            raise WrongAnswer(f"event {number} is not told")
        data = notified[at]
        if len(data) < _NOTIFICATION.size:
            raise WrongAnswer(f"a notification of {len(data)} bytes")
        head, payload = _NOTIFICATION.unpack_from(data), data[_NOTIFICATION.size :]
        if head[_EVENT_ID] != number:
            raise WrongAnswer(f"event {head[_EVENT_ID]} instead of {number}")
        if not payload.startswith(begins):
            raise WrongAnswer(f"event {number} begins with {payload[: len(begins)].hex()}, not {begins.hex()}")
    if len(notified) > len(step.notified):
        raise WrongAnswer(f"a notification that nothing calls for: {notified[len(step.notified)].hex()}")


def _check_moved(expected: Iterable[Moved], told: Sequence[Message], boundary: Set[int]) -> None:
    """Channel by channel, for which goes first of two is a matter of time: those of the boundary, and what is named."""
    wanted: dict[int, list[Moved]] = {}
    for one in expected:
        wanted.setdefault(one.channel, []).append(one)
    got: dict[int, list[Moved]] = {}
    for two in told:
        moved = Moved(two["channel"], two["stream"], two["direction"], two["frame"])
        got.setdefault(moved.channel, []).append(moved)
    for channel in sorted(wanted.keys() | (got.keys() & boundary)):
        mine, theirs = wanted.get(channel, []), got.get(channel, [])
        for at, (one, other) in enumerate(zip(mine, theirs, strict=False)):
            if one != other:
                raise WrongAnswer(f"channel {channel}, transfer {at}: {_shown(other)} instead of {_shown(one)}")
        if len(mine) != len(theirs):
            raise WrongAnswer(f"channel {channel}: {len(theirs)} transfers instead of {len(mine)}")


def _shown(one: Moved) -> str:
    return f"stream {one.stream} direction {one.direction} frame {one.frame}"


def _check_hazards(vector: Vector, found: set[str], watch: Watch) -> None:
    if vector.hazards is None or not watch & Watch.HAZARDS:
        return
    for rule in sorted(vector.hazards - found):
        raise WrongAnswer(f"the hazard {rule} is not found")
    for rule in sorted(found - vector.hazards):
        raise WrongAnswer(f"a hazard is found where there is none: {rule}")
