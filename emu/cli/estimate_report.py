"""What `emu estimate` says to a person."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from emu.wire.control import MAX_BATCH_SIZE

if TYPE_CHECKING:
    from emu.timing.estimate import BatchEstimate, Estimate
    from emu.timing.table import TableEstimate
    from emu.timing.together import Turns
    from emu.timing.uplink import Fleet

_GUESSES = 3  # how many of them are named where nobody asked for all
_HEADS = ("config ms", "compute ms", "dma ms", "switch ms", "unexplained ms")
_COLUMN = 11
_NEGLIGIBLE = 1.01  # a guess that moves the FPS by less is not worth a word


def text(result: Estimate, assumptions: bool) -> Iterator[str]:
    """An estimate; `assumptions`: with every number that it rests on."""
    clock = f"{result.clock_hz / 1e6:g} MHz"
    yield (
        f"estimate for {result.network_group} ({result.model}) on {result.device}, link {result.link}, {clock}, "
        f"HailoRT {result.runtime}"
    )
    assumed = " (assumed: --host-profile names another)" if result.conditions.host is None else ""
    yield f"host {result.host}{assumed}"
    # what is the same for several batch sizes is said once
    intervals = dict(zip((figures.batch for figures in result.batches), result.intervals, strict=True))
    for (queued, *lines), same in groupby(
        result.batches, key=lambda figures: (_queued(figures, intervals[figures.batch]), *_batch_text(figures, result))
    ):
        alike = list(same)
        yield ""
        yield f"batch {', '.join(str(figures.batch) for figures in alike)}: bound by {alike[0].bound_by}"
        yield queued
        for figures in alike:
            calls = "one frame a call" if figures.batch == 1 else f"{figures.batch} frames a call"
            yield f"  {calls:<24} {figures.sync_fps:12.2f} FPS  (each call waits for its results)"
        yield from lines
    yield ""
    yield _advice(result)
    yield ""
    yield _guesses(result)
    if assumptions:
        yield ""
        yield "assumptions"
        for entry in result.assumptions:
            yield f"  {entry.name} = {_number(entry.value)} {entry.unit}  [{entry.source}]"
    else:
        yield f"{len(result.assumptions)} numbers in all, with their sources: --assumptions"


def together_text(results: Sequence[Estimate], turns: Sequence[Turns]) -> Iterator[str]:
    """What networks that take turns on one device get."""
    yield f"taking turns on one {results[0].device}"
    for one in turns:
        frames = "a frame" if one.batch == 1 else f"{one.batch} frames"
        yield f"  {frames} each in turn: {one.switch_ms:.3f} ms a change of network, besides the frames"
        for name, fps in one.fps.items():
            yield f"    {name:<30} {fps:12.2f} FPS"
        if one.threshold is None:
            yield f"    no turn that the runtime allows (up to {MAX_BATCH_SIZE} frames) makes switching cheap"
        else:
            yield f"    turns of {one.threshold} frames (scheduler threshold, batch) spend a tenth on switching"


def fleets_text(shares: Sequence[Fleet]) -> Iterator[str]:
    """What several devices behind one uplink do in all."""
    if not shares:
        return
    yield ""
    yield f"{shares[0].devices} devices behind {shares[0].uplink}"
    for one in shares:
        yield f"  batch {one.batch:<3}                {one.fps_all:12.2f} FPS in all, bound by the {one.bound_by}"


def table_text(guess: TableEstimate) -> Iterator[str]:
    """An estimate without a HEF."""
    yield f"table model, no HEF: a guess for {guess.device} from published figures of the networks most like this one"
    for one in guess.batches:
        yield f"  batch {one.batch:<3} {one.fps:12.2f} FPS  (8 of 10: {one.low:.0f} to {one.high:.0f})"
    yield f"  most like {', '.join(guess.like)}"
    found, own = guess.accuracy, guess.accuracy["device"]
    yield f"median error of FPS and of batch 8 / batch 1, on networks left out: {_errors(found)}"
    yield f"  on {guess.device} alone: {_errors(own)}"
    yield f"  {found['how']}"


def _errors(found: dict[str, Any]) -> str:
    return (
        f"{found['fps_median_error']:.0%} and {found['ratio_median_error']:.0%}, with their whole family "
        f"{found['family_fps_median_error']:.0%} and {found['family_ratio_median_error']:.0%}"
    )


def _queued(figures: BatchEstimate, interval: tuple[float, float]) -> str:
    """The throughput, and where the guesses move it between what."""
    low, high = interval
    between = f"  ({low:.2f} to {high:.2f}, any one guess halved or doubled)"
    return f"  frames queued ahead      {figures.fps:12.2f} FPS{between if high > _NEGLIGIBLE * low else ''}"


def _batch_text(figures: BatchEstimate, result: Estimate) -> Iterator[str]:
    """The figures of a batch size but its throughput."""
    waits = ""
    if figures.batch_wait_ms:
        others = "another frame" if figures.batch == 2 else f"{figures.batch - 1} other frames"
        waits = f"  ({figures.batch_wait_ms:.3f} ms of it waiting for {others} of the batch)"
    yield f"  latency of a first frame {figures.first_frame_latency_ms:12.3f} ms{waits}"
    yield f"  activation               {figures.activation_ms:12.3f} ms  (once, before the first frame)"
    yield f"  deactivation             {figures.deactivation_ms:12.3f} ms"
    if result.single_context:
        return
    yield f"  {'context':>7}" + "".join(f"  {head:>{_COLUMN}}" for head in _HEADS)
    for context in figures.contexts:
        parts = (context.config_ms, context.compute_ms, context.dma_ms, context.switch_ms, context.unexplained_ms)
        yield f"  {context.index:>7}" + "".join(
            f"  {part:>{max(_COLUMN, len(head))}.3f}" for head, part in zip(_HEADS, parts, strict=True)
        )


def _advice(result: Estimate) -> str:
    if result.single_context:
        return "single context: batch does not amortise anything"
    if result.batch_for_90_percent is None:
        return f"no batch that the runtime allows (up to {MAX_BATCH_SIZE}) reaches 90 % of the limit"
    return f"a batch of {result.batch_for_90_percent} reaches 90 % of the limit"


def _guesses(result: Estimate) -> str:
    """The guesses that matter most, each with the FPS of the first batch size if it is half or twice as large."""
    worth = [guess for guess in result.guesses if guess.high_fps > _NEGLIGIBLE * guess.low_fps][:_GUESSES]
    if not worth:
        return "no guessed number moves the FPS by 1 %, were it half or twice as large"
    said = ", ".join(f"{guess.name} ({guess.low_fps:.0f} to {guess.high_fps:.0f} FPS)" for guess in worth)
    return f"guesses that matter most, half to twice as large: {said}"


def _number(value: object) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_number(item) for item in value) + "]"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
