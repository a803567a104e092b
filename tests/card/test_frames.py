"""Programs of all kinds by the driver's calls: the same bytes as on a device that is opened without a driver."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import emu
from emu.card.networks import Networks
from tests.card.conversation import Client, make_card
from tests.card.ioctl_client import made_up
from tests.card.runtime import InProcess, MiniRuntime
from tests.conftest import DATA, ROOT, RUNTIMES

EXAMPLE = ROOT / "examples" / "two_context.hef"
FRAMES = 4


def frames_by_driver(
    path: Path, runtime: str, batch: int = 1, by_handle: bool = False, turns: Sequence[int] = ()
) -> tuple[list, list]:
    """Outputs of the same frames by the driver's calls, and on an open device.

    `turns`: frames of batches of their own, one after the other.
    """
    networks = Networks(compute="off")
    networks.opened(str(path))
    hef = emu.open_hef(path, runtime=runtime)
    program = emu.compile_hef(hef, batch=batch)
    card = make_card(program.device, runtime, networks)
    mini = MiniRuntime(InProcess(Client(card)), program, by_handle)
    mini.configure()
    (group,) = program.network_groups
    inputs = [made_up(program, number) for number in range(FRAMES)]
    got = []
    mini.activate(group, batch=turns[0] if turns else 0)
    for number, count in enumerate(turns or (FRAMES,)):
        if number:
            mini.switch_batch(group, count)
        got += mini.infer(group, inputs[len(got) : len(got) + count])
    mini.deactivate()
    mini.clear()
    assert card.errors == []
    assert [difference for _, difference in networks.checked] == [""]
    with emu.open_device(program.device, runtime) as device:
        application = device.configure(hef, batch=batch)
        given = {name: [row[name] for row in inputs] for name in inputs[0]}
        outputs = application.submit_raw(given).wait()
    expected = [{name: rows[at] for name, rows in outputs.items()} for at in range(FRAMES)]
    return got, expected


@pytest.mark.parametrize("batch", [1, 2, 4])
def test_the_example(batch: int) -> None:
    got, expected = frames_by_driver(EXAMPLE, RUNTIMES[0], batch)
    assert got == expected


@pytest.mark.parametrize("turns", [(1, 3), (3, 1), (1, 2, 1)])
@pytest.mark.parametrize("name", ["mc2_a", "ctr_v3a", "mux2_a", "ddr1_a"])
def test_batches_of_other_sizes(name: str, turns: Sequence[int]) -> None:
    """The channels are disabled and enabled, and their descriptors begin at 0, while the application goes on."""
    got, expected = frames_by_driver(DATA / "hef" / f"{name}.hef", RUNTIMES[0], 4, turns=turns)
    assert got == expected


def test_a_client_that_names_buffers_by_handle() -> None:
    got, expected = frames_by_driver(EXAMPLE, "4.20", by_handle=True)
    assert got == expected


@pytest.mark.parametrize(
    "name", ["ctr_v0a", "ctr_v3a", "ddr1_a", "mc2_a", "mux2_a", "part_leg_a", "planes_nv12", "qp_a"]
)
@pytest.mark.parametrize("batch", [1, 2])
def test_files_of_all_kinds(name: str, batch: int) -> None:
    got, expected = frames_by_driver(DATA / "hef" / f"{name}.hef", RUNTIMES[0], batch)
    assert got == expected


@pytest.mark.parametrize(
    "name",
    [
        "mnist_cnn.v0.hailo8",
        "hand_landmark_lite.v0.hailo8",
        "arcface_mobilefacenet.v1.hailo8",
        "fast_depth_ddr.v1.hailo8",
        "behaviour_cnn.v2.hailo8",
        "driving_partial.v1.hailo8l",
    ],
)
def test_real_files(shared: Path, name: str) -> None:
    got, expected = frames_by_driver(shared / "hef" / f"{name}.hef", RUNTIMES[0])
    assert got == expected


def nms_boxes(path: Path, count: int, ahead: int) -> tuple[list, list]:
    """Boxes by class of on-chip NMS that a client puts together, and those that a device without a driver makes up.

    The client keeps `ahead` transfers launched.
    """
    from emu.dataflow.nms_wire import class_words, frame_from_noise, read_nms_frame
    from emu.dataflow.sparse import SCORING_ELEMENTS
    from emu.hef.infos import hef_infos

    networks = Networks(compute="off")
    networks.opened(str(path))
    hef = emu.open_hef(path, runtime=RUNTIMES[0])
    program = emu.compile_hef(hef)
    (group,) = program.network_groups
    (info,) = [one for one in hef_infos(hef).network_groups if one.name == group.name]
    nms = {one.name: one.nms_info for one in info.output_streams}
    (output,) = [one for one in group.streams if nms.get(one.name) is not None]
    card = make_card(program.device, RUNTIMES[0], networks)
    mini = MiniRuntime(InProcess(Client(card)), program)
    mini.configure()
    mini.activate(group)
    inputs = [made_up(program, number) for number in range(count)]
    got, launched, done, taken = [], 0, 0, 0
    for at, row in enumerate(inputs):
        data = b""
        for stream in (one for one in group.streams if one.direction == 1):
            _, address, step = mini._frames[stream.packed_vdma_channel_id]
            mini.calls.write(address + at * step, row[stream.name])
            mini.launch(stream, at)
        _, address, step = mini._frames[output.packed_vdma_channel_id]
        while True:
            while launched < taken + ahead:
                mini.launch(output, launched)
                launched += 1
            while done <= taken:
                done += mini.wait().get(output.packed_vdma_channel_id, 0)
            data += mini.calls.read(address + taken % mini.depth * step, output.transfer_size)
            taken += 1
            try:
                read = read_nms_frame(data, nms[output.name])
            except emu.EmuError:
                assert len(data) < output.transfers_per_frame * output.transfer_size
                continue
            got.append([words.tolist() for words in class_words(read.frame, nms[output.name])])
            break
    mini.deactivate()
    assert card.errors == []
    with emu.open_device(program.device, RUNTIMES[0]) as device:
        application = device.configure(hef)
        rows = application.submit_raw({name: [row[name] for row in inputs] for name in inputs[0]}).wait()
    noise = rows[output.name]
    frames = [frame_from_noise(one, nms[output.name], SCORING_ELEMENTS) for one in noise]
    return got, [[words.tolist() for words in class_words(one, nms[output.name])] for one in frames]


@pytest.mark.parametrize("ahead", [1, 5])
@pytest.mark.parametrize("name", ["onms_h8_burst", "onms_h8_noburst", "onms_h8_div0"])
def test_on_chip_nms(shared: Path, name: str, ahead: int) -> None:
    """A transfer for each word: as many as the frame has, however many it could have."""
    got, expected = nms_boxes(shared / "synth" / "hef" / f"{name}.hef", 3, ahead)
    assert got == expected
    assert all(any(frame) for frame in got)


def test_made_up_detections_are_few(shared: Path) -> None:
    """What the client post-processes itself is what `emu run` post-processes: noise in which few cells score."""
    from emu.dataflow.sparse import sparse_scores
    from emu.dataflow.vstreams import OutputVStream
    from emu.hef.infos import hef_infos

    path = shared / "hef" / "yolov8n_320_nms.v2.hailo8.hef"
    got, raw = frames_by_driver(path, RUNTIMES[0])
    (info,) = hef_infos(emu.open_hef(path, runtime=RUNTIMES[0])).network_groups
    made = [OutputVStream(info, one, runtime=RUNTIMES[0]) for one in info.output_vstreams]
    ops = {stream: vstream.op for vstream in made if vstream.op is not None for stream in vstream.streams}
    assert ops
    expected = [
        {stream: bytes(sparse_scores(ops[stream], row)[stream]) if stream in ops else row[stream] for stream in row}
        for row in raw
    ]
    assert got == expected
    assert got != raw
