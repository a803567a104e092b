"""Clusters: LCUs (layer control units) and the sequencer of each (firmware-actions.md 8).

LCU rule of the house: an LCU that is enabled counts frames of its network; with `kernel_done_count` visits a frame it
is done after `kernel_done_count` × batch visits, that is after `batch` frames. Where the profile says that the
configuration starts units (10H/15H), an LCU also counts once its batch has been programmed.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar

from msgspec import Struct
from msgspec import field as struct_field

from emu.chips.chips import Profile
from emu.hw.edition import Edition
from emu.hw.memory import MAX_CLUSTERS, AddressSpace, lcu_address
from emu.hw.unit import Unit, passed
from emu.wire.actions import TriggerSequencer
from emu.wire.status import FirmwareStatus as S
from emu.wire.status import FirmwareStopError, require

DEFAULT_KERNEL_DONE_ADDRESS = 1
DEFAULT_KERNEL_DONE_COUNT = 2
MAX_KERNEL_COUNT = (1 << 32) - 1
Registers = tuple[tuple[int, int], ...]  # address and value
LCUS_PER_CLUSTER_FIELD = 16  # packed_lcu_id: 4 bits LCU, 3 bits cluster (firmware-actions.md 1)

# offsets within an LCU block at which the model keeps what the firmware programs; the real ones are not public
_DONE_ADDRESS, _DONE_COUNT = 4, 8
_SEQUENCER_BASE = 0x00400000  # of a cluster window


class FrameCount(Struct, eq=False):
    """Frames that LCUs have seen since they were armed: one count for all that see the same and need as many."""

    frames: int = 0
    target: int = 1
    network: int = 0
    counting: bool = False
    lcus: list[Lcu] = struct_field(default_factory=list)


@dataclass(eq=False, repr=False, slots=True)
class Lcu(Unit):
    """One layer control unit; it needs `target` of the frames that it counts."""

    KIND: ClassVar[str] = "LCU"

    cluster: int
    index: int
    address: int
    enabled: bool = False
    armed: bool = False
    network: int = 0
    kernel_done_address: int = DEFAULT_KERNEL_DONE_ADDRESS
    kernel_done_count: int = DEFAULT_KERNEL_DONE_COUNT
    target: int = 1
    count: FrameCount = field(default_factory=FrameCount)

    @property
    def frames(self) -> int:
        """Those seen since it was armed."""
        return self.count.frames

    @property
    def counting(self) -> bool:
        return self.enabled or self.armed

    @property
    def done(self) -> bool:
        return self.frames >= self.target

    @property
    def name(self) -> str:
        return self.describe()

    def describe(self) -> str:
        return f"cluster {self.cluster} LCU {self.index}"

    def reset(self) -> None:
        self.enabled = self.armed = False
        self.network, self.target, self.count = 0, 1, FrameCount()
        self.kernel_done_address, self.kernel_done_count = DEFAULT_KERNEL_DONE_ADDRESS, DEFAULT_KERNEL_DONE_COUNT

    def state(self, now: int) -> tuple[object, ...]:
        done = self.kernel_done_address, self.kernel_done_count
        return self.enabled, self.armed, self.network, done, self.target, self.frames


@dataclass(eq=False, repr=False, slots=True)
class Sequencer(Unit):
    """The sequencer of a cluster: its last configuration stays visible; `done_at` is None until triggered."""

    KIND: ClassVar[str] = "sequencer"

    cluster: int
    arguments: Mapping[str, int] = field(default_factory=dict)
    done_at: int | None = None
    triggered: bool = False

    @property
    def name(self) -> str:
        return f"cluster {self.cluster} sequencer"

    def start(self, arguments: Mapping[str, int], done_at: int | None) -> None:
        """TRIGGER_SEQUENCER; `done_at` None: it never is done."""
        self.arguments, self.done_at, self.triggered = arguments, done_at, True

    def reset(self) -> None:
        self.arguments, self.done_at = {}, None

    def state(self, now: int) -> tuple[object, ...]:
        return tuple(self.arguments.items()), None if self.done_at is None else passed(self.done_at, now)

    @property
    def used(self) -> bool:
        """Whether it was ever triggered."""
        return self.triggered


@dataclass(eq=False, repr=False, slots=True)
class Cluster(Unit):
    """One cluster: its sequencer, and those of its LCUs that were ever named."""

    index: int
    sequencer: Sequencer
    lcus: dict[int, Lcu] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"cluster {self.index}"

    def parts(self) -> Iterable[Unit]:
        return (self.sequencer, *self.lcus.values())

    def reset(self) -> None:
        """Its units are all that it has."""

    def lcu(self, index: int) -> Lcu:
        found = self.lcus.get(index)
        if found is None:
            found = self.lcus[index] = Lcu(self.index, index, lcu_address(self.index, index))
        return found


class Clusters(Unit):
    """All clusters that the profile has and the layout enables."""

    name = "clusters"

    def __init__(self, profile: Profile, layout: int, memory: AddressSpace, edition: Edition) -> None:
        self.profile = profile
        self.enabled = frozenset(c for c in range(MAX_CLUSTERS) if layout >> c & 1)
        self.memory = memory
        self.clusters = {c: Cluster(c, Sequencer(c)) for c in sorted(self.enabled)}
        self.sequencers = {c: cluster.sequencer for c, cluster in self.clusters.items()}
        self._lcus: dict[int, Lcu] = {}  # named since the last reset, in the order of their naming
        self._counts: list[FrameCount] | None = []  # of those; None: some count otherwise than before
        self.sequencer_ns = round(profile.sequencer_ns)  # what one takes whose program nobody knows
        self.edition = edition  # of what frames may wait for
        self.stuck: set[int] = set()  # an injected fault: they let no frame through

    def parts(self) -> Iterable[Unit]:
        return self.clusters.values()

    def lcu(self, packed: int) -> Lcu:
        """The LCU of a packed_lcu_id; checks that cluster and index exist on this device and layout."""
        found = self._lcus.get(packed)
        if found is not None:
            return found
        cluster, index = packed >> 4, packed & 0xF
        self.check_cluster(cluster)
        found = self._lcus[packed] = self.clusters[cluster].lcu(index)
        self._counts = None
        return found

    @property
    def named(self) -> Mapping[int, Lcu]:
        """The LCUs that actions have named since the last reset, by packed_lcu_id."""
        return self._lcus

    def check_cluster(self, cluster: int) -> None:
        require(
            cluster in self.enabled,
            S.CONTEXT_SWITCH_STATUS_INVALID_CLUSTER_INDEX,
            lambda: f"cluster {cluster} is not one of {sorted(self.enabled)} of this device",
        )

    def sequencer(self, cluster: int) -> Sequencer:
        if cluster not in self.sequencers:
            self.check_cluster(cluster)
        return self.sequencers[cluster]

    def enable(self, packed: int, network: int, address: int, count: int, batch: int, seen: int) -> Lcu:
        """ENABLE_LCU_*: program the done condition and start, with so many frames `seen`."""
        lcu = self.lcu(packed)
        done, noted = self._program(lcu, network, address, count, batch)
        lcu.enabled = True
        self._count_from(lcu, seen)
        enabled = (lcu.address, 1)
        self.memory.write_unit((*done, enabled), (*noted, enabled))
        return lcu

    def stick(self, packed: int) -> None:
        """An injected fault: an LCU lets no frame through any more."""
        self.stuck.add(packed)
        self.edition.turn()

    def stuck_ones(self) -> list[tuple[int, Lcu]]:
        """The stuck LCUs that actions have named, by packed_lcu_id."""
        return [(packed, self._lcus[packed]) for packed in sorted(self.stuck) if packed in self._lcus]

    def ever_named(self, packed: int) -> bool:
        """Whether any action ever named an LCU."""
        return packed & 0xF in self.clusters[packed >> 4].lcus

    def not_enabled(self, wanted: Iterable[int]) -> list[tuple[int, Lcu]]:
        """Those of some LCUs, by packed_lcu_id, that are not enabled."""
        known = self._lcus
        return [(one, self.lcu(one)) for one in wanted if one not in known or not known[one].enabled]

    def disable(self, packed: int) -> Lcu:
        """DISABLE_LCU: it counts no more; an interrupt that it already raised stays pending."""
        lcu = self.lcu(packed)
        lcu.enabled = lcu.armed = False
        self._count_from(lcu, lcu.frames)
        self.memory.write_word(lcu.address, 0)
        return lcu

    def switch_batch(self, packed: int, network: int, count: int, batch: int) -> Lcu:
        """SWITCH_LCU_BATCH: re-program the count for another batch, the LCU goes on."""
        lcu = self.lcu(packed)
        self.memory.write_unit(*self._program(lcu, network, lcu.kernel_done_address, count, batch))
        if self.profile.config_starts_units:
            lcu.armed = True
        self._count_from(lcu, 0)
        return lcu

    def rearm(self, batch: int, switched: Container[int]) -> None:
        """The batch changed under a waiting context: LCUs that run count anew (house rule).

        Those that no SWITCH_LCU_BATCH names (`switched`) do so for the new batch; the others keep theirs until then.
        """
        self.edition.turn()
        for packed, lcu in self._lcus.items():
            if lcu.counting:
                if packed not in switched:
                    lcu.target = batch
                self._count_from(lcu, 0)

    def running(self) -> list[Lcu]:
        """The LCUs that count frames or were done, in the order of their ids."""
        return [self._lcus[packed] for packed in sorted(self._lcus) if self._lcus[packed].counting]

    def start_context(self) -> None:
        """A context begins: interrupts of the one before are gone."""
        for count in self.frame_counts():
            count.frames = 0
        for sequencer in self.sequencers.values():
            sequencer.done_at = None

    def count_frames(self, network: int | None, frames: int) -> list[Lcu]:
        """`frames` more frames of a network (None: of all) passed; returns the LCUs that became done."""
        finished = []
        for count in self.frame_counts():
            if count.counting and (network is None or count.network == network):
                before = count.frames
                count.frames = before + frames
                if before < count.target <= count.frames:
                    finished.append(count)
        if len(finished) == 1:
            return finished[0].lcus
        return [lcu for lcu in self._lcus.values() if lcu.count in finished] if finished else []

    def counts_of(self, lcus: Iterable[int]) -> list[FrameCount] | None:
        """Those of `frame_counts` that some LCUs (packed) have; None where no action has named one of them."""
        counts, wanted = self.frame_counts(), set(lcus)
        if not wanted <= self._lcus.keys():
            return None
        found = {self._lcus[packed].count for packed in wanted}
        return [count for count in counts if count in found]

    def frame_counts(self) -> list[FrameCount]:
        """The counts of all LCUs, each of those that see and need the same; another list when that changes."""
        if self._counts is None:
            found: dict[tuple[int, int, int, bool], FrameCount] = {}
            for lcu in self._lcus.values():
                alike = lcu.frames, lcu.target, lcu.network, lcu.counting
                lcu.count = found.get(alike) or found.setdefault(alike, FrameCount(*alike))
                lcu.count.lcus.append(lcu)
            self._counts = list(found.values())
        return self._counts

    def _count_from(self, lcu: Lcu, frames: int) -> None:
        """From now on it counts by itself."""
        lcu.count = FrameCount(frames)
        self._counts = None
        self.edition.turn()

    def trigger(self, a: TriggerSequencer, done_at: int | None) -> Sequencer:
        """TRIGGER_SEQUENCER: write its configuration and start it; `done_at` None: it never is done."""
        sequencer = self.sequencer(a.cluster_index)
        arguments, registers = programmed(a)
        sequencer.start(arguments, done_at)
        self.memory.write_unit(registers)
        return sequencer

    def reset(self) -> None:
        self._lcus.clear()
        self._counts = []
        self.edition.turn()

    def _program(self, lcu: Lcu, network: int, address: int, count: int, batch: int) -> tuple[Registers, Registers]:
        """Set the done condition; returns the registers it is in, and the same as if the batch were 1."""
        if count * batch > MAX_KERNEL_COUNT:
            raise FirmwareStopError(
                S.CONTEXT_SWITCH_STATUS_KERNEL_COUNT_OVERFLOW,
                f"{lcu.describe()}: kernel_done_count {count} x batch {batch} exceeds 32 bits",
            )
        lcu.network, lcu.kernel_done_address, lcu.kernel_done_count = network, address, count
        lcu.target = batch
        place, counter = (lcu.address + _DONE_ADDRESS, address), lcu.address + _DONE_COUNT
        return (place, (counter, count * batch)), (place, (counter, count))


@lru_cache(maxsize=1 << 10)  # lists run again and again
def programmed(a: TriggerSequencer) -> tuple[Mapping[str, int], Registers]:
    """What TRIGGER_SEQUENCER says, by name, and the registers in which the model keeps it."""
    arguments = a.arguments()
    base = lcu_address(a.cluster_index, 0) & ~0xFFFFF | _SEQUENCER_BASE
    registers = []
    for number, value in enumerate(arguments.values()):
        address = base + 8 * number
        registers.append((address, value & 0xFFFFFFFF))
        if value >> 32:
            registers.append((address + 4, value >> 32))
    return arguments, tuple(registers)
