"""Outputs that a model computes of what came over the input channels, a frame at a time."""

from __future__ import annotations

from collections.abc import Mapping

from emu.hw.border import Model
from emu.hw.payload import Content

_KEPT_FRAMES = 4096  # outputs of a frame may leave in different contexts, a batch apart


class ComputedFrames:
    """The frames of one application between their inputs and their outputs, by number."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._arrived: dict[int, dict[str, Content | None]] = {}
        self._results: dict[int, Mapping[str, bytes]] = {}

    def arrived(self, number: int, stream: str, content: Content | None) -> None:
        """What came of a frame over an input."""
        self._arrived.setdefault(number, {})[stream] = content

    def output(self, number: int, stream: str) -> bytes | None:
        """What an output stream of a frame holds; None: nothing is computed for it."""
        found = self._results.get(number)
        if found is None:
            found = self._results[number] = self._model(number, self._arrived.pop(number, {}))
            if len(self._results) > _KEPT_FRAMES:
                del self._results[next(iter(self._results))]
        return found.get(stream)
