"""The InferModel API on the device: bindings, jobs and callbacks (pyhailort-api.md 8)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from numpy.typing import NDArray

from emu.errors import EmuError, HailoError, HailoStatus
from emu.hailo_platform.conversion import InputFrames, OutputFrames, as_bytes
from emu.hailo_platform.engine import Outcome
from emu.hailo_platform.exceptions import (
    HailoRTException,
    HailoRTNotImplemented,
    exception_of,
    raising_as_hailort,
    translated,
)
from emu.hailo_platform.outputs import OutputShape
from emu.hailo_platform.session import Session

if TYPE_CHECKING:
    from emu.hef.infos import NetworkGroupInfo
    from emu.host.application import Application

Array = NDArray[Any]
Stream = TypeVar("Stream")
# frames that libhailort 4.23 queues on a channel: twice the batch, as many as this where descriptors allow
# (MAX_ACTIVE_TRANSFERS_SCALE in its hailort_driver.hpp)
MOST_QUEUED_TRANSFERS = 32


class AsyncInferCompletionInfo:
    """What a callback is told: `exception` is None where all went well."""

    def __init__(self, exception: HailoRTException | None) -> None:
        self._exception = exception

    @property
    def exception(self) -> HailoRTException | None:
        return self._exception


Callback = Callable[..., object]  # called with completion_info=AsyncInferCompletionInfo


class AsyncInferJob:
    """Frames under way. It has ended when its callback has returned."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.since_ns = session.engine.now_ns
        self._exception: HailoRTException | None = None
        self._called = threading.Event()
        self._outcome: Outcome | None = None

    def wait(self, timeout_ms: float) -> None:
        """HailoRTTimeout where it does not end in time, else what ended it (`Session.wait` says whose time)."""
        self._wait(timeout_ms, self._session.engine.now_ns)

    def _wait(self, timeout_ms: float, since_ns: int) -> None:
        assert self._outcome is not None
        with raising_as_hailort():
            self._session.wait(self._outcome, timeout_ms, since_ns)
            if not self._session.engine.results.is_current:
                self._called.wait()
        if self._exception is not None:
            raise self._exception


class ConfiguredInferModel:
    """A model on the device, as a context manager. `InferModel.configure` makes it."""

    class Bindings:
        """The buffers of one frame."""

        class InferStream:
            """One buffer."""

            def __init__(self, shape: OutputShape | None) -> None:
                self._buffer: Array | None = None
                self._shape = shape

            def set_buffer(self, buffer: Array) -> None:
                """HailoRTException for an array that is not C-contiguous. Its size is checked when it is used."""
                if not buffer.flags.c_contiguous:
                    raise HailoRTException("Buffer must be C_CONTIGUOUS")
                self._buffer = buffer

            def get_buffer(self, tf_format: bool | None = False) -> Any:
                """The buffer; of an NMS output its detections (`tf_format`: as one array, None: the buffer itself)."""
                if tf_format is None or self._shape is None or not self._shape.is_nms or self._buffer is None:
                    return self._buffer
                return self._shape.one(as_bytes(self._buffer), tf_format)

        def __init__(self, inputs: Sequence[str], shapes: Mapping[str, OutputShape]) -> None:
            self._input_names = list(inputs)
            self._output_names = list(shapes)
            self._inputs = {name: self.InferStream(None) for name in inputs}
            self._outputs = {name: self.InferStream(shape) for name, shape in shapes.items()}

        def input(self, name: str = "") -> InferStream:
            """HailoRTInvalidOperationException without a name where there are several, HailoRTNotFoundException."""
            return named(self._inputs, name, "input")

        def output(self, name: str = "") -> InferStream:
            """As `input`."""
            return named(self._outputs, name, "output")

        def get(self) -> ConfiguredInferModel.Bindings:
            return self

    def __init__(
        self,
        session: Session,
        group: NetworkGroupInfo,
        application: Application,
        inputs: InputFrames,
        outputs: OutputFrames,
    ) -> None:
        self._session = session
        self._application = application
        self._inputs = inputs
        self._outputs = outputs
        self._input_names = list(inputs.vstreams)
        self._shapes = {name: OutputShape(one, group) for name, one in outputs.vstreams.items()}
        self._changed = threading.Condition()
        self._in_flight = 0
        self._room_ns = 0  # when a place in the queue was last given back
        self._closed: HailoStatus | None = None

    def __enter__(self) -> ConfiguredInferModel:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Frames under way end first."""
        if not self._session.engine.results.is_current:
            with self._changed:
                self._changed.wait_for(lambda: self._in_flight == 0)
        self._close(HailoStatus.HAILO_INVALID_OPERATION)

    def __del__(self) -> None:
        self._release()

    def shutdown(self) -> None:
        """Frames that are still queued end with HailoRTStreamAborted; the model takes no more."""
        self._close(HailoStatus.HAILO_STREAM_ABORT)
        if not self._session.engine.results.is_current:
            with self._changed:
                self._changed.wait_for(lambda: self._in_flight == 0)

    def activate(self) -> None:
        """Only without the scheduler (HailoRTInvalidOperationException)."""
        with raising_as_hailort():
            self._session.activate(self)

    def deactivate(self) -> None:
        """As `activate`."""
        self._session.deactivate(self)

    def create_bindings(
        self,
        input_buffers: Mapping[str, Array] | None = None,
        output_buffers: Mapping[str, Array] | None = None,
    ) -> Bindings:
        """Buffers by name may be given at once."""
        self._check_open()
        bindings = self.Bindings(self._input_names, self._shapes)
        for name, buffer in (input_buffers or {}).items():
            bindings.input(name).set_buffer(buffer)
        for name, buffer in (output_buffers or {}).items():
            bindings.output(name).set_buffer(buffer)
        return bindings

    def wait_for_async_ready(self, timeout_ms: float = 1000, frames_count: int = 1) -> None:
        """HailoRTTimeout where the queue has no room for so many frames in time."""
        self._check_open()
        size = self.get_async_queue_size()
        since_ns = self._session.engine.now_ns
        with raising_as_hailort(), self._changed:
            self._session.wait_until(
                self._changed,
                lambda: self._in_flight + frames_count <= size,
                lambda: self._in_flight > 0 and frames_count <= size,
                timeout_ms,
            )
            late = self._room_ns - since_ns
            if late > timeout_ms * 1e6:
                raise HailoError(HailoStatus.HAILO_TIMEOUT, f"room after {late / 1e6:g} ms, not {timeout_ms:g}")

    def run(self, bindings: Sequence[Bindings], timeout: float) -> None:
        """`run_async` and wait: HailoRTTimeout."""
        job = self.run_async(bindings)
        job._wait(timeout, job.since_ns)

    def run_async(self, bindings: Sequence[Bindings], callback: Callback | None = None) -> AsyncInferJob:
        """Hand in a frame for each of `bindings`; `callback(completion_info=...)` is called once, behind the last.

        Input buffers are read before this returns. HailoRTInvalidOperationException for a buffer that is missing or of
        another size, HailoRTException 82 where the queue has no room.
        """
        self._check_open()
        with raising_as_hailort():
            self._session.require_active(self)
            rows = [self._row(one) for one in bindings]
            if not rows:
                raise HailoError(HailoStatus.HAILO_INVALID_ARGUMENT, "run_async without bindings")
            buffers = [
                {name: self._buffer(one._outputs[name], name, self._shapes[name].frame_size) for name in self._shapes}
                for one in bindings
            ]
            size = self.get_async_queue_size()
            with self._changed:
                if self._in_flight + len(rows) > size:
                    raise HailoError(
                        HailoStatus.HAILO_QUEUE_IS_FULL,
                        f"{self._in_flight} frames are under way, {len(rows)} more do not fit into {size}",
                    )
                self._in_flight += len(rows)
            job = AsyncInferJob(self._session)

            def ended(outcome: Outcome) -> None:
                self._session.engine.results.put(lambda: self._finish(outcome, buffers, job, callback))

            try:
                job._outcome = self._session.engine.submit(self._application, rows, ended)
            except (EmuError, HailoRTException):
                self._give_back(len(rows))
                raise
        return job

    def set_scheduler_timeout(self, timeout_ms: int) -> None:
        self._schedule(timeout_ms=timeout_ms)

    def set_scheduler_threshold(self, threshold: int) -> None:
        self._schedule(threshold=threshold)

    def set_scheduler_priority(self, priority: int) -> None:
        self._schedule(priority=priority)

    def get_async_queue_size(self) -> int:
        """Frames that may be under way at once."""
        return max(2 * self._application.batch, MOST_QUEUED_TRANSFERS)

    def _update_cache_offset(self, offset_delta_entries: int) -> None:
        raise HailoRTNotImplemented("KV caches through hailo_platform")

    def _finalize_cache(self) -> None:
        raise HailoRTNotImplemented("KV caches through hailo_platform")

    # -- inside

    def _schedule(self, **change: Any) -> None:
        self._check_open()
        with raising_as_hailort():
            if not self._session.scheduled:
                raise HailoError(HailoStatus.HAILO_INVALID_OPERATION, "the VDevice was made without a scheduler")
            self._session.engine.call(lambda: self._application.set_scheduler(**change))

    def _row(self, bindings: Bindings) -> dict[str, bytes]:
        row: dict[str, bytes] = {}
        for name, vstream in self._inputs.vstreams.items():
            buffer = self._buffer(bindings._inputs[name], name, vstream.frame_size)
            row |= self._inputs.wire(name, buffer)
        return row

    @staticmethod
    def _buffer(stream: ConfiguredInferModel.Bindings.InferStream, name: str, size: int) -> Array:
        buffer = stream._buffer
        if buffer is None:
            raise HailoError(HailoStatus.HAILO_INVALID_OPERATION, f"no buffer was set for {name}")
        if buffer.nbytes != size:
            raise HailoError(
                HailoStatus.HAILO_INVALID_OPERATION,
                f"buffer size {buffer.nbytes} ({buffer.shape} of {buffer.dtype}) is different than expected {size} for"
                f" {name!r}",
            )
        return buffer

    def _finish(
        self, outcome: Outcome, buffers: list[dict[str, Array]], job: AsyncInferJob, callback: Callback | None
    ) -> None:
        """Fill the user's buffers, call back; in the thread of the results."""
        try:
            error = outcome.error or self._fill(outcome, buffers)
            exception = None if error is None else translated(error)
        except Exception as unforeseen:  # whoever waits must not wait for ever
            exception = exception_of(HailoStatus.HAILO_INTERNAL_FAILURE, str(unforeseen))
            exception.__cause__ = unforeseen
        job._exception = exception
        outcome.rows = outcome.real = ()  # a job that is kept keeps no frames
        self._give_back(len(buffers), outcome.ended_ns)
        try:
            if callback is not None:
                callback(completion_info=AsyncInferCompletionInfo(exception))
        finally:
            job._called.set()

    def _fill(self, outcome: Outcome, buffers: list[dict[str, Array]]) -> EmuError | None:
        """The last bad status, if any."""
        error: EmuError | None = None
        for row, real, frame in zip(outcome.rows, outcome.real, buffers, strict=True):
            for name, buffer in frame.items():
                _, status = self._outputs.user(name, row, real, into=as_bytes(buffer))
                if status is not HailoStatus.HAILO_SUCCESS:
                    error = HailoError(status, f"{name}: a frame has more masks than its buffer holds")
        return error

    def _give_back(self, count: int, now_ns: int = 0) -> None:
        with self._changed:
            self._in_flight -= count
            self._room_ns = max(self._room_ns, now_ns)
            self._changed.notify_all()

    def _check_open(self) -> None:
        if self._closed is not None:
            raise exception_of(self._closed, "the model was shut down or its context has ended")

    def _close(self, status: HailoStatus) -> None:
        if self._closed is None:
            self._closed = status
            self._session.deactivate(self)
            self._release()

    def _release(self) -> None:
        self._session.engine.release(self._application)


def named(streams: Mapping[str, Stream], name: str, what: str) -> Stream:
    """The stream of that name, the only one for ""."""
    if name == "":
        if len(streams) != 1:
            raise exception_of(HailoStatus.HAILO_INVALID_OPERATION, f"the model has {len(streams)} {what}s, name one")
        return next(iter(streams.values()))
    if name not in streams:
        raise exception_of(HailoStatus.HAILO_NOT_FOUND, f"no {what} {name!r}, there are {', '.join(streams)}")
    return streams[name]
