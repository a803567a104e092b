"""Made-up bytes: streams that follow from a key alone, the same on every machine and with every version of numpy.

numpy guarantees the raw words of a bit generator, not what it makes of them (NEP 19); the state is set here, so that
its ways of seeding play no part either. A call a word is what such a generator costs, eight times an operation on
arrays: beyond the first block two short streams, of lengths without a common divisor, are laid over each other.
"""

from __future__ import annotations

import io
import threading
from typing import TYPE_CHECKING, Any

import xxhash

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WORD = 8  # bytes
BLOCK = 1 << 13  # words: 64 KiB, which stays in a core's cache

_threads = threading.local()


def noise(key: bytes, size: int, offset: int = 0) -> bytes:
    """`size` bytes from `offset` on of the stream that follows from `key`; what lies before them is not made.

    Words 0 to `BLOCK` - 1 are SFC64's, A; its next `BLOCK` - 1 are B. Block n behind the first is A xor B from place
    n - 1 on, B repeating.
    """
    import numpy as np

    end = offset + size
    words = -(-end // WORD)
    if words <= BLOCK:
        return _sfc64(key, words).tobytes()[offset:end]
    raw = _sfc64(key, 2 * BLOCK - 1)
    first, second = raw[:BLOCK], np.concatenate([raw[BLOCK:], raw[BLOCK:]])
    out = np.empty(BLOCK, np.uint64)
    found = io.BytesIO()  # one large buffer: a second one would be given back to the system, and zeroed, every time
    begin, within = divmod(offset, BLOCK * WORD)
    for block in range(begin, -(-end // (BLOCK * WORD))):
        if block:
            turn = (block - 1) % (BLOCK - 1)
            np.bitwise_xor(first, second[turn : turn + BLOCK], out=out)
        made = out if block else first
        found.write(made.view(np.uint8).data[within : within + size - found.tell()])
        within = 0
    return found.getvalue()


def _sfc64(key: bytes, words: int) -> NDArray[np.uint64]:
    """Words of SFC64 (Doty-Humphrey's small fast chaotic generator), little endian; hashes of the key are its state."""
    import numpy as np

    try:
        generator: Any = _threads.generator
    except AttributeError:
        generator = _threads.generator = np.random.SFC64(0)
    state = [xxhash.xxh3_64_intdigest(key, seed) for seed in range(3)]
    generator.state = {
        "bit_generator": "SFC64",
        "state": {"state": np.array([*state, 1], np.uint64)},
        "has_uint32": 0,
        "uinteger": 0,
    }
    found: NDArray[np.uint64] = generator.random_raw(words)
    return found.astype("<u8", copy=False).view(np.uint64)
