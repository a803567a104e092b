"""The order in which libstdc++'s `std::sort` leaves detections of equal score (netflow-nms.md 12).

`std::sort` is not stable above 16 elements, and which of two equal boxes survives suppression depends on it. The
algorithm is introsort: median-of-three quicksort with an unguarded Hoare partition down to 16 elements, heapsort where
it degenerates, one insertion sort over everything at the end. Insertion sort is stable, so all that has to be followed
is where the partitions leave equal scores; a stable sort of that arrangement gives the library's order.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

_INSERTION_LIMIT = 16  # partitions stop at this many elements
_NUMPY_FROM = 384  # partitions of fewer elements are faster on Python lists than in numpy calls
_LOOK_CLOSER = 64  # up to this size it pays to look whether a segment has only different or only equal scores
_EQUAL_DEPTH = 8  # more partitions than halving `_LOOK_CLOSER` equal elements down to the insertion limit takes

Order = NDArray[np.intp]


def stable_descending(scores: NDArray[np.float32]) -> Order:
    """Indices of `scores` (no NaN) from the greatest on, equal ones in their order.

    One sort of integers that hold score and index, which is several times faster than a stable argsort of floats.
    """
    bits = (scores + np.float32(0)).view(np.int32)  # + 0 makes -0.0 equal to 0.0
    ascending = bits ^ ((bits >> 31) & 0x7FFFFFFF)
    keys = (-ascending.astype(np.int64) << 32) + np.arange(scores.size)
    keys.sort()
    return keys & 0xFFFFFFFF


def sort_order(scores: NDArray[np.float32]) -> Order:
    """Indices of `scores` (no NaN) in the order std::sort with a descending comparison gives them."""
    stable = stable_descending(scores)
    if scores.size <= _INSERTION_LIMIT:
        return stable
    ordered = scores[stable]
    if not (ordered[1:] == ordered[:-1]).any():
        return stable
    order = _partition_all(scores)
    return order[stable_descending(scores[order])]


def _partition_all(scores: NDArray[np.float32]) -> Order:
    """Where the introsort loop leaves the elements. Segments are disjoint, so their turn does not matter."""
    keys = scores.copy()
    order = np.arange(scores.size)
    pending = [(0, keys.size, 2 * (keys.size.bit_length() - 1))]
    while pending:
        first, last, depth = pending.pop()
        if depth > 0 and last - first >= _NUMPY_FROM:
            cut = first + _partition_array(keys[first:last], order[first:last])
            pending += [(first, cut, depth - 1), (cut, last, depth - 1)]
        else:
            permutation = list(range(last - first))
            _partition_list(keys[first:last].tolist(), permutation, depth)
            order[first:last] = order[first:last][permutation]
    return order


def _partition_array(keys: NDArray[np.float32], order: Order) -> int:
    """One partition of a large segment; the cut, counted from its start.

    The left pointer stops at every element not before the pivot, the right one at every element not after it; the k-th
    stops are exchanged until they cross.
    """
    _median_to_front(keys, order, 0, keys.size)
    pivot = keys[0]
    left = 1 + np.flatnonzero(keys[1:] <= pivot)
    right = 1 + np.flatnonzero(keys[1:] >= pivot)[::-1]
    reach = min(left.size, right.size)
    swaps = int(np.count_nonzero(left[:reach] < right[:reach]))
    for values in (keys, order):
        moved = values[left[:swaps]]
        values[left[:swaps]] = values[right[:swaps]]
        values[right[:swaps]] = moved
    # beyond the last exchange the left pointer may also stop at an element exchanged before
    behind = int(left[swaps]) if swaps < left.size else keys.size
    exchanged = int(right[swaps - 1]) if swaps else keys.size
    return min(behind, exchanged)


def _partition_list(keys: list[float], order: list[int], depth: int) -> None:
    pending = [(0, len(keys), depth)]
    while pending:
        first, last, depth = pending.pop()
        size = last - first
        if size <= _INSERTION_LIMIT:
            continue
        if size <= _LOOK_CLOSER and depth > _EQUAL_DEPTH:
            segment = keys[first:last]
            different = len(set(segment))
            if different == size:
                continue  # without equal scores any arrangement sorts to the same order
            if different == 1:
                moved = order[first:last]
                order[first:last] = [moved[at] for at in _equal_arrangement(size)]
                continue
        if depth == 0:
            _heap_sort(keys, order, first, last)
            continue
        cut = _partition(keys, order, first, last)
        pending += [(first, cut, depth - 1), (cut, last, depth - 1)]


def _partition(keys: list[float], order: list[int], first: int, last: int) -> int:
    _median_to_front(keys, order, first, last)
    pivot = keys[first]
    left, right = first + 1, last
    while True:
        while keys[left] > pivot:
            left += 1
        right -= 1
        while pivot > keys[right]:
            right -= 1
        if left >= right:
            return left
        keys[left], keys[right] = keys[right], keys[left]
        order[left], order[right] = order[right], order[left]
        left += 1


@cache
def _equal_arrangement(size: int) -> tuple[int, ...]:
    """Where the partitions leave `size` (at most `_LOOK_CLOSER`) equal elements."""
    keys, order = [0.0] * size, list(range(size))
    pending = [(0, size)]
    while pending:
        first, last = pending.pop()
        if last - first > _INSERTION_LIMIT:
            cut = _partition(keys, order, first, last)
            pending += [(first, cut), (cut, last)]
    return tuple(order)


def _median_to_front(keys: Any, order: Any, first: int, last: int) -> None:
    """Exchange the first element with the median of the second, the middle and the last."""
    a, b, c = first + 1, first + (last - first) // 2, last - 1
    if keys[a] > keys[b]:
        median = b if keys[b] > keys[c] else c if keys[a] > keys[c] else a
    else:
        median = a if keys[a] > keys[c] else c if keys[b] > keys[c] else b
    for values in (keys, order):
        front = values[first]
        values[first] = values[median]
        values[median] = front


def _heap_sort(keys: list[float], order: list[int], first: int, last: int) -> None:
    """std::partial_sort over a whole segment: make_heap, then pop everything."""
    heap = list(zip(keys[first:last], order[first:last], strict=True))
    size = len(heap)
    for parent in range((size - 2) // 2, -1, -1):
        _sift(heap, parent, size, heap[parent])
    for end in range(size - 1, 0, -1):
        value = heap[end]
        heap[end] = heap[0]
        _sift(heap, 0, end, value)
    keys[first:last] = [key for key, _ in heap]
    order[first:last] = [index for _, index in heap]


def _sift(heap: list[tuple[float, int]], hole: int, size: int, value: tuple[float, int]) -> None:
    """Let the hole sink to a leaf, then let `value` rise from there (std::__adjust_heap)."""
    top = hole
    child = hole
    while child < (size - 1) // 2:
        child = 2 * (child + 1)
        if heap[child][0] > heap[child - 1][0]:
            child -= 1
        heap[hole] = heap[child]
        hole = child
    if size % 2 == 0 and child == (size - 2) // 2:
        child = 2 * (child + 1)
        heap[hole] = heap[child - 1]
        hole = child - 1
    parent = (hole - 1) // 2
    while hole > top and heap[parent][0] > value[0]:
        heap[hole] = heap[parent]
        hole = parent
        parent = (hole - 1) // 2
    heap[hole] = value
