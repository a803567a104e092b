"""Refusals that say what to do: whose limit it is, what the file is for, which release takes it, which setting."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from emu.chips.runtimes import device_profile, runtime_profile
from emu.errors import HailoError
from emu.hef.formats import Shape
from emu.sequencer.channels import LayerType
from emu.sequencer.periph import calculate_periph
from emu.sequencer.program import Direction
from tests.conftest import ROOT
from tests.sequencer.test_differences import _old_file
from tests.sequencer.test_layers import edge_layer

EXAMPLE = str(ROOT / "examples" / "two_context.hef")


@pytest.mark.parametrize("command", ["run", "estimate", "actions"])
def test_a_batch_of_64_says_whose_limit_it_is(emu, command: str) -> None:
    for options in (["--batch", "64"], ["--net-batch", "two_context=64"]):
        code, _, err = emu(command, EXAMPLE, *options)
        assert code == 2 and "(1 to 63, HailoRT's own limit, HAILO_MAX_BATCH_SIZE" in err


def test_93_names_the_device_that_the_file_is_for(emu) -> None:
    """HAILO8P runs on HAILO8, with every release of 4.x (hef-container.md 5.2)."""
    for options, said in (
        (["--device", "hailo8l"], "it is for hailo8 (HailoRT 4.17.1 to 4.23)"),
        (["--runtime", "5.2"], "hailo8 needs HailoRT 4.17.1 to 4.23"),
    ):
        code, _, err = emu("run", EXAMPLE, *options)
        assert code == 4 and "(93)" in err and said in err


def test_92_of_an_old_file_says_recompile_or_which_release_takes_it(emu, tmp_path: Path) -> None:
    old = tmp_path / "old.hef"
    old.write_bytes(_old_file())
    code, _, err = emu("run", old, "--runtime", "4.23")
    assert code == 3 and "(92)" in err
    assert "compile the model again with a newer Dataflow Compiler, or use HailoRT 4.20 or earlier" in err
    assert emu("run", old, "--runtime", "4.20")[0] == 0


def test_a_driver_with_pages_of_16_kib_is_refused_as_the_runtime_does(emu) -> None:
    code, _, err = emu("run", EXAMPLE, "--host", "desc_max_page=16384")
    assert code == 3 and err.startswith("emu: error: HAILO_INTERNAL_FAILURE(8): ")
    assert "16384" in err and "force_desc_page_size=4096" in err


def test_the_periph_buffer_that_does_not_fit_names_what_was_compared() -> None:
    """A page of 512 in a fifo of 528 leaves 15 bytes, of which 8 are a whole unit; 4,100 is no multiple of 8."""
    device, runtime = device_profile("hailo8"), runtime_profile("4.23")
    consts = replace(device.hw_consts, default_initial_credit_size=528)
    layer = edge_layer(LayerType.BOUNDARY, Direction.D2H, Shape(1, 4100, 1))
    with pytest.raises(HailoError) as refusal:
        calculate_periph(layer, 512, runtime, device, consts, False)
    for operand in ("of 8 bytes", "a row of 4100", "units of 8", "at most 15", "frame of 4100", "528", "page of 512"):
        assert operand in refusal.value.message
