"""HEFs edited through their descriptions (`emu disasm --chip -o`, `emu asm`)."""

from __future__ import annotations

import re
from functools import cache

from emu.cli.disasm import record_texts
from emu.hef.assembly import Description, assemble, disassemble
from emu.hef.container import Container
from emu.hef.source import open_source


@cache
def described(data: bytes) -> Description:
    return disassemble(Container(open_source(data)), "x.bin", record_texts())


def assembled(data: bytes, text: str | None = None) -> bytes:
    description = described(data)
    bulk = memoryview(b"".join(description.bulk))
    return b"".join(assemble(description.text if text is None else text, lambda name: bulk, record_texts))


@cache
def edited(data: bytes, pattern: str, replacement: str) -> bytes:
    """The file with the first place of its description that fits a pattern replaced."""
    text, found = re.subn(pattern, replacement, described(data).text, count=1)
    assert found, pattern
    return assembled(data, text)


def word(address: str, number: int) -> str:
    """What stands before a word of the words at an address."""
    in_front = rf"(?:.*\n){{{number // 8}}} +(?:\+0x\w+: )?(?:\w{{8}} ){{{number % 8}}}"
    return rf"(to: {re.escape(address)}\n +words: \|-\n{in_front})\w{{8}}\b"


def value(address: str) -> str:
    """What stands before the value of a register."""
    return rf"(to: {re.escape(address)}, value: )0x\w+"
