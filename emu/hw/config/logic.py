"""The configuration logic of the chip while it runs: checked records act, sequencers run programs (units.md 1 to 3).

It has a say where the application's configuration is well formed (units.md 0), which is decided when the application is
enabled. Everything else is memory.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import xxhash

from emu.chips.chips import Profile
from emu.hw.application import ActionList, Application
from emu.hw.config.agreement import hazards_of
from emu.hw.config.ccw import Run
from emu.hw.config.execute import Executor, Held, Outcome
from emu.hw.config.l3_view import DecodedL3
from emu.hw.config.lists import lists_of, sources_of, trigger_of, unfetched
from emu.hw.config.packets import NOBODY_WROTE
from emu.hw.config.program_image import image_of
from emu.hw.config.records import Records, is_well_formed
from emu.hw.config.runs import FAMILIES, RunCache
from emu.hw.edition import Edition
from emu.hw.memory import AddressSpace
from emu.hw.unit import Unit, passed
from emu.sequencer.configuration import HAILO8
from emu.timing.programs import program_ns
from emu.trace.hazards import Hazard

# what the logic sees for itself while it runs; the rest of the agreements is checked over the lists, as is a go that is
# held back: its list may never end
_SEEN_RUNNING = frozenset(
    {
        "record-refused",
        "config-outside",
        "program-broken",
        "started-unwritten",
        "raise-missing",
        "raise-unawaited",
        "raise-overwritten",
        "enabled-unconfigured",
    }
)


@dataclass(eq=False, repr=False, slots=True)
class ConfigLogic(Unit):
    """Config-done latches, sequencers' programs and what is wrong with them.

    `active`: the configuration is well formed. `raised` are config-dones that nobody has awaited yet, `done` those of
    sequencers by cluster, each with its instant. `busy_until`: when the last program of a cluster ends. `told`:
    NN_CORE_CRC_ERROR has been sent in this activation. `report` takes each hazard with its instant.
    `running`: LCUs that configuration started and that have frames to do. `edition`: of what frames may wait for;
    `busy`: whether LCUs of a cluster are enabled and have frames inside.
    """

    name: ClassVar[str] = "configuration logic"
    COUNTERS: ClassVar[tuple[str, ...]] = ("programs",)

    style: str
    profile: Profile
    memory: AddressSpace
    report: Callable[[Hazard, int], None]
    edition: Edition
    busy: Callable[[int], bool]
    active: bool = False
    programs: int = 0
    told: bool = False
    raised: dict[int, int] = field(default_factory=dict)
    done: dict[int, list[int]] = field(default_factory=dict)
    busy_until: dict[int, int] = field(default_factory=dict)
    configured: set[tuple[int, int]] = field(default_factory=set)
    started: set[tuple[int, int]] = field(default_factory=set)
    running: set[tuple[int, int]] = field(default_factory=set)
    hazards: list[Hazard] = field(default_factory=list)
    _executor: Executor | None = None
    _list: str = ""
    _broken: dict[int, str] = field(default_factory=dict)
    _configured_clusters: set[int] = field(default_factory=set)
    _program_blocks: set[tuple[int, int]] = field(default_factory=set)
    _awaited: set[int] = field(default_factory=set)
    _last_run: dict[int, str] = field(default_factory=dict)  # by cluster: where its last program broke off, or ""
    _runs: dict[tuple[str, int, int], Any] = field(default_factory=dict)  # by list, cluster and first block
    _written: int = 0  # how often anything was

    # -- as a unit

    def reset(self) -> None:
        """Nothing is pending any more; what was found stays to be looked at until the next application."""
        self._executor = None
        for held in (self.raised, self.done, self.busy_until, self.running, self._configured_clusters, self._last_run):
            held.clear()
        for held in (self._program_blocks, self._awaited):
            held.clear()
        self.edition.turn()

    def state(self, now: int) -> tuple[object, ...]:
        if self._executor is None:
            return ()
        return (
            self._executor.state(),
            tuple((interrupt, passed(at, now)) for interrupt, at in self.raised.items()),
            tuple((cluster, tuple(passed(at, now) for at in instants)) for cluster, instants in self.done.items()),
            tuple((cluster, passed(at, now)) for cluster, at in self.busy_until.items()),
            tuple(sorted(self.configured)),
            tuple(sorted(self.started)),
            tuple(sorted(self.running)),
            tuple(sorted(self._awaited)),
            self.told,
        )

    # -- what the firmware tells

    def begin(self, application: Application, cache: RunCache, now: int, keeps_words: bool = False) -> None:
        """An application is enabled: decide whether its configuration is well formed, and check what must agree.

        `keeps_words`: somebody asks what it `held`.
        """
        self.reset()
        self.told = False
        for held in (self.configured, self.started, self.hazards, self._broken, self._runs):
            held.clear()
        self.active, agreements = _looked_at(application, cache, self.style)
        cache.check_records(self.active)
        if not self.active:
            self.memory.overlay = None
            return
        self._executor = Executor(FAMILIES[self.style], keeps_words)
        self.memory.overlay = DecodedL3(self._executor.image)
        self.found(agreements, now)

    def held(self) -> Held | None:
        """What the chip holds now; None where its words are not kept."""
        executor = self._executor
        if executor is None or not executor.image.keeps_words:
            return None
        return Held(executor.image, tuple(self._runs.values()), self._written)

    def found(self, hazards: Iterable[Hazard], now: int) -> None:
        """What somebody else found wrong with the configuration of this application."""
        for hazard in hazards:
            self._hazard(hazard, now)

    def begin_list(self, name: str) -> None:
        """A list begins: SEQUENCER_DONEs of the one before are gone."""
        if self._executor is not None:
            self._list = name
            self.done.clear()
            self._broken.clear()
            self._executor.begin()

    def end_list(self, now: int) -> None:
        """A list ends."""
        executor = self._executor
        if executor is None:
            return
        for command in executor.held_back():
            where = f"{self._list}, cluster {command.cluster}"
            self._hazard(Hazard("go-without-barrier", where, f"L3 block {command.block}"), now)
        for interrupt in self.raised:
            self._hazard(Hazard("raise-unawaited", self._list, f"{interrupt}"), now)

    def arrived(self, stream: int, run: Run, first: int, count: int, at: int) -> str:
        """Records came over a config channel and have landed at an instant.

        Returns what NN_CORE_CRC_ERROR has to say of them, empty where it is not to come (house rule: once an
        activation).
        """
        executor, table = self._executor, run.table
        if executor is None or table is None:
            return ""
        stop = min(first + count, len(table))
        if first == 0:
            for _, offset in table.broken:
                where = f"{self._list}, config stream {stream}"
                self._hazard(Hazard("config-outside", where, f"no record at byte {offset}"), at)
        before = _marks(executor.outcome)
        self._written += 1
        executor.feed(table, first, stop)
        if _marks(executor.outcome) != before:
            self._noted(executor.outcome, before, at, stream)
        return self._crc_error(stream, table)

    def _crc_error(self, stream: int, table: Records) -> str:
        wrong = table.wrong
        if self.told or table.family == HAILO8 or not (len(wrong) or table.broken):
            return ""
        self.told = True
        first = f"record {wrong[0]}" if len(wrong) else f"byte {table.broken[0][1]}"
        return f"{self._list}, config stream {stream}: {len(wrong) + len(table.broken)} wrong records, first {first}"

    def trigger(self, arguments: Any, at: int) -> int | None:
        """TRIGGER_SEQUENCER at an instant; when its program is done, None where it never comes to its end."""
        executor = self._executor
        assert executor is not None
        before = _marks(executor.outcome)
        run = executor.trigger(trigger_of(arguments), 0)
        self._noted(executor.outcome, before, at, -1)
        return None if run is None or run.program.broken is not None else self.busy_until[run.cluster]

    def enabled(self, cluster: int, lcu: int, now: int) -> None:
        """ENABLE_LCU: it should have been configured."""
        if self._executor is not None and (cluster, lcu) not in self.configured:
            where = f"{self._list}, cluster {cluster} LCU {lcu}"
            self._hazard(Hazard("enabled-unconfigured", where, "no program wrote it"), now)

    def lcus_done(self, lcus: Iterable[tuple[int, int]]) -> None:
        """LCUs (cluster, index) have done their batch, and wait to be started again."""
        self.running.difference_update(lcus)
        self.edition.turn()

    def why_not_ready(self, cluster: int) -> str:
        """Why a cluster computes nothing (units.md 5); empty where it does."""
        if cluster not in self._configured_clusters:
            return "no configuration reached it"
        broken = self._last_run.get(cluster)
        if broken is None:
            return "nothing started its sequencer"
        return f"its program breaks off at {broken}" if broken else ""

    def take_config_done(self, interrupt: int, now: int) -> int | None:
        """The instant at which a config-done was raised, which the wait clears; None where nothing raised it."""
        at = self.raised.pop(interrupt, None)
        self._awaited.add(interrupt)
        if at is None:
            self._hazard(Hazard("raise-missing", self._list, f"{interrupt} is awaited"), now)
        return at

    def take_sequencer_done(self, cluster: int) -> int | None:
        """The instant of the next SEQUENCER_DONE of a cluster, which the wait clears; None where there is none."""
        instants = self.done.get(cluster)
        return instants.pop(0) if instants else None

    def why_not_done(self, cluster: int) -> str:
        """Why the sequencer of a cluster is not done."""
        broken = self._broken.get(cluster)
        if broken is not None:
            return f"cluster {cluster}: its program breaks off at {broken}"
        return f"cluster {cluster}: nothing started its sequencer"

    # -- what came of it

    def _noted(self, outcome: Outcome, before: tuple[int, ...], at: int, stream: int) -> None:
        refused, outside, raises, runs, stored = before
        self._configured_clusters.update(one.cluster for one in outcome.stored[stored:])
        for one in outcome.stored[stored:]:
            self._check_over_running(one.cluster, one.block, at)
        for record, why in outcome.refused[refused:]:
            where = f"{self._list}, config stream {stream}"
            self._hazard(Hazard("record-refused", where, f"record {record}: {why}"), at)
        for record, why in outcome.outside[outside:]:
            where = f"{self._list}, config stream {stream}"
            self._hazard(Hazard("config-outside", where, f"record {record}: {why}"), at)
        for raised in outcome.raises[raises:]:
            if raised.interrupt in self.raised:
                self._hazard(Hazard("raise-overwritten", self._list, f"{raised.interrupt} was still pending"), at)
            self.raised[raised.interrupt] = at
        for run in outcome.runs[runs:]:
            self._ran(run.cluster, run, at)

    def _check_over_running(self, cluster: int, block: int, at: int) -> None:
        """8/8L: a program's block behind its trigger, or any once everything was there, under frames (units.md 6)."""
        if FAMILIES[self.style] != HAILO8 or not self.busy(cluster):
            return
        if (cluster, block) in self._program_blocks or self._awaited >= _EVERYTHING_IS_THERE:
            where = f"{self._list}, cluster {cluster} L3 block {block}"
            self._hazard(Hazard("config-over-running", where, "LCUs of the cluster have frames inside"), at)

    def _ran(self, cluster: int, run: Any, at: int) -> None:
        effects, broken = run.effects, run.program.broken
        self.programs += 1
        self._written += 1
        if self._executor is not None and self._executor.image.keeps_words:
            self._runs[self._list, cluster, run.program.blocks[0] if run.program.blocks else -1] = run
        self.edition.turn()
        image = image_of(effects, cluster)
        self.configured |= image.lcus
        self.started |= image.started
        self.running |= image.started
        self._last_run[cluster] = ""
        self._program_blocks |= image.blocks
        self.memory.load(image)
        where = f"{self._list}, cluster {cluster}"
        for code in effects.wrong_codes:
            self._hazard(Hazard("program-broken", f"{where} LCU {code.lcu}", str(code)), at)
        if broken is not None:
            unwritten = not run.program.steps and broken.why == NOBODY_WROTE
            place = f"L3 block {broken.block} +{broken.offset:#x}: {broken.why}"
            self._hazard(Hazard("started-unwritten" if unwritten else "program-broken", where, place), at)
            self._broken[cluster] = self._last_run[cluster] = place
        begin = max(at, self.busy_until.get(cluster, 0))
        end = self.busy_until[cluster] = begin + round(program_ns(self.profile, run.program.words))
        if run.ends_sequence:
            self.done.setdefault(cluster, []).append(end)

    def _hazard(self, hazard: Hazard, now: int) -> None:
        if hazard in self.hazards:
            return
        if len(self.hazards) < _MOST_HAZARDS:
            self.hazards.append(hazard)
            self.report(hazard, now)


_EVERYTHING_IS_THERE = frozenset({13, 14})  # the last config-dones of a Hailo-8 list (chip-config.md 6)
_MOST_HAZARDS = 100  # that are told; a broken file has one after the other
_KEPT_APPLICATIONS = 16
_Key = tuple[str, tuple[ActionList, ...], tuple[int, ...]]  # style, lists, and what lies behind them
_kept: OrderedDict[_Key, tuple[bool, tuple[Hazard, ...]]] = OrderedDict()


def _marks(outcome: Outcome) -> tuple[int, ...]:
    return len(outcome.refused), len(outcome.outside), len(outcome.raises), len(outcome.runs), len(outcome.stored)


def _looked_at(application: Application, cache: RunCache, style: str) -> tuple[bool, tuple[Hazard, ...]]:
    """Whether the configuration is well formed, and the breaches that only whole lists show.

    The same lists with the same bytes behind them are looked at once a process.
    """
    unloaded = unfetched(application, cache, FAMILIES[style])
    contents = [cache.digest(source) for context in application.contexts for source in sources_of(context)]
    contents += [xxhash.xxh3_64_intdigest(records.data) for records in unloaded]
    key = style, application.sent.lists, tuple(contents)
    found = _kept.pop(key, None)
    if found is None:
        configuration = lists_of(application, cache, style)
        hazards: tuple[Hazard, ...] = ()
        family = configuration.family
        well_formed = any(is_well_formed(family, one.steps) for one in configuration.lists)
        well_formed = well_formed or is_well_formed(family, unloaded)
        if well_formed:
            seen = hazards_of(configuration, thorough=False)
            hazards = tuple(hazard for hazard in seen if hazard.rule not in _SEEN_RUNNING)
        found = well_formed, hazards
    _kept[key] = found
    while len(_kept) > _KEPT_APPLICATIONS:
        _kept.popitem(last=False)
    return found
