"""The actions of HRPC, and the numbers that each client version gives them (hrpc-5.2.md, part 2, 1)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import Any, NamedTuple

from emu.schemas import hrpc_pb2 as messages


class Action(IntEnum):
    """Numbered as HailoRT 5.2 does."""

    VDEVICE__CREATE = 0
    VDEVICE__DESTROY = 1
    VDEVICE__CREATE_INFER_MODEL = 2
    INFER_MODEL__DESTROY = 3
    INFER_MODEL__CREATE_CONFIGURED_INFER_MODEL = 4
    CONFIGURED_INFER_MODEL__DESTROY = 5
    CONFIGURED_INFER_MODEL__SET_SCHEDULER_TIMEOUT = 6
    CONFIGURED_INFER_MODEL__SET_SCHEDULER_THRESHOLD = 7
    CONFIGURED_INFER_MODEL__SET_SCHEDULER_PRIORITY = 8
    CONFIGURED_INFER_MODEL__GET_HW_LATENCY_MEASUREMENT = 9
    CONFIGURED_INFER_MODEL__ACTIVATE = 10
    CONFIGURED_INFER_MODEL__DEACTIVATE = 11
    CONFIGURED_INFER_MODEL__SHUTDOWN = 12
    CONFIGURED_INFER_MODEL__UPDATE_CACHE_OFFSET = 13
    CONFIGURED_INFER_MODEL__INIT_CACHE = 14
    CONFIGURED_INFER_MODEL__FINALIZE_CACHE = 15
    CONFIGURED_INFER_MODEL__GET_CACHE_BUFFERS = 16
    CONFIGURED_INFER_MODEL__UPDATE_CACHE_BUFFER = 17
    CONFIGURED_INFER_MODEL__RUN_ASYNC = 18
    CONFIGURED_INFER_MODEL__RUN_ASYNC_FOR_DURATION = 19
    DEVICE__CREATE = 20
    DEVICE__DESTROY = 21
    DEVICE__IDENTIFY = 22
    DEVICE__EXTENDED_INFO = 23
    DEVICE__GET_CHIP_TEMPERATURE = 24
    DEVICE__POWER_MEASUREMENT = 25
    DEVICE__SET_POWER_MEASUREMENT = 26
    DEVICE__GET_POWER_MEASUREMENT = 27
    DEVICE__START_POWER_MEASUREMENT = 28
    DEVICE__STOP_POWER_MEASUREMENT = 29
    DEVICE__QUERY_HEALTH_STATS = 30
    DEVICE__QUERY_PERFORMANCE_STATS = 31
    DEVICE__GET_ARCHITECTURE = 32
    DEVICE__SET_NOTIFICATION_CALLBACK = 33
    DEVICE__REMOVE_NOTIFICATION_CALLBACK = 34
    DEVICE__FETCH_LOGS = 35
    DEVICE__ECHO_BUFFER = 36
    NOTIFICATION = 37
    SYSTEM__RESET = 38


# frames: their input bytes follow, and nobody waits for the reply on the condition variable of requests
RUN_ACTIONS = frozenset(
    {Action.CONFIGURED_INFER_MODEL__RUN_ASYNC, Action.CONFIGURED_INFER_MODEL__RUN_ASYNC_FOR_DURATION}
)

# the message of each request; None: it has no fields
REQUESTS: Mapping[Action, Any] = MappingProxyType(
    {
        Action.VDEVICE__CREATE: messages.VDevice_Create_Request,
        Action.VDEVICE__DESTROY: messages.VDevice_Destroy_Request,
        Action.VDEVICE__CREATE_INFER_MODEL: messages.VDevice_CreateInferModel_Request,
        Action.INFER_MODEL__DESTROY: messages.InferModel_Destroy_Request,
        Action.INFER_MODEL__CREATE_CONFIGURED_INFER_MODEL: messages.InferModel_CreateConfiguredInferModel_Request,
        Action.CONFIGURED_INFER_MODEL__DESTROY: messages.ConfiguredInferModel_Destroy_Request,
        Action.CONFIGURED_INFER_MODEL__SET_SCHEDULER_TIMEOUT: messages.ConfiguredInferModel_SetSchedulerTimeout_Request,
        Action.CONFIGURED_INFER_MODEL__SET_SCHEDULER_THRESHOLD: (
            messages.ConfiguredInferModel_SetSchedulerThreshold_Request
        ),
        Action.CONFIGURED_INFER_MODEL__SET_SCHEDULER_PRIORITY: (
            messages.ConfiguredInferModel_SetSchedulerPriority_Request
        ),
        Action.CONFIGURED_INFER_MODEL__GET_HW_LATENCY_MEASUREMENT: (
            messages.ConfiguredInferModel_GetHwLatencyMeasurement_Request
        ),
        Action.CONFIGURED_INFER_MODEL__ACTIVATE: messages.ConfiguredInferModel_Activate_Request,
        Action.CONFIGURED_INFER_MODEL__DEACTIVATE: messages.ConfiguredInferModel_Deactivate_Request,
        Action.CONFIGURED_INFER_MODEL__SHUTDOWN: messages.ConfiguredInferModel_Shutdown_Request,
        Action.CONFIGURED_INFER_MODEL__UPDATE_CACHE_OFFSET: messages.ConfiguredInferModel_UpdateCacheOffset_Request,
        Action.CONFIGURED_INFER_MODEL__INIT_CACHE: messages.ConfiguredInferModel_InitCache_Request,
        Action.CONFIGURED_INFER_MODEL__FINALIZE_CACHE: messages.ConfiguredInferModel_FinalizeCache_Request,
        Action.CONFIGURED_INFER_MODEL__GET_CACHE_BUFFERS: messages.ConfiguredInferModel_GetCacheBuffers_Request,
        Action.CONFIGURED_INFER_MODEL__UPDATE_CACHE_BUFFER: messages.ConfiguredInferModel_UpdateCacheBuffer_Request,
        Action.CONFIGURED_INFER_MODEL__RUN_ASYNC: messages.ConfiguredInferModel_AsyncInfer_Request,
        Action.CONFIGURED_INFER_MODEL__RUN_ASYNC_FOR_DURATION: (
            messages.ConfiguredInferModel_RunAsyncForDuration_Request
        ),
        Action.DEVICE__CREATE: None,
        Action.DEVICE__DESTROY: messages.Device_Destroy_Request,
        Action.DEVICE__IDENTIFY: messages.Device_Identify_Request,
        Action.DEVICE__EXTENDED_INFO: messages.Device_ExtendedInfo_Request,
        Action.DEVICE__GET_CHIP_TEMPERATURE: messages.Device_GetChipTemperature_Request,
        Action.DEVICE__POWER_MEASUREMENT: messages.Device_PowerMeasurement_Request,
        Action.DEVICE__SET_POWER_MEASUREMENT: messages.Device_SetPowerMeasurement_Request,
        Action.DEVICE__GET_POWER_MEASUREMENT: messages.Device_GetPowerMeasurement_Request,
        Action.DEVICE__START_POWER_MEASUREMENT: messages.Device_StartPowerMeasurement_Request,
        Action.DEVICE__STOP_POWER_MEASUREMENT: messages.Device_StopPowerMeasurement_Request,
        Action.DEVICE__QUERY_HEALTH_STATS: messages.Device_QueryHealthStats_Request,
        Action.DEVICE__QUERY_PERFORMANCE_STATS: messages.Device_QueryPerformanceStats_Request,
        Action.DEVICE__GET_ARCHITECTURE: messages.Device_GetArchitecture_Request,
        Action.DEVICE__SET_NOTIFICATION_CALLBACK: messages.Device_SetNotificationCallback_Request,
        Action.DEVICE__REMOVE_NOTIFICATION_CALLBACK: messages.Device_RemoveNotificationCallback_Request,
        Action.DEVICE__FETCH_LOGS: messages.Device_FetchLogs_Request,
        Action.DEVICE__ECHO_BUFFER: messages.Device_EchoBuffer_Request,
        Action.SYSTEM__RESET: None,
    }
)


class Numbering(NamedTuple):
    """The action numbers of some client versions. `padded`: each message fills a block of fixed size."""

    version: str
    padded: bool
    actions: Mapping[int, Action]
    numbers: Mapping[Action, int]


def _numbering(version: str, padded: bool = False, without: Collection[Action] = ()) -> Numbering:
    actions = dict(enumerate(one for one in Action if one not in without))
    numbers = {one: number for number, one in actions.items()}
    return Numbering(version, padded, MappingProxyType(actions), MappingProxyType(numbers))


_CACHE_BUFFERS = {
    Action.CONFIGURED_INFER_MODEL__GET_CACHE_BUFFERS,
    Action.CONFIGURED_INFER_MODEL__UPDATE_CACHE_BUFFER,
}
_NOT_IN_5_1_1 = {Action.SYSTEM__RESET}
_NOT_IN_5_1_0 = _NOT_IN_5_1_1 | _CACHE_BUFFERS | {Action.DEVICE__ECHO_BUFFER}
_NOT_IN_5_0 = _NOT_IN_5_1_0 | {
    Action.CONFIGURED_INFER_MODEL__UPDATE_CACHE_OFFSET,
    Action.CONFIGURED_INFER_MODEL__INIT_CACHE,
    Action.CONFIGURED_INFER_MODEL__FINALIZE_CACHE,
    Action.CONFIGURED_INFER_MODEL__RUN_ASYNC_FOR_DURATION,
}

V5_0 = _numbering("5.0", without=_NOT_IN_5_0)
V5_1_0 = _numbering("5.1.0", without=_NOT_IN_5_1_0)
V5_1_1 = _numbering("5.1.1", without=_NOT_IN_5_1_1)
V5_2 = _numbering("5.2", padded=True)

# those without padding, by the number that DEVICE__CREATE has in them
UNPADDED: Mapping[int, Numbering] = MappingProxyType(
    {one.numbers[Action.DEVICE__CREATE]: one for one in (V5_0, V5_1_0, V5_1_1)}
)
