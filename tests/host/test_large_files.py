"""What a run holds in memory: a large file once (of inline records what protobuf makes of them, too), outputs never."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from msgspec.structs import replace

import emu
from emu.hef import builder
from emu.hef import operations as ops
from emu.hef.enums import EdgeConnectionType, EdgeLayerDirection, HwArch
from emu.hef.formats import Shape
from emu.hef.writer import HefContents, contents_of, hef_pieces
from tests.conftest import ROOT
from tests.effort import peak_bytes

EXAMPLE = ROOT / "examples" / "two_context.hef"
ACTIONS, WORDS = 3600, 4096  # of 16 KiB each, as compilers write them
ADDRESS = 0x11408000

OUTPUT = Shape(256, 256, 16)  # 1 MiB a frame


def padded(contents: HefContents) -> HefContents:
    """With configuration that is written over and over in front of the first context, a channel behind the other."""
    block = struct.pack("<II", WORDS - 1, ADDRESS) + bytes(range(256)) * (4 * WORDS // 256)
    more = tuple(ops.ActionWriteDataCcw(block, 2 * number // ACTIONS) for number in range(ACTIONS))
    (group,) = contents.network_groups
    assert group.core_op is not None
    first, *others = group.core_op.contexts
    operation, *rest = first.operations
    operation = replace(operation, actions=(*more, *operation.actions))
    contexts = (replace(first, operations=(operation, *rest)), *others)
    return replace(contents, network_groups=(replace(group, core_op=replace(group.core_op, contexts=contexts)),))


@pytest.fixture(scope="module")
def small() -> dict[str, int]:
    return {command: peak_bytes(command, str(EXAMPLE)) for command in ("run", "inspect", "estimate")}


@pytest.mark.parametrize(
    ("version", "command", "times"),
    [
        # protobuf gives inline records as copies, which no channel finds in a row
        (0, "run", 3.8),
        (0, "inspect", 5.2),
        (2, "run", 1.15),
        (2, "inspect", 1.15),
        (2, "estimate", 1.15),
        (3, "run", 1.15),
    ],
)
def test_a_large_file_is_held_once(
    version: int, command: str, times: float, small: dict[str, int], tmp_path: Path
) -> None:
    path = tmp_path / "large.hef"
    plain = contents_of(emu.open_hef(EXAMPLE))
    path.write_bytes(b"".join(hef_pieces(padded(plain), version)))
    size = path.stat().st_size
    assert size > 56 << 20
    assert peak_bytes(command, str(path)) - small[command] < times * size


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network whose output has a megabyte a frame."""
    pixels = builder.layer_info("net/in", builder.layer_base(Shape(8, 8, 4), sys_index=0))
    answer = builder.layer_info("net/out", builder.layer_base(OUTPUT, sys_index=16))
    layers = [
        builder.edge_layer(pixels, EdgeLayerDirection.HOST_TO_DEVICE),
        builder.edge_layer(answer, EdgeLayerDirection.DEVICE_TO_HOST),
    ]
    flow = ops.ActionAllowInputDataflow(0, EdgeConnectionType.BOUNDARY)
    lists = [
        builder.operation(ops.TriggerNone(), flow),
        builder.operation(ops.TriggerAllDataWasSentToHostPCIe(16)),
    ]
    core = builder.core_op("net", [builder.context(lists, layers)], sorted_outputs=["net/out"], networks=["net"])
    path = tmp_path_factory.mktemp("wide") / "wide.hef"
    contents = builder.hef_contents(HwArch.HAILO8P, [builder.network_group(core)])
    path.write_bytes(b"".join(hef_pieces(contents, 2)))
    return path


@pytest.mark.parametrize("kept", ["--outputs=a.npz", "--output-dir=folder"])
def test_outputs_are_written_while_they_come(kept: str, wide: Path, tmp_path: Path) -> None:
    option, _, name = kept.partition("=")
    peaks = [peak_bytes("run", str(wide), "--frames", str(frames), option, str(tmp_path / name)) for frames in (12, 72)]
    assert sum(path.stat().st_size for path in tmp_path.rglob("*.np*")) > 72 << 20
    assert peaks[1] - peaks[0] < 6 << 20
