"""The clock of the simulated device against what was measured on a real Hailo-8L (gen2 x1)."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from itertools import pairwise

import pytest

from emu.chips import chips
from emu.host.capture import load_capture
from emu.host.session import RunRequest, RunResult, run_program
from emu.hw.device import Device
from emu.hw.hostmem import HostMemory
from emu.timing.workload import program_timings
from emu.trace.events import Event, Kind
from emu.trace.tracer import Tracer
from tests.conftest import SHARED, needs_shared

pytestmark = needs_shared

LINK = "gen2x1"
TRACED = {"mnist": "doorbell_to_irq_ftrace_mnist_full", "yolov6n": "doorbell_to_irq_yolov6n"}
STATUS, ENABLED = 37, 1
NAMES = {
    0: "IDENTIFY",
    51: "GET_DEVICE_INFORMATION",
    71: "CLEAR_CONFIGURED_APPS",
    72: "GET_HW_CONSTS",
    32: "SET_NETWORK_GROUP_HEADER",
}


class Recorder:
    """A sink that keeps events."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def write(self, events: Sequence[Event]) -> None:
        self.events += events

    def close(self) -> None:
        """Nothing to close."""


def kind_of(request: bytes, seen: set[str], active: bool) -> str:
    """The name under which control_timing.json lists a request."""
    opcode = int.from_bytes(request[12:16], "big")
    if opcode == STATUS:
        if request[24] == ENABLED:
            return "ENABLE"
        return "RESET(active)" if active else "RESET(idle)"
    if opcode == 33:
        return f"SET_CONTEXT_INFO/{len(request)}"
    name = NAMES[opcode]
    return f"{name}(first)" if name == "GET_DEVICE_INFORMATION" and name not in seen else name


@pytest.mark.parametrize("network", ["mnist", "yolov6n"])
def test_every_control_message_takes_what_it_took(network: str) -> None:
    """Each request of a captured run, sent to the device in its order: within 15 % of the measured median."""
    captured = json.loads((SHARED / "silicon" / f"{network}.json").read_bytes())
    measured = json.loads((SHARED / "silicon" / "control_timing.json").read_bytes())[TRACED[network]]
    capture = load_capture(SHARED / "silicon" / f"{network}.json")
    profile = chips.load("hailo8l", link=LINK)
    device = Device(profile, "4.23", HostMemory.from_program(capture.program), layout=capture.layout)
    seen: set[str] = set()
    active = False
    checked: set[str] = set()
    for message in captured["controls"]:
        if message["direction"] != "request":
            continue
        request = bytes.fromhex(message["hex"])
        kind = kind_of(request, seen, active)
        before = device.clock.time
        device.control(request)
        took_us = (device.clock.time - before) / 1000
        assert took_us == pytest.approx(statistics.median(measured[kind]), rel=0.15), kind
        seen.add(kind.split("(")[0])
        checked.add(kind)
        if kind == "ENABLE":
            active = True
            device.run_until(lambda: False)
        elif kind.startswith("RESET"):
            active = False
    assert checked == set(measured) - {"driver_shutdown"}


def run(network: str, compute_time_ns: float) -> tuple[RunResult, list[Event]]:
    capture = load_capture(SHARED / "silicon" / f"{network}.json")
    profile = chips.load("hailo8l", link=LINK)
    recorder = Recorder()
    request = RunRequest(
        frames=1,
        timings=program_timings(capture.program, profile, compute_time_ns),
        layout=capture.layout,
        tracer_for=lambda now: Tracer([recorder], now),
    )
    return run_program(capture.program, profile, request), recorder.events


def frame_times(events: list[Event]) -> list[int]:
    """When the frames passed, inputs first."""
    return [event.ns for event in events if event.kind is Kind.TRANSFER and event.frame >= 0]


def test_yolov6n_around_its_measured_compute_time() -> None:
    """silicon-facts.md c: input done after 2.938 ms, last output after 7.164 ms; compute is the rest."""
    result, events = run("yolov6n", 7_164_000 - 2_938_000)
    group = result.groups[0]
    times = frame_times(events)
    launched = max(times) - group.latency_ns
    assert min(times) - launched == pytest.approx(2_938_000, rel=0.05)
    assert group.latency_ns == pytest.approx(7_164_000, rel=0.05)


# silicon-facts.md c: instants in us after the write of num_available, by channel
YOLOV6N = {16: 5993, 17: 6109, 18: 6124, 22: 6124, 21: 6151, 24: 6229, 20: 7078, 23: 7078, 19: 7164}
HEADS = [{16, 17, 18}, {21, 22, 24}, {19, 20, 23}]  # 80x80, 40x40, 20x20


def instants(network: str, compute_time_ns: float) -> dict[int, float]:
    """By channel, us from the launch of the input until its transfer is done."""
    result, events = run(network, compute_time_ns)
    done = {int(e.unit.split()[1]): e.ns for e in events if e.kind is Kind.TRANSFER and e.frame >= 0}
    launched = max(done.values()) - result.groups[0].latency_ns
    return {channel: (ns - launched) / 1000 for channel, ns in done.items()}


def test_yolov6n_input_takes_what_the_link_takes() -> None:
    """The rate is what PCI Express leaves of 500 MB/s, the fixed part that of mnist: nothing was fitted to this one."""
    assert instants("yolov6n", 0.0)[2] == pytest.approx(2_938, rel=0.05)


def test_yolov6n_outputs_come_head_by_head() -> None:
    """The first output's instant is an input: the compute time is chosen so that it comes then. Eight are not."""
    low, high = 2_000_000.0, 6_000_000.0
    for _ in range(20):
        compute = (low + high) / 2
        first = min(ns for channel, ns in instants("yolov6n", compute).items() if channel != 2)
        low, high = (compute, high) if first < YOLOV6N[16] else (low, compute)
    found = instants("yolov6n", compute)
    assert found[16] == pytest.approx(YOLOV6N[16], rel=0.001)
    for channel, us in YOLOV6N.items():
        assert found[channel] == pytest.approx(us, rel=0.1), channel
    for earlier, later in pairwise(HEADS):
        assert max(found[channel] for channel in earlier) < min(found[channel] for channel in later)


def test_yolov6n_cannot_be_ready_before_its_weights_are_fetched() -> None:
    """3.3 MB at 418 MB/s take 8 ms, and the host waited 46 ms before it sent the input (silicon-facts.md b, c)."""
    result, _ = run("yolov6n", 0.0)
    assert 7_900_000 < result.groups[0].activation_ns < 46_000_000


def test_mnist_around_its_measured_compute_time() -> None:
    """silicon-facts.md c: 8-10 us from num_avail to the input done, 22-25 us to the output."""
    result, events = run("mnist", 23_500 - 9_000 - 6_000)
    times = frame_times(events)
    launched = max(times) - result.groups[0].latency_ns
    assert 7_000 <= min(times) - launched <= 10_000
    assert 21_000 <= result.groups[0].latency_ns <= 26_000
    assert result.groups[0].activation_ns < 8_900_000
