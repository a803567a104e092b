"""What the tests of HailoRT's Python API share: the HEF of the examples and what is known of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from tests.conftest import ROOT

TWO_CONTEXT = str(ROOT / "examples" / "two_context.hef")
INPUT, OUTPUT = "two_context/input_layer1", "two_context/conv2"
SHAPE, OUT_SHAPE = (32, 32, 3), (8, 8, 10)
ZERO_POINT, SCALE = 128.0, 0.0625  # of the output (examples/make_two_context.py)


def echo(position: int, frame: int, inputs: Mapping[str, bytes]) -> dict[str, bytes]:
    """An output that tells its input: every code of the frame is the input's first byte plus its position (NHCW)."""
    first = inputs[INPUT][0]
    height, width, features = OUT_SHAPE
    return {OUTPUT: ((first + np.arange(height * features * width)) % 256).astype(np.uint8).tobytes()}


def echoed(first: int) -> Any:
    """What `echo` gives, as the user's NHWC codes."""
    height, width, features = OUT_SHAPE
    device = (first + np.arange(height * features * width)) % 256
    return device.reshape(height, features, width).transpose(0, 2, 1).astype(np.uint8)


@pytest.fixture
def echoing(hailo_platform: Any) -> Any:
    """hailo_platform with `echo` in place of synthetic outputs."""
    return hailo_platform.install(reference=echo)


def frame_of(first: int) -> Any:
    """An input frame whose first byte is `first`, on the wire too."""
    return np.full(SHAPE, first, np.uint8)
