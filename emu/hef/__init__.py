"""What is in a HEF: containers V0 to V3, one immutable model, features, stream infos, parse-hef text, writer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from emu.hef.hef import Hef, open_hef

__all__ = ["Hef", "open_hef"]


def __getattr__(name: str) -> Any:
    """Load the reader, and protobuf with it, on first use."""
    if name in __all__:
        from emu.hef import hef

        return getattr(hef, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
