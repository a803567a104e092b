"""Graph writers."""
