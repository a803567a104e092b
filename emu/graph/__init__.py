"""OM and MS graphs: readers, one graph IR, a numpy reference executor."""
