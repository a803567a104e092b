"""The thread of the devices: turns, and what fails on it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

import emu
from emu.errors import HailoError, HailoStatus
from emu.host.application import Application
from emu.host.device import OpenDevice
from emu.host.jobs import Frames
from emu.server.engine import Engine
from tests.conftest import ROOT

ROW = {"two_context/input_layer1": bytes(3072)}


@pytest.fixture
def engine() -> Iterator[Engine]:
    one = Engine()
    one.start()
    yield one
    assert one.stop(5)


@pytest.fixture
def devices() -> Iterator[list[tuple[OpenDevice, Application]]]:
    opened = [emu.open_device("hailo8") for _ in range(2)]
    yield [(one, one.configure(ROOT / "examples" / "two_context.hef")) for one in opened]


def run(engine: Engine, orders: list[tuple[OpenDevice, Application]]) -> list[Frames]:
    """Submit a frame for each entry at once; them in the order in which they ended."""
    ended: list[Frames] = []

    async def main() -> None:
        done = asyncio.Event()
        loop = asyncio.get_running_loop()

        def one_ended(frames: Frames) -> None:
            ended.append(frames)
            if len(ended) == len(orders):
                loop.call_soon_threadsafe(done.set)

        def submit() -> None:
            for device, application in orders:
                engine.submit(device, application, ROW, one_ended)

        await engine.call(submit)
        await asyncio.wait_for(done.wait(), 20)

    asyncio.run(main())
    return ended


def test_devices_take_turns(engine: Engine, devices: list[tuple[OpenDevice, Application]]) -> None:
    """A client with many frames in flight holds up another by one of them."""
    first, second = devices
    ended = run(engine, [first] * 5 + [second] * 2)
    # both count from 0: the numbers tell whose turn it was
    assert [frames.first for frames in ended] == [0, 0, 1, 1, 2, 3, 4]


def test_what_fails_on_the_thread_ends_the_frame_alone(
    engine: Engine, devices: list[tuple[OpenDevice, Application]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(condition: object) -> None:
        raise ZeroDivisionError("a bug")

    first, second = devices
    monkeypatch.setattr(first[0], "run_until", broken)
    failed, fine = run(engine, [first, second])
    assert isinstance(failed.error, HailoError)
    assert failed.error.status is HailoStatus.HAILO_INTERNAL_FAILURE
    assert fine.error is None


def test_a_call_raises_what_its_function_raises(engine: Engine) -> None:
    with pytest.raises(ZeroDivisionError):
        asyncio.run(engine.call(lambda: 1 // 0))
    assert asyncio.run(engine.call(lambda: 2)) == 2
