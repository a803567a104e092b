"""What the lists of a core-op make of the chip, as plain data for people and scripts (`emu inspect --chip`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from emu.hw.config.addresses import L2_START, LCUS, MAPS, SUB_CLUSTER_END, ChipMap
from emu.hw.config.agreement_hailo8 import groups_of
from emu.hw.config.execute import Executor, ListRun, Run
from emu.hw.config.image import ChipImage
from emu.hw.config.packets import l2_starts
from emu.hw.config.records import is_well_formed
from emu.hw.config.routing import Routing
from emu.hw.config.streams import context_of, registers_of
from emu.sequencer.configuration import HAILO8, Configuration

_L2_PAGE = 0x1000
UNITS = {"sub_clusters": "sub-cluster", "input_aligners": "input aligner", "apus": "APU"}


def well_formed(configuration: Configuration) -> bool:
    """Whether the configuration means anything (units.md 0)."""
    return any(is_well_formed(configuration.family, one.steps) for one in configuration.lists)


def chip_report(configuration: Configuration) -> list[dict[str, Any]]:
    """One entry for each list that holds records, in the order of lists; empty where they mean nothing.

    `ways` (Hailo-8) are the ways through the crossbar, from and to a stream, a buffer of a cluster or a converter;
    `groups` (Hailo-8) are the LCUs in the groups in which they are enabled, `ring` (1xh, a cluster's) its commands from
    slot 0 on. `utilisation` is in percent of all units of the chip.
    """
    if not well_formed(configuration):
        return []
    executor = Executor(configuration.family)
    found = []
    for steps in configuration.lists:
        run = executor.execute(steps)
        if len(run.records):
            found.append(_entry(configuration, run, executor.image))
    return found


def _entry(configuration: Configuration, run: ListRun, image: ChipImage) -> dict[str, Any]:
    chip = image.chip
    clusters = [_cluster(chip, run, image, cluster) for cluster in range(chip.clusters)]
    used = [cluster for cluster in clusters if cluster["l3_blocks"] or cluster["lcus"] or cluster["sub_clusters"]]
    entry: dict[str, Any] = {
        "context": run.source.name.replace(" ", "_"),
        "records": len(run.records),
        "records_refused": len(run.outcome.refused),
        "clusters": used,
        "streams": list(_streams(configuration, run, image)),
        "config_done": sorted(raised.interrupt for raised in run.raises),
        "utilisation": _utilisation(chip, used),
    }
    if configuration.family == HAILO8:
        entry["groups"] = [[{"cluster": step.cluster, "lcu": step.lcu} for step in group] for group in groups_of(run)]
        entry["ways"] = [{"from": str(source), "to": str(sink)} for source, sink in Routing(image).ways()]
    return entry


def _cluster(chip: ChipMap, run: ListRun, image: ChipImage, cluster: int) -> dict[str, Any]:
    runs = [one for one in run.runs if one.cluster == cluster]
    visited = {block for one in runs for block in one.program.blocks}
    units: dict[str, set[int]] = {name: set() for name in UNITS}
    for one in runs:
        for name, unit in UNITS.items():
            units[name] |= one.effects.units(unit)
    for number in range(len(run.records)):
        place = chip.place(int(run.records.address[number]))
        if place.cluster == cluster and place.unit == "sub-cluster" and place.number is not None:
            units["sub_clusters"].add(place.number)
    described: dict[str, Any] = {
        "index": cluster,
        "lcus": sorted({lcu for one in runs for lcu in one.effects.lcus}),
        **{name: sorted(numbers) for name, numbers in units.items()},
        "l3_blocks": [
            _block(image, cluster, block, block in visited)
            for block in sorted({stored.block for stored in run.stored if stored.cluster == cluster})
        ],
        "program": {
            "programs": len(runs),
            "packets": sum(len(one.program.packets) for one in runs),
            "words": sum(one.program.words for one in runs),
            "ends": bool(runs) and all(one.program.broken is None for one in runs),
        },
    }
    broken = [one.program.broken for one in runs if one.program.broken is not None]
    if broken:
        described["program"]["broken"] = [f"L3 block {b.block} +{b.offset:#x}: {b.why}" for b in broken]
    described["l2_pages"] = [{"sub_cluster": unit, "pages": pages} for unit, pages in sorted(_l2_pages(runs).items())]
    slots = [one.command for one in runs if one.command is not None]
    if slots:
        described["slots"] = sorted({command.slot for command in slots})
        described["ring"] = list(_ring(runs))
    return described


def _l2_pages(runs: list[Run]) -> dict[int, list[int]]:
    """The pages of L2 (4 KB each, four a sub-cluster) that programs write, by sub-cluster."""
    found: dict[int, list[int]] = {}
    for one in runs:
        if one.trigger is not None:
            for unit, start in l2_starts(one.trigger).items():
                found[unit] = list(range((start - L2_START) // _L2_PAGE, (SUB_CLUSTER_END - L2_START) // _L2_PAGE))
    return found


def _ring(runs: list[Run]) -> Iterator[dict[str, Any]]:
    """The commands of a cluster from slot 0 on, each with the LCUs that its program starts (1xh)."""
    slots = {one.command.slot: one for one in runs if one.command is not None}
    slot: int | None = 0
    while slot is not None and slot in slots:
        one = slots.pop(slot)
        command, slot = one.command, None
        if command is not None:
            lcus = sorted(one.effects.started)
            yield {"slot": command.slot, "l3_block": command.block, "next": command.next_slot, "lcus": lcus}
            slot = command.next_slot


def _block(image: ChipImage, cluster: int, block: int, is_program: bool) -> dict[str, Any]:
    held, size = image.l3[cluster].block(block), image.l3[cluster].sizes[block]
    plain = 0 if held is None else sum(end - start for start, end in held.spans)
    return {
        "index": block,
        "kind": "program" if is_program else "data",
        "bytes": plain,
        "compressed_bytes": size.bytes if size.compressed else plain,
    }


def _streams(configuration: Configuration, run: ListRun, image: ChipImage) -> Iterator[dict[str, Any]]:
    context = context_of(configuration, run)
    if context is None:
        return
    for edge in configuration.lists[context + 1].streams:
        registers = []
        for address, expected in registers_of(configuration, edge).items():
            value = image.word(address)
            registers.append({"address": f"0x{address:08X}", "value": value, "agrees": value == expected})
        yield {
            "name": edge.name,
            "sys_index": edge.sys_index,
            "direction": "h2d" if edge.is_input else "d2h",
            "registers": registers,
        }


def units_of(family: str) -> dict[str, int]:
    """How many units of each kind a cluster has, by the keys of a cluster's entry."""
    chip = MAPS[family]
    banks = {name: chip.bank(unit).units for name, unit in UNITS.items()}
    return {"lcus": LCUS, **banks, "l3_blocks": chip.bank("L3 block").units}


def _utilisation(chip: ChipMap, clusters: list[dict[str, Any]]) -> dict[str, float]:
    return {
        name: round(100 * sum(len(cluster[name]) for cluster in clusters) / (each * chip.clusters), 1)
        for name, each in units_of(chip.family).items()
    }
