"""The shipped example is what its script makes, and shows what it says."""

from __future__ import annotations

from pathlib import Path

from emu.hef import open_hef
from emu.hef.infos import hef_infos
from emu.hef.load import check_load
from emu.sequencer.compile import compile_hef
from emu.sequencer.program import ContextType
from emu.wire.actions import Action, ActionType
from tests.conftest import ROOT
from tests.scripts import script

EXAMPLE = ROOT / "examples/two_context.hef"


def test_the_script_reproduces_the_committed_bytes(tmp_path: Path) -> None:
    out = tmp_path / "made.hef"
    script("examples/make_two_context.py").main(["make_two_context.py", str(out)])
    assert out.read_bytes() == EXAMPLE.read_bytes()


def test_it_is_small_and_loads_on_both_runtimes() -> None:
    assert EXAMPLE.stat().st_size < 8192
    for runtime in ("4.23", "5.2"):
        hef = open_hef(EXAMPLE, runtime=runtime)
        check_load(hef)
        (group,) = hef_infos(hef).network_groups
        assert group.is_multi_context
        assert [stream.name for stream in group.streams] == ["two_context/input_layer1", "two_context/conv2"]


def test_it_switches_contexts_over_an_inter_context_edge() -> None:
    (group,) = compile_hef(open_hef(EXAMPLE)).network_groups
    dynamic = [context for context in group.contexts if context.context_type is ContextType.DYNAMIC]
    kinds = [
        {located.entry.type for located in context.actions("4.23") if isinstance(located.entry, Action)}
        for context in dynamic
    ]
    assert ActionType.ACTIVATE_INTER_CONTEXT_OUTPUT in kinds[0]
    assert ActionType.ACTIVATE_INTER_CONTEXT_INPUT in kinds[1]
