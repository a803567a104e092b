"""What a closed run tells of its groups (cli.md): figures, streams, contexts; the turns of one group as one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from emu.hw.memory import RegionUse
from emu.sequencer.program import Direction
from emu.trace.hazards import FoundHazard

if TYPE_CHECKING:
    from emu.trace.sinks.fw_actions import DownloadedContext

NS_PER_S = 1e9
# what a run's FPS is the rate of (docs/timing.md, the figures of a run)
FpsBasis = Literal["steady", "one_batch", "one_frame", "one_round", "turns"]


class ContextResult(Struct, frozen=True):
    """One context of a group: executed `runs` times, `simulated_ns` and bytes moved (configuration, data) in all."""

    context_type: str
    index: int
    runs: int
    simulated_ns: int
    actions: dict[str, int]
    config_bytes: int
    data_bytes: int


class StreamResult(Struct, frozen=True):
    """One boundary stream: frames and bytes that passed; `contents` of all frames of an output if asked for."""

    name: str
    direction: Direction
    frames: int
    size: int
    contents: tuple[bytes, ...]


class GroupResult(Struct, frozen=True):
    """What one network group did. Times in simulated ns (cli.md, JSON for a HEF).

    `fps` is measured: frames a second of what `fps_basis` names. `wall_fps`: its frames over the time of the whole run,
    whatever else ran meanwhile (None: it ran alone).
    """

    name: str
    simulated_ns: int
    activation_ns: int
    fps: float
    fps_basis: FpsBasis
    latency_ns: int
    contexts: tuple[ContextResult, ...]
    streams: tuple[StreamResult, ...]
    register_writes: int
    ccw_bytes: int
    opaque_bytes: int
    regions: tuple[RegionUse, ...]
    action_lists: tuple[DownloadedContext, ...] = ()
    real: tuple[frozenset[str], ...] = ()  # per kept frame, the output streams whose bytes are no synthetic ones
    hazards: tuple[FoundHazard, ...] = ()
    rules: tuple[str, ...] = ()  # paragraphs of the house rules that it rested on (emu.hw.house_rules)
    wall_fps: float | None = None

    @property
    def well_formed(self) -> bool:
        """Whether its configuration is a real compiler's (units.md 0): of no other are programs read."""
        return "chip-config.md 8" in self.rules

    @property
    def frames(self) -> int:
        """Frames that every output has delivered (every input taken, where there is none)."""
        outputs = [stream for stream in self.streams if stream.direction is Direction.D2H]
        return min((stream.frames for stream in outputs or self.streams), default=0)


class Switch(Struct, frozen=True):
    """One application change: from ENABLE until the new network waits for its first frame."""

    leaving: str
    entering: str
    ns: int


def merged(turns: list[tuple[GroupResult, int]]) -> GroupResult:
    """The turns of one group, each so many times, as one result: what counts adds up.

    The rate is over its turns, activations included.
    """
    first, last = turns[0][0], turns[-1][0]
    frames = sum(turn.frames * times for turn, times in turns)
    simulated = sum(turn.simulated_ns * times for turn, times in turns)
    regions: dict[str, RegionUse] = {}
    for use, times in ((use, times) for turn, times in turns for use in turn.regions):
        have = regions.setdefault(use.region.name, RegionUse(use.region))
        have.bytes_written += use.bytes_written * times
        have.writes += use.writes * times
    return replace(
        first,
        simulated_ns=simulated,
        fps=frames * NS_PER_S / simulated if simulated else 0.0,
        fps_basis="turns",
        contexts=tuple(
            replace(
                context,
                runs=sum(turn.contexts[at].runs * times for turn, times in turns),
                simulated_ns=sum(turn.contexts[at].simulated_ns * times for turn, times in turns),
                config_bytes=sum(turn.contexts[at].config_bytes * times for turn, times in turns),
                data_bytes=sum(turn.contexts[at].data_bytes * times for turn, times in turns),
            )
            for at, context in enumerate(first.contexts)
        ),
        streams=tuple(
            replace(
                stream,
                frames=sum(turn.streams[at].frames * times for turn, times in turns),
                size=sum(turn.streams[at].size * times for turn, times in turns),
                contents=tuple(content for turn, _ in turns for content in turn.streams[at].contents),
            )
            for at, stream in enumerate(first.streams)
        ),
        register_writes=sum(turn.register_writes * times for turn, times in turns),
        ccw_bytes=sum(turn.ccw_bytes * times for turn, times in turns),
        opaque_bytes=sum(turn.opaque_bytes * times for turn, times in turns),
        real=tuple(names for turn, _ in turns for names in turn.real),
        regions=tuple(regions.values()),
        hazards=last.hazards,
        rules=last.rules,
    )
