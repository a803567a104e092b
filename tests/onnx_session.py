"""onnxruntime as the tests compare with it: one thread, for those of its own spin while they wait for a busy core."""

from __future__ import annotations

from pathlib import Path

import onnxruntime

FATAL = 4


def onnx_session(model: bytes | str | Path, *, quiet: bool = False) -> onnxruntime.InferenceSession:
    """A session of a model or of the file that holds it; `quiet` leaves out what it warns of."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    if quiet:
        options.log_severity_level = FATAL
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
