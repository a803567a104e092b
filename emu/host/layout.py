"""Which clusters of a device a program may use."""

from __future__ import annotations

from emu.chips.chips import Profile
from emu.chips.runtimes import device_profile
from emu.hw.application import clusters_named
from emu.hw.memory import MAX_CLUSTERS
from emu.sequencer.program import Program
from emu.wire.wire import wire_of


def usable_clusters(program: Program, profile: Profile, given: int | None = None) -> tuple[int, tuple[int, ...]]:
    """(bitmap of the clusters, those among them that the device is not taken to have).

    The layout given where devices differ in it (cli.md), else the device's own. How many clusters a 10H/15H has is
    inferred (ccw.md), so lists that name more get them.
    """
    sold = device_profile(program.device)
    layout = given if given is not None else sold.default_layout
    if sold.has_layouts and layout is not None:
        return layout, ()
    own = (1 << profile.clusters) - 1
    lists = [context.action_list for group in program.network_groups for context in group.contexts]
    lists += [record.context.action_list for group in program.network_groups for record in group.ddr_action_list]
    more = clusters_named(lists, wire_of(program.runtime)) & ((1 << MAX_CLUSTERS) - 1) & ~own
    return own | more, tuple(cluster for cluster in range(MAX_CLUSTERS) if more >> cluster & 1)
