"""Injected faults end in a firmware status or a named stall, never in an error of ours."""

from __future__ import annotations

import pytest

from emu.errors import FirmwareError, UsageError
from emu.hw.faults import KINDS, Fault
from emu.hw.session import StalledError
from emu.hw.status import FirmwareStatus as S
from emu.sequencer.program import Direction
from tests.hw.lists import IN, OUT, double, single

CCW = b"".join(
    (1).to_bytes(4, "little") + (0x11000000 + 8 * record).to_bytes(4, "little") + bytes(range(8))
    for record in range(96)
)


def _run(*specs: str, make=single, frames: int = 3, **settings):
    return make(**settings).run(frames, CCW, faults=[Fault.parse(spec) for spec in specs])


def test_a_dropped_output_interrupt_is_a_stall_that_names_the_fault() -> None:
    with pytest.raises(StalledError) as caught:
        _run(f"drop-interrupt:{OUT}#1")
    assert f"injected: drop-interrupt:{OUT}#1" in caught.value.stall.chain
    assert any("2 of 3 frames" in line for line in caught.value.stall.chain)


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
                    spec = f"{kind}:{target}#1=7@{name}:{number}"
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
        _run(f"{kind}:{target}=2")


def test_a_fault_strikes_behind_its_place_only() -> None:
    dropped = f"drop-interrupt:{OUT}#0@dynamic_1:0"
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
    fault = Fault.parse(f"delay-interrupt:{OUT}#1=500000")
    first, second = (single().run(3, faults=(fault,)).groups[0].simulated_ns for _ in range(2))
    assert first == second > single().run(3).groups[0].simulated_ns


@pytest.mark.parametrize("text", ["", "explode:1", "stall-channel", "delay-interrupt:2", "reset", "stall-channel:x"])
def test_a_fault_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        Fault.parse(text)
