"""Save the state of a run and go on from it, in another process if need be.

A checkpoint is what a run has changed since its groups were configured: the state of every unit, the event queue, what
the firmware's task stands at, the host's queues and results. Resuming configures the same program, makes those changes
and goes on, so it costs the same at any frame; what follows is what follows in the run that was never interrupted.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import xxhash
from msgspec import Struct
from msgspec.structs import replace

from emu.chips.chips import Profile
from emu.errors import UsageError
from emu.host.session import RunRequest, RunResult, Session, finish, open_for
from emu.host.world import Changes, World, refusal
from emu.host.world_reading import apply
from emu.host.world_writing import changes
from emu.hw.config.addresses import MAPS
from emu.sequencer.program import Program
from emu.trace.tracer import Tracer

MAGIC = b"emu-checkpoint"
VERSION = 4  # 1 and 2 said at which place a run was, to be run up to again; 3 not whether registers were accessed
_HEAD = len(MAGIC) + 2 + 16  # magic, version, sum
LARGEST = 1 << 30
TracerFor = Callable[[Callable[[], int]], Tracer]
_SENSELESS = (LookupError, TypeError, ValueError, AttributeError, AssertionError, ArithmeticError, RecursionError)


class Checkpoint(Struct, frozen=True):
    """`frame` frames of all groups together are delivered, at `ns`. `recipe` is what ran, as text by name.

    `spared`: the driver was spared the accesses to its card's registers, so that these say nothing of the run.
    """

    frame: int
    ns: int
    recipe: dict[str, str]
    changes: Changes
    spared: bool

    def encode(self) -> bytes:
        """As a file holds it (docs/device.md)."""
        body = msgspec.msgpack.encode(self)
        return MAGIC + VERSION.to_bytes(2, "little") + xxhash.xxh3_128_digest(body) + body

    @classmethod
    def decode(cls, data: bytes) -> Checkpoint:
        """From `encode`; HAILO_INVALID_ARGUMENT for anything else."""
        if not data.startswith(MAGIC) or len(data) < _HEAD:
            raise refusal("not a checkpoint")
        version = int.from_bytes(data[len(MAGIC) : len(MAGIC) + 2], "little")
        if version != VERSION:
            raise refusal(f"a checkpoint of version {version}, this emu reads {VERSION}")
        body = data[_HEAD:]
        if xxhash.xxh3_128_digest(body) != data[_HEAD - 16 : _HEAD]:
            raise refusal(f"the checkpoint is damaged: the sum of its {len(body)} bytes differs")
        try:
            return msgspec.msgpack.decode(body, type=cls)
        except (msgspec.MsgspecError, RecursionError, ValueError) as error:
            raise refusal(f"the checkpoint is damaged: {error!s:.200}") from None

    def check(self, recipe: dict[str, str]) -> None:
        """HAILO_INVALID_ARGUMENT where another run is to go on than was saved."""
        different = sorted(
            name for name in recipe.keys() | self.recipe.keys() if recipe.get(name) != self.recipe.get(name)
        )
        if different:
            name = different[0]
            there, here = self.recipe.get(name, "nothing"), recipe.get(name, "nothing")
            raise refusal(f"the checkpoint is of another run: {name}: {there:.60} there, {here:.60} here")


def saving(request: RunRequest, frame: int, recipe: dict[str, str], put: Callable[[Checkpoint], None]) -> RunRequest:
    """The request of a run that gives a checkpoint to `put` once `frame` frames are delivered, of all groups together.

    Where frames are advanced over instead of played, it is taken behind them and those that leave early for it, but a
    run that is traced plays all until then; where the firmware executes a list just then, as soon as that waits.
    `recipe`: what has to be the same where it is resumed, by name. UsageError for a frame that the run does not have,
    and for handlers of the user's, whose state nobody knows.
    """
    if frame < 1:
        raise UsageError(f"a checkpoint at frame {frame}: at least one has to be delivered")
    _refuse_handlers(request)
    worlds: list[World] = []
    watching, played = request.on_session, [False]

    def begins(session: Session) -> None:
        probe = session.chip.probe
        played[0] = probe.one_by_one
        probe.one_by_one |= probe.tracer is not None  # a trace that goes on from there begins at that frame
        world = _world(session)
        world.remember()
        worlds.append(world)
        if watching is not None:
            watching(session)

    def pauses(session: Session) -> None:
        found = changes(worlds[0], session.device.inspection.awaited)
        put(Checkpoint(session.delivered, session.device.now_ns, recipe, found, session.chip.spared))
        session.chip.probe.one_by_one = played[0]

    return replace(request, on_session=begins, pause_at=frame, on_pause=pauses)


def resume(program: Program, profile: Profile, request: RunRequest, checkpoint: Checkpoint) -> RunResult:
    """Go on from a checkpoint to the end of the run; its trace begins here.

    HAILO_INVALID_ARGUMENT where the checkpoint does not fit the program and the request.
    """
    _refuse_handlers(request)
    # who watches the registers has to do so from the first access on, for it makes them
    device = open_for(program, profile, replace(request, tracer_for=_held(request.tracer_for)))

    def made() -> Session:
        session = Session.configured(device, program, request)
        chip = session.chip
        if checkpoint.spared != chip.spared:
            there, here = ("not watched", "watched") if checkpoint.spared else ("watched", "not watched")
            accesses = f"register accesses (--trace=registers): {there} there, {here} here"
            raise refusal(f"the checkpoint is of another run: {accesses}")
        awaited = apply(checkpoint.changes, _world(session))
        if chip.probe.tracer is not None:
            chip.probe.tracer.begin()
        device.inspection.go_on(awaited)
        take = request.take
        if take is not None:
            for row in session.taken:
                take(*row)
        if request.pause_at is None:
            session.taken.clear()
        return session

    try:
        return finish(device, made)
    except _SENSELESS as error:
        # each value is of a kind that a checkpoint can have, and all together are no state of this run
        raise refusal(f"no run can go on from the checkpoint: {type(error).__name__}: {error!s:.200}") from error


def _refuse_handlers(request: RunRequest) -> None:
    if request.handlers:
        raise UsageError("a checkpoint does not know what handlers of your own keep")


def _held(made: TracerFor | None) -> TracerFor | None:
    """A tracer that tells nothing before it is let begin."""

    def held(clock: Callable[[], int]) -> Tracer:
        assert made is not None
        tracer = made(clock)
        tracer.hold()
        return tracer

    return None if made is None else held


def _world(session: Session) -> World:
    return World(session.chip.clock, (session.chip, session.device, session, *MAPS.values()))
