"""Trace events and their sinks, comparison and invariants."""
