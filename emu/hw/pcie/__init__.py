"""The registers of a card: what a host sees of a Hailo-8 behind PCIe, and all that it sees (docs/registers.md).

`declare`: how registers are declared; `layout`: which there are; `card`: what lies behind them; `boot`: the firmware's
way from reset to running. The host's end is `emu.host.pcie`.
"""
