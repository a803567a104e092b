"""`python -m emu` and the console script: a process that runs one command and ends."""

from __future__ import annotations

import gc
import sys

from emu import interrupts

# new container objects after which the collector looks for cycles: a start-up makes 50,000, all of which stay
_COLLECTOR_THRESHOLD = 100_000


def main() -> None:
    """Run the command of the command line; never returns."""
    try:
        interrupts.install()
        gc.set_threshold(_COLLECTOR_THRESHOLD, *gc.get_threshold()[1:])
        from emu.cli import main as cli  # a signal may come while it is imported

        cli.main()
    except interrupts.EndedBySignal as signal:
        interrupts.ended()
        sys.exit(signal.exit_code)
    except SystemExit:
        interrupts.ended()
        if (code := interrupts.forgotten()) is not None:
            sys.exit(code)
        raise
    finally:
        interrupts.ended()
        gc.freeze()  # the process ends: the collector's last passes would walk all that is left for nothing


if __name__ == "__main__":
    main()
