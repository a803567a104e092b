"""What a stretch of straight-line actions will come to, seen one action after the other (`emu.hw.stretch`).

Of each kind it is said here what of its handler is left where the action only takes its time: no frame is waited for,
nothing fails (the list has come to its end before), no record acts. `tests/hw/test_together.py` holds one to the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from emu.hw.application import Step
from emu.hw.cluster import Sequencer, programmed
from emu.hw.config.ccw import Image
from emu.hw.config.channels import ConfigChannel
from emu.hw.execution import Execution
from emu.hw.fingerprint import Noted
from emu.hw.handlers.config import settings_of
from emu.hw.handlers.misc import WORD, shifted
from emu.hw.memory import Writes
from emu.hw.stretch import (
    CONFIG_AWAITED,
    FETCHED,
    SEQUENCER_AWAITED,
    STREAM_AWAITED,
    TRIGGERED,
    ChannelUse,
    Instant,
    Stretch,
)
from emu.wire.actions import (
    DATA_BATCH_SIZE,
    ActionType,
    ActivateCfgChannel,
    DeactivateCfgChannel,
    FetchCcwBursts,
    LcuInterrupt,
    ModuleConfigDoneInterrupt,
    SequencerDoneInterrupt,
    TriggerSequencer,
    WriteDataByType,
)
from emu.wire.status import FirmwareStopError


class _Foresight:
    """What the actions that were seen come to. A kind's function tells whether that is known; else it does nothing."""

    def __init__(self, fw: Execution) -> None:
        self._batch = fw.batch
        assert fw.context is not None
        self._bursts = fw.context.actions.bursts
        self._device = fw.device
        self._config = fw.device.config
        # the channels as they will be; those that were open, as they are
        self._channels = {stream: one.again() for stream, one in self._config.channels.items()}
        self._before = {stream: one.place for stream, one in self._channels.items()}
        self._closed = dict[int, ConfigChannel]()
        self._fetched = set[int]()
        self._loaded = False  # all that was fetched has been awaited
        self._moves = False
        self._size = self._opaque = 0
        self._triggered: dict[int, tuple[Sequencer, Mapping[str, int]]] = {}
        self._undone: set[int] = set()  # triggered, and not awaited yet
        self._awaited: dict[int, None] = {}
        self._instants: list[Instant] = []
        self._fetches: list[tuple[int, int, int]] = []  # behind the last of the instants
        self.ns = 0
        self._written: list[Writes | Image] = []
        self._words: list[tuple[int, int]] = []
        self._noted: list[Noted] = []
        self._writes_memory = False

    def _at(self, what: int, which: int = 0) -> None:
        self._queue()
        self._instants.append((what, self.ns, which, ()))
        self.ns = 0

    def _queue(self) -> None:
        """The fetches that were seen are queued, behind what was seen before them."""
        if self._fetches:
            last = {stream: number for number, (_, _, stream) in enumerate(self._fetches)}
            each = [
                (ns, size, stream if last[stream] == number else None)
                for number, (ns, size, stream) in enumerate(self._fetches)
            ]
            self._instants.append((FETCHED, 0, 0, tuple(each)))
            self._fetches.clear()

    def fetch(self, a: FetchCcwBursts) -> bool:
        channel = self._channels.get(a.config_stream_index)
        if channel is None:
            return False
        self._moves, self._loaded = True, False
        self._fetched.add(a.config_stream_index)
        size, brought = self._config.next_bursts(channel, a.ccw_bursts)
        self._fetches.append((self.ns, size, a.config_stream_index))
        self._size += size
        if isinstance(brought, Image):
            self._writes_memory = True
            self._cut()
            self._written.append(brought)
        else:
            self._opaque += size
            self._noted.append(brought)
        return True

    def lcu(self, a: LcuInterrupt) -> bool:
        self._awaited[a.packed_lcu_id] = None
        return True

    def data(self, a: WriteDataByType) -> bool:
        if a.mask != WORD:
            return False  # what the register holds decides, too
        self._writes_memory = True
        value = shifted(a, self._batch)
        self._words.append((a.address, value))
        self._noted.append((a.address, WORD if a.data_type == DATA_BATCH_SIZE else value))
        return True

    def trigger(self, a: TriggerSequencer) -> bool:
        arguments, registers = programmed(a)
        cluster = a.cluster_index
        self._triggered[cluster] = self._device.clusters.sequencer(cluster), arguments
        self._undone.add(cluster)
        self._at(TRIGGERED, cluster)
        self._writes_memory = True
        self._words += registers
        self._noted += registers
        return True

    def sequencer(self, a: SequencerDoneInterrupt) -> bool:
        if a.sequencer_index in self._undone:
            self._undone.remove(a.sequencer_index)
            self._at(SEQUENCER_AWAITED, a.sequencer_index)
        return a.sequencer_index in self._triggered

    def module(self, a: ModuleConfigDoneInterrupt) -> bool:
        for channel in self._channels.values():
            if self._config.outstanding_bursts(channel):
                return False
        if not self._loaded:
            self._moves = self._loaded = True
            self._at(CONFIG_AWAITED)
        return True

    def activate(self, a: ActivateCfgChannel) -> bool:
        stream = a.config_stream_index
        if stream in self._channels or stream in self._closed:
            return False
        self._moves = True
        source, settings = settings_of(a)
        self._channels[stream] = ConfigChannel(a.packed_vdma_channel_id, stream, source, self._bursts.get(stream, 0))
        self._noted.append(("config", stream, settings))
        return True

    def deactivate(self, a: DeactivateCfgChannel) -> bool:
        stream = a.config_stream_index
        channel = self._channels.get(stream)
        if channel is None or channel.channel != a.packed_vdma_channel_id:
            return False
        if not (self._loaded or stream in self._fetched):
            return False
        try:
            self._config.check_drained(channel)
        except FirmwareStopError:
            return False
        if not self._loaded:
            self._at(STREAM_AWAITED, stream)
        self._closed[stream] = self._channels.pop(stream)
        self._noted.append(("config", stream, ()))
        return True

    def _cut(self) -> None:
        """What comes now is written behind all that was before."""
        if self._words or self._noted:
            self._written.append(self._device.memory.together(self._words, self._noted))
            self._words, self._noted = [], []

    def stretch(self, steps: Sequence[Step], end: int) -> Stretch:
        """All that was seen: these steps, up to `end` of the list."""
        self._cut()
        self._queue()
        uses = [
            ChannelUse(
                stream, one.source, self._before.get(stream), one.prefetched, None if stream in self._closed else one
            )
            for stream, one in (self._channels | self._closed).items()
        ]
        return Stretch(
            end=end,
            awaited=tuple(self._awaited),
            counts=tuple(Counter(step.type for step in steps).items()),
            instants=tuple(self._instants),
            ns=self.ns,
            moves=self._moves,
            before=len(self._before),
            channels=tuple(uses) if self._moves else (),
            triggered=tuple(self._triggered.values()),
            writes=tuple(self._written),
            size=self._size,
            opaque=self._opaque,
            writes_memory=self._writes_memory,
        )


_SEEN: dict[ActionType, Callable[[_Foresight, Any], bool]] = {
    ActionType.FETCH_CCW_BURSTS: _Foresight.fetch,
    ActionType.LCU_INTERRUPT: _Foresight.lcu,
    ActionType.WRITE_DATA_BY_TYPE: _Foresight.data,
    ActionType.TRIGGER_SEQUENCER: _Foresight.trigger,
    ActionType.SEQUENCER_DONE_INTERRUPT: _Foresight.sequencer,
    ActionType.MODULE_CONFIG_DONE_INTERRUPT: _Foresight.module,
    ActionType.ACTIVATE_CFG_CHANNEL: _Foresight.activate,
    ActionType.DEACTIVATE_CFG_CHANNEL: _Foresight.deactivate,
}
STRAIGHT = frozenset(_SEEN)


def foreseen(
    fw: Execution, steps: Sequence[Step], at: int, costs: Mapping[ActionType, int], kinds: frozenset[ActionType]
) -> Stretch | None:
    """What the actions of some kinds come to from place `at` of a list on; None where that is not known of the first.

    The list has come to its end before: what each action says is in order.
    """
    foresight = _Foresight(fw)
    end = at
    while end < len(steps) and (kind := steps[end].type) in kinds:
        foresight.ns += costs[kind]
        if not _SEEN[kind](foresight, steps[end].arguments):
            foresight.ns -= costs[kind]
            break
        end += 1
    if end == at:
        return None
    return foresight.stretch(steps[at:end], end)
