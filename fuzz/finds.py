"""What falls: an input, its kind (what was raised, and where in emu), kept once each."""

from __future__ import annotations

import hashlib
import traceback
from dataclasses import dataclass, field
from pathlib import Path

from emu.output import make_folder, write


@dataclass
class Finds:
    """Finds of one target, an input a kind; `folder` None: counted, not kept."""

    target: str
    folder: Path | None = None
    kinds: dict[str, bytes] = field(default_factory=dict)
    count: int = 0

    def add(self, data: bytes, kind: str) -> bool:
        """Whether this kind is new."""
        self.count += 1
        known = self.kinds.get(kind)
        if known is not None and len(known) <= len(data):
            return False
        self.kinds[kind] = data
        if self.folder is not None:
            name = hashlib.sha256(kind.encode()).hexdigest()[:12]
            folder = make_folder(self.folder / self.target)
            write(folder / name, data)
            write(folder / f"{name}.txt", kind + "\n")
        return known is None


def kind_of(error: BaseException) -> str:
    """The exception and the innermost place of ours that it went through."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/emu/" in frame.filename] or list(frames)
    place = f"{ours[-1].filename.rpartition('/emu/')[2]}:{ours[-1].lineno}" if ours else "?"
    # the message of an assertion says which, all others quote the input
    what = f": {str(error)[:80]}" if isinstance(error, AssertionError) else ""
    return f"{type(error).__name__}{what} at {place}"
