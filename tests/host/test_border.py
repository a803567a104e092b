"""The host reaches the chip through `emu.hw.border.ChipPort` alone; a card's is its registers (test_pcie.py)."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest

from emu.chips.chips import load
from emu.errors import FirmwareError
from emu.host import device as open_devices
from emu.host.device import OpenDevice, open_device
from emu.host.driver import Driver
from emu.host.streams import MINIMAL_INPUT_QUEUE_DEPTH, OUTPUT_QUEUE_DEPTH, Host
from emu.hw.border import ChipPort, CoreModel, HostPort, Model, StreamLabel
from emu.hw.clock import Clock
from emu.hw.device import Device
from emu.hw.hostmem import HostList, HostMemory
from emu.hw.inspection import Inspection
from emu.hw.notifications import RunTimeError
from emu.hw.unit import Unit
from emu.sequencer.program import BoundaryStream, Direction, Program
from emu.wire.control import ContextSwitchStatus, change_context_switch_status
from tests.conftest import ROOT, RUNTIMES
from tests.hw.lists import act, single

HOST = sorted((ROOT / "emu" / "host").rglob("*.py"))
# what both sides speak of: contents, channels, actions, what is asked of the device
SPOKEN_OF = {"application", "border", "controls", "faults", "inspection", "memory", "notifications", "payload", "unit"}
SPOKEN_OF |= {"clock", "hostmem", "pcie", "probe", "vdma"}  # of pcie: what is declared; of probe: what an access is
READ_ALONE = {"config.starts", "config.addresses", "handlers.own"}  # what configuration, addresses and handlers say
MAKES_THE_CHIP = {"device.py", "session.py"}  # the one that makes it, the one that hands it on to whoever looks further

PAGE = 512


class Port:
    """What `ChipPort` names and nothing else; channel 1 is an input, 16 an output with two transfers a frame."""

    def __init__(self, lengths: dict[int, int]) -> None:
        self.clock = Clock()
        lists = {packed: HostList(packed, length, PAGE, True) for packed, length in lengths.items()}
        self.host_memory = HostMemory(lists)
        self.launched: list[int] = []
        self.available = dict.fromkeys(lengths, 0)
        self.processed = dict.fromkeys(lengths, 0)

    error: RunTimeError | None = None
    failed = resting = awaits_cache_update = False
    refusal = ""

    def map_memory(self, program: Program) -> None:
        raise AssertionError("streams map no memory")

    unmap_memory = map_memory

    def name_streams(self, application: int, labels: Mapping[int, StreamLabel]) -> None:
        raise AssertionError("streams name nothing")

    def compute_with(self, application: int, model: Model | None, core: CoreModel | None = None) -> None:
        raise AssertionError("streams compute nothing")

    def attach_host(self, host: HostPort, first_frame: int = 0) -> None:
        raise AssertionError("streams attach nobody")

    def control(self, request: bytes) -> bytes:
        raise AssertionError("streams send no control messages")

    def launch(self, packed: int, num_available: int) -> None:
        self.launched.append(packed)
        self.available[packed] = num_available

    def num_processed(self, packed: int) -> int:
        return self.processed[packed]

    def run_until(self, stop: Callable[[], bool]) -> bool:
        raise AssertionError("streams let no time pass")


def stream(packed: int, direction: Direction, per_frame: int = 1) -> Any:
    class Stream:
        name = str(packed)
        packed_vdma_channel_id = dma_address = packed
        transfer_size = PAGE
        transfers_per_frame = per_frame

    Stream.direction = direction  # type: ignore[attr-defined]
    return Stream()


@pytest.mark.parametrize(("length", "inputs"), [(1, 1), (2, 1), (4, 3), (128, MINIMAL_INPUT_QUEUE_DEPTH)])
def test_streams_need_a_port_alone(length: int, inputs: int) -> None:
    """One descriptor of a list stays free, unless the list is one transfer long."""
    port = Port({1: length, 16: 128})
    chip: ChipPort = port
    streams: list[BoundaryStream] = [stream(1, Direction.H2D), stream(16, Direction.D2H, 2)]
    host = Host(chip, streams, 1, lambda name, frame: None)
    host.feed(50)
    assert port.launched == [16] * OUTPUT_QUEUE_DEPTH + [1] * inputs
    assert port.available == {1: inputs % length, 16: OUTPUT_QUEUE_DEPTH}
    # every input that is taken makes room for one more
    for taken in range(1, inputs + 1):
        port.processed[1] = taken % length
        host.interrupt(1, (0,))
    assert port.launched[OUTPUT_QUEUE_DEPTH + inputs :] == [1] * inputs


def test_one_interrupt_tells_of_all_that_num_processed_implies() -> None:
    port = Port({1: 128, 16: 128})
    host = Host(port, [stream(1, Direction.H2D), stream(16, Direction.D2H)], 1, lambda name, frame: None)
    host.feed(50)
    port.processed[1], port.processed[16] = 3, 2
    host.interrupt(1, (5, 6, 7))
    port.clock.run_to(9)
    host.interrupt(16, (4, 5, 6, 8))
    assert (host.inputs[1].done, host.outputs[16].done, host.outputs[16].last_ns) == (3, 2, 9)
    assert (host.outputs[16].written_ns, host.outputs[16].first_ns) == (4, 9)
    host.interrupt(16, ())
    assert host.outputs[16].done == 2


def _public(kind: type) -> set[str]:
    """What a protocol names, and those that it is made of."""
    return {name for base in kind.__mro__ for name in vars(base) if not name.startswith("_")}


class Narrow:
    """A chip of which only what `kind` names can be reached."""

    def __init__(self, chip: Any, kind: type) -> None:
        self._chip = chip
        self._names = _public(kind)

    def __getattr__(self, name: str) -> Any:
        if name not in self._names:
            raise AssertionError(f"the host reaches for {name}")
        return getattr(self._chip, name)

    def __setattr__(self, name: str, value: Any) -> None:
        assert name.startswith("_"), f"the host sets {name}"
        super().__setattr__(name, value)


def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    def driver(chip: Any, inspection: Any) -> Driver:
        ports: tuple[Any, Any] = Narrow(chip, ChipPort), Narrow(inspection, Inspection)
        return Driver(*ports)

    monkeypatch.setattr(open_devices, "Driver", driver)


def _frames(device: OpenDevice, hefs: Iterable[str]) -> list[dict[str, Any]]:
    applications = [device.configure(str(ROOT / "examples" / hef)) for hef in hefs]
    found = []
    for round_ in range(2):
        for application in applications:
            rows = {name: bytes([round_]) * size for name, size in application.input_streams.items()}
            found.append(application.submit_raw(rows).wait())
    applications[0].release()
    return found


def test_a_device_works_through_the_port_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two applications, their switches, a release: the same bytes at the same instants as on the open chip."""
    hefs = ("two_context.hef", "digits.hef")
    with open_device() as device:
        expected, ns = _frames(device, hefs), device.now_ns
    narrow(monkeypatch)
    with open_device() as device:
        assert _frames(device, hefs) == expected
        assert device.now_ns == ns


def _stalls() -> None:
    with open_device(faults=["stall-channel:16"]) as device:
        _frames(device, ["two_context.hef"])


def _is_refused() -> None:
    """An LCU that there is not, named by the activation list: ENABLE itself is refused."""
    lists = single()
    lists.activation.insert(0, act("DISABLE_LCU", packed_lcu_id=0xFF))
    lists.run(1)


def _fails_later() -> None:
    lists = single()
    lists.dynamic[0].insert(0, act("DISABLE_LCU", packed_lcu_id=0xFF))
    lists.run(1)


@pytest.mark.parametrize("fails", [_stalls, _is_refused, _fails_later])
def test_what_goes_wrong_comes_through_the_port_alone(
    monkeypatch: pytest.MonkeyPatch, fails: Callable[[], None]
) -> None:
    with pytest.raises(FirmwareError) as expected:
        fails()
    assert expected.value.where["action"]
    narrow(monkeypatch)
    with pytest.raises(FirmwareError) as found:
        fails()
    assert found.value.line() == expected.value.line() and found.value.where == expected.value.where


def test_a_refused_message_says_why_through_the_port_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    narrow(monkeypatch)
    with open_device() as device:
        device.configure(str(ROOT / "examples" / "digits.hef"))
        with pytest.raises(FirmwareError, match="application 07 of 1"):
            device.send(change_context_switch_status(ContextSwitchStatus.ENABLED, 7))


@pytest.mark.parametrize("path", HOST, ids=lambda path: path.name)
def test_the_host_names_no_part_of_the_chip(path: Any) -> None:
    """Neither by import nor by attribute."""
    units = {name for name, value in vars(Device(load("hailo8"), RUNTIMES[0])).items() if isinstance(value, Unit)}
    parts = units - {"burst", "cache", "clusters", "config"}  # words of the host too: the runs above hold them
    assert {"core", "vdma", "firmware", "memory", "logic"} <= parts
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute):
            assert node.attr not in parts, f"{path.name}:{node.lineno} reaches for {node.attr}"
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for name in (name.removeprefix("emu.hw.") for name in names if name.startswith("emu.hw")):
            if name == "config.starts":
                continue  # how long the programs of a file take, read from the file
            allowed = SPOKEN_OF | ({"device"} if path.name in MAKES_THE_CHIP else set())
            assert name in READ_ALONE or name.split(".")[0] in allowed, (
                f"{path.name}:{node.lineno} imports emu.hw.{name}"
            )
