"""`emu calibrate`: action costs from the time stamps of a device."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import click

from emu.catalog import names
from emu.cli.command import Command
from emu.cli.document import print_document
from emu.cli.options import open_output
from emu.cli.screen import say
from emu.errors import HailoError, HailoStatus
from emu.files import shown


@click.command(cls=Command)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--device", type=click.Choice(names("chips")), default="hailo8", help="What wrote it (default hailo8).")
@click.option("-o", "--output", metavar="PROFILE", help="Write the costs for --costs of run and estimate.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(file: Path, device: str, output: str | None, as_json: bool) -> None:
    """Read what each action costs the firmware off a file of `hailortcli run2 measure-fw-actions`."""
    from emu.catalog import Quantity
    from emu.chips.chips import load
    from emu.chips.costs import to_toml
    from emu.trace.action_costs import action_costs
    from emu.trace.fw_actions import read_fw_actions

    with ExitStack() as files:
        target = open_output(output, files)
        measured = read_fw_actions(file)
        costs = action_costs(measured)
        if not costs:
            raise HailoError(HailoStatus.HAILO_INVALID_ARGUMENT, "no action of the file was stamped", file=shown(file))
        if target is not None:
            source = f"measure-fw-actions, {file.name}, of a HEF with md5 {measured.file_hash[:32]}"
            entries = {
                cost.action.name: Quantity(cost.ns, "ns", f"{source}: {cost.samples} samples", "measured")
                for cost in costs
            }
            target.stream.write(to_toml(device, entries, f"Action costs of {device}, by emu calibrate").encode())
            target.commit()
    profile = load(device)
    rows = []
    for cost in costs:
        had = profile.action_cost(cost.action.name)
        rows.append(
            {
                "action": cost.action.name,
                "ns": cost.ns,
                "samples": cost.samples,
                "least_ns": cost.least_ns,
                "greatest_ns": cost.greatest_ns,
                "profile_ns": had,
            }
        )
    if as_json:
        print_document({"kind": "action costs", "device": device, "costs": rows})
        return
    longest = max(len(str(name)) for name in ("action", *(row["action"] for row in rows)))
    say(f"{'action':<{longest}} {'ns':>9} {'samples':>7} {'least':>9} {'greatest':>9} {'profile':>9}")
    for row in rows:
        say(
            f"{row['action']:<{longest}} {row['ns']:>9.1f} {row['samples']:>7} {row['least_ns']:>9.1f} "
            f"{row['greatest_ns']:>9.1f} {row['profile_ns']:>9.1f}"
        )
