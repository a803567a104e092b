"""Words of parse-hef that no capture shows: orders, architectures (fw-trace.md 1, hef-container.md 5.1)."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from emu.errors import EmuError, HailoStatus
from emu.hef import builder, open_hef
from emu.hef.enums import EdgeLayerDirection, ExtensionType, HwArch
from emu.hef.formats import Shape
from emu.hef.text import parse_hef_text
from emu.hef.writer import HefContents, write_hef


def one_layer(arch: HwArch | int = HwArch.HAILO8P, format: int = builder.COMPILER_FORMAT_NHCW) -> HefContents:
    base = builder.layer_base(Shape(4, 8, 3), padded=Shape(4, 8, 4), format=format, sys_index=1)
    layers = [
        builder.edge_layer(builder.layer_info("in", replace(base, sys_index=0)), EdgeLayerDirection.HOST_TO_DEVICE),
        builder.edge_layer(builder.layer_info("out", base), EdgeLayerDirection.DEVICE_TO_HOST),
    ]
    core = builder.core_op("net", [builder.context([], layers)], sorted_outputs=["out"])
    if arch in (HwArch.HAILO8L, HwArch.HAILO15M):
        core = builder.core_op("net", [], layouts=[(51, core)])
    # HW_PADDING: the padded shape crosses the wire as it is
    contents = builder.hef_contents(
        HwArch.HAILO8P, [builder.network_group(core)], optional_extensions=[ExtensionType.HW_PADDING]
    )
    return replace(contents, header=replace(contents.header, hw_arch=arch))


def text(contents: HefContents, runtime: str) -> str:
    return parse_hef_text(open_hef(write_hef(contents, 2), runtime=runtime), streams=True)


@pytest.mark.parametrize(
    ("compiler_format", "stream", "vstream"),
    [
        (0, "NHWC(4x8x4)", "NHWC(4x8x3)"),
        (1, "NHCW(4x8x4)", "NHWC(4x8x3)"),
        (2, "NC(4)", "NC(3)"),
        (3, "FCR(4x8x4)", "FCR(4x8x3)"),
        (4, "BAYER RGB(4x8x4)", "BAYER RGB(4x8x3)"),
        (5, "NHW(4x8)", "NHW(4x8)"),
        (7, "F8CR(4x8x4)", "F8CR(4x8x3)"),
        (8, "RGB 888(4x8x4)", "NHWC(4x8x3)"),
        (11, "YUY2(4x8x4)", "YUY2(4x8x3)"),
        (13, "NHWC(4x8x4)", "NHWC(4x8x3)"),
        (14, "YYUV(4x8x4)", "NV12(4x8x3)"),
        (15, "YYVU(4x8x4)", "NV21(4x8x3)"),
        (16, "YYYYUV(4x8x4)", "I420(4x8x3)"),
    ],
)
def test_every_order_has_its_word(compiler_format: int, stream: str, vstream: str) -> None:
    lines = text(one_layer(format=compiler_format), "5.2").splitlines()
    assert lines[-6:] == [
        "        Stream infos:",
        f"            Input  in UINT8, {stream}",
        f"            Output out UINT8, {stream}",
        "        VStream infos:",
        f"            Input  in UINT8, {vstream}",
        f"            Output out UINT8, {vstream}",
    ]


ARCHITECTURES = {
    HwArch.SAGE_A0: ("HAILO8_A0", "HAILO8_A0"),
    HwArch.HAILO8: ("HAILO8", "HAILO8"),
    HwArch.HAILO8P: ("HAILO8", "HAILO8"),
    HwArch.HAILO8R: ("HAILO8", "HAILO8"),
    HwArch.SAGE_B0: ("HAILO8", "HAILO8"),
    HwArch.PAPRIKA_B0: ("HAILO8", "HAILO8"),
    HwArch.HAILO8L: ("HAILO8L", "HAILO8L, HAILO8"),
    HwArch.HAILO1XH: ("HAILO15H", "HAILO15H, HAILO10H"),
    HwArch.GINGER: ("HAILO15H", "HAILO15H, HAILO10H"),
    HwArch.LAVENDER: ("HAILO15H", "HAILO15H, HAILO10H"),
    HwArch.HAILO15M: ("HAILO15M", "HAILO15M, HAILO15H, HAILO10H"),
    HwArch.HAILO15L: ("HAILO15L", "HAILO15L"),
    HwArch.PLUTO: ("HAILO15L", "HAILO15L"),
    HwArch.MARS: ("MARS", "HAILO12L"),
    HwArch.HAILO10H: ("HAILO10H", "UNKNOWN ARCHITECTURE"),
}


@pytest.mark.parametrize(("arch", "words"), ARCHITECTURES.items())
def test_every_architecture_has_its_devices(arch: HwArch, words: tuple[str, str]) -> None:
    legacy, compatible = words
    assert text(one_layer(arch), "4.23").startswith(f"Architecture HEF was compiled for: {legacy}\n")
    assert text(one_layer(arch), "5.2").startswith(f"HEF Compatible for: {compatible}\nNetwork")


def test_an_unknown_architecture_is_refused_by_one_and_printed_by_the_other() -> None:
    contents = one_layer(99)
    with pytest.raises(EmuError) as error:
        text(contents, "4.23")
    assert error.value.number == HailoStatus.HAILO_INVALID_ARGUMENT
    assert text(contents, "5.2").startswith("HEF Compatible for: UNKNOWN ARCHITECTURE\n")


def test_the_compiler_version_is_printed_by_5_2_only_where_it_is_known() -> None:
    contents = one_layer()
    sdk = replace(contents.header.sdk_version, sdk_version_major=5, sdk_version_minor=3, sdk_version_revision=1)
    contents = replace(contents, header=replace(contents.header, sdk_version=sdk))
    assert "HEF Compiler Version: 5.3.1\n" in text(contents, "5.2")
    assert "Compiler Version" not in text(contents, "4.23")
