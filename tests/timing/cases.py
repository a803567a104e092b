"""The given HEFs, and the figures Hailo publishes for some of them (issue: timing, accuracy)."""

from __future__ import annotations

from typing import NamedTuple

from tests.conftest import SHARED

FILES = sorted((SHARED / "hef").glob("*.hef"))
DEVICES_OF_1XH = ("hailo15h", "hailo10h")


class Published(NamedTuple):
    """Frames per second at batch 1 and 8, in the release of the HEF's own compiler."""

    file: str
    device: str
    release: str
    fps1: float
    fps8: float
    compute_bound: bool = False


SINGLE_CONTEXT = (
    Published("fast_depth_ddr.v1.hailo8.hef", "hailo8", "v2.14", 1826, 1822),
    Published("scrfd_2.5g.v3.hailo1xh.hef", "hailo15h", "v5.2.0", 764, 784),
    Published("scrfd_2.5g.v3.hailo1xh.hef", "hailo10h", "v5.2.0", 525, 535),
    Published("arcface_mobilefacenet.v1.hailo8.hef", "hailo8", "v2.14", 3457, 3457, compute_bound=True),
)
TWO_CONTEXTS = (
    Published("face_landmarks_lite_2ctx.v3.hailo1xh.hef", "hailo15h", "v5.2.0", 993, 3058),
    Published("face_landmarks_lite_2ctx.v3.hailo1xh.hef", "hailo10h", "v5.2.0", 982, 2405),
)


def devices(name: str) -> tuple[str | None, ...]:
    """On which devices a given file is tried."""
    return DEVICES_OF_1XH if "1xh" in name else (None,)
