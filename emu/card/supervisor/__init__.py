"""The supervisor of `emu exec --card`: seccomp user notification hands it the opens and calls that mean the card.

It is the one client of `emu.card`, and the only place of it with system calls (driver-ioctl-4.23.md 8).
"""
