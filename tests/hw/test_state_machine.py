"""Enable, batch switch, batch count, application change, run-asap, caches: what the state machine does with lists."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from emu.chips.chips import load
from emu.host.combine import combine
from emu.host.coverage import ACTIONS, STATUSES, Coverage
from emu.host.session import RunRequest, run_program
from emu.hw.device import Device
from emu.hw.execution import State
from emu.hw.hostmem import HostMemory
from emu.trace.events import Event, Kind
from emu.trace.tracer import Tracer
from emu.wire.control import ContextSwitchStatus, Opcode, change_context_switch_status, encode_request
from tests.hw.lists import (
    INTER_IN,
    INTER_OUT,
    PAGE,
    Lists,
    act,
    bare_host,
    bursts,
    config_off,
    config_on,
    configuring,
    double,
    fetch,
    single,
    stream_in,
    stream_out,
    with_ddr,
)


class Recorder:
    """A sink that keeps the events."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def write(self, events: list[Event]) -> None:
        self.events += events

    def close(self) -> None:
        pass

    def tracer(self, clock) -> Tracer:
        return Tracer([self], clock)

    def contexts(self) -> list[str]:
        return [event.context for event in self.events if event.kind is Kind.CONTEXT_BEGIN]


def _order(lists, frames: int) -> list[str]:
    recorder = Recorder()
    lists.run(frames, tracer_for=recorder.tracer)
    return recorder.contexts()


def test_a_single_context_runs_once() -> None:
    assert _order(single(), 5) == ["activation", "preliminary", "dynamic_0"]


def test_run_asap_is_the_first_run_of_context_0() -> None:
    lists = single(asap=1)
    lists.preliminary[-1:-1] = lists.dynamic[0][:-1]
    recorder = Recorder()
    result = lists.run(2, tracer_for=recorder.tracer)
    assert recorder.contexts() == ["activation", "preliminary", "dynamic_0"]
    executed = [e.action for e in recorder.events if e.context == "dynamic_0" and e.kind in (Kind.ACTION, Kind.WAIT)]
    assert executed == ["APPLICATION_CHANGE_INTERRUPT"]  # its activations are not repeated
    assert [c.runs for c in result.groups[0].contexts] == [1, 0, 1, 1]


def test_run_asap_of_two_contexts_goes_on_with_the_second() -> None:
    lists = double(asap=1)
    lists.preliminary[-1:-1] = lists.dynamic[0][:6]
    assert _order(lists, 3)[:5] == ["activation", "preliminary", "dynamic_1", "dynamic_0", "dynamic_1"]
    assert [c.runs for c in lists.run(3).groups[0].contexts] == [1, 0, 1, 3, 3]


def test_contexts_take_turns_batch_by_batch() -> None:
    order = _order(double(batch=4), 8)
    assert order[:6] == ["activation", "preliminary", "dynamic_0", "dynamic_1", "dynamic_0", "dynamic_1"]


def test_a_fast_batch_switch_runs_its_list_and_goes_on() -> None:
    order = _order(double(batch=4), 10)
    assert order.count("batch_switching") == 1
    assert order.count("preliminary") == 1


def test_a_batch_switch_that_is_not_fast_loads_everything_again() -> None:
    order = _order(double(batch=4, fast=0), 10)
    assert order.count("batch_switching") == 0
    assert order.count("preliminary") == 2


@pytest.mark.parametrize("fast", [0, 1])
def test_a_single_context_has_no_dynamic_batch(fast: int) -> None:
    """The frames just flow, a partial batch like any other."""
    for frames in (1, 3, 4, 10):
        assert _order(single(batch=4, fast=fast), frames) == ["activation", "preliminary", "dynamic_0"]


def test_fewer_frames_than_a_batch_are_enabled_with_a_dynamic_batch() -> None:
    for make in (single, double, with_ddr):
        result = make(batch=8).run(3)
        assert all(stream.frames == 3 for stream in result.groups[0].streams)
        assert result.groups[0].contexts[1].runs == 0


def test_batch_count_ends_the_application() -> None:
    lists = double(batch=2)
    session = lists.session(frames=4)
    device = session.chip
    host = bare_host(session)
    device.control(change_context_switch_status(ContextSwitchStatus.ENABLED, 0, 0, 2))
    host.queue_outputs()
    host.feed(4)
    device.run_until(lambda: False)
    assert device.firmware.phase is State.STOPPED
    assert host.done


def test_batch_count_counts_from_the_enable_that_gave_it() -> None:
    session = double(batch=4).session(frames=20)
    device, host = session.chip, bare_host(session)
    device.control(change_context_switch_status(ContextSwitchStatus.ENABLED, 0))
    host.queue_outputs()
    host.feed(8)
    device.run_until(lambda: device.firmware.resting and host.done)
    device.control(change_context_switch_status(ContextSwitchStatus.ENABLED, 0, 2, 3))
    host.feed(12)
    device.run_until(lambda: False)
    assert device.firmware.phase is State.STOPPED
    assert [state.done for state in host.outputs.values()] == [8 + 3 * 2]


def test_switching_between_applications_and_what_it_costs() -> None:
    program = combine([single().program(), double().program()])
    recorder = Recorder()
    request = RunRequest(frames=3, round_robin=True, tracer_for=recorder.tracer)
    result = run_program(program, load("hailo8"), request)
    assert len(result.switches) == 5
    assert all(switch.ns > load("hailo8").deactivate_ns for switch in result.switches)
    assert recorder.contexts().count("activation") == 6
    for group in result.groups:
        assert all(stream.frames == 3 for stream in group.streams)


def test_outputs_do_not_depend_on_how_turns_are_taken() -> None:
    program = combine([single().program(), double().program()])
    alone = run_program(program, load("hailo8"), RunRequest(frames=3, keep_outputs=True))
    turns = run_program(program, load("hailo8"), RunRequest(frames=3, keep_outputs=True, round_robin=True))
    names = [[stream.name for stream in group.streams if stream.contents] for group in alone.groups]
    assert names == [["output stream 9"], ["output stream 9"]]
    for one, other in zip(alone.groups, turns.groups, strict=True):
        assert one.streams[1].contents == other.streams[1].contents
        assert len(set(one.streams[1].contents)) == 3


@pytest.mark.parametrize("make", [single, double])
@pytest.mark.parametrize("batch", [1, 2])
def test_two_turns_of_one_group_in_a_row_number_their_frames_on(make: Callable[..., Lists], batch: int) -> None:
    """Inputs are fed and outputs numbered 0, 1, 2, ... by one owner, whoever else takes turns."""
    for program in (make(batch=batch).program(), combine([make(batch=batch).program(), single(batch=3).program()])):
        found = []
        for round_robin in (False, True):
            recorder, fed = Recorder(), []

            def inputs(group: int, stream: str, frame: int, fed: list[tuple[int, int]] = fed) -> bytes:
                fed.append((group, frame))
                return bytes([frame]) * 1024

            request = RunRequest(
                frames=5, round_robin=round_robin, keep_outputs=True, inputs=inputs, tracer_for=recorder.tracer
            )
            result = run_program(program, load("hailo8"), request)
            for group in range(len(program.network_groups)):
                assert [frame for index, frame in fed if index == group] == list(range(5))
                for unit in ("channel 2 (H2D)", "channel 16 (D2H)"):
                    moved = [e for e in recorder.events if e.kind is Kind.TRANSFER and e.unit == unit]
                    assert [e.frame for e in moved if e.application == group] == list(range(5))
            found.append([group.streams[1].contents for group in result.groups])
        assert found[0] == found[1]


def test_a_stall_says_what_waits_and_who_would_have_to_act() -> None:
    from emu.host.session import StalledError

    lists = double()
    lists.dynamic[0].insert(7, act("LCU_INTERRUPT", packed_lcu_id=0x35))
    with pytest.raises(StalledError) as caught:
        lists.run(1)
    stall = caught.value.stall
    assert (stall.context, stall.action_index, stall.action) == ("dynamic_0", 8, "LCU_INTERRUPT")
    assert stall.waits_for == "cluster 3 LCU 5 done"
    assert "not enabled" in stall.chain[0]
    assert "dynamic_0 action 8 LCU_INTERRUPT" in caught.value.line()


def test_a_paused_channel_is_named() -> None:
    from emu.host.session import StalledError

    lists = single()
    lists.dynamic[0][2] = act("PAUSE_VDMA_CHANNEL", packed_vdma_channel_id=2, edge_layer_direction=1)
    with pytest.raises(StalledError) as caught:
        lists.run(1)
    assert any("channel 2 (H2D): the channel is paused" in line for line in caught.value.stall.chain)


def test_frame_sizes_that_disagree_stall_silently() -> None:
    """silicon-facts.md d: frame_periph_size of FETCH_DATA and of OPEN_BOUNDARY_INPUT differ."""
    from emu.host.session import StalledError

    lists = single()
    lists.dynamic[0][3] = fetch(2, 1, size=512)
    with pytest.raises(StalledError) as caught:
        lists.run(1)
    assert any("512 bytes a frame" in line for line in caught.value.stall.chain)


def _cache_lists(runtime: str):
    lists = double(runtime=runtime, device="hailo15h" if runtime == "5.2" else "hailo8")
    if runtime == "5.2":
        lists.preliminary = [config_on(), bursts(3), config_off(), act("ENABLE_LCU_DEFAULT", packed_lcu_id=0)]
    second = lists.dynamic[1]
    second[2:2] = [
        stream_out("CACHE", 19, 11, 5, batch_size=2, bytes_in_pattern=PAGE),
        stream_in("CACHE", 5, 12, 6, total_desc_count=5, bytes_in_pattern=PAGE),
    ]
    second.insert(7, fetch(5, 12, 2, 4))
    second[-1:-1] = [
        act("DEACTIVATE_VDMA_CHANNEL", packed_vdma_channel_id=19, edge_layer_direction=2),
        act("DEACTIVATE_VDMA_CHANNEL", packed_vdma_channel_id=5, edge_layer_direction=1),
    ]
    second.append(act("WAIT_FOR_CACHE_UPDATED"))
    return lists


@pytest.mark.parametrize("runtime", ["4.23", "5.2"])
def test_a_cache_update_is_awaited_and_signalled(runtime: str) -> None:
    result = _cache_lists(runtime).run(3)
    device = result.device
    assert device is not None
    assert device.cache.signals >= 2
    asked = [n for n in device.notifications if n.event_id.name == "START_UPDATE_CACHE_OFFSET"]
    assert bool(asked) == (runtime == "4.23")  # 5.x waits without asking (firmware-actions.md 8)


@pytest.mark.parametrize("runtime", ["4.23", "5.2"])
@pytest.mark.parametrize("frames", [1, 2, 40])
def test_the_last_batch_runs_to_the_end_of_its_lists(runtime: str, frames: int) -> None:
    """Also where the last list waits for the host behind the last output."""
    result = _cache_lists(runtime).run(frames)
    assert [one.runs for one in result.groups[0].contexts if one.context_type == "dynamic"] == [frames, frames]
    assert result.device is not None and result.device.cache.signals == frames


def test_internal_buffers_hold_the_bytes_of_the_frames() -> None:
    """What context 0 wrote is what context 1 reads: other input, other bytes; the same input, the same."""

    def inter(seed: int) -> bytes | None:
        session = double().session(2, seed=seed)
        session.run_group(session.applications[0], leave=False)
        found = session.chip.host_memory.lists[0x10000000 + 3 * 0x100000].buffer_at(0)
        assert found is not None
        return found[0].read(0, 1024)

    one, again, other = inter(1), inter(1), inter(2)
    assert one is not None and len(one) == 1024 and any(one)
    assert one == again != other


def test_outputs_depend_on_seed_input_and_configuration() -> None:
    def outputs(config: bytes, inputs: bytes, seed: int = 0) -> tuple[bytes, ...]:
        lists = double()
        result = lists.run(2, config, keep_outputs=True, seed=seed, inputs=lambda group, stream, frame: inputs)
        return result.groups[0].streams[1].contents

    sound = b"\1\0\0\0\0\0\0\x11" + bytes(8)
    base = outputs(sound * 96, bytes(1024))
    assert len(base) == 2 and base[0] != base[1] and len(base[0]) == 1024
    assert outputs(sound * 96, bytes(1024)) == base
    assert outputs(sound * 96, b"\1" * 1024) != base
    assert outputs(sound * 95 + b"\1\0\0\0\0\0\0\x11" + b"\1" * 8, bytes(1024)) != base
    assert outputs(sound * 96, bytes(1024), seed=1) != base


def _everything() -> Coverage:
    """Lists that execute all 44 actions (REPEATED is the frame around some of them)."""
    found = Coverage()
    lists = single()
    lists.preliminary += [
        act("ENABLE_NMS", number_of_classes=3, burst_size=8, division_factor=2),
        act("WRITE_DATA_BY_TYPE", address=0x20000684, data_type=1, mask=0xFF, shift=4),
        act("SLEEP", sleep_time=1000),
    ]
    lists.dynamic[0][-1:-1] = [
        act("INPUT_CHANNEL_TRANSFER_DONE_INTERRUPT", packed_vdma_channel_id=2, stream_index=1),
        act("WAIT_FOR_NMS"),
    ]
    for one in (lists, double(batch=2), with_ddr(batch=2), _cache_lists("5.2"), _cache_lists("4.23")):
        device = one.run(3).device
        assert device is not None
        found.merge(Coverage.of(device.inspection))
    lists = single()
    lists.dynamic[0].insert(0, act("HALT"))
    session = lists.session()
    session.chip.control(change_context_switch_status(ContextSwitchStatus.ENABLED, 0))
    session.chip.run_until(lambda: False)
    found.merge(Coverage.of(session.device.inspection))
    return found


def test_every_action_is_covered() -> None:
    assert _everything().missing_actions == []
    assert len(ACTIONS) == 44


def test_every_status_is_raised_by_some_test() -> None:
    """Statuses of the table of preconditions and of the control tests, by name or number."""
    from pathlib import Path

    from emu.wire.messages import REQUESTS
    from tests.hw.test_preconditions import CASES

    folders = (Path(__file__).parent, Path(__file__).parent.parent / "wire")
    texts = "".join(path.read_text() for folder in folders for path in folder.glob("test_*.py"))
    named = {case.status for case in CASES}
    named |= {parameter.status for given in REQUESTS.values() for parameter in given}
    missing = [
        status.name
        for status in STATUSES
        if status not in named and f"S.{status.name}" not in texts and f"0x{status:08X}" not in texts
    ]
    assert missing == []


def test_nms_units_keep_their_configuration_and_count() -> None:
    lists = single()
    lists.preliminary.append(act("ENABLE_NMS", nms_unit_index=1, number_of_classes=3, burst_size=8, division_factor=2))
    session = lists.session(frames=4)
    session.run_group(session.applications[0], leave=False)
    unit = session.chip.nms.units[1]
    assert (unit.delimiters_per_frame, unit.burst_size, unit.frames) == (6, 8, 4)


def test_write_data_by_type_masks_shifts_and_knows_the_batch() -> None:
    lists = single(batch=4)
    lists.preliminary += [
        act("WRITE_DATA_BY_TYPE", address=0x20000684, data=0xABCD, mask=0xFFFF),
        act("WRITE_DATA_BY_TYPE", address=0x20000684, data=0x7, mask=0xF0, shift=4),
        act("WRITE_DATA_BY_TYPE", address=0x20000688, data_type=1, mask=0xFFFFFFFF, shift=8),
    ]
    device = lists.run().device
    assert device is not None
    assert device.memory.read_word(0x20000684) == 0xAB7D
    assert device.memory.read_word(0x20000688) == 4 << 8


def test_lcus_count_their_frames_against_count_times_batch() -> None:
    lists = double(batch=3)
    session = lists.session(frames=3)
    session.run_group(session.applications[0], leave=False)
    memory = session.chip.memory
    # cluster 0 LCU 1: count 5 x batch 3, address 3, beside its enable register (model's own layout)
    assert memory.read_word(0x108001DC + 0x20000 + 8) == 15
    assert memory.read_word(0x108001DC + 0x20000 + 4) == 3
    assert memory.read_word(0x108001DC + 0x20000) == 1


def test_channels_count_as_the_registers_do() -> None:
    session = single().session(frames=40)
    session.run_group(session.applications[0], leave=False)
    channel = session.chip.vdma.channels[2]
    assert channel.transfers == 40 and channel.bytes == 40 * 1024
    assert channel.num_processed == 40 * 2 % 64  # two pages a frame, a list of 64
    assert channel.num_available == 40 * 2 % 64
    assert INTER_IN != INTER_OUT


def test_memory_hooks_see_writes_and_reads() -> None:
    session = single().session()
    seen: list[int] = []
    session.chip.probe.write_hooks.append(lambda address, data: seen.append(address))
    session.run_group(session.applications[0])
    assert 0x108001DC in seen


def test_a_cache_signal_without_a_wait_is_kept() -> None:
    device = Device(load("hailo15h"), "5.2", HostMemory())
    device.control(encode_request(Opcode.CONTEXT_SWITCH_SIGNAL_CACHE_UPDATED))
    assert device.cache.signals == 1


@pytest.mark.parametrize("device", ["hailo8", "hailo15h"])
def test_run_asap_with_opaque_configuration_goes_on_with_the_second_on_every_chip(device: str) -> None:
    """Only configuration that acts lets context 0's list load context 1 under it (units.md 4)."""
    lists = double(asap=1, device=device)
    lists.preliminary = configuring(device)
    lists.preliminary[-1:-1] = lists.dynamic[0][:6]
    assert _order(lists, 3)[:5] == ["activation", "preliminary", "dynamic_1", "dynamic_0", "dynamic_1"]


@pytest.mark.parametrize(("make", "asap", "own"), [(single, 1, True), (double, 0, True), (double, 1, False)])
def test_which_lists_configure_context_0(make: Callable[..., Lists], asap: int, own: bool) -> None:
    """Where the preliminary list is context 0's first run, its own list only restores what that one wrote."""
    application = make(asap=asap).session().chip.applications[0]
    lists = [f"0/{name}" for name in ("activation", "preliminary", *(["dynamic_0"] if own else []))]
    assert list(application.configuring(application.dynamic[0])) == lists
    if len(application.dynamic) > 1:
        assert len(application.configuring(application.dynamic[1])) == 3
