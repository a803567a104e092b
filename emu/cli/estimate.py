"""`emu estimate`: FPS and latency of HEFs, and what they rest on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from emu.cli.command import Command
from emu.cli.document import print_document
from emu.cli.log import note
from emu.cli.options import compute_time_option, hef_options_with_batches, located, open_model
from emu.cli.screen import say
from emu.errors import CommandLineError
from emu.host.spec import ESTIMATING, HefSettings

if TYPE_CHECKING:
    from emu.timing.estimate import Estimate
    from emu.timing.uplink import Fleet


@click.command(cls=Command)
@click.argument("hefs", nargs=-1, metavar="[HEF]...")
@hef_options_with_batches(ESTIMATING)
@compute_time_option
@click.option("--devices", type=int, metavar="N", help="So many devices behind one --uplink.")
@click.option("--uplink", metavar="LINK", help="What the devices share: genXxY, or BYTES_PER_S of both directions.")
@click.option(
    "--table",
    metavar="PARAMS_M,OPS_G,HxWxC",
    help="Without a HEF: a guess from parameters, operations and input, looked up among published figures.",
)
@click.option("--assumptions", is_flag=True, help="Show every number that the estimate rests on, with its source.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(
    hefs: tuple[str, ...],
    common: HefSettings,
    batches: tuple[int, ...],
    compute_time: float | None,
    devices: int | None,
    uplink: str | None,
    table: str | None,
    assumptions: bool,
    as_json: bool,
) -> None:
    """Estimate throughput, latency and activation time of a HEF without running it; of several HEFs that take turns."""
    if bool(hefs) == (table is not None):
        raise CommandLineError("estimate takes HEFs, or --table PARAMS_M,OPS_G,HxWxC where there is none")
    if (devices is None) != (uplink is None):
        raise CommandLineError("--devices N and --uplink LINK go together")
    if table is not None:
        given = {
            "--compute-time": compute_time is not None,
            "--devices": devices is not None,
            "--assumptions": assumptions and as_json,
        }
        idle = [name for name, is_given in given.items() if is_given]
        if idle:
            raise CommandLineError(f"{', '.join(idle)}: no effect on the table model")
        _guess(table, common, batches, as_json)
        return
    if devices is not None and len(hefs) > 1:
        raise CommandLineError("--devices: of one HEF, several take turns on one device")
    common.refuse_but(ESTIMATING, "an estimate")
    from emu.cli.estimate_report import fleets_text, text, together_text

    results = [_estimated(hef, common, batches, compute_time) for hef in hefs]
    if len(results) > 1:
        from emu.timing.together import together

        turns = together(results)
        if as_json:
            batches_of = [one.document() for one in turns]
            shared = {name: value for name, value in batches_of[0].items() if name != "batch"}
            models = [result.document() for result in results]
            print_document({"models": models, "together": {**shared, "batches": batches_of}})
            return
        for result in results:
            say([*text(result, assumptions), ""])
        say(together_text(results, turns))
        return
    (result,) = results
    shares: Sequence[Fleet] = ()
    if devices is not None and uplink is not None:
        from emu.timing.uplink import fleets

        shares = fleets(result, devices, uplink)
    if as_json:
        document = result.document()
        for described, share in zip(document["batches"], shares, strict=False):
            described.update(share.document())
        print_document(document)
    else:
        say([*text(result, assumptions), *fleets_text(shares)])


def _guess(table: str, common: HefSettings, batches: tuple[int, ...], as_json: bool) -> None:
    common.refuse_but(("device",), "the table model")
    from emu.cli.estimate_report import table_text
    from emu.timing.table import parse_network, table_estimate

    guess = table_estimate(common.device or "hailo8", parse_network(table), batches)
    if as_json:
        print_document(guess.document())
    else:
        say(table_text(guess))


def _estimated(hef: str, common: HefSettings, batches: tuple[int, ...], compute_time: float | None) -> Estimate:
    from emu.cli.compiling import open_hef_model, warn_of_clock
    from emu.host.estimate import estimate

    model, options = open_model(hef), common.compile_options()
    with located(model.name):
        opened = open_hef_model(model, common)
        result = estimate(
            opened,
            options,
            batches,
            clock_mhz=common.clock_mhz,
            link=common.link,
            host_profile=common.host_profile,
            costs=common.costs,
            compute_time_ns=compute_time,
        )
    groups = len(opened.network_groups)
    if groups > 1 and common.network_group is None:
        note(f"the first of {groups} network groups, {result.network_group}: --network-group chooses another")
    warn_of_clock(result.assumed_clock_hz, result.clock_hz)
    return result
