"""L3 as the address space shows it: blocks with their decoded content, whatever form their records came in."""

from __future__ import annotations

from collections.abc import Iterator

from emu.hw.config.addresses import L3, L3_BLOCK
from emu.hw.config.image import ChipImage


class DecodedL3:
    """The blocks of L3 that an image holds (`emu.hw.memory.Overlay`), each at its direct address (chip-config.md 2)."""

    def __init__(self, image: ChipImage) -> None:
        self._image = image

    def covers(self, address: int) -> bool:
        """Whether an address, in either form, lies in a block that was written."""
        chip = self._image.chip
        block, cluster = chip.l3_block(address), chip.cluster_of(address)
        return block is not None and cluster is not None and block in self._image.l3[cluster].sizes

    def word_at(self, address: int) -> int | None:
        """The word at a covered address; None where nobody wrote."""
        chip = self._image.chip
        block, cluster = chip.l3_block(address), chip.cluster_of(address)
        held = None if block is None or cluster is None else self._image.l3[cluster].block(block)
        offset = address % L3_BLOCK
        if held is None or held.written_until(offset) < offset + 4:
            return None
        return int.from_bytes(held.data[offset : offset + 4].tobytes(), "little")

    def pieces(self) -> Iterator[tuple[int, bytes]]:
        """Address and content of every written stretch, rising."""
        for cluster, l3 in enumerate(self._image.l3):
            base = self._image.chip.window(cluster) + L3
            for number in l3.written:
                held = l3.block(number)
                if held is not None:
                    for start, end in held.spans:
                        yield base + number * L3_BLOCK + start, held.data[start : min(end, L3_BLOCK)].tobytes()
