"""Chips and runtimes as data, each number once, with its source."""
