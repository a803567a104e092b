"""`emu estimate`: FPS and latency of a HEF, and what they rest on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from emu.cli.document import print_document
from emu.cli.log import note
from emu.cli.options import HefOptions, compute_time_option, hef_options_with_batches, located, open_model
from emu.errors import UsageError
from emu.sequencer.control import MAX_BATCH_SIZE

if TYPE_CHECKING:
    from emu.estimate import BatchEstimate, Estimate
    from emu.estimate.table import TableEstimate


@click.command()
@click.argument("hef", required=False)
@hef_options_with_batches
@compute_time_option
@click.option(
    "--table",
    metavar="PARAMS_M,OPS_G,HxWxC",
    help="Without a HEF: a guess from parameters, operations and input, fitted to published figures.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(
    hef: str | None,
    common: HefOptions,
    batches: tuple[int, ...],
    compute_time: float | None,
    table: str | None,
    as_json: bool,
) -> None:
    """Estimate throughput, first-frame latency and activation time of a HEF, without running it."""
    if (hef is None) == (table is None):
        raise UsageError("estimate takes a HEF, or --table PARAMS_M,OPS_G,HxWxC where there is none")
    if table is not None:
        from emu.estimate.table import parse_network, table_estimate

        guess = table_estimate(common.device or "hailo8", parse_network(table), batches)
        if as_json:
            print_document(guess.document())
        else:
            click.echo("\n".join(_table_text(guess)))
        return
    assert hef is not None
    from emu.cli.compiling import compile_options, open_hef_model, warn_of_clock
    from emu.estimate import estimate

    model, options = open_model(hef), compile_options(common)
    with located(model.name):
        opened = open_hef_model(model, common)
        result = estimate(
            opened,
            options,
            batches,
            clock_mhz=common.clock_mhz,
            link=common.link,
            compute_time_ns=compute_time,
        )
    groups = len(opened.network_groups)
    if groups > 1 and common.network_group is None:
        note(f"the first of {groups} network groups, {result.network_group}: --network-group chooses another")
    warn_of_clock(result.assumed_clock_hz, result.clock_hz)
    if as_json:
        print_document(result.document())
    else:
        click.echo("\n".join(_text(result)))


def _text(result: Estimate) -> Iterator[str]:
    clock = f"{result.clock_hz / 1e6:g} MHz"
    yield (
        f"estimate for {result.network_group} ({result.model}) on {result.device}, link {result.link}, {clock}, "
        f"HailoRT {result.runtime}"
    )
    for figures in result.batches:
        yield ""
        yield from _batch_text(figures, result.single_context)
    yield ""
    if result.single_context:
        yield "single context: batch does not amortise anything"
    else:
        beyond = f" (the runtime allows {MAX_BATCH_SIZE})" if result.batch_for_90_percent > MAX_BATCH_SIZE else ""
        yield f"a batch of {result.batch_for_90_percent} reaches 90 % of the limit{beyond}"
    yield ""
    yield "assumptions"
    for entry in result.assumptions:
        yield f"  {entry.name} = {_number(entry.value)} {entry.unit}  [{entry.source}]"


def _batch_text(figures: BatchEstimate, single_context: bool) -> Iterator[str]:
    yield f"batch {figures.batch}: bound by {figures.bound_by}"
    yield f"  throughput, steady and pipelined  {figures.fps:12.2f} FPS"
    latency = figures.first_frame_latency_ms
    waits = figures.batch == 1 and latency > 0
    alone = f"  ({1e3 / latency:.2f} FPS if each call waits for its result)" if waits else ""
    yield f"  first-frame latency               {latency:12.3f} ms{alone}"
    yield f"  activation                        {figures.activation_ms:12.3f} ms  (once, before the first frame)"
    yield f"  deactivation                      {figures.deactivation_ms:12.3f} ms"
    if single_context:
        return
    heads = ("context", "config ms", "compute ms", "dma ms", "switch ms", "unexplained ms")
    yield "  " + " ".join(f"{head:>14}" for head in heads)
    for context in figures.contexts:
        parts = (context.config_ms, context.compute_ms, context.dma_ms, context.switch_ms, context.unexplained_ms)
        yield f"  {context.index:>14} " + " ".join(f"{part:>14.3f}" for part in parts)


def _table_text(guess: TableEstimate) -> Iterator[str]:
    yield f"table model, no HEF: a guess for {guess.device} from published figures of other networks"
    for batch, fps in guess.fps:
        yield f"  batch {batch:<3} {fps:12.2f} FPS"
    yield f"assumption: {guess.source}"


def _number(value: object) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_number(item) for item in value) + "]"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
