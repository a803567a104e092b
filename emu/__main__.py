"""`python -m emu` and the console script: a process that runs one command and ends."""

from __future__ import annotations

import gc
import sys

from emu import interrupts

# new container objects after which the collector looks for cycles: a start-up makes 50,000, all of which stay
_COLLECTOR_THRESHOLD = 100_000
# places for values on the stack of `main`: 264 KB, for which Python maps 512 KB and leaves the other half to all calls
_STACK_SIZE = 33_000


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


# CPython maps memory for frames 16 KB at a time and unmaps it when the first frame in it ends (Python/pystate.c,
# push_chunk): where calls of a loop cross such a border, each one maps memory anew, 2,800 times in a run
main.__code__ = main.__code__.replace(co_stacksize=_STACK_SIZE)


if __name__ == "__main__":
    main()
