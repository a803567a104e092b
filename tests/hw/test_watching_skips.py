"""Whoever watches sees everything: what is watched is played, the rest may be added up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from emu.chips.chips import load
from emu.hef import open_hef
from emu.host.recording import Recorder
from emu.host.session import RunRequest, Session, run_program
from emu.hw.application import Context, Stamp, Step
from emu.hw.device import Device
from emu.hw.probe import Probe
from emu.hw.vdma import Channel, Edge
from emu.sequencer.compile import CompileOptions, compile_hef
from emu.trace.record import Block, Recording, RecordWriter
from emu.trace.tracer import Tracer
from emu.wire.breakpoints import Place
from emu.wire.control import ContextSwitchStatus, change_context_switch_status
from emu.wire.lists import TIMESTAMP_INIT
from tests.conftest import ROOT
from tests.hw.lists import Lists, bare_host, double, single

FRAMES = 120


def watched(make: Callable[..., Lists], watch: Callable[[Device], object], frames: int = FRAMES) -> Session:
    session = make().session(frames=frames)
    watch(session.chip)
    session.run_group(session.applications[0], leave=False)
    return session


def test_an_unwatched_run_is_skipped() -> None:
    """Or the tests below prove nothing."""
    for make in (single, double):
        assert watched(make, lambda device: None).chip.core.jumps > 0


def test_every_write_of_every_batch_is_seen() -> None:
    seen: list[int] = []
    device = watched(double, lambda d: d.probe.write_hooks.append(lambda address, data: seen.append(address))).chip
    plain = watched(double, lambda d: None).chip
    assert len(seen) == device.memory.register_writes == plain.memory.register_writes


def test_every_action_of_every_batch_is_seen() -> None:
    seen: Counter[str] = Counter()

    def hook(context: Context, step: Step) -> None:
        seen[step.type.name] += 1

    device = watched(double, lambda d: d.probe.action_hooks.append(hook)).chip
    plain = watched(double, lambda d: None).chip
    assert seen == {kind.name: count for kind, count in plain.probe.actions.counts.items()}
    assert device.probe.actions.counts == plain.probe.actions.counts


class Watcher:
    """An observer that counts frames."""

    def __init__(self) -> None:
        self.frames: Counter[int] = Counter()

    def control(self, ns: int, request: bytes, reply: bytes) -> None:
        pass

    def launch(self, channel: Channel, transfers: int) -> None:
        pass

    def transfer(self, edge: Edge, frame: int, digest: bytes) -> None:
        self.frames[edge.channel.packed] += 1


@pytest.mark.parametrize("make", [single, double])
def test_every_frame_is_seen(make: Callable[..., Lists]) -> None:
    """By an observer alone, which has asked for nothing else."""
    watcher = Watcher()
    device = watched(make, lambda d: d.probe.observers.append(watcher)).chip
    plain = watched(make, lambda d: None).chip
    assert watcher.frames == {packed: one.transfers for packed, one in plain.vdma.channels.items() if one.used}
    assert device.core.jumps == 0


def test_a_recording_has_every_write() -> None:
    records: list[dict[str, Any]] = []
    device = watched(double, lambda d: Recorder(d.inspection, records.append)).chip
    assert sum(record["kind"] == "write" for record in records) == device.memory.register_writes


def test_a_recording_that_takes_loads_whole_says_what_one_by_one_does(tmp_path: Path) -> None:
    program = compile_hef(open_hef(ROOT / "examples" / "two_context.hef"), CompileOptions())

    def recorded(watch: Callable[[Device], object]) -> None:
        run_program(program, load("hailo8"), RunRequest(frames=3, on_device=watch))

    one_by_one: list[dict[str, Any]] = []
    recorded(lambda d: Recorder(d.inspection, one_by_one.append))
    blocks: list[Block] = []
    with RecordWriter(tmp_path / "record") as writer:

        def put_block(ns: int, block: Block) -> None:
            blocks.append(block)
            writer.put_block(ns, block)

        recorded(lambda d: Recorder(d.inspection, writer.put, put_block=put_block))
        writer.finish({})
    recording = Recording.open(tmp_path / "record")
    assert list(recording.records()) == one_by_one
    assert recording.counts == Counter(record["kind"] for record in one_by_one)
    assert len(set(blocks)) < len(blocks)  # what is loaded again is put into words once


@pytest.mark.parametrize("batch", [0, 2, 3, 50, 103, 119])
def test_the_batch_that_is_to_be_stamped_is_played(batch: int) -> None:
    """Its stamps are those of a run in which every batch is played."""

    def stamps(one_by_one: bool) -> tuple[list[int], int]:
        def watch(device: Device) -> None:
            device.probe.timestamp_batch = batch
            device.probe.one_by_one = one_by_one

        device = watched(double, watch).chip
        found = [
            context.stamps.get(number, Stamp()).timestamp
            for context in device.applications[0].dynamic
            for number in range(len(context.actions.entries))
        ]
        return found, device.core.jumps

    skipped, jumps = stamps(False)
    played, none = stamps(True)
    assert jumps > 0 == none
    assert skipped == played and TIMESTAMP_INIT not in skipped


def test_a_breakpoint_in_a_late_batch_is_reached() -> None:
    session = double().session(frames=FRAMES)
    device, host = session.chip, bare_host(session)
    device.probe.breakpoints.places[0] = Place(0, 80, None, None)
    device.control(change_context_switch_status(ContextSwitchStatus.ENABLED, 0))
    host.queue_outputs()
    host.feed(FRAMES)
    assert not device.run_until(lambda: host.done)
    assert device.probe.breakpoints.reached == 0 and device.firmware.batch_index == 80


def test_skippable_is_the_one_question() -> None:
    """Each kind of watcher alone keeps frames and batches from being added up."""
    kinds: dict[str, Callable[[Probe], object]] = {
        "tracer": lambda probe: setattr(probe, "tracer", Tracer([], lambda: 0)),
        "observer": lambda probe: probe.observers.append(Watcher()),
        "action hook": lambda probe: probe.action_hooks.append(lambda context, step: None),
        "context hook": lambda probe: probe.context_hooks.append(lambda name: None),
        "write hook": lambda probe: probe.write_hooks.append(lambda address, data: None),
        "read hook": lambda probe: probe.read_hooks.append(lambda address, size: None),
        "breakpoint": lambda probe: probe.breakpoints.places.update({0: Place(0, 0, 0, 0)}),
        "one by one": lambda probe: setattr(probe, "one_by_one", True),
    }
    for name, watch in kinds.items():
        probe = Probe()
        assert probe.skippable(10) == probe.skippable(10, 5) == 10
        watch(probe)
        assert probe.skippable(10) == probe.skippable(10, 5) == 0, name
        # what a trace knows of rounds that are not played, it is told
        assert probe.skippable(10, told=True) == (10 if name == "tracer" else 0), name
    stamped = Probe(timestamp_batch=8)
    assert [stamped.skippable(10, batch) for batch in (0, 5, 7, 8, 9)] == [8, 3, 1, 0, 10]
    assert stamped.skippable(10) == 10


def test_a_run_that_nobody_watches_is_as_long_as_one_that_somebody_does() -> None:
    program = double().program()
    plain = run_program(program, load("hailo8"), RunRequest(frames=FRAMES))
    seen = run_program(
        program,
        load("hailo8"),
        RunRequest(frames=FRAMES, on_device=lambda device: device.probe.write_hooks.append(lambda address, data: None)),
    )
    assert plain.groups == seen.groups
