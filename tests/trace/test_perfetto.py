"""The Perfetto trace, read back with Perfetto's own schema, and with its trace processor where there is one."""

from __future__ import annotations

import io
import os
import re
import shutil
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from emu.trace.events import Event, Header, Kind
from emu.trace.sinks import perfetto
from emu.trace.sinks.perfetto import PerfettoSink, varint
from tests.conftest import SHARED
from tests.trace.helpers import DDR, SINGLE, TWO_CONTEXT, Cli, records_of, traced

pb = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2", reason="the perfetto package is missing")


def _trace(cli: Cli, folder: Path, model: Path = TWO_CONTEXT, *options: object) -> Path:
    target = folder / "x.pftrace"
    assert cli("run", model, "--frames", 4, f"--trace={target}", "--trace-format", "perfetto", *options) == 0
    return target


def _parsed(path: Path) -> tuple[dict[int, Any], list[Any]]:
    """(track descriptors by uuid, packets of events)."""
    packets = pb.Trace.FromString(path.read_bytes()).packet
    tracks = {p.track_descriptor.uuid: p.track_descriptor for p in packets if p.HasField("track_descriptor")}
    return tracks, [p for p in packets if p.HasField("track_event")]


@pytest.mark.parametrize("value", [0, 1, 127, 128, 300, 16384, (1 << 32) + 5, (1 << 64) - 1])
def test_varints_are_protobufs(value: int) -> None:
    packet = pb.TracePacket()
    packet.timestamp = value
    assert packet.SerializeToString() == b"\x40" + varint(value)


def test_every_unit_has_its_track(cli: Cli, tmp_path: Path) -> None:
    tracks, events = _parsed(_trace(cli, tmp_path))
    names = {track.name for track in tracks.values()}
    contexts = {"activation", "preliminary", "dynamic_0", "dynamic_1"}
    units = {"cluster 0", "cluster 1", "cluster 0 sequencer", "cluster 0 LCU 0", "cluster 1 LCU 1"}
    assert contexts | units | {"channel 2", "channel 16", "channel 17", "channel 3", "control"} <= names
    by_name = {track.name: track for track in tracks.values()}
    assert tracks[by_name["cluster 0 LCU 0"].parent_uuid].name == "cluster 0"
    assert {event.track_event.track_uuid for event in events} <= tracks.keys()
    assert all(uuid == track.uuid for uuid, track in tracks.items())


def test_descriptors_come_before_their_events(cli: Cli, tmp_path: Path) -> None:
    known = set()
    for packet in pb.Trace.FromString(_trace(cli, tmp_path).read_bytes()).packet:
        if packet.HasField("track_descriptor"):
            assert packet.track_descriptor.parent_uuid in known | {0}
            known.add(packet.track_descriptor.uuid)
        else:
            assert packet.track_event.track_uuid in known


def test_slices_nest_and_end(cli: Cli, tmp_path: Path) -> None:
    tracks, events = _parsed(_trace(cli, tmp_path))
    open_slices: dict[int, list[Any]] = defaultdict(list)
    # as the trace processor does: by time, the order of the file among equals
    for packet in sorted(events, key=lambda packet: packet.timestamp):
        event = packet.track_event
        if event.type == event.TYPE_SLICE_BEGIN:
            open_slices[event.track_uuid].append(packet)
        elif event.type == event.TYPE_SLICE_END:
            begin = open_slices[event.track_uuid].pop()
            assert begin.timestamp <= packet.timestamp
    assert [tracks[uuid].name for uuid, stack in open_slices.items() if stack] == []


def test_an_output_has_its_rate_and_the_buffers_their_sum(cli: Cli, tmp_path: Path) -> None:
    """Against the arrivals in the trace in JSON lines: batches of 4, 12 frames, so two intervals between instants."""
    traced(TWO_CONTEXT, tmp_path / "x.trace", batch=4, frames=12)
    records = list(records_of(tmp_path / "x.trace"))
    arrived = [one["ns"] for one in records if one.get("kind") == "transfer" and one["unit"].startswith("channel 16 ")]
    tracks, events = _parsed(_trace(cli, tmp_path, TWO_CONTEXT, "--batch", 4, "--frames", 12))
    values: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for packet in events:
        if packet.track_event.type == pb.TrackEvent.TYPE_COUNTER:
            name = tracks[packet.track_event.track_uuid].name
            values[name].append((packet.timestamp, packet.track_event.counter_value))
    instants = Counter(arrived)
    pairs = list(pairwise(sorted(instants)))
    assert len(arrived) == 12 and pairs
    assert values["two_context/conv2 FPS"] == [
        (end, round(instants[begin] * 1e9 / (end - begin))) for begin, end in pairs
    ]
    (buffer,) = (fills for name, fills in values.items() if name.endswith(" fill"))
    assert values["DDR occupancy"] == buffer


def test_actions_carry_time_and_arguments(cli: Cli, tmp_path: Path) -> None:
    traced(TWO_CONTEXT, tmp_path / "x.trace", frames=4)
    wanted = [record for record in records_of(tmp_path / "x.trace") if record.get("kind") == "action"]
    tracks, events = _parsed(_trace(cli, tmp_path))
    found = [
        packet
        for packet in events
        if packet.track_event.type == pb.TrackEvent.TYPE_SLICE_BEGIN and packet.track_event.categories == ["action"]
    ]
    assert len(found) == len(wanted)
    for packet, record in zip(found, wanted, strict=True):
        event = packet.track_event
        notes = {note.name: note.uint_value for note in event.debug_annotations if note.HasField("uint_value")}
        assert (event.name, tracks[event.track_uuid].name) == (record["action"], record["context"])
        assert packet.timestamp == record["ns"] - record.get("duration", 0)
        assert record["arguments"].items() <= notes.items()
        assert notes["action_index"] == record["action_index"]


def test_flows_lead_from_trigger_to_wait(cli: Cli, tmp_path: Path) -> None:
    _, events = _parsed(_trace(cli, tmp_path))
    started = {}
    pairs: Counter[tuple[str, str]] = Counter()
    for packet in events:
        event = packet.track_event
        for flow in event.flow_ids:
            assert flow not in started
            started[flow] = packet
        for flow in event.terminating_flow_ids:
            assert started[flow].timestamp <= packet.timestamp
            pairs[started[flow].track_event.name, event.name] += 1
    ended = {flow for packet in events for flow in packet.track_event.terminating_flow_ids}
    assert ended == started.keys()  # both ends, or none
    waits = Counter(packet.track_event.name for packet in events)
    assert pairs["TRIGGER_SEQUENCER", "SEQUENCER_DONE_INTERRUPT"] == waits["SEQUENCER_DONE_INTERRUPT"]
    assert pairs["ENABLE_LCU_DEFAULT", "LCU_INTERRUPT"] == waits["LCU_INTERRUPT"]
    assert pairs["FETCH_CFG_CHANNEL_DESCRIPTORS", "MODULE_CONFIG_DONE_INTERRUPT"]


# action -> the kind of unit it starts or waits for, and the argument that names it (firmware-actions.md 8)
STARTS = {
    "ENABLE_LCU_DEFAULT": ("lcu", "packed_lcu_id"),
    "ENABLE_LCU_NON_DEFAULT": ("lcu", "packed_lcu_id"),
    "SWITCH_LCU_BATCH": ("lcu", "packed_lcu_id"),
    "TRIGGER_SEQUENCER": ("sequencer", "cluster_index"),
    "FETCH_CFG_CHANNEL_DESCRIPTORS": ("config", ""),
    "FETCH_CCW_BURSTS": ("config", ""),
    "FETCH_DATA_FROM_VDMA_CHANNEL": ("channel", "packed_vdma_channel_id"),
    "ACTIVATE_BOUNDARY_OUTPUT": ("channel", "packed_vdma_channel_id"),
    "ACTIVATE_INTER_CONTEXT_OUTPUT": ("channel", "packed_vdma_channel_id"),
    "ACTIVATE_CACHE_OUTPUT": ("channel", "packed_vdma_channel_id"),
    "ENABLE_NMS": ("nms", ""),
}
WAITS = {
    "LCU_INTERRUPT": ("lcu", "packed_lcu_id"),
    "SEQUENCER_DONE_INTERRUPT": ("sequencer", "sequencer_index"),
    "MODULE_CONFIG_DONE_INTERRUPT": ("config", ""),
    "INPUT_CHANNEL_TRANSFER_DONE_INTERRUPT": ("channel", "packed_vdma_channel_id"),
    "OUTPUT_CHANNEL_TRANSFER_DONE_INTERRUPT": ("channel", "packed_vdma_channel_id"),
    "WAIT_FOR_DMA_IDLE_ACTION": ("channel", "packed_vdma_channel_id"),
    "WAIT_FOR_NMS": ("nms", ""),
}
# actions that a slice on the track of a unit begins with
UNIT_SLICES = {"SWITCH_LCU_BATCH", "TRIGGER_SEQUENCER", "ACTIVATE_CFG_CHANNEL"}
UNIT_SLICES |= {f"OPEN_BOUNDARY_{way}_CHANNEL" for way in ("INPUT", "OUTPUT")}
UNIT_SLICES |= {f"ENABLE_LCU_{kind}" for kind in ("DEFAULT", "NON_DEFAULT")}
UNIT_SLICES |= {
    f"ACTIVATE_{kind}_{way}"
    for kind in ("BOUNDARY", "INTER_CONTEXT", "DDR_BUFFER", "CACHE")
    for way in ("INPUT", "OUTPUT")
}
MODELS = [TWO_CONTEXT, DDR, SINGLE, "hef/mnist_cnn.v0.hailo8.hef", "synth/hef/cache1_a.hef"]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: Path(model).name)
def test_it_holds_what_the_trace_in_json_lines_holds(model: Path | str, cli: Cli, tmp_path: Path) -> None:
    """Slices, instants, tracks and flows, counted from the same run written as JSON lines."""
    if isinstance(model, str):
        if not (SHARED / model).exists():
            pytest.skip("the shared files are not here")
        model = SHARED / model
    assert cli("run", model, "--frames", 4, f"--trace={tmp_path / 'x.trace'}") == 0
    records = [one for one in records_of(tmp_path / "x.trace") if "kind" in one]
    tracks, events = _parsed(_trace(cli, tmp_path, model))
    kinds = Counter(record["kind"] for record in records)
    actions = [record for record in records if record["kind"] == "action"]

    types = Counter(packet.track_event.type for packet in events)
    on_units = sum(record["action"] in UNIT_SLICES for record in actions)
    slices = len(actions) + kinds["context_begin"] + on_units
    assert types[pb.TrackEvent.TYPE_SLICE_BEGIN] == types[pb.TrackEvent.TYPE_SLICE_END] == slices
    apart = {"action", "context_begin", "context_end", "wait", "end"}
    assert types[pb.TrackEvent.TYPE_INSTANT] == sum(count for kind, count in kinds.items() if kind not in apart)

    names = {track.name for track in tracks.values()}
    moved = {(one["unit"].partition(" (")[0], one["cause"]) for one in records if one["kind"] == "transfer"}
    for channel, cause in moved:
        stream = cause.split(" ", 3)[3] if cause.startswith("boundary") else cause
        (track,) = (one for one in tracks.values() if one.name == stream)
        assert tracks[track.parent_uuid].name == channel
    units = {one["unit"] for one in records if one["kind"] == "unit"}
    assert units | {one["context"] for one in records if one["kind"] == "context_begin"} <= names
    lcus = {one["arguments"]["packed_lcu_id"] for one in actions if one["action"].startswith("ENABLE_LCU")}
    shown = {name for name in names if re.fullmatch(r"cluster \d+ LCU \d+", name)}
    assert {f"cluster {lcu >> 4} LCU {lcu & 15}" for lcu in lcus} <= shown

    assert _flows(events) == _awaited(actions)


def _flows(events: list[Any]) -> list[tuple[str, int, str, int]]:
    """(starting action, when it began, waiting action, when that began) of each flow."""
    begun: dict[int, Any] = {}
    ended: dict[int, Any] = {}
    for packet in events:
        for ids, side in ((packet.track_event.flow_ids, begun), (packet.track_event.terminating_flow_ids, ended)):
            for flow in ids:
                assert flow not in side
                side[flow] = packet
    assert begun.keys() == ended.keys()
    return sorted(
        (one.track_event.name, one.timestamp, ended[flow].track_event.name, ended[flow].timestamp)
        for flow, one in begun.items()
    )


def _awaited(actions: list[dict[str, Any]]) -> list[tuple[str, int, str, int]]:
    """The same from records: each wait takes the last that started its unit, once."""
    running: dict[tuple[str, int], dict[str, Any]] = {}
    found = []
    for record in actions:
        began = record["ns"] - record.get("duration", 0)
        if record["action"] in STARTS:
            kind, argument = STARTS[record["action"]]
            running[kind, record["arguments"].get(argument, 0)] = {"action": record["action"], "ns": began}
        elif record["action"] in WAITS:
            kind, argument = WAITS[record["action"]]
            start = running.pop((kind, record["arguments"].get(argument, 0)), None)
            if start is not None:
                found.append((start["action"], start["ns"], record["action"], began))
    assert found
    return sorted(found)


def test_a_long_wait_holds_no_more_than_so_much() -> None:
    """What nobody waits for is written out all the same, whole and in order; the flow that came too late is none."""
    stream = io.BytesIO()
    sink = PerfettoSink(stream, Header("m", "4.23", "hailo8", 1, 1, 0, 200.0))

    def action(ns: int, name: str, **arguments: int) -> Event:
        return Event(ns, Kind.ACTION, 0, "dynamic_0", ns, name, arguments)

    sink.write([action(0, "TRIGGER_SEQUENCER", cluster_index=0)])
    assert b"TRIGGER_SEQUENCER" not in stream.getvalue()
    for ns in range(1, 1 << 14):
        sink.write([action(ns, "ENABLE_LCU_DEFAULT", packed_lcu_id=1)])
        assert len(sink._out) <= 2 * perfetto._MOST_HELD
    assert b"TRIGGER_SEQUENCER" in stream.getvalue()
    sink.write([action(1 << 14, "SEQUENCER_DONE_INTERRUPT", sequencer_index=0)])
    sink.write([action((1 << 14) + 1, "LCU_INTERRUPT", packed_lcu_id=1)])
    sink.close()
    events = [one for one in pb.Trace.FromString(stream.getvalue()).packet if one.HasField("track_event")]
    assert [name for name, _, _, _ in _flows(events)] == ["ENABLE_LCU_DEFAULT"]
    begun = [one for one in events if one.track_event.categories == ["action"]]
    assert [one.timestamp for one in begun] == list(range((1 << 14) + 2))


def test_counters_show_credits_and_fill(cli: Cli, tmp_path: Path) -> None:
    tracks, events = _parsed(_trace(cli, tmp_path))
    values: dict[str, list[int]] = defaultdict(list)
    for packet in events:
        event = packet.track_event
        if event.type == event.TYPE_COUNTER:
            assert tracks[event.track_uuid].HasField("counter")
            values[tracks[event.track_uuid].name].append(event.counter_value)
    # 8 transfers of 2 descriptors are queued on the output before the first input (silicon-facts.md c)
    assert values["channel 16 credits (descriptors)"][:8] == list(range(2, 17, 2))
    fills = [fill for name, fill in values.items() if name.endswith(" fill")]
    assert fills == [[4096, 0] * 4]  # written by dynamic_0, read by dynamic_1, four frames
    assert max(values["cluster 0 LCUs on"]) == 2


def test_ddr_portals_and_several_models(cli: Cli, tmp_path: Path) -> None:
    tracks, _ = _parsed(_trace(cli, tmp_path, DDR))
    assert any(track.name.endswith(" fill") for track in tracks.values())
    target = tmp_path / "two.pftrace"
    assert cli("run", TWO_CONTEXT, TWO_CONTEXT, f"--trace={target}", "--trace-format", "perfetto") == 0
    tracks, _ = _parsed(target)
    assert "dynamic_0 of application 1" in {track.name for track in tracks.values()}


def test_a_stalled_run_still_leaves_a_whole_trace(cli: Cli, tmp_path: Path) -> None:
    target = tmp_path / "stall.pftrace"
    command = ("run", TWO_CONTEXT, "--inject", "stall-channel:2", f"--trace={target}", "--trace-format", "perfetto")
    assert cli(*command) == 5
    tracks, events = _parsed(target)
    stalls = [packet for packet in events if tracks[packet.track_event.track_uuid].name == "stall"]
    assert len(stalls) == 1
    assert "channel 2" in stalls[0].track_event.debug_annotations[0].string_value


def _trace_processor() -> str | None:
    """The trace processor's program where it is installed; tests download nothing."""
    return os.environ.get("PERFETTO_TRACE_PROCESSOR") or shutil.which("trace_processor_shell")


@pytest.mark.skipif(_trace_processor() is None, reason="no trace_processor_shell here (set PERFETTO_TRACE_PROCESSOR)")
def test_the_trace_processor_loads_it(cli: Cli, tmp_path: Path) -> None:
    from perfetto.trace_processor import TraceProcessor, TraceProcessorConfig

    target = _trace(cli, tmp_path)
    with TraceProcessor(trace=str(target), config=TraceProcessorConfig(bin_path=_trace_processor())) as processor:
        counts = {
            row.name: row.count for row in processor.query("select name, count(1) count from slice group by name")
        }
        flows = next(iter(processor.query("select count(1) count from flow"))).count
        errors = list(processor.query("select name from stats where severity = 'error' and value > 0"))
    assert counts["TRIGGER_SEQUENCER"] == counts["SEQUENCER_DONE_INTERRUPT"] * 2  # on the context, on the sequencer
    assert flows > 0
    assert not errors
