"""Graph readers."""
