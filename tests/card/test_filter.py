"""The seccomp filter, run by an interpreter of our own: what is handed over on each architecture, and what is not."""

from __future__ import annotations

import struct

import pytest

from emu.card.calls import CALLS
from emu.card.supervisor import bpf
from emu.card.supervisor.abi import ARCHITECTURES, Architecture

# numbers and flags of the kernel's own headers, typed from them
CASES = {
    "x86_64": {"openat": 257, "open": 2, "ioctl": 16, "read": 0, "directory": 0o200000, "audit": 0xC000003E},
    "aarch64": {"openat": 56, "open": None, "ioctl": 29, "read": 63, "directory": 0o40000, "audit": 0xC00000B7},
}
CHANGES = {  # close, dup2, dup3, close_range, execve, execveat
    "x86_64": (3, 33, 292, 436, 59, 322),
    "aarch64": (57, None, 24, 436, 221, 281),
}


def decision(program: bytes, number: int, audit: int, arguments: list[int]) -> int:
    """What the filter returns for one system call (BPF: load, jump if equal, jump if not less, return)."""
    data = struct.pack("<IIQ6Q", number, audit, 0, *(arguments + [0] * 6)[:6])
    accumulator, at, steps = 0, 0, 0
    while True:
        steps += 1
        assert steps < 200
        code, on_true, on_false, value = struct.unpack_from("<HBBI", program, 8 * at)
        at += 1
        if code == 0x20:
            (accumulator,) = struct.unpack_from("<I", data, value)
        elif code == 0x15:
            at += on_true if accumulator == value else on_false
        elif code == 0x35:
            at += on_true if accumulator >= value else on_false
        else:
            assert code == 0x06
            return int(value)


@pytest.mark.parametrize("name", CASES)
def test_what_is_handed_over(name: str) -> None:
    case, machine = CASES[name], ARCHITECTURES[name]
    assert isinstance(machine, Architecture)
    program = bpf.program(machine, bpf.watched(machine, CALLS))

    def notified(number: int | None, *arguments: int, audit: int | None = None) -> bool:
        assert number is not None
        return decision(program, number, audit or int(case["audit"] or 0), list(arguments)) == bpf.NOTIFY

    for number in CALLS:
        assert notified(case["ioctl"], 3, number)
        assert notified(case["ioctl"], 3, number | 0xFFFFFFFF_00000000), "the kernel looks at 32 bits"
        assert not notified(case["ioctl"], 3, number ^ 0x100)
        assert not notified(case["ioctl"], 3, number, audit=0x40000003), "another architecture's numbers"
    directory = 0o4000 | 0o2000000 | int(case["directory"] or 0)
    for flags, handed in (
        (0, True),
        (0o2 | 0o2000000, True),
        (directory, True),
        (0o2000000, False),
        (0o2, False),
        (0o1101, False),
    ):
        assert notified(case["openat"], 0xFFFFFF9C, 0, flags) is handed
        if case["open"] is not None:
            assert notified(case["open"], 0, flags) is handed
    assert not notified(case["read"], 3, 0x40176701, 0)
    close, dup2, dup3, close_range, execve, execveat = CHANGES[name]
    for descriptor, handed in ((0, False), (3, False), (895, False), (896, True), (1023, True), (1024, False)):
        assert notified(close, descriptor) is handed
        assert notified(dup3, 3, descriptor, 0) is handed
        assert not notified(dup3, descriptor, 3, 0)
        assert dup2 is None or notified(dup2, 3, descriptor) is handed
        assert notified(close_range, 3, descriptor, 0) is (descriptor >= 896)
    assert notified(close_range, 3, 0xFFFFFFFF, 0)
    assert notified(execve, 1 << 40)
    assert notified(execveat, 0xFFFFFF9C)
    for foreign in (1, 32, 60, 220, 435):
        assert not notified(foreign, 900, 900, 900)
