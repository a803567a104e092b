"""The data plane backwards: what a device sent comes back to the bit out of what the user got, padding left out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from emu.dataflow.edges import OutputEdge, OutputEdges, input_edges, output_edges, plain_output
from emu.dataflow.formats import InputTransform, OutputTransform
from emu.dataflow.inverse import InputInverse, OutputInverse, nearest_codes
from emu.dataflow.mux import Demuxer
from emu.dataflow.nms_inverse import boxes_by_class, fused_stream_frames, nms_stream_frame
from emu.dataflow.nms_wire import NmsOutputTransform, frame_from_noise, fuse, fused_info
from emu.errors import EmuError, HailoError
from emu.hef import open_hef
from emu.hef.formats import Format, FormatOrder, FormatType, QuantInfo, Shape
from emu.hef.infos import NetworkGroupInfo, hef_infos
from tests.conftest import DATA, SHARED, needs_shared

RNG_SEED = 19


def all_groups(folders: list[Path]) -> Iterator[tuple[str, NetworkGroupInfo]]:
    for folder in folders:
        for path in sorted(folder.glob("*.hef")):
            try:
                infos = hef_infos(open_hef(path))
            except EmuError:
                continue
            yield from ((path.name, group) for group in infos.network_groups)


def wire_frame(edge: OutputEdge, rng: np.random.Generator) -> np.ndarray:
    """Random codes in the places that carry values, zero in the padding: worked out from the shapes alone."""
    layer = edge.layer
    dtype = np.dtype(np.uint8 if layer.hw_data_bytes == 1 else "<u2")
    frame = np.zeros(layer.hw_frame_size, np.uint8)
    codes = rng.integers(0, np.iinfo(dtype).max + 1, layer.shape.elements).astype(dtype)
    grid = codes.reshape(layer.shape)
    if layer.format.flags:  # the wire has the picture turned
        grid = grid.transpose(1, 0, 2)
    height, width, features = layer.hw_shape
    flat = frame[: height * width * features * dtype.itemsize].view(dtype)
    for row in range(grid.shape[0]):
        for feature in range(grid.shape[2]):
            line = grid[row, :, feature]
            columns = np.arange(grid.shape[1])
            match layer.format.order:
                case FormatOrder.NHCW:
                    at = (row * features + feature) * width + columns
                case FormatOrder.NHWC | FormatOrder.FCR | FormatOrder.NC:
                    at = (row * width + columns) * features + feature
                case FormatOrder.F8CR:
                    at = row * width * features + (feature // 8) * 8 * width + columns * 8 + feature % 8
                case FormatOrder.NHW:
                    at = row * width + columns
                case other:
                    raise AssertionError(other)
            flat[at] = line
    return frame


def check_group(group: NetworkGroupInfo, rng: np.random.Generator) -> int:
    """Every output stream there and back, as float32 and as codes; the number of streams."""
    encoder = OutputEdges(group)
    wire: dict[str, bytes] = {}
    tensors: dict[str, np.ndarray] = {}
    codes: dict[str, np.ndarray] = {}
    for edge in output_edges(group):
        if edge.nms_infos:
            continue
        frame = wire_frame(edge, rng)
        assert plain_output(edge.layer).shape == edge.shape
        tensors[edge.name] = plain_output(edge.layer)(frame).view("<f4").reshape(edge.shape)
        same = plain_output(edge.layer, edge.layer.format.type)
        codes[edge.name] = same(frame).view(np.uint8 if edge.layer.hw_data_bytes == 1 else "<u2")
        wire.setdefault(edge.stream, frame.tobytes())
    for stream in group.output_streams:
        if stream.is_mux:
            demuxer = Demuxer(stream.layer)
            edges = [encoder.encode(edge, codes[edge.name]) for edge in encoder.edges if edge.stream == stream.name]
            wire[stream.name] = demuxer.join(edges).tobytes()
            for found, wanted in zip(demuxer(wire[stream.name]), edges, strict=True):
                assert np.array_equal(found, wanted)
    checked = 0
    for given in (tensors, codes):
        back = encoder(given)
        assert back.keys() == wire.keys()
        for name, data in back.items():
            assert data == wire[name], name
        checked = len(back)
    return checked + check_on_chip_nms(group, rng)


def check_on_chip_nms(group: NetworkGroupInfo, rng: np.random.Generator) -> int:
    checked = 0
    for edge in output_edges(group):
        infos, qp = edge.nms_infos, edge.quant_infos[0]
        if not infos or qp.scale == 0:
            continue
        frames = [frame_from_noise(rng.integers(0, 256, 64 << 10, np.uint8), info) for info in infos]
        user = Format(FormatType.AUTO, FormatOrder.AUTO)
        merged = frames[0] if edge.layer.fused_nms_layer is None else fuse(frames, infos)
        info = infos[0] if edge.layer.fused_nms_layer is None else fused_info(infos)
        result = NmsOutputTransform(user, edge.layers[-1].format, edge.quant_infos, info)(merged)
        back = OutputEdges(group)({edge.name: boxes_by_class(result, info.number_of_classes)})
        for layer, frame, part in zip(edge.layers, frames, infos, strict=True):
            if part.chunks_per_frame == 1:  # which chunk a box came from is lost
                assert back[layer.name] == frame.tobytes(), layer.name
            checked += 1
    return checked


@needs_shared
def test_every_output_stream_of_the_given_files_comes_back_to_the_bit() -> None:
    rng = np.random.default_rng(RNG_SEED)
    checked = sum(check_group(group, rng) for _, group in all_groups([SHARED / "hef"]))
    assert checked == 27
    assert sum(check_group(group, rng) for _, group in all_groups([SHARED / "synth" / "hef"])) > 440


def test_every_output_stream_of_the_recorded_infos_comes_back_to_the_bit() -> None:
    rng = np.random.default_rng(RNG_SEED)
    checked = 0
    for case in json.loads((DATA / "hef_infos.json").read_text()):
        infos = hef_infos(open_hef(bytes.fromhex(case["hef_hex"]), runtime=case["variant"]))
        checked += sum(check_group(group, rng) for group in infos.network_groups)
    assert checked == 44


def test_every_output_stream_of_the_test_files_comes_back_to_the_bit() -> None:
    rng = np.random.default_rng(RNG_SEED)
    streams = {name: check_group(group, rng) for name, group in all_groups([DATA / "hef"])}
    assert len(streams) == 19 and all(streams.values())


def test_user_to_device_to_user_is_within_half_a_step() -> None:
    rng = np.random.default_rng(RNG_SEED)
    shape, hw = Shape(3, 5, 6), Shape(3, 8, 8)
    qps = [QuantInfo(10.0 + index, 0.25 + index / 8, -2.5, 61.25) for index in range(6)]
    for order in (FormatOrder.NHCW, FormatOrder.NHWC, FormatOrder.FCR):
        transform = OutputTransform(
            shape, Format(FormatType.FLOAT32, FormatOrder.AUTO), hw, Format(FormatType.UINT8, order), qps
        )
        zps, scales = np.array([qp.zp for qp in qps]), np.array([qp.scale for qp in qps])
        low, high = (0 - zps) * scales, (255 - zps) * scales
        values = rng.uniform(low, high, (3, 5, 6)).astype("<f4")
        back = transform(OutputInverse(transform)(values)).view("<f4").reshape(shape)
        assert (np.abs(back - values) <= scales / 2 * 1.0001).all()
        saturated = transform(OutputInverse(transform)(values * 1e6)).view("<f4").reshape(shape)
        assert np.allclose(saturated, np.where(values > 0, high, low), rtol=1e-6)


def test_codes_beyond_limvals_exist_on_the_wire() -> None:
    qp = QuantInfo(0.0, 30 / 32768, 0.0, 30.0)
    assert nearest_codes(np.array([31.0, 60.0, -1.0, np.nan]), qp, np.dtype("<u2")).tolist() == [33860, 65535, 0, 0]
    with pytest.raises(HailoError, match="scale of 0"):
        nearest_codes(np.zeros(1), QuantInfo(1.0, 0.0, 0.0, 0.0), np.dtype(np.uint8))


INPUT_CASES = [
    (FormatOrder.NHWC, FormatOrder.NHWC, Shape(3, 5, 3), Shape(3, 8, 3)),
    (FormatOrder.NHWC, FormatOrder.NHCW, Shape(3, 5, 3), Shape(4, 8, 4)),
    (FormatOrder.NCHW, FormatOrder.NHCW, Shape(3, 5, 3), Shape(3, 8, 3)),
    (FormatOrder.NHCW, FormatOrder.NHCW, Shape(3, 5, 3), Shape(3, 8, 3)),
    (FormatOrder.NC, FormatOrder.NC, Shape(1, 1, 13), Shape(1, 1, 16)),
    (FormatOrder.NHWC, FormatOrder.FCR, Shape(3, 5, 3), Shape(3, 5, 8)),
    (FormatOrder.NHWC, FormatOrder.F8CR, Shape(3, 5, 11), Shape(3, 8, 16)),
    (FormatOrder.NHWC, FormatOrder.RGB888, Shape(3, 5, 3), Shape(3, 8, 4)),
    (FormatOrder.BAYER_RGB, FormatOrder.BAYER_RGB, Shape(4, 6, 1), Shape(4, 8, 1)),
    (FormatOrder.YUY2, FormatOrder.YUY2, Shape(2, 4, 2), Shape(2, 4, 2)),
    (FormatOrder.NV12, FormatOrder.HAILO_YYUV, Shape(2, 6, 3), Shape(2, 8, 3)),
    (FormatOrder.I420, FormatOrder.HAILO_YYYYUV, Shape(2, 8, 3), Shape(2, 16, 3)),
    (FormatOrder.RGB4, FormatOrder.NHCW, Shape(3, 5, 3), Shape(3, 8, 3)),
]


@pytest.mark.parametrize(("host", "device", "shape", "hw"), INPUT_CASES)
@pytest.mark.parametrize("type", [FormatType.UINT8, FormatType.UINT16])
def test_inputs_come_back(host: FormatOrder, device: FormatOrder, shape: Shape, hw: Shape, type: FormatType) -> None:
    if device is FormatOrder.RGB888 and type is FormatType.UINT16:
        return
    transform = InputTransform(shape, Format(type, host), hw, Format(type, device), [QuantInfo(0.0, 1.0, 0.0, 255.0)])
    frame = np.random.default_rng(RNG_SEED).integers(1, 256, transform.user_frame_size, np.uint8)
    if host is FormatOrder.RGB4:  # four-element rows end in padding
        frame.reshape(shape.height, -1)[:, shape.width * shape.features * type.element_bytes :] = 0
    assert np.array_equal(InputInverse(transform)(transform(frame)), frame)


@needs_shared
def test_every_input_of_the_given_files_is_read_back_as_real_numbers() -> None:
    rng = np.random.default_rng(RNG_SEED)
    seen = 0
    for _, group in all_groups([SHARED / "hef", SHARED / "synth" / "hef"]):
        for edge in input_edges(group):
            if len(edge.info.streams) > 1:
                continue
            stream = next(one for one in group.input_streams if one.name == edge.info.streams[0])
            dtype = np.dtype(np.uint8 if stream.hw_data_bytes == 1 else "<u2")
            codes = rng.integers(0, np.iinfo(dtype).max + 1, edge.array_shape).astype(dtype)
            user = Format(stream.format.type, FormatOrder.AUTO)
            try:
                wire = InputTransform(stream.shape, user, stream.hw_shape, stream.format, stream.quant_infos)(codes)
            except HailoError:  # shapes that the library itself cannot convert
                continue
            qp = stream.quant_infos[0]
            wanted = (codes.astype(np.float64) - qp.zp) * qp.scale
            assert np.allclose(edge.values({stream.name: wire}), wanted, rtol=1e-5, atol=abs(qp.scale) * 1e-3)
            seen += 1
    assert seen > 300


def test_a_transposed_stream_comes_back() -> None:
    from emu.hef.formats import FormatFlags

    device = Format(FormatType.UINT8, FormatOrder.NHCW, FormatFlags.TRANSPOSED)
    transform = InputTransform(
        Shape(2, 5, 3), Format(FormatType.UINT8, FormatOrder.NHWC), Shape(5, 8, 3), device, [QuantInfo(0, 1, 0, 255)]
    )
    frame = np.random.default_rng(RNG_SEED).integers(1, 256, 30, np.uint8)
    assert np.array_equal(InputInverse(transform)(transform(frame)), frame)


def test_boxes_of_all_ones_and_too_many_boxes() -> None:
    info = json.loads((DATA / "vectors" / "onchip_nms.json").read_text())
    assert info  # the vectors are there; the geometry below is made up
    from emu.hef.formats import NmsBurstType, NmsDefuseInfo, NmsInfo

    one = NmsInfo(2, 3, 6, 8, 1, False, NmsDefuseInfo(0, ""), 1, NmsBurstType.H8_BBOX)
    qp = QuantInfo(0.0, 1.0, 0.0, 0.0)
    ones = np.array([[4095, 4095, 4095, 4095, 65535]], float)
    frame = nms_stream_frame([ones, np.zeros((0, 5))], one, qp)
    assert frame[:2].view("<u2")[0] == 1
    assert frame[2:10].copy().view("<u8")[0] == 0xFFFEFFFFFFFFFFFF
    with pytest.raises(HailoError, match="4 boxes of class 0"):
        nms_stream_frame([np.zeros((4, 5)), np.zeros((0, 5))], one, qp)
    with pytest.raises(HailoError, match="boxes of 1 classes for 2"):
        fused_stream_frames([np.zeros((0, 5))], [one], qp)
