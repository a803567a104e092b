"""Infos against what the real libhailort returns for the same files (vectors/hef_infos.json, capture stdout lines)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from emu.errors import EmuError, HailoStatus
from emu.hef import Hef, open_hef
from emu.hef.formats import Format
from emu.hef.infos import HefInfos, NetworkGroupInfo, StreamInfo, VStreamInfo, hef_infos
from emu.hef.layers import StreamDirection
from emu.hef.text import parse_hef_text
from tests.conftest import DATA, SHARED, needs_shared
from tests.strategies.hefs import Drawn, hefs

SYNTHETIC = json.loads((DATA / "hef_infos.json").read_text())


def _format(format: Format) -> list[int]:
    return [int(format.type), int(format.order), int(format.flags)]


def _stream(group: NetworkGroupInfo, stream: StreamInfo) -> dict[str, Any]:
    out: dict[str, Any] = {
        "direction": int(stream.direction),
        "format": _format(stream.format),
        "hw_data_bytes": stream.hw_data_bytes,
        "hw_frame_size": stream.hw_frame_size,
        "index": stream.index,
        "is_mux": stream.is_mux,
        "name": stream.name,
        "quant_info": list(stream.quant_info),
        "vstreams": list(group.vstreams_of_stream(stream.name)),
    }
    info = stream.nms_info
    if info is None:
        return out | {"shape": list(stream.shape), "hw_shape": list(stream.hw_shape)}
    out["nms_info"] = {
        "bbox_size": info.bbox_size,
        "burst_size": info.burst_size,
        "burst_type": int(info.burst_type),
        "chunks": info.chunks_per_frame,
        "classes": info.number_of_classes,
        "group": info.defuse_info.class_group_index,
        "is_defused": info.is_defused,
        "max_per_class": info.max_bboxes_per_class,
        "max_total": info.max_bboxes_total,
        "original_name": info.defuse_info.original_name,
    }
    return out


def _vstream(group: NetworkGroupInfo, vstream: VStreamInfo) -> dict[str, Any]:
    original: list[str] | int
    try:
        original = list(group.original_names(vstream.name))
    except EmuError as error:
        original = error.number
    out: dict[str, Any] = {
        "default_frame_size": vstream.frame_size,
        "direction": int(vstream.direction),
        "format": _format(vstream.format),
        "name": vstream.name,
        "network_name": vstream.network_name,
        "original_names": original,
        "quant_info": list(vstream.quant_info),
        "streams": list(vstream.streams),
    }
    shape = vstream.nms_shape
    if shape is None:
        assert vstream.shape is not None
        return out | {"shape": list(vstream.shape)}
    out["nms_shape"] = {
        "classes": shape.number_of_classes,
        "max_mask": shape.max_accumulated_mask_size,
        "max_per_class": shape.max_bboxes_per_class,
        "max_total": shape.max_bboxes_total,
    }
    return out


def _group(group: NetworkGroupInfo) -> dict[str, Any]:
    return {
        "name": group.name,
        "networks": list(group.networks),
        "input_streams": [_stream(group, stream) for stream in group.input_streams],
        "output_streams": [_stream(group, stream) for stream in group.output_streams],
        "input_vstreams": [_vstream(group, vstream) for vstream in group.input_vstreams],
        "output_vstreams": [_vstream(group, vstream) for vstream in group.output_vstreams],
        "sorted_output_names": list(group.sorted_output_names),
        "per_network": {
            network: {
                "input_vstreams": [v.name for v in group.vstreams_of(network, StreamDirection.H2D)],
                "output_vstreams": [v.name for v in group.vstreams_of(network, StreamDirection.D2H)],
            }
            for network in group.networks
        },
    }


def as_real(hef: Hef) -> dict[str, Any]:
    """Our infos in the shape of the vectors."""
    infos = hef_infos(hef)
    return {
        "default_group_inputs": [vstream.name for vstream in infos.find("")[0].input_vstreams],
        "description": parse_hef_text(hef, streams=True),
        "groups": [_group(group) for group in infos.network_groups],
        "network_groups_infos": [
            {"is_multi_context": group.is_multi_context, "name": group.name} for group in infos.sorted_by_name()
        ],
        "network_groups_names": [group.name for group in infos.network_groups],
        "status": 0,
    }


@pytest.mark.parametrize("entry", SYNTHETIC, ids=lambda entry: f"{entry['id']}-{entry['variant']}")
def test_synthetic_hefs_have_the_real_infos(entry: dict[str, Any]) -> None:
    hef = open_hef(bytes.fromhex(entry["hef_hex"]), runtime=entry["variant"])
    assert as_real(hef) == entry["result"]


@needs_shared
def test_public_hefs_have_the_real_infos() -> None:
    by_hash = {hashlib.sha256(path.read_bytes()).hexdigest(): path for path in (SHARED / "hef").glob("*.hef")}
    entries = json.loads((SHARED / "vectors/hef_infos.json").read_text())
    compared = 0
    for entry in entries:
        path = by_hash.get(entry.get("sha256"))
        if path is not None:
            assert as_real(open_hef(path, runtime=entry["variant"])) == entry["result"], entry["id"]
            compared += 1
    assert compared == 18  # vectors/README.md: 18 entries are of files in hef/


def _captures(version: str) -> Iterator[tuple[Path, list[str]]]:
    """One capture a HEF whose getters were printed."""
    seen = set()
    for path in sorted((SHARED / "synth/capture" / version).glob("*.json")):
        name = path.name.split(".")[0]
        if name in seen:
            continue
        lines = json.loads(path.read_text())["stdout"]
        if any(line.startswith("hash ") for line in lines):
            seen.add(name)
            yield SHARED / "synth/hef" / f"{name}.hef", lines


def _g(value: float) -> str:
    return f"{value:g}"


def _dims(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))


def _common(info: StreamInfo | VStreamInfo) -> str:
    return f"order={int(info.format.order)} type={int(info.format.type)} flags={int(info.format.flags)}"


def _quant(info: StreamInfo | VStreamInfo) -> str:
    return f"zp={_g(info.quant_info.zp)} scale={_g(info.quant_info.scale)}"


def _vstream_line(word: str, info: VStreamInfo) -> str:
    shape = info.nms_shape
    if shape is None:
        assert info.shape is not None
        what = f"shape={_dims(info.shape)}"
    else:
        what = (
            f"classes={shape.number_of_classes} maxb={shape.max_bboxes_per_class} maxt={shape.max_bboxes_total} "
            f"mask={shape.max_accumulated_mask_size}"
        )
    return f"{word} {info.name} {_common(info)} net={info.network_name} {what} {_quant(info)} frame={info.frame_size}"


def _stream_line(word: str, info: StreamInfo) -> str:
    shape, hw_shape = tuple(info.shape), tuple(info.hw_shape)
    if info.nms_info is not None:
        # the driver printed both shapes of the union, which for NMS holds nms_info
        nms = info.nms_info
        shape = (nms.number_of_classes, nms.max_bboxes_per_class, nms.max_bboxes_total)
        hw_shape = (nms.bbox_size, nms.chunks_per_frame, int(nms.is_defused))
    return (
        f"{word} {info.name} index={info.index} {_common(info)} hw_data_bytes={info.hw_data_bytes} "
        f"hw_frame_size={info.hw_frame_size} shape={_dims(shape)} hw_shape={_dims(hw_shape)} {_quant(info)}"
    )


def _getter_lines(hef: Hef, infos: HefInfos) -> list[str]:
    lines = []
    for group in infos.network_groups:
        lines += [f"net {network}" for network in group.networks]
        lines += [_vstream_line("vin", info) for info in group.input_vstreams]
        lines += [_vstream_line("vout", info) for info in group.output_vstreams]
        lines.append(f"fps {_g(group.bottleneck_fps)}")
        lines += [f"sorted {name}" for name in group.sorted_output_names]
        lines += [_stream_line("sin", info) for info in group.input_streams]
        lines += [_stream_line("sout", info) for info in group.output_streams]
    return [*lines, f"hash {hef.container.hash}"]


@needs_shared
@pytest.mark.parametrize("version", ["4.23", "5.2"])
def test_getters_print_what_the_real_ones_print(version: str) -> None:
    words = {"net", "vin", "vout", "fps", "sorted", "sin", "sout", "hash"}
    compared = 0
    for path, lines in _captures(version):
        hef = open_hef(path, runtime=version)
        real = [line for line in lines if line.split(" ", 1)[0] in words]
        assert _getter_lines(hef, hef_infos(hef)) == real, path.name
        compared += 1
    assert compared > 200


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(hefs())
def test_every_stream_is_covered_by_vstreams_and_the_order_is_kept(drawn: Drawn) -> None:
    for group in hef_infos(open_hef(drawn.data(), runtime=drawn.runtime)).network_groups:
        names = [stream.name for stream in group.streams]
        assert len(set(names)) == len(names)
        assert {name for vstream in group.vstreams for name in vstream.streams} == set(names)
        if len(group.output_vstreams) > 1:
            places = [group.sorted_output_names.index(vstream.name) for vstream in group.output_vstreams]
            assert places == sorted(places)
        for stream in group.streams:
            assert stream.nms_info is not None or stream.hw_frame_size % 8 == 0
            vstreams = group.vstreams_of_stream(stream.name)
            assert all(stream.name in vstream.streams for vstream in group.vstreams if vstream.name in vstreams)
        for vstream in group.vstreams:
            assert (vstream.shape is None) != (vstream.nms_shape is None)
            # removing the background from one class leaves none
            empty = vstream.nms_shape is not None and not vstream.nms_shape.number_of_classes
            assert vstream.frame_size > 0 or empty


@pytest.mark.parametrize(("name", "network"), [("g", ""), ("g/g", ""), ("", ""), ("g/netA", "g/netA")])
def test_names_of_groups_and_networks_are_found(name: str, network: str) -> None:
    entry = next(entry for entry in SYNTHETIC if entry["id"] == "multi_network_multi_io_sorted")
    infos = hef_infos(open_hef(bytes.fromhex(entry["hef_hex"]), runtime=entry["variant"]))
    group, found = infos.find(name)
    assert (group.name, found) == ("g", network)


def test_an_unknown_name_is_not_found() -> None:
    infos = hef_infos(open_hef(bytes.fromhex(SYNTHETIC[0]["hef_hex"]), runtime="4.23"))
    with pytest.raises(EmuError) as error:
        infos.find("nobody")
    assert error.value.number == HailoStatus.HAILO_NOT_FOUND
    group = infos.network_groups[0]
    for query in (group.vstreams_of_stream, group.original_names):
        with pytest.raises(EmuError) as error:
            query("nobody")
        assert error.value.number == HailoStatus.HAILO_NOT_FOUND


def test_a_network_without_inputs_or_outputs_is_not_found() -> None:
    entry = next(entry for entry in SYNTHETIC if entry["id"] == "multi_network_multi_io_sorted")
    group = hef_infos(open_hef(bytes.fromhex(entry["hef_hex"]), runtime="4.23")).network_groups[0]
    assert [stream.name for stream in group.streams_of("g/netB", StreamDirection.D2H)] == ["o1"]
    with pytest.raises(EmuError) as error:
        group.streams_of("g/netC", StreamDirection.H2D)
    assert error.value.number == HailoStatus.HAILO_NOT_FOUND
