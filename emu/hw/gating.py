"""What frames need before they come out of the core (units.md 5); until then they wait inside, and it is told why.

Lists say it (which LCUs they enable, and name for batches), and a well-formed configuration does: whose LCUs are
started, whose programs have come to their end. `Gates` knows both for the application that runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from msgspec import Struct, field

from emu.hw.application import Application, Context, Sent, title_of
from emu.hw.cluster import Clusters, Lcu
from emu.hw.config.logic import ConfigLogic

Named = Mapping[int, tuple[int, str]]  # by packed_lcu_id: the network, and why frames of it need the LCU


class Needs(Struct, eq=False):
    """Of the frames of one pass: LCUs that have to be enabled, and LCUs that configuration has to have started, by
    packed_lcu_id with what to say where that is missing; clusters whose configuration has to be there. `met`: the
    edition of the gates in which nothing was missing."""

    enabled: Mapping[int, str] = field(default_factory=dict)
    started: Mapping[int, str] = field(default_factory=dict)
    clusters: tuple[int, ...] = ()
    batch: int | None = None  # what the LCUs' counts have to fit: the batch of several contexts
    met: int = -1

    @property
    def none(self) -> bool:
        return not (self.enabled or self.started or self.clusters)


@lru_cache(maxsize=16)  # runs of a program send the same lists again and again
def _switched(sent: Sent, strict: bool, starts_units: bool) -> tuple[frozenset[int], Named]:
    """The LCUs that get another batch by SWITCH_LCU_BATCH, and those of them that frames need."""
    named: dict[int, tuple[int, str]] = {}
    switched = frozenset(packed for actions in sent.lists for packed in actions.batch_switches)
    enabled = {packed for actions in sent.lists for packed in actions.enables}
    triggered = {cluster for actions in sent.lists for cluster in actions.triggers}
    # several contexts share the LCUs: which of them run in which is known from their own lists alone
    every = strict and sent.single_context
    if starts_units and not every:
        return switched, named
    for context, actions in sent.named():
        for packed, network in actions.batch_switches.items():
            if every or (packed not in enabled and packed >> 4 in triggered):
                verb = "started" if starts_units else "enabled"
                missing = f"not {verb}" if packed in enabled else f"never {verb}"
                why = f"named by SWITCH_LCU_BATCH of the {title_of(context)}, {missing}"
                named.setdefault(packed, (network, why))
    return switched, named


class Gates:
    """Which LCUs and clusters the frames of the running application need, and which of them are missing."""

    def __init__(self, clusters: Clusters, logic: ConfigLogic, starts_units: bool) -> None:
        self._clusters = clusters
        self._logic = logic
        self._starts_units = starts_units  # configuration starts LCUs, and lists enable none (10H/15H)
        self._named: Named = {}
        self._strict = self.single_context = False
        self._read: tuple[Application, bool] | None = None
        # by carrier, executing list, network, action and batch
        self._needs: dict[tuple[str, str, int | None, int | None, int], Needs] = {}
        self.switched: frozenset[int] = frozenset()  # LCUs that get another batch by SWITCH_LCU_BATCH

    def begin(self, application: Application) -> None:
        """An application is enabled; whether its configuration is well formed has been decided."""
        self._strict, self.single_context = self._logic.active, application.single_context
        if self._read is not None and self._read[0] is application and self._read[1] == self._strict:
            return
        self._read = application, self._strict
        self._needs.clear()
        self.switched, self._named = _switched(application.sent, self._strict, self._starts_units)

    def needed(
        self, carrier: Context, executing: Context, network: int | None, before: int | None, batch: int
    ) -> Needs:
        """What frames of a network (None: of all) need to pass the context `carrier`.

        `executing` is the list that lets the frames in, `before` the number of the action that it has come to (None: to
        its end). What it enables behind that finds the frames that were let in before (house rule).
        """
        key = carrier.name, executing.name, network, before, batch
        found = self._needs.get(key)
        if found is None:
            found = self._needs[key] = self._needed(carrier, executing, network, before, batch)
        return found

    def _needed(
        self, carrier: Context, executing: Context, network: int | None, before: int | None, batch: int
    ) -> Needs:
        own = f"the {executing.title} enabled it, and disabled it again"
        enabled = {
            packed: own
            for packed, step in executing.actions.enables.items()
            if (before is None or step.number < before) and network in (None, step.arguments.network_index)
        }
        named = {packed: why for packed, (of, why) in self._named.items() if network in (None, of)}
        started: dict[int, str] = {}
        if not self._starts_units:
            enabled |= named
        elif self._strict:
            started = named if self.single_context else self._awaited(carrier)
        clusters = sorted({packed >> 4 for packed in (*enabled, *started)}) if self._strict else ()
        return Needs(enabled, started, tuple(clusters), None if self.single_context else batch)

    @staticmethod
    def _awaited(carrier: Context) -> dict[int, str]:
        """LCUs that the list of a context awaits: the list before it has to start them."""
        before = "preliminary list or the list before it" if carrier.index == 0 else "list before it"
        why = f"awaited by LCU_INTERRUPT of the {carrier.title}, and the {before} did not start it"
        return dict.fromkeys(carrier.actions.interrupts, why)

    def missing(self, needs: Needs) -> Iterator[str]:
        """What is not as the frames need it, a line each."""
        logic = self._logic
        for packed, lcu in self._clusters.not_enabled(needs.enabled):
            yield f"{lcu.describe()}: {needs.enabled[packed]}"
        for packed, why in needs.started.items():
            if (packed >> 4, packed & 0xF) not in logic.running:
                yield f"{self._clusters.lcu(packed).describe()}: {why}"
        for cluster in needs.clusters:
            why_not = logic.why_not_ready(cluster)
            if why_not:
                yield f"cluster {cluster}: {why_not}"
        for packed, lcu in self._clusters.stuck_ones():
            if packed in needs.started or lcu.enabled or (lcu.armed and not self._strict):
                yield f"{lcu.describe()}: it is stuck"
        if needs.batch is not None:
            yield from self._counts(needs, needs.batch)

    def _counts(self, needs: Needs, batch: int) -> Iterator[str]:
        """LCUs that are not done when the batch has passed: more frames never come."""
        for packed in (*needs.enabled, *needs.started):
            lcu = self._clusters.lcu(packed)
            if lcu.counting and lcu.target > batch:
                yield f"{lcu.describe()}: it counts to a batch of {lcu.target}, the host's is {batch}"

    def completed(self, lcus: Iterable[Lcu]) -> None:
        """LCUs have done their batch; those that configuration starts wait to be started again."""
        if self._strict and self._starts_units and not self.single_context:
            self._logic.lcus_done([(lcu.cluster, lcu.index) for lcu in lcus])

    @property
    def edition(self) -> int:
        """Grows with everything that can change what is missing."""
        return self._clusters.edition.number
