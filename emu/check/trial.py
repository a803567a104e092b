"""Whether a file that is accepted also runs: one batch on the simulated device, before anybody waits for it.

Lists can hold what no device gets over: HALT, or a wait for something that nothing of theirs ever starts.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from emu.errors import EmuError, FirmwareError
from emu.hef import Hef
from emu.hef.devices import ARCH_DEVICES
from emu.hef.runtime import default_runtime
from emu.sequencer.acceptance import Acceptance

MOST_HAZARDS = 3  # that are told of a file


class Trial(Struct, frozen=True):
    """On which device and runtime a file was tried, what ended it (None: it ran), and its hazards."""

    device: str
    runtime: str
    error: FirmwareError | None = None
    hazards: tuple[str, ...] = ()

    def sentence(self) -> str:
        """What cannot be met, or nothing."""
        return "" if self.error is None else f"does not run on {self.device} with {self.runtime}: {self.error.line()}"


def tried_on(hef: Hef, accepted: Sequence[Acceptance]) -> Acceptance:
    """Of those that accept a file the one that `emu run` takes by itself, else the first."""
    arch = hef.header.hw_arch
    own = [name.lower() for name in ARCH_DEVICES.get(arch, ())]
    runtime = default_runtime(arch).name
    return min(accepted, key=lambda one: (one.device not in own[:1], one.runtime != runtime))


def trial(hef: Hef, accepted: Sequence[Acceptance]) -> Trial | None:
    """One batch of every network group; None where the run cannot be prepared, which says nothing of the lists."""
    from emu.host.prepare import prepare
    from emu.host.session import run_program
    from emu.host.spec import RunSpec

    one = tried_on(hef, accepted)
    assert one.device is not None
    layout = one.cluster_layouts[0] if one.cluster_layouts else None
    try:
        run = prepare(RunSpec.of(hef.reopen(one.runtime), device=one.device, cluster_layout=layout))
    except EmuError:
        return None
    try:
        result = run_program(run.program, run.profile, run.request)
    except FirmwareError as error:
        return Trial(one.device, one.runtime, error)
    hazards = [found.line() for group in result.groups for found in group.hazards]
    more = [f"{len(hazards) - MOST_HAZARDS} more hazards"] if len(hazards) > MOST_HAZARDS else []
    return Trial(one.device, one.runtime, None, (*hazards[:MOST_HAZARDS], *more))
