""".om files: `read` gives the graph, `describe` what `inspect` shows, `ge*` and `domi*` the two kinds of model."""

from emu.graph.readers.om.reader import gears, read

__all__ = ["gears", "read"]
