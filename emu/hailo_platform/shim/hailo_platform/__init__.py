"""What `import hailo_platform` finds first under `emu exec`: it puts emu's in its place."""

import sys
from pathlib import Path

_own = Path(__file__).resolve()
# so that a real hailo_platform that this hides is found and named
sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != _own.parents[1]]
sys.modules.pop(__name__, None)
try:
    from emu.hailo_platform.installation import install
except ModuleNotFoundError:  # emu runs from its folder, it is not installed
    sys.path.append(str(_own.parents[4]))
    from emu.hailo_platform.installation import install
install()
