"""Configuration as readable lines: records, programs and registers by name (`emu disasm --chip`)."""

from __future__ import annotations

from collections.abc import Iterator

from emu.hw.config.addresses import ChipMap
from emu.hw.config.commands import command_of
from emu.hw.config.execute import Executor, Run
from emu.hw.config.records import Records, Words
from emu.sequencer.configuration import (
    CcwRecords,
    Configuration,
    DisableLcu,
    EnableLcu,
    LcuInterrupt,
    Step,
    SwitchLcuBatch,
    TriggerSequencer,
    WaitConfigDone,
    WaitSequencer,
    WriteData,
)

_SHOWN = 8  # words of a packet or record that are printed
_KINDS = {0: "", 1: " over sub-clusters", 2: " over APUs", 3: " over L2", 4: " over input aligners"}


def listing(configuration: Configuration) -> Iterator[str]:
    """Every step of every list in order, each program behind what starts it."""
    executor = Executor(configuration.family)
    chip = executor.chip
    for steps in configuration.lists:
        yield f"== {steps.name}"
        run = executor.execute(steps)
        records = run.records
        started: dict[int, list[Run]] = {}
        for one in run.runs:
            started.setdefault(one.step, []).append(one)
        numbers: dict[int, list[int]] = {}
        for record, step in enumerate(records.step.tolist()):
            numbers.setdefault(step, []).append(record)
        broken = dict(records.broken)
        for number, step in enumerate(steps.steps):
            if isinstance(step, CcwRecords):
                for record in numbers.get(number, ()):
                    yield f"{number:>5}  {_record(chip, records, record)}"
                if number in broken:
                    yield f"{number:>5}  config channel {step.channel}: no record at byte {broken[number]}"
            else:
                yield f"{number:>5}  {_step(chip, step)}"
            for one in started.get(number, ()):
                yield from _program(chip, one)


def _record(chip: ChipMap, records: Records, record: int) -> str:
    address, channel = int(records.address[record]), int(records.channel[record])
    value, size = int(records.value[record]), int(records.length[record])
    text = f"ch{channel} {chip.name(address)}"
    cluster = chip.cluster_of(address) if records.is_register_write[record] else None
    command = None if cluster is None else command_of(cluster, address, value)
    if address == chip.raise_register:
        bits = " ".join(str(bit) for bit in range(value.bit_length()) if value >> bit & 1)
        text = f"ch{channel} raise config-done {bits}"
    elif command is not None:
        text += (
            f" = 0x{value:08X}: command phase {command.phase}, L3 block {command.block}, "
            f"slot {command.slot}, next {command.next_slot}"
        )
    elif records.is_register_write[record]:
        text += f" = 0x{value:08X}"
    else:
        packed = " compressed" if records.is_compressed[record] or "compressed" in text else ""
        text += f": {size:,} bytes{packed}" + ("" if packed else f"  {_words(records.words(record))}")
    if records.is_fence[record]:
        text += "  fence"
    return text if records.is_right[record] else f"{text}  WRONG CHECK VALUE"


def _words(words: Words) -> str:
    shown = " ".join(f"{word:08X}" for word in words[:_SHOWN].tolist())
    return shown + (" …" if len(words) > _SHOWN else "")


def _step(chip: ChipMap, step: Step) -> str:
    match step:
        case WaitConfigDone(interrupt):
            return f"wait for config-done {interrupt}"
        case TriggerSequencer():
            return (
                f"trigger cluster {step.cluster}: L3 block {step.l3_index} +0x{step.l3_offset:X}, "
                f"sub-clusters 0x{step.active_sc:X}, APUs 0x{step.active_apu:X}, input aligners 0x{step.active_ia:X}, "
                f"L2 0x{step.active_l2:X}"
            )
        case WaitSequencer(cluster):
            return f"wait for the sequencer of cluster {cluster}"
        case EnableLcu(cluster, lcu):
            return f"enable cluster {cluster} LCU {lcu}"
        case DisableLcu(cluster, lcu):
            return f"disable cluster {cluster} LCU {lcu}"
        case SwitchLcuBatch(cluster, lcu):
            return f"batch of cluster {cluster} LCU {lcu}"
        case LcuInterrupt(cluster, lcu):
            return f"after cluster {cluster} LCU {lcu} is done"
        case WriteData(address, data):
            value = "the batch size" if data is None else data.hex()
            return f"write {chip.name(address)} = {value}"
    return str(step)


def _program(chip: ChipMap, run: Run) -> Iterator[str]:
    program, window = run.program, chip.window(run.cluster)
    yield f"         program of cluster {run.cluster}: {len(program.packets)} packets, {program.words:,} words"
    for packet in program.packets:
        place = chip.place(window + packet.address)
        name = place.unit if place.number is None else f"{place.unit} {place.number}"
        yield (
            f"           block {packet.block:>3} +0x{packet.offset:04X}  {name} +0x{place.offset:X}"
            f"{_KINDS[packet.kind]}: {len(packet.words)} words  {_words(packet.words)}"
        )
    if program.broken is not None:
        broken = program.broken
        yield f"           BREAKS OFF at block {broken.block} +0x{broken.offset:X}: {broken.why}"
