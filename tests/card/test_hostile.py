"""Hostile clients against the library side: an errno, never anything else, and no growth."""

from __future__ import annotations

from errno import EFAULT, EINVAL, ENOMEM
from pathlib import Path

import pytest

from emu.card.calls import NO_HANDLE, Name
from emu.card.dma import MOST_BUFFERS, MOST_LISTS
from emu.card.waiting import MOST_WAITERS
from tests.card.conversation import Client, make_card
from tests.card.fuzzing import fuzz
from tests.card.ioctl_client import made_up
from tests.card.runtime import DriverError
from tests.card.test_card import running


def test_sequences_of_calls() -> None:
    assert fuzz(0, 300) == 6000


def test_opens_do_not_add_up() -> None:
    card = make_card()
    for _ in range(10_000):
        client = Client(card)
        client.wait(Name.READ_NOTIFICATION, 0, b"")
        client.close()
    assert card.files == []


def test_what_a_file_may_hold_has_an_end() -> None:
    client = Client(make_card())
    for _ in range(MOST_WAITERS):
        client.wait(Name.READ_NOTIFICATION, 0, b"")
    assert client(Name.READ_NOTIFICATION, 0, b"").error == ENOMEM
    lists = [client(Name.DESC_LIST_CREATE, 128, 512, 1, 0, 0) for _ in range(MOST_LISTS + 1)]
    assert [answer.error for answer in lists[-2:]] == [0, 105]
    buffers = [client(Name.VDMA_BUFFER_MAP, 0x10000, 4096, 1, 0, NO_HANDLE, 0).error for _ in range(MOST_BUFFERS + 1)]
    assert buffers[-2:] == [0, ENOMEM]
    client.close()
    assert not client.card.device.host_memory.lists


def test_a_list_does_not_grow_by_being_programmed_again() -> None:
    client = Client(make_card())
    handle = client.out(Name.VDMA_BUFFER_MAP, 0x10000, 1 << 20, 1, 0, NO_HANDLE, 0)[5]
    made = client.out(Name.DESC_LIST_CREATE, 64, 512, 1, 0, 0)
    for at in range(5000):
        bind, start = at % 3 > 0, at % 64
        assert not client(Name.DESC_LIST_PROGRAM, handle, 1024, 0, 1, made[3], 2, start, bind, 1, 0, 0).error
    assert len(client.card.device.host_memory.lists[made[4]].extents) < 300


def test_a_huge_batch_costs_nothing() -> None:
    client = Client(make_card())
    handle = client.out(Name.VDMA_BUFFER_MAP, 0x10000, 1 << 20, 1, 0, NO_HANDLE, 0)[5]
    made = client.out(Name.DESC_LIST_CREATE, 64, 512, 1, 0, 0)
    fields = (handle, 512, 0, (1 << 32) - 1, made[3], 2, 0)
    assert client(Name.DESC_LIST_PROGRAM, *fields, 0, 1, 0, 0).error == 34
    assert client(Name.DESC_LIST_PROGRAM, *fields, 1, 1, 0, 0).error in (14, 34, EINVAL)


def test_unmapped_while_launched() -> None:
    """A buffer that a transfer still has to fill is gone: the transfer ends, and nothing is written anywhere."""
    mini, group, client = running()
    (row,) = mini.infer(group, [made_up(mini.program, 0)])
    assert any(row.values())
    (output,) = [one for one in group.streams if one.direction == 2]
    (source,) = [one for one in group.streams if one.direction == 1]
    mini.launch(output, 1)
    assert not client(Name.VDMA_BUFFER_UNMAP, mini._frames[output.packed_vdma_channel_id][0]).error
    before = {page: bytes(data) for page, data in client.memory._pages.items()}
    mini.launch(source, 0)
    assert mini.wait() == {source.packed_vdma_channel_id: 1, output.packed_vdma_channel_id: 1}
    assert {page: bytes(data) for page, data in client.memory._pages.items()} == before
    assert client.card.errors == []


def test_transfers_under_way_have_an_end(shared: Path) -> None:
    """127, though the list has room for more (driver-ioctl-4.23.md 4.10)."""
    mini, group, client = running(shared / "hef" / "mnist_cnn.v0.hailo8.hef")
    (output,) = [one for one in group.streams if one.direction == 2]
    for number in range(127):
        mini.launch(output, number)
    with pytest.raises(DriverError) as refused:
        mini.launch(output, 127)
    assert refused.value.number == EFAULT
    assert client.card.channels[output.packed_vdma_channel_id].ongoing == 127
