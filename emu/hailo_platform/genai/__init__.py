"""`hailo_platform.genai`: its names are there, none of it is built."""

from __future__ import annotations

from typing import Any

from emu.hailo_platform.exceptions import HailoRTNotImplemented


class _NotBuilt:
    def __init__(self, *arguments: Any, **options: Any) -> None:
        raise HailoRTNotImplemented(f"hailo_platform.genai.{type(self).__name__}")


class LLM(_NotBuilt):
    """Refused: HailoRTNotImplemented."""


class VLM(_NotBuilt):
    """Refused: HailoRTNotImplemented."""


class Speech2Text(_NotBuilt):
    """Refused: HailoRTNotImplemented."""


class Speech2TextTask(_NotBuilt):
    """Refused: HailoRTNotImplemented."""

    TRANSCRIBE = 0
    TRANSLATE = 1


class VDevice(_NotBuilt):
    """Refused: HailoRTNotImplemented."""
