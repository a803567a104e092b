"""Injected faults end in a firmware status or a named stall, never in an error of ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from emu.errors import FirmwareError, UsageError
from emu.host.session import RunResult, StalledError
from emu.hw.faults import KINDS, At, Fault
from emu.hw.payload import digest
from emu.sequencer.program import Direction
from emu.trace.events import Event, Kind
from emu.trace.tracer import Tracer
from emu.wire.status import FirmwareStatus as S
from tests.hw.lists import (
    DDR_IN,
    DDR_OUT,
    IN,
    INTER_IN,
    INTER_OUT,
    OUT,
    Lists,
    configuring,
    double,
    fetch,
    single,
    stream_in,
    stream_out,
    with_ddr,
)

CCW = b"".join(
    (1).to_bytes(4, "little") + (0x11000000 + 8 * record).to_bytes(4, "little") + bytes(range(8))
    for record in range(96)
)


def _spec(kind: str, target: int, place: str = "", frame: int = 1, value: int = 7) -> str:
    """The text of a fault with what its kind takes."""
    what = KINDS[kind]
    at = "" if what.at is At.FIRMWARE else f":{target}"
    return kind + at + f"#{frame}" * what.counts + f"={value}" * what.needs_value + (place or "@dynamic_0:0")


def _run(*specs: str, make=single, frames: int = 3, **settings):
    return make(**settings).run(frames, CCW, faults=[Fault.parse(spec) for spec in specs])


def test_a_dropped_interrupt_is_made_good_by_the_next_and_the_last_one_by_none() -> None:
    """The host sees by num_processed how far the channel has come."""
    plain, covered = _run(frames=3).groups[0], _run(f"drop-interrupt:{OUT}#1", frames=3).groups[0]
    assert [stream.frames for stream in covered.streams] == [3, 3]
    assert covered.simulated_ns == plain.simulated_ns
    with pytest.raises(StalledError) as caught:
        _run(f"drop-interrupt:{OUT}#2")
    assert f"injected: drop-interrupt:{OUT}#2" in caught.value.stall.chain
    assert any("2 of 3 frames" in line for line in caught.value.stall.chain)


def test_a_dropped_interrupt_is_covered_by_the_next_one() -> None:
    """num_processed says that two frames are through."""
    plain, dropped = _run().groups[0], _run(f"drop-interrupt:{OUT}#1").groups[0]
    assert (dropped.streams, dropped.simulated_ns) == (plain.streams, plain.simulated_ns)


def test_a_delayed_interrupt_delays_the_run_by_as_much() -> None:
    plain, late = _run().groups[0], _run(f"delay-interrupt:{OUT}#2=500000").groups[0]
    assert late.simulated_ns - plain.simulated_ns == 500000


def test_a_flipped_ccw_bit_changes_the_registers() -> None:
    plain, flipped = _run(), _run("flip-ccw:0=64")
    assert plain.device is not None and flipped.device is not None
    before, after = plain.device.memory.snapshot(), flipped.device.memory.snapshot()
    assert before != after
    assert before.keys() == after.keys()
    # a bit of a header makes the run undecodable: counted as opaque, nothing written from it
    broken = _run("flip-ccw:0=31")
    assert broken.groups[0].opaque_bytes > 0 == plain.groups[0].opaque_bytes


@pytest.mark.parametrize("channel", [IN, OUT])
def test_a_stalled_channel_is_named(channel: int) -> None:
    with pytest.raises(StalledError) as caught:
        _run(f"stall-channel:{channel}")
    assert any(f"channel {channel}" in line and "stalled" in line for line in caught.value.stall.chain)


def test_a_stalled_config_channel_stops_the_preliminary_context() -> None:
    with pytest.raises(StalledError) as caught:
        _run("stall-channel:0")
    stall = caught.value.stall
    assert (stall.context, stall.action) == ("preliminary", "MODULE_CONFIG_DONE_INTERRUPT")


def test_a_channel_that_stalls_in_the_middle() -> None:
    with pytest.raises(StalledError) as caught:
        _run("stall-channel:16@dynamic_1:4", make=double)
    assert caught.value.stall.context == "dynamic_1"


def test_a_slow_channel_lowers_the_rate() -> None:
    assert _run(f"slow-channel:{IN}=200", frames=20).groups[0].fps < _run(frames=20).groups[0].fps / 2


def test_a_lost_descriptor_leaves_the_last_frame_incomplete() -> None:
    with pytest.raises(StalledError) as caught:
        _run(f"lose-descriptor:{IN}@dynamic_0:0")
    assert any("the host has queued no further frame" in line for line in caught.value.stall.chain)


def test_a_reset_in_the_middle_is_a_stall() -> None:
    with pytest.raises(StalledError) as caught:
        _run("reset@dynamic_1:3", make=double)
    assert "injected: reset@dynamic_1:3" in caught.value.stall.chain


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_fault_anywhere_ends_in_a_result_or_an_error_of_the_firmware(kind: str) -> None:
    for make in (single, double):
        lists = make()
        for kind_of, index, entries in lists.all_lists():
            name = kind_of.name.lower() + (f"_{index}" if kind_of.name == "DYNAMIC" else "")
            for number in range(0, len(entries), 3):
                for target in (0, IN, OUT):
                    spec = _spec(kind, target, f"@{name}:{number}")
                    try:
                        result = _run(spec, make=make)
                    except FirmwareError as error:
                        assert error.number in iter(S)
                    else:
                        outputs = [s for s in result.groups[0].streams if s.direction is Direction.D2H]
                        assert [stream.frames for stream in outputs] == [3]


@pytest.mark.parametrize(
    "kind", ["stall-channel", "slow-channel", "lose-descriptor", "drop-interrupt", "delay-interrupt"]
)
@pytest.mark.parametrize("target", [40, 255])
def test_a_channel_that_there_is_none_of_is_wrong_use(kind: str, target: int) -> None:
    with pytest.raises(UsageError, match=f"{target}"):
        _run(_spec(kind, target))


def test_a_fault_strikes_behind_its_place_only() -> None:
    dropped = f"drop-interrupt:{OUT}#2@dynamic_1:0"
    with pytest.raises(StalledError) as caught:
        _run(dropped, make=double)
    assert f"injected: {dropped}" in caught.value.stall.chain
    # frame 0 of the input passes before dynamic_1 begins; the configuration is fetched before dynamic_0 does
    for late in (
        f"drop-interrupt:{IN}#0@dynamic_1:0",
        f"drop-interrupt:{OUT}#0@dynamic_1:99",
        "flip-ccw:0=64@dynamic_0:0",
    ):
        device = _run(late, make=double).device
        assert device is not None and device.faults is not None
        assert device.faults.idle() == [late]


def test_a_request_can_be_run_again_with_its_faults() -> None:
    fault = Fault.parse(f"delay-interrupt:{OUT}#2=500000")
    first, second = (single().run(3, faults=(fault,)).groups[0].simulated_ns for _ in range(2))
    assert first == second > single().run(3).groups[0].simulated_ns


UNREADABLE = ["", "explode:1", "stall-channel", "delay-interrupt:2", "reset", "flip-ccw:x=1", "flip-data:2=1.5"]
WITHOUT_EFFECT = [
    "stall-channel:2#3",
    "stall-channel:2=3",
    "reset:1@dynamic_0:0",
    "stuck-lcu:4.99",
    "flip-ccw:0#1=2",
    "slow-channel:2=0.5",
]


@pytest.mark.parametrize("text", UNREADABLE + WITHOUT_EFFECT)
def test_a_fault_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        Fault.parse(text)


# -- every kind on every kind of channel: it changes something that can be seen, or it says that it did not strike

CACHE_OUT, CACHE_IN = 19, 5


def with_cache(**settings: Any) -> Lists:
    """One context that reads and writes a cache."""
    lists = single(**settings)
    last = lists.dynamic[0][:-2]
    lists.dynamic[0] = [
        stream_out("CACHE", CACHE_OUT, 14, 5, batch_size=1),
        stream_in("CACHE", CACHE_IN, 15, 6, total_desc_count=3),
        *last,
        fetch(CACHE_IN, 15, 2, 2),
        *lists.dynamic[0][-2:],
    ]
    return lists


CHANNELS: dict[str, tuple[Callable[..., Lists], int]] = {
    "boundary input": (single, IN),
    "boundary output": (single, OUT),
    "inter-context input": (double, INTER_IN),
    "inter-context output": (double, INTER_OUT),
    "DDR input": (with_ddr, DDR_IN),
    "DDR output": (with_ddr, DDR_OUT),
    "cache input": (with_cache, CACHE_IN),
    "cache output": (with_cache, CACHE_OUT),
    "config": (single, 0),
}
LINKS = {"PCIe": {}, "integrated": {"device": "hailo15h", "runtime": "5.2"}}
_OF_CHANNELS = sorted(kind for kind, what in KINDS.items() if what.at is At.CHANNEL)
FRAMES = 12  # more than the host queues ahead
# only the host hears of interrupts, and only of boundary channels; configuration has flip-ccw
NEVER_STRIKES = {
    (kind, channel)
    for kind in _OF_CHANNELS
    for channel in CHANNELS
    if ("interrupt" in kind and not channel.startswith("boundary")) or (kind == "flip-data" and channel == "config")
}


class _Events:
    """What a trace says, but for the fault itself."""

    def __init__(self) -> None:
        self.found: list[Event] = []

    def write(self, events: Sequence[Event]) -> None:
        self.found += [event for event in events if event.kind is not Kind.FAULT]

    def close(self) -> None:
        pass


def seen(make: Callable[..., Lists], link: str, *specs: str) -> tuple[object, list[str]]:
    """What a run shows (how it ends, its events, outputs, what internal channels left in host memory), and the faults
    that say they did not strike."""
    lists = make(**LINKS[link])
    if link == "integrated":
        lists.preliminary = configuring("hailo15h")
    events = _Events()
    session = lists.session(
        FRAMES,
        CCW,
        keep_outputs=True,
        faults=[Fault.parse(spec) for spec in specs],
        tracer_for=lambda clock: Tracer([events], clock),
    )
    device = session.chip
    shown: list[object] = []
    try:
        shown += [stream.contents for stream in session.run_group(session.applications[0]).streams]
    except FirmwareError as error:
        shown.append((error.name, error.message))
    session.device.abandon()
    shown.append(events.found)
    for address, host_list in device.host_memory.lists.items():
        buffers = [extent.buffer for extent in host_list.extents]
        shown += [(address, *at, digest(content)) for one in buffers for at, content in one.writes.items()]
    return shown, [] if device.faults is None else device.faults.idle()


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("kind", _OF_CHANNELS)
def test_a_fault_of_a_channel_acts_or_says_that_it_did_not(kind: str, channel: str, link: str) -> None:
    make, target = CHANNELS[channel]
    plain, _ = seen(make, link)
    # interrupts: of a frame behind which the host still has frames to queue; of the last one where it only waits
    frame = 2 if channel.endswith("input") else FRAMES - 1
    frame, value = (frame, 500_000) if "interrupt" in kind else (1, 100_000 if kind == "slow-channel" else 5)
    if (kind, channel) == ("flip-data", "cache output"):
        frame = FRAMES - 1  # each frame writes the same entry: the last one stays
    spec = _spec(kind, target, " ", frame, value).strip()
    shown, idle = seen(make, link, spec)
    if (kind, channel) in NEVER_STRIKES:
        assert shown == plain and idle == [spec]
    else:
        assert idle == [] and shown != plain


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("kind", sorted(set(KINDS) - set(_OF_CHANNELS)))
def test_a_fault_of_anything_else_acts(kind: str, link: str) -> None:
    plain, _ = seen(single, link)
    target = 1 if kind == "stuck-lcu" else 0
    shown, idle = seen(single, link, _spec(kind, target, "@dynamic_0:2" if kind == "reset" else " ").strip())
    assert idle == [] and shown != plain


def test_a_stuck_lcu_is_named() -> None:
    for text in ("stuck-lcu:1", "stuck-lcu:0.1"):
        with pytest.raises(StalledError, match="cluster 0 LCU 1: it is stuck"):
            _run(text)
    device = _run("stuck-lcu:0.9").device
    assert device is not None and device.faults is not None and device.faults.idle() == ["stuck-lcu:0.9"]
    with pytest.raises(UsageError, match="cluster 5"):
        _run("stuck-lcu:5.0", device="hailo8l", layout=15)


def test_flipped_data_is_seen_in_the_output_and_named() -> None:
    """A bit of an output's second frame, and of an input's: the one is that bit, the other another frame."""
    plain = single().run(3, CCW, keep_outputs=True).groups[0].streams
    by_direction = {stream.direction: stream.contents for stream in plain}
    for target, alone in ((OUT, True), (IN, False)):
        found = single().run(3, CCW, keep_outputs=True, faults=[Fault.parse(f"flip-data:{target}#1=13")])
        frames = next(one.contents for one in found.groups[0].streams if one.direction is Direction.D2H)
        pairs = list(zip(frames, by_direction[Direction.D2H], strict=True))
        assert [left == right for left, right in pairs] == [True, False, True]
        if alone:
            assert int.from_bytes(pairs[1][0], "little") ^ int.from_bytes(pairs[1][1], "little") == 1 << 13


def test_a_bit_behind_the_end_of_a_frame_is_none_of_it() -> None:
    """It strikes nothing and says so; of two bits of one frame both are inverted."""

    def frame(run: RunResult) -> bytes:
        return next(one.contents[0] for one in run.groups[0].streams if one.direction is Direction.D2H)

    before = frame(single().run(1, CCW, keep_outputs=True))
    size = len(before)
    faults = [Fault.parse(f"flip-data:{OUT}={bit}") for bit in (8 * size, 8 * size - 1, 0)]
    found = single().run(1, CCW, keep_outputs=True, faults=faults)
    after = frame(found)
    assert int.from_bytes(before, "little") ^ int.from_bytes(after, "little") == 1 << 8 * size - 1 | 1
    assert found.device is not None and found.device.faults is not None
    assert found.device.faults.idle() == [f"flip-data:{OUT}#0={8 * size}"]


def test_channels_go_by_the_names_of_their_streams() -> None:
    lists = single()
    names = {stream.direction: stream.name for stream in lists.program().network_groups[0].streams}
    with pytest.raises(StalledError) as caught:
        lists.run(3, CCW, faults=[Fault.parse(f"stall-channel:{names[Direction.H2D]}")])
    assert f"injected: stall-channel:{names[Direction.H2D]}" in caught.value.stall.chain
    with pytest.raises(UsageError, match="no stream 'x'; there are a, b"):
        Fault.parse("stall-channel:x", ["a", "b"])
    # a name that no group has stays without effect, and says so
    device = lists.run(3, CCW, faults=[Fault.parse("stall-channel:x")]).device
    assert device is not None and device.faults is not None and device.faults.idle() == ["stall-channel:x"]
