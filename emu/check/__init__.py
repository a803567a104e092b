"""Whether models load, where, and what to know about them: `emu check`."""
