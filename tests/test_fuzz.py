"""The fuzzing itself: inputs that once fell, and that a fall is noticed, told and kept (docs/fuzzing.md)."""

from __future__ import annotations

import time
from pathlib import Path
from random import Random

import pytest

pytest.importorskip("hypothesis")

from fuzz import guard, plain
from fuzz.documents import mutate_json
from fuzz.finds import Finds
from fuzz.messages import encode, mutate_message, parse
from fuzz.mutation import mutate_bytes
from fuzz.target import Target
from fuzz.targets import NAMES, load
from tests.conftest import ROOT

CORPUS = sorted(path for path in (ROOT / "fuzz" / "corpus").rglob("*") if path.is_file() and path.suffix != ".md")


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_once_fell(path: Path) -> None:
    outcome = guard.guarded(load(path.parent.name).judge, path.read_bytes())
    # those may be read, answered, or run until they stall
    assert outcome.startswith("HAILO_") or path.parent.name in ("picture", "conform", "hef-run")


@pytest.mark.parametrize("name", NAMES)
def test_seeds_are_sound_and_mutants_are_judged(name: str) -> None:
    target = load(name)
    done = plain.drive(target, Finds(name), runs=60, seconds=None, seed=3)
    assert not done.finds.kinds
    assert done.outcomes  # every one has an answer


def falls(data: bytes) -> None:
    if data.startswith(b"!"):
        raise KeyError(data)
    if data.startswith(b"?"):
        time.sleep(0)
        raise guard.HangError


TARGET = Target("falling", lambda: [b"sound"], falls, lambda data, random: random.choice([b"!", b"!!", b"?", b"fine"]))


def test_a_fall_is_told_once_and_its_smallest_input_kept(tmp_path: Path) -> None:
    done = plain.drive(TARGET, Finds("falling", tmp_path), runs=100, seconds=None, seed=0)
    assert done.executions == 100 and done.outcomes["ok"] + done.finds.count == 100
    assert sorted(done.finds.kinds.values()) == [b"!", b"?"]
    assert sorted(path.read_bytes() for path in (tmp_path / "falling").iterdir() if not path.suffix) == [b"!", b"?"]


def test_the_same_seed_tries_the_same_inputs() -> None:
    target = load("yaml")
    first, again, other = ([target.mutate(target.seeds()[0], Random(seed)) for _ in range(3)] for seed in (1, 1, 2))
    assert first == again != other


def test_messages_are_taken_apart_without_loss() -> None:
    """But for varints that are longer than they need to be."""
    from emu.hef.container import Container
    from emu.hef.source import open_source

    proto = bytes(Container(open_source(ROOT / "examples" / "digits.hef")).proto)
    assert encode(parse(proto) or []) == proto
    assert len({mutate_message(proto, Random(seed)) for seed in range(20)} - {proto}) >= 15


def test_anything_can_be_mutated() -> None:
    for data in (b"", b"{", b"[]", b"null", b"\xff" * 9):
        for seed in range(200):
            random = Random(seed)
            assert isinstance(
                mutate_json(data, random) + mutate_message(data, random) + mutate_bytes(data, random), bytes
            )
