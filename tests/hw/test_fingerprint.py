"""The fingerprint of lists that repeat is the one that hashing every write at once gives."""

from __future__ import annotations

from unittest.mock import patch

import xxhash
from hypothesis import given
from hypothesis import strategies as st

from emu.hw import fingerprint
from emu.hw.fingerprint import Fingerprint, Noted, item_hash

MIX, WORD64 = 0x9E3779B97F4A7C15, (1 << 64) - 1
LISTS = ("a", "b", "c")


class Image:
    """Two registers and a block."""

    def __init__(self, value: int) -> None:
        self._words = [(1, value), (2, value + 1)]
        self._block = (3, item_hash(3, value))

    def word_hashes(self) -> tuple[tuple[int, int, int], ...]:
        return tuple((address, value, item_hash(address, value)) for address, value in self._words)

    def block_hashes(self) -> tuple[tuple[int, int], ...]:
        return (self._block,)

    def digest(self) -> int:
        return sum(item for *_, item in self.word_hashes()) + self._block[1]


class Plain:
    """Every write goes into the hashes at once."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.items: dict[int, int] = {}
        self.sequences = {"": 0}
        self.running = self.outer = ""

    def note(self, entry: Noted) -> None:
        if isinstance(entry, Image):
            self.items |= {address: item for address, _, item in entry.word_hashes()} | dict(entry.block_hashes())
            self._follow(entry.digest())
            return
        assert isinstance(entry, tuple)
        if len(entry) == 3:
            what, index, values = entry
            name = f"{what} {index}"
            key, value = (xxhash.xxh3_64_intdigest(text.encode()) for text in (name, f"{name} {values}"))
        else:
            key, value = entry
        self.items[key] = item_hash(key, value)
        self._follow(self.items[key])

    def _follow(self, item: int) -> None:
        self.sequences[self.running] = (self.sequences[self.running] * MIX + item) & WORD64

    def begin(self, name: str) -> None:
        self.outer, self.running = self.running, name
        self.sequences[name] = 0

    def resume(self) -> None:
        self.running = self.outer

    def moment(self) -> int:
        hashes = [self.sequences.get(name, 0) for name in LISTS]
        return xxhash.xxh3_64_intdigest(repr(hashes).encode())

    @property
    def content(self) -> int:
        found = 0
        for item in self.items.values():
            found ^= item
        return found


IMAGES = [Image(7), Image(9)]
ENTRIES: list[Noted] = [(1, 5), (2, 5), (2, 6), ("unit", 0, (1, 2)), ("unit", 1, ()), *IMAGES]
WRITES = st.lists(st.sampled_from(ENTRIES), max_size=3)
OUTER = st.tuples(st.just("list"), st.sampled_from(LISTS), WRITES)
INTERRUPTED = st.tuples(st.just("interrupted"), st.sampled_from(LISTS), WRITES)
OTHER = st.tuples(st.sampled_from(["moment", "content", "clear"]), st.just(""), WRITES)


@given(st.lists(OUTER | INTERRUPTED | OTHER, max_size=14), st.sampled_from([0, 4, 1 << 16]))
def test_as_hashed_at_once(steps: list[tuple[str, str, list[Noted]]], most: int) -> None:
    found, plain, moments = Fingerprint(), Plain(), []

    def write(entries: list[Noted]) -> None:
        for entry in entries:
            found.note(entry)
            plain.note(entry)

    def begin(name: str) -> None:
        found.begin(name)
        plain.begin(name)

    with patch.object(fingerprint, "_MOST_NOTED", most):
        for what, name, entries in steps:
            if what == "list":
                begin(name)
            elif what == "interrupted":
                begin("between")
                write(entries)
                found.resume()
                plain.resume()
            elif what == "moment":
                moments.append((found.moment(LISTS), plain.moment()))
            elif what == "clear":
                found.clear()
                plain.clear()
            else:
                assert found.content == plain.content
            write(entries)
    assert found.content == plain.content
    assert found.written() == plain.sequences
    assert [moment.resolve() for moment, _ in moments] == [value for _, value in moments]


def test_a_list_that_repeats_writes_over_what_came_between() -> None:
    found, plain = Fingerprint(), Plain()
    for name, value in (("a", 5), ("b", 6), ("a", 5), ("c", 7)):
        for one in (found, plain):
            one.begin(name)
            one.note((1 if name != "c" else 2, value))
    assert found.content == plain.content


def test_a_list_that_repeats_is_kept_once() -> None:
    found = Fingerprint()
    moments = []
    for _ in range(100):
        for name in LISTS:
            found.begin(name)
            found.note_all([(1, 5), (2, 6)])
            moments.append(found.moment(LISTS))
    assert len(found._unfolded) <= len(LISTS) + 1
    assert len({moment.resolve() for moment in moments}) == 3  # of the first round alone


def test_of_lists_that_never_repeat_little_is_kept() -> None:
    found = Fingerprint()
    with patch.object(fingerprint, "_MOST_NOTED", 100):
        for value in range(1_000):
            found.begin("a")
            found.note((1, value))
            assert len(found._unfolded) < 110


def test_moments_between_which_nothing_is_written_are_one() -> None:
    found = Fingerprint()
    found.begin("a")
    first = found.moment(LISTS)
    assert found.moment(LISTS) is first
    assert found.moment(("a",)) is not first
    found.note((1, 1))
    assert found.moment(LISTS) is not first
    second = found.moment(LISTS)
    found.begin("a")
    assert found.moment(LISTS) is not second
