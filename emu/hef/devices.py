"""Which devices run a HEF (hef-container.md 5.1): the one table that texts, defaults and checks are made from."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from emu.hef.enums import HwArch

_HAILO8 = ("HAILO8",)
_HAILO1XH = ("HAILO15H", "HAILO10H")

ARCH_DEVICES: Mapping[int, tuple[str, ...]] = MappingProxyType(
    {
        HwArch.SAGE_A0: ("HAILO8_A0",),
        HwArch.HAILO8: _HAILO8,
        HwArch.HAILO8P: _HAILO8,
        HwArch.HAILO8R: _HAILO8,
        HwArch.SAGE_B0: _HAILO8,
        HwArch.PAPRIKA_B0: _HAILO8,
        HwArch.HAILO8L: ("HAILO8L", "HAILO8"),
        HwArch.HAILO1XH: _HAILO1XH,
        HwArch.GINGER: _HAILO1XH,
        HwArch.LAVENDER: _HAILO1XH,
        HwArch.HAILO15M: ("HAILO15M", "HAILO15H", "HAILO10H"),
        HwArch.PLUTO: ("HAILO15L",),
        HwArch.HAILO15L: ("HAILO15L",),
        HwArch.MARS: ("HAILO12L",),
    }
)
"""Devices by the HEF's architecture, named as the runtime prints them; the first is "the" device of the file."""
