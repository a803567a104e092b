"""Trace outputs."""
