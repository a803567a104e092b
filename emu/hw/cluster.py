"""Clusters: LCUs (layer control units) and the sequencer of each (firmware-actions.md 8).

LCU rule of the house: an LCU that is enabled counts frames of its network; with `kernel_done_count` visits a frame it
is done after `kernel_done_count` × batch visits, that is after `batch` frames. Where the profile says that the
configuration starts units (10H/15H), an LCU also counts once its batch has been programmed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from emu.hw.memory import MAX_CLUSTERS, AddressSpace, lcu_address
from emu.hw.profiles import Profile
from emu.hw.status import FirmwareStatus as S
from emu.hw.status import FirmwareStopError, require

DEFAULT_KERNEL_DONE_ADDRESS = 1
DEFAULT_KERNEL_DONE_COUNT = 2
MAX_KERNEL_COUNT = (1 << 32) - 1
LCUS_PER_CLUSTER_FIELD = 16  # packed_lcu_id: 4 bits LCU, 3 bits cluster (firmware-actions.md 1)

# offsets within an LCU block at which the model keeps what the firmware programs; the real ones are not public
_DONE_ADDRESS, _DONE_COUNT = 4, 8
_SEQUENCER_BASE = 0x00400000  # of a cluster window


@dataclass(slots=True)
class Lcu:
    """One layer control unit; `frames` counts those seen since it was armed, of the `target` it needs."""

    cluster: int
    index: int
    address: int
    enabled: bool = False
    armed: bool = False
    network: int = 0
    kernel_done_address: int = DEFAULT_KERNEL_DONE_ADDRESS
    kernel_done_count: int = DEFAULT_KERNEL_DONE_COUNT
    target: int = 1
    frames: int = 0

    @property
    def counting(self) -> bool:
        return self.enabled or self.armed

    @property
    def done(self) -> bool:
        return self.frames >= self.target

    def describe(self) -> str:
        return f"cluster {self.cluster} LCU {self.index}"


@dataclass(slots=True)
class Sequencer:
    """The sequencer of a cluster: its last configuration stays visible; `done_at` is None until triggered."""

    cluster: int
    arguments: dict[str, int] = field(default_factory=dict)
    done_at: int | None = None


class Clusters:
    """All clusters that the profile has and the layout enables."""

    def __init__(self, profile: Profile, layout: int, memory: AddressSpace) -> None:
        self.profile = profile
        self.enabled = frozenset(c for c in range(MAX_CLUSTERS) if layout >> c & 1)
        self.memory = memory
        self.sequencers = {c: Sequencer(c) for c in sorted(self.enabled)}
        self._lcus: dict[int, Lcu] = {}
        self.used_lcus: set[int] = set()
        self.used_sequencers: set[int] = set()

    def lcu(self, packed: int) -> Lcu:
        """The LCU of a packed_lcu_id; checks that cluster and index exist on this device and layout."""
        found = self._lcus.get(packed)
        if found is not None:
            return found
        cluster, index = packed >> 4, packed & 0xF
        self.check_cluster(cluster)
        self.used_lcus.add(packed)
        return self._lcus.setdefault(packed, Lcu(cluster, index, lcu_address(cluster, index)))

    def check_cluster(self, cluster: int) -> None:
        require(
            cluster in self.enabled,
            S.CONTEXT_SWITCH_STATUS_INVALID_CLUSTER_INDEX,
            lambda: f"cluster {cluster} is not one of {sorted(self.enabled)} of this device",
        )

    def sequencer(self, cluster: int) -> Sequencer:
        self.check_cluster(cluster)
        return self.sequencers[cluster]

    def enable(self, packed: int, network: int, address: int, count: int, batch: int) -> Lcu:
        """ENABLE_LCU_*: program the done condition and start."""
        lcu = self.lcu(packed)
        done = self._program(lcu, network, address, count, batch)
        lcu.enabled, lcu.frames = True, 0
        self.memory.write_unit((*done, (lcu.address, 1)))
        return lcu

    def disable(self, packed: int) -> Lcu:
        """DISABLE_LCU: it counts no more; an interrupt that it already raised stays pending."""
        lcu = self.lcu(packed)
        lcu.enabled = lcu.armed = False
        self.memory.write_word(lcu.address, 0)
        return lcu

    def switch_batch(self, packed: int, network: int, count: int, batch: int) -> Lcu:
        """SWITCH_LCU_BATCH: re-program the count for another batch, the LCU goes on."""
        lcu = self.lcu(packed)
        self.memory.write_unit(self._program(lcu, network, lcu.kernel_done_address, count, batch))
        lcu.frames = 0
        if self.profile.config_starts_units:
            lcu.armed = True
        return lcu

    def rearm(self, batch: int) -> None:
        """The batch changed under a waiting context: LCUs that run count anew, for the new batch (house rule)."""
        for lcu in self._lcus.values():
            if lcu.counting:
                lcu.target, lcu.frames = batch, 0

    def running(self) -> list[Lcu]:
        """The LCUs that count frames or were done, in the order of their ids."""
        return [self._lcus[packed] for packed in sorted(self._lcus) if self._lcus[packed].counting]

    def start_context(self) -> None:
        """A context begins: interrupts of the one before are gone."""
        for lcu in self._lcus.values():
            lcu.frames = 0
        for sequencer in self.sequencers.values():
            sequencer.done_at = None

    def count_frames(self, network: int | None, frames: int) -> list[Lcu]:
        """`frames` more frames of a network (None: of all) passed; returns the LCUs that became done."""
        finished: list[Lcu] = []
        for lcu in self._lcus.values():
            if (lcu.enabled or lcu.armed) and (network is None or lcu.network == network):
                before = lcu.frames
                lcu.frames = before + frames
                if before < lcu.target <= lcu.frames:
                    finished.append(lcu)
        return finished

    def trigger(self, cluster: int, arguments: dict[str, int], done_at: int) -> Sequencer:
        """TRIGGER_SEQUENCER: write its configuration and start it."""
        sequencer = self.sequencer(cluster)
        sequencer.arguments, sequencer.done_at = arguments, done_at
        self.used_sequencers.add(cluster)
        base = lcu_address(cluster, 0) & ~0xFFFFF | _SEQUENCER_BASE
        registers = []
        for number, value in enumerate(arguments.values()):
            address = base + 8 * number
            registers.append((address, value & 0xFFFFFFFF))
            if value >> 32:
                registers.append((address + 4, value >> 32))
        self.memory.write_unit(registers)
        return sequencer

    def reset(self) -> None:
        self._lcus.clear()
        self.sequencers = {c: Sequencer(c) for c in sorted(self.enabled)}

    def _program(self, lcu: Lcu, network: int, address: int, count: int, batch: int) -> tuple[tuple[int, int], ...]:
        """Set the done condition; returns the registers it is in."""
        if count * batch > MAX_KERNEL_COUNT:
            raise FirmwareStopError(
                S.CONTEXT_SWITCH_STATUS_KERNEL_COUNT_OVERFLOW,
                f"{lcu.describe()}: kernel_done_count {count} x batch {batch} exceeds 32 bits",
            )
        lcu.network, lcu.kernel_done_address, lcu.kernel_done_count = network, address, count
        lcu.target = batch
        return (lcu.address + _DONE_ADDRESS, address), (lcu.address + _DONE_COUNT, count * batch)
