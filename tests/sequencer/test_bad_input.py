"""Forged HEFs: whatever a field claims, a clear refusal in bounded time and memory, never another exception."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emu.errors import EmuError, HailoError, HailoStatus
from emu.hef import Hef, open_hef
from emu.hef.hef import Parsed
from emu.sequencer.compile import CompileOptions, compile_hef
from emu.sequencer.limits import MAX_CONTEXT_ACTIONS
from emu.wire.wire import wire_of
from tests.conftest import DATA
from tests.effort import costs_at_most, spent

HEFS = DATA / "sequencer/synth/hef"
BYTES = 200 << 20
# a refusal may cost so many times a sound compile, plus so many times reading the message
SOUND_COMPILES, MESSAGE_READS = 500, 20
_EXTREMES = [0, 1, 2, 3, 7, 255, 256, 511, 512, 513, 4096, 65535, 65536, 2**31 - 1, 2**31, 2**32 - 1]
_SAMPLES = sorted(path.stem for path in HEFS.glob("*.hef"))


def _forged(name: str, runtime: str) -> Hef:
    """A HEF whose message may be changed without the checksum noticing."""
    hef = open_hef(HEFS / f"{name}.hef", runtime=runtime)
    message = type(hef.message)()
    message.CopyFrom(hef.message)
    return Hef(hef.container, Parsed(hef.container, message), hef.version)


def _integers(message: Any) -> Iterator[tuple[Any, Any]]:
    """Every integer field that is set, and every submessage's, in the order of the schema."""
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for item in value if field.is_repeated else (value,):
                yield from _integers(item)
        elif not field.is_repeated and field.cpp_type in (
            field.CPPTYPE_UINT32,
            field.CPPTYPE_UINT64,
            field.CPPTYPE_INT32,
            field.CPPTYPE_ENUM,
        ):
            yield message, field


def _set(message: Any, field: Any, value: int) -> None:
    if field.cpp_type in (field.CPPTYPE_INT32, field.CPPTYPE_ENUM):
        value = min(value, 2**31 - 1)
    setattr(message, field.name, value)


def _try(hef: Hef) -> EmuError | None:
    try:
        compile_hef(hef)
    except EmuError as error:
        assert error.line()
        return error
    return None


@pytest.fixture(scope="module")
def sound() -> float:
    """What a sound compile costs here, in processor time."""
    hef = _forged("mc2_a", "4.23")
    compile_hef(hef)
    return spent(lambda: compile_hef(hef), tries=5)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_any_field_may_be_forged(sound: float, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(_SAMPLES))
    hef = _forged(name, data.draw(st.sampled_from(["4.23", "5.2"])))
    places = list(_integers(hef.message))
    for _ in range(data.draw(st.integers(1, 3))):
        message, field = places[data.draw(st.integers(0, len(places) - 1))]
        _set(message, field, data.draw(st.sampled_from(_EXTREMES)))
    assert costs_at_most(lambda: _try(hef), SOUND_COMPILES * sound)


@pytest.mark.parametrize("name", ["mc2_a", "mx2_a", "cache1_kv", "sx_ddr", "onms_h8_burst"])
@pytest.mark.parametrize("value", [0, 65536, 2**32 - 1])
def test_every_field_of_an_edge_layer_forged_in_turn(name: str, value: int) -> None:
    runtime = "4.23" if name in ("mc2_a", "onms_h8_burst") else "5.2"
    count = len(list(_edge_fields(_forged(name, runtime))))
    for index in range(count):
        hef = _forged(name, runtime)
        message, field = list(_edge_fields(hef))[index]
        _set(message, field, value)
        _try(hef)


def _edge_fields(hef: Hef) -> Iterator[tuple[Any, Any]]:
    for group in hef.message.network_groups:
        for context in group.contexts:
            for layer in context.metadata.edge_layers:
                yield from _integers(layer)


def _refused(hef: Hef, status: HailoStatus, sound: float) -> None:
    error = _try(hef)
    assert isinstance(error, HailoError) and error.status is status
    data = hef.message.SerializeToString()
    read = spent(lambda: type(hef.message).FromString(data), tries=3)
    assert costs_at_most(lambda: _try(hef), SOUND_COMPILES * sound + MESSAGE_READS * read)
    tracemalloc.start()
    _try(hef)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < BYTES


@pytest.mark.parametrize("operations", [1, 1000, 1_000_000])
def test_a_million_actions(operations: int, sound: float) -> None:
    hef = _forged("mc2_a", "4.23")
    parent = hef.message.network_groups[0].contexts[1].operations
    operation = parent[0]
    del operation.actions[:]
    for _ in range(1_000_000 // operations):
        operation.actions.add().none.SetInParent()
    encoded = operation.SerializeToString()
    for _ in range(operations - 1):
        parent.add().MergeFromString(encoded)
    _refused(hef, HailoStatus.HAILO_OUT_OF_FW_MEMORY, sound)


def test_as_many_actions_as_a_context_may_have() -> None:
    hef = _forged("mc2_a", "4.23")
    actions = hef.message.network_groups[0].contexts[1].operations[0].actions
    for number in range(MAX_CONTEXT_ACTIONS - 100):
        actions.add().disable_lcu.lcu_index = number % 16
    program = compile_hef(hef)
    assert len(program.network_groups[0].contexts[-1].action_list) > MAX_CONTEXT_ACTIONS - 100


def _connect(hef: Hef, context: int, direction: int, other: int) -> None:
    """Point every inter-context layer of a context and direction to another context."""
    for layer in hef.message.network_groups[0].contexts[context].metadata.edge_layers:
        if layer.context_switch_info.edge_connection_type == 1 and layer.direction == direction:
            layer.context_switch_info.connected_contexts[0].index = other


@pytest.mark.parametrize(("name", "runtime"), [("mc2_a", "4.23"), ("mx2_a", "5.2")])
@pytest.mark.parametrize("producer", [1, 7, 2**16 - 1])
def test_cyclic_and_dangling_edges(name: str, runtime: str, producer: int, sound: float) -> None:
    """The consumer names itself, a context that is not there, and the largest number as its producer."""
    hef = _forged(name, runtime)
    _connect(hef, context=1, direction=0, other=producer)
    _refused(hef, HailoStatus.HAILO_NOT_FOUND, sound)


@pytest.mark.parametrize(("name", "runtime"), [("mc2_a", "4.23"), ("mx2_a", "5.2")])
@pytest.mark.parametrize("producer", [2**16, 2**32 - 1])
def test_a_context_number_that_does_not_fit(name: str, runtime: str, producer: int, sound: float) -> None:
    """The runtime keeps 16 bits of it and looks at load (parse_connected_context_info, hef.cpp)."""
    hef = _forged(name, runtime)
    _connect(hef, context=1, direction=0, other=producer)
    _refused(hef, HailoStatus.HAILO_INVALID_HEF, sound)


def test_more_layers_than_channels(sound: float) -> None:
    hef = _forged("mc2_a", "4.23")
    layers = hef.message.network_groups[0].contexts[1].metadata.edge_layers
    template = next(layer for layer in layers if layer.context_switch_info.edge_connection_type == 1)
    for number in range(50_000):
        copied = layers.add()
        copied.CopyFrom(template)
        copied.layer_info.name = f"copy{number}"
        copied.layer_info.edge_layer_base.sys_index = number % 256
        copied.context_switch_info.connected_contexts[0].sys_index = number
    _refused(hef, HailoStatus.HAILO_INTERNAL_FAILURE, sound)


def test_a_buffer_count_of_2_to_the_32(sound: float) -> None:
    hef = _forged("ddr1_a", "4.23")
    for layer in hef.message.network_groups[0].contexts[0].metadata.edge_layers:
        if layer.context_switch_info.edge_connection_type == 2:
            layer.context_switch_info.buffers = 2**32 - 1
    _refused(hef, HailoStatus.HAILO_INVALID_HEF, sound)


@pytest.mark.parametrize("batch", [64, 255, 2**31])
def test_batches_beyond_63(batch: int) -> None:
    with pytest.raises(HailoError) as refusal:
        compile_hef(open_hef(HEFS / "mc2_a.hef"), CompileOptions(batch=batch))
    assert refusal.value.status is HailoStatus.HAILO_INVALID_ARGUMENT


def test_ccw_data_behind_the_end_of_the_file(shared: Path) -> None:
    for name in ("inv_ptr_range_v2", "inv_ptr_over_v2"):
        for from_memory in (False, True):
            with pytest.raises(HailoError) as refusal:
                compile_hef(open_hef(shared / f"synth/hef/{name}.hef", from_memory=from_memory))
            assert refusal.value.status is HailoStatus.HAILO_FILE_OPERATION_FAILURE


def test_of_two_engines_for_a_config_channel_the_first_counts() -> None:
    """hef-container.md 6.5; the runtime takes the first entry it finds."""
    hef = _forged("mx2_a", "5.2")
    for metadata in _metadata(hef):
        del metadata.cfg_channels_config[:]
        for engine in (2, 1):
            metadata.cfg_channels_config.add(cfg_channel_index=0, engine_id=engine)
    header = compile_hef(hef).network_groups[0].application_header
    assert wire_of("5.2").header.decode(header).config_channels[0] == 2 << 6


def _metadata(hef: Hef) -> Iterator[Any]:
    for group in hef.message.network_groups:
        yield group.network_group_metadata
        yield from (op.core_op.network_group_metadata for op in group.ops if op.HasField("core_op"))
