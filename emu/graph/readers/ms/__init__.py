"""MindSpore predict files (.ms): `read` gives the graph, `describe` what `inspect` shows."""

from emu.graph.readers.ms.reader import build, read

__all__ = ["build", "read"]
