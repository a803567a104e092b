"""A worked example: what `two_context.hef` makes a Hailo-8 do must not change in meaning (docs/regression.md)."""

from __future__ import annotations

from collections.abc import Callable

from emu.regression.run import Run

MODEL = "../two_context.hef"


def test_means_what_it_meant(emu_run: Callable[..., Run]) -> None:
    emu_run(MODEL, frames=3).assert_status().assert_golden("two_context.trace")


def test_each_context_loads_waits_and_closes(emu_run: Callable[..., Run]) -> None:
    run = emu_run(MODEL)
    run.assert_actions(
        ["BURST_CREDITS_TASK_RESET", "OPEN_BOUNDARY_OUTPUT_CHANNEL", "OPEN_BOUNDARY_INPUT_CHANNEL"],
        context="activation",
    )
    run.assert_actions({"TRIGGER_SEQUENCER": 1, "ENABLE_LCU_DEFAULT": 2, "LCU_INTERRUPT": 2}, context="dynamic_0")


def test_frames_and_registers(emu_run: Callable[..., Run]) -> None:
    run = emu_run(MODEL, batch=4, frames=8)
    run.assert_stream("two_context/input_layer1", frames=8, size=8 * 3072)
    run.assert_stream("two_context/conv2", frames=8, size=8 * 640)
    run.assert_memory({0x128001DC: 0})  # the enable register of cluster 1 LCU 0: dynamic_1 disables it at its end


def test_speed(emu_run: Callable[..., Run]) -> None:
    emu_run(MODEL, frames=20).assert_fps(337, within=0.05)


def test_a_stalled_input_is_a_named_stall(emu_run: Callable[..., Run]) -> None:
    run = emu_run(MODEL, inject=("stall-channel:2",))
    run.assert_status("CONTEXT_SWITCH_STATUS_TIMEOUT_WHILE_WAITING_FOR_INTERRUPT")
