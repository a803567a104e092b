"""Many threads on one device: results belong to their frames (EMU_SOAK_FRAMES=10000 for the long run)."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.hailo_platform.conftest import INPUT, OUT_SHAPE, OUTPUT, TWO_CONTEXT, frame_of
from tests.hailo_platform.test_infer_vstreams import configured, params_of

FRAMES = int(os.environ.get("EMU_SOAK_FRAMES", "1000"))
THREADS = 8


def in_threads(work: Callable[[int], None]) -> None:
    """Run `work(number)` in every thread; the first error of any of them."""
    errors: list[BaseException] = []

    def guarded(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(500)
        assert not thread.is_alive()
    if errors:
        raise errors[0]


@pytest.mark.parametrize("models", [1, 3])
def test_soak(echoing: Any, models: int) -> None:
    """Half of the threads wait for each frame, half are called back, some through vstreams."""
    each = FRAMES // THREADS
    with echoing.VDevice() as device:
        configured_models = [device.create_infer_model(TWO_CONTEXT).configure() for _ in range(models)]
        network = configured(echoing, device)
        inputs, outputs = params_of(echoing, network)
        seen = [0] * THREADS

        def blocking(number: int, model: Any) -> None:
            bindings = model.create_bindings(output_buffers={OUTPUT: np.zeros(OUT_SHAPE, np.uint8)})
            for at in range(each):
                value = (number * 31 + at) % 256
                bindings.input().set_buffer(frame_of(value))
                model.run([bindings], 10_000)
                assert bindings.output().get_buffer()[0, 0, 0] == value
                seen[number] += 1

        def called_back(number: int, model: Any) -> None:
            bad: list[Any] = []
            ended = threading.Semaphore(0)
            room = threading.Semaphore(4)  # 32 frames fit into the queue of a model that all threads share

            def done(bindings: Any, value: int) -> Callable[..., None]:
                def callback(completion_info: Any) -> None:
                    if completion_info.exception or bindings.output().get_buffer()[0, 0, 0] != value:
                        bad.append((value, completion_info.exception))
                    seen[number] += 1
                    room.release()
                    ended.release()

                return callback

            for at in range(each):
                value = (number * 31 + at) % 256
                bindings = model.create_bindings(output_buffers={OUTPUT: np.zeros(OUT_SHAPE, np.uint8)})
                bindings.input().set_buffer(frame_of(value))
                room.acquire()
                model.run_async([bindings], done(bindings, value))
            for _ in range(each):
                assert ended.acquire(timeout=100)
            assert not bad

        def through_vstreams(number: int) -> None:
            with echoing.InferVStreams(network, inputs, outputs) as pipeline:
                for at in range(0, each, 5):
                    values = [(number * 31 + at + step) % 256 for step in range(min(5, each - at))]
                    found = pipeline.infer({INPUT: np.stack([frame_of(value) for value in values])})[OUTPUT]
                    assert found[:, 0, 0, 0].tolist() == values
                    seen[number] += len(values)

        def work(number: int) -> None:
            model = configured_models[number % models]
            if number % 4 == 3:
                through_vstreams(number)
            elif number % 2:
                called_back(number, model)
            else:
                blocking(number, model)

        in_threads(work)
    assert seen == [each] * THREADS
