"""emu: a software Hailo device.

Nothing heavy is imported here: readers, simpy and the device model load where they are used.
"""

__version__ = "0.1.0"
