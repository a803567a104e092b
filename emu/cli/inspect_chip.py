"""`emu inspect HEF --chip`, `emu disasm HEF --chip`: what the configuration makes of the chip."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

from emu.cli.colour import Tone, marked
from emu.cli.document import print_document
from emu.cli.options import Model, located, open_output
from emu.cli.screen import say
from emu.errors import CommandLineError
from emu.hef import Hef, open_hef
from emu.hef.model import CoreOp
from emu.host.spec import HefSettings
from emu.hw.config.agreement import hazards_of
from emu.hw.config.listing import listing
from emu.hw.config.report import UNITS, chip_report, well_formed
from emu.sequencer.configuration import HAILO8, family_of, read_configuration

_UNITS = {
    "lcus": "LCUs",
    "sub_clusters": "sub-clusters",
    "input_aligners": "input aligners",
    "apus": "APUs",
    "l3_blocks": "L3 blocks",
}


def inspect(opened: Model, common: HefSettings, as_json: bool, dot: str | None) -> None:
    """Print what each list configures; with `dot` write the ways of the data as a Graphviz file."""
    with ExitStack() as files, located(opened.name):
        hef = open_hef(opened.source, runtime=common.runtime, from_memory=common.from_memory)
        if dot is not None and family_of(hef) != HAILO8:
            raise CommandLineError("--dot: the crossbar is only known of Hailo-8 files (chip-config.md 7)")
        target = open_output(dot, files)
        entries, hazards, known = [], [], False
        for place, core_op in _core_ops(hef):
            configuration = read_configuration(hef, core_op)
            known = known or well_formed(configuration)
            entries += [{**place, **entry} for entry in chip_report(configuration)]
            if well_formed(configuration):
                found = hazards_of(configuration)
                hazards += [{"rule": hazard.rule, "where": hazard.where, "what": hazard.what} for hazard in found]
        if target is not None:
            target.stream.write("\n".join([*_dot(entries), ""]).encode())
            target.commit()
    if as_json:
        print_document(
            {"model": {"file": opened.name}, "well_formed": known, "chip": entries, "hazards": hazards}, indent=True
        )
        return
    tones = {"no hazard:": Tone.GOOD, f"{len(hazards)} hazards": Tone.BAD}
    say(marked(_text(opened.name, known, entries, hazards), tones))


def disassemble(opened: Model) -> None:
    """Print every list of every core op as lines."""
    with located(opened.name):
        hef = open_hef(opened.source)
        for place, core_op in _core_ops(hef):
            configuration = read_configuration(hef, core_op)
            layout = f", cluster layout {place['cluster_layout']}" if "cluster_layout" in place else ""
            meaning = "" if well_formed(configuration) else " (not well formed: what records say has no known meaning)"
            say([f"=== {place['network_group']}{layout}{meaning}", *listing(configuration)])


def _core_ops(hef: Hef) -> Iterator[tuple[dict[str, Any], CoreOp]]:
    """Every core op of every network group, one for each cluster layout, with what tells them apart."""
    for group in hef.network_groups:
        core_op = group.core_op
        if core_op is None:
            continue
        name = {"network_group": group.network_group_name}
        for partial in core_op.partial_core_ops:
            yield {**name, "cluster_layout": partial.layout.partial_clusters_layout_bitmap}, partial.core_op
        if core_op.contexts and not core_op.partial_core_ops:
            yield name, core_op


def _text(name: str, known: bool, entries: list[dict[str, Any]], hazards: list[dict[str, str]]) -> Iterator[str]:
    yield f"{name}: what its configuration makes of the chip"
    if not known:
        yield "  The configuration is not well formed (docs/chip.md): its bytes have no meaning that is known."
        return
    for entry in entries:
        layout = f", cluster layout {entry['cluster_layout']}" if "cluster_layout" in entry else ""
        yield ""
        yield f"{entry['network_group']}{layout}, {entry['context']}: {entry['records']} records"
        for cluster in entry["clusters"]:
            yield from _cluster(cluster)
        for number, group in enumerate(entry.get("groups", ()), 1):
            lcus = " ".join(f"{lcu['cluster']}.{lcu['lcu']}" for lcu in group)
            yield f"  group {number}, enabled in this order: {lcus}"
        for stream in entry["streams"]:
            values = ", ".join(_register(register) for register in stream["registers"])
            yield f"  {stream['direction']} stream {stream['sys_index']:>2} {stream['name']}: {values}"
        for way in entry.get("ways", ()):
            yield f"  {way['from']} -> {way['to']}"
        used = ", ".join(f"{value} % of {_UNITS[unit]}" for unit, value in entry["utilisation"].items())
        yield f"  in use: {used}"
    yield ""
    yield f"{len(hazards)} hazards" if hazards else "no hazard: records, programs and actions agree"
    for hazard in hazards:
        yield f"  {hazard['rule']}: {hazard['where']}: {hazard['what']}"


def _counted(count: int, unit: str) -> str:
    return f"{count:,} {unit}" + ("" if count == 1 else "s")


def _cluster(cluster: dict[str, Any]) -> Iterator[str]:
    program = cluster["program"]
    ends = "ends" if program["ends"] else "no program" if not program["packets"] else "BREAKS OFF"
    units = ", ".join(_counted(len(cluster[key]), unit) for key, unit in UNITS.items())
    started = _counted(program["programs"], "program")
    size = f"{_counted(program['packets'], 'packet')}, {_counted(program['words'], 'word')}"
    yield f"  cluster {cluster['index']}: LCUs {_ranges(cluster['lcus'])}; {units}; {started} of {size}: {ends}"
    if cluster["l2_pages"]:
        pages = sum(len(one["pages"]) for one in cluster["l2_pages"])
        units = _ranges([one["sub_cluster"] for one in cluster["l2_pages"]])
        yield f"    L2: {pages} pages of 4 KB in sub-clusters {units}"
    if len(cluster.get("ring", ())) > 1:
        steps = (f"{one['slot']}:{_ranges(one['lcus']) if one['lcus'] else 'boot'}" for one in cluster["ring"])
        yield f"    ring of slots and the LCUs they start: {' '.join(steps)}"
    for kind in ("program", "data"):
        blocks = [block for block in cluster["l3_blocks"] if block["kind"] == kind]
        if blocks:
            plain, stored = (sum(block[key] for block in blocks) for key in ("bytes", "compressed_bytes"))
            numbers = _ranges([block["index"] for block in blocks])
            yield f"    L3 {kind} blocks {numbers}: {plain:,} bytes, {stored:,} as stored"


def _register(register: dict[str, Any]) -> str:
    value = "nothing" if register["value"] is None else f"0x{register['value']:X}"
    return f"{register['address']} = {value}" + ("" if register["agrees"] else " (DISAGREES)")


def _ranges(numbers: list[int]) -> str:
    """`0-3 5 7-8`."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return " ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in parts) or "none"


def _dot(entries: list[dict[str, Any]]) -> Iterator[str]:
    yield "digraph chip {"
    yield "  rankdir=LR; node [shape=box];"
    for number, entry in enumerate(entries):
        names = {f"stream {stream['sys_index']}": stream["name"] for stream in entry["streams"]}
        layout = f" layout {entry['cluster_layout']}" if "cluster_layout" in entry else ""
        yield f"  subgraph cluster_{number} {{"
        yield f"    label={_quoted(entry['network_group'] + layout + ' ' + entry['context'])};"
        for cluster in entry["clusters"]:
            label = f"cluster {cluster['index']}\\n{len(cluster['lcus'])} LCUs"
            yield f'    "{number}/cluster {cluster["index"]}" [label="{label}"];'
        for way in entry.get("ways", ()):
            source, sink = way["from"], way["to"]
            ends = [_node(number, end) for end in (source, sink)]
            yield f"    {ends[0]} -> {ends[1]} [label={_quoted(f'{_port(source)} {_port(sink)}'.strip())}];"
        for stream, name in names.items():
            yield f"    {_node(number, stream)} [shape=ellipse, label={_quoted(name)}];"
        yield "  }"
    yield "}"


def _node(number: int, end: str) -> str:
    words = end.split()
    return _quoted(f"{number}/{' '.join(words[:2])}")


def _port(end: str) -> str:
    """`OB 5`, `IB 2`: the buffer of a cluster."""
    words = end.split()
    return f"{words[2][0].upper()}B {words[-1]}" if words[0] == "cluster" else ""


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
