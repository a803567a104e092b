"""Hostile input for every reader: seeds made by our writers, mutated with their structure in mind (docs/fuzzing.md)."""
