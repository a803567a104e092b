"""Host memory that several streams share: what is read is what was written last, byte by byte."""

from __future__ import annotations

import numpy as np
import pytest

from emu.hw.hostmem import HostBuffer
from emu.hw.payload import Content, Payload


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
