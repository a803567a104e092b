"""Which of the alternatives of a multi-layout HEF is configured (hef-container.md 5.2)."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from emu.chips.runtimes import device_profile
from emu.hef import Hef, builder, open_hef
from emu.hef.enums import HwArch
from emu.hef.infos import hef_infos
from emu.hef.report import hef_report
from emu.hef.writer import contents_of, write_hef
from emu.sequencer.compatibility import select_core_op
from emu.sequencer.host import HostSettings
from tests.conftest import ROOT

LAYOUT = 51


def multi_layout(*contexts: int) -> Hef:
    """A file with one configuration of `LAYOUT` for each argument, of so many contexts, and a larger layout behind."""
    contents = contents_of(open_hef(ROOT / "examples/two_context.hef"))
    whole = contents.network_groups[0].core_op
    assert whole is not None
    parts = [replace(whole, contexts=whole.contexts[:count]) for count in contexts]
    layouts = [(LAYOUT, part) for part in parts] + [(204, whole)]
    core_op = builder.core_op(whole.network_group_metadata.network_group_name, (), layouts=layouts)
    contents = replace(
        contents,
        header=replace(contents.header, hw_arch=HwArch.HAILO8L),
        network_groups=(builder.network_group(core_op),),
    )
    return open_hef(write_hef(contents, 2))


@pytest.mark.parametrize("device", ["hailo8", "hailo8l"])
@pytest.mark.parametrize("contexts", [(1, 2), (2, 1)])
def test_of_two_configurations_for_one_layout_the_later_counts(device: str, contexts: tuple[int, int]) -> None:
    """The runtime keeps them in a map, whose entry the later one overwrites (CoreOpMetadataPerArch::add_metadata)."""
    hef = multi_layout(*contexts)
    (group,) = hef.network_groups
    chosen = select_core_op(hef, group, device_profile(device), None, HostSettings())
    assert len(chosen.contexts) == contexts[-1]
    (info,) = hef_infos(hef).network_groups
    assert info.dynamic_contexts == contexts[-1]
    (document,) = hef_report(hef)["network_groups"]
    assert len(document["contexts"]) == contexts[-1]
