"""Config channels in both styles: CCW records become register writes, and nothing may be left over."""

from __future__ import annotations

import struct

import pytest

from emu.chips.chips import load
from emu.errors import FirmwareError
from emu.host.session import RunRequest, Session
from emu.hw.config.ccw import Run, decode_run
from emu.hw.config.runs import RunCache
from emu.hw.device import Device
from emu.hw.hostmem import Extent, HostBuffer, HostList, HostMemory
from emu.hw.memory import AddressSpace, regions
from emu.wire.actions import HostBufferInfo, HostBufferType
from emu.wire.control import decode_response, set_network_group_header
from emu.wire.status import FirmwareStatus as S
from emu.wire.wire import wire_of
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
        (65, S.CSM_CONFIG_MANAGER_STATUS_CSM_BURST_COUNTER_IS_NOT_ZERO),
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

    lists = single(device="hailo15h", runtime="5.2")
    session = lists.session()
    header = wire_of("5.2").header.decode(lists.header())._replace(external_action_list_address=0x80000000)
    reply = decode_response(session.chip.control(set_network_group_header(wire_of("5.2").header.encode(header))))
    assert reply.major_status == S.CONTEXT_SWITCH_STATUS_INVALID_EXTERNAL_ACTION_LIST_ADDRESS


@pytest.mark.parametrize(
    ("order", "status"),
    [
        ([0, 1, 2, 3], None),
        ([0, 1, 2], S.CONTEXT_SWITCH_STATUS_INVALID_EXTERNAL_ACTION_LIST_ADDRESS),
        ([1, 0, 2, 3], S.CONTEXT_SWITCH_STATUS_UNEXPECTED_CONTEXT_ORDER),
        ([0, 1, 3, 2], S.CONTEXT_SWITCH_STATUS_UNEXPECTED_CONTEXT_ORDER),
        ([0, 1, 2, 3, 0], None),  # what lies behind belongs to somebody else
    ],
)
def test_action_lists_in_memory_come_in_the_order_of_messages(order: list[int], status: S | None) -> None:
    """firmware-actions.md 4: one record after the other from the header's address on; nothing before it."""
    lists = single(device="hailo15h", runtime="5.2")
    group, device = lists.program().network_groups[0], Device(load("hailo15h"), "5.2")
    base = 0x40000000
    for at, number in enumerate(order):
        context = group.contexts[number]
        device.host_memory.action_lists[base + 0x1000 * at] = (int(context.context_type), context.action_list)
    device.host_memory.action_lists[base - 0x1000] = (99, b"")
    header = wire_of("5.2").header.decode(lists.header())._replace(external_action_list_address=base)
    reply = decode_response(device.control(set_network_group_header(wire_of("5.2").header.encode(header))))
    assert reply.major_status == (0 if status is None else status)
    assert device.applications[0].complete == (status is None)


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


def _cache(style: str = "descriptors") -> tuple[HostMemory, RunCache]:
    memory = HostMemory()
    return memory, RunCache(memory, style)


def _mapped(data: bytes, address: int = 0x1000) -> HostList:
    buffer = HostBuffer(len(data), (data,))
    return HostList(address, 8, PAGE, True, [Extent(0, -(-len(data) // PAGE), len(data), buffer, 0)])


def _values(run: Run) -> list[int | None]:
    return [record.word for record in run.records]


def test_another_file_at_the_same_address_gets_its_own_records() -> None:
    """Whatever changes behind an address: the list, its programming, the buffer, the page size."""
    memory, cache = _cache()
    first, second = (b"".join(hailo8(BASE + 8 * n, n + base) for n in range(PAGE // 16)) for base in (0, 1000))
    source = HostBufferInfo(0, 0x1000, PAGE, 8, PAGE)
    memory.lists[0x1000] = _mapped(first)
    run = cache.descriptors(0, source, 0, 1)
    assert _values(run)[:2] == [0, 1]
    assert cache.descriptors(0, source, 0, 1) is run
    memory.lists[0x1000] = _mapped(second)
    assert _values(cache.descriptors(0, source, 0, 1))[:2] == [1000, 1001]
    memory.lists[0x1000].extents.append(Extent(0, 1, PAGE, HostBuffer(PAGE, (first,)), 0))
    assert _values(cache.descriptors(0, source, 0, 1))[:2] == [0, 1]
    memory.lists[0x1000].extents[-1].buffer.write(8, (77).to_bytes(4, "little"))
    assert _values(cache.descriptors(0, source, 0, 1))[:2] == [77, 1]
    assert cache.descriptors(0, source, 0, 1) is cache.descriptors(0, source, 0, 1)
    del memory.lists[0x1000]
    assert cache.descriptors(0, source, 0, 1).opaque


def test_another_file_in_a_continuous_buffer_gets_its_own_records() -> None:
    memory, cache = _cache("bursts")
    source = HostBufferInfo(HostBufferType.CCB, 0x1000, PAGE, 8, 48)
    for value in (1, 2):
        data = register(0x10000000, value) + register(0x10000004, value)
        memory.continuous[0x1000] = HostBuffer(len(data), (data,))
        run = cache.whole(0, source)
        assert _values(run) == [value, value]
        assert cache.whole(0, source) is run
    memory.continuous[0x1000].write(8, (9).to_bytes(4, "little"))
    assert _values(cache.whole(0, source)) == [9, 2]


def test_a_second_application_at_the_same_addresses_loads_its_own_configuration() -> None:
    """Configured after the first was cleared, on the same device."""
    first, second = (b"".join(hailo8(BASE + 8 * n, n + base, 0) for n in range(WORDS)) for base in (0, 1000))
    session = single().session(config_bytes=first)
    device = session.chip
    session.run_group(session.applications[0])
    assert device.memory.peek(BASE) == 0
    session.applications[0].release()
    again = Session(session.device, single().program(second), RunRequest(frames=1))
    again.configure()
    again.run_group(again.applications[0])
    assert device.memory.peek(BASE) == 1000
