"""How many damaged action lists does a run notice? (tests/hw/mutants.py, tests/hw/test_mutation.py)

    python benchmarks/action_mutants.py [--count N] [--seed N] [--survivors]

Mutants of the given real files (`../shared/hef`, or EMU_SHARED): each is neutral, noticed, or survives.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.conftest import SHARED  # noqa: E402
from tests.hw.mutants import Mutant, draw, load, neutral, noticed  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=14)
    parser.add_argument("--survivors", action="store_true", help="name each")
    said = parser.parse_args()
    sounds = [load(path) for path in sorted((SHARED / "hef").glob("*.hef"))]
    reasons: Counter[str] = Counter()
    alive: list[Mutant] = []
    by: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for mutant in draw(sounds, said.count, said.seed):
            why = neutral(mutant)
            if why:
                reasons[why] += 1
                continue
            found = noticed(mutant, Path(folder) / "trace")
            if found:
                by[found.partition(" ")[0]] += 1
            else:
                alive.append(mutant)
    matter = by.total() + len(alive)
    print(f"{said.count} mutants, seed {said.seed}: {reasons.total()} neutral, {matter} can matter")
    for why, count in reasons.most_common():
        print(f"  {count:5} neutral: {why}")
    for how, count in by.most_common():
        print(f"  {count:5} noticed by a {how}")
    print(f"  {len(alive):5} survive: {100 * by.total() / max(1, matter):.1f} % are noticed")
    for (kind, action), count in Counter((one.kind, one.action.type.name) for one in alive).most_common():
        print(f"  {count:5} survivors: {kind} {action}")
    for mutant in alive if said.survivors else ():
        print(f"    {mutant}")


if __name__ == "__main__":
    main()
