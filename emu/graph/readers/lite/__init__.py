"""MindSpore Lite files (.ms, 0.7 to 2.x): `reader` gives the graph, `describe` what `inspect` shows."""
