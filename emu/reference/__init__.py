"""Models that give a simulated device real numbers: an ONNX, OM or MS model or a callable, bound to a HEF's streams."""

SOURCE = "reference (float model, quantised at the edges)"
"""How outputs that a model computed are named wherever they are shown."""
