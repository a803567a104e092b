"""Hostile clients against the library side of the virtual card, for long: `python benchmarks/fuzz_card.py 0 100000`.

Arguments: the number of the first sequence, and how many. Prints calls, and the peak of memory at each tenth, which has
to stand still. A sequence that fails names itself: play it again by its number.
"""

from __future__ import annotations

import resource
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.card.fuzzing import fuzz


def main(first: int, count: int) -> None:
    calls = 0
    part = max(1, count // 10)
    for at in range(first, first + count, part):
        calls += fuzz(at, min(part, first + count - at))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(f"{at + part - first:>9,} sequences, {calls:>10,} calls, peak {peak} MiB", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
