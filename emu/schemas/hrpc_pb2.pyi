from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class DeviceArchitectureProto(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    HAILO8_A0: _ClassVar[DeviceArchitectureProto]
    HAILO8: _ClassVar[DeviceArchitectureProto]
    HAILO8L: _ClassVar[DeviceArchitectureProto]
    HAILO15H: _ClassVar[DeviceArchitectureProto]
    HAILO15L: _ClassVar[DeviceArchitectureProto]
    HAILO15M: _ClassVar[DeviceArchitectureProto]
    HAILO10H: _ClassVar[DeviceArchitectureProto]

class DeviceBootSourceProto(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    BOOT_SOURCE_INVALID: _ClassVar[DeviceBootSourceProto]
    BOOT_SOURCE_PCIE: _ClassVar[DeviceBootSourceProto]
    BOOT_SOURCE_FLASH: _ClassVar[DeviceBootSourceProto]
    BOOT_SOURCE_MAX: _ClassVar[DeviceBootSourceProto]
HAILO8_A0: DeviceArchitectureProto
HAILO8: DeviceArchitectureProto
HAILO8L: DeviceArchitectureProto
HAILO15H: DeviceArchitectureProto
HAILO15L: DeviceArchitectureProto
HAILO15M: DeviceArchitectureProto
HAILO10H: DeviceArchitectureProto
BOOT_SOURCE_INVALID: DeviceBootSourceProto
BOOT_SOURCE_PCIE: DeviceBootSourceProto
BOOT_SOURCE_FLASH: DeviceBootSourceProto
BOOT_SOURCE_MAX: DeviceBootSourceProto

class HailoObjectHandle(_message.Message):
    __slots__ = ("id",)
    ID_FIELD_NUMBER: _ClassVar[int]
    id: int
    def __init__(self, id: _Optional[int] = ...) -> None: ...

class HailoCallbackHandle(_message.Message):
    __slots__ = ("id", "dispatcher_id")
    ID_FIELD_NUMBER: _ClassVar[int]
    DISPATCHER_ID_FIELD_NUMBER: _ClassVar[int]
    id: int
    dispatcher_id: int
    def __init__(self, id: _Optional[int] = ..., dispatcher_id: _Optional[int] = ...) -> None: ...

class VDeviceParamsProto(_message.Message):
    __slots__ = ("scheduling_algorithm", "group_id")
    SCHEDULING_ALGORITHM_FIELD_NUMBER: _ClassVar[int]
    GROUP_ID_FIELD_NUMBER: _ClassVar[int]
    scheduling_algorithm: int
    group_id: str
    def __init__(self, scheduling_algorithm: _Optional[int] = ..., group_id: _Optional[str] = ...) -> None: ...

class VDevice_Create_Request(_message.Message):
    __slots__ = ("params", "should_disable_pp_ops")
    PARAMS_FIELD_NUMBER: _ClassVar[int]
    SHOULD_DISABLE_PP_OPS_FIELD_NUMBER: _ClassVar[int]
    params: VDeviceParamsProto
    should_disable_pp_ops: bool
    def __init__(self, params: _Optional[_Union[VDeviceParamsProto, _Mapping]] = ..., should_disable_pp_ops: bool = ...) -> None: ...

class VDevice_Create_Reply(_message.Message):
    __slots__ = ("vdevice_handle",)
    VDEVICE_HANDLE_FIELD_NUMBER: _ClassVar[int]
    vdevice_handle: HailoObjectHandle
    def __init__(self, vdevice_handle: _Optional[_Union[HailoObjectHandle, _Mapping]] = ...) -> None: ...

class VDevice_Destroy_Request(_message.Message):
    __slots__ = ("vdevice_handle",)
    VDEVICE_HANDLE_FIELD_NUMBER: _ClassVar[int]
    vdevice_handle: HailoObjectHandle
    def __init__(self, vdevice_handle: _Optional[_Union[HailoObjectHandle, _Mapping]] = ...) -> None: ...

class VDevice_CreateInferModel_Request(_message.Message):
    __slots__ = ("vdevice_handle", "hef_size", "name")
    VDEVICE_HANDLE_FIELD_NUMBER: _ClassVar[int]
    HEF_SIZE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    vdevice_handle: HailoObjectHandle
    hef_size: int
    name: str
    def __init__(self, vdevice_handle: _Optional[_Union[HailoObjectHandle, _Mapping]] = ..., hef_size: _Optional[int] = ..., name: _Optional[str] = ...) -> None: ...

class VDevice_CreateInferModel_Reply(_message.Message):
    __slots__ = ("infer_model_handle",)
    INFER_MODEL_HANDLE_FIELD_NUMBER: _ClassVar[int]
    infer_model_handle: HailoObjectHandle
    def __init__(self, infer_model_handle: _Optional[_Union[HailoObjectHandle, _Mapping]] = ...) -> None: ...

class InferModel_Destroy_Request(_message.Message):
    __slots__ = ("infer_model_handle",)
    INFER_MODEL_HANDLE_FIELD_NUMBER: _ClassVar[int]
    infer_model_handle: HailoObjectHandle
    def __init__(self, infer_model_handle: _Optional[_Union[HailoObjectHandle, _Mapping]] = ...) -> None: ...

class InferStreamParamsProto(_message.Message):
    __slots__ = ("name", "format_order", "format_type", "nms_score_threshold", "nms_iou_threshold", "nms_max_proposals_per_class", "nms_max_accumulated_mask_size", "nms_max_proposals_total")
    NAME_FIELD_NUMBER: _ClassVar[int]
    FORMAT_ORDER_FIELD_NUMBER: _ClassVar[int]
    FORMAT_TYPE_FIELD_NUMBER: _ClassVar[int]
    NMS_SCORE_THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    NMS_IOU_THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    NMS_MAX_PROPOSALS_PER_CLASS_FIELD_NUMBER: _ClassVar[int]
    NMS_MAX_ACCUMULATED_MASK_SIZE_FIELD_NUMBER: _ClassVar[int]
    NMS_MAX_PROPOSALS_TOTAL_FIELD_NUMBER: _ClassVar[int]
    name: str
    format_order: int
    format_type: int
    nms_score_threshold: float
    nms_iou_threshold: float
    nms_max_proposals_per_class: int
    nms_max_accumulated_mask_size: int
    nms_max_proposals_total: int
    def __init__(self, name: _Optional[str] = ..., format_order: _Optional[int] = ..., format_type: _Optional[int] = ..., nms_score_threshold: _Optional[float] = ..., nms_iou_threshold: _Optional[float] = ..., nms_max_proposals_per_class: _Optional[int] = ..., nms_max_accumulated_mask_size: _Optional[int] = ..., nms_max_proposals_total: _Optional[int] = ...) -> None: ...

class InferModel_CreateConfiguredInferModel_Request(_message.Message):
    __slots__ = ("infer_model_handle", "vdevice_handle", "input_infer_streams", "output_infer_streams", "batch_size", "power_mode", "latency_flag", "enable_kv_cache")
    INFER_MODEL_HANDLE_FIELD_NUMBER: _ClassVar[int]
    VDEVICE_HANDLE_FIELD_NUMBER: _ClassVar[int]
    INPUT_INFER_STREAMS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_INFER_STREAMS_FIELD_NUMBER: _ClassVar[int]
    BATCH_SIZE_FIELD_NUMBER: _ClassVar[int]
    POWER_MODE_FIELD_NUMBER: _ClassVar[int]
    LATENCY_FLAG_FIELD_NUMBER: _ClassVar[int]
    ENABLE_KV_CACHE_FIELD_NUMBER: _ClassVar[int]
    infer_model_handle: HailoObjectHandle
    vdevice_handle: HailoObjectHandle
    input_infer_streams: _containers.RepeatedCompositeFieldContainer[InferStreamParamsProto]
    output_infer_streams: _containers.RepeatedCompositeFieldContainer[InferStreamParamsProto]
    batch_size: int
    power_mode: int
    latency_flag: int
    enable_kv_cache: bool
    def __init__(self, infer_model_handle: _Optional[_Union[HailoObjectHandle, _Mapping]] = ..., vdevice_handle: _Optional[_Union[HailoObjectHandle, _Mapping]] = ..., input_infer_streams: _Optional[_Iterable[_Union[InferStreamParamsProto, _Mapping]]] = ..., output_infer_streams: _Optional[_Iterable[_Union[InferStreamParamsProto, _Mapping]]] = ..., batch_size: _Optional[int] = ..., power_mode: _Optional[int] = ..., latency_flag: _Optional[int] = ..., enable_kv_cache: bool = ...) -> None: ...

class InferModel_CreateConfiguredInferModel_Reply(_message.Message):
    __slots__ = ("configured_infer_model_handle", "async_queue_size")
    CONFIGURED_INFER_MODEL_HANDLE_FIELD_NUMBER: _ClassVar[int]
    ASYNC_QUEUE_SIZE_FIELD_NUMBER: _ClassVar[int]
    configured_infer_model_handle: HailoObjectHandle
    async_queue_size: int
    def __init__(self, configured_infer_model_handle: _Optional[_Union[HailoObjectHandle, _Mapping]] = ..., async_queue_size: _Optional[int] = ...) -> None: ...

class ConfiguredInferModel_Destroy_Request(_message.Message):
    __slots__ = ("configured_infer_model_handle",)
    CONFIGURED_INFER_MODEL_HANDLE_FIELD_NUMBER: _ClassVar[int]
    configured_infer_model_handle: HailoObjectHandle
    def __init__(self, configured_infer_model_handle: _Optional[_Union[HailoObjectHandle, _Mapping]] = ...) -> None: ...

class ConfiguredInferModel_SetSchedulerTimeout_Request(_message.Message):
    __slots__ = ("configured_infer_model_handle", "timeout")
    CONFIGURED_INFER_MODEL_HANDLE_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    configured_infer_model_handle: HailoObjectHandle
    timeout: int
    def __init__(self, configured_infer_model_handle: _Optional[_Union[HailoObjectHandle, _Mapping]] = ..., timeout: _Optional[int] = ...) -> None: ...

class ConfiguredInferModel_SetSchedulerThreshold_Request(_message.Message):
    __slots__ = ("configured_infer_model_handle", "threshold")
    CONFIGURED_INFER_MODEL_HANDLE_FIELD_NUMBER: _ClassVar[int]
    THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    configured_infer_model_handle: HailoObjectHandle
    threshold: int
    def __init__(self, configured_infer_model_handle: _Optional[_Union[HailoObjectHandle, _Mapping]] = ..., threshold: _Optional[int] = ...) -> None: ...

class ConfiguredInferModel_SetSchedulerPriority_Request(_message.Message):
    __slots__ = ("configured_infer_model_handle", "priority")
    CONFIGURED_INFER_MODEL_HANDLE_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    configured_infer_model_handle: HailoObjectHandle
    priority: int
    def __init__(self, configured_infer_model_handle: _Optional[_Union[HailoObjectHandle, _Mapping]] = ..., priority: _Optional[int] = ...) -> None: ...

class ConfiguredInferModel_GetHwLatencyMeasurement_Request(_message.Message):
    __slots__ = ("configured_infer_model_handle",)
    CONFIGURED_INFER_MODEL_HANDLE_FIELD_NUMBER: _ClassVar[int]
    configured_infer_model_handle: HailoObjectHandle
    def __init__(self, configured_infer_model_handle: _Optional[_Union[HailoObjectHandle, _Mapping]] = ...) -> None: ...

class ConfiguredInferModel_GetHwLatencyMeasurement_Reply(_message.Message):
    __slots__ = ("avg_hw_latency",)
    AVG_HW_LATENCY_FIELD_NUMBER: _ClassVar[int]
    avg_hw_latency: int
    def __init__(self, avg_hw_latency: _Optional[int] = ...) -> None: ...

class ConfiguredInferModel_Activate_Request(_message.Message):
    __slots__ = ("configured_infer_model_handle",)
    CONFIGURED_INFER_MODEL_HANDLE_FIELD_NUMBER: _ClassVar[int]
    configured_infer_model_handle: HailoObjectHandle
    def __init__(self, configured_infer_model_handle: _Optional[_Union[HailoObjectHandle, _Mapping]] = ...) -> None: ...

class ConfiguredInferModel_Deactivate_Request(_message.Message):
    __slots__ = ("configured_infer_model_handle",)
    CONFIGURED_INFER_MODEL_HANDLE_FIELD_NUMBER: _ClassVar[int]
    configured_infer_model_handle: HailoObjectHandle
    def __init__(self, configured_infer_model_handle: _Optional[_Union[HailoObjectHandle, _Mapping]] = ...) -> None: ...

class ConfiguredInferModel_Shutdown_Request(_message.Message):
    __slots__ = ("configured_infer_model_handle",)
    CONFIGURED_INFER_MODEL_HANDLE_FIELD_NUMBER: _ClassVar[int]
    configured_infer_model_handle: HailoObjectHandle
    def __init__(self, configured_infer_model_handle: _Optional[_Union[HailoObjectHandle, _Mapping]] = ...) -> None: ...

class ConfiguredInferModel_UpdateCacheOffset_Request(_message.Message):
    __slots__ = ("configured_infer_model_handle", "offset_delta_entries")
    CONFIGURED_INFER_MODEL_HANDLE_FIELD_NUMBER: _ClassVar[int]
    OFFSET_DELTA_ENTRIES_FIELD_NUMBER: _ClassVar[int]
    configured_infer_model_handle: HailoObjectHandle
    offset_delta_entries: int
    def __init__(self, configured_infer_model_handle: _Optional[_Union[HailoObjectHandle, _Mapping]] = ..., offset_delta_entries: _Optional[int] = ...) -> None: ...

class ConfiguredInferModel_InitCache_Request(_message.Message):
    __slots__ = ("configured_infer_model_handle", "read_offset")
    CONFIGURED_INFER_MODEL_HANDLE_FIELD_NUMBER: _ClassVar[int]
    READ_OFFSET_FIELD_NUMBER: _ClassVar[int]
    configured_infer_model_handle: HailoObjectHandle
    read_offset: int
    def __init__(self, configured_infer_model_handle: _Optional[_Union[HailoObjectHandle, _Mapping]] = ..., read_offset: _Optional[int] = ...) -> None: ...

class ConfiguredInferModel_FinalizeCache_Request(_message.Message):
    __slots__ = ("configured_infer_model_handle",)
    CONFIGURED_INFER_MODEL_HANDLE_FIELD_NUMBER: _ClassVar[int]
    configured_infer_model_handle: HailoObjectHandle
    def __init__(self, configured_infer_model_handle: _Optional[_Union[HailoObjectHandle, _Mapping]] = ...) -> None: ...

class ConfiguredInferModel_GetCacheBuffers_Request(_message.Message):
    __slots__ = ("configured_infer_model_handle",)
    CONFIGURED_INFER_MODEL_HANDLE_FIELD_NUMBER: _ClassVar[int]
    configured_infer_model_handle: HailoObjectHandle
    def __init__(self, configured_infer_model_handle: _Optional[_Union[HailoObjectHandle, _Mapping]] = ...) -> None: ...

class CacheBuffer(_message.Message):
    __slots__ = ("id", "data")
    ID_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    id: int
    data: bytes
    def __init__(self, id: _Optional[int] = ..., data: _Optional[bytes] = ...) -> None: ...

class ConfiguredInferModel_GetCacheBuffers_Reply(_message.Message):
    __slots__ = ("buffers",)
    BUFFERS_FIELD_NUMBER: _ClassVar[int]
    buffers: _containers.RepeatedCompositeFieldContainer[CacheBuffer]
    def __init__(self, buffers: _Optional[_Iterable[_Union[CacheBuffer, _Mapping]]] = ...) -> None: ...

class ConfiguredInferModel_UpdateCacheBuffer_Request(_message.Message):
    __slots__ = ("configured_infer_model_handle", "buffer")
    CONFIGURED_INFER_MODEL_HANDLE_FIELD_NUMBER: _ClassVar[int]
    BUFFER_FIELD_NUMBER: _ClassVar[int]
    configured_infer_model_handle: HailoObjectHandle
    buffer: CacheBuffer
    def __init__(self, configured_infer_model_handle: _Optional[_Union[HailoObjectHandle, _Mapping]] = ..., buffer: _Optional[_Union[CacheBuffer, _Mapping]] = ...) -> None: ...

class BufferInfo(_message.Message):
    __slots__ = ("size", "type")
    SIZE_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    size: int
    type: int
    def __init__(self, size: _Optional[int] = ..., type: _Optional[int] = ...) -> None: ...

class ConfiguredInferModel_AsyncInfer_Request(_message.Message):
    __slots__ = ("configured_infer_model_handle", "infer_model_handle", "buffer_infos")
    CONFIGURED_INFER_MODEL_HANDLE_FIELD_NUMBER: _ClassVar[int]
    INFER_MODEL_HANDLE_FIELD_NUMBER: _ClassVar[int]
    BUFFER_INFOS_FIELD_NUMBER: _ClassVar[int]
    configured_infer_model_handle: HailoObjectHandle
    infer_model_handle: HailoObjectHandle
    buffer_infos: _containers.RepeatedCompositeFieldContainer[BufferInfo]
    def __init__(self, configured_infer_model_handle: _Optional[_Union[HailoObjectHandle, _Mapping]] = ..., infer_model_handle: _Optional[_Union[HailoObjectHandle, _Mapping]] = ..., buffer_infos: _Optional[_Iterable[_Union[BufferInfo, _Mapping]]] = ...) -> None: ...

class ConfiguredInferModel_RunAsyncForDuration_Request(_message.Message):
    __slots__ = ("configured_infer_model_handle", "infer_model_handle", "duration_ms", "sleep_between_frames_ms", "io_buffer_infos")
    CONFIGURED_INFER_MODEL_HANDLE_FIELD_NUMBER: _ClassVar[int]
    INFER_MODEL_HANDLE_FIELD_NUMBER: _ClassVar[int]
    DURATION_MS_FIELD_NUMBER: _ClassVar[int]
    SLEEP_BETWEEN_FRAMES_MS_FIELD_NUMBER: _ClassVar[int]
    IO_BUFFER_INFOS_FIELD_NUMBER: _ClassVar[int]
    configured_infer_model_handle: HailoObjectHandle
    infer_model_handle: HailoObjectHandle
    duration_ms: int
    sleep_between_frames_ms: int
    io_buffer_infos: _containers.RepeatedCompositeFieldContainer[BufferInfo]
    def __init__(self, configured_infer_model_handle: _Optional[_Union[HailoObjectHandle, _Mapping]] = ..., infer_model_handle: _Optional[_Union[HailoObjectHandle, _Mapping]] = ..., duration_ms: _Optional[int] = ..., sleep_between_frames_ms: _Optional[int] = ..., io_buffer_infos: _Optional[_Iterable[_Union[BufferInfo, _Mapping]]] = ...) -> None: ...

class ConfiguredInferModel_RunAsyncForDuration_Reply(_message.Message):
    __slots__ = ("fps",)
    FPS_FIELD_NUMBER: _ClassVar[int]
    fps: int
    def __init__(self, fps: _Optional[int] = ...) -> None: ...

class CallbackCalled_Reply(_message.Message):
    __slots__ = ("callback_handle", "run_async", "device_notification")
    CALLBACK_HANDLE_FIELD_NUMBER: _ClassVar[int]
    RUN_ASYNC_FIELD_NUMBER: _ClassVar[int]
    DEVICE_NOTIFICATION_FIELD_NUMBER: _ClassVar[int]
    callback_handle: HailoCallbackHandle
    run_async: RunAsyncCallback
    device_notification: DeviceNotificationCallback
    def __init__(self, callback_handle: _Optional[_Union[HailoCallbackHandle, _Mapping]] = ..., run_async: _Optional[_Union[RunAsyncCallback, _Mapping]] = ..., device_notification: _Optional[_Union[DeviceNotificationCallback, _Mapping]] = ...) -> None: ...

class RunAsyncCallback(_message.Message):
    __slots__ = ("status",)
    STATUS_FIELD_NUMBER: _ClassVar[int]
    status: int
    def __init__(self, status: _Optional[int] = ...) -> None: ...

class HealthMonitorTemperatureAlarmNotification(_message.Message):
    __slots__ = ("temperature_zone", "alarm_ts_id", "ts0_temperature", "ts1_temperature")
    TEMPERATURE_ZONE_FIELD_NUMBER: _ClassVar[int]
    ALARM_TS_ID_FIELD_NUMBER: _ClassVar[int]
    TS0_TEMPERATURE_FIELD_NUMBER: _ClassVar[int]
    TS1_TEMPERATURE_FIELD_NUMBER: _ClassVar[int]
    temperature_zone: int
    alarm_ts_id: int
    ts0_temperature: float
    ts1_temperature: float
    def __init__(self, temperature_zone: _Optional[int] = ..., alarm_ts_id: _Optional[int] = ..., ts0_temperature: _Optional[float] = ..., ts1_temperature: _Optional[float] = ...) -> None: ...

class HealthMonitorOverCurrentAlertNotification(_message.Message):
    __slots__ = ("overcurrent_zone", "exceeded_alert_threshold", "is_last_overcurrent_violation_reached")
    OVERCURRENT_ZONE_FIELD_NUMBER: _ClassVar[int]
    EXCEEDED_ALERT_THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    IS_LAST_OVERCURRENT_VIOLATION_REACHED_FIELD_NUMBER: _ClassVar[int]
    overcurrent_zone: int
    exceeded_alert_threshold: float
    is_last_overcurrent_violation_reached: bool
    def __init__(self, overcurrent_zone: _Optional[int] = ..., exceeded_alert_threshold: _Optional[float] = ..., is_last_overcurrent_violation_reached: bool = ...) -> None: ...

class ThrottlingStateChangeNotification(_message.Message):
    __slots__ = ("state",)
    STATE_FIELD_NUMBER: _ClassVar[int]
    state: int
    def __init__(self, state: _Optional[int] = ...) -> None: ...

class DeviceNotificationCallback(_message.Message):
    __slots__ = ("notification_id", "sequence", "health_monitor_temperature_alarm", "health_monitor_overcurrent_alert", "throttling_state_change")
    NOTIFICATION_ID_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    HEALTH_MONITOR_TEMPERATURE_ALARM_FIELD_NUMBER: _ClassVar[int]
    HEALTH_MONITOR_OVERCURRENT_ALERT_FIELD_NUMBER: _ClassVar[int]
    THROTTLING_STATE_CHANGE_FIELD_NUMBER: _ClassVar[int]
    notification_id: int
    sequence: int
    health_monitor_temperature_alarm: HealthMonitorTemperatureAlarmNotification
    health_monitor_overcurrent_alert: HealthMonitorOverCurrentAlertNotification
    throttling_state_change: ThrottlingStateChangeNotification
    def __init__(self, notification_id: _Optional[int] = ..., sequence: _Optional[int] = ..., health_monitor_temperature_alarm: _Optional[_Union[HealthMonitorTemperatureAlarmNotification, _Mapping]] = ..., health_monitor_overcurrent_alert: _Optional[_Union[HealthMonitorOverCurrentAlertNotification, _Mapping]] = ..., throttling_state_change: _Optional[_Union[ThrottlingStateChangeNotification, _Mapping]] = ...) -> None: ...

class Device_Create_Reply(_message.Message):
    __slots__ = ("device_handle",)
    DEVICE_HANDLE_FIELD_NUMBER: _ClassVar[int]
    device_handle: HailoObjectHandle
    def __init__(self, device_handle: _Optional[_Union[HailoObjectHandle, _Mapping]] = ...) -> None: ...

class Device_Destroy_Request(_message.Message):
    __slots__ = ("device_handle",)
    DEVICE_HANDLE_FIELD_NUMBER: _ClassVar[int]
    device_handle: HailoObjectHandle
    def __init__(self, device_handle: _Optional[_Union[HailoObjectHandle, _Mapping]] = ...) -> None: ...

class Device_Identify_Request(_message.Message):
    __slots__ = ("device_handle",)
    DEVICE_HANDLE_FIELD_NUMBER: _ClassVar[int]
    device_handle: HailoObjectHandle
    def __init__(self, device_handle: _Optional[_Union[HailoObjectHandle, _Mapping]] = ...) -> None: ...

class FirmwareVersionProto(_message.Message):
    __slots__ = ("major_value", "minor_value", "revision_value")
    MAJOR_VALUE_FIELD_NUMBER: _ClassVar[int]
    MINOR_VALUE_FIELD_NUMBER: _ClassVar[int]
    REVISION_VALUE_FIELD_NUMBER: _ClassVar[int]
    major_value: int
    minor_value: int
    revision_value: int
    def __init__(self, major_value: _Optional[int] = ..., minor_value: _Optional[int] = ..., revision_value: _Optional[int] = ...) -> None: ...

class DeviceIdentityProto(_message.Message):
    __slots__ = ("protocol_version", "fw_version", "logger_version", "board_name", "is_release", "extended_context_switch_buffer", "device_architecture", "serial_number", "part_number", "product_name", "extended_fw_check")
    PROTOCOL_VERSION_FIELD_NUMBER: _ClassVar[int]
    FW_VERSION_FIELD_NUMBER: _ClassVar[int]
    LOGGER_VERSION_FIELD_NUMBER: _ClassVar[int]
    BOARD_NAME_FIELD_NUMBER: _ClassVar[int]
    IS_RELEASE_FIELD_NUMBER: _ClassVar[int]
    EXTENDED_CONTEXT_SWITCH_BUFFER_FIELD_NUMBER: _ClassVar[int]
    DEVICE_ARCHITECTURE_FIELD_NUMBER: _ClassVar[int]
    SERIAL_NUMBER_FIELD_NUMBER: _ClassVar[int]
    PART_NUMBER_FIELD_NUMBER: _ClassVar[int]
    PRODUCT_NAME_FIELD_NUMBER: _ClassVar[int]
    EXTENDED_FW_CHECK_FIELD_NUMBER: _ClassVar[int]
    protocol_version: int
    fw_version: FirmwareVersionProto
    logger_version: int
    board_name: str
    is_release: bool
    extended_context_switch_buffer: bool
    device_architecture: DeviceArchitectureProto
    serial_number: _containers.RepeatedScalarFieldContainer[int]
    part_number: _containers.RepeatedScalarFieldContainer[int]
    product_name: str
    extended_fw_check: bool
    def __init__(self, protocol_version: _Optional[int] = ..., fw_version: _Optional[_Union[FirmwareVersionProto, _Mapping]] = ..., logger_version: _Optional[int] = ..., board_name: _Optional[str] = ..., is_release: bool = ..., extended_context_switch_buffer: bool = ..., device_architecture: _Optional[_Union[DeviceArchitectureProto, str]] = ..., serial_number: _Optional[_Iterable[int]] = ..., part_number: _Optional[_Iterable[int]] = ..., product_name: _Optional[str] = ..., extended_fw_check: bool = ...) -> None: ...

class Device_Identify_Reply(_message.Message):
    __slots__ = ("identity",)
    IDENTITY_FIELD_NUMBER: _ClassVar[int]
    identity: DeviceIdentityProto
    def __init__(self, identity: _Optional[_Union[DeviceIdentityProto, _Mapping]] = ...) -> None: ...

class Device_ExtendedInfo_Request(_message.Message):
    __slots__ = ("device_handle",)
    DEVICE_HANDLE_FIELD_NUMBER: _ClassVar[int]
    device_handle: HailoObjectHandle
    def __init__(self, device_handle: _Optional[_Union[HailoObjectHandle, _Mapping]] = ...) -> None: ...

class DeviceSupportedFeaturesProto(_message.Message):
    __slots__ = ("ethernet", "mipi", "pcie", "current_monitoring", "mdio", "power_measurement")
    ETHERNET_FIELD_NUMBER: _ClassVar[int]
    MIPI_FIELD_NUMBER: _ClassVar[int]
    PCIE_FIELD_NUMBER: _ClassVar[int]
    CURRENT_MONITORING_FIELD_NUMBER: _ClassVar[int]
    MDIO_FIELD_NUMBER: _ClassVar[int]
    POWER_MEASUREMENT_FIELD_NUMBER: _ClassVar[int]
    ethernet: bool
    mipi: bool
    pcie: bool
    current_monitoring: bool
    mdio: bool
    power_measurement: bool
    def __init__(self, ethernet: bool = ..., mipi: bool = ..., pcie: bool = ..., current_monitoring: bool = ..., mdio: bool = ..., power_measurement: bool = ...) -> None: ...

class Device_ExtendedInfo_Reply(_message.Message):
    __slots__ = ("neural_network_core_clock_rate", "supported_features", "boot_source", "soc_id", "lcs", "eth_mac_address", "unit_level_tracking_id", "soc_pm_values", "gpio_mask")
    NEURAL_NETWORK_CORE_CLOCK_RATE_FIELD_NUMBER: _ClassVar[int]
    SUPPORTED_FEATURES_FIELD_NUMBER: _ClassVar[int]
    BOOT_SOURCE_FIELD_NUMBER: _ClassVar[int]
    SOC_ID_FIELD_NUMBER: _ClassVar[int]
    LCS_FIELD_NUMBER: _ClassVar[int]
    ETH_MAC_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    UNIT_LEVEL_TRACKING_ID_FIELD_NUMBER: _ClassVar[int]
    SOC_PM_VALUES_FIELD_NUMBER: _ClassVar[int]
    GPIO_MASK_FIELD_NUMBER: _ClassVar[int]
    neural_network_core_clock_rate: int
    supported_features: DeviceSupportedFeaturesProto
    boot_source: DeviceBootSourceProto
    soc_id: _containers.RepeatedScalarFieldContainer[int]
    lcs: int
    eth_mac_address: _containers.RepeatedScalarFieldContainer[int]
    unit_level_tracking_id: _containers.RepeatedScalarFieldContainer[int]
    soc_pm_values: _containers.RepeatedScalarFieldContainer[int]
    gpio_mask: int
    def __init__(self, neural_network_core_clock_rate: _Optional[int] = ..., supported_features: _Optional[_Union[DeviceSupportedFeaturesProto, _Mapping]] = ..., boot_source: _Optional[_Union[DeviceBootSourceProto, str]] = ..., soc_id: _Optional[_Iterable[int]] = ..., lcs: _Optional[int] = ..., eth_mac_address: _Optional[_Iterable[int]] = ..., unit_level_tracking_id: _Optional[_Iterable[int]] = ..., soc_pm_values: _Optional[_Iterable[int]] = ..., gpio_mask: _Optional[int] = ...) -> None: ...

class Device_GetChipTemperature_Request(_message.Message):
    __slots__ = ("device_handle",)
    DEVICE_HANDLE_FIELD_NUMBER: _ClassVar[int]
    device_handle: HailoObjectHandle
    def __init__(self, device_handle: _Optional[_Union[HailoObjectHandle, _Mapping]] = ...) -> None: ...

class Device_GetChipTemperature_Reply(_message.Message):
    __slots__ = ("ts0_temperature", "ts1_temperature", "sample_count")
    TS0_TEMPERATURE_FIELD_NUMBER: _ClassVar[int]
    TS1_TEMPERATURE_FIELD_NUMBER: _ClassVar[int]
    SAMPLE_COUNT_FIELD_NUMBER: _ClassVar[int]
    ts0_temperature: float
    ts1_temperature: float
    sample_count: int
    def __init__(self, ts0_temperature: _Optional[float] = ..., ts1_temperature: _Optional[float] = ..., sample_count: _Optional[int] = ...) -> None: ...

class Device_QueryHealthStats_Request(_message.Message):
    __slots__ = ("device_handle",)
    DEVICE_HANDLE_FIELD_NUMBER: _ClassVar[int]
    device_handle: HailoObjectHandle
    def __init__(self, device_handle: _Optional[_Union[HailoObjectHandle, _Mapping]] = ...) -> None: ...

class Device_QueryHealthStats_Reply(_message.Message):
    __slots__ = ("on_die_temperature", "on_die_voltage", "bist_failure_mask")
    ON_DIE_TEMPERATURE_FIELD_NUMBER: _ClassVar[int]
    ON_DIE_VOLTAGE_FIELD_NUMBER: _ClassVar[int]
    BIST_FAILURE_MASK_FIELD_NUMBER: _ClassVar[int]
    on_die_temperature: float
    on_die_voltage: int
    bist_failure_mask: int
    def __init__(self, on_die_temperature: _Optional[float] = ..., on_die_voltage: _Optional[int] = ..., bist_failure_mask: _Optional[int] = ...) -> None: ...

class Device_QueryPerformanceStats_Request(_message.Message):
    __slots__ = ("device_handle",)
    DEVICE_HANDLE_FIELD_NUMBER: _ClassVar[int]
    device_handle: HailoObjectHandle
    def __init__(self, device_handle: _Optional[_Union[HailoObjectHandle, _Mapping]] = ...) -> None: ...

class Device_QueryPerformanceStats_Reply(_message.Message):
    __slots__ = ("cpu_utilization", "ram_size_total", "ram_size_used", "nnc_utilization", "ddr_noc_total_transactions", "dsp_utilization")
    CPU_UTILIZATION_FIELD_NUMBER: _ClassVar[int]
    RAM_SIZE_TOTAL_FIELD_NUMBER: _ClassVar[int]
    RAM_SIZE_USED_FIELD_NUMBER: _ClassVar[int]
    NNC_UTILIZATION_FIELD_NUMBER: _ClassVar[int]
    DDR_NOC_TOTAL_TRANSACTIONS_FIELD_NUMBER: _ClassVar[int]
    DSP_UTILIZATION_FIELD_NUMBER: _ClassVar[int]
    cpu_utilization: float
    ram_size_total: int
    ram_size_used: int
    nnc_utilization: float
    ddr_noc_total_transactions: int
    dsp_utilization: int
    def __init__(self, cpu_utilization: _Optional[float] = ..., ram_size_total: _Optional[int] = ..., ram_size_used: _Optional[int] = ..., nnc_utilization: _Optional[float] = ..., ddr_noc_total_transactions: _Optional[int] = ..., dsp_utilization: _Optional[int] = ...) -> None: ...

class Device_PowerMeasurement_Request(_message.Message):
    __slots__ = ("device_handle", "hailo_dvm_options", "hailo_power_measurement_type")
    DEVICE_HANDLE_FIELD_NUMBER: _ClassVar[int]
    HAILO_DVM_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    HAILO_POWER_MEASUREMENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    device_handle: HailoObjectHandle
    hailo_dvm_options: int
    hailo_power_measurement_type: int
    def __init__(self, device_handle: _Optional[_Union[HailoObjectHandle, _Mapping]] = ..., hailo_dvm_options: _Optional[int] = ..., hailo_power_measurement_type: _Optional[int] = ...) -> None: ...

class Device_PowerMeasurement_Reply(_message.Message):
    __slots__ = ("power",)
    POWER_FIELD_NUMBER: _ClassVar[int]
    power: float
    def __init__(self, power: _Optional[float] = ...) -> None: ...

class Device_SetPowerMeasurement_Request(_message.Message):
    __slots__ = ("device_handle", "hailo_dvm_options", "hailo_power_measurement_type")
    DEVICE_HANDLE_FIELD_NUMBER: _ClassVar[int]
    HAILO_DVM_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    HAILO_POWER_MEASUREMENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    device_handle: HailoObjectHandle
    hailo_dvm_options: int
    hailo_power_measurement_type: int
    def __init__(self, device_handle: _Optional[_Union[HailoObjectHandle, _Mapping]] = ..., hailo_dvm_options: _Optional[int] = ..., hailo_power_measurement_type: _Optional[int] = ...) -> None: ...

class Device_StartPowerMeasurement_Request(_message.Message):
    __slots__ = ("device_handle", "averaging_factor", "sampling_period")
    DEVICE_HANDLE_FIELD_NUMBER: _ClassVar[int]
    AVERAGING_FACTOR_FIELD_NUMBER: _ClassVar[int]
    SAMPLING_PERIOD_FIELD_NUMBER: _ClassVar[int]
    device_handle: HailoObjectHandle
    averaging_factor: int
    sampling_period: int
    def __init__(self, device_handle: _Optional[_Union[HailoObjectHandle, _Mapping]] = ..., averaging_factor: _Optional[int] = ..., sampling_period: _Optional[int] = ...) -> None: ...

class Device_GetPowerMeasurement_Request(_message.Message):
    __slots__ = ("device_handle", "should_clear")
    DEVICE_HANDLE_FIELD_NUMBER: _ClassVar[int]
    SHOULD_CLEAR_FIELD_NUMBER: _ClassVar[int]
    device_handle: HailoObjectHandle
    should_clear: bool
    def __init__(self, device_handle: _Optional[_Union[HailoObjectHandle, _Mapping]] = ..., should_clear: bool = ...) -> None: ...

class HailoPowerMeasurementData(_message.Message):
    __slots__ = ("average_value", "average_time_value_milliseconds", "min_value", "max_value", "total_number_of_samples")
    AVERAGE_VALUE_FIELD_NUMBER: _ClassVar[int]
    AVERAGE_TIME_VALUE_MILLISECONDS_FIELD_NUMBER: _ClassVar[int]
    MIN_VALUE_FIELD_NUMBER: _ClassVar[int]
    MAX_VALUE_FIELD_NUMBER: _ClassVar[int]
    TOTAL_NUMBER_OF_SAMPLES_FIELD_NUMBER: _ClassVar[int]
    average_value: float
    average_time_value_milliseconds: float
    min_value: float
    max_value: float
    total_number_of_samples: int
    def __init__(self, average_value: _Optional[float] = ..., average_time_value_milliseconds: _Optional[float] = ..., min_value: _Optional[float] = ..., max_value: _Optional[float] = ..., total_number_of_samples: _Optional[int] = ...) -> None: ...

class Device_GetPowerMeasurement_Reply(_message.Message):
    __slots__ = ("data",)
    DATA_FIELD_NUMBER: _ClassVar[int]
    data: HailoPowerMeasurementData
    def __init__(self, data: _Optional[_Union[HailoPowerMeasurementData, _Mapping]] = ...) -> None: ...

class Device_StopPowerMeasurement_Request(_message.Message):
    __slots__ = ("device_handle",)
    DEVICE_HANDLE_FIELD_NUMBER: _ClassVar[int]
    device_handle: HailoObjectHandle
    def __init__(self, device_handle: _Optional[_Union[HailoObjectHandle, _Mapping]] = ...) -> None: ...

class Device_GetArchitecture_Request(_message.Message):
    __slots__ = ("device_handle",)
    DEVICE_HANDLE_FIELD_NUMBER: _ClassVar[int]
    device_handle: HailoObjectHandle
    def __init__(self, device_handle: _Optional[_Union[HailoObjectHandle, _Mapping]] = ...) -> None: ...

class Device_GetArchitecture_Reply(_message.Message):
    __slots__ = ("device_architecture",)
    DEVICE_ARCHITECTURE_FIELD_NUMBER: _ClassVar[int]
    device_architecture: int
    def __init__(self, device_architecture: _Optional[int] = ...) -> None: ...

class Device_SetNotificationCallback_Request(_message.Message):
    __slots__ = ("device_handle", "notification_id", "callback")
    DEVICE_HANDLE_FIELD_NUMBER: _ClassVar[int]
    NOTIFICATION_ID_FIELD_NUMBER: _ClassVar[int]
    CALLBACK_FIELD_NUMBER: _ClassVar[int]
    device_handle: HailoObjectHandle
    notification_id: int
    callback: HailoCallbackHandle
    def __init__(self, device_handle: _Optional[_Union[HailoObjectHandle, _Mapping]] = ..., notification_id: _Optional[int] = ..., callback: _Optional[_Union[HailoCallbackHandle, _Mapping]] = ...) -> None: ...

class Device_RemoveNotificationCallback_Request(_message.Message):
    __slots__ = ("device_handle", "notification_id")
    DEVICE_HANDLE_FIELD_NUMBER: _ClassVar[int]
    NOTIFICATION_ID_FIELD_NUMBER: _ClassVar[int]
    device_handle: HailoObjectHandle
    notification_id: int
    def __init__(self, device_handle: _Optional[_Union[HailoObjectHandle, _Mapping]] = ..., notification_id: _Optional[int] = ...) -> None: ...

class Device_FetchLogs_Request(_message.Message):
    __slots__ = ("device_handle", "buffer_size", "log_type")
    DEVICE_HANDLE_FIELD_NUMBER: _ClassVar[int]
    BUFFER_SIZE_FIELD_NUMBER: _ClassVar[int]
    LOG_TYPE_FIELD_NUMBER: _ClassVar[int]
    device_handle: HailoObjectHandle
    buffer_size: int
    log_type: int
    def __init__(self, device_handle: _Optional[_Union[HailoObjectHandle, _Mapping]] = ..., buffer_size: _Optional[int] = ..., log_type: _Optional[int] = ...) -> None: ...

class Device_FetchLogs_Reply(_message.Message):
    __slots__ = ("log_size",)
    LOG_SIZE_FIELD_NUMBER: _ClassVar[int]
    log_size: int
    def __init__(self, log_size: _Optional[int] = ...) -> None: ...

class Device_EchoBuffer_Request(_message.Message):
    __slots__ = ("buffer_size",)
    BUFFER_SIZE_FIELD_NUMBER: _ClassVar[int]
    buffer_size: int
    def __init__(self, buffer_size: _Optional[int] = ...) -> None: ...
