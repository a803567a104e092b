"""A HEF in one line: what it is for, what goes in and out, how fast, which HailoRT loads it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from emu.errors import EmuError
from emu.hef import Hef
from emu.hef.devices import ARCH_DEVICES
from emu.hef.infos import NetworkGroupInfo, VStreamInfo, hef_infos
from emu.hef.oldest import loads_since
from emu.hef.runtime import Runtime, any_release, release_name, spans
from emu.hef.words import architecture_of, dims
from emu.host.estimate import compile_batch
from emu.sequencer.acceptance import Acceptance
from emu.sequencer.options import CompileOptions
from emu.timing.estimate import Conditions, estimate_compiled
from emu.timing.estimate import compile_batch as compile_bare

if TYPE_CHECKING:
    from emu.graph.ir import Graph


def one_line(hef: Hef, accepted: Sequence[Acceptance], loaded: bool = False, answers: Sequence[Acceptance] = ()) -> str:
    """What a person asks first of a file.

    `accepted`: who takes it, the one that the FPS are estimated for first; `loaded`: somebody loads it; `answers`: of
    everybody who was asked.
    """
    parts = [f"{architecture_of(hef.header.hw_arch)} HEF V{hef.container.version}"]
    try:
        groups = hef_infos(hef).network_groups
    except EmuError:
        groups = ()
    if len(groups) > 1:
        parts.append(f"{len(groups)} network groups: {', '.join(group.name for group in groups)}")
    for group in groups[:1]:
        first = f"first {group.name}: " if len(groups) > 1 else ""
        parts += [f"{first}{_ports(group.input_vstreams, 'input')}", _outputs(group)]
        contexts = group.dynamic_contexts
        parts.append(f"{contexts} context{'s' * (contexts != 1)}")
    if accepted:
        parts += _speed(hef, accepted[0], groups)
    since = loads_since(hef) if accepted or loaded else None
    if since is not None:
        parts.append(f"its file is read by HailoRT {since} and later")
        parts += _refused_since(hef, since, answers)
    return ", ".join(parts)


def _refused_since(hef: Hef, since: Runtime, answers: Sequence[Acceptance]) -> list[str]:
    """Later releases that read the file and refuse it all the same, whatever the device, in words."""
    takers = {one.runtime for one in answers if one.error is None}
    decisive = [one for one in answers if one.device in (None, *own_devices(hef)[:1]) and one.runtime not in takers]
    refusals: dict[str, list[str]] = {}
    for one in decisive:
        if one.error is not None and any_release(one.runtime) >= since:
            refusals.setdefault(one.error.name, []).append(one.runtime)
    return [f"{spans(runtimes)} refuse{'s' * (len(runtimes) == 1)} it: {name}" for name, runtimes in refusals.items()]


def own_devices(hef: Hef) -> list[str]:
    """The devices of the file's architecture, the one it is for first."""
    return [name.lower() for name in ARCH_DEVICES.get(hef.header.hw_arch, ())]


def accepted_first(hef: Hef, answers: Iterable[Acceptance]) -> list[Acceptance]:
    """Those that accept a file on a device, its own devices first."""
    own = own_devices(hef)
    accepted = [one for one in answers if one.error is None and one.device is not None]
    return sorted(accepted, key=lambda one: own.index(one.device) if one.device in own else len(own))


def graph_line(graph: Graph, nodes: int, gears: int) -> str:
    """The same of an OM or MS graph that runs."""
    parts = [f"{graph.format.upper()} graph"]
    for ports, what in ((graph.inputs, "input"), (graph.outputs, "output")):
        tensors = [graph.tensors[port.tensor] for port in ports]
        text = f"{len(ports)} {what}{'s' * (len(ports) != 1)}"
        parts.append(text + (f" {tensors[0].dtype} {dims(list(tensors[0].shape))}" if len(tensors) == 1 else ""))
    parts.append(f"{nodes} nodes")
    return ", ".join(parts + [f"{gears} gears"] * bool(gears))


def _outputs(group: NetworkGroupInfo) -> str:
    by_nms = [one for one in group.output_vstreams if one.nms_shape is not None]
    raw = [one for one in group.output_vstreams if one.nms_shape is None]
    parts = [
        f"NMS of {one.nms_shape.number_of_classes} classes on the {'host' if group.ops else 'chip'}"
        for one in by_nms
        if one.nms_shape is not None
    ]
    return " and ".join(parts + ([_ports(raw, "output")] if raw or not parts else []))


def _ports(vstreams: Sequence[VStreamInfo], what: str) -> str:
    """`2 outputs UINT8 NHWC 80x80x8`: the format of all, the shape of one; of several shapes their number alone."""
    formats = Counter(f"{one.format.type.name} {one.format.order.name}" for one in vstreams)
    count = f"{len(vstreams)} {what}{'s' * (len(vstreams) != 1)}"
    if len(formats) != 1:
        return count
    shapes = {dims(list(one.shape)) for one in vstreams if one.shape is not None}
    return f"{count} {next(iter(formats))}" + (f" {shapes.pop()}" if len(shapes) == 1 else "")


def _speed(hef: Hef, first: Acceptance, groups: Sequence[NetworkGroupInfo]) -> list[str]:
    layout = first.cluster_layouts[0] if first.cluster_layouts else None
    options = CompileOptions(
        device=first.device, cluster_layout=layout, network_group=groups[0].name if groups else None
    )
    try:
        opened = hef if hef.runtime == release_name(first.runtime) else hef.reopen(first.runtime)
        # what a network of one context configures is loaded once: its programs change no FPS
        several = any(group.dynamic_contexts > 1 for group in groups[:1])
        compiled = (compile_batch if several else compile_bare)(opened, options, 1)
        fps = estimate_compiled(opened, [compiled], Conditions()).batches[0].fps
    except EmuError:
        return []
    return [f"~{fps:,.0f} FPS on {first.device} (estimated)"] if fps else []
