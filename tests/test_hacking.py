"""docs/hacking.md: what it names is there, and what it says works with made-up ones, added from outside or to a copy.

A made-up chip and runtime: tests/chips/test_added.py; a unit: tests/hw/test_units.py.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import emu
from emu.cli.main import main
from emu.graph.executor import run_plan
from emu.graph.ir import OPS, Array, Graph, Node, Op, Operand, Port, Shape, Tensor
from emu.graph.plan import make_plan
from emu.trace import invariants
from emu.trace.events import Event
from emu.trace.reader import Record, TraceReader
from emu.trace.rules.rule import Rule
from emu.trace.tracer import Tracer
from tests.conftest import ROOT

HACKING = (ROOT / "docs" / "hacking.md").read_text()
EXAMPLE = str(ROOT / "examples" / "two_context.hef")


def test_the_places_that_it_names_are_there() -> None:
    places = set(re.findall(r"`((?:emu|tests|docs|benchmarks)/[\w./]*)`", HACKING))
    named = {place for place in places if not re.search(r"NAME|FAMILY", place)}
    assert len(named) > 20 and [place for place in sorted(named) if not (ROOT / place).exists()] == []
    folders = {place.rpartition("/")[0] for place in places - named}
    assert len(folders) > 4 and [place for place in sorted(folders) if not (ROOT / place).is_dir()] == []


def test_an_op_is_a_dataclass() -> None:
    @dataclass(frozen=True)
    class Plus(Op):
        by: float

        def shape(self, x: Operand) -> Shape:
            return x.shape

        def reference(self, x: Array) -> Array:
            return x + x.dtype.type(self.by)

    try:
        graph = Graph("om", "domi", "made")
        x, y = (graph.add(Tensor(name, (3,), np.dtype(np.float32))) for name in "xy")
        graph.inputs.append(Port("x", x))
        graph.outputs.append(Port("y", y))
        graph.nodes.append(Node("plus", "Plus", Plus(2.0), (x,), (y,)))
        assert run_plan(make_plan(graph), {"x": np.arange(3, dtype=np.float32)})["y"].tolist() == [2, 3, 4]
    finally:
        del OPS["Plus"]


def test_a_sink_takes_events_one_batch_after_the_other() -> None:
    class Tally:
        def __init__(self) -> None:
            self.kinds: Counter[str] = Counter()
            self.last = 0

        def write(self, events: Sequence[Event]) -> None:
            self.kinds.update(event.kind.value for event in events)
            assert [event.ns for event in events] == sorted(event.ns for event in events) and events[0].ns >= self.last
            self.last = events[-1].ns

        def close(self) -> None:
            self.kinds["closed"] += 1

    sink = Tally()
    with emu.open_device("hailo8", tracer_for=lambda clock: Tracer([sink], clock)) as device:
        application = device.configure(EXAMPLE)
        application.submit_raw({name: bytes(size) for name, size in application.input_streams.items()}).wait()
    assert sink.kinds["action"] == 80 and sink.kinds["control"] > 5 and sink.kinds["closed"] == 1


def test_a_rule_is_a_class_in_the_list_of_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class NoLcu(Rule):
        """No list waits for an LCU."""

        name = "no-lcu"
        kinds = ("action",)

        def check(self, record: Record) -> Iterator[str]:
            if record["action"] == "LCU_INTERRUPT":
                yield "it does"

    trace = tmp_path / "trace"
    with pytest.raises(SystemExit):
        main(["run", EXAMPLE, f"--trace={trace}"])
    assert invariants.check(TraceReader(trace)).violations == []
    monkeypatch.setattr(invariants, "RULES", (*invariants.RULES, NoLcu))
    found = invariants.check(TraceReader(trace)).violations
    assert {violation.rule for violation in found} == {"no-lcu"}
    assert NoLcu.says() == "No list waits for an LCU."


BLINK = '''class Blink(Action, type=ActionType.BLINK, role=Role.BARRIER, repeatable=True, starts=None, waits_for=None):
    """Write a register."""

    address: int = U32
    count: int = U16


class Halt('''
HANDLER = """def blink(fw: Execution, a: Blink) -> None:
    require(a.count > 0, S.CONTEXT_SWITCH_STATUS_INVALID_SLEEP_TIME, "blinks never")
    fw.device.memory.write_word(a.address, a.count)


def halt("""
TIME = 'BLINK = { value = 7777, unit = "ns", basis = "guessed", source = "made up" }'
ACTION = {
    "emu/wire/actions/base.py": [("    HALT = 44\n", "    HALT = 44\n    BLINK = 45\n")],
    "emu/wire/actions/units.py": [("class Halt(", BLINK)],
    "emu/wire/actions/__init__.py": [
        ("    ApplicationChangeInterrupt,\n", "    ApplicationChangeInterrupt,\n    Blink,\n")
    ],
    "emu/hw/handlers/misc.py": [("def halt(", HANDLER), (" Halt, Sleep,", " Blink, Halt, Sleep,")],
    "emu/hw/handlers/__init__.py": [("    A.HALT: misc.halt,\n", "    A.HALT: misc.halt,\n    A.BLINK: misc.blink,\n")],
    "emu/trace/sinks/fw_actions.py": [
        ('    _A.SLEEP: ("sleep_time",),\n', '    _A.SLEEP: ("sleep_time",),\n    _A.BLINK: (),\n')
    ],
    "emu/chips/chips/hailo8.toml": [("\n# doorbell to reply", f"{TIME}\n\n# doorbell to reply")],
}
TRIED_ACTION = """
from emu.errors import FirmwareError
from emu.trace.tracer import Tracer
from tests.hw.lists import act, single

events = []

class Sink:
    def write(self, batch):
        events.extend(batch)

    def close(self):
        pass

def ran(count):
    lists = single()
    lists.preliminary[:0] = [act("BLINK", address=0x18800000 + 4 * n, count=count) for n in range(3)]
    return lists, lists.run(1, tracer_for=lambda clock: Tracer([Sink()], clock))

lists, result = ran(9)
assert [result.device.memory.peek(0x18800000 + 4 * n) for n in range(4)] == [9, 9, 9, None]
done = [event for event in events if event.action == "BLINK"]
assert [event.arguments for event in done] == [{"address": 0x18800000 + 4 * n, "count": 9} for n in range(3)]
assert [later.ns - event.ns for event, later in zip(done, done[1:])] == [7777, 7777]
assert result.groups[0].contexts[2].actions["BLINK"] == 3
(located, *_) = lists.program().network_groups[0].contexts[2].actions(lists.runtime)
assert located.entry.type == 45 and located.entry.count == 9
try:
    ran(0)
except FirmwareError as error:
    assert error.name == "CONTEXT_SWITCH_STATUS_INVALID_SLEEP_TIME" and error.where["action"] == "BLINK"
else:
    raise AssertionError("accepted")
"""
LENGTH = "S.CONTROL_PROTOCOL_STATUS_INVALID_BREAKPOINT_CONTROL_LENGTH"
ADD = 'lambda p: (sum(int.from_bytes(one, "big") for one in p).to_bytes(4, "big"),)'
MESSAGE = {
    "emu/wire/control.py": [("    SIGNAL_DRIVER_DOWN = 75\n", "    SIGNAL_DRIVER_DOWN = 75\n    ADD = 70\n")],
    "emu/wire/messages.py": [
        (
            "] = {\n    Opcode.IDENTIFY: (),",
            f'] = {{\n    Opcode.ADD: (_p("a", ">I", {LENGTH}), _p("b", ">I", {LENGTH})),\n    Opcode.IDENTIFY: (),',
        ),
        (
            "RESPONSES: Mapping[Opcode, Layout] = {\n",
            'RESPONSES: Mapping[Opcode, Layout] = {\n    Opcode.ADD: (_p("sum", ">I"),),\n',
        ),
    ],
    "emu/hw/controls.py": [
        (
            "            Opcode.SIGNAL_DRIVER_DOWN: self._signal_driver_down,\n",
            f"            Opcode.SIGNAL_DRIVER_DOWN: self._signal_driver_down,\n            Opcode.ADD: {ADD},\n",
        )
    ],
}
TRIED_MESSAGE = """
from emu.chips.chips import load
from emu.hw.device import Device
from emu.wire.control import Opcode, decode_response
from emu.wire.messages import Kind
from emu.wire.wire import wire_of

messages, device = wire_of("4.23").messages, Device(load("hailo8"), "4.23")
reply = device.control(messages.encode(Opcode.ADD, Kind.REQUEST, {"a": 40, "b": 2}))
assert messages.decode(reply, Kind.RESPONSE).values == {"sum": 42}
"""


@pytest.mark.parametrize(
    ("edits", "tried"), [(ACTION, TRIED_ACTION), (MESSAGE, TRIED_MESSAGE)], ids=["action", "message"]
)
def test_the_places_of_a_recipe_are_all_that_there_are(
    tmp_path: Path, edits: dict[str, list[tuple[str, str]]], tried: str
) -> None:
    """In a copy of the package the recipe is followed, one edit a place that it names."""
    shutil.copytree(ROOT / "emu", tmp_path / "emu", ignore=shutil.ignore_patterns("__pycache__"))
    for name, changes in edits.items():
        text = (tmp_path / name).read_text()
        for before, after in changes:
            assert text.count(before) == 1, f"{name}: {before}"
            text = text.replace(before, after)
        (tmp_path / name).write_text(text)
    program = f"import emu, sys\nassert emu.__file__.startswith({str(tmp_path)!r}), emu.__file__\n{tried}"
    environment = {"PYTHONPATH": f"{tmp_path}:{ROOT}", "PATH": "", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
