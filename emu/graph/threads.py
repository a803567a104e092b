"""Threads that share the work of one op: parts of a result, each of which is computed as it would be alone.

numpy lets other threads run while it computes. BLAS is to keep to one thread of its own then (OMP_NUM_THREADS=1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

import numpy as np

T = TypeVar("T")

_pool: ContextVar[tuple[ThreadPoolExecutor, int] | None] = ContextVar("pool", default=None)


@contextmanager
def using(threads: int) -> Iterator[None]:
    """Inside, `spread` uses this number of threads."""
    if threads < 2:
        yield
        return
    with ThreadPoolExecutor(threads - 1, "emu-graph") as pool:
        token = _pool.set((pool, threads))
        try:
            yield
        finally:
            _pool.reset(token)


def count() -> int:
    """Threads that `spread` uses."""
    found = _pool.get()
    return 1 if found is None else found[1]


def shares(length: int, parts: int, least: int = 16) -> list[slice]:
    """At most `parts` consecutive pieces of about the same length, each a multiple of `least` but the last."""
    step = max(1, -(-length // (parts * least))) * least
    return [slice(start, min(start + step, length)) for start in range(0, length, step)]


def spread(worker: Callable[[], Callable[[T], None]], parts: Sequence[T]) -> None:
    """Do every part; `worker` makes what does them, once for each thread, so that it may have buffers of its own."""
    found = _pool.get()
    hands = min(1 if found is None else found[1], len(parts))
    if found is None or hands < 2:
        _do(worker, parts)
        return
    others = [found[0].submit(_do_quietly, worker, parts[at::hands]) for at in range(1, hands)]
    try:
        _do(worker, parts[0::hands])
    finally:
        # the parts write into one array: none may go on after an error
        for other in others:
            other.exception()
    for other in others:
        other.result()


def _do(worker: Callable[[], Callable[[T], None]], parts: Sequence[T]) -> None:
    do = worker()
    for part in parts:
        do(part)


def _do_quietly(worker: Callable[[], Callable[[T], None]], parts: Sequence[T]) -> None:
    # numpy's error state is that of the thread
    with np.errstate(all="ignore"):
        _do(worker, parts)
