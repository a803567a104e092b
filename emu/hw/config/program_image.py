"""What a sequencer program wrote, as the address space keeps it: laid out when somebody looks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import xxhash

from emu.hw.config.addresses import CLUSTER_STRIDE
from emu.hw.config.effects import Effects
from emu.hw.config.records import Numbers, Words
from emu.hw.fingerprint import item_hash

if TYPE_CHECKING:
    from emu.hw.memory import Usage


class ProgramImage:
    """The words of a program in the window of a cluster (`emu.hw.memory.Loadable`)."""

    def __init__(self, effects: Effects, cluster: int) -> None:
        self.effects = effects
        # each with its cluster: the LCUs that it wrote, those that it started, and the blocks of L3 that it lies in
        self.lcus = frozenset((cluster, lcu) for lcu in effects.lcus)
        self.started = frozenset((cluster, lcu) for lcu in effects.started)
        self.blocks = frozenset((cluster, block) for block in effects.program.blocks)
        self.base = effects.chip.window(cluster)
        self.usage: Usage | None = None
        self.register_writes = effects.program.words

    @property
    def spans(self) -> list[tuple[int, int]]:
        """(address, bytes) of what was written, as the use of regions counts it: all of it lies in one window."""
        return [(self.base, 4 * self.effects.program.words)]

    @cached_property
    def _content(self) -> tuple[Numbers, Words]:
        """Addresses, rising, and the word that each holds at the end."""
        offsets, words = self.effects.offsets, self.effects.words
        order = np.argsort(offsets, kind="stable")
        rising = offsets[order]
        last = np.flatnonzero(np.append(rising[1:] != rising[:-1], True)) if len(rising) else rising
        return rising[last] + self.base, words[order][last]

    def word_at(self, address: int) -> int | None:
        """What a register holds once the program has run; None where it wrote nothing."""
        if not self.base <= address < self.base + CLUSTER_STRIDE:
            return None
        addresses, words = self._content
        place = int(np.searchsorted(addresses, address))
        return int(words[place]) if place < len(addresses) and addresses[place] == address else None

    def writes(self) -> Iterator[tuple[int, memoryview]]:
        """Address and data of what was written, words in a row together."""
        addresses, words = self._content
        if not len(addresses):
            return
        data = memoryview(words.astype("<u4").tobytes())
        borders = (np.flatnonzero(addresses[1:] != addresses[:-1] + 4) + 1).tolist()
        starts, stops = [0, *borders], [*borders, len(addresses)]
        for address, first, stop in zip(addresses[starts].tolist(), starts, stops, strict=True):
            yield address, data[4 * first : 4 * stop]

    # what the fingerprint asks (emu.hw.fingerprint.Hashed)

    def word_hashes(self) -> tuple[tuple[int, int, int], ...]:
        """None: a program counts as a whole."""
        return ()

    def block_hashes(self) -> tuple[tuple[int, int], ...]:
        """One for the whole program, at the window of its cluster."""
        return ((self.base, self.digest()),)

    def digest(self) -> int:
        """Of what was written and where to."""
        return self._digest

    @cached_property
    def _digest(self) -> int:
        digest = xxhash.xxh3_64()
        packets = self.effects.program.packets
        ends = packets.ends.tolist()
        for address, kind, start, end in zip(
            packets.address.tolist(), packets.kind.tolist(), [0, *ends], ends, strict=False
        ):
            digest.update(repr((address, kind)).encode())
            digest.update(packets.words[start:end].tobytes())
        return item_hash(self.base, digest.intdigest())


def image_of(effects: Effects, cluster: int) -> ProgramImage:
    """The image of a program in a cluster; made once while its effects are kept."""
    image = effects.images.get(cluster)
    if not isinstance(image, ProgramImage):
        image = effects.images[cluster] = ProgramImage(effects, cluster)
    return image
