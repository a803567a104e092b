"""Each precondition that fails stops the context with the firmware's own status (firmware-actions.md 7)."""

from __future__ import annotations

import pytest

from emu.conform.statuses import CASES, Case
from emu.errors import FirmwareError
from emu.hw.tasks import MAX_BURST_ACTIONS, BurstCreditsTask, BurstJob
from emu.wire.status import FirmwareStatus as S
from emu.wire.status import FirmwareStopError
from tests.hw.lists import BOUNDARY, DDR_IN, DDR_OUT, INTER_OUT, double, runnable, single, stream_in, with_ddr


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_failed_precondition_stops_the_context_with_its_status(case: Case) -> None:
    with pytest.raises(FirmwareError) as caught:
        runnable(case.make()).run()
    assert S(caught.value.number) is case.status, caught.value
    assert caught.value.name == case.status.name
    assert caught.value.exit_code == 5


def test_the_sound_lists_behind_the_cases_run() -> None:
    for lists in (single(), single(device="hailo15h", runtime="5.2"), double(), double(batch=4), with_ddr()):
        for stream in lists.run(3 * lists.batch).groups[0].streams:
            assert stream.frames == 3 * lists.batch


def test_more_inputs_than_the_burst_task_takes() -> None:
    task = BurstCreditsTask()
    for channel in range(MAX_BURST_ACTIONS):
        task.add(BurstJob(channel, channel, 0, 8))
    with pytest.raises(FirmwareStopError) as caught:
        task.add(BurstJob(99, 0, 0, 8))
    assert caught.value.status is S.BURST_CREDITS_TASK_STATUS_TOO_MANY_ACTIONS


def test_the_boundary_of_the_lists_is_what_the_cases_assume() -> None:
    assert [entry.type.name for entry in BOUNDARY if hasattr(entry, "type")][-1] == "BURST_CREDITS_TASK_START"
    assert stream_in("DDR_BUFFER", DDR_IN, 13, 4).value("packed_vdma_channel_id") == DDR_IN
    assert DDR_OUT != INTER_OUT
