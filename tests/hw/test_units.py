"""Units own their state: resets, skipping, checkpoints and coverage walk them and miss none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from emu.chips.chips import load
from emu.host.coverage import Coverage
from emu.host.session import RunRequest, Session, open_for
from emu.hw.device import Device
from emu.hw.hostmem import HostMemory
from emu.hw.unit import Unit, walk
from emu.wire.control import ContextSwitchStatus, Opcode, change_context_switch_status, encode_request
from tests.conftest import SHARED, needs_shared
from tests.hw.captures import layout_of, loaded
from tests.hw.lists import DDR_IN, DDR_OUT, Lists, act, close, double, single, with_ddr, without


def double_with_ddr(**settings: Any) -> Lists:
    """Two contexts, the first with a DDR portal that is closed at its end."""
    lists = double(**settings)
    lists.dynamic[0][0:0] = with_ddr().dynamic[0][:4]
    lists.batch_switching = without(lists.batch_switching, "DDR_BUFFERING_RESET")
    for channel, direction in ((DDR_OUT, 2), (DDR_IN, 1)):
        lists.dynamic[0].append(close("DEACTIVATE_VDMA_CHANNEL", channel, direction, initial_credit_size=65536))
    return lists


MAKES = [single, double, with_ddr, double_with_ddr]
CAPTURES = [
    "oracle/4.23/mnist_cnn.v0.hailo8.batch8.json",
    "oracle/4.23/fast_depth_ddr.v1.hailo8.json",
    "oracle/4.23/yolov8n_320_nms.v2.hailo8.json",
    "oracle/5.2/face_landmarks_lite_2ctx.v3.hailo1xh.on-hailo15h.json",
    "synth/capture/4.23/mc3_io.batch8.json",
    "synth/capture/4.23/ddr_mc_c.json",
    "synth/capture/4.23/net2_a.json",
    "synth/capture/4.23/onms_h8_burst.json",
]


def described(device: Device) -> list[tuple[object, ...]]:
    """Name, state, counters and every number of every unit, whether it says so or not."""
    now = device.firmware.now
    return [(unit.name, unit.state(now), dict(unit.counters()), numbers(unit)) for unit in walk(device)]


def numbers(unit: Unit) -> dict[str, int | float]:
    names = [name for kind in type(unit).__mro__ for name in getattr(kind, "__slots__", ())] + list(vars_of(unit))
    found = {name: getattr(unit, name, None) for name in names if name != "jumps"}
    return {name: value for name, value in found.items() if isinstance(value, int | float)}


def vars_of(unit: Unit) -> dict[str, object]:
    return getattr(unit, "__dict__", {})


def compare(program: Any, frames: int, layout: int | None = None) -> None:
    devices = []
    for may_jump in (False, True):
        request = RunRequest(frames=frames, layout=layout, may_jump=may_jump)
        session = Session(open_for(program, load(program.device), request), program, request)
        session.configure()
        for application in session.applications:
            session.run_group(application, leave=False)
        devices.append(session.chip)
    played, skipped = devices
    assert played.core.jumps == 0 < skipped.core.jumps
    for left, right in zip(described(played), described(skipped), strict=True):
        assert left == right
    assert Coverage.of(played.inspection) == Coverage.of(skipped.inspection)


@pytest.mark.parametrize("make", MAKES)
@pytest.mark.parametrize(("batch", "frames"), [(1, 300), (4, 403)])
def test_what_is_skipped_counts_as_what_is_played(make: Callable[..., Lists], batch: int, frames: int) -> None:
    """In every counter and the whole state of every unit, firmware and contexts included."""
    compare(make(batch=batch).program(), frames)


@needs_shared
@pytest.mark.parametrize("name", CAPTURES, ids=[Path(name).stem for name in CAPTURES])
def test_what_is_skipped_counts_as_what_is_played_in_captures(name: str) -> None:
    capture = loaded(SHARED / name)
    compare(capture.program, 331, layout_of(capture))


def everything() -> Lists:
    """Two contexts that use units of every kind."""
    lists = double()
    lists.preliminary.append(act("ENABLE_NMS", number_of_classes=3, burst_size=8))
    lists.preliminary.append(act("WRITE_DATA_BY_TYPE", address=0x00200684, data=5, mask=0xFFFFFFFF))
    return lists


@pytest.mark.parametrize("make", [*MAKES, everything])
def test_a_reset_leaves_every_unit_as_it_was_made(make: Callable[..., Lists]) -> None:
    """After RESET all but what outlives applications; after a reset of the chip all of it."""
    program = make().program()
    fresh = Device(load("hailo8"), "4.23", HostMemory.from_program(program))
    session = make().session(frames=5)
    device = session.chip
    session.run_group(session.applications[0], leave=False)

    def as_made(whole_chip: bool) -> list[str]:
        # units that are made when they are first named are made in the fresh one too
        for packed in device.vdma.channels:
            fresh.vdma.channel(packed)
        for cluster in device.clusters.clusters.values():
            for index in cluster.lcus:
                fresh.clusters.clusters[cluster.index].lcu(index)
        for index in device.nms.units:
            fresh.nms.enable(index, 0, 1, 1, 1)
        fresh.nms.reset()
        for unit in fresh.nms.parts():
            unit.reset()
        pairs = zip(device.units(), fresh.units(), strict=True)
        return [
            ours.name
            for ours, made in pairs
            if (whole_chip or not ours.OUTLIVES_APPLICATIONS)
            and ours.state(device.firmware.now) != made.state(fresh.firmware.now)
        ]

    assert as_made(False), "nothing was configured"
    device.control(change_context_switch_status(ContextSwitchStatus.RESET))
    assert as_made(False) == []
    assert "memory" in as_made(True)
    device.control(encode_request(Opcode.RESET, (b"\1",)))
    assert as_made(True) == []


def test_every_unit_says_its_state_in_stable_words() -> None:
    """A repr that names an address would make every checkpoint differ."""
    session = everything().session(frames=3)
    session.run_group(session.applications[0], leave=False)
    for unit in walk(session.chip):
        text = repr((unit.state(0), unit.levels(), dict(unit.counters())))
        assert " at 0x" not in text, f"{unit.name}: {text}"


def test_units_have_names_of_their_own() -> None:
    session = everything().session(frames=3)
    session.run_group(session.applications[0], leave=False)
    names = [unit.name for unit in walk(session.chip)]
    assert len(names) == len(set(names))
    assert {"cluster 0 LCU 1", "cluster 0 sequencer", "cluster 7", "NMS unit 0", "engine 0"} <= set(names)


def test_coverage_counts_the_units_in_use() -> None:
    session = everything().session(frames=3)
    session.run_group(session.applications[0], leave=False)
    counted = Coverage.of(session.device.inspection).units
    # LCU 0 and 1, the sequencer of cluster 0, one NMS unit; two boundary channels and two of the inter-context edge
    assert counted == {"LCU": 2, "sequencer": 1, "NMS": 1, "channel": 4}


class Lamp(Unit):
    """A unit from outside: nothing else has to know of it."""

    name = "lamp"
    COUNTERS = ("blinks",)

    def __init__(self) -> None:
        self.blinks = 0
        self.lit = True

    def reset(self) -> None:
        self.lit = False


def test_a_new_unit_is_reset_and_counted_without_being_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    session = double().session(frames=300)
    device, lamp = session.chip, Lamp()
    core = device.core
    monkeypatch.setattr(type(core), "parts", lambda self: (lamp,))
    started = type(device.clusters).start_context

    def blinking(self: Any) -> None:
        lamp.blinks += 1
        started(self)

    monkeypatch.setattr(type(device.clusters), "start_context", blinking)
    session.run_group(session.applications[0], leave=False)
    assert core.jumps > 0
    # activation and preliminary once, both contexts for each of 300 frames, and the one that waits for a frame more
    assert lamp.blinks == 2 + 2 * 300 + 1
    device.control(change_context_switch_status(ContextSwitchStatus.RESET))
    assert not lamp.lit
