"""chip-config.md 4 to 7 and units.md 1 to 4 over the given files: counted here, and as hazards that no file shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from msgspec.structs import astuple

from emu.hw.config.addresses import MAPS
from emu.hw.config.agreement import hazards_of
from emu.hw.config.commands import GO, command_of
from emu.hw.config.execute import Executor, ListRun
from emu.hw.config.routing import Port, Routing
from emu.hw.config.streams import GEOMETRY_HAILO8
from emu.sequencer.configuration import (
    BOUNDARY,
    HAILO1XH,
    HAILO8,
    Configuration,
    DisableLcu,
    EnableLcu,
    LcuInterrupt,
    StreamEdge,
    SwitchLcuBatch,
    TriggerSequencer,
    WaitConfigDone,
    WaitSequencer,
)
from emu.trace.hazards import HAZARDS
from tests.conftest import needs_shared
from tests.hw.configured import Layout, configurations, layouts, runs_1xh

pytestmark = needs_shared


def test_no_given_file_shows_a_hazard() -> None:
    for name, configuration in configurations():
        assert hazards_of(configuration) == [], name


def test_raises_are_the_waits() -> None:
    """12 of 12 lists: the same indices, none awaited before its record (units.md 1)."""
    lists = 0
    runs = [executed.runs[0] for _, _, executed in layouts()] + [run for _, _, runs in runs_1xh() for run in runs]
    for run in runs:
        waits = {step.interrupt: n for n, step in enumerate(run.source.steps) if isinstance(step, WaitConfigDone)}
        raised = {raised.interrupt: raised.step for raised in run.raises}
        assert len(run.raises) == len(raised) and raised.keys() == waits.keys()
        assert all(raised[interrupt] < waits[interrupt] for interrupt in waits)
        lists += 1
    assert lists == 12


def test_programs_write_the_lcus_that_are_enabled() -> None:
    """46 clusters, 511 LCUs; each gets 0 in its enable register and 2 at +0x12C (chip-config.md 4)."""
    clusters = lcus = 0
    for _, _, executed in layouts():
        run = executed.runs[0]
        for started in run.runs:
            enabled = {
                step.lcu for step in run.source.steps if isinstance(step, EnableLcu) and step.cluster == started.cluster
            }
            assert started.effects.lcus == enabled
            for lcu in enabled:
                block = 0x800000 + lcu * 0x20000
                assert started.effects.last(block + 0x1DC) == 0
                assert started.effects.last(block + 0x12C) == 2
            clusters += 1
            lcus += len(enabled)
    assert (clusters, lcus) == (46, 511)


def test_disable_order_is_the_reverse_of_the_enable_order() -> None:
    for _, _, executed in layouts():
        steps = executed.runs[0].source.steps
        disabled = [astuple(step) for step in steps if isinstance(step, DisableLcu)]
        assert disabled == [astuple(step) for step in steps if isinstance(step, EnableLcu)][::-1]
        first = min(stored.step for stored in executed.runs[0].stored)  # symbol tables may come before
        assert all(n < first for n, step in enumerate(steps) if isinstance(step, DisableLcu))


def test_blocks_and_the_raise_of_their_cluster() -> None:
    """405 program blocks before the raise 5 + c, 151 data blocks after it, all on the channel that raises."""
    counts: Counter[str] = Counter()
    for _, _, executed in layouts():
        run = executed.runs[0]
        raises = {raised.interrupt: raised for raised in run.raises}
        visited = {started.cluster: set(started.program.blocks) for started in run.runs}
        for stored in run.stored:
            raised = raises[5 + stored.cluster]
            assert stored.channel == raised.channel == stored.cluster // 4
            is_program = stored.block in visited[stored.cluster]
            assert (stored.step < raised.step) == is_program
            counts["program" if is_program else "data"] += 1
    assert counts == {"program": 405, "data": 151}


def test_order_of_waits_and_groups() -> None:
    """(5 + c, trigger c) rising, sequencers, 18 19 17, then the pairs between the groups (chip-config.md 6)."""
    for _, _, executed in layouts():
        steps = executed.runs[0].source.steps
        kinds = (WaitConfigDone, TriggerSequencer, WaitSequencer, EnableLcu)
        order = [step for step in steps if isinstance(step, kinds)]
        clusters = [step.cluster for step in order if isinstance(step, TriggerSequencer)]
        assert clusters == sorted(clusters)
        enables = [step for step in order if isinstance(step, EnableLcu)]
        group = -(-len(enables) // 4)
        expected: list[object] = []
        for cluster in clusters:
            expected += [WaitConfigDone(5 + cluster), cluster]
        expected += [WaitSequencer(cluster) for cluster in clusters]
        expected += [WaitConfigDone(interrupt) for interrupt in (18, 19, 17)]
        for number, pair in enumerate(((20, 21), (22, 23), (24, 25), (13, 14))):
            expected += enables[number * group : (number + 1) * group]
            expected += [WaitConfigDone(interrupt) for interrupt in pair]
        found = [step.cluster if isinstance(step, TriggerSequencer) else step for step in order]
        assert Counter(map(str, found)) == Counter(map(str, expected))
        assert [step for step in found if not isinstance(step, WaitSequencer)] == [
            step for step in expected if not isinstance(step, WaitSequencer)
        ]


def test_stream_registers() -> None:
    """All edge layers of the Hailo-8 layouts, and of every 1xh list those of the context that it describes."""
    edges = 0
    for _, configuration, executed in layouts():
        streams = configuration.lists[1].streams
        held = executed.image.words(GEOMETRY_HAILO8.base, 32).words
        for edge in streams:
            assert int(held[edge.sys_index]) == edge.core_buffers_per_frame << 16 | edge.core_bytes_per_buffer
        assert sum(held != 0) == len(streams)
        edges += len(streams)
        assert executed.image.word(0x202408E4) == sum({1 << (edge.sys_index >> 1) for edge in streams})
        assert executed.image.word(0x300002C8) == (0 if configuration.periph_in_hailort else 0x800000)
        for edge in streams:
            assert executed.image.word(0x300000C4 + 4 * edge.sys_index) == hailo8_row(configuration, edge)
    assert edges == 28


def hailo8_row(configuration: Configuration, edge: StreamEdge) -> int:
    """The row register of chip-config.md 7 as it stands there."""
    if not configuration.hw_padding or edge.connection != BOUNDARY:
        return 0
    if edge.format in (0, 2):
        return edge.width * edge.features * edge.data_bytes
    return edge.width * edge.data_bytes if edge.format == 1 and edge.is_input else 0


def test_stream_registers_of_1xh() -> None:
    """In list k those of context k + 1: geometry, mode and row of every stream, inputs and outputs."""
    counts: Counter[bool] = Counter()
    for _, configuration in configurations():
        executor = Executor(configuration.family)
        for steps in configuration.lists if configuration.family == HAILO1XH else ():
            if not len(executor.execute(steps).records):
                continue
            described = 0 if steps.context is None else (steps.context + 1) % configuration.contexts
            for edge in configuration.lists[1 + described].streams:
                geometry, mode, row = (0x2C000098, 0x2C000138, 0x2C000188) if edge.is_input else (
                    0x2C000918, 0x2C0009B8, 0x2C000A08
                )  # fmt: skip
                at = 4 * edge.sys_index
                size = edge.core_buffers_per_frame << 16 | edge.core_bytes_per_buffer
                assert executor.image.word(geometry + at) == size
                assert executor.image.word(mode + at) == (0x40002 if edge.is_input else 0x800)
                wide = edge.features if edge.format == 2 and not edge.is_input else edge.width
                assert executor.image.word(row + at) == wide
                counts[edge.is_input] += 1
    assert counts[True] >= 4 and counts[False] >= 12


def test_crossbar() -> None:
    """Every input buffer that a program configures is routed, every output buffer is read; the tables form a ring."""
    tables = equal = 0
    for _, configuration, executed in layouts():
        routing = Routing(executed.image)
        for started in executed.runs[0].runs:
            inputs = started.effects.units("input buffer")
            assert routing.routed_inputs(started.cluster) >= inputs
            assert routing.read_outputs(started.cluster) >= started.effects.units("output buffer")
            equal += routing.routed_inputs(started.cluster) == inputs
        tables += 4
        ends = [port for way in routing.ways() for port in way if port.kind == "stream"]
        used = {edge.sys_index for edge in configuration.lists[1].streams}
        assert {port.number for port in ends} >= used
    assert tables == 32 and equal > 30
    source, sink = Port("stream", -1, 3), Port("input buffer", 4, 2)
    assert (str(source), str(sink)) == ("stream 3", "cluster 4 input buffer 2")


def test_rings_of_commands() -> None:
    """10 rings: boot, then one LCU a slot; their LCUs are those that the first context awaits or arms."""
    rings = lcus = 0
    for _, configuration, runs in runs_1xh():
        armed = {(s.cluster, s.lcu) for s in runs[0].source.steps if isinstance(s, SwitchLcuBatch)}
        ring_lcus = []
        for cluster in range(5):
            slots = {run.command.slot: run for run in runs[0].runs if run.cluster == cluster and run.command}
            slot, order = 0, []
            while len(order) < len(slots):
                order.append(slots[slot])
                command = slots[slot].command
                assert command is not None
                slot = command.next_slot
            assert slot == 0 and len({id(run) for run in order}) == len(slots)
            assert not order[0].effects.lcus
            assert [len(run.effects.started) for run in order[1:]] == [1] * (len(order) - 1)
            ring_lcus += [(cluster, lcu) for run in order[1:] for lcu in run.effects.started]
            rings += 1
        lcus += len(ring_lcus)
        if configuration.contexts == 1:
            assert set(ring_lcus) == armed
        else:
            awaited = [interrupts(steps.steps) for steps in configuration.lists[1:]]
            assert sorted(ring_lcus) == sorted(awaited[0])
            assert set().union(*map(set, awaited)) == armed
    assert rings == 10 and lcus == 156 - 10 - 10


def interrupts(steps: tuple[object, ...]) -> list[tuple[int, int]]:
    return [(step.cluster, step.lcu) for step in steps if isinstance(step, LcuInterrupt)]


def test_sequencer_done_is_awaited_once_for_each_command_that_closes_its_ring() -> None:
    for _, _, runs in runs_1xh():
        for run in runs:
            closing = Counter(one.cluster for one in run.runs if one.command and one.command.next_slot == 0)
            waits = Counter(step.cluster for step in run.source.steps if isinstance(step, WaitSequencer))
            assert closing == waits


def test_dynamic_lists_configure_and_start_the_next_context() -> None:
    triggers = 0
    for _, configuration, runs in runs_1xh():
        for run in runs[1:]:
            assert run.source.context is not None
            following = configuration.lists[1 + (run.source.context + 1) % configuration.contexts]
            expected = interrupts(following.steps)
            for cluster in range(5):
                lcus = {lcu for c, lcu in expected if c == cluster}
                trigger, last = [one for one in run.runs if one.cluster == cluster]
                assert trigger.trigger is not None and last.trigger is None
                assert trigger.effects.lcus == lcus and not trigger.effects.started
                assert last.effects.started == lcus
                triggers += 1
    assert triggers == 10


@pytest.mark.parametrize("family", [HAILO8, HAILO1XH])
def test_every_hazard_has_its_sentence(family: str) -> None:
    layout: Layout = layouts(family)[0]
    run: ListRun = layout.executed.runs[0]
    assert not run.outcome.refused
    assert all(sentence and name == name.lower() for name, sentence in HAZARDS.items())


def memory_blocks(run: ListRun) -> Iterator[tuple[int, tuple[int, int] | None]]:
    """Each record to a cluster: the block of sub-cluster memory that it fills, None for a register."""
    chip, records = MAPS[HAILO1XH], run.records
    for number, address in enumerate(records.addresses):
        cluster = chip.cluster_of(address)
        if cluster is not None:
            block = address - chip.window(cluster) >> 16
            if records.is_single[number] or block < 0x100:
                yield number, None if records.is_single[number] else (cluster, block)


def test_a_block_of_memory_belongs_to_the_lcu_of_the_next_command() -> None:
    """33 of 33: the LCU awaited just before dynamic 0 overwrites it (previous command: 0 of 33), one LCU a block
    (chip-config.md 6)."""
    (name, _, (preliminary, dynamic, _)) = next(one for one in runs_1xh() if len(one[2]) == 3)
    assert name.startswith("face_landmarks")
    starts = {(one.cluster, one.command.slot): one.effects.started for one in preliminary.runs if one.command}
    following: dict[tuple[int, int], set[int]] = {}
    before: dict[tuple[int, int], frozenset[int]] = {}
    waiting: dict[int, list[tuple[int, int]]] = {}
    last: dict[int, frozenset[int]] = {}
    for number, block in memory_blocks(preliminary):
        address = preliminary.records.addresses[number]
        cluster = MAPS[HAILO1XH].cluster_of(address)
        assert cluster is not None
        if block is not None:
            waiting.setdefault(cluster, []).append(block)
            before.setdefault(block, last.get(cluster, frozenset()))
            continue
        command = command_of(cluster, address, preliminary.records.values[number])
        if command is None or command.phase == GO:
            continue
        last[cluster] = starts[cluster, command.slot]
        for one in waiting.pop(cluster, []):
            following.setdefault(one, set()).update(last[cluster])
    assert len(following) == 80 and all(len(lcus) <= 1 for lcus in following.values())
    overwritten: dict[tuple[int, int], set[int]] = {}
    by_step: dict[int, list[tuple[int, int]]] = {}
    for number, block in memory_blocks(dynamic):
        if block is not None:
            by_step.setdefault(dynamic.records.steps[number], []).append(block)
    awaited = None
    for number, step in enumerate(dynamic.source.steps):
        if isinstance(step, TriggerSequencer):
            break
        awaited = step if isinstance(step, LcuInterrupt) else awaited
        for block in by_step.get(number, ()):
            assert awaited is not None and awaited.cluster == block[0]
            overwritten.setdefault(block, set()).add(awaited.lcu)
    both = [block for block in overwritten if block in following]
    assert len(both) == 33 and all(overwritten[block] == following[block] for block in both)
    assert not any(overwritten[block] & before[block] for block in both)
