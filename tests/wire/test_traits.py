"""Every action has its class with every trait, a handler and a meaning in the trace; nothing names a runtime."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from emu.chips.runtimes import runtime_names
from emu.hw.handlers import HANDLERS
from emu.trace.sinks.fw_actions import DownloadedContext, MeasuredRun, profile
from emu.wire import semantics
from emu.wire.actions import ACTIONS, Action, ActionType, Edge, Role, Target, having, make_action
from emu.wire.wire import wire_of
from tests.conftest import ROOT

A = ActionType
# typed from the references: hef-compile.md 4.9 (repeated), firmware-actions.md 8 (the others)
REPEATED = {
    A.FETCH_CFG_CHANNEL_DESCRIPTORS, A.DISABLE_LCU, A.ENABLE_LCU_DEFAULT, A.ENABLE_LCU_NON_DEFAULT, A.TRIGGER_SEQUENCER,
    A.FETCH_DATA_FROM_VDMA_CHANNEL, A.ADD_DDR_PAIR_INFO, A.CHANGE_VDMA_TO_STREAM_MAPPING, A.ENABLE_NMS,
    A.SWITCH_LCU_BATCH,
}  # fmt: skip
WAITS = {
    A.LCU_INTERRUPT: Target.LCU, A.SEQUENCER_DONE_INTERRUPT: Target.SEQUENCER,
    A.INPUT_CHANNEL_TRANSFER_DONE_INTERRUPT: Target.CHANNEL, A.OUTPUT_CHANNEL_TRANSFER_DONE_INTERRUPT: Target.CHANNEL,
    A.MODULE_CONFIG_DONE_INTERRUPT: Target.CONFIG, A.APPLICATION_CHANGE_INTERRUPT: Target.APPLICATION,
    A.WAIT_FOR_DMA_IDLE_ACTION: Target.CHANNEL, A.WAIT_FOR_NMS: Target.NMS, A.WAIT_FOR_CACHE_UPDATED: Target.HOST,
}  # fmt: skip
TRAITS = ("type", "role", "repeatable", "starts", "waits_for", "grants", "sets_up", "edge", "inward")


def test_every_action_has_a_class_and_a_handler() -> None:
    expected = set(ActionType) - {A.REPEATED_ACTION}
    assert set(ACTIONS) == set(HANDLERS) == expected
    assert all(made.type is kind for kind, made in ACTIONS.items())
    assert len({made.__name__ for made in ACTIONS.values()}) == len(expected)


def test_every_trait_is_set_and_agrees_with_the_references() -> None:
    for kind, made in ACTIONS.items():
        assert set(TRAITS) <= set(vars(made)), kind
        assert (made.role is Role.WAIT) == (made.waits_for is not None), kind
        assert (made.role is Role.ACTIVATE) == (made.edge is not None), kind
        assert made.__doc__, kind
    assert having(repeatable=True) == REPEATED
    assert {kind: made.waits_for for kind, made in ACTIONS.items() if made.waits_for} == WAITS
    assert having(grants=True) == {A.FETCH_DATA_FROM_VDMA_CHANNEL, A.BURST_CREDITS_TASK_START}
    assert having(role=Role.ACTIVATE, inward=True) == {A[f"ACTIVATE_{edge}_INPUT"] for edge in _EDGES}
    assert having(role=Role.ACTIVATE, inward=False) == {A[f"ACTIVATE_{edge}_OUTPUT"] for edge in _EDGES}
    assert having(starts=Target.LCU) == {A.ENABLE_LCU_DEFAULT, A.ENABLE_LCU_NON_DEFAULT, A.SWITCH_LCU_BATCH}
    assert having(starts=Target.CONFIG) == {A.FETCH_CFG_CHANNEL_DESCRIPTORS, A.FETCH_CCW_BURSTS}
    assert {made.edge for made in ACTIONS.values()} == {None, *Edge}


_EDGES = ("BOUNDARY", "INTER_CONTEXT", "DDR_BUFFER", "CACHE")


def test_an_action_that_says_not_every_trait_is_no_action() -> None:
    with pytest.raises(TypeError, match="starts"):
        type(Action)("Half", (Action,), {}, type=A.HALT, role=Role.BARRIER, repeatable=False, waits_for=None)


@pytest.mark.parametrize("runtime", runtime_names())
@pytest.mark.parametrize("kind", sorted(ACTIONS))
def test_every_action_means_something_in_a_trace(kind: ActionType, runtime: str) -> None:
    """It waits, or nothing moves across it, or it touches units that have names; HailoRT's own dump names it too."""
    made = wire_of(runtime).lists.classes[kind]
    action = made(*range(1, len(made.NAMES) + 1))
    touched = semantics.touched(kind.name, action.arguments(), runtime)
    assert kind.name not in touched or made.role in (Role.WAIT, Role.BARRIER)
    if made.starts is not None:
        assert semantics.started(kind.name, action.arguments(), runtime)
    if made.waits_for not in (None, Target.HOST, Target.APPLICATION):
        assert semantics.awaited(kind.name, action.arguments(), runtime)
    data = b"".join(wire_of(runtime).encode([action]))
    context = DownloadedContext("dynamic", 0, data, 0, 0)
    document = profile(
        [MeasuredRun(1, 1.0, (context,))], runtime=runtime, created=0, clock_cycle_mhz=200, path="", file_hash=""
    )
    (dumped,) = document["runs"][0]["contexts"][0]["actions"]
    assert dumped["type"]


def test_fields_are_attributes_by_name() -> None:
    action = make_action(A.ACTIVATE_CACHE_OUTPUT, tuple(range(17)))
    assert [getattr(action, name) for name in action.NAMES] == list(range(17))
    assert action.value("batch_size") == 13
    with pytest.raises(KeyError):
        action.value("values")
    with pytest.raises(TypeError):
        make_action(A.HALT, (1,))
    assert make_action(A.DISABLE_LCU, (3,)) != make_action(A.LCU_INTERRUPT, (3,))


# where a runtime may be named: its file, what reads files of every release, and what names the default
# what may: the default by architecture, and the numbers that HRPC has in each client version
_MAY_NAME = {"emu/hef/runtime.py", "emu/server/actions.py"}


def _constants(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_no_module_asks_for_a_runtime_by_name() -> None:
    """What differs between runtimes is data; a device is named only where links are checked without one."""
    names = set(runtime_names())
    for path in sorted((ROOT / "emu").rglob("*.py")):
        place = path.relative_to(ROOT).as_posix()
        if place not in _MAY_NAME:
            assert names.isdisjoint(_constants(ast.parse(path.read_text()))), place


def test_a_runtime_named_in_code_would_be_found() -> None:
    assert "4.23" in _constants(ast.parse('def f(runtime):\n    return {"4.23": 5}[runtime]'))
    assert Path(ROOT / next(iter(_MAY_NAME))).exists()
