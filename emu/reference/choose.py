"""From what a caller names as a reference to what a run asks: files and functions, for one network group or several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from emu.dataflow.edges import output_edges
from emu.errors import UsageError
from emu.hef.infos import NetworkGroupInfo
from emu.naming import full_name, listed, similar, with_full_names
from emu.reference.binding import Binding, BindOptions, bind
from emu.reference.models import open_reference
from emu.reference.reference import Function, FunctionReference, GroupReference, Reference, References

Source = str | Path | Function


def choose_references(
    groups: Sequence[NetworkGroupInfo],
    reference: Source | Mapping[str, Source],
    options: BindOptions | None = None,
) -> References:
    """The references of a run's groups: a file or a function for the only group, or by group name.

    UsageError where it is not clear which group is meant, or a name of `options.maps` is none of any group's;
    HAILO_NOT_FOUND (exit code 3) where a stream is bound to nothing.
    """
    options = options or BindOptions()
    names = [group.name for group in groups]
    if isinstance(reference, Mapping):
        by_group = dict(reference)
    elif len(groups) == 1:
        by_group = {names[0]: reference}
    else:
        raise UsageError(f"which of {', '.join(names)} is the reference for? {{name: reference}} says so")
    unknown = [name for name in by_group if name not in names]
    if unknown:
        raise UsageError(f"there is no network group {unknown[0]!r}, only {', '.join(names)}")
    require_known_maps(options.maps, hef_names(groups))
    found: list[GroupReference | None] = []
    notes: list[str] = []
    for position, group in enumerate(groups):
        source = by_group.get(group.name)
        if source is None:
            found.append(None)
        elif isinstance(source, str | Path):
            binding = bind_file(group, Path(source), options)
            notes += binding.notes
            found.append(Reference(binding))
        elif callable(source):
            found.append(FunctionReference(group, source, position))
        else:
            raise UsageError(f"a reference is a file or a callable, not {type(source).__name__}")
    return References(found, notes)


def bind_file(group: NetworkGroupInfo, path: Path, options: BindOptions) -> Binding:
    """The model in a file bound to a group; the maps of other groups are left out."""
    known = set(hef_names([group]))
    maps = {name: tensor for name, tensor in with_full_names(options.maps, known).items() if name in known}
    return bind(group, open_reference(path), replace(options, maps=maps))


def hef_names(groups: Sequence[NetworkGroupInfo]) -> list[str]:
    """Every name that a map may have: vstreams, streams, output edges and the edges inside the network."""
    found: dict[str, None] = {}
    for group in groups:
        found.update(dict.fromkeys(vstream.name for vstream in group.vstreams))
        found.update(dict.fromkeys(stream.name for stream in group.streams))
        found.update(dict.fromkeys(edge.name for edge in output_edges(group)))
        found.update(dict.fromkeys(layer.name for context in group.layers for layer in context))
    return list(found)


def require_known_maps(maps: Mapping[str, str], names: Sequence[str]) -> None:
    """UsageError for a map that names nothing."""
    for name in maps:
        if full_name(name, names) is None:
            what = f"there is no such vstream or stream; there are {listed(names)}.{similar(name, names)}"
            raise UsageError(f"--map {name}: {what}")
