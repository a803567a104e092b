"""Readers, immutable model and writer of Hailo executables (HEF)."""
