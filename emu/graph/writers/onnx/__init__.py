"""Writes a graph as an ONNX model, for other programs and as an independent check of the executor."""

from emu.graph.writers.onnx.model import export

__all__ = ["export"]
