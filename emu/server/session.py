"""What a client asks, answered: a handler for each action (hrpc-5.2.md part 2, 4), without any socket."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from emu.errors import EmuError, HailoError, HailoStatus
from emu.hef.runtime import default_runtime
from emu.host.application import Application
from emu.host.driver import StalledError
from emu.host.jobs import Frames
from emu.schemas import hrpc_pb2 as messages
from emu.server.actions import RUN_ACTIONS, Action
from emu.server.devices import DeviceActions
from emu.server.frames import ModelFrames
from emu.server.framing import ProtocolError, Request
from emu.server.replies import Handler, Reply, encoded
from emu.server.resources import (
    ASYNC_QUEUE_SIZE,
    ConfiguredModel,
    InferModel,
    Kind,
    VDevice,
)
from emu.server.service import Service
from emu.wire.control import MAX_BATCH_SIZE

# whose data plane serves, whatever compiles: the client computes frame sizes by its own rules
LIBRARY = default_runtime(None).name

MOST_REFUSALS_TOLD = 100


class Session:
    """One client. `send` gets each reply with its request, in the order of the requests but for frames."""

    def __init__(self, service: Service, client: int, send: Callable[[Request, Reply], None], log: Any) -> None:
        self.service = service
        self.client = client
        self.log = log
        self.frames_in_flight = 0
        self.bytes_in_flight = 0
        self._send = send
        self._frame_ended: Callable[[], None] = lambda: None
        self._closed = False
        self._refusals = 0
        self._handlers: dict[Action, Handler] = DeviceActions(service, client).handlers | {
            Action.VDEVICE__CREATE: self._create_vdevice,
            Action.VDEVICE__DESTROY: self._destroy_vdevice,
            Action.VDEVICE__CREATE_INFER_MODEL: self._create_infer_model,
            Action.INFER_MODEL__DESTROY: self._destroy_infer_model,
            Action.INFER_MODEL__CREATE_CONFIGURED_INFER_MODEL: self._configure,
            Action.CONFIGURED_INFER_MODEL__DESTROY: self._destroy_configured,
            Action.CONFIGURED_INFER_MODEL__SET_SCHEDULER_TIMEOUT: self._set_timeout,
            Action.CONFIGURED_INFER_MODEL__SET_SCHEDULER_THRESHOLD: self._set_threshold,
            Action.CONFIGURED_INFER_MODEL__SET_SCHEDULER_PRIORITY: self._set_priority,
            Action.CONFIGURED_INFER_MODEL__GET_HW_LATENCY_MEASUREMENT: self._get_latency,
            Action.CONFIGURED_INFER_MODEL__ACTIVATE: self._activate,
            Action.CONFIGURED_INFER_MODEL__DEACTIVATE: self._deactivate,
            Action.CONFIGURED_INFER_MODEL__SHUTDOWN: self._shut_down,
        }

    def on_frame_ended(self, call: Callable[[], None]) -> None:
        """Call it whenever a frame has been answered."""
        self._frame_ended = call

    # -- what the connection calls

    @property
    def has_room(self) -> bool:
        """Whether one more frame may be in flight."""
        limits = self.service.limits
        return self.frames_in_flight < limits.frames and self.bytes_in_flight < limits.frame_bytes

    def following(self, action: Action, body: Any) -> int:
        """Bytes that follow a request; ProtocolError where nobody can tell, or they are too many."""
        limits = self.service.limits
        if body is None and (action in RUN_ACTIONS or action is Action.VDEVICE__CREATE_INFER_MODEL):
            raise ProtocolError(f"{action.name} cannot be read, nor what follows it be told")
        match action:
            case Action.VDEVICE__CREATE_INFER_MODEL:
                held = sum(one.size for one in self.service.handles.of(InferModel, self.client))
                if held + body.hef_size > limits.hef_bytes:
                    raise ProtocolError(f"HEFs of {held + body.hef_size} bytes, at most {limits.hef_bytes} are held")
                return int(body.hef_size)
            case Action.DEVICE__ECHO_BUFFER | Action.DEVICE__FETCH_LOGS if body is not None:
                if body.buffer_size > limits.answer_bytes:
                    raise ProtocolError(f"{body.buffer_size} bytes asked back, at most {limits.answer_bytes} are sent")
                return int(body.buffer_size) if action is Action.DEVICE__ECHO_BUFFER else 0
            case Action.CONFIGURED_INFER_MODEL__RUN_ASYNC:
                return self._input_bytes(body, body.buffer_infos)
            case Action.CONFIGURED_INFER_MODEL__RUN_ASYNC_FOR_DURATION:
                return self._input_bytes(body, body.io_buffer_infos)
            case _:
                return 0

    async def answer(self, request: Request) -> Reply | None:
        """The reply to a request; None for a frame, whose reply goes to `send` when it has ended."""
        try:
            if request.body is None:
                raise HailoError(HailoStatus.HAILO_RPC_FAILED, f"the body of {request.action.name} cannot be read")
            if request.action is Action.CONFIGURED_INFER_MODEL__RUN_ASYNC:
                await self._run(request)
                return None
            handler = self._handlers.get(request.action)
            if handler is None:
                raise HailoError(HailoStatus.HAILO_NOT_IMPLEMENTED, f"{request.action.name} is not built yet")
            return await handler(request.body, request.data)
        except EmuError as error:
            self._tell("refused", action=request.action.name, error=error.line())
            return Reply(status_of(error))
        except asyncio.CancelledError:
            raise
        except Exception as error:  # of ours: this request fails, the server goes on
            self.log.error("internal_error", action=request.action.name, error=f"{type(error).__name__}: {error}")
            return Reply(HailoStatus.HAILO_INTERNAL_FAILURE)

    def _tell(self, event: str, **what: str) -> None:
        """Log a refusal, until there are so many that only a fuzzer reads them."""
        self._refusals += 1
        if self._refusals <= MOST_REFUSALS_TOLD:
            self.log.warning(event, **what)
        elif self._refusals == MOST_REFUSALS_TOLD + 1:
            self.log.warning("silent", message="further refusals of this client are not logged")

    async def close(self) -> None:
        """The client has gone: give back what it held, but its Devices."""
        self._closed = True
        handles = self.service.handles
        for vdevice in handles.of(VDevice, self.client):
            await self._release(vdevice)
        handles.orphan(self.client)
        await self.service.admission.leave(self.client)

    # -- VDevices

    async def _create_vdevice(self, body: Any, data: bytes) -> Reply:
        await self.service.admission.enter(self.client, body.params.group_id)
        vdevice = VDevice(
            self.client,
            self.service.open_device(),
            scheduled=bool(body.params.scheduling_algorithm),
            post_processes=not body.should_disable_pp_ops,
        )
        handle = messages.HailoObjectHandle(id=self.service.handles.add(vdevice))
        return encoded(messages.VDevice_Create_Reply(vdevice_handle=handle))

    async def _destroy_vdevice(self, body: Any, data: bytes) -> Reply:
        vdevice = self._get(VDevice, body.vdevice_handle.id)
        if vdevice is not None:
            await self._release(vdevice)
            if not self.service.handles.of(VDevice, self.client):
                await self.service.admission.leave(self.client)
        return Reply()

    async def _release(self, vdevice: VDevice) -> None:
        """Close a VDevice with all that was made on it; its frames end with HAILO_STREAM_ABORT."""
        handles = self.service.handles
        models = [one for one in handles.of(InferModel, self.client) if one.vdevice is vdevice]
        configured = [one for one in handles.of(ConfiguredModel, self.client) if one.vdevice is vdevice]
        handles.remove(vdevice, *models, *configured)
        try:
            await self.service.engine.call(vdevice.device.close)
        except EmuError as error:
            self.log.warning("release", error=error.line())

    # -- models

    async def _create_infer_model(self, body: Any, data: bytes) -> Reply:
        service = self.service
        vdevice = self._find(VDevice, body.vdevice_handle.id)
        if len(service.handles.of(InferModel, self.client)) >= service.limits.models:
            raise HailoError(HailoStatus.HAILO_OUT_OF_HOST_MEMORY, f"more than {service.limits.models} models")
        hef, infos = await service.engine.call(service.open_hef, data)
        group, _ = infos.find(body.name)
        model = InferModel(self.client, vdevice, hef, len(data), group)
        handle = messages.HailoObjectHandle(id=service.handles.add(model))
        return encoded(messages.VDevice_CreateInferModel_Reply(infer_model_handle=handle))

    async def _destroy_infer_model(self, body: Any, data: bytes) -> Reply:
        model = self._get(InferModel, body.infer_model_handle.id)
        if model is not None:
            self.service.handles.remove(model)
        return Reply()

    async def _configure(self, body: Any, data: bytes) -> Reply:
        service = self.service
        model = self._find(InferModel, body.infer_model_handle.id)
        if len(service.handles.of(ConfiguredModel, self.client)) >= service.limits.models:
            raise HailoError(HailoStatus.HAILO_OUT_OF_HOST_MEMORY, f"more than {service.limits.models} configured")
        if body.batch_size > MAX_BATCH_SIZE:
            raise HailoError(
                HailoStatus.HAILO_INVALID_ARGUMENT, f"a batch of {body.batch_size}, at most {MAX_BATCH_SIZE}"
            )
        configured = await service.engine.call(self._configured, model, body)
        handle = messages.HailoObjectHandle(id=service.handles.add(configured))
        service.device_log.append(f"configured {model.group.name}, batch {configured.application.batch}")
        self.log.info("configured", model=model.group.name, batch=configured.application.batch)
        return encoded(
            messages.InferModel_CreateConfiguredInferModel_Reply(
                configured_infer_model_handle=handle, async_queue_size=max(ASYNC_QUEUE_SIZE, body.batch_size)
            )
        )

    def _configured(self, model: InferModel, body: Any) -> ConfiguredModel:
        """On the thread of the devices."""
        vdevice, group = model.vdevice, model.group
        if group.ops and not vdevice.post_processes:
            raise HailoError(HailoStatus.HAILO_NOT_IMPLEMENTED, "HAILO_DISABLE_PP is not built yet")
        if body.enable_kv_cache:
            raise HailoError(HailoStatus.HAILO_NOT_IMPLEMENTED, "caches over HRPC are not built yet")
        frames = ModelFrames(group, body.input_infer_streams, body.output_infer_streams, LIBRARY)
        reference_for = self.service.reference_for
        reference = reference_for(model.hef, group.name) if reference_for is not None else None
        application = vdevice.device.configure(
            model.hef,
            batch=body.batch_size or None,
            group=group.name,
            reference=reference,
            compute=self.service.compute if reference is None else False,
        )
        self.service.say_what_is_computed(application)
        return ConfiguredModel(self.client, vdevice, application, frames, measures_latency=bool(body.latency_flag))

    async def _destroy_configured(self, body: Any, data: bytes) -> Reply:
        configured = self._get(ConfiguredModel, body.configured_infer_model_handle.id)
        if configured is not None:
            configured.shut_down = True
            await configured.idle.wait()
            self.service.handles.remove(configured)
            await self.service.engine.call(configured.application.release)
        return Reply()

    async def _shut_down(self, body: Any, data: bytes) -> Reply:
        configured = self._configured_model(body)
        configured.shut_down = True
        await configured.idle.wait()
        return Reply()

    async def _set_timeout(self, body: Any, data: bytes) -> Reply:
        return await self._set_scheduler(body, timeout_ms=body.timeout)

    async def _set_threshold(self, body: Any, data: bytes) -> Reply:
        return await self._set_scheduler(body, threshold=body.threshold)

    async def _set_priority(self, body: Any, data: bytes) -> Reply:
        return await self._set_scheduler(body, priority=body.priority)

    async def _set_scheduler(self, body: Any, **setting: int) -> Reply:
        configured = self._configured_model(body)
        if not configured.vdevice.scheduled:
            raise HailoError(HailoStatus.HAILO_INVALID_OPERATION, "the VDevice has no scheduler")
        await self.service.engine.call(partial(configured.application.set_scheduler, **setting))
        return Reply()

    async def _activate(self, body: Any, data: bytes) -> Reply:
        configured = self._configured_model(body)
        others = [one for one in self.service.handles.of(ConfiguredModel, self.client) if one is not configured]
        if configured.vdevice.scheduled:
            raise HailoError(HailoStatus.HAILO_INVALID_OPERATION, "the scheduler activates, not the client")
        if any(one.active and one.vdevice is configured.vdevice for one in others):
            raise HailoError(HailoStatus.HAILO_INVALID_OPERATION, "another model is active")
        configured.active = True
        return Reply()

    async def _deactivate(self, body: Any, data: bytes) -> Reply:
        self._configured_model(body).active = False
        return Reply()

    async def _get_latency(self, body: Any, data: bytes) -> Reply:
        configured = self._configured_model(body)
        if configured.latency_ns is None:
            return Reply(HailoStatus.HAILO_NOT_AVAILABLE)  # what run2 asks all the time, and no refusal
        latency = min(configured.latency_ns, 0xFFFFFFFF)
        return encoded(messages.ConfiguredInferModel_GetHwLatencyMeasurement_Reply(avg_hw_latency=latency))

    # -- frames

    def _input_bytes(self, body: Any, buffers: Any) -> int:
        """The bytes of a frame's inputs: the first buffers, a plane each where an input has several."""
        try:
            configured = self._configured_model(body)
        except HailoError as error:
            raise ProtocolError(f"a frame for nobody: {error.message}") from None
        frames, given = configured.frames, [one.size for one in buffers]
        at = 0
        for size in frames.input_sizes:
            missing = size
            while missing > 0 and at < len(given):
                missing -= given[at]
                at += 1
            if missing:
                raise ProtocolError(f"inputs of {given} bytes, they have {frames.input_sizes}")
        if given[at:] != frames.output_sizes:
            raise ProtocolError(f"outputs of {given[at:]} bytes, they have {frames.output_sizes}")
        return sum(frames.input_sizes)

    async def _run(self, request: Request) -> None:
        configured = self._configured_model(request.body)
        if configured.shut_down:
            raise HailoError(HailoStatus.HAILO_STREAM_ABORT, "the model was shut down")
        if not configured.vdevice.scheduled and not configured.active:
            raise HailoError(HailoStatus.HAILO_STREAM_NOT_ACTIVATED, "the model was not activated")
        configured.in_flight += 1
        configured.idle.clear()
        self.frames_in_flight += 1
        self.bytes_in_flight += configured.frames.bytes
        loop = asyncio.get_running_loop()

        def ended(reply: Reply) -> None:
            loop.call_soon_threadsafe(self._end_frame, request, configured, reply)

        # not awaited: frames are pipelined
        self.service.engine.post(self._submit, request.data, configured, ended)

    def _submit(self, data: bytes, configured: ConfiguredModel, ended: Callable[[Reply], None]) -> None:
        """On the thread of the devices; `ended` is called in any case."""
        try:
            row = configured.frames.to_wire(data)
            self.service.engine.submit(
                configured.vdevice.device,
                configured.application,
                row,
                lambda frames: ended(self._outputs(configured, frames)),
            )
        except Exception as error:
            ended(self._failed(error))

    def _outputs(self, configured: ConfiguredModel, frames: Frames) -> Reply:
        """On the thread of the devices."""
        if frames.error is not None:
            return self._failed(frames.error)
        if configured.measures_latency:
            configured.latency_ns = _latency_ns(configured.application) or configured.latency_ns
        try:
            return Reply(data=configured.frames.from_wire(frames.results[0], frames.real[0]))
        except Exception as error:
            return self._failed(error)

    def _failed(self, error: Exception) -> Reply:
        status = status_of(error) if isinstance(error, EmuError) else int(HailoStatus.HAILO_INTERNAL_FAILURE)
        if status != HailoStatus.HAILO_STREAM_ABORT:
            text = error.line() if isinstance(error, EmuError) else f"{type(error).__name__}: {error}"
            self._tell("frame_failed", error=text)
        return Reply(status)

    def _end_frame(self, request: Request, configured: ConfiguredModel, reply: Reply) -> None:
        configured.in_flight -= 1
        if not configured.in_flight:
            configured.idle.set()
        self.frames_in_flight -= 1
        self.bytes_in_flight -= configured.frames.bytes
        if not self._closed:
            self._send(request, reply)
            self._frame_ended()

    # -- handles

    def _find(self, kind: type[Kind], handle: int) -> Kind:
        return self.service.handles.find(kind, handle, self.client)

    def _get(self, kind: type[Kind], handle: int) -> Kind | None:
        """For DESTROY, which succeeds whatever was there."""
        return self.service.handles.get(kind, handle, self.client)

    def _configured_model(self, body: Any) -> ConfiguredModel:
        return self.service.handles.find(ConfiguredModel, body.configured_infer_model_handle.id, self.client)


def status_of(error: EmuError) -> int:
    """The hailo_status that a client sees: a stall is a timeout of the library, a firmware's status its control's."""
    if isinstance(error, HailoError):
        return error.number
    stalled = isinstance(error, StalledError)
    return int(HailoStatus.HAILO_TIMEOUT if stalled else HailoStatus.HAILO_FW_CONTROL_FAILURE)


def _latency_ns(application: Application) -> int | None:
    """From the first input byte to the last output of the first frame since the activation; None before that."""
    host = application.host
    if host is None or host.first_input_ns is None:
        return None
    ends = [state.first_ns for state in host.outputs.values() if state.first_ns is not None]
    return max(ends) - host.first_input_ns if ends else None
