"""Run by `hailortcli` beside it: the folder of the program is not on its path, the one of emu is."""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[3])

from emu.hailo_platform.hailortcli import main  # noqa: E402

sys.exit(main(sys.argv[1:]))
