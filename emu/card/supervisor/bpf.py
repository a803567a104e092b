"""The filter: which system calls are handed to the supervisor. All others run in the kernel, at full speed."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from emu.card.supervisor.abi import Architecture

# BPF_LD|W|ABS, BPF_JMP|JEQ|K, BPF_JMP|JGE|K, BPF_RET|K
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
_INSTRUCTION = struct.Struct("<HBBI")
ALLOW, NOTIFY = 0x7FFF0000, 0x7FC00000
MOST_JUMP = 255
_EVERY = range(1 << 32)
KEPT_NUMBERS = range(896, 1024)  # for descriptors of the card's nodes: below the usual limit and what select(2) takes


class Watched(NamedTuple):
    """A system call of which those are handed over whose argument (its low word) is one of `values`.

    A range stands for values that follow each other.
    """

    number: int
    argument: int
    values: tuple[int, ...] | range


def watched(machine: Architecture, ioctls: Iterable[int]) -> list[Watched]:
    """What means the card: ioctls by all 32 bits of their number, opens by their flags (driver-ioctl-4.23.md 8.1).

    And what may give a descriptor of `KEPT_NUMBERS` another meaning.
    """
    calls = [Watched(machine.ioctl, 1, tuple(sorted(ioctls))), Watched(machine.openat, 2, machine.open_flags)]
    if machine.open is not None:
        calls.append(Watched(machine.open, 1, machine.open_flags))
    calls += [Watched(machine.close, 0, KEPT_NUMBERS), Watched(machine.dup3, 1, KEPT_NUMBERS)]
    if machine.dup2 is not None:
        calls.append(Watched(machine.dup2, 1, KEPT_NUMBERS))
    calls.append(Watched(machine.close_range, 1, range(KEPT_NUMBERS.start, _EVERY.stop)))
    return [*calls, Watched(machine.execve, 0, _EVERY), Watched(machine.execveat, 0, _EVERY)]


def program(machine: Architecture, calls: Sequence[Watched]) -> bytes:
    """The instructions of the filter (struct sock_filter)."""
    blocks = []
    for call in calls:
        load = _load(_ARGUMENTS + 8 * call.argument)
        if isinstance(call.values, range):
            blocks.append([load, *_among(call.values), _give(ALLOW), _give(NOTIFY)])
            continue
        count = len(call.values)
        tests = [_jump(_EQUAL, value, count - at, 0) for at, value in enumerate(call.values)]
        blocks.append([load, *tests, _give(ALLOW), _give(NOTIFY)])
    head = [_load(_ARCHITECTURE), _jump(_EQUAL, machine.audit, 1, 0), _give(ALLOW), _load(_NUMBER)]
    ahead = 0
    for at, call in enumerate(calls):
        # behind the remaining tests and the ALLOW, past the blocks of the calls before
        head.append(_jump(_EQUAL, call.number, len(calls) - 1 - at + 1 + ahead, 0))
        ahead += len(blocks[at])
    head.append(_give(ALLOW))
    return b"".join([*head, *(one for block in blocks for one in block)])


def _among(values: range) -> list[bytes]:
    """Tests whether the accumulator is in a range: they fall to the next instruction, or jump past it."""
    if values.stop >= _EVERY.stop:
        return [_jump(_AT_LEAST, values.start, 1, 0)]
    return [_jump(_AT_LEAST, values.start, 0, 1), _jump(_AT_LEAST, values.stop, 0, 1)]


def _load(offset: int) -> bytes:
    return _INSTRUCTION.pack(_LOAD, 0, 0, offset)


def _jump(code: int, value: int, on_true: int, on_false: int) -> bytes:
    assert on_true <= MOST_JUMP
    return _INSTRUCTION.pack(code, on_true, on_false, value)


def _give(action: int) -> bytes:
    return _INSTRUCTION.pack(_RETURN, 0, 0, action)
