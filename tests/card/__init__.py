"""Tests of the virtual card."""
