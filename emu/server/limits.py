"""What one client may cost the server; all of them guesses at what an honest client never reaches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace

from emu.errors import UsageError


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes in bytes, times in seconds.

    `hef_bytes`: of all HEFs that a connection holds. `frames`: in flight on a connection, and `frame_bytes` of them,
    in and out; no more is read from a client that has so many. `message_seconds`: from the first byte of a message to
    its last, and for a client to take what was sent. `answer_bytes`: what a client may ask back (logs, echo).
    """

    connections: int = 64
    hef_bytes: int = 1 << 29
    models: int = 64
    requests: int = 128  # that wait for their turn (hrpc-5.2.md part 2, 2)
    frames: int = 256
    frame_bytes: int = 1 << 28
    message_seconds: int = 60
    answer_bytes: int = 1 << 20
    devices: int = 4096  # Device handles of clients that have gone (part 2, 2)

    def changed(self, settings: Iterable[str]) -> Limits:
        """With the changes of `NAME=N` arguments; UsageError for anything else."""
        names = [one.name for one in fields(self)]
        changes = {}
        for setting in settings:
            name, _, number = setting.partition("=")
            name = name.replace("-", "_")
            if name not in names or not number.isascii() or not number.isdigit() or not 0 < len(number) < 16:
                raise UsageError(f"a limit is NAME=N with a name of {', '.join(names)}, not {setting!r}")
            if int(number) < 1:
                raise UsageError(f"{setting}: the server would serve nobody")
            changes[name] = int(number)
        return replace(self, **changes)
