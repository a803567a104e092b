"""Made-up bytes against the generator written down once more, in whole numbers."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import xxhash

from emu.noise import BLOCK, WORD, noise

MASK = (1 << 64) - 1
KEY = b"a key of sixteen"


def sfc64(key: bytes) -> Iterator[int]:
    """Chris Doty-Humphrey's sfc64 (PractRand): three chaotic words and a counter."""
    a, b, c = (xxhash.xxh3_64_intdigest(key, seed=seed) for seed in range(3))
    counter = 1
    while True:
        found = (a + b + counter) & MASK
        counter = (counter + 1) & MASK
        a, b, c = b ^ (b >> 11), (c + (c << 3)) & MASK, ((c << 24 | c >> 40) + found) & MASK
        yield found


def slow(key: bytes, words: int) -> bytes:
    stream = sfc64(key)
    a = list(itertools.islice(stream, BLOCK))
    b = list(itertools.islice(stream, BLOCK - 1))
    found = list(a)
    for block in itertools.count():
        if len(found) >= words:
            break
        found += [word ^ b[(block + at) % len(b)] for at, word in enumerate(a)]
    return b"".join(word.to_bytes(WORD, "little") for word in found[:words])


@pytest.mark.parametrize("key", [KEY, b"", b"\xff" * 40])
def test_as_written_down(key: bytes) -> None:
    expected = slow(key, 5 * BLOCK)
    for size in (0, 1, 7, 8, 9, 1000, 8 * BLOCK - 1, 8 * BLOCK, 8 * BLOCK + 1, 16 * BLOCK, 30 * BLOCK + 5):
        found = noise(key, size)
        assert type(found) is bytes
        assert found == expected[:size], size


def test_b_comes_round() -> None:
    """Far behind the first block both streams have turned over: a place that is worked out by itself."""
    stream = sfc64(KEY)
    words = list(itertools.islice(stream, 2 * BLOCK - 1))
    a, b = words[:BLOCK], words[BLOCK:]
    for block in (BLOCK - 1, BLOCK, BLOCK + 1):
        for at in (0, 1, BLOCK - 1):
            found = noise(KEY, WORD, (block * BLOCK + at) * WORD)
            assert int.from_bytes(found, "little") == a[at] ^ b[(block - 1 + at) % len(b)]


def test_a_part_is_what_it_is_of_the_whole() -> None:
    whole = noise(KEY, 4 * BLOCK * WORD + 100)
    edges = [0, 1, 9, BLOCK * WORD - 1, BLOCK * WORD, BLOCK * WORD + 3, 3 * BLOCK * WORD, len(whole) - 1, len(whole)]
    for begin, end in itertools.combinations_with_replacement(edges, 2):
        assert noise(KEY, end - begin, begin) == whole[begin:end], (begin, end)


def test_every_byte_is_as_likely_as_any_other() -> None:
    counts = Counter(noise(KEY, 1 << 20))
    expected = (1 << 20) / 256
    chi_square = sum((count - expected) ** 2 / expected for count in counts.values())
    assert len(counts) == 256
    assert 150 < chi_square < 380, "255 degrees of freedom: 255 give or take 23"


def test_blocks_do_not_repeat() -> None:
    data = noise(KEY, 40 * BLOCK * WORD)
    size = BLOCK * WORD
    words = {data[at : at + 16] for start in range(0, len(data), size) for at in range(start, start + 256, 16)}
    assert len(words) == 40 * 16


def test_threads_do_not_share_a_state() -> None:
    keys = [bytes([number]) * 3 for number in range(64)]
    alone = [noise(key, 3000) for key in keys]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda key: noise(key, 3000), keys * 20)) == alone * 20
