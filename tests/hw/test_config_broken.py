"""What must agree, broken: a run sees each hazard, and so does `emu check --trace` (chip-config.md 4 to 7, units.md 6).

The file is edited, so that everything from the reader to the trace takes part. What else goes wrong then (a stall, a
second hazard) does not matter here.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from emu.hef import builder
from emu.hef import operations as ops
from emu.host.spec import RunSpec
from emu.hw.config import build
from emu.regression.run import execute
from emu.sequencer.configuration import HAILO8
from emu.trace.hazards import HAZARDS
from emu.trace.invariants import check
from emu.trace.reader import TraceReader
from tests.conftest import ROOT, needs_shared
from tests.hw.editing import edited, value, word
from tests.scripts import script

FACE = "face_landmarks_lite_2ctx.v3.hailo1xh.hef"
Actions = list[ops.Action]


def seen(data: bytes, folder: Path) -> tuple[set[str], set[str]]:
    """The hazards that a run of a file shows, and those that the check of its trace does."""
    model, trace = folder / "model.hef", folder / "trace.jsonl"
    model.write_bytes(data)
    run = execute(model, RunSpec.of(model, frames=2), trace)
    assert run.device is not None and run.device.logic.active
    in_trace = {violation.rule for violation in check(TraceReader(trace)).violations}
    return {hazard.rule for hazard in run.device.logic.hazards}, in_trace & HAZARDS.keys()


# --- Hailo-8: the configured example with other actions -------------------------------------------------------------


def example(edit: Callable[[Actions], Actions], folder: Path) -> bytes:
    """The example with the actions of its preliminary list edited."""
    maker = script("examples/make_configured.py")
    actions = [action for operation in maker.preliminary() for action in operation.actions]
    maker.preliminary = lambda: [builder.operation(ops.TriggerNone(), *edit(actions))]
    maker.main(["", str(folder / "made.hef")])
    return (folder / "made.hef").read_bytes()


def of(actions: Actions, kind: type[ops.Action]) -> list[int]:
    return [number for number, action in enumerate(actions) if isinstance(action, kind)]


def record_to(actions: Actions, address: int) -> int:
    """The number of the action that writes a record to an address."""
    for number in of(actions, ops.ActionWriteDataCcw):
        if struct.unpack_from("<I", actions[number].data, 4)[0] == address:  # type: ignore[attr-defined]
            return number
    raise LookupError(f"{address:#x}")


def raised(actions: Actions, interrupt: int) -> int:
    wanted = build.raised(HAILO8, interrupt)
    return next(n for n in of(actions, ops.ActionWriteDataCcw) if actions[n].data == wanted)  # type: ignore[attr-defined]


def without(actions: Actions, *numbers: int) -> Actions:
    return [action for number, action in enumerate(actions) if number not in numbers]


def moved(actions: Actions, number: int, to: int) -> Actions:
    """One action in front of another (both by their numbers before)."""
    rest = without(actions, number)
    place = to if to < number else to - 1
    return [*rest[:place], actions[number], *rest[place:]]


def swapped(actions: Actions, one: int, other: int) -> Actions:
    result = list(actions)
    result[one], result[other] = actions[other], actions[one]
    return result


def readdressed(actions: Actions, number: int, address: int) -> Actions:
    action = actions[number]
    assert isinstance(action, ops.ActionWriteDataCcw)
    data = action.data[:4] + struct.pack("<I", address) + action.data[8:]
    return [*actions[:number], ops.ActionWriteDataCcw(data, action.cfg_channel_index), *actions[number + 1 :]]


def ccw(data: bytes, channel: int = 0) -> ops.Action:
    return ops.ActionWriteDataCcw(data, channel)


def enabled(actions: Actions) -> list[int]:
    return of(actions, ops.ActionEnableLcu)


PROGRAM, SYMBOLS, GEOMETRY = 0x19400000, 0x19800000, 0x30000000
BREAKS: dict[str, tuple[str, Callable[[Actions], Actions]]] = {
    "an LCU that is not enabled": ("lcu-mismatch", lambda a: without(a, enabled(a)[1])),
    "another LCU is enabled": (
        "enabled-unconfigured",
        lambda a: [
            ops.ActionEnableLcu(5, 4, 1, 2, 0x18A001DC, 0) if number == enabled(a)[1] else action
            for number, action in enumerate(a)
        ],
    ),
    "DISABLEs in the order of ENABLEs": ("disable-order", lambda a: swapped(a, *of(a, ops.ActionDisableLcu))),
    "a DISABLE too late": ("not-disabled", lambda a: moved(a, of(a, ops.ActionDisableLcu)[0], enabled(a)[0])),
    "a program block behind its raise": ("late-block", lambda a: moved(a, record_to(a, 0x19017FC0), raised(a, 9) + 1)),
    "a data block before the raise": ("late-block", lambda a: moved(a, record_to(a, 0x19080000), raised(a, 9))),
    "an LCU before the data of its group": (
        "enabled-before-config",
        lambda a: moved(a, enabled(a)[1], enabled(a)[0]),
    ),
    "an LCU before its sequencer": (
        "enabled-before-sequencer",
        lambda a: moved(a, of(a, ops.ActionWaitForSequencer)[0], len(a)),
    ),
    "a sequencer that nobody awaits": (
        "done-unawaited",
        lambda a: without(a, of(a, ops.ActionWaitForSequencer)[0]),
    ),
    "the last two config-dones in the other order": (
        "list-order",
        lambda a: swapped(a, *of(a, ops.ActionWaitForModuleConfigDone)[-2:]),
    ),
    "no raise": ("raise-missing", lambda a: without(a, raised(a, 20))),
    "a raise that nobody awaits": ("raise-unawaited", lambda a: [*a, ccw(build.raised(HAILO8, 30))]),
    "a raise twice": (
        "raise-overwritten",
        lambda a: [*a[: raised(a, 20)], ccw(build.raised(HAILO8, 20)), *a[raised(a, 20) :]],
    ),
    "a record to nowhere": ("config-outside", lambda a: readdressed(a, record_to(a, 0x202408E4), 0x40000000)),
    "no start": ("started-unwritten", lambda a: without(a, record_to(a, 0x19017FC0))),
    "no program": ("program-broken", lambda a: without(a, record_to(a, PROGRAM))),
    "a block twice": ("block-overwritten", lambda a: [*a, ccw(build.record(HAILO8, 0x19080000, bytes(16)), 1)]),
    "an input buffer that reads nothing": ("routing-mismatch", lambda a: without(a, record_to(a, 0x29048000))),
    "the geometry of another stream": (
        "stream-misconfigured",
        lambda a: readdressed(a, record_to(a, GEOMETRY), GEOMETRY + 4),
    ),
    "streams that are not in use": ("stream-misconfigured", lambda a: without(a, record_to(a, 0x202408E4))),
}


@pytest.mark.parametrize(("rule", "edit"), BREAKS.values(), ids=BREAKS)
def test_hailo8(rule: str, edit: Callable[[Actions], Actions], tmp_path: Path) -> None:
    in_run, in_trace = seen(example(edit, tmp_path), tmp_path)
    assert rule in in_run and rule in in_trace


def test_the_unbroken_example_shows_none(tmp_path: Path) -> None:
    assert seen(example(list, tmp_path), tmp_path) == (set(), set())


# --- 10H/15H: the given file of two contexts, edited as text --------------------------------------------------------

INTERRUPTS = (
    r"(trigger_lcu: \{cluster_index: 3, lcu_index: )12(\}(?:.*\n)*?.*trigger_lcu: \{cluster_index: 3, lcu_index: )13"
)
ONE = r"\g<1>00000001"
ARMED = r"(switch_lcu_batch: \{lcu_index: 12, cluster_index: )1"
BREAKS_1XH: dict[str, tuple[str, str, str]] = {
    "two interrupts in the other order": ("ring-order", INTERRUPTS, r"\g<1>13\g<2>12"),
    "another LCU of the next context": (
        "next-context-mismatch",
        r"(?s)(.*trigger_lcu: \{cluster_index: \d, lcu_index: )\d+",
        r"\g<1>9",
    ),
    "done bits that stay": ("done-not-cleared", r"(address: 0x1[0-9A-F]F001)9C", r"\g<1>A0"),
    "a sequencer that nothing prepares": ("cluster-not-prepared", r"(address: 0x[0-9A-F]+F0025)C", r"\g<1>8"),
    "another LCU is armed": ("armed-unused", ARMED, r"\g<1>4"),
    "an LCU that is not armed": ("lcu-mismatch", ARMED, r"\g<1>4"),
    "a channel that does not come to a command": ("go-without-barrier", "(command: .*phase: )1", r"\g<1>3"),
    "a program that starts another LCU": ("lcu-mismatch", value("LCU 12 +0x19C"), r"\g<1>0x2"),
    "the geometry of an output": ("stream-misconfigured", word("streams +0x878", (0x918 - 0x878) // 4 + 19), ONE),
    "the mode of an unused output": ("stream-misconfigured", word("streams +0x9B8", 3), ONE),
}  # fmt: skip


@needs_shared
@pytest.mark.parametrize(("rule", "pattern", "replacement"), BREAKS_1XH.values(), ids=BREAKS_1XH)
def test_1xh(rule: str, pattern: str, replacement: str, shared: Path, tmp_path: Path) -> None:
    data = edited((shared / "hef" / FACE).read_bytes(), pattern, replacement)
    in_run, in_trace = seen(data, tmp_path)
    assert rule in in_run and rule in in_trace


@needs_shared
def test_the_registers_of_a_stream_of_a_given_file(shared: Path, tmp_path: Path) -> None:
    data = (shared / "hef" / "mnist_cnn.v0.hailo8.hef").read_bytes()
    in_run, in_trace = seen(edited(data, word("streams +0x0", 1), r"\g<1>00200021"), tmp_path)
    assert in_run == in_trace == {"stream-misconfigured"}


def test_every_hazard_of_configuration_is_broken_here() -> None:
    """But a record that is refused, for which bytes have to be wrong (test_config_device), and those that show while
    frames are inside (test_hazards_of_runs)."""
    sources = "".join(path.read_text() for path in (ROOT / "emu" / "hw" / "config").glob("*.py"))
    broken = {rule for rule, *_ in [*BREAKS.values(), *BREAKS_1XH.values()]}
    elsewhere = {"record-refused", "config-over-running", "batch-not-switched"}
    assert broken | elsewhere == {rule for rule in HAZARDS if f'"{rule}"' in sources}
