"""Throughput and latency of a HEF without running it: the timing model of `emu.hw.timing`, evaluated analytically."""

from emu.estimate.estimate import BatchEstimate, ContextEstimate, Estimate, estimate

__all__ = ["BatchEstimate", "ContextEstimate", "Estimate", "estimate"]
