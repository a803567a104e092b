"""Frames that an application was given, until they are done."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar

from emu.errors import EmuError
from emu.hw.payload import Content, Payload
from emu.trace.hazards import Hazard

Result = TypeVar("Result")
# the content of a stream's frame, by stream and frame number
InputContents = Callable[[str, int], "Content | None"]
# the bytes of device output streams, from (position of the group in its program, frame number, the wire bytes of the
# frame's inputs by stream); streams that it leaves out stay synthetic
Outputs = Callable[[int, int, Mapping[str, bytes]], Mapping[str, bytes]]

# what finds where the configuration of a group does not agree with itself, beyond what the chip sees
Agreements = Callable[[], Sequence[Hazard]]


# gets the outputs of a frame as it is done: its number, the bytes by stream, and which of them are no synthetic ones
Taker = Callable[[int, Mapping[str, bytes], frozenset[str]], None]


class Frames:
    """`count` frames from number `first` on, and what comes of them.

    `results` gets the bytes of every output stream of each frame, in order, where `keep` asks for them; `real` names
    the streams among them that the `outputs` hook gave. With `take` nothing is kept: it is given each frame instead.
    `error` is what ended them before they were done.
    """

    def __init__(self, first: int, count: int, inputs: InputContents, keep: bool, take: Taker | None = None) -> None:
        self.first = first
        self.count = count
        self.inputs = inputs
        self.keep = keep
        self.take = take
        self.finished = 0
        self.results: list[dict[str, bytes]] = []
        self.real: list[frozenset[str]] = []
        self.error: EmuError | None = None
        self.callbacks: list[Callable[[], None]] = []

    @property
    def done(self) -> bool:
        """Whether nothing more will come of them."""
        return self.error is not None or self.finished >= self.count

    def end(self) -> None:
        """Tell whoever waits for it that they are done."""
        callbacks, self.callbacks = self.callbacks, []
        for callback in callbacks:
            callback()


class Job(Generic[Result]):
    """Frames submitted to an application. Simulated time passes only inside `wait`, of this job or of another."""

    def __init__(
        self, frames: Frames, advance: Callable[[Callable[[], bool]], None], convert: Callable[[Frames], Result]
    ) -> None:
        self._frames = frames
        self._advance = advance
        self._convert = convert

    @property
    def first_frame(self) -> int:
        """The number of its first frame: frames of an application are counted from 0 over its whole life."""
        return self._frames.first

    @property
    def frames(self) -> int:
        """How many frames it has."""
        return self._frames.count

    @property
    def done(self) -> bool:
        """Whether it has ended, well or not."""
        return self._frames.done

    @property
    def error(self) -> EmuError | None:
        """What ended it before its frames were done."""
        return self._frames.error

    @property
    def real(self) -> Sequence[frozenset[str]]:
        """For each frame that is done, the output streams whose bytes are no synthetic ones."""
        return self._frames.real

    def wait(self) -> Result:
        """Let simulated time pass until the job has ended; its outputs.

        Raises what ended it: FirmwareError where the device stopped with a status or stalled, HAILO_STREAM_ABORT where
        the application was released.
        """
        self._advance(lambda: self._frames.done)
        if self._frames.error is not None:
            raise self._frames.error
        return self._convert(self._frames)

    def add_done_callback(self, callback: Callable[[Job[Result]], None]) -> None:
        """Call `callback` with this job when it ends, from inside the call that lets time pass; at once if it has."""
        if self._frames.done:
            callback(self)
        else:
            self._frames.callbacks.append(lambda: callback(self))


def as_bytes(content: Content | None, size: int) -> bytes:
    """The bytes of a frame; zeros for one that was never written."""
    if content is None:
        return bytes(size)
    return content.materialise() if isinstance(content, Payload) else content
