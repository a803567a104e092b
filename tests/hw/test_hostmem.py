"""Host memory that several streams share: what is read is what was written last, byte by byte."""

from __future__ import annotations

import numpy as np
import pytest

from emu.hw.hostmem import HostBuffer
from emu.hw.payload import Content, Parts, Payload
from tests.effort import within


def made_up(key: int, size: int) -> Payload:
    return Payload(lambda: key.to_bytes(16, "little"), size)


@pytest.mark.parametrize("seed", range(20))
def test_writes_that_overlap_are_read_in_the_order_of_time(seed: int) -> None:
    """Against a plain array: stretches of a few sizes at a few places, written again and again as contexts do."""
    rng = np.random.default_rng(seed)
    buffer, plain = HostBuffer(64), bytearray(64)
    places = [(int(at), int(size)) for at, size in zip(rng.integers(0, 40, 5), rng.choice([4, 8, 24], 5), strict=True)]
    for step in range(60):
        at, size = places[int(rng.integers(len(places)))]
        content: Content = made_up(step, size) if step % 3 else rng.bytes(size)
        buffer.write(at, content)
        plain[at : at + size] = content.materialise() if isinstance(content, Payload) else content
        for at, size in places:
            found = buffer.content(at, size)
            data = found.materialise() if isinstance(found, Payload) else found
            assert data == plain[at : at + size], (step, at, size)
        assert buffer.read(0, 64) == bytes(plain)


def test_what_is_written_in_one_piece_is_read_without_being_made_up() -> None:
    buffer = HostBuffer(64)
    for turn in range(3):
        for at in (0, 16, 32):
            buffer.write(at, made_up(100 * turn + at, 16))
    found = buffer.content(16, 16)
    assert isinstance(found, Payload) and found == made_up(216, 16)
    assert len(buffer.writes) == 3 and not buffer.shared


def test_a_part_of_a_frame_costs_no_more_than_itself() -> None:
    """A list or a capture may claim a frame of 4 GB, of which its channel moves a page."""
    frame = made_up(1, (1 << 32) - 241)
    buffer = HostBuffer(frame.size)
    buffer.write(0, Parts([(b"head", 0, 4), (frame, 4, frame.size - 4)]))
    with within(64 << 20):
        found = buffer.read(1 << 31, 4096)
    assert found == frame.part(1 << 31, 4096)
    assert buffer.read(0, 16) == b"head" + made_up(1, 16).materialise()[4:]


@pytest.mark.parametrize("seed", range(10))
def test_parts_of_parts(seed: int) -> None:
    """Contents laid behind each other, some longer than what they are taken from: each stretch is that of the whole."""
    rng = np.random.default_rng(seed)
    pieces: list[tuple[Content, int, int]] = []
    plain = b""
    for number in range(6):
        content: Content = made_up(number, 40) if number % 2 else rng.bytes(40)
        if number == 3:
            content = Parts(list(pieces))
        at, size = int(rng.integers(0, 40)), int(rng.integers(0, 60))
        pieces.append((content, at, size))
        whole = content.materialise() if isinstance(content, Payload) else content
        plain += whole[at : at + size].ljust(size, b"\0")
    joined = Parts(pieces)
    assert joined.materialise() == plain
    for _ in range(40):
        begin, end = sorted(int(one) for one in rng.integers(0, len(plain) + 1, 2))
        assert joined.part(begin, end - begin) == plain[begin:end]
