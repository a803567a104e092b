"""How a run has to end."""

from __future__ import annotations

from emu.errors import EmuError

OK = "OK"


def check_status(model: str, error: EmuError | None, expected: str | int) -> None:
    """AssertionError unless a run of `model` ended with `expected`: `OK`, or the name or number of the status."""
    __tracebackhide__ = True
    have = (OK, 0) if error is None else (error.name, error.number)
    if expected not in have:
        why = "" if error is None else f": {error.line()}"
        raise AssertionError(f"{model}: expected status {expected}, ended with {have[0]}({have[1]}){why}")
