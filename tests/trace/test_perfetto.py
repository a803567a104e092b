"""The Perfetto trace, read back with Perfetto's own schema, and with its trace processor where there is one."""

from __future__ import annotations

import os
import shutil
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from emu.trace.sinks.perfetto import varint
from tests.trace.helpers import DDR, TWO_CONTEXT, Cli, records_of, traced

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
    assert values["channel 16 FPS"] == [(end, round(instants[begin] * 1e9 / (end - begin))) for begin, end in pairs]
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
    waits = Counter(packet.track_event.name for packet in events)
    assert pairs["TRIGGER_SEQUENCER", "SEQUENCER_DONE_INTERRUPT"] == waits["SEQUENCER_DONE_INTERRUPT"]
    assert pairs["ENABLE_LCU_DEFAULT", "LCU_INTERRUPT"] == waits["LCU_INTERRUPT"]
    assert pairs["FETCH_CFG_CHANNEL_DESCRIPTORS", "MODULE_CONFIG_DONE_INTERRUPT"]


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
