"""Several networks that take turns on one device: what each gets, what a turn costs, how long turns pay.

A turn is ENABLE, which deactivates the network before, the activation, one batch, and what the lists still do before
another application can take over.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

from msgspec import Struct

from emu.errors import UsageError
from emu.timing.estimate import LIMIT_SHARE, NS_PER_MS, Estimate
from emu.timing.model import NS
from emu.timing.schedule import GroupSchedule
from emu.wire.control import MAX_BATCH_SIZE


class Turns(Struct, frozen=True):
    """A batch of each network in turn, again and again.

    `switch_ms`: what a change of network costs on average, besides its frames; `fps` by network group. `threshold`:
    frames a turn from which on switching takes a tenth of the time at most, where the runtime allows so many.
    """

    batch: int
    switch_ms: float
    threshold: int | None
    fps: dict[str, float]

    def document(self) -> dict[str, Any]:
        """The JSON form."""
        return {"batch": self.batch, "switch_ms": self.switch_ms, "threshold": self.threshold, "fps": self.fps}


def together(estimates: Sequence[Estimate]) -> tuple[Turns, ...]:
    """For each batch size of the estimates; UsageError where they are of several devices or links."""
    places = {(one.device, one.link) for one in estimates}
    if len(places) > 1:
        raise UsageError(
            f"networks that take turns run on one device, these on {', '.join(sorted(p[0] for p in places))}"
        )
    return tuple(_turns(estimates, position) for position in range(len(estimates[0].batches)))


def _turns(estimates: Sequence[Estimate], position: int) -> Turns:
    batch = estimates[0].batches[position].batch
    models = [one.schedule(position) for one in estimates]
    changes = [
        model.activation_ns(batch, models[at - 1]) + model.tail_ns(batch) + model.profile.deactivate_ns
        for at, model in enumerate(models)
    ]
    whole = sum(changes) + sum(model.first_batch_ns(batch) for model in models)
    return Turns(
        batch=batch,
        switch_ms=sum(changes) / len(changes) / NS_PER_MS,
        threshold=_threshold(models, batch, whole),
        fps=dict.fromkeys(_names(estimates), batch / whole * NS if whole else 0.0),
    )


def _threshold(models: Sequence[GroupSchedule], batch: int, whole: float) -> int | None:
    interval = sum(model.period_ns(batch) for model in models) / batch
    if not interval:
        return None
    # frames x interval / (beyond + frames x interval) >= share
    beyond = whole - batch * interval
    frames = max(1, ceil(beyond * LIMIT_SHARE / (1 - LIMIT_SHARE) / interval))
    return frames if frames <= MAX_BATCH_SIZE else None


def _names(estimates: Sequence[Estimate]) -> list[str]:
    """The names of the groups; those that several files share with their file."""
    plain = [one.network_group for one in estimates]
    return [
        name if plain.count(name) == 1 else f"{name} ({one.model}, {at})"
        for at, (name, one) in enumerate(zip(plain, estimates, strict=True))
    ]
