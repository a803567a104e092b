"""JSON documents and lines of them, mutated as trees: values of other types, forged numbers, moved and lost parts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

from fuzz.mutation import TEXTS, mutate_bytes, near, number

_OTHERS: tuple[Any, ...] = (None, True, False, -1, 0.5, 1e308, 1 << 64, -(1 << 63), "", "0", "x" * 200, [], {}, [[]])


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) of a tree."""
    keys = tree.keys() if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ()
    for key in list(keys):
        yield tree, key
        yield from _places(tree[key])


def mutate_tree(tree: Any, random: Random) -> Any:
    """One to three values changed in place; a tree without any place: another value."""
    for _ in range(random.choice((1, 1, 2, 3))):
        places = list(_places(tree))
        if not places:
            return random.choice(_OTHERS)
        container, key = random.choice(places)
        kind = random.randrange(8)
        if kind == 0:
            del container[key]
        elif kind == 1:
            container[key] = random.choice(_OTHERS)
        elif kind == 2:
            other, place = random.choice(places)
            container[key] = json.loads(json.dumps(other[place]))
        elif kind == 3 and isinstance(container, list):
            container[key:key] = [container[key]] * random.choice((1, 2, 50))
        elif kind == 4 and isinstance(container, dict):
            container[random.choice(TEXTS).decode("latin-1")] = container.pop(key)
        else:
            container[key] = _forged(container[key], random)
    return tree


def _forged(value: Any, random: Random) -> Any:
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int):
        return near(value, random) if random.random() < 0.8 else -number(random)
    if isinstance(value, str):
        changed = random.choice(TEXTS) if random.random() < 0.3 else mutate_bytes(value.encode(), random)
        return changed.decode("latin-1")
    return value


def mutate_json(data: bytes, random: Random) -> bytes:
    """A document as a tree; what is none, and one in ten anyway, as bytes."""
    if random.random() < 0.1:
        return mutate_bytes(data, random)
    try:
        return json.dumps(mutate_tree(json.loads(data), random), ensure_ascii=random.random() < 0.5).encode()
    except (ValueError, RecursionError):
        return mutate_bytes(data, random)


def mutate_lines(data: bytes, random: Random) -> bytes:
    """Lines of JSON: one line's tree changed, or lines lost, repeated, swapped, joined."""
    lines = data.split(b"\n")
    at = random.randrange(len(lines))
    kind = random.randrange(12)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(at, random.choice(lines))
    elif kind == 2:
        other = random.randrange(len(lines))
        lines[at], lines[other] = lines[other], lines[at]
    elif kind == 3:
        del lines[at:]
    elif kind == 4:
        lines[at : at + 2] = [b"".join(lines[at : at + 2])]
    else:
        lines[at] = mutate_json(lines[at], random)
    return b"\n".join(lines)
