"""`python -m fuzz TARGET --seconds N`: mutants of the seeds against one reader; `short`: a little of every target."""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import time
from pathlib import Path

from fuzz import plain
from fuzz.finds import Finds
from fuzz.guard import limit_process
from fuzz.targets import NAMES, load

SHORT_RUNS = 40
"""Inputs a target in the short run: a count and no time, so that every machine tries the same ones."""


def main() -> int:
    """0, or 1 where something was found."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("target", choices=[*NAMES, "short"])
    parser.add_argument("--seconds", type=float, help="how long (default: until --runs)")
    parser.add_argument("--runs", type=int, help="how many inputs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plain", action="store_true", help="the plain driver, also where atheris is installed")
    parser.add_argument("--finds", type=Path, default=Path("fuzz-finds"), help="folder for what is found")
    parser.add_argument("--corpus", type=Path, default=Path("fuzz-corpus"), help="folder of atheris's corpus")
    given = parser.parse_args()
    limit_process()
    if given.target == "short":
        return max(_plain(name, given.finds, SHORT_RUNS, None, given.seed) for name in NAMES)
    if given.seconds is None and given.runs is None:
        parser.error("--seconds or --runs says when to end")
    if given.plain or importlib.util.find_spec("atheris") is None:
        return _plain(given.target, given.finds, given.runs, given.seconds, given.seed)
    from fuzz import guided

    finds = Finds(given.target, given.finds)
    corpus = given.corpus / given.target
    guided.drive(given.target, finds, corpus, seconds=given.seconds, runs=given.runs, seed=given.seed)
    return 0


def _plain(name: str, folder: Path, runs: int | None, seconds: float | None, seed: int) -> int:
    began = time.monotonic()
    finds = Finds(name, folder)
    done = plain.drive(load(name), finds, runs=runs, seconds=seconds, seed=seed)
    outcomes = json.dumps(dict(done.outcomes.most_common()))
    took = time.monotonic() - began
    print(
        f"{name}: {done.executions} executions, {finds.count} finds of {len(finds.kinds)} kinds, "
        f"{took:.0f} s; {outcomes}"
    )
    for kind in finds.kinds:
        print(f"  find: {kind}", file=sys.stderr)
    return int(bool(finds.kinds))


if __name__ == "__main__":
    sys.exit(main())
