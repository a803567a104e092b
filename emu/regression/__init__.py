"""Regression tests of what models make a device do: run, golden traces, assertions, the pytest plugin."""
