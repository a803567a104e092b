"""`emu bind`: which tensor of a reference model each stream of a HEF is, what is missing, and why."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emu.cli.command import Command
from emu.cli.document import print_document
from emu.cli.log import note
from emu.cli.options import RUNTIME_OPTION, open_model
from emu.cli.reference_options import binding_options
from emu.cli.screen import complain_of, say
from emu.errors import CommandLineError
from emu.naming import listed, similar
from emu.reference.options import ReferenceOptions, bind_options

if TYPE_CHECKING:
    from emu.reference.binding import Binding


@click.command(cls=Command)
@click.argument("hef", metavar="HEF")
@click.argument("model", metavar="MODEL")
@click.option("--network-group", metavar="NAME", help="Bind this network group (default: the only one).")
@RUNTIME_OPTION
@binding_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(
    hef: str,
    model: str,
    network_group: str | None,
    runtime: str | None,
    reference: ReferenceOptions,
    as_json: bool,
) -> int:
    """Bind a reference model (ONNX, OM, MS) to a HEF and print the table; exit code 3 if anything is missing."""
    from emu.hef import open_hef
    from emu.hef.infos import hef_infos
    from emu.reference.choose import bind_file, hef_names, require_known_maps

    opened = open_model(hef)
    groups = {group.name: group for group in hef_infos(open_hef(opened.source, runtime=runtime)).network_groups}
    if network_group is None and len(groups) != 1:
        there = f"{len(groups)} network groups ({', '.join(groups)})"
        raise CommandLineError(f"{hef} has {there}: --network-group says which")
    name = network_group if network_group is not None else next(iter(groups))
    if name not in groups:
        near = similar(name, groups)
        raise CommandLineError(f"{hef} has no network group {name!r}, only {listed(groups)}.{near}")
    names = hef_names([groups[name]])
    options = bind_options(reference, names)
    require_known_maps(options.maps, names)
    binding = bind_file(groups[name], Path(model), options)
    if as_json:
        print_document(_document(binding))
    else:
        say(_text(binding))
        for text in binding.notes:
            note(text)
    if not binding.missing:
        return 0
    error = binding.missing[0].error(binding.model.file)
    complain_of(error)  # stdout has its one document already
    return error.exit_code


def _document(binding: Binding) -> dict[str, Any]:
    inputs = [
        {
            "hef": bound.edge.info.name,
            "model": bound.tensor.name,
            "direction": "input",
            "how": bound.how,
            "layout": bound.layout,
            "shape": list(bound.shape),
            "mean": list(bound.mean),
            "scale": list(bound.scale),
        }
        for bound in binding.inputs
    ]
    outputs = [
        {
            "hef": bound.edge.name,
            "model": bound.tensor.name,
            "direction": direction,
            "how": bound.how,
            "layout": bound.layout,
            "activation": bound.activation or None,
            "why": bound.why or None,
        }
        for direction, rows in (("output", binding.outputs), ("inner", binding.inner))
        for bound in rows
    ]
    return {
        "network_group": binding.group.name,
        "model": {"file": binding.model.file, "format": binding.model.kind},
        "bound": inputs + outputs,
        "missing": [one.name for one in binding.missing],
        "reasons": {one.name: one.reason for one in binding.missing},
        "notes": binding.notes,
    }


def _text(binding: Binding) -> Iterator[str]:
    yield f"network group {binding.group.name} and {binding.model.file} ({binding.model.kind.upper()})"
    rows: list[tuple[str, str, str, str]] = []
    for bound in binding.inputs:
        more = "" if not bound.scale else f", (x - {_short(bound.mean)}) / {_short(bound.scale)}"
        rows.append(("input", bound.edge.info.name, bound.tensor.name, f"by {bound.how}, {bound.layout}{more}"))
    for word, found in (("output", binding.outputs), ("inside", binding.inner)):
        for one in found:
            more = "" if not one.activation else f", then {one.activation} ({one.why})"
            rows.append((word, one.edge.name, one.tensor.name, f"by {one.how}, {one.layout}{more}"))
    rows += [("missing", one.name, "-", one.reason) for one in binding.missing]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row[:3], widths, strict=True)]
        yield f"  {'  '.join(cells)}  {row[3]}"


def _short(numbers: tuple[float, ...]) -> str:
    texts = [f"{number:g}" for number in numbers]
    return texts[0] if len(set(texts)) == 1 else f"[{', '.join(texts)}]"
