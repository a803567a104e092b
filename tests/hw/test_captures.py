"""Every capture runs to completion from its bytes alone, or ends as its own lists imply."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from emu.errors import FirmwareError
from emu.host.session import StalledError
from emu.sequencer.program import Direction
from emu.trace.events import Event, Kind
from emu.trace.tracer import Tracer
from emu.wire.status import FirmwareStatus
from tests.conftest import SHARED, needs_shared
from tests.hw.captures import capture_files, layout_of, loaded, run_capture

pytestmark = needs_shared

FILES = capture_files() if SHARED.exists() else []
STARTS_BY_CONFIG = ("hailo15h", "hailo15m", "hailo15l", "hailo10h", "hailo12l")


def _flat(context: dict[str, Any]) -> list[tuple[str, dict[str, int]]]:
    """(name, arguments) of every action and sub-action, from the decoded form in the capture."""
    flat = []
    for action in context["actions"]:
        if action["a"] == "REPEATED":
            flat += [(action["of"], item) for item in action["items"]]
        else:
            flat.append((action["a"], action))
    return flat


def _lists_executed(group: dict[str, Any]) -> list[list[tuple[str, dict[str, int]]]]:
    """The lists in the order in which a first batch executes them (firmware-actions.md 8)."""
    contexts = group["contexts"] or group["ddr_action_list"]
    by_type = {kind: [_flat(c) for c in contexts if c["context_type"] == kind] for kind in (0, 1, 3)}
    asap = group["application_header_fields"]["preliminary_run_asap"]
    split = group["application_header_fields"].get("split_allow_input_action", 0)
    dynamic = by_type[1]
    if asap and len(dynamic) == 1:
        return by_type[3] + by_type[0]
    return by_type[3] + by_type[0] + (dynamic if not asap or split else dynamic[1:] + dynamic[:1])


def _waits_for_nothing(group: dict[str, Any], device: str) -> str | None:
    """The first action that cannot be satisfied: an LCU nobody enabled, a sequencer nobody triggered, HALT, an input
    without credits. Only sets of what came before; independent of the device model."""
    enabled: set[int] = set()
    split = group["application_header_fields"].get("split_allow_input_action", 0)
    for flat in _lists_executed(group):
        triggered: set[int] = set()
        done: set[int] = set()
        fetched = {a["stream_index"] for n, a in flat if n == "FETCH_DATA_FROM_VDMA_CHANNEL"}
        starved = not split and any(
            n in ("ACTIVATE_CACHE_INPUT", "ACTIVATE_INTER_CONTEXT_INPUT") and a["stream_index"] not in fetched
            for n, a in flat
        )
        for name, arguments in flat:
            lcu = arguments.get("packed_lcu_id")
            if name.startswith("ENABLE_LCU") or (name == "SWITCH_LCU_BATCH" and device in STARTS_BY_CONFIG):
                enabled.add(lcu)
            elif name == "DISABLE_LCU":
                enabled.discard(lcu)
            elif name == "TRIGGER_SEQUENCER":
                triggered.add(arguments["cluster_index"])
            elif name == "HALT":
                return "HALT"
            elif name == "LCU_INTERRUPT":
                if lcu not in enabled | done:
                    return name
                done.add(lcu)
            elif (
                name == "SEQUENCER_DONE_INTERRUPT"
                and device not in STARTS_BY_CONFIG
                and arguments["sequencer_index"] not in triggered
            ):
                return name
        if starved:
            return "frames"
    return None


def _clusters(group: dict[str, Any]) -> set[int]:
    found = set()
    for context in group["contexts"] or group["ddr_action_list"]:
        for name, arguments in _flat(context):
            if "packed_lcu_id" in arguments:
                found.add(arguments["packed_lcu_id"] >> 4)
            elif name == "TRIGGER_SEQUENCER":
                found.add(arguments["cluster_index"])
    return found


def _missing_lcus(group: dict[str, Any]) -> set[tuple[int, int]]:
    """LCUs that frames wait for in vain (units.md 5), read off the lists alone: one list enables and disables them
    again, or SWITCH_LCU_BATCH names them in a cluster that is triggered and no list enables them."""
    enabled, named, triggered, withdrawn = set(), set(), set(), set()
    for context in group["contexts"] or group["ddr_action_list"]:
        own = set()
        for name, arguments in _flat(context):
            lcu = arguments.get("packed_lcu_id")
            if name.startswith("ENABLE_LCU"):
                own.add(lcu)
            elif name == "DISABLE_LCU" and lcu in own:
                withdrawn.add(lcu)
            elif name == "SWITCH_LCU_BATCH":
                named.add(lcu)
            elif name == "TRIGGER_SEQUENCER":
                triggered.add(arguments["cluster_index"])
        enabled |= own
    never = {lcu for lcu in named - enabled if lcu >> 4 in triggered}
    return {(lcu >> 4, lcu & 15) for lcu in withdrawn | never}


_LCU = re.compile(r"cluster (\d+) LCU (\d+)")


def _identify(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


@pytest.mark.parametrize("path", FILES, ids=_identify)
def test_capture_runs_as_its_lists_imply(path: Path) -> None:
    document = json.loads(path.read_bytes())
    capture = loaded(path)
    layout = layout_of(capture)
    device = capture.program.device
    expected = [_waits_for_nothing(group, device) for group in document["network_groups"]]
    foreign = any(not layout >> c & 1 for group in document["network_groups"] for c in _clusters(group))
    if foreign:
        with pytest.raises(FirmwareError) as caught:
            run_capture(path)
        assert caught.value.number == FirmwareStatus.CONTEXT_SWITCH_STATUS_INVALID_CLUSTER_INDEX
    elif any(expected):
        with pytest.raises(StalledError) as stalled:
            run_capture(path)
        culprit = next(filter(None, expected))
        # frames that wait for an LCU inside may stall it before it comes there (units.md 5)
        named = {(int(c), int(i)) for one in stalled.value.stall.chain for c, i in _LCU.findall(one)}
        missing = set().union(*map(_missing_lcus, document["network_groups"]))
        assert named & missing or culprit in (stalled.value.stall.action, "frames")
        assert stalled.value.exit_code == 5
    else:
        result = run_capture(path)
        frames = capture.program.batch
        for group in result.groups:
            assert group.streams
            assert {stream.frames for stream in group.streams} == {frames}


@pytest.mark.parametrize("path", [p for p in FILES if "oracle" in str(p)], ids=_identify)
def test_real_files_deliver_the_captured_sizes(path: Path) -> None:
    """Three batches of every real file: each stream carries its captured hw_frame_size a frame."""
    document = json.loads(path.read_bytes())
    frames = 3 * document.get("batch", 1)
    sizes = {one["name"]: int(one["hw_frame_size"]) for one in document["streams"]}
    (group,) = run_capture(path, frames).groups
    assert {stream.name: stream.size for stream in group.streams} == {n: frames * s for n, s in sizes.items()}
    assert group.register_writes > 0
    assert group.opaque_bytes == group.ccw_bytes > 0  # a capture has no config bytes, only their number
    runs = {context.index: context.runs for context in group.contexts if context.context_type == "dynamic"}
    single = document["network_groups"][0]["application_header_fields"]["dynamic_contexts_count"] == 1
    assert set(runs.values()) == {1 if single else 3}
    for stream in group.streams:
        assert stream.direction in (Direction.H2D, Direction.D2H)


@pytest.mark.parametrize("name", ["mnist", "yolov6n"])
def test_silicon_contexts_run_from_their_bytes(name: str) -> None:
    result = run_capture(SHARED / "silicon" / f"{name}.json", 2)
    assert all(stream.frames == 2 for stream in result.groups[0].streams)


BATCHED = [path for path in FILES if ".batch8" in path.name]


def test_a_partial_last_batch_completes_wherever_whole_ones_do() -> None:
    """Every capture of batch 8 with 11 frames: the last three after a batch switch."""
    completed = 0
    for path in BATCHED:
        try:
            run_capture(path)
        except FirmwareError:
            continue
        for group in run_capture(path, 11).groups:
            assert {stream.frames for stream in group.streams} == {11}, path.name
        completed += 1
    assert completed > 150


@pytest.mark.parametrize(("name", "outputs"), [("mnist", 1), ("yolov6n", 9)])
def test_the_host_queues_as_on_silicon(name: str, outputs: int) -> None:
    """Eight transfers on every output before the first input, one more for each that completes (silicon-facts.md c:
    8 x 9 + 1 + 9 = 82 launches for one frame of yolov6n)."""
    launches: list[Event] = []

    class Launches:
        def write(self, events: Sequence[Event]) -> None:
            launches.extend(event for event in events if event.kind is Kind.LAUNCH)

        def close(self) -> None:
            pass

    run_capture(SHARED / "silicon" / f"{name}.json", 1, tracer_for=lambda clock: Tracer([Launches()], clock))
    assert len(launches) == 8 * outputs + 1 + outputs
    assert all("D2H" in event.unit for event in launches[: 8 * outputs])
    assert "H2D" in launches[8 * outputs].unit
