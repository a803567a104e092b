"""The host's memory over the protocol is that of the program, and what a host tells costs no more than its bytes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from emu.conform.memory import GivenMemory, memory_messages
from emu.conform.protocol import MOST, Entry, Kind, ProtocolError, decode, encode, message, pack_entries
from emu.hef import open_hef
from emu.hw.hostmem import HostMemory
from emu.sequencer.compile import compile_hef
from emu.sequencer.host import HostSettings
from emu.sequencer.options import CompileOptions
from emu.sequencer.program import Program
from tests.conftest import ROOT, needs_shared


class Chip:
    """Only what `map_into` needs of one."""

    def __init__(self) -> None:
        self.memory = HostMemory()

    def map_memory(self, program: Program) -> None:
        self.memory.map(program)


def told(program: Program) -> HostMemory:
    chip, given = Chip(), GivenMemory()
    for one in memory_messages(program):
        sent = encode(one)
        assert len(sent) <= MOST + 4
        given.take(decode(sent[4:]))
    given.map_into(chip)  # type: ignore[arg-type]
    return chip.memory


def shape(memory: HostMemory) -> Iterator[object]:
    """Everything that the DMA can see, buffers by their place among all."""
    numbers: dict[int, int] = {}
    for address, listed in sorted(memory.lists.items()):
        yield address, listed.count, listed.page_size, listed.circular
        for one in listed.extents:
            number = numbers.setdefault(id(one.buffer), len(numbers))
            content = one.buffer.read(0, one.size) if one.buffer.segments is not None else None
            yield one.start, one.count, one.size, one.offset, one.device_interrupt, number, content
    for address, buffer in memory.continuous.items():
        yield address, buffer.size, None if buffer.opaque else buffer.read(0, buffer.size)
    yield sorted(memory.action_lists.items())


def check(program: Program) -> int:
    found = list(shape(told(program)))
    assert found == list(shape(HostMemory.from_program(program)))
    return len(found)


@pytest.mark.parametrize("name", ["two_context", "configured", "computed_digits"])
@pytest.mark.parametrize("batch", [1, 8])
def test_examples(name: str, batch: int) -> None:
    hef = open_hef(ROOT / "examples" / f"{name}.hef")
    assert check(compile_hef(hef, CompileOptions(batch=batch))) > 4


@needs_shared
@pytest.mark.parametrize("path", ["yolov8n_320_nms.v2.hailo8", "fast_depth_ddr.v1.hailo8", "scrfd_2.5g.v3.hailo1xh"])
def test_real_files(shared: Path, path: str) -> None:
    assert check(compile_hef(open_hef(shared / "hef" / f"{path}.hef"), CompileOptions(batch=2))) > 10


@needs_shared
def test_action_lists_in_memory(shared: Path) -> None:
    hef = open_hef(shared / "hef" / "face_landmarks_lite_2ctx.v3.hailo1xh.hef")
    options = CompileOptions(host=HostSettings.parse({"HAILO_DDR_ACTION_LIST": "1"}))
    program = compile_hef(hef, options)
    assert program.network_groups[0].ddr_action_list
    check(program)


def buffer(**fields: object):
    return message(Kind.BUFFER, **{"buffer": 1, "size": 64, "known": 1, "offset": 0, "data": b"", **fields})


@pytest.mark.parametrize(
    "messages",
    [
        [message(Kind.CONTINUOUS, address=0, buffer=9)],
        [
            message(
                Kind.LIST, address=0, count=1, page_size=64, circular=0, entries=pack_entries([Entry(0, 1, 1, 5, 0, 0)])
            )
        ],
        [message(Kind.LIST, address=0, count=0, page_size=64, circular=0, entries=b"")],
        [message(Kind.LIST, address=0, count=1, page_size=0, circular=0, entries=b"")],
        [message(Kind.LIST, address=0, count=1, page_size=64, circular=0, entries=bytes(7))],
        [message(Kind.ACTION_LIST, address=0, context_type=9, data=b"")],
        [buffer(offset=4)],
        [buffer(data=bytes(8)), buffer(data=bytes(8), offset=16)],
    ],
)
def test_what_cannot_be(messages: list) -> None:
    given = GivenMemory()
    with pytest.raises(ProtocolError):
        for one in messages:
            given.take(one)


def test_a_size_costs_nothing() -> None:
    """Four gigabytes of a buffer, and lists of four thousand million descriptors, are numbers."""
    chip, given = Chip(), GivenMemory()
    given.take(buffer(size=0xFFFFFFFF, known=0))
    entries = pack_entries([Entry(0, 0xFFFFFFFF, 0xFFFFFFFF, 1, 0xFFFFFFFF, 0)])
    for address in range(100):
        given.take(
            message(Kind.LIST, address=address << 16, count=0xFFFFFFFF, page_size=1, circular=1, entries=entries)
        )
    given.map_into(chip)  # type: ignore[arg-type]
    assert len(chip.memory.lists) == 100 and not chip.memory.continuous
