"""Vectors of hazards: what a chip carries out without complaint, with wrong results (units.md 6)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from msgspec.structs import replace

from emu.conform import built as chain
from emu.conform.applications import (
    INTER_IN,
    OUT,
    Application,
    Make,
    act,
    changed,
    double,
    single,
    stream_in,
    without,
)
from emu.conform.built import built
from emu.conform.built_1xh import DONE, configure, one_context, records_of, triggered, two_contexts
from emu.conform.suite_controls import ENABLE
from emu.conform.suite_statuses import configured, fed
from emu.conform.vector import Basis, Step, Vector, control, launched, ran
from emu.sequencer.program import Program
from emu.trace.hazards import HAZARDS
from emu.wire.actions import Action, ActionType
from emu.wire.control import ContextSwitchStatus, change_context_switch_status
from emu.wire.lists import Entry, Repeated
from emu.wire.notifications import EventId5

Edit = Callable[[Application], None]


class Found(NamedTuple):
    """An application and the hazards that it has; the first names the vector. `frames` are fed, then `more`; `events`
    are told meanwhile."""

    name: str
    says: str
    make: Make
    hazards: tuple[str, ...]
    frames: int = 2
    more: tuple[Step, ...] = ()
    events: tuple[tuple[int, bytes], ...] = ()


def _edited(make: Make, edit: Edit) -> Make:
    def build() -> Application:
        made = make()
        edit(made)
        return made

    return build


def _at(entries: list[Entry], name: str, nth: int = 0) -> int:
    places = [at for at, one in enumerate(entries) if isinstance(one, Action) and one.type.name == name]
    return places[nth]


def _moved(entries: list[Entry], name: str, nth: int, to: int) -> None:
    entries.insert(to if to >= 0 else len(entries), entries.pop(_at(entries, name, nth)))


def _dropped(name: str, nth: int = 0) -> Edit:
    def edit(made: Application) -> None:
        del made.preliminary[_at(made.preliminary, name, nth)]

    return edit


def _swapped(name: str, nth: int = 0) -> Edit:
    def edit(made: Application) -> None:
        at = _at(made.preliminary, name, nth)
        made.preliminary[at : at + 2] = reversed(made.preliminary[at : at + 2])

    return edit


def _first(name: str, nth: int = 0) -> Edit:
    return lambda made: _moved(made.preliminary, name, nth, 0)


def _flipped(listed: int, programmed: int, offset: int, *bits: int) -> Edit:
    """Bits of a byte of the configuration changed: of a descriptor list, by its number and that of its programming."""

    def edit(made: Application) -> None:
        assert made.base is not None
        made.base = _changed_byte(made.base, listed, programmed, offset, sum(1 << bit for bit in bits))

    return edit


def _changed_byte(program: Program, listed: int, programmed: int, offset: int, mask: int) -> Program:
    lists = list(program.descriptor_lists)
    programs = list(lists[listed].programs)
    data = bytearray(b"".join(map(bytes, programs[programmed].segments or ())))
    data[offset] ^= mask
    programs[programmed] = replace(programs[programmed], segments=(bytes(data),))
    lists[listed] = replace(lists[listed], programs=tuple(programs))
    return replace(program, descriptor_lists=tuple(lists))


def _other_memory(made: Application) -> None:
    made.dynamic[1] = [
        stream_in("INTER_CONTEXT", INTER_IN, 4, 5) if _is(one, ActionType.ACTIVATE_INTER_CONTEXT_INPUT) else one
        for one in made.dynamic[1]
    ]


def _is(entry: Entry, kind: ActionType) -> bool:
    return isinstance(entry, Action) and entry.type is kind


def _still_mapped(made: Application) -> None:
    """The output of dynamic_1 stays routed to its stream while dynamic_0 runs."""
    mapping = ActionType.CHANGE_VDMA_TO_STREAM_MAPPING
    made.dynamic[0] = [
        Repeated(mapping, tuple(one for one in entry.items if one.value("packed_vdma_channel_id") != OUT))
        if isinstance(entry, Repeated) and entry.of is mapping
        else entry
        for entry in made.dynamic[0]
    ]


def _another_layer(made: Application) -> None:
    made.preliminary += made.dynamic[0][:-1]
    made.dynamic[0] = changed(made.dynamic[0], "ACTIVATE_BOUNDARY_OUTPUT", core_buffers_per_frame=8)


def _other_transfers(made: Application) -> None:
    made.activation = changed(made.activation, "OPEN_BOUNDARY_INPUT_CHANNEL", periph_bytes_per_buffer=512)


def _batch_forgotten(made: Application) -> None:
    made.batch_switching = without(made.batch_switching, "CHANGE_BOUNDARY_INPUT_BATCH")


def _switch_forgotten(made: Application) -> None:
    made.batch_switching = made.batch_switching[1:]


def _again_under_frames(made: Application) -> None:
    """The cluster's blocks come once more behind the first frames."""
    fetches = [
        one
        for one in made.preliminary
        if isinstance(one, Action) and one.type.name in _CONFIG and one.value("packed_vdma_channel_id") == 1
    ]
    ends = made.dynamic[0].index(act("APPLICATION_CHANGE_INTERRUPT"))
    made.dynamic[0][ends:ends] = [act("LCU_INTERRUPT", packed_lcu_id=chain.LCUS[1]), *fetches]


_CONFIG = ("ACTIVATE_CFG_CHANNEL", "FETCH_CFG_CHANNEL_DESCRIPTORS", "DEACTIVATE_CFG_CHANNEL")


def _left_enabled(made: Application) -> None:
    """The last DISABLE_LCU of the first context is forgotten."""
    entries = made.dynamic[0]
    count = sum(_is(one, ActionType.DISABLE_LCU) for one in entries)
    del entries[_at(entries, "DISABLE_LCU", count - 1)]


def _refused_record(made: Application) -> None:
    records = records_of(made)
    data = bytearray(records["memory"])
    data[8] ^= 1
    configure(made, records | {"memory": bytes(data)})


def _channel_missing(made: Application) -> None:
    configure(made, {name: data for name, data in records_of(made).items() if name != "phase 1"})


def _unprepared(made: Application) -> None:
    del made.preliminary[0]


def _no_boot_program(made: Application) -> None:
    configure(made, records_of(made, DONE + 1))


def _unconfigured_next(made: Application) -> None:
    armed = act("SWITCH_LCU_BATCH", packed_lcu_id=5, kernel_done_count=2)
    made.preliminary.append(armed)
    made.batch_switching.insert(0, armed)
    made.dynamic[1].append(act("LCU_INTERRUPT", packed_lcu_id=5))


def _triggered(made: Application) -> None:
    made.dynamic[0] += triggered()


def _not_cleared(made: Application) -> None:
    made.dynamic[0] += triggered()[1:]


_SMALLER = control(change_context_switch_status(ContextSwitchStatus.ENABLED, 0, 2), sizes=())
OF_LISTS = (
    Found("read-unwritten", "an inter-context input over memory that nobody wrote", _edited(double, _other_memory),
          ("read-unwritten",), 1),
    Found("delivered-not-asked", "an output that stays routed while another context runs",
          _edited(double, _still_mapped), ("delivered-not-asked",), 3),
    Found("context-mismatch", "a preliminary list that sets up another edge layer than context 0 names",
          _edited(lambda: single(asap=1), _another_layer), ("context-mismatch",)),
    Found("stream-misconfigured", "an input that is activated with other transfers than it was opened with",
          _edited(single, _other_transfers), ("stream-misconfigured",)),
    Found("batch-not-switched", "an input that the batch-switching list forgets",
          _edited(lambda: double(batch=4), _batch_forgotten), ("batch-not-switched",), 4, (_SMALLER, ran())),
)  # fmt: skip
# the configuration is well formed: everything is held against it
OF_CONFIGURATION = (
    Found("enabled-before-config", "an LCU that starts before the config-done of its group",
          _edited(built, _swapped("MODULE_CONFIG_DONE_INTERRUPT", 3)), ("enabled-before-config",)),
    Found("enabled-before-sequencer", "an LCU that starts although the SEQUENCER_DONE of its cluster is to come",
          _edited(built, lambda made: _moved(made.preliminary, "SEQUENCER_DONE_INTERRUPT", 0, -1)),
          ("enabled-before-sequencer", "list-order")),
    Found("enabled-unconfigured", "an LCU that is enabled before anything configured it",
          _edited(built, _first("ENABLE_LCU_DEFAULT")),
          ("enabled-unconfigured", "enabled-before-config", "enabled-before-sequencer")),
    Found("not-disabled", "a cluster that is configured before its LCUs are disabled",
          _edited(built, _swapped("DISABLE_LCU", 1)), ("not-disabled",)),
    Found("disable-order", "LCUs that are disabled in the order in which they are enabled",
          _edited(built, _swapped("DISABLE_LCU", 0)), ("disable-order",)),
    Found("armed-unused", "an LCU that is named for batches and never enabled",
          _edited(built, _dropped("ENABLE_LCU_DEFAULT")), ("armed-unused", "lcu-mismatch", "list-order")),
    Found("lcu-mismatch", "an LCU that the batch-switching list forgets",
          _edited(built, _switch_forgotten), ("lcu-mismatch",)),
    Found("started-unwritten", "a sequencer that starts where nobody wrote",
          _edited(built, _first("TRIGGER_SEQUENCER")),
          ("started-unwritten", "enabled-before-config", "late-block", "list-order")),
    Found("late-block", "blocks of a cluster whose sequencer nobody starts",
          _edited(built, _dropped("TRIGGER_SEQUENCER")), ("late-block",)),
    Found("list-order", "a sequencer that is awaited before it is triggered",
          _edited(built, _swapped("TRIGGER_SEQUENCER")), ("list-order",)),
    Found("done-unawaited", "a SEQUENCER_DONE that no list awaits",
          _edited(built, _dropped("SEQUENCER_DONE_INTERRUPT")), ("done-unawaited", "list-order")),
    Found("raise-missing", "a config-done that is awaited before the record that raises it is fetched",
          _edited(built, _first("MODULE_CONFIG_DONE_INTERRUPT")), ("raise-missing",)),
    Found("raise-unawaited", "a config-done that no list awaits",
          _edited(built, _dropped("MODULE_CONFIG_DONE_INTERRUPT")),
          ("raise-unawaited", "enabled-before-config", "list-order")),
    Found("program-broken", "a program with a bit changed in its packets",
          _edited(built, _flipped(3, 0, 12, 3)), ("program-broken",)),
    Found("config-outside", "a record whose address has a bit changed",
          _edited(built, _flipped(2, 0, 2, 4)), ("config-outside",)),
    Found("routing-mismatch", "a word of the crossbar with a bit changed",
          _edited(built, _flipped(2, 1, 12, 5)), ("routing-mismatch",)),
    Found("block-overwritten", "a table of the crossbar whose address is that of the one before",
          _edited(built, _flipped(2, 1, 248 + 5, 6)), ("block-overwritten", "routing-mismatch")),
    Found("raise-overwritten", "a record that raises the config-done of the record behind it",
          _edited(built, _flipped(2, 2, 8 + 2, 4, 5)), ("raise-overwritten", "raise-missing")),
    Found("config-over-running", "a cluster whose blocks come once more while frames are inside",
          _edited(built, _again_under_frames),
          ("config-over-running", "not-disabled", "late-block"), 6),
    Found("left-running", "an LCU that the first of two contexts does not disable",
          _edited(lambda: built(2), _left_enabled), ("left-running", "disable-order")),
)  # fmt: skip
OF_1XH = (
    Found("record-refused", "a record with a bit changed behind its check value",
          _edited(one_context, _refused_record), ("record-refused",),
          events=((int(EventId5.NN_CORE_CRC_ERROR), b""),)),
    Found("go-without-barrier", "a command that a config channel does not come to",
          _edited(one_context, _channel_missing), ("go-without-barrier",)),
    Found("cluster-not-prepared", "a cluster whose sequencer nobody prepares",
          _edited(one_context, _unprepared), ("cluster-not-prepared",)),
    Found("ring-order", "a ring of commands whose first boots nothing",
          _edited(one_context, _no_boot_program), ("ring-order",)),
    Found("next-context-mismatch", "an LCU of the second context that the first does not configure",
          _edited(two_contexts, _unconfigured_next), ("next-context-mismatch",)),
    Found("done-not-cleared", "a sequencer that is triggered with its done bits set",
          _edited(two_contexts, _not_cleared), ("done-not-cleared",)),
)  # fmt: skip
SOUND = (
    Found("none-where-it-is-sound", "a well-formed application has no hazard", built, ()),
    Found("none-in-sound-contexts", "two well-formed contexts have no hazard", lambda: built(2), ()),
    Found("none-in-a-sound-ring", "a well-formed ring of a Hailo-15 has no hazard", one_context, ()),
    Found("none-in-a-sound-trigger", "a trigger behind a clear has no hazard", _edited(two_contexts, _triggered), ()),
)


def hazards() -> Iterator[Vector]:
    """A vector for each; the sound applications have none."""
    yield from map(_vector, (*OF_LISTS, *OF_CONFIGURATION, *OF_1XH, *SOUND))


def _vector(found: Found) -> Vector:
    made = found.make()
    steps = [*configured(made), control(ENABLE)]
    steps += fed(made, found.frames) if made.base is None else _fed_chain(found.frames)
    # how far it comes is of no matter here
    steps.append(ran(notified=found.events))
    steps += found.more
    first = HAZARDS.get(found.name, found.says)
    return Vector(
        f"hazard/{found.name}",
        f"{found.says}: {first}" if found.name in HAZARDS else found.says,
        Basis.HOUSE_RULE,
        "units.md 6",
        made.device,
        made.runtime,
        tuple(steps),
        made.memory(),
        covers=found.hazards,
        hazards=frozenset(found.hazards),
    )


def _fed_chain(frames: int) -> list[Step]:
    """A transfer is one descriptor there."""
    outputs = [launched(chain.OUT, at + 1) for at in range(frames + 8)]
    return outputs + [launched(chain.IN, at + 1, frame=at) for at in range(frames)]
