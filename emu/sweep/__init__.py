"""Estimates of many HEFs at many batch sizes, devices and links, as one table."""

from emu.sweep.sweep import Sweep, sweep
from emu.sweep.table import Row

__all__ = ["Row", "Sweep", "sweep"]
