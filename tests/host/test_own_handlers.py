"""Handlers from outside (docs/hacking.md): they replace, wrap or add what an action does."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import emu
from emu.chips.chips import load
from emu.cli.main import main
from emu.errors import EmuError, FirmwareError, UsageError
from emu.host.device import OpenDevice
from emu.host.modules import load_handlers
from emu.host.session import RunRequest, run_program
from emu.hw.execution import Execution
from emu.hw.handlers import HANDLERS, Handler
from emu.hw.waits import Wait, at
from emu.trace.events import Header
from emu.trace.sinks.jsonl import JsonlSink
from emu.trace.sinks.text import TextSink
from emu.trace.tracer import Tracer
from emu.wire.actions import (
    ACTIONS,
    U16,
    U32,
    Action,
    ActionType,
    EnableLcuDefault,
    Role,
    own_type,
    remove_own,
)
from emu.wire.lists import Repeated
from emu.wire.status import FirmwareStatus as S
from emu.wire.status import FirmwareStopError
from emu.wire.wire import wire_of
from tests.conftest import ROOT
from tests.hw.lists import Lists, single

EXAMPLE = str(ROOT / "examples" / "two_context.hef")


def frames(device: OpenDevice, source: Any, count: int = 3) -> None:
    application = device.configure(source)
    row = {name: bytes(size) for name, size in application.input_streams.items()}
    jobs = [application.submit_raw(row) for _ in range(count)]
    jobs[-1].wait()


def test_a_handler_takes_the_place_of_the_firmwares() -> None:
    seen: list[Action] = []

    def nothing(fw: Execution, action: EnableLcuDefault, inner: Handler) -> None:
        seen.append(action)

    with emu.open_device("hailo8", handlers={"ENABLE_LCU_DEFAULT": nothing}) as device:
        lists = single()
        application = device.configure(lists.program())
        application.submit_raw({name: bytes(size) for name, size in application.input_streams.items()}).wait()
        assert seen == [EnableLcuDefault(0, 0)]
        # cluster 0 LCU 0 was not enabled, LCU 1 was, by another action
        assert [(one.cluster, one.index) for one in device.inspection.lcus() if one.enabled] == [(0, 1)]


def test_a_name_may_stand_for_several_actions() -> None:
    seen: list[ActionType] = []

    def counted(fw: Execution, action: Any, inner: Handler) -> Wait | None:
        seen.append(action.type)
        return inner(fw, action)

    with emu.open_device("hailo8", handlers={"ENABLE_LCU": counted}) as device:
        frames(device, EXAMPLE)
    plain = {"ENABLE_LCU_DEFAULT", "ENABLE_LCU_NON_DEFAULT"}
    assert seen and {one.name for one in seen} <= plain


def test_a_handler_sees_every_action_of_every_batch() -> None:
    """Steady batches and frames are not advanced in one step past it."""
    count = 0

    def counted(fw: Execution, action: Any, inner: Handler) -> Wait | None:
        nonlocal count
        count += 1
        return inner(fw, action)

    with emu.open_device("hailo8", handlers={"CHANGE_VDMA_TO_STREAM_MAPPING": counted}) as device:
        frames(device, EXAMPLE, 60)
        executed = device.inspection.probe.actions.counts
        assert count == executed[ActionType.CHANGE_VDMA_TO_STREAM_MAPPING] >= 60


def test_a_handler_that_wraps_changes_times_and_nothing_else() -> None:
    def slow(fw: Execution, action: Any, inner: Handler) -> Wait | None:
        assert inner is HANDLERS[action.type]
        inner(fw, action)
        return at(fw.now + 1_000_000, "a slow start", "timer")

    plain = emu.run(EXAMPLE, frames=2, keep_outputs=True)
    other = emu.run(EXAMPLE, frames=2, keep_outputs=True, handlers={"ENABLE_LCU": slow})
    for name, array in plain.outputs.items():
        assert (other.outputs[name] == array).all()
    assert other.network_groups[0].simulated_ns - plain.network_groups[0].simulated_ns >= 1_000_000


def test_a_handler_like_the_firmwares_own_takes_two() -> None:
    seen: list[Action] = []

    def quiet(fw: Execution, action: Any) -> None:
        seen.append(action)

    class Counted:
        count = 0

        def __call__(self, fw: Execution, action: Any, inner: Handler | None = None) -> Wait | None:
            Counted.count += 1
            assert inner is not None
            return inner(fw, action)

    handlers = {"SWITCH_LCU_BATCH": quiet, "DISABLE_LCU": quiet, "ENABLE_LCU_NON_DEFAULT": Counted()}
    with emu.open_device("hailo8", handlers=handlers) as device:
        frames(device, single().program())
    assert [one.type.name for one in seen] == ["DISABLE_LCU"] and Counted.count == 1


def test_a_status_of_its_own_stops_the_application() -> None:
    def refuse(fw: Execution, action: Any, inner: Handler) -> None:
        raise FirmwareStopError(S.CONTEXT_SWITCH_STATUS_INVALID_CLUSTER_INDEX, "no such thing here")

    with emu.open_device("hailo8", handlers={"DISABLE_LCU": refuse}) as device, pytest.raises(FirmwareError) as stopped:
        frames(device, single().program())
    assert stopped.value.number == S.CONTEXT_SWITCH_STATUS_INVALID_CLUSTER_INDEX


def test_what_a_handler_raises_is_an_error_that_names_it() -> None:
    def broken(fw: Execution, action: Any, inner: Handler) -> None:
        raise KeyError("x")

    def wrong(fw: Execution, action: Any, inner: Handler) -> Any:
        return 7

    for handler, what in ((broken, "raised KeyError: 'x'"), (wrong, "gave a int, no Wait")):
        with emu.open_device("hailo8", handlers={"DISABLE_LCU": handler}) as device:
            with pytest.raises(EmuError, match=what) as found:
                frames(device, single().program())
            assert "DISABLE_LCU" in found.value.message
            device.abandon()


def some(fw: Execution, action: Any, inner: Handler) -> None: ...


@pytest.mark.parametrize(
    ("handlers", "why"),
    [
        ({"ENABLE_LCUS": some}, "no action is called 'ENABLE_LCUS'"),
        ({"enable_lcu": some}, "no action is called"),
        ({7: some}, "no action is called 7"),
        ({Action: some}, "no action"),
        ({int: some}, "no action is called int"),
        ({"HALT": None}, "cannot be called"),
        ({"ENABLE_LCU": some, "ENABLE_LCU_DEFAULT": some}, "ENABLE_LCU_DEFAULT has two handlers"),
        ([some], "a mapping"),
    ],
)
def test_handlers_that_are_none(handlers: Any, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        emu.open_device("hailo8", handlers=handlers)


# -- actions that the firmware has not


@pytest.fixture
def blink() -> Iterator[type[Action]]:
    class Blink(Action, type=own_type(45, "BLINK"), role=Role.BARRIER, repeatable=True, starts=None, waits_for=None):
        """Write a register, so many times."""

        address: int = U32
        count: int = U16

    yield Blink
    if Blink.type in ACTIONS:
        remove_own(Blink)


def write(fw: Execution, action: Any, inner: Handler) -> None:
    fw.device.memory.write_word(action.address, action.count)


def lists_with(made: type[Action]) -> Lists:
    lists = single()
    lists.preliminary += [made(0x128001DC, 7), Repeated(made.type, (made(0x128001E0, 8), made(0x128001E4, 9)))]
    return lists


def test_an_action_that_is_added(blink: type[Action]) -> None:
    assert wire_of("4.23").payloads[blink.type].size == 6 and blink.type.name == "BLINK"
    with emu.open_device("hailo8", handlers={blink: write}) as device:
        frames(device, lists_with(blink).program())
        words = [device.inspection.peek(address) for address in (0x128001DC, 0x128001E0, 0x128001E4)]
        assert words == [7, 8, 9]
        assert device.inspection.probe.actions.counts[blink.type] == 3


def test_its_traces(blink: type[Action], tmp_path: Path) -> None:
    """Every sink can show it, and a recording keeps what it does."""
    program = lists_with(blink).program()
    header = Header("x", "4.23", "hailo8", 1, 1, 0, 200.0)
    with (tmp_path / "t").open("wb") as plain, (tmp_path / "text").open("w") as text:
        sinks = [JsonlSink(plain, header), TextSink(text, header)]
        request = RunRequest(
            frames=1, handlers={blink: write}, measure_actions=True, tracer_for=lambda clock: Tracer(sinks, clock)
        )
        result = run_program(program, load("hailo8"), request)
    shown = [json.loads(line) for line in (tmp_path / "t").read_text().splitlines()]
    found = [one for one in shown if one.get("action") == "BLINK"]
    assert len(found) == 3 and found[0]["arguments"] == {"address": 0x128001DC, "count": 7}
    assert "BLINK" in (tmp_path / "text").read_text()
    assert result.groups[0].contexts[2].actions["BLINK"] == 3


def test_nobody_serves_it(blink: type[Action]) -> None:
    """As the firmware answers a number that it does not know (silicon-facts.md d)."""
    for handlers in ({}, {"HALT": some}):
        with emu.open_device("hailo8", handlers=handlers) as device, pytest.raises(FirmwareError) as refused:
            frames(device, lists_with(blink).program())
        assert refused.value.number == 0x40130018


def test_its_firmware_handler_is_that_of_an_unknown_action(blink: type[Action]) -> None:
    def passed_on(fw: Execution, action: Any, inner: Handler) -> Wait | None:
        return inner(fw, action)

    with emu.open_device("hailo8", handlers={blink: passed_on}) as device, pytest.raises(FirmwareError) as refused:
        frames(device, lists_with(blink).program())
    assert refused.value.number == 0x40130018


def test_it_is_gone_when_it_is_removed(blink: type[Action]) -> None:
    remove_own(blink)
    assert 45 not in wire_of("4.23").payloads
    with pytest.raises(KeyError):
        remove_own(EnableLcuDefault)


@pytest.mark.parametrize(
    ("number", "name"), [(44, "NEW"), (60, "HALT"), (256, "NEW"), (-1, "NEW"), (60, "A B"), (24, "X")]
)
def test_types_that_cannot_be(number: int, name: str) -> None:
    with pytest.raises(UsageError):
        own_type(number, name)


# -- from the command line

MODULE = """
from emu.wire.status import FirmwareStatus, FirmwareStopError

seen = []


def disable(fw, action, inner):
    seen.append(action)
    if STOPS:
        raise FirmwareStopError(FirmwareStatus.CONTEXT_SWITCH_STATUS_INVALID_CLUSTER_INDEX, "not today")
    return inner(fw, action)


HANDLERS = {"DISABLE_LCU": disable}
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name, stops in (("own_one", False), ("own_stops", True)):
        (tmp_path / f"{name}.py").write_text(MODULE.replace("STOPS", str(stops)))
    (tmp_path / "own_none.py").write_text("HANDLERS = 3\n")
    (tmp_path / "own_broken.py").write_text("1 / 0\n")
    yield tmp_path
    for name in ("own_one", "own_stops", "own_none", "own_broken"):
        sys.modules.pop(name, None)


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_a_run_with_a_module(module: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("run", EXAMPLE, "--handlers", "own_one") == 0
    assert len(sys.modules["own_one"].seen) > 0
    assert run("run", EXAMPLE, "--handlers", "own_stops") == 5
    assert "CONTEXT_SWITCH_STATUS_INVALID_CLUSTER_INDEX(0x4013001C): not today" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["own_none", "own_broken", "own_missing"])
def test_a_module_that_has_none(module: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("run", EXAMPLE, "--handlers", name) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert run("respond", "--handlers", name) == 2


def test_a_recording_is_replayed_with_them_and_names_them(module: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("run", EXAMPLE, "--handlers", "own_stops", "--record", str(module / "r")) == 5
    assert run("replay", str(module / "r"), "--handlers", "own_stops") == 0
    sys.modules.pop("own_stops")
    assert run("replay", str(module / "r")) == 6  # nothing is loaded because a recording names it
    assert "own_stops" not in sys.modules
    assert "the recorded run had handlers ('own_stops')" in capsys.readouterr().err


def test_conform_finds_a_firmware_that_handlers_changed(module: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = f"cmd:{sys.executable} -m emu respond --handlers own_stops"
    assert run("conform", "--target", target, "--rule", "flow/one-context-hailo8", "--rule", "control/*") == 6
    assert "does not hold: flow/one-context-hailo8" in capsys.readouterr().out


def test_a_graph_has_no_actions(module: Path) -> None:
    assert run("run", str(ROOT / "examples" / "lenet.ms"), "--handlers", "own_one") == 2


def test_the_example_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """docs/hacking.md's module as it stands there, and what it says of it."""
    (text,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "hacking.md").read_text(), re.DOTALL)
    (tmp_path / "own_page.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    handlers = load_handlers("own_page")
    made = next(one for one in handlers if not isinstance(one, str))
    try:
        with emu.open_device("hailo8", handlers=handlers) as device:
            frames(device, lists_with(made).program())
            assert device.inspection.peek(0x128001E4) == 9
        lists = single()
        lists.preliminary.append(made(0x128001DC, 0))
        with emu.open_device("hailo8", handlers=handlers) as device, pytest.raises(FirmwareError, match="blinks never"):
            frames(device, lists.program())
    finally:
        remove_own(made)
        del sys.modules["own_page"]


def test_a_server_and_a_card_take_them_too(capsys: pytest.CaptureFixture[str]) -> None:
    """Their devices play every action, and a module that is none is refused before anything is served or started."""
    from emu.card.card import Card, CardOptions
    from emu.chips.chips import load
    from emu.cli.main import main
    from emu.server.service import Service

    seen: list[object] = []

    def counted(fw: Any, action: Any, inner: Any) -> Any:
        seen.append(action)
        return inner(fw, action)

    service = Service("hailo8", "4.23", handlers={"OPEN_BOUNDARY": counted}, log=None)
    with service.open_device() as device:
        application = device.configure(ROOT / "examples" / "digits.hef")
        application.submit_raw({name: bytes(size) for name, size in application.input_streams.items()}).wait()
    assert len(seen) == 2  # the input and the output
    card = Card(CardOptions(load("hailo8"), "4.23", handlers={"OPEN_BOUNDARY": counted}))._power_on()
    plain = Card(CardOptions(load("hailo8"), "4.23"))._power_on()
    differing = [
        kind.name
        for kind in plain.firmware.handlers
        if card.firmware.handlers[kind] is not plain.firmware.handlers[kind]
    ]
    assert differing and all(name.startswith("OPEN_BOUNDARY") for name in differing)
    assert card.probe.one_by_one and not plain.probe.one_by_one
    for arguments in (["serve", "--port", "0"], ["exec", "--card"]):
        program = ["true"] if arguments[0] == "exec" else []
        with pytest.raises(SystemExit) as stopped:
            main([*arguments, "--handlers", "no_such_module", *program])
        assert stopped.value.code == 2 and "no_such_module" in capsys.readouterr().err
