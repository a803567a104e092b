"""What must hold of every compiled program, over random sound HEFs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emu.chips.runtimes import device_profile, runtime_profile
from emu.hef import open_hef
from emu.hef import operations as ops
from emu.sequencer.compile import CompileOptions, compile_hef
from emu.sequencer.group import CHUNK_SIZE
from emu.sequencer.program import ContextProgram, ContextType, NetworkGroupProgram, Program
from emu.wire.actions import Action, ActionType
from emu.wire.control import Opcode, decode_request
from emu.wire.lists import Repeated
from emu.wire.wire import wire_of
from tests.strategies.hefs import Drawn, hefs

A = ActionType
_OPENS = {A.OPEN_BOUNDARY_INPUT_CHANNEL, A.OPEN_BOUNDARY_OUTPUT_CHANNEL}
_BOUNDARY = {A.ACTIVATE_BOUNDARY_INPUT, A.ACTIVATE_BOUNDARY_OUTPUT}
_INTERNAL = {
    A.ACTIVATE_INTER_CONTEXT_INPUT,
    A.ACTIVATE_INTER_CONTEXT_OUTPUT,
    A.ACTIVATE_DDR_BUFFER_INPUT,
    A.ACTIVATE_DDR_BUFFER_OUTPUT,
    A.ACTIVATE_CACHE_INPUT,
    A.ACTIVATE_CACHE_OUTPUT,
}


def _compiled(drawn: Drawn, batch: int) -> Program:
    return compile_hef(open_hef(drawn.data(), runtime=drawn.runtime), CompileOptions(batch=batch))


def _flat(context: ContextProgram, runtime: str) -> list[Action]:
    out: list[Action] = []
    for located in context.actions(runtime):
        entry = located.entry
        out += entry.items if isinstance(entry, Repeated) else [entry]
    return out


def _channels(actions: list[Action], kinds: set[ActionType]) -> list[int]:
    return [action.value("packed_vdma_channel_id") for action in actions if action.type in kinds]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(hefs(), st.integers(1, 63))
def test_every_program_is_consistent(drawn: Drawn, batch: int) -> None:
    program = _compiled(drawn, batch)
    assert program == _compiled(drawn, batch)
    for group in program.network_groups:
        _check_lists(group, program.runtime)
        _check_channels(group, program)
        for context in group.contexts:
            _check_streams(_flat(context, program.runtime))
    _check_memory(program)
    _check_controls(program)


def _check_lists(group: NetworkGroupProgram, runtime: str) -> None:
    """Encoding what was decoded gives the same bytes; blocks and chunks stay within their limits."""
    for context in group.contexts:
        entries = [located.entry for located in context.actions(runtime)]
        assert b"".join(wire_of(runtime).encode(entries)) == context.action_list
        assert all(2 <= len(entry.items) <= 255 for entry in entries if isinstance(entry, Repeated))
        assert sum(context.chunks) == len(context.action_list)
        assert all(0 < chunk <= CHUNK_SIZE for chunk in context.chunks)
    dynamic = [context.index for context in group.contexts if context.context_type is ContextType.DYNAMIC]
    assert dynamic == list(range(len(dynamic)))


def _check_channels(group: NetworkGroupProgram, program: Program) -> None:
    """Channels never clash, and what a dynamic context activates it deactivates."""
    runtime = program.runtime
    device, shift = device_profile(program.device), runtime_profile(runtime).channel_id_shift
    boundary = {channel for context in group.contexts for channel in _channels(_flat(context, runtime), _OPENS)}
    assert boundary == {stream.packed_vdma_channel_id for stream in group.streams}
    assert len(boundary) == len(group.streams)
    for context in group.contexts:
        actions = _flat(context, runtime)
        config = _channels(actions, {A.ACTIVATE_CFG_CHANNEL})
        assert config == _channels(actions, {A.DEACTIVATE_CFG_CHANNEL})
        internal = _channels(actions, _INTERNAL)
        used = _channels(actions, _BOUNDARY) + config + internal
        assert len(set(used)) == len(used)
        assert not boundary & {*config, *internal}
        for channel in used:
            engine, index = channel >> shift, channel & (1 << shift) - 1
            assert engine < device.engines
            assert index in device.h2d_channels or index in device.d2h_channels
    dynamic = [_flat(context, runtime) for context in group.contexts if context.context_type is ContextType.DYNAMIC]
    if len(dynamic) == 1:
        return  # it stays active until the application is reset
    header = wire_of(runtime).header.decode(group.application_header)
    if header.split_allow_input_action:
        # extension 34: a context activates for the next one, and ends its own (hef-compile.md 4.5)
        dynamic = [[action for actions in dynamic for action in actions]]
    for actions in dynamic:
        assert Counter(_channels(actions, _INTERNAL)) == Counter(_channels(actions, {A.DEACTIVATE_VDMA_CHANNEL}))
        opened = Counter(_channels(actions, {A.RESUME_VDMA_CHANNEL}))
        assert opened == Counter(_channels(actions, {A.PAUSE_VDMA_CHANNEL}))


def _check_streams(actions: list[Action]) -> None:
    """Buffers divide frames, and fit the credits and the descriptors they are moved with."""
    for action in actions:
        if action.type not in _BOUNDARY | _INTERNAL:
            continue
        values = action.arguments()
        assert values["periph_bytes_per_buffer"] > 0
        assert values["periph_buffers_per_frame"] > 0
        assert values["desc_page_size"] in (64, 128, 256, 512, 1024, 2048, 4096)
        assert values["bytes_in_pattern"] <= values["desc_page_size"] * values["total_desc_count"]
        if "initial_credit_size" in values:
            assert values["periph_bytes_per_buffer"] <= values["initial_credit_size"]


def _check_memory(program: Program) -> None:
    """Lists are legal, never programmed beyond their end, and no two things lie in one place."""
    addresses = [item.dma_address for item in program.descriptor_lists]
    assert len(set(addresses)) == len(addresses)
    assert all(address % (1 << 16) == 0 for address in addresses)
    for item in program.descriptor_lists:
        assert 2 <= item.count <= 65536
        assert item.page_size & (item.page_size - 1) == 0
        assert not item.circular or item.count & (item.count - 1) == 0
        for part in item.programs:
            per_transfer = -(-part.size // item.page_size)
            assert part.start + per_transfer * part.transfers <= item.count
            assert part.offset % item.page_size == 0
            assert part.segments is None or sum(map(len, part.segments)) == part.size
    end = 0
    for block in program.continuous_buffers:
        assert block.dma_address >= end
        end = block.dma_address + block.size
        assert block.segments is None or sum(map(len, block.segments)) <= block.size


def _check_controls(program: Program) -> None:
    """The messages carry exactly the headers and the lists."""
    requests = [decode_request(control) for control in program.controls]
    headers = [r.parameters[0] for r in requests if r.opcode == Opcode.CONTEXT_SWITCH_SET_NETWORK_GROUP_HEADER]
    assert headers == [group.application_header for group in program.network_groups]
    sent = b"".join(r.parameters[3] for r in requests if r.opcode == Opcode.CONTEXT_SWITCH_SET_CONTEXT_INFO)
    assert sent == b"".join(context.action_list for group in program.network_groups for context in group.contexts)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(hefs())
def test_every_ccw_byte_reaches_its_config_channel_once(drawn: Drawn) -> None:
    """All config bytes of the program are the records of the HEF, and padding NOPs (zeros)."""
    hef = open_hef(drawn.data(), runtime=drawn.runtime)
    program = compile_hef(hef)
    records: Counter[bytes] = Counter()
    for group in hef.network_groups:
        assert group.core_op is not None
        layouts = {part.layout.partial_clusters_layout_bitmap: part.core_op for part in group.core_op.partial_core_ops}
        core_op = layouts.get(51, group.core_op)  # the default of hailo8l (cli.md)
        for operations in (core_op.preliminary_config.operation, *(c.operations for c in core_op.contexts)):
            for operation in operations:
                for action in operation.actions:
                    if isinstance(action, ops.ActionWriteDataCcw):
                        records[bytes(action.data)] += 1
                    elif isinstance(action, ops.ActionWriteDataCcwPtr):
                        records[bytes(hef.ccw(action.offset, action.size))] += 1
    written: Counter[bytes] = Counter()
    padding = 0
    sources = [part.segments for item in program.descriptor_lists for part in item.programs]
    sources += [block.segments for block in program.continuous_buffers]
    for segments in sources:
        for segment in segments or ():
            if bytes(segment).count(0) == len(segment) and records[bytes(segment)] <= written[bytes(segment)]:
                padding += len(segment)
            else:
                written[bytes(segment)] += 1
    assert written == +records
    assert padding % 8 == 0


def test_ccw_data_is_not_copied(shared: Path) -> None:
    """What a program holds of a mapped file are views of it."""
    program = compile_hef(open_hef(shared / "hef/yolov8n_320_nms.v2.hailo8.hef"))
    segments = [s for item in program.descriptor_lists for part in item.programs for s in part.segments or ()]
    assert sum(map(len, segments)) > 3_000_000
    assert all(isinstance(segment, memoryview) for segment in segments)
