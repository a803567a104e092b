"""When the core pads rows itself, so that a stream carries frames without padding (transforms.md 3)."""

from __future__ import annotations

from typing import Any

import pytest

from emu.hef import builder, open_hef
from emu.hef.enums import EdgeLayerDirection, ExtensionType, HwArch
from emu.hef.formats import Shape
from emu.hef.infos import hef_infos
from emu.hef.writer import write_hef

NHWC = 0  # as the compiler numbers it (hef-container.md 7); a layer is NHCW unless it says so
PADDED = Shape(8, 80_000, 40)


def is_padded_by_core(
    shape: Shape, arch: HwArch, runtime: str, optional: tuple[ExtensionType, ...] = (), **base: Any
) -> bool:
    """Whether the stream of such an output has the plain shape; otherwise it has the padded one."""
    made = builder.layer_base(
        shape, padded=PADDED, core_bytes_per_buffer=8, **{"core_buffers_per_frame": shape.height, **base}
    )
    layers = [
        builder.edge_layer(
            builder.layer_info("in", builder.layer_base(Shape(1, 8, 8))), EdgeLayerDirection.HOST_TO_DEVICE
        ),
        builder.edge_layer(builder.layer_info("out", made), EdgeLayerDirection.DEVICE_TO_HOST),
    ]
    group = builder.network_group(builder.core_op("net", [builder.context([], layers)], sorted_outputs=["out"]))
    contents = builder.hef_contents(arch, [group], optional_extensions=optional)
    (found,) = hef_infos(open_hef(write_hef(contents, 2), runtime=runtime)).network_groups
    (stream,) = found.output_streams
    assert stream.hw_shape in (shape, PADDED)
    return stream.hw_shape == shape


@pytest.mark.parametrize(
    ("shape", "base", "expected"),
    [
        (Shape(4, 8, 3), {}, True),
        (Shape(4, 4, 3), {}, False),  # 12 elements a row are no multiple of 8
        (Shape(4, 4, 3), {"data_bytes": 2}, False),  # although its 24 bytes are
        (Shape(4, 8, 3), {"format": NHWC}, False),
        (Shape(4, 8, 3), {"core_buffers_per_frame": 2}, False),
        (Shape(4, 65528, 1), {}, True),  # the largest row below 0x10000
        (Shape(4, 65536, 1), {}, False),
        (Shape(4, 32768, 1), {"data_bytes": 2}, False),
        (Shape(4, 1016, 1), {"max_shmifo_size": 1024}, True),
        (Shape(4, 1024, 1), {"max_shmifo_size": 1024}, False),
        (Shape(4, 65528, 1), {"max_shmifo_size": 0}, True),
    ],
)
def test_rows_that_the_core_pads(shape: Shape, base: dict[str, Any], expected: bool) -> None:
    assert is_padded_by_core(shape, HwArch.HAILO8P, "4.23", **base) == expected


@pytest.mark.parametrize(
    ("arch", "runtime"), [(HwArch.HAILO1XH, "4.23"), (HwArch.HAILO1XH, "5.2"), (HwArch.HAILO8P, "5.2")]
)
def test_other_devices_and_5_2_pad_shorter_rows(arch: HwArch, runtime: str) -> None:
    assert is_padded_by_core(Shape(4, 8184, 1), arch, runtime)
    assert not is_padded_by_core(Shape(4, 8192, 1), arch, runtime)


def test_a_compiler_that_configures_the_padding_leaves_nothing_to_the_runtime() -> None:
    assert not is_padded_by_core(Shape(4, 8, 3), HwArch.HAILO8P, "4.23", (ExtensionType.HW_PADDING,))
