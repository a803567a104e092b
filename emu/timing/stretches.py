"""What takes time in an action list, whatever the profile: decoded once, timed as often as wanted.

A list boils down to `Stretch`es: runs of actions that only cost firmware time, each ended by one that starts, loads or
waits. `emu.timing.steps` says how long they take on a chip.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum, auto

from msgspec import Struct

from emu.sequencer.program import Program
from emu.timing.model import GRANTS
from emu.timing.programs import Start, Starts
from emu.wire.actions import Action, ActionType, Role, Target, having

_A = ActionType
_FETCHES = having(role=Role.FETCH)
# a config channel is not closed before it is empty
_CONFIG_WAITS = having(waits_for=Target.CONFIG) | {_A.DEACTIVATE_CFG_CHANNEL}
_BATCH_WAITS = having(waits_for=Target.LCU) | having(waits_for=Target.CHANNEL) | having(waits_for=Target.NMS)

BurstSizes = Mapping[int, Sequence[int]]


class Event(Enum):
    """What ends a stretch of actions; in brackets the meaning of `Stretch.amount`."""

    FETCH = auto()  # configuration is queued (bytes)
    CONFIG = auto()  # waits until all that was queued is loaded
    TRIGGER = auto()  # starts a sequencer (cluster)
    SEQUENCER = auto()  # waits for one whose program is not known (cluster)
    PROGRAM = auto()  # waits for the next program that ends a sequence (cluster)
    GRANT = auto()  # lets frames in
    FRAMES = auto()  # waits for frames
    CACHE = auto()  # waits for the host's word
    SLEEP = auto()  # (microseconds)
    START = auto()  # starts programs alone
    END = auto()  # the list ends


def _events() -> dict[ActionType, Event]:
    kinds = (
        (GRANTS, Event.GRANT),
        (_BATCH_WAITS, Event.FRAMES),
        (_CONFIG_WAITS, Event.CONFIG),
        (_FETCHES, Event.FETCH),
        ({_A.TRIGGER_SEQUENCER}, Event.TRIGGER),
        ({_A.SEQUENCER_DONE_INTERRUPT}, Event.SEQUENCER),
        ({_A.WAIT_FOR_CACHE_UPDATED}, Event.CACHE),
        ({_A.SLEEP}, Event.SLEEP),
    )
    return {action: event for actions, event in kinds for action in actions}


_EVENT_OF = _events()
# where the programs of a list are known, their words count instead of the trigger
_OF_KNOWN_PROGRAMS = {Event.SEQUENCER: Event.PROGRAM, Event.TRIGGER: None}
# what has to happen between two waits for the second one to wait
_RENEWED_BY = {Event.FETCH: Event.CONFIG, Event.GRANT: Event.FRAMES}
_AMOUNTS = {
    _A.TRIGGER_SEQUENCER: "cluster_index",
    _A.SEQUENCER_DONE_INTERRUPT: "sequencer_index",
    _A.SLEEP: "sleep_time",
}


class Stretch(Struct, frozen=True):
    """Actions interpreted one after the other, by name, the last one's `event` with its `amount`.

    `starts`: sequencer programs that the last one starts behind its event.
    """

    actions: tuple[tuple[str, int], ...]
    event: Event
    amount: float
    starts: tuple[Start, ...] = ()


def stretches(actions: Sequence[Action], bursts: BurstSizes, starts: Starts | None = None) -> tuple[Stretch, ...]:
    """An action list (REPEATED unrolled) as what takes time; `starts`: the programs that it starts, None: not known.

    A wait for what an earlier one has waited for, such as the second LCU of a batch, is an action like any other.
    """
    found: list[Stretch] = []
    counts: dict[str, int] = {}
    sizes = iter(fetch_sizes(actions, bursts))
    known: Starts = {} if starts is None else starts
    waited: set[Event] = set()
    for number, action in enumerate(actions):
        kind = action.type
        counts[kind.name] = counts.get(kind.name, 0) + 1
        event, started = _EVENT_OF.get(kind), tuple(known.get(number, ()))
        if starts is not None and event in _OF_KNOWN_PROGRAMS:
            event = _OF_KNOWN_PROGRAMS[event]
        if event in waited:
            event = None
        elif event in _RENEWED_BY:
            waited.discard(_RENEWED_BY[event])
        elif event is Event.CONFIG or event is Event.FRAMES:
            waited.add(event)
        if event is None and not started:
            continue
        amount = next(sizes) if event is Event.FETCH else action.value(_AMOUNTS[kind]) if kind in _AMOUNTS else 0.0
        found.append(Stretch(tuple(counts.items()), event or Event.START, amount, started))
        counts = {}
    return (*found, Stretch(tuple(counts.items()), Event.END, 0.0))


def burst_sizes(program: Program) -> BurstSizes:
    """Bytes of every configuration burst, by the DMA address of the buffer or list that holds them in order."""
    sizes: dict[int, list[int]] = {}
    for buffer in program.continuous_buffers:
        sizes[buffer.dma_address] = [len(segment) for segment in buffer.segments or ()]
    for listed in program.descriptor_lists:
        sizes[listed.dma_address] = [len(segment) for part in listed.programs for segment in part.segments or ()]
    return sizes


def fetch_sizes(actions: Iterable[Action], bursts: BurstSizes) -> list[float]:
    """Bytes that each fetch action of a context moves, in list order.

    FETCH_CFG_CHANNEL_DESCRIPTORS names descriptors, whose page size the context's ACTIVATE_CFG_CHANNEL gives.
    FETCH_CCW_BURSTS names bursts; where `bursts` does not know them (a capture), they share the channel's
    `bytes_in_pattern` evenly.
    """
    listed = list(actions)
    pages: dict[int, int] = {}
    buffers: dict[int, tuple[int, int]] = {}
    counts: dict[int, int] = {}
    for action in listed:
        if action.type is _A.ACTIVATE_CFG_CHANNEL:
            pages[action.value("packed_vdma_channel_id")] = action.value("desc_page_size")
            buffers[action.value("config_stream_index")] = (
                action.value("dma_address"),
                action.value("bytes_in_pattern"),
            )
        elif action.type is _A.FETCH_CCW_BURSTS:
            stream = action.value("config_stream_index")
            counts[stream] = counts.get(stream, 0) + action.value("ccw_bursts")
    sizes: list[float] = []
    fetched: dict[int, int] = {}
    for action in listed:
        if action.type is _A.FETCH_CFG_CHANNEL_DESCRIPTORS:
            page = pages.get(action.value("packed_vdma_channel_id"), 0)
            sizes.append(action.value("descriptors_count") * page)
        elif action.type is _A.FETCH_CCW_BURSTS:
            stream, count = action.value("config_stream_index"), action.value("ccw_bursts")
            start = fetched.get(stream, 0)
            fetched[stream] = start + count
            address, whole = buffers.get(stream, (0, 0))
            known = bursts.get(address, ())
            if len(known) >= counts[stream]:
                sizes.append(sum(known[start : start + count]))
            else:
                sizes.append(whole * count / counts[stream])
    return sizes
