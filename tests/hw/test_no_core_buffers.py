"""A HEF whose output has core_buffers_per_frame 0 runs, as a public one does on the real runtime (units.md 8)."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from emu.errors import FirmwareError
from emu.hef import builder, model, open_hef
from emu.host.spec import RunSpec
from emu.regression.run import execute
from tests.conftest import ROOT
from tests.hw.lists import changed, single, with_ddr

MAKER = ROOT / "examples" / "make_two_context.py"


@pytest.mark.parametrize("batch", [1, 4])
def test_it_runs(batch: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = builder.layer_base

    def without_core_buffers(*shape: Any, **settings: Any) -> model.EdgeLayerBase:
        return replace(made(*shape, **settings), core_buffers_per_frame=0)

    monkeypatch.setattr(builder, "layer_base", without_core_buffers)
    path = tmp_path / "none.hef"
    runpy.run_path(str(MAKER))["main"](["", str(path)])
    monkeypatch.undo()
    layers = [layer for core_op in open_hef(path).core_ops() for one in core_op.contexts for layer in edges(one)]
    assert layers and not any(layers)
    run = execute(path, RunSpec.of(path, frames=9, batch=batch), tmp_path / "t")
    assert run.error is None and run.hazards == ()
    assert {stream.frames for stream in run.group().streams} == {9}


def edges(context: Any) -> list[int]:
    """core_buffers_per_frame of the edge layers of a context."""
    return [one.edge.edge_layer_base.core_buffers_per_frame for one in context.metadata.edge_layers]


def test_periph_buffers_are_still_wanted_and_ddr_rows_too() -> None:
    single_ = single()
    single_.dynamic[0] = changed(single_.dynamic[0], "ACTIVATE_BOUNDARY_OUTPUT", core_buffers_per_frame=0)
    assert [stream.frames for stream in single_.run(frames=5).groups[0].streams] == [5, 5]
    ddr = with_ddr()
    ddr.dynamic[0] = changed(ddr.dynamic[0], "ACTIVATE_DDR_BUFFER_OUTPUT", core_buffers_per_frame=0)
    with pytest.raises(FirmwareError) as refused:
        ddr.run(frames=5)
    assert refused.value.name == "CONTEXT_SWITCH_STATUS_INVALID_BUFFERS_PER_FRAME_VALUE"
