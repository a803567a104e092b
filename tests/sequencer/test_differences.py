"""What differs between releases, said from their own data; old files on the releases that take them."""

from __future__ import annotations

import pytest

from emu.catalog import names, quantities
from emu.chips.chips import load
from emu.errors import HailoError, UsageError
from emu.hef import builder, open_hef
from emu.hef import operations as ops
from emu.hef.enums import EdgeLayerDirection, HwArch
from emu.hef.formats import Shape
from emu.hef.runtime import Runtime, by_preference, release_name, spans
from emu.hef.writer import write_hef
from emu.host.session import RunRequest, run_program
from emu.sequencer.compile import compile_hef
from emu.sequencer.differences import WORDS, differences, own_fields, table
from emu.wire.actions import ActionType
from tests.conftest import ROOT


def test_everything_in_a_runtimes_file_has_words() -> None:
    for name in names("runtimes"):
        keys = {key for key in quantities("runtimes", name) if key.partition(".")[0] not in ("layouts", "fields")}
        assert keys - {"release.version"} == set(WORDS), name


def test_the_document_has_the_table() -> None:
    assert "\n".join(table(names("runtimes"))) in (ROOT / "docs" / "compile.md").read_text()


def test_releases_that_send_the_same_differ_in_nothing() -> None:
    """runtimes.md 1."""
    assert list(differences("4.22", "4.23")) == []
    assert {one.what for one in differences("5.1.1", "5.2")} == {
        "network groups",
        "opens no Hailo-15M without its cluster layout",
        "bytes for byte masks a pixel of the image",
    }
    assert own_fields("4.20", "4.23") >= {"is_periph_calculated_in_hailort", "config_channels_count"}
    layout = [one for one in differences("4.20", "4.23") if one.layout]
    assert ("application header (bytes)", "41", "32", True) in layout


@pytest.mark.parametrize(
    ("text", "name"),
    [("4.20", "4.20"), ("4.20.1", "4.20"), ("4.17", "4.17.1"), ("5.1", "5.1.1"), ("5.1.0", "5.1.0"), ("5.2.3", "5.2")],
)
def test_names_of_releases(text: str, name: str) -> None:
    assert release_name(text) == name == Runtime.named(text).name


@pytest.mark.parametrize("text", ["4.16", "4.17.0", "5.0.0", "5.3", "4", "4.20.1.1", "", "x"])
def test_versions_without_a_file_are_refused(text: str) -> None:
    """5.0.0 and 4.17.0 are no 5.0.1 and 4.17.1 (runtimes.md 4)."""
    with pytest.raises(UsageError, match="unknown runtime"):
        release_name(text)


def test_the_newest_of_each_line_come_first() -> None:
    assert by_preference(names("runtimes"))[:4] == ["4.23", "5.2", "5.1.1", "5.1.0"]
    assert spans(["4.20", "4.19", "5.2", "4.18"]) == "4.18 to 4.20, 5.2"


def _old_file() -> bytes:
    """One context, an input and an output, as compilers before 3.24 made them: the compiler has cut the frames."""
    inward = builder.layer_base(Shape(8, 8, 8), sys_index=1, core_bytes_per_buffer=128, core_buffers_per_frame=4)
    outward = builder.layer_base(Shape(8, 8, 8), sys_index=2, core_bytes_per_buffer=64, core_buffers_per_frame=8)
    start = builder.operation(
        ops.TriggerNone(), ops.ActionWriteDataCcw(bytes(16), 0), ops.ActionAllowInputDataflow(1, 0)
    )
    layers = [
        builder.edge_layer(builder.layer_info("net/in", inward), EdgeLayerDirection.HOST_TO_DEVICE),
        builder.edge_layer(builder.layer_info("net/out", outward), EdgeLayerDirection.DEVICE_TO_HOST),
    ]
    core = builder.core_op("net", [builder.context([start], layers)], sorted_outputs=["net/out"])
    return write_hef(builder.hef_contents(HwArch.HAILO8P, [builder.network_group(core)], before_3_24=True), 0)


@pytest.mark.parametrize("runtime", names("runtimes"))
def test_a_file_of_an_old_compiler_runs_where_it_is_taken(runtime: str) -> None:
    """runtimes.md 2 item 6: up to 4.20, with the core's own buffers; refused with 92 from 4.21 on."""
    data = _old_file()
    if runtime not in ("4.17.1", "4.18", "4.19", "4.20"):
        with pytest.raises(HailoError) as refusal:
            compile_hef(open_hef(data, runtime=runtime))
        assert refusal.value.number == 92
        return
    program = compile_hef(open_hef(data, runtime=runtime))
    (group,) = program.network_groups
    found = {
        located.entry.type: located.entry.arguments()
        for located in group.contexts[-1].actions(runtime)
        if located.entry.type in (ActionType.ACTIVATE_BOUNDARY_INPUT, ActionType.ACTIVATE_BOUNDARY_OUTPUT)
    }
    keys = ("core_bytes_per_buffer", "core_buffers_per_frame", "is_periph_calculated_in_hailort")
    assert [tuple(arguments[key] for key in keys) for arguments in found.values()] == [(64, 8, 0), (128, 4, 0)]
    result = run_program(program, load("hailo8"), RunRequest(frames=2))
    assert {stream.frames for stream in result.groups[0].streams} == {2}
