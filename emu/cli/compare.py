"""`emu compare`: recorded outputs of a device against the float model that its HEF was compiled from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emu.cli.command import Command
from emu.cli.document import print_document
from emu.cli.log import note, warn
from emu.cli.options import RUNTIME_OPTION, FiniteRange, Whole, open_model
from emu.cli.progress import progress
from emu.cli.reference_options import reference_options
from emu.cli.screen import say
from emu.errors import CommandLineError, ExitCode
from emu.files import is_folder
from emu.naming import listed, similar
from emu.reference.options import ReferenceOptions, bind_options, files_by_group

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from emu.hef.infos import NetworkGroupInfo
    from emu.reference.compare import Agreement


@click.command(cls=Command)
@click.argument("hef", metavar="HEF")
@reference_options
@click.option("--against", required=True, metavar="FILE.npz|DIR", help="Recorded outputs, as `emu run` keeps them.")
@click.option("--input", multiple=True, metavar="[NAME=]FILE", help="What the device was fed: .npy, .bin or pictures.")
@click.option("--inputs", metavar="FILE.npz", help="Several inputs at once.")
@click.option("--fit", type=click.Choice(("letterbox", "resize", "none")), help="Pictures of another size (letterbox).")
@click.option("--colour", type=click.Choice(("rgb", "bgr")), help="Channel order that the network wants (rgb).")
@click.option("--seed", type=Whole(0), default=0, metavar="N", help="Seed of inputs that are not given.")
@click.option(
    "--tolerance",
    type=FiniteRange(0),
    default=1.0,
    metavar="STEPS",
    help="Difference in quantisation steps that counts as none (default 1).",
)
@click.option("--network-group", metavar="NAME", help="Compare this network group (default: the only one).")
@RUNTIME_OPTION
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(
    hef: str,
    reference: ReferenceOptions,
    against: str,
    input: tuple[str, ...],
    inputs: str | None,
    fit: str | None,
    colour: str | None,
    seed: int,
    tolerance: float,
    network_group: str | None,
    runtime: str | None,
    as_json: bool,
) -> int:
    """Compare recorded outputs with a float model: SNR, PSNR, cosine, largest difference, top-k agreement.

    Exit code 6 if an output differs by more than the tolerance.
    """
    from emu.dataflow.frames import FrameBridge
    from emu.hef import open_hef
    from emu.images.given import input_files
    from emu.reference.choose import bind_file, hef_names, require_known_maps
    from emu.reference.compare import agreement, by_edge, recorded_frames, within_range
    from emu.reference.reference import Reference

    opened = open_hef(open_model(hef).source, runtime=runtime)
    group = _group(opened, hef, network_group)
    if len(reference.reference) != 1:
        raise CommandLineError("compare takes one --reference")
    names = hef_names([group])
    options = bind_options(reference, names)
    require_known_maps(options.maps, names)
    binding = bind_file(group, files_by_group(reference.reference, [group.name])[group.name], options)
    for text in binding.notes:
        note(text)
    model = Reference(binding)
    edges = {bound.edge.name: bound.edge for bound in binding.outputs if not bound.edge.nms_infos}
    arrays = _recorded(Path(against), list(edges))
    found = by_edge(edges.values(), arrays)
    if not found:
        raise CommandLineError(
            f"--against {against}: holds none of {', '.join(edges)}, only {', '.join(list(arrays)[:8]) or 'nothing'}"
        )
    recorded = {name: recorded_frames(edges[name], array) for name, array in found.items()}
    frames = min(len(one) for one in recorded.values())
    files, _ = input_files([group], input, inputs, fit, colour)
    bridge = FrameBridge(group, runtime=opened.runtime, files=files, frames=frames, seed=seed)
    made_up = [name for name, source in bridge.input_sources.items() if source.startswith("random")]
    if made_up:
        warn(f"{', '.join(made_up)}: no input is given, random ones of seed {seed} are compared")
    expected: dict[str, list[NDArray[Any]]] = {name: [] for name in recorded}
    with progress("computing", frames) as advance:
        for frame in range(frames):
            tensors = model.tensors(bridge.inputs_for(frame))
            for name in recorded:
                expected[name].append(within_range(edges[name], tensors[name]))
            advance(1)
    results = [
        agreement(edges[name], zip(expected[name], recorded[name], strict=False)) for name in edges if name in recorded
    ]
    different = [one.name for one in results if one.max_steps > tolerance]
    missing = [name for name in edges if name not in recorded]
    if as_json:
        print_document(
            {
                "network_group": group.name,
                "frames": frames,
                "tolerance": tolerance,
                "outputs": [_document(one) for one in results],
                "missing": missing,
                "equal": not different,
            }
        )
    else:
        say(_text(results, tolerance))
        for name in missing:
            note(f"{name} is not among the recorded outputs")
    return ExitCode.DIFFERENT if different else 0


def _group(hef: Any, name: str, network_group: str | None) -> NetworkGroupInfo:
    from emu.hef.infos import hef_infos

    groups = {group.name: group for group in hef_infos(hef).network_groups}
    if network_group is None and len(groups) != 1:
        there = f"{len(groups)} network groups ({', '.join(groups)})"
        raise CommandLineError(f"{name} has {there}: --network-group says which")
    chosen = network_group if network_group is not None else next(iter(groups))
    if chosen not in groups:
        near = similar(chosen, groups)
        raise CommandLineError(f"{name} has no network group {chosen!r}, only {listed(groups)}.{near}")
    return groups[chosen]


def _recorded(path: Path, names: list[str]) -> dict[str, NDArray[Any]]:
    """Arrays by output name: of an .npz, or of the files of a folder (`NN_NAME.npy` as `emu run` names them)."""
    from emu.arrays import open_array, open_arrays, output_file_name

    if not is_folder(path):
        return {name: file.load() for name, file in open_arrays(path).items()}
    found: dict[str, NDArray[Any]] = {}
    for file in sorted(path.iterdir()):
        if file.suffix not in (".npy", ".bin"):
            continue
        stem = file.stem.partition("_")[2] if file.stem[:2].isdigit() else file.stem
        for name in names:
            if output_file_name(0, name)[3:-4] in (stem, file.stem):
                found[name] = open_array(file).load()
    return found


def _document(one: Agreement) -> dict[str, Any]:
    return {
        key: value if not isinstance(value, float) or isfinite(value) else None for key, value in asdict(one).items()
    }


def _text(results: list[Agreement], tolerance: float) -> Iterator[str]:
    yield (
        f"{'output':<32} {'frames':>6} {'SNR dB':>8} {'PSNR dB':>8} {'cosine':>9} {'max diff':>11} {'steps':>8}"
        f" {'top-1':>7} {'top-5':>7}"
    )
    for one in results:
        shares = " ".join("      -" if share is None else f"{share:>7.2%}" for share in (one.top1, one.top5))
        verdict = "" if one.max_steps <= tolerance else "  differs"
        yield (
            f"{one.name:<32} {one.frames:>6} {one.snr:>8.2f} {one.psnr:>8.2f} {one.cosine:>9.6f} "
            f"{one.max_difference:>11.5g} {one.max_steps:>8.2f} {shares}{verdict}"
        )
