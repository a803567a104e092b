"""Config channels in both styles: CCW records become register writes, and nothing may be left over."""

from __future__ import annotations

import struct

import pytest

from emu.errors import FirmwareError
from emu.hw.ccw import decode_run
from emu.hw.memory import AddressSpace, regions
from emu.hw.status import FirmwareStatus as S
from emu.sequencer.control import decode_response, set_network_group_header
from tests.hw.lists import PAGE, act, bursts, config_off, config_on, descriptors, single

WORDS = 3 * PAGE // 16


def hailo8(address: int, *words: int) -> bytes:
    """A Hailo-8 record (ccw.md)."""
    data = struct.pack(f"<II{len(words)}I", len(words) - 1, address, *words)
    return data + bytes(-len(data) % 8)


def register(address: int, value: int) -> bytes:
    """A 1xh register write: id 5, flags 0x28, 8 bytes of payload, check value (ccw.md)."""
    return struct.pack("<IIIIII", 0x2805, 0, value, address, 0x00ABCDEF, 0)


def block(address: int, data: bytes, identifier: int = 1) -> bytes:
    head = (len(data) - 8) << 17 | 0x08 << 8 | identifier
    return struct.pack("<II", head, address) + data + struct.pack("<II", 0x00123456, 0)


def test_hailo8_records_and_nops() -> None:
    run = decode_run(hailo8(0x11000000, 1) + bytes(16) + hailo8(0x11000010, 1, 2, 3), "descriptors")
    assert [(r.address, bytes(r.data)) for r in run.records] == [
        (0x11000000, struct.pack("<I", 1)),
        (0x11000010, struct.pack("<3I", 1, 2, 3)),
    ]
    assert [r.word for r in run.records] == [1, None]


def test_1xh_records() -> None:
    run = decode_run(register(0x2A000168, 0) + block(0x10000000, bytes(range(16))), "bursts")
    assert [(r.address, r.word) for r in run.records] == [(0x2A000168, 0), (0x10000000, None)]
    assert sum(r.size for r in run.records) == run.size


@pytest.mark.parametrize("style", ["descriptors", "bursts"])
@pytest.mark.parametrize(
    "data",
    [b"\xff" * 64, b"\x09\0\0\0\0\0\0\x11" + bytes(8), b"\1\0\0\0", struct.pack("<II", 0x28FF, 0) + bytes(40)],
)
def test_bytes_that_are_no_records_stay_opaque(style: str, data: bytes) -> None:
    run = decode_run(data, style)
    assert run.opaque and run.size == len(data) and not run.records


def test_registers_are_written_region_by_region() -> None:
    data = b"".join(hailo8(0x11000000 + 8 * n, n, n) for n in range(WORDS - 1)) + hailo8(0x20000684, 7, 7)
    result = single().run(1, data)
    device = result.device
    assert device is not None
    assert device.memory.read_word(0x11000008) == 1
    assert device.memory.read_word(0x20000684) == 7
    used = {use.region.name: use.bytes_written for use in result.groups[0].regions}
    assert used["cluster 0 memory"] == 8 * (WORDS - 1)
    assert result.groups[0].ccw_bytes == len(data)
    assert result.groups[0].opaque_bytes == 0


def _bursts(fetched: int):
    lists = single(device="hailo15h", runtime="5.2")
    lists.preliminary = [config_on(), bursts(fetched), config_off(), act("ENABLE_LCU_DEFAULT", packed_lcu_id=0)]
    return lists


def test_bursts_execute_records_one_by_one() -> None:
    data = b"".join(register(0x10000000 + 4 * n, n) for n in range(64))
    device = _bursts(64).run(1, data).device
    assert device is not None
    assert [device.memory.read_word(0x10000000 + 4 * n) for n in range(64)] == list(range(64))


@pytest.mark.parametrize(
    ("fetched", "status"),
    [
        (65, S.CSM_CONFIG_MANAGER_STATUS_CSM_BURST_COUNTER_NOT_ZERO),
        (63, S.CSM_CONFIG_MANAGER_STATUS_CSM_FIFO_NOT_EMPTY),
    ],
)
def test_a_prefetching_channel_must_be_drained(fetched: int, status: S) -> None:
    data = b"".join(register(0x10000000 + 4 * n, n) for n in range(64))
    with pytest.raises(FirmwareError) as caught:
        _bursts(fetched).run(1, data)
    assert caught.value.number == status


def test_bursts_that_never_arrive_stall_the_wait_for_them() -> None:
    lists = _bursts(65)
    lists.preliminary.insert(2, act("MODULE_CONFIG_DONE_INTERRUPT", module_index=5))
    with pytest.raises(FirmwareError) as caught:
        lists.run(1, b"".join(register(0x10000000 + 4 * n, n) for n in range(64)))
    assert caught.value.number == S.CONTEXT_SWITCH_STATUS_TIMEOUT_WHILE_WAITING_FOR_INTERRUPT
    assert "1 bursts never arrive" in caught.value.message


def test_an_external_action_list_that_is_not_there() -> None:
    from dataclasses import replace

    session = single(device="hailo15h", runtime="5.2").session()
    header = replace(single().header(), external_action_list_address=0x80000000)
    reply = decode_response(session.device.control(set_network_group_header(header.encode("5.2"))))
    assert reply.major_status == S.CONTEXT_SWITCH_STATUS_INVALID_EXTERNAL_ACTION_LIST_ADDRESS


def test_a_repeated_load_is_decoded_once() -> None:
    lists = single()
    lists.preliminary = [config_on(), descriptors(3), config_off(), *lists.preliminary]
    device = lists.run(1, b"".join(hailo8(0x11000000 + 8 * n, n, n) for n in range(WORDS))).device
    assert device is not None
    assert device.config.ccw_bytes == 2 * 3 * PAGE


def _space(*runs: bytes) -> AddressSpace:
    memory = AddressSpace(regions(8))
    for data in runs:
        run = decode_run(data, "descriptors")
        memory.load(run.image(0, run.count))
    return memory


def _words(memory: AddressSpace) -> dict[int, int]:
    """Every register by its address, from the snapshot."""
    return {
        address + at: int.from_bytes(data[at : at + 4], "little")
        for address, data in memory.snapshot().items()
        for at in range(0, len(data), 4)
    }


BASE = 0x11000000


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        # a shorter block over a longer one leaves its tail
        ([hailo8(BASE, 1, 2, 3, 4), hailo8(BASE, 8, 9)], [8, 9, 3, 4]),
        # one in the middle, one over both ends
        ([hailo8(BASE, 1, 2, 3, 4), hailo8(BASE + 4, 8, 9)], [1, 8, 9, 4]),
        ([hailo8(BASE + 4, 1, 2), hailo8(BASE, 6, 7, 8, 9)], [6, 7, 8, 9]),
        ([hailo8(BASE, 1, 2), hailo8(BASE + 8, 3, 4), hailo8(BASE + 4, 8, 9)], [1, 8, 9, 4]),
        # registers and blocks, in either order, in one run and in two
        ([hailo8(BASE, 1, 2, 3), hailo8(BASE + 4, 9)], [1, 9, 3]),
        ([hailo8(BASE + 4, 9), hailo8(BASE, 1, 2, 3)], [1, 2, 3]),
        ([hailo8(BASE, 1, 2, 3) + hailo8(BASE, 9)], [9, 2, 3]),
        ([hailo8(BASE, 9) + hailo8(BASE, 1, 2, 3)], [1, 2, 3]),
        ([hailo8(BASE, 9), hailo8(BASE, 1, 2, 3), hailo8(BASE, 9), hailo8(BASE, 4, 5)], [4, 5, 3]),
    ],
)
def test_the_later_write_wins_where_writes_overlap(runs: list[bytes], expected: list[int]) -> None:
    memory = _space(*runs)
    assert _words(memory) == {BASE + 4 * at: value for at, value in enumerate(expected)}
    assert [memory.read_word(BASE + 4 * at) for at in range(len(expected))] == expected
    assert memory.peek(BASE + 4 * len(expected)) is None and memory.peek(BASE - 4) is None


def test_single_writes_and_loads_in_turn() -> None:
    run = decode_run(hailo8(BASE, 1, 2, 3), "descriptors")
    memory = AddressSpace(regions(8))
    memory.write_word(BASE + 4, 9)
    memory.load(run.image(0, 1))
    assert [memory.peek(BASE + at) for at in (0, 4, 8)] == [1, 2, 3]
    assert memory.masked_write(BASE + 4, 0xF0, 0xF0) == 0xF2
    assert _words(memory) == {BASE: 1, BASE + 4: 0xF2, BASE + 8: 3}
    memory.load(run.image(0, 1))  # the same image again
    assert memory.peek(BASE + 4) == 2 and _words(memory)[BASE + 4] == 2
    memory.clear()
    assert memory.snapshot() == {} and memory.peek(BASE) is None
