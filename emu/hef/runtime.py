"""Which HailoRT reads the file: what differs between versions hangs on this one value, never on a name."""

from __future__ import annotations

import re
from dataclasses import dataclass

from emu.errors import HailoError, HailoStatus, IncompatibleError, UsageError
from emu.hef.enums import HwArch

HAILO8_FAMILY = frozenset(
    {
        HwArch.SAGE_A0,
        HwArch.HAILO8,
        HwArch.HAILO8P,
        HwArch.HAILO8R,
        HwArch.SAGE_B0,
        HwArch.PAPRIKA_B0,
        HwArch.HAILO8L,
    }
)
"""What 4.23 accepts at configure (verify_legacy_hef_only, hef-container.md 5.1)."""

_SINCE_4_21 = frozenset(
    {
        HailoStatus.HAILO_HEF_FILE_CORRUPTED,
        HailoStatus.HAILO_HEF_NOT_SUPPORTED,
        HailoStatus.HAILO_HEF_NOT_COMPATIBLE_WITH_DEVICE,
    }
)
"""Statuses that up to 4.20 were all HAILO_INVALID_HEF (hef-container.md 10)."""


@dataclass(frozen=True, slots=True, order=True)
class Runtime:
    """A HailoRT version, `major.minor`."""

    major: int
    minor: int

    @classmethod
    def parse(cls, text: str) -> Runtime:
        """`"4.23"` or `"5.2.0"`; UsageError for what is no version between 4.6 and 5.2."""
        match = re.fullmatch(r"(\d+)\.(\d+)(?:\.\d+)?", text)
        if match is None:
            raise UsageError(f"{text!r} is not a HailoRT version (such as 4.23 or 5.2)")
        runtime = cls(int(match[1]), int(match[2]))
        if not V4_6 <= runtime <= V5_2 or V4_23 < runtime < V5_0:
            raise UsageError(f"HailoRT {text} is not known here (4.6 to 4.23, 5.0 to 5.2)")
        return runtime

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"

    @property
    def line(self) -> str:
        """The runtime whose compile rules apply: `4.23` for every 4.x, `5.2` for every 5.x."""
        return "4.23" if self < V5_0 else "5.2"

    def status(self, status: HailoStatus) -> HailoStatus:
        """The status as this version numbers it: 26 for 91, 92 and 93 up to 4.20."""
        if self <= V4_20 and status in _SINCE_4_21:
            return HailoStatus.HAILO_INVALID_HEF
        return status

    def refusal(self, status: HailoStatus, message: str, **where: object) -> HailoError:
        """The error of a refused file (exit code 3), numbered as by this version."""
        return HailoError(self.status(status), message, **where)

    def incompatible(self, status: HailoStatus, message: str, **where: object) -> IncompatibleError:
        """The error of a sound file that this version or device does not take (exit code 4)."""
        return IncompatibleError(self.status(status), message, **where)


V4_6 = Runtime(4, 6)
V4_18 = Runtime(4, 18)
V4_20 = Runtime(4, 20)
V4_21 = Runtime(4, 21)
V4_23 = Runtime(4, 23)
V5_0 = Runtime(5, 0)
V5_1 = Runtime(5, 1)
V5_2 = Runtime(5, 2)

RUNTIMES = (V4_23, V5_2)
"""The two that are reproduced in full."""


def default_runtime(hw_arch: HwArch | int | None) -> Runtime:
    """4.23 for the Hailo-8 family, 5.2 for all others and where no architecture can be read (cli.md)."""
    return V4_23 if hw_arch is not None and hw_arch in HAILO8_FAMILY else V5_2
