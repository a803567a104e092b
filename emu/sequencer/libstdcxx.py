"""Two orders of libstdc++ that the standard leaves open and the runtime's bytes depend on.

`introsort` is std::sort (its order among equal elements, capture-findings.md 15), `hash_order` the iteration order of a
std::unordered_map<uint8_t, ...> (hef-compile.md 2.3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")
_THRESHOLD = 16
_BUCKET_COUNTS = (13, 29, 59, 127, 257)


def introsort(items: Iterable[T], less: Callable[[T, T], bool]) -> list[T]:
    """A sorted copy, in exactly the order that std::sort leaves equal elements in."""
    data = list(items)
    if len(data) > 1:
        _introsort_loop(data, 0, len(data), 2 * (len(data).bit_length() - 1), less)
        _insertion_sort(data, less)
    return data


def _introsort_loop(data: list[T], first: int, last: int, depth: int, less: Callable[[T, T], bool]) -> None:
    while last - first > _THRESHOLD:
        if not depth:
            _heap_sort(data, first, last, less)
            return
        depth -= 1
        cut = _partition(data, first, last, less)
        _introsort_loop(data, cut, last, depth, less)
        last = cut


def _partition(data: list[T], first: int, last: int, less: Callable[[T, T], bool]) -> int:
    """Median of the second, middle and last element to the front, the rest partitioned around it."""
    low, middle, high = first + 1, first + (last - first) // 2, last - 1
    a, b, c = data[low], data[middle], data[high]
    if less(a, b):
        median = middle if less(b, c) else high if less(a, c) else low
    else:
        median = low if less(a, c) else high if less(b, c) else middle
    data[first], data[median] = data[median], data[first]
    pivot = data[first]
    left, right = first + 1, last
    while True:
        while less(data[left], pivot):
            left += 1
        right -= 1
        while less(pivot, data[right]):
            right -= 1
        if left >= right:
            return left
        data[left], data[right] = data[right], data[left]
        left += 1


def _insertion_sort(data: list[T], less: Callable[[T, T], bool]) -> None:
    """The final pass over ranges of at most 16; stable, so guarded and unguarded insertion agree."""
    for index in range(1, len(data)):
        value = data[index]
        hole = index
        while hole and less(value, data[hole - 1]):
            data[hole] = data[hole - 1]
            hole -= 1
        data[hole] = value


def _heap_sort(data: list[T], first: int, last: int, less: Callable[[T, T], bool]) -> None:
    """std::__partial_sort over the whole range, where the recursion grew too deep."""
    size = last - first
    for parent in range((size - 2) // 2, -1, -1):
        _adjust_heap(data, first, parent, size, data[first + parent], less)
    for end in range(size - 1, 0, -1):
        value = data[first + end]
        data[first + end] = data[first]
        _adjust_heap(data, first, 0, end, value, less)


def _adjust_heap(data: list[T], first: int, hole: int, size: int, value: T, less: Callable[[T, T], bool]) -> None:
    top, child = hole, hole
    while child < (size - 1) // 2:
        child = 2 * (child + 1)
        if less(data[first + child], data[first + child - 1]):
            child -= 1
        data[first + hole] = data[first + child]
        hole = child
    if size % 2 == 0 and child == (size - 2) // 2:
        child = 2 * (child + 1)
        data[first + hole] = data[first + child - 1]
        hole = child - 1
    while hole > top and less(data[first + (hole - 1) // 2], value):
        data[first + hole] = data[first + (hole - 1) // 2]
        hole = (hole - 1) // 2
    data[first + hole] = value


def hash_order(keys: Iterable[int]) -> list[int]:
    """Iteration order of an unordered_map into which the distinct `keys` (0..255) were inserted in this order."""
    order: list[int] = []
    buckets = 0
    for key in keys:
        if len(order) + 1 > _BUCKET_COUNTS[buckets]:
            buckets += 1
            rehashed: list[int] = []
            for old in order:
                _insert(rehashed, old, _BUCKET_COUNTS[buckets])
            order = rehashed
        _insert(order, key, _BUCKET_COUNTS[buckets])
    return order


def _insert(order: list[int], key: int, buckets: int) -> None:
    """Before the first element of its bucket; to the front where the bucket is empty."""
    bucket = key % buckets
    for index, other in enumerate(order):
        if other % buckets == bucket:
            order.insert(index, key)
            return
    order.insert(0, key)
