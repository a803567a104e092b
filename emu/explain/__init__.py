"""What a status, action, field, extension, register or rule is: `emu explain` (`emu.explain.find`)."""
