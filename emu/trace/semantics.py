"""What an action touches, starts and waits for: the one table that diff, Perfetto and the invariants share.

A unit is named as the device names it in its trace (`cluster 0 LCU 3`), a channel without its direction
(`channel 16`). From firmware-actions.md 8.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Arguments = Mapping[str, Any]

_ENGINE_SHIFT = {"4.23": 5, "5.2": 6}  # bits of a packed channel id below the engine (firmware-actions.md 1)
LCUS_PER_CLUSTER = 16

WAITS = frozenset(
    {
        "LCU_INTERRUPT",
        "SEQUENCER_DONE_INTERRUPT",
        "INPUT_CHANNEL_TRANSFER_DONE_INTERRUPT",
        "OUTPUT_CHANNEL_TRANSFER_DONE_INTERRUPT",
        "MODULE_CONFIG_DONE_INTERRUPT",
        "APPLICATION_CHANGE_INTERRUPT",
        "WAIT_FOR_DMA_IDLE_ACTION",
        "WAIT_FOR_NMS",
        "WAIT_FOR_CACHE_UPDATED",
    }
)
# what acts on everything configured so far: nothing may move across it
BARRIERS = frozenset(
    {
        "BURST_CREDITS_TASK_START",
        "BURST_CREDITS_TASK_RESET",
        "DDR_BUFFERING_START",
        "DDR_BUFFERING_RESET",
        "WRITE_DATA_BY_TYPE",
        "SLEEP",
        "HALT",
    }
)
CONFIG_FETCHES = frozenset({"FETCH_CFG_CHANNEL_DESCRIPTORS", "FETCH_CCW_BURSTS"})
ENABLES_LCU = frozenset({"ENABLE_LCU_DEFAULT", "ENABLE_LCU_NON_DEFAULT", "SWITCH_LCU_BATCH"})
OPENS = frozenset({"OPEN_BOUNDARY_INPUT_CHANNEL", "OPEN_BOUNDARY_OUTPUT_CHANNEL"})
ACTIVATES = frozenset(
    f"ACTIVATE_{kind}_{side}"
    for kind in ("BOUNDARY", "INTER_CONTEXT", "DDR_BUFFER", "CACHE")
    for side in ("INPUT", "OUTPUT")
)
_CHANNEL_FIELDS = (
    "packed_vdma_channel_id",
    "connected_d2h_packed_vdma_channel_id",
    "h2d_packed_vdma_channel_id",
    "d2h_packed_vdma_channel_id",
)


def channel_name(packed: int, runtime: str) -> str:
    """A channel as the device calls it, without its direction."""
    engine, index = channel_place(packed, runtime)
    return f"channel {index}" + (f" of engine {engine}" if engine else "")


def channel_of(unit: str) -> str:
    """The channel in the `unit` of an event (`channel 16 (D2H)`)."""
    return unit.partition(" (")[0]


def channel_place(packed: int, runtime: str) -> tuple[int, int]:
    """(engine, index) of a packed channel id, which runtimes pack differently."""
    shift = _ENGINE_SHIFT[runtime]
    return packed >> shift, packed & ((1 << shift) - 1)


def lcu_name(packed: int) -> str:
    """An LCU as the device calls it."""
    return f"cluster {packed >> 4} LCU {packed & 15}"


def sequencer_name(cluster: int) -> str:
    """The sequencer of a cluster as the device calls it."""
    return f"cluster {cluster} sequencer"


def touched(action: str, arguments: Arguments, runtime: str) -> tuple[str, ...]:
    """The units an action acts on: two actions with none in common may change places. Not for WAITS and BARRIERS."""
    if "packed_lcu_id" in arguments:
        return (lcu_name(arguments["packed_lcu_id"]),)
    if action == "TRIGGER_SEQUENCER":
        cluster = arguments["cluster_index"]
        lcus = (lcu_name(cluster << 4 | index) for index in range(LCUS_PER_CLUSTER))
        return (sequencer_name(cluster), *lcus)
    units = [channel_name(arguments[name], runtime) for name in _CHANNEL_FIELDS if name in arguments]
    if "config_stream_index" in arguments:
        units.append(f"config stream {arguments['config_stream_index']}")
    if action in ACTIVATES:
        side = "H2D" if action.endswith("INPUT") else "D2H"
        units.append(f"{side} stream {arguments['stream_index']}")
    if "nms_unit_index" in arguments:
        units.append(f"NMS unit {arguments['nms_unit_index']}")
    return tuple(units) or (action,)


def started(action: str, arguments: Arguments, runtime: str) -> str:
    """The unit whose completion a later wait can be for; empty if the action starts none."""
    if action in ENABLES_LCU:
        return lcu_name(arguments["packed_lcu_id"])
    if action == "TRIGGER_SEQUENCER":
        return sequencer_name(arguments["cluster_index"])
    if action in CONFIG_FETCHES:
        return "config bus"
    if action in ("ACTIVATE_BOUNDARY_OUTPUT", "ACTIVATE_INTER_CONTEXT_OUTPUT", "ACTIVATE_CACHE_OUTPUT"):
        return channel_name(arguments["packed_vdma_channel_id"], runtime)
    if action == "FETCH_DATA_FROM_VDMA_CHANNEL":
        return channel_name(arguments["packed_vdma_channel_id"], runtime)
    if action == "ENABLE_NMS":
        return "NMS"
    return ""


def awaited(action: str, arguments: Arguments, runtime: str) -> str:
    """The unit that a wait is for; empty for waits for the host and for actions that do not wait."""
    if action == "LCU_INTERRUPT":
        return lcu_name(arguments["packed_lcu_id"])
    if action == "SEQUENCER_DONE_INTERRUPT":
        return sequencer_name(arguments["sequencer_index"])
    if action == "MODULE_CONFIG_DONE_INTERRUPT":
        return "config bus"
    if action == "WAIT_FOR_NMS":
        return "NMS"
    if action in WAITS and "packed_vdma_channel_id" in arguments:
        return channel_name(arguments["packed_vdma_channel_id"], runtime)
    return ""
