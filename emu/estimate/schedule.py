"""When the actions of a context happen, computed without simulating: the analytic twin of the device's firmware.

The rules are those of `emu.hw.timing`; what each adds to the device's clock is added here in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from emu.hw.profiles import Profile
from emu.hw.timing import ConfigBus, ConfigSizes, Flow, action_ns, grants_input
from emu.sequencer.actions import Action, ActionType

_A = ActionType
_FETCHES = frozenset({_A.FETCH_CFG_CHANNEL_DESCRIPTORS, _A.FETCH_CCW_BURSTS})
_CONFIG_WAITS = frozenset({_A.MODULE_CONFIG_DONE_INTERRUPT, _A.DEACTIVATE_CFG_CHANNEL})
_BATCH_WAITS = frozenset(
    {
        _A.LCU_INTERRUPT,
        _A.INPUT_CHANNEL_TRANSFER_DONE_INTERRUPT,
        _A.OUTPUT_CHANNEL_TRANSFER_DONE_INTERRUPT,
        _A.WAIT_FOR_DMA_IDLE_ACTION,
        _A.WAIT_FOR_NMS,
    }
)


@dataclass(frozen=True, slots=True)
class Schedule:
    """One run of an action list, in ns from its first action.

    `total_ns` is when the last action is done, `flow_start_ns` when frames begin to pass (None: this list grants no
    input). `config_ns` is the time outside the flow in which configuration was loaded.
    """

    total_ns: float
    flow_start_ns: float | None
    config_ns: float


def schedule(profile: Profile, actions: Sequence[Action], flow: Flow | None, batch: int) -> Schedule:
    """Run `actions` (REPEATED unrolled) for `batch` frames; `flow` is None for a list that only configures."""
    bus = ConfigBus(profile)
    sizes = ConfigSizes(actions)
    sequencers: dict[int, float] = {}
    loads: list[tuple[float, float]] = []
    now = 0.0
    flow_start: float | None = None
    flow_end = 0.0
    for action in actions:
        kind = action.type
        now += action_ns(profile, kind)
        if kind in _FETCHES:
            begin = max(now, bus.idle_at)
            loads.append((begin, bus.fetch(now, sizes.of(action))))
        elif kind in _CONFIG_WAITS:
            now = max(now, bus.idle_at)
        elif kind is _A.TRIGGER_SEQUENCER:
            sequencers[action.value("cluster_index")] = max(now, bus.idle_at) + profile.sequencer_ns
        elif kind is _A.SEQUENCER_DONE_INTERRUPT:
            now = max(now, sequencers.pop(action.value("sequencer_index"), bus.idle_at))
        elif kind in _BATCH_WAITS:
            now = max(now, flow_end)
        elif kind is _A.SLEEP:
            now += action.value("sleep_time") * 1000.0
        elif grants_input(kind) and flow is not None:
            flow_start = max(now, bus.idle_at)
            flow_end = flow_start + flow.output_done_ns(batch - 1)
    config = sum(end - begin for begin, end in loads)
    if flow_start is not None:
        config -= sum(max(0.0, min(end, flow_end) - max(begin, flow_start)) for begin, end in loads)
    return Schedule(now, flow_start, config)
