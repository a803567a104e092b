"""The order in which libstdc++'s `std::sort` leaves detections of equal score (netflow-nms.md 12).

`std::sort` is not stable above 16 elements, and which of two equal boxes survives suppression depends on it. The
algorithm is introsort: median-of-three quicksort with an unguarded Hoare partition down to 16 elements, heapsort where
it degenerates, one insertion sort over everything at the end. Insertion sort is stable, so all that has to be followed
is where the partitions leave equal scores; a stable sort of that arrangement gives the library's order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_INSERTION_LIMIT = 16  # partitions stop at this many elements
_NUMPY_FROM = 384  # partitions of fewer elements are faster on Python lists than in numpy calls

Order = NDArray[np.intp]


def sort_order(scores: NDArray[np.float32]) -> Order:
    """Indices of `scores` (no NaN) in the order std::sort with a descending comparison gives them."""
    stable: Order = np.argsort(-scores, kind="stable")
    if scores.size <= _INSERTION_LIMIT:
        return stable
    ordered = scores[stable]
    if not (ordered[1:] == ordered[:-1]).any():
        return stable
    keys = scores.copy()
    order = np.arange(scores.size)
    _partition_all(keys, order)
    result: Order = order[np.argsort(-keys, kind="stable")]
    return result


def _partition_all(keys: NDArray[np.float32], order: Order) -> None:
    """The introsort loop, in place. Segments are disjoint, so the order in which they are taken does not matter."""
    pending = [(0, keys.size, 2 * (keys.size.bit_length() - 1))]
    while pending:
        first, last, depth = pending.pop()
        if last - first < _NUMPY_FROM:
            segment = keys[first:last].tolist()
            permutation = list(range(len(segment)))
            _partition_list(segment, permutation, depth)
            keys[first:last] = segment
            order[first:last] = order[first:last][permutation]
        elif depth == 0:
            _heap_sort_segment(keys, order, first, last)
        else:
            cut = first + _partition_array(keys[first:last], order[first:last])
            pending += [(first, cut, depth - 1), (cut, last, depth - 1)]


def _heap_sort_segment(keys: NDArray[np.float32], order: Order, first: int, last: int) -> None:
    segment = keys[first:last].tolist()
    permutation = list(range(len(segment)))
    _heap_sort(segment, permutation, 0, len(segment))
    keys[first:last] = segment
    order[first:last] = order[first:last][permutation]


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
        if last - first <= _INSERTION_LIMIT or len(set(keys[first:last])) == last - first:
            continue  # without equal scores any arrangement sorts to the same order
        if depth == 0:
            _heap_sort(keys, order, first, last)
            continue
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
                break
            keys[left], keys[right] = keys[right], keys[left]
            order[left], order[right] = order[right], order[left]
            left += 1
        pending += [(first, left, depth - 1), (left, last, depth - 1)]


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
