"""Written by emu.schemas.generate_fbs from the .fbs schemas; not edited by hand."""
