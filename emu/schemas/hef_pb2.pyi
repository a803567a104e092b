from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ProtoHEFExtensionType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ABBALE: _ClassVar[ProtoHEFExtensionType]
    POSTED_WRITES: _ClassVar[ProtoHEFExtensionType]
    DDR: _ClassVar[ProtoHEFExtensionType]
    PADDED_DDR_BUFFERS: _ClassVar[ProtoHEFExtensionType]
    IS_MULTI_CONTEXTS: _ClassVar[ProtoHEFExtensionType]
    COMPRESSED_PARAMS: _ClassVar[ProtoHEFExtensionType]
    TRANSPOSE_COMPONENT: _ClassVar[ProtoHEFExtensionType]
    TEST_ONE: _ClassVar[ProtoHEFExtensionType]
    MULTI_NETWORK_VARIABLE_BATCH_SIZE: _ClassVar[ProtoHEFExtensionType]
    IS_NMS_MULTI_CONTEXT: _ClassVar[ProtoHEFExtensionType]
    OFFLOAD_ARGMAX: _ClassVar[ProtoHEFExtensionType]
    HW_PADDING: _ClassVar[ProtoHEFExtensionType]
    KO_RUN_ASAP: _ClassVar[ProtoHEFExtensionType]
    HAILO_NET_FLOW: _ClassVar[ProtoHEFExtensionType]
    HAILO_NET_FLOW_YOLOV5_NMS: _ClassVar[ProtoHEFExtensionType]
    HAILO_NET_FLOW_YOLOX_NMS: _ClassVar[ProtoHEFExtensionType]
    HAILO_NET_FLOW_SSD_NMS: _ClassVar[ProtoHEFExtensionType]
    HAILO_NET_FLOW_IOU_NMS: _ClassVar[ProtoHEFExtensionType]
    WRITE_DATA_BY_TYPE: _ClassVar[ProtoHEFExtensionType]
    NMS_OUTPUT_BURST: _ClassVar[ProtoHEFExtensionType]
    DUAL_DIRECTION_STREAM_INDEX: _ClassVar[ProtoHEFExtensionType]
    HAILO_NET_FLOW_ARGMAX: _ClassVar[ProtoHEFExtensionType]
    HAILO_NET_FLOW_SOFTMAX: _ClassVar[ProtoHEFExtensionType]
    ALIGNED_FORMAT_TYPE: _ClassVar[ProtoHEFExtensionType]
    HAILO_NET_FLOW_YOLOV5_SEG_NMS: _ClassVar[ProtoHEFExtensionType]
    OUTPUT_SCALE_PER_FEATURE: _ClassVar[ProtoHEFExtensionType]
    PERIPH_CALCULATION_IN_HAILORT: _ClassVar[ProtoHEFExtensionType]
    HAILO_NET_FLOW_YOLOV8_NMS: _ClassVar[ProtoHEFExtensionType]
    BATCH_REGISTER_CONFIG: _ClassVar[ProtoHEFExtensionType]
    HAILO_NET_FLOW_BBOX_DECODING: _ClassVar[ProtoHEFExtensionType]
    CCW_PTR_SQUEEZE: _ClassVar[ProtoHEFExtensionType]
    EXTERNAL_RESOURCES: _ClassVar[ProtoHEFExtensionType]
    SHARED_CONFIG: _ClassVar[ProtoHEFExtensionType]
    CSM_CRC: _ClassVar[ProtoHEFExtensionType]
    ENABLE_CONFIG_CHANNELS: _ClassVar[ProtoHEFExtensionType]
    STRICT_RUNTIME_VERSIONING: _ClassVar[ProtoHEFExtensionType]
    UNUSED: _ClassVar[ProtoHEFExtensionType]

class ProtoHEFHwArch(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PROTO__HW_ARCH__HAILO8: _ClassVar[ProtoHEFHwArch]
    PROTO__HW_ARCH__HAILO8P: _ClassVar[ProtoHEFHwArch]
    PROTO__HW_ARCH__HAILO8R: _ClassVar[ProtoHEFHwArch]
    PROTO__HW_ARCH__HAILO8L: _ClassVar[ProtoHEFHwArch]
    PROTO__HW_ARCH__HAILO1XH: _ClassVar[ProtoHEFHwArch]
    PROTO__HW_ARCH__HAILO15M: _ClassVar[ProtoHEFHwArch]
    PROTO__HW_ARCH__HAILO10H: _ClassVar[ProtoHEFHwArch]
    PROTO__HW_ARCH__HAILO15L: _ClassVar[ProtoHEFHwArch]
    PROTO__HW_ARCH__SAGE_A0: _ClassVar[ProtoHEFHwArch]
    PROTO__HW_ARCH__SAGE_B0: _ClassVar[ProtoHEFHwArch]
    PROTO__HW_ARCH__PAPRIKA_B0: _ClassVar[ProtoHEFHwArch]
    PROTO__HW_ARCH__GINGER: _ClassVar[ProtoHEFHwArch]
    PROTO__HW_ARCH__LAVENDER: _ClassVar[ProtoHEFHwArch]
    PROTO__HW_ARCH__PLUTO: _ClassVar[ProtoHEFHwArch]
    PROTO__HW_ARCH__MARS: _ClassVar[ProtoHEFHwArch]

class ProtoHEFLogitsType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PROTO_HEF_ARGMAX_TYPE: _ClassVar[ProtoHEFLogitsType]
    PROTO_HEF_SOFTMAX_TYPE: _ClassVar[ProtoHEFLogitsType]

class ProtoHEFFormatOrder(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PROTO__FORMAT__ORDER__AUTO: _ClassVar[ProtoHEFFormatOrder]
    PROTO__FORMAT__ORDER__NHWC: _ClassVar[ProtoHEFFormatOrder]
    PROTO__FORMAT__ORDER__NHCW: _ClassVar[ProtoHEFFormatOrder]
    PROTO__FORMAT__ORDER__FCR: _ClassVar[ProtoHEFFormatOrder]
    PROTO__FORMAT__ORDER__F8CR: _ClassVar[ProtoHEFFormatOrder]
    PROTO__FORMAT__ORDER__NHW: _ClassVar[ProtoHEFFormatOrder]
    PROTO__FORMAT__ORDER__NC: _ClassVar[ProtoHEFFormatOrder]
    PROTO__FORMAT__ORDER__BAYER_RGB: _ClassVar[ProtoHEFFormatOrder]
    PROTO__FORMAT__ORDER__12_BIT_BAYER_RGB: _ClassVar[ProtoHEFFormatOrder]
    PROTO__FORMAT__ORDER__HAILO_NMS: _ClassVar[ProtoHEFFormatOrder]
    PROTO__FORMAT__ORDER__RGB888: _ClassVar[ProtoHEFFormatOrder]
    PROTO__FORMAT__ORDER__NCHW: _ClassVar[ProtoHEFFormatOrder]
    PROTO__FORMAT__ORDER__YUY2: _ClassVar[ProtoHEFFormatOrder]
    PROTO__FORMAT__ORDER__NV12: _ClassVar[ProtoHEFFormatOrder]
    PROTO__FORMAT__ORDER__NV21: _ClassVar[ProtoHEFFormatOrder]
    PROTO__FORMAT__ORDER__HAILO_YYUV: _ClassVar[ProtoHEFFormatOrder]
    PROTO__FORMAT__ORDER__HAILO_YYVU: _ClassVar[ProtoHEFFormatOrder]
    PROTO__FORMAT__ORDER__MAX_ENUM: _ClassVar[ProtoHEFFormatOrder]

class ProtoHEFDataType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PROTO__UINT8: _ClassVar[ProtoHEFDataType]
    PROTO__UINT16: _ClassVar[ProtoHEFDataType]

class ProtoHEFFormatType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PROTO__FORMAT__TYPE__AUTO: _ClassVar[ProtoHEFFormatType]
    PROTO__FORMAT__TYPE__UINT8: _ClassVar[ProtoHEFFormatType]
    PROTO__FORMAT__TYPE__UINT16: _ClassVar[ProtoHEFFormatType]
    PROTO__FORMAT__TYPE__MAX_ENUM: _ClassVar[ProtoHEFFormatType]

class ProtoHEFDebugType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SLEEP: _ClassVar[ProtoHEFDebugType]
    HALT: _ClassVar[ProtoHEFDebugType]

class ProtoHEFWriteDataType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DATA_FROM_ACTION: _ClassVar[ProtoHEFWriteDataType]
    BATCH_SIZE: _ClassVar[ProtoHEFWriteDataType]

class ProtoHEFEdgeLayerDirection(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PROTO__EDGE_LAYER_DIRECTION__HOST_TO_DEVICE: _ClassVar[ProtoHEFEdgeLayerDirection]
    PROTO__EDGE_LAYER_DIRECTION__DEVICE_TO_HOST: _ClassVar[ProtoHEFEdgeLayerDirection]

class ProtoHEFEdgeLayerType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PROTO__EDGE_LAYER_TYPE__INFO: _ClassVar[ProtoHEFEdgeLayerType]
    PROTO__EDGE_LAYER_TYPE__MUX: _ClassVar[ProtoHEFEdgeLayerType]
    PROTO__EDGE_LAYER_TYPE__PLANES: _ClassVar[ProtoHEFEdgeLayerType]

class ProtoHEFEPlanesFormat(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PROTO__PLANES__FORMAT__NV12: _ClassVar[ProtoHEFEPlanesFormat]
    PROTO__PLANES__FORMAT__NV21: _ClassVar[ProtoHEFEPlanesFormat]
    PROTO__PLANES__FORMAT__I420: _ClassVar[ProtoHEFEPlanesFormat]

class ProtoHEFEdgeConnectionType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PROTO__EDGE_CONNECTION_TYPE__BOUNDARY: _ClassVar[ProtoHEFEdgeConnectionType]
    PROTO__EDGE_CONNECTION_TYPE__INTERMEDIATE: _ClassVar[ProtoHEFEdgeConnectionType]
    PROTO__EDGE_CONNECTION_TYPE__DDR: _ClassVar[ProtoHEFEdgeConnectionType]
    PROTO__EDGE_CONNECTION_TYPE__CACHE: _ClassVar[ProtoHEFEdgeConnectionType]

class ProtoHEFNmsBurstType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PROTO__NMS_BURST_TYPE__NO_BURST: _ClassVar[ProtoHEFNmsBurstType]
    PROTO__NMS_BURST_TYPE__H8_PER_CLASS: _ClassVar[ProtoHEFNmsBurstType]
    PROTO__NMS_BURST_TYPE__H15_PER_CLASS: _ClassVar[ProtoHEFNmsBurstType]
    PROTO__NMS_BURST_TYPE__H15_PER_FRAME: _ClassVar[ProtoHEFNmsBurstType]
ABBALE: ProtoHEFExtensionType
POSTED_WRITES: ProtoHEFExtensionType
DDR: ProtoHEFExtensionType
PADDED_DDR_BUFFERS: ProtoHEFExtensionType
IS_MULTI_CONTEXTS: ProtoHEFExtensionType
COMPRESSED_PARAMS: ProtoHEFExtensionType
TRANSPOSE_COMPONENT: ProtoHEFExtensionType
TEST_ONE: ProtoHEFExtensionType
MULTI_NETWORK_VARIABLE_BATCH_SIZE: ProtoHEFExtensionType
IS_NMS_MULTI_CONTEXT: ProtoHEFExtensionType
OFFLOAD_ARGMAX: ProtoHEFExtensionType
HW_PADDING: ProtoHEFExtensionType
KO_RUN_ASAP: ProtoHEFExtensionType
HAILO_NET_FLOW: ProtoHEFExtensionType
HAILO_NET_FLOW_YOLOV5_NMS: ProtoHEFExtensionType
HAILO_NET_FLOW_YOLOX_NMS: ProtoHEFExtensionType
HAILO_NET_FLOW_SSD_NMS: ProtoHEFExtensionType
HAILO_NET_FLOW_IOU_NMS: ProtoHEFExtensionType
WRITE_DATA_BY_TYPE: ProtoHEFExtensionType
NMS_OUTPUT_BURST: ProtoHEFExtensionType
DUAL_DIRECTION_STREAM_INDEX: ProtoHEFExtensionType
HAILO_NET_FLOW_ARGMAX: ProtoHEFExtensionType
HAILO_NET_FLOW_SOFTMAX: ProtoHEFExtensionType
ALIGNED_FORMAT_TYPE: ProtoHEFExtensionType
HAILO_NET_FLOW_YOLOV5_SEG_NMS: ProtoHEFExtensionType
OUTPUT_SCALE_PER_FEATURE: ProtoHEFExtensionType
PERIPH_CALCULATION_IN_HAILORT: ProtoHEFExtensionType
HAILO_NET_FLOW_YOLOV8_NMS: ProtoHEFExtensionType
BATCH_REGISTER_CONFIG: ProtoHEFExtensionType
HAILO_NET_FLOW_BBOX_DECODING: ProtoHEFExtensionType
CCW_PTR_SQUEEZE: ProtoHEFExtensionType
EXTERNAL_RESOURCES: ProtoHEFExtensionType
SHARED_CONFIG: ProtoHEFExtensionType
CSM_CRC: ProtoHEFExtensionType
ENABLE_CONFIG_CHANNELS: ProtoHEFExtensionType
STRICT_RUNTIME_VERSIONING: ProtoHEFExtensionType
UNUSED: ProtoHEFExtensionType
PROTO__HW_ARCH__HAILO8: ProtoHEFHwArch
PROTO__HW_ARCH__HAILO8P: ProtoHEFHwArch
PROTO__HW_ARCH__HAILO8R: ProtoHEFHwArch
PROTO__HW_ARCH__HAILO8L: ProtoHEFHwArch
PROTO__HW_ARCH__HAILO1XH: ProtoHEFHwArch
PROTO__HW_ARCH__HAILO15M: ProtoHEFHwArch
PROTO__HW_ARCH__HAILO10H: ProtoHEFHwArch
PROTO__HW_ARCH__HAILO15L: ProtoHEFHwArch
PROTO__HW_ARCH__SAGE_A0: ProtoHEFHwArch
PROTO__HW_ARCH__SAGE_B0: ProtoHEFHwArch
PROTO__HW_ARCH__PAPRIKA_B0: ProtoHEFHwArch
PROTO__HW_ARCH__GINGER: ProtoHEFHwArch
PROTO__HW_ARCH__LAVENDER: ProtoHEFHwArch
PROTO__HW_ARCH__PLUTO: ProtoHEFHwArch
PROTO__HW_ARCH__MARS: ProtoHEFHwArch
PROTO_HEF_ARGMAX_TYPE: ProtoHEFLogitsType
PROTO_HEF_SOFTMAX_TYPE: ProtoHEFLogitsType
PROTO__FORMAT__ORDER__AUTO: ProtoHEFFormatOrder
PROTO__FORMAT__ORDER__NHWC: ProtoHEFFormatOrder
PROTO__FORMAT__ORDER__NHCW: ProtoHEFFormatOrder
PROTO__FORMAT__ORDER__FCR: ProtoHEFFormatOrder
PROTO__FORMAT__ORDER__F8CR: ProtoHEFFormatOrder
PROTO__FORMAT__ORDER__NHW: ProtoHEFFormatOrder
PROTO__FORMAT__ORDER__NC: ProtoHEFFormatOrder
PROTO__FORMAT__ORDER__BAYER_RGB: ProtoHEFFormatOrder
PROTO__FORMAT__ORDER__12_BIT_BAYER_RGB: ProtoHEFFormatOrder
PROTO__FORMAT__ORDER__HAILO_NMS: ProtoHEFFormatOrder
PROTO__FORMAT__ORDER__RGB888: ProtoHEFFormatOrder
PROTO__FORMAT__ORDER__NCHW: ProtoHEFFormatOrder
PROTO__FORMAT__ORDER__YUY2: ProtoHEFFormatOrder
PROTO__FORMAT__ORDER__NV12: ProtoHEFFormatOrder
PROTO__FORMAT__ORDER__NV21: ProtoHEFFormatOrder
PROTO__FORMAT__ORDER__HAILO_YYUV: ProtoHEFFormatOrder
PROTO__FORMAT__ORDER__HAILO_YYVU: ProtoHEFFormatOrder
PROTO__FORMAT__ORDER__MAX_ENUM: ProtoHEFFormatOrder
PROTO__UINT8: ProtoHEFDataType
PROTO__UINT16: ProtoHEFDataType
PROTO__FORMAT__TYPE__AUTO: ProtoHEFFormatType
PROTO__FORMAT__TYPE__UINT8: ProtoHEFFormatType
PROTO__FORMAT__TYPE__UINT16: ProtoHEFFormatType
PROTO__FORMAT__TYPE__MAX_ENUM: ProtoHEFFormatType
SLEEP: ProtoHEFDebugType
HALT: ProtoHEFDebugType
DATA_FROM_ACTION: ProtoHEFWriteDataType
BATCH_SIZE: ProtoHEFWriteDataType
PROTO__EDGE_LAYER_DIRECTION__HOST_TO_DEVICE: ProtoHEFEdgeLayerDirection
PROTO__EDGE_LAYER_DIRECTION__DEVICE_TO_HOST: ProtoHEFEdgeLayerDirection
PROTO__EDGE_LAYER_TYPE__INFO: ProtoHEFEdgeLayerType
PROTO__EDGE_LAYER_TYPE__MUX: ProtoHEFEdgeLayerType
PROTO__EDGE_LAYER_TYPE__PLANES: ProtoHEFEdgeLayerType
PROTO__PLANES__FORMAT__NV12: ProtoHEFEPlanesFormat
PROTO__PLANES__FORMAT__NV21: ProtoHEFEPlanesFormat
PROTO__PLANES__FORMAT__I420: ProtoHEFEPlanesFormat
PROTO__EDGE_CONNECTION_TYPE__BOUNDARY: ProtoHEFEdgeConnectionType
PROTO__EDGE_CONNECTION_TYPE__INTERMEDIATE: ProtoHEFEdgeConnectionType
PROTO__EDGE_CONNECTION_TYPE__DDR: ProtoHEFEdgeConnectionType
PROTO__EDGE_CONNECTION_TYPE__CACHE: ProtoHEFEdgeConnectionType
PROTO__NMS_BURST_TYPE__NO_BURST: ProtoHEFNmsBurstType
PROTO__NMS_BURST_TYPE__H8_PER_CLASS: ProtoHEFNmsBurstType
PROTO__NMS_BURST_TYPE__H15_PER_CLASS: ProtoHEFNmsBurstType
PROTO__NMS_BURST_TYPE__H15_PER_FRAME: ProtoHEFNmsBurstType

class ProtoHEFHef(_message.Message):
    __slots__ = ("header", "network_groups", "mapping", "included_features", "extensions", "optional_extensions", "external_resources")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    NETWORK_GROUPS_FIELD_NUMBER: _ClassVar[int]
    MAPPING_FIELD_NUMBER: _ClassVar[int]
    INCLUDED_FEATURES_FIELD_NUMBER: _ClassVar[int]
    EXTENSIONS_FIELD_NUMBER: _ClassVar[int]
    OPTIONAL_EXTENSIONS_FIELD_NUMBER: _ClassVar[int]
    EXTERNAL_RESOURCES_FIELD_NUMBER: _ClassVar[int]
    header: ProtoHEFHeader
    network_groups: _containers.RepeatedCompositeFieldContainer[ProtoHEFNetworkGroup]
    mapping: bytes
    included_features: ProtoHEFIncludedFeatures
    extensions: _containers.RepeatedCompositeFieldContainer[ProtoHEFExtension]
    optional_extensions: _containers.RepeatedCompositeFieldContainer[ProtoHEFOptionalExtension]
    external_resources: _containers.RepeatedCompositeFieldContainer[ProtoHEFExternalResource]
    def __init__(self, header: _Optional[_Union[ProtoHEFHeader, _Mapping]] = ..., network_groups: _Optional[_Iterable[_Union[ProtoHEFNetworkGroup, _Mapping]]] = ..., mapping: _Optional[bytes] = ..., included_features: _Optional[_Union[ProtoHEFIncludedFeatures, _Mapping]] = ..., extensions: _Optional[_Iterable[_Union[ProtoHEFExtension, _Mapping]]] = ..., optional_extensions: _Optional[_Iterable[_Union[ProtoHEFOptionalExtension, _Mapping]]] = ..., external_resources: _Optional[_Iterable[_Union[ProtoHEFExternalResource, _Mapping]]] = ...) -> None: ...

class ProtoHEFExternalResource(_message.Message):
    __slots__ = ("offset", "size", "name", "xxhash")
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    XXHASH_FIELD_NUMBER: _ClassVar[int]
    offset: int
    size: int
    name: str
    xxhash: int
    def __init__(self, offset: _Optional[int] = ..., size: _Optional[int] = ..., name: _Optional[str] = ..., xxhash: _Optional[int] = ...) -> None: ...

class ProtoHEFIncludedFeatures(_message.Message):
    __slots__ = ("abbale", "posted_writes", "ddr", "is_multi_context", "compressed_params", "transpose_component", "padded_ddr_buffers", "sequencer")
    ABBALE_FIELD_NUMBER: _ClassVar[int]
    POSTED_WRITES_FIELD_NUMBER: _ClassVar[int]
    DDR_FIELD_NUMBER: _ClassVar[int]
    IS_MULTI_CONTEXT_FIELD_NUMBER: _ClassVar[int]
    COMPRESSED_PARAMS_FIELD_NUMBER: _ClassVar[int]
    TRANSPOSE_COMPONENT_FIELD_NUMBER: _ClassVar[int]
    PADDED_DDR_BUFFERS_FIELD_NUMBER: _ClassVar[int]
    SEQUENCER_FIELD_NUMBER: _ClassVar[int]
    abbale: bool
    posted_writes: bool
    ddr: bool
    is_multi_context: bool
    compressed_params: bool
    transpose_component: bool
    padded_ddr_buffers: bool
    sequencer: bool
    def __init__(self, abbale: bool = ..., posted_writes: bool = ..., ddr: bool = ..., is_multi_context: bool = ..., compressed_params: bool = ..., transpose_component: bool = ..., padded_ddr_buffers: bool = ..., sequencer: bool = ...) -> None: ...

class ProtoHEFExtension(_message.Message):
    __slots__ = ("type_index", "name")
    TYPE_INDEX_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    type_index: int
    name: str
    def __init__(self, type_index: _Optional[int] = ..., name: _Optional[str] = ...) -> None: ...

class ProtoHEFOptionalExtension(_message.Message):
    __slots__ = ("type_index", "name")
    TYPE_INDEX_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    type_index: int
    name: str
    def __init__(self, type_index: _Optional[int] = ..., name: _Optional[str] = ...) -> None: ...

class ProtoHEFSdkVersion(_message.Message):
    __slots__ = ("sdk_version_major", "sdk_version_minor", "sdk_version_revision")
    SDK_VERSION_MAJOR_FIELD_NUMBER: _ClassVar[int]
    SDK_VERSION_MINOR_FIELD_NUMBER: _ClassVar[int]
    SDK_VERSION_REVISION_FIELD_NUMBER: _ClassVar[int]
    sdk_version_major: int
    sdk_version_minor: int
    sdk_version_revision: int
    def __init__(self, sdk_version_major: _Optional[int] = ..., sdk_version_minor: _Optional[int] = ..., sdk_version_revision: _Optional[int] = ...) -> None: ...

class ProtoHEFRuntimeVersion(_message.Message):
    __slots__ = ("runtime_min_version_major", "runtime_min_version_minor", "runtime_min_version_patch")
    RUNTIME_MIN_VERSION_MAJOR_FIELD_NUMBER: _ClassVar[int]
    RUNTIME_MIN_VERSION_MINOR_FIELD_NUMBER: _ClassVar[int]
    RUNTIME_MIN_VERSION_PATCH_FIELD_NUMBER: _ClassVar[int]
    runtime_min_version_major: int
    runtime_min_version_minor: int
    runtime_min_version_patch: int
    def __init__(self, runtime_min_version_major: _Optional[int] = ..., runtime_min_version_minor: _Optional[int] = ..., runtime_min_version_patch: _Optional[int] = ...) -> None: ...

class ProtoHEFHeader(_message.Message):
    __slots__ = ("hw_arch", "timestamp", "sdk_version_str", "sdk_version", "version", "strict_runtime_min_version")
    HW_ARCH_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    SDK_VERSION_STR_FIELD_NUMBER: _ClassVar[int]
    SDK_VERSION_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    STRICT_RUNTIME_MIN_VERSION_FIELD_NUMBER: _ClassVar[int]
    hw_arch: ProtoHEFHwArch
    timestamp: int
    sdk_version_str: str
    sdk_version: ProtoHEFSdkVersion
    version: int
    strict_runtime_min_version: ProtoHEFRuntimeVersion
    def __init__(self, hw_arch: _Optional[_Union[ProtoHEFHwArch, str]] = ..., timestamp: _Optional[int] = ..., sdk_version_str: _Optional[str] = ..., sdk_version: _Optional[_Union[ProtoHEFSdkVersion, _Mapping]] = ..., version: _Optional[int] = ..., strict_runtime_min_version: _Optional[_Union[ProtoHEFRuntimeVersion, _Mapping]] = ...) -> None: ...

class ProtoHEFPhysicalLayout(_message.Message):
    __slots__ = ("partial_clusters_layout_bitmap",)
    PARTIAL_CLUSTERS_LAYOUT_BITMAP_FIELD_NUMBER: _ClassVar[int]
    partial_clusters_layout_bitmap: int
    def __init__(self, partial_clusters_layout_bitmap: _Optional[int] = ...) -> None: ...

class ProtoHEFPartialNetworkGroup(_message.Message):
    __slots__ = ("network_group", "layout")
    NETWORK_GROUP_FIELD_NUMBER: _ClassVar[int]
    LAYOUT_FIELD_NUMBER: _ClassVar[int]
    network_group: ProtoHEFNetworkGroup
    layout: ProtoHEFPhysicalLayout
    def __init__(self, network_group: _Optional[_Union[ProtoHEFNetworkGroup, _Mapping]] = ..., layout: _Optional[_Union[ProtoHEFPhysicalLayout, _Mapping]] = ...) -> None: ...

class ProtoHEFPartialCoreOp(_message.Message):
    __slots__ = ("core_op", "layout")
    CORE_OP_FIELD_NUMBER: _ClassVar[int]
    LAYOUT_FIELD_NUMBER: _ClassVar[int]
    core_op: ProtoHEFCoreOp
    layout: ProtoHEFPhysicalLayout
    def __init__(self, core_op: _Optional[_Union[ProtoHEFCoreOp, _Mapping]] = ..., layout: _Optional[_Union[ProtoHEFPhysicalLayout, _Mapping]] = ...) -> None: ...

class ProtoHEFCoreOp(_message.Message):
    __slots__ = ("network_group_metadata", "preliminary_config", "contexts", "sorted_outputs_order", "fused_layers_metadata", "networks_names", "partial_core_ops")
    NETWORK_GROUP_METADATA_FIELD_NUMBER: _ClassVar[int]
    PRELIMINARY_CONFIG_FIELD_NUMBER: _ClassVar[int]
    CONTEXTS_FIELD_NUMBER: _ClassVar[int]
    SORTED_OUTPUTS_ORDER_FIELD_NUMBER: _ClassVar[int]
    FUSED_LAYERS_METADATA_FIELD_NUMBER: _ClassVar[int]
    NETWORKS_NAMES_FIELD_NUMBER: _ClassVar[int]
    PARTIAL_CORE_OPS_FIELD_NUMBER: _ClassVar[int]
    network_group_metadata: ProtoHEFNetworkGroupMetadata
    preliminary_config: ProtoHEFPreliminaryConfig
    contexts: _containers.RepeatedCompositeFieldContainer[ProtoHEFContext]
    sorted_outputs_order: _containers.RepeatedScalarFieldContainer[str]
    fused_layers_metadata: ProtoHEFFusedLayersMetadata
    networks_names: _containers.RepeatedScalarFieldContainer[str]
    partial_core_ops: _containers.RepeatedCompositeFieldContainer[ProtoHEFPartialCoreOp]
    def __init__(self, network_group_metadata: _Optional[_Union[ProtoHEFNetworkGroupMetadata, _Mapping]] = ..., preliminary_config: _Optional[_Union[ProtoHEFPreliminaryConfig, _Mapping]] = ..., contexts: _Optional[_Iterable[_Union[ProtoHEFContext, _Mapping]]] = ..., sorted_outputs_order: _Optional[_Iterable[str]] = ..., fused_layers_metadata: _Optional[_Union[ProtoHEFFusedLayersMetadata, _Mapping]] = ..., networks_names: _Optional[_Iterable[str]] = ..., partial_core_ops: _Optional[_Iterable[_Union[ProtoHEFPartialCoreOp, _Mapping]]] = ...) -> None: ...

class ProtoHEFYoloBboxDecoder(_message.Message):
    __slots__ = ("h", "w", "stride", "pad_index")
    H_FIELD_NUMBER: _ClassVar[int]
    W_FIELD_NUMBER: _ClassVar[int]
    STRIDE_FIELD_NUMBER: _ClassVar[int]
    PAD_INDEX_FIELD_NUMBER: _ClassVar[int]
    h: _containers.RepeatedScalarFieldContainer[int]
    w: _containers.RepeatedScalarFieldContainer[int]
    stride: int
    pad_index: int
    def __init__(self, h: _Optional[_Iterable[int]] = ..., w: _Optional[_Iterable[int]] = ..., stride: _Optional[int] = ..., pad_index: _Optional[int] = ...) -> None: ...

class ProtoHEFYoloNmsOp(_message.Message):
    __slots__ = ("image_height", "image_width", "input_division_factor", "bbox_decoders")
    IMAGE_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    IMAGE_WIDTH_FIELD_NUMBER: _ClassVar[int]
    INPUT_DIVISION_FACTOR_FIELD_NUMBER: _ClassVar[int]
    BBOX_DECODERS_FIELD_NUMBER: _ClassVar[int]
    image_height: float
    image_width: float
    input_division_factor: int
    bbox_decoders: _containers.RepeatedCompositeFieldContainer[ProtoHEFYoloBboxDecoder]
    def __init__(self, image_height: _Optional[float] = ..., image_width: _Optional[float] = ..., input_division_factor: _Optional[int] = ..., bbox_decoders: _Optional[_Iterable[_Union[ProtoHEFYoloBboxDecoder, _Mapping]]] = ...) -> None: ...

class ProtoHEFSSDBboxDecoder(_message.Message):
    __slots__ = ("h", "w", "reg_pad_index", "cls_pad_index")
    H_FIELD_NUMBER: _ClassVar[int]
    W_FIELD_NUMBER: _ClassVar[int]
    REG_PAD_INDEX_FIELD_NUMBER: _ClassVar[int]
    CLS_PAD_INDEX_FIELD_NUMBER: _ClassVar[int]
    h: _containers.RepeatedScalarFieldContainer[float]
    w: _containers.RepeatedScalarFieldContainer[float]
    reg_pad_index: int
    cls_pad_index: int
    def __init__(self, h: _Optional[_Iterable[float]] = ..., w: _Optional[_Iterable[float]] = ..., reg_pad_index: _Optional[int] = ..., cls_pad_index: _Optional[int] = ...) -> None: ...

class ProtoHEFYoloxBboxDecoder(_message.Message):
    __slots__ = ("stride", "reg_pad_index", "cls_pad_index", "obj_pad_index")
    STRIDE_FIELD_NUMBER: _ClassVar[int]
    REG_PAD_INDEX_FIELD_NUMBER: _ClassVar[int]
    CLS_PAD_INDEX_FIELD_NUMBER: _ClassVar[int]
    OBJ_PAD_INDEX_FIELD_NUMBER: _ClassVar[int]
    stride: int
    reg_pad_index: int
    cls_pad_index: int
    obj_pad_index: int
    def __init__(self, stride: _Optional[int] = ..., reg_pad_index: _Optional[int] = ..., cls_pad_index: _Optional[int] = ..., obj_pad_index: _Optional[int] = ...) -> None: ...

class ProtoHEFYoloxNmsOp(_message.Message):
    __slots__ = ("image_height", "image_width", "bbox_decoders")
    IMAGE_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    IMAGE_WIDTH_FIELD_NUMBER: _ClassVar[int]
    BBOX_DECODERS_FIELD_NUMBER: _ClassVar[int]
    image_height: float
    image_width: float
    bbox_decoders: _containers.RepeatedCompositeFieldContainer[ProtoHEFYoloxBboxDecoder]
    def __init__(self, image_height: _Optional[float] = ..., image_width: _Optional[float] = ..., bbox_decoders: _Optional[_Iterable[_Union[ProtoHEFYoloxBboxDecoder, _Mapping]]] = ...) -> None: ...

class ProtoHEFSSDNmsOp(_message.Message):
    __slots__ = ("image_height", "image_width", "centers_scale_factor", "bbox_dimensions_scale_factor", "ty", "tx", "th", "tw", "bbox_decoders")
    IMAGE_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    IMAGE_WIDTH_FIELD_NUMBER: _ClassVar[int]
    CENTERS_SCALE_FACTOR_FIELD_NUMBER: _ClassVar[int]
    BBOX_DIMENSIONS_SCALE_FACTOR_FIELD_NUMBER: _ClassVar[int]
    TY_FIELD_NUMBER: _ClassVar[int]
    TX_FIELD_NUMBER: _ClassVar[int]
    TH_FIELD_NUMBER: _ClassVar[int]
    TW_FIELD_NUMBER: _ClassVar[int]
    BBOX_DECODERS_FIELD_NUMBER: _ClassVar[int]
    image_height: float
    image_width: float
    centers_scale_factor: int
    bbox_dimensions_scale_factor: int
    ty: int
    tx: int
    th: int
    tw: int
    bbox_decoders: _containers.RepeatedCompositeFieldContainer[ProtoHEFSSDBboxDecoder]
    def __init__(self, image_height: _Optional[float] = ..., image_width: _Optional[float] = ..., centers_scale_factor: _Optional[int] = ..., bbox_dimensions_scale_factor: _Optional[int] = ..., ty: _Optional[int] = ..., tx: _Optional[int] = ..., th: _Optional[int] = ..., tw: _Optional[int] = ..., bbox_decoders: _Optional[_Iterable[_Union[ProtoHEFSSDBboxDecoder, _Mapping]]] = ...) -> None: ...

class ProtoHEFIOUNmsOp(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ProtoHEFYoloSegProtoInfo(_message.Message):
    __slots__ = ("number", "stride", "proto_layer")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    STRIDE_FIELD_NUMBER: _ClassVar[int]
    PROTO_LAYER_FIELD_NUMBER: _ClassVar[int]
    number: int
    stride: int
    proto_layer: str
    def __init__(self, number: _Optional[int] = ..., stride: _Optional[int] = ..., proto_layer: _Optional[str] = ...) -> None: ...

class ProtoHEFYoloSegNmsOp(_message.Message):
    __slots__ = ("image_height", "image_width", "bbox_decoders", "proto_info", "mask_threshold")
    IMAGE_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    IMAGE_WIDTH_FIELD_NUMBER: _ClassVar[int]
    BBOX_DECODERS_FIELD_NUMBER: _ClassVar[int]
    PROTO_INFO_FIELD_NUMBER: _ClassVar[int]
    MASK_THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    image_height: float
    image_width: float
    bbox_decoders: _containers.RepeatedCompositeFieldContainer[ProtoHEFYoloBboxDecoder]
    proto_info: ProtoHEFYoloSegProtoInfo
    mask_threshold: float
    def __init__(self, image_height: _Optional[float] = ..., image_width: _Optional[float] = ..., bbox_decoders: _Optional[_Iterable[_Union[ProtoHEFYoloBboxDecoder, _Mapping]]] = ..., proto_info: _Optional[_Union[ProtoHEFYoloSegProtoInfo, _Mapping]] = ..., mask_threshold: _Optional[float] = ...) -> None: ...

class ProtoHEFYolov8BboxDecoder(_message.Message):
    __slots__ = ("stride", "reg_pad_index", "cls_pad_index")
    STRIDE_FIELD_NUMBER: _ClassVar[int]
    REG_PAD_INDEX_FIELD_NUMBER: _ClassVar[int]
    CLS_PAD_INDEX_FIELD_NUMBER: _ClassVar[int]
    stride: int
    reg_pad_index: int
    cls_pad_index: int
    def __init__(self, stride: _Optional[int] = ..., reg_pad_index: _Optional[int] = ..., cls_pad_index: _Optional[int] = ...) -> None: ...

class ProtoHEFYolov8NmsOp(_message.Message):
    __slots__ = ("image_height", "image_width", "input_division_factor", "bbox_decoders", "regression_length")
    IMAGE_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    IMAGE_WIDTH_FIELD_NUMBER: _ClassVar[int]
    INPUT_DIVISION_FACTOR_FIELD_NUMBER: _ClassVar[int]
    BBOX_DECODERS_FIELD_NUMBER: _ClassVar[int]
    REGRESSION_LENGTH_FIELD_NUMBER: _ClassVar[int]
    image_height: float
    image_width: float
    input_division_factor: int
    bbox_decoders: _containers.RepeatedCompositeFieldContainer[ProtoHEFYolov8BboxDecoder]
    regression_length: int
    def __init__(self, image_height: _Optional[float] = ..., image_width: _Optional[float] = ..., input_division_factor: _Optional[int] = ..., bbox_decoders: _Optional[_Iterable[_Union[ProtoHEFYolov8BboxDecoder, _Mapping]]] = ..., regression_length: _Optional[int] = ...) -> None: ...

class ProtoHEFNmsOp(_message.Message):
    __slots__ = ("nms_score_th", "nms_iou_th", "max_proposals_per_class", "classes", "background_removal", "background_removal_index", "bbox_decoding_only", "yolo_nms_op", "yolox_nms_op", "ssd_nms_op", "iou_op", "yolo_seg_op", "yolov8_nms_op")
    NMS_SCORE_TH_FIELD_NUMBER: _ClassVar[int]
    NMS_IOU_TH_FIELD_NUMBER: _ClassVar[int]
    MAX_PROPOSALS_PER_CLASS_FIELD_NUMBER: _ClassVar[int]
    CLASSES_FIELD_NUMBER: _ClassVar[int]
    BACKGROUND_REMOVAL_FIELD_NUMBER: _ClassVar[int]
    BACKGROUND_REMOVAL_INDEX_FIELD_NUMBER: _ClassVar[int]
    BBOX_DECODING_ONLY_FIELD_NUMBER: _ClassVar[int]
    YOLO_NMS_OP_FIELD_NUMBER: _ClassVar[int]
    YOLOX_NMS_OP_FIELD_NUMBER: _ClassVar[int]
    SSD_NMS_OP_FIELD_NUMBER: _ClassVar[int]
    IOU_OP_FIELD_NUMBER: _ClassVar[int]
    YOLO_SEG_OP_FIELD_NUMBER: _ClassVar[int]
    YOLOV8_NMS_OP_FIELD_NUMBER: _ClassVar[int]
    nms_score_th: float
    nms_iou_th: float
    max_proposals_per_class: int
    classes: int
    background_removal: bool
    background_removal_index: int
    bbox_decoding_only: bool
    yolo_nms_op: ProtoHEFYoloNmsOp
    yolox_nms_op: ProtoHEFYoloxNmsOp
    ssd_nms_op: ProtoHEFSSDNmsOp
    iou_op: ProtoHEFIOUNmsOp
    yolo_seg_op: ProtoHEFYoloSegNmsOp
    yolov8_nms_op: ProtoHEFYolov8NmsOp
    def __init__(self, nms_score_th: _Optional[float] = ..., nms_iou_th: _Optional[float] = ..., max_proposals_per_class: _Optional[int] = ..., classes: _Optional[int] = ..., background_removal: bool = ..., background_removal_index: _Optional[int] = ..., bbox_decoding_only: bool = ..., yolo_nms_op: _Optional[_Union[ProtoHEFYoloNmsOp, _Mapping]] = ..., yolox_nms_op: _Optional[_Union[ProtoHEFYoloxNmsOp, _Mapping]] = ..., ssd_nms_op: _Optional[_Union[ProtoHEFSSDNmsOp, _Mapping]] = ..., iou_op: _Optional[_Union[ProtoHEFIOUNmsOp, _Mapping]] = ..., yolo_seg_op: _Optional[_Union[ProtoHEFYoloSegNmsOp, _Mapping]] = ..., yolov8_nms_op: _Optional[_Union[ProtoHEFYolov8NmsOp, _Mapping]] = ...) -> None: ...

class ProtoHEFLogitsOp(_message.Message):
    __slots__ = ("logits_type",)
    LOGITS_TYPE_FIELD_NUMBER: _ClassVar[int]
    logits_type: ProtoHEFLogitsType
    def __init__(self, logits_type: _Optional[_Union[ProtoHEFLogitsType, str]] = ...) -> None: ...

class ProtoHEFTensorShape(_message.Message):
    __slots__ = ("height", "padded_height", "width", "padded_width", "features", "padded_features")
    HEIGHT_FIELD_NUMBER: _ClassVar[int]
    PADDED_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    WIDTH_FIELD_NUMBER: _ClassVar[int]
    PADDED_WIDTH_FIELD_NUMBER: _ClassVar[int]
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    PADDED_FEATURES_FIELD_NUMBER: _ClassVar[int]
    height: int
    padded_height: int
    width: int
    padded_width: int
    features: int
    padded_features: int
    def __init__(self, height: _Optional[int] = ..., padded_height: _Optional[int] = ..., width: _Optional[int] = ..., padded_width: _Optional[int] = ..., features: _Optional[int] = ..., padded_features: _Optional[int] = ...) -> None: ...

class ProtoHEFNmsShape(_message.Message):
    __slots__ = ("number_of_classes", "max_bboxes_per_class", "bbox_size", "division_factor")
    NUMBER_OF_CLASSES_FIELD_NUMBER: _ClassVar[int]
    MAX_BBOXES_PER_CLASS_FIELD_NUMBER: _ClassVar[int]
    BBOX_SIZE_FIELD_NUMBER: _ClassVar[int]
    DIVISION_FACTOR_FIELD_NUMBER: _ClassVar[int]
    number_of_classes: int
    max_bboxes_per_class: int
    bbox_size: int
    division_factor: int
    def __init__(self, number_of_classes: _Optional[int] = ..., max_bboxes_per_class: _Optional[int] = ..., bbox_size: _Optional[int] = ..., division_factor: _Optional[int] = ...) -> None: ...

class ProtoHEFPad(_message.Message):
    __slots__ = ("index", "name", "format_order", "data_bytes", "format_type", "numeric_info", "tensor_shape", "nms_shape")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    FORMAT_ORDER_FIELD_NUMBER: _ClassVar[int]
    DATA_BYTES_FIELD_NUMBER: _ClassVar[int]
    FORMAT_TYPE_FIELD_NUMBER: _ClassVar[int]
    NUMERIC_INFO_FIELD_NUMBER: _ClassVar[int]
    TENSOR_SHAPE_FIELD_NUMBER: _ClassVar[int]
    NMS_SHAPE_FIELD_NUMBER: _ClassVar[int]
    index: int
    name: str
    format_order: ProtoHEFFormatOrder
    data_bytes: ProtoHEFDataType
    format_type: ProtoHEFFormatType
    numeric_info: ProtoHEFEdgeLayerNumericInfo
    tensor_shape: ProtoHEFTensorShape
    nms_shape: ProtoHEFNmsShape
    def __init__(self, index: _Optional[int] = ..., name: _Optional[str] = ..., format_order: _Optional[_Union[ProtoHEFFormatOrder, str]] = ..., data_bytes: _Optional[_Union[ProtoHEFDataType, str]] = ..., format_type: _Optional[_Union[ProtoHEFFormatType, str]] = ..., numeric_info: _Optional[_Union[ProtoHEFEdgeLayerNumericInfo, _Mapping]] = ..., tensor_shape: _Optional[_Union[ProtoHEFTensorShape, _Mapping]] = ..., nms_shape: _Optional[_Union[ProtoHEFNmsShape, _Mapping]] = ...) -> None: ...

class ProtoHEFOp(_message.Message):
    __slots__ = ("name", "input_pads", "output_pads", "core_op", "nms_op", "logits_op")
    NAME_FIELD_NUMBER: _ClassVar[int]
    INPUT_PADS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_PADS_FIELD_NUMBER: _ClassVar[int]
    CORE_OP_FIELD_NUMBER: _ClassVar[int]
    NMS_OP_FIELD_NUMBER: _ClassVar[int]
    LOGITS_OP_FIELD_NUMBER: _ClassVar[int]
    name: str
    input_pads: _containers.RepeatedCompositeFieldContainer[ProtoHEFPad]
    output_pads: _containers.RepeatedCompositeFieldContainer[ProtoHEFPad]
    core_op: ProtoHEFCoreOp
    nms_op: ProtoHEFNmsOp
    logits_op: ProtoHEFLogitsOp
    def __init__(self, name: _Optional[str] = ..., input_pads: _Optional[_Iterable[_Union[ProtoHEFPad, _Mapping]]] = ..., output_pads: _Optional[_Iterable[_Union[ProtoHEFPad, _Mapping]]] = ..., core_op: _Optional[_Union[ProtoHEFCoreOp, _Mapping]] = ..., nms_op: _Optional[_Union[ProtoHEFNmsOp, _Mapping]] = ..., logits_op: _Optional[_Union[ProtoHEFLogitsOp, _Mapping]] = ...) -> None: ...

class ProtoHEFPadEdge(_message.Message):
    __slots__ = ("src", "dst")
    SRC_FIELD_NUMBER: _ClassVar[int]
    DST_FIELD_NUMBER: _ClassVar[int]
    src: int
    dst: int
    def __init__(self, src: _Optional[int] = ..., dst: _Optional[int] = ...) -> None: ...

class ProtoHEFNetworkGroup(_message.Message):
    __slots__ = ("ops", "pad_edges", "network_group_name", "network_group_index", "network_group_metadata", "preliminary_config", "contexts", "sorted_outputs_order", "fused_layers_metadata", "networks_names", "partial_network_groups")
    OPS_FIELD_NUMBER: _ClassVar[int]
    PAD_EDGES_FIELD_NUMBER: _ClassVar[int]
    NETWORK_GROUP_NAME_FIELD_NUMBER: _ClassVar[int]
    NETWORK_GROUP_INDEX_FIELD_NUMBER: _ClassVar[int]
    NETWORK_GROUP_METADATA_FIELD_NUMBER: _ClassVar[int]
    PRELIMINARY_CONFIG_FIELD_NUMBER: _ClassVar[int]
    CONTEXTS_FIELD_NUMBER: _ClassVar[int]
    SORTED_OUTPUTS_ORDER_FIELD_NUMBER: _ClassVar[int]
    FUSED_LAYERS_METADATA_FIELD_NUMBER: _ClassVar[int]
    NETWORKS_NAMES_FIELD_NUMBER: _ClassVar[int]
    PARTIAL_NETWORK_GROUPS_FIELD_NUMBER: _ClassVar[int]
    ops: _containers.RepeatedCompositeFieldContainer[ProtoHEFOp]
    pad_edges: _containers.RepeatedCompositeFieldContainer[ProtoHEFPadEdge]
    network_group_name: str
    network_group_index: int
    network_group_metadata: ProtoHEFNetworkGroupMetadata
    preliminary_config: ProtoHEFPreliminaryConfig
    contexts: _containers.RepeatedCompositeFieldContainer[ProtoHEFContext]
    sorted_outputs_order: _containers.RepeatedScalarFieldContainer[str]
    fused_layers_metadata: ProtoHEFFusedLayersMetadata
    networks_names: _containers.RepeatedScalarFieldContainer[str]
    partial_network_groups: _containers.RepeatedCompositeFieldContainer[ProtoHEFPartialNetworkGroup]
    def __init__(self, ops: _Optional[_Iterable[_Union[ProtoHEFOp, _Mapping]]] = ..., pad_edges: _Optional[_Iterable[_Union[ProtoHEFPadEdge, _Mapping]]] = ..., network_group_name: _Optional[str] = ..., network_group_index: _Optional[int] = ..., network_group_metadata: _Optional[_Union[ProtoHEFNetworkGroupMetadata, _Mapping]] = ..., preliminary_config: _Optional[_Union[ProtoHEFPreliminaryConfig, _Mapping]] = ..., contexts: _Optional[_Iterable[_Union[ProtoHEFContext, _Mapping]]] = ..., sorted_outputs_order: _Optional[_Iterable[str]] = ..., fused_layers_metadata: _Optional[_Union[ProtoHEFFusedLayersMetadata, _Mapping]] = ..., networks_names: _Optional[_Iterable[str]] = ..., partial_network_groups: _Optional[_Iterable[_Union[ProtoHEFPartialNetworkGroup, _Mapping]]] = ...) -> None: ...

class ProtoHEFCfgChannelConfig(_message.Message):
    __slots__ = ("cfg_channel_index", "engine_id")
    CFG_CHANNEL_INDEX_FIELD_NUMBER: _ClassVar[int]
    ENGINE_ID_FIELD_NUMBER: _ClassVar[int]
    cfg_channel_index: int
    engine_id: int
    def __init__(self, cfg_channel_index: _Optional[int] = ..., engine_id: _Optional[int] = ...) -> None: ...

class ProtoHEFNetworkGroupMetadata(_message.Message):
    __slots__ = ("network_group_name", "network_group_index", "transposed_net", "bottleneck_fps", "latency", "cfg_channels_count", "cfg_channels_config", "computational_ops")
    NETWORK_GROUP_NAME_FIELD_NUMBER: _ClassVar[int]
    NETWORK_GROUP_INDEX_FIELD_NUMBER: _ClassVar[int]
    TRANSPOSED_NET_FIELD_NUMBER: _ClassVar[int]
    BOTTLENECK_FPS_FIELD_NUMBER: _ClassVar[int]
    LATENCY_FIELD_NUMBER: _ClassVar[int]
    CFG_CHANNELS_COUNT_FIELD_NUMBER: _ClassVar[int]
    CFG_CHANNELS_CONFIG_FIELD_NUMBER: _ClassVar[int]
    COMPUTATIONAL_OPS_FIELD_NUMBER: _ClassVar[int]
    network_group_name: str
    network_group_index: int
    transposed_net: bool
    bottleneck_fps: float
    latency: float
    cfg_channels_count: int
    cfg_channels_config: _containers.RepeatedCompositeFieldContainer[ProtoHEFCfgChannelConfig]
    computational_ops: int
    def __init__(self, network_group_name: _Optional[str] = ..., network_group_index: _Optional[int] = ..., transposed_net: bool = ..., bottleneck_fps: _Optional[float] = ..., latency: _Optional[float] = ..., cfg_channels_count: _Optional[int] = ..., cfg_channels_config: _Optional[_Iterable[_Union[ProtoHEFCfgChannelConfig, _Mapping]]] = ..., computational_ops: _Optional[int] = ...) -> None: ...

class ProtoHEFFusedLayersMetadata(_message.Message):
    __slots__ = ("network_has_fused_layers", "updated_sorted_output_names", "fused_layers")
    NETWORK_HAS_FUSED_LAYERS_FIELD_NUMBER: _ClassVar[int]
    UPDATED_SORTED_OUTPUT_NAMES_FIELD_NUMBER: _ClassVar[int]
    FUSED_LAYERS_FIELD_NUMBER: _ClassVar[int]
    network_has_fused_layers: bool
    updated_sorted_output_names: _containers.RepeatedScalarFieldContainer[str]
    fused_layers: _containers.RepeatedCompositeFieldContainer[ProtoHEFEdgeLayerFused]
    def __init__(self, network_has_fused_layers: bool = ..., updated_sorted_output_names: _Optional[_Iterable[str]] = ..., fused_layers: _Optional[_Iterable[_Union[ProtoHEFEdgeLayerFused, _Mapping]]] = ...) -> None: ...

class ProtoHEFEdgeLayerFused(_message.Message):
    __slots__ = ("layer_info", "defused_layers_names", "nms_info")
    LAYER_INFO_FIELD_NUMBER: _ClassVar[int]
    DEFUSED_LAYERS_NAMES_FIELD_NUMBER: _ClassVar[int]
    NMS_INFO_FIELD_NUMBER: _ClassVar[int]
    layer_info: ProtoHEFEdgeLayerInfo
    defused_layers_names: _containers.RepeatedScalarFieldContainer[str]
    nms_info: ProtoHEFNmsInfo
    def __init__(self, layer_info: _Optional[_Union[ProtoHEFEdgeLayerInfo, _Mapping]] = ..., defused_layers_names: _Optional[_Iterable[str]] = ..., nms_info: _Optional[_Union[ProtoHEFNmsInfo, _Mapping]] = ...) -> None: ...

class ProtoHEFContext(_message.Message):
    __slots__ = ("context_index", "operations", "metadata")
    CONTEXT_INDEX_FIELD_NUMBER: _ClassVar[int]
    OPERATIONS_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    context_index: int
    operations: _containers.RepeatedCompositeFieldContainer[ProtoHEFOperation]
    metadata: ProtoHEFContextMetadata
    def __init__(self, context_index: _Optional[int] = ..., operations: _Optional[_Iterable[_Union[ProtoHEFOperation, _Mapping]]] = ..., metadata: _Optional[_Union[ProtoHEFContextMetadata, _Mapping]] = ...) -> None: ...

class ProtoHEFOperation(_message.Message):
    __slots__ = ("trigger", "actions")
    TRIGGER_FIELD_NUMBER: _ClassVar[int]
    ACTIONS_FIELD_NUMBER: _ClassVar[int]
    trigger: ProtoHEFTrigger
    actions: _containers.RepeatedCompositeFieldContainer[ProtoHEFAction]
    def __init__(self, trigger: _Optional[_Union[ProtoHEFTrigger, _Mapping]] = ..., actions: _Optional[_Iterable[_Union[ProtoHEFAction, _Mapping]]] = ...) -> None: ...

class ProtoHEFTrigger(_message.Message):
    __slots__ = ("unique_id", "trigger_lcu", "trigger_none", "trigger_all_data_was_sent", "trigger_all_data_was_received", "trigger_nms", "trigger_dma_idle")
    UNIQUE_ID_FIELD_NUMBER: _ClassVar[int]
    TRIGGER_LCU_FIELD_NUMBER: _ClassVar[int]
    TRIGGER_NONE_FIELD_NUMBER: _ClassVar[int]
    TRIGGER_ALL_DATA_WAS_SENT_FIELD_NUMBER: _ClassVar[int]
    TRIGGER_ALL_DATA_WAS_RECEIVED_FIELD_NUMBER: _ClassVar[int]
    TRIGGER_NMS_FIELD_NUMBER: _ClassVar[int]
    TRIGGER_DMA_IDLE_FIELD_NUMBER: _ClassVar[int]
    unique_id: int
    trigger_lcu: ProtoHEFTriggerLcu
    trigger_none: ProtoHEFTriggerNone
    trigger_all_data_was_sent: ProtoHEFTriggerAllDataWasSentToHostPCIe
    trigger_all_data_was_received: ProtoHEFTriggerAllDataWasReceivedFromHostPCIe
    trigger_nms: ProtoHEFTriggerNms
    trigger_dma_idle: ProtoHEFWaitDmaIdleTrigger
    def __init__(self, unique_id: _Optional[int] = ..., trigger_lcu: _Optional[_Union[ProtoHEFTriggerLcu, _Mapping]] = ..., trigger_none: _Optional[_Union[ProtoHEFTriggerNone, _Mapping]] = ..., trigger_all_data_was_sent: _Optional[_Union[ProtoHEFTriggerAllDataWasSentToHostPCIe, _Mapping]] = ..., trigger_all_data_was_received: _Optional[_Union[ProtoHEFTriggerAllDataWasReceivedFromHostPCIe, _Mapping]] = ..., trigger_nms: _Optional[_Union[ProtoHEFTriggerNms, _Mapping]] = ..., trigger_dma_idle: _Optional[_Union[ProtoHEFWaitDmaIdleTrigger, _Mapping]] = ...) -> None: ...

class ProtoHEFTriggerLcu(_message.Message):
    __slots__ = ("cluster_index", "lcu_index")
    CLUSTER_INDEX_FIELD_NUMBER: _ClassVar[int]
    LCU_INDEX_FIELD_NUMBER: _ClassVar[int]
    cluster_index: int
    lcu_index: int
    def __init__(self, cluster_index: _Optional[int] = ..., lcu_index: _Optional[int] = ...) -> None: ...

class ProtoHEFTriggerNms(_message.Message):
    __slots__ = ("aggregator_index", "pred_cluster_ob_index", "pred_cluster_ob_cluster_index", "pred_cluster_ob_interface", "succ_prepost_ob_index", "succ_prepost_ob_interface")
    AGGREGATOR_INDEX_FIELD_NUMBER: _ClassVar[int]
    PRED_CLUSTER_OB_INDEX_FIELD_NUMBER: _ClassVar[int]
    PRED_CLUSTER_OB_CLUSTER_INDEX_FIELD_NUMBER: _ClassVar[int]
    PRED_CLUSTER_OB_INTERFACE_FIELD_NUMBER: _ClassVar[int]
    SUCC_PREPOST_OB_INDEX_FIELD_NUMBER: _ClassVar[int]
    SUCC_PREPOST_OB_INTERFACE_FIELD_NUMBER: _ClassVar[int]
    aggregator_index: int
    pred_cluster_ob_index: int
    pred_cluster_ob_cluster_index: int
    pred_cluster_ob_interface: int
    succ_prepost_ob_index: int
    succ_prepost_ob_interface: int
    def __init__(self, aggregator_index: _Optional[int] = ..., pred_cluster_ob_index: _Optional[int] = ..., pred_cluster_ob_cluster_index: _Optional[int] = ..., pred_cluster_ob_interface: _Optional[int] = ..., succ_prepost_ob_index: _Optional[int] = ..., succ_prepost_ob_interface: _Optional[int] = ...) -> None: ...

class ProtoHEFTriggerNone(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ProtoHEFTriggerAllDataWasSentToHostPCIe(_message.Message):
    __slots__ = ("shmifo_index",)
    SHMIFO_INDEX_FIELD_NUMBER: _ClassVar[int]
    shmifo_index: int
    def __init__(self, shmifo_index: _Optional[int] = ...) -> None: ...

class ProtoHEFTriggerAllDataWasReceivedFromHostPCIe(_message.Message):
    __slots__ = ("shmifo_index",)
    SHMIFO_INDEX_FIELD_NUMBER: _ClassVar[int]
    shmifo_index: int
    def __init__(self, shmifo_index: _Optional[int] = ...) -> None: ...

class ProtoHEFWaitDmaIdleTrigger(_message.Message):
    __slots__ = ("shmifo_index",)
    SHMIFO_INDEX_FIELD_NUMBER: _ClassVar[int]
    shmifo_index: int
    def __init__(self, shmifo_index: _Optional[int] = ...) -> None: ...

class ProtoHEFAction(_message.Message):
    __slots__ = ("unique_id", "write_data", "write_data_ccw", "write_compressed_data", "enable_sequencer", "wait_for_seqeuncer", "disable_lcu", "enable_lcu", "none", "allow_input_dataflow", "wait_for_module_config_done", "debug", "enable_nms", "write_data_by_type", "switch_lcu_batch", "write_data_ccw_ptr", "allow_config_channels", "disable_data_channels")
    UNIQUE_ID_FIELD_NUMBER: _ClassVar[int]
    WRITE_DATA_FIELD_NUMBER: _ClassVar[int]
    WRITE_DATA_CCW_FIELD_NUMBER: _ClassVar[int]
    WRITE_COMPRESSED_DATA_FIELD_NUMBER: _ClassVar[int]
    ENABLE_SEQUENCER_FIELD_NUMBER: _ClassVar[int]
    WAIT_FOR_SEQEUNCER_FIELD_NUMBER: _ClassVar[int]
    DISABLE_LCU_FIELD_NUMBER: _ClassVar[int]
    ENABLE_LCU_FIELD_NUMBER: _ClassVar[int]
    NONE_FIELD_NUMBER: _ClassVar[int]
    ALLOW_INPUT_DATAFLOW_FIELD_NUMBER: _ClassVar[int]
    WAIT_FOR_MODULE_CONFIG_DONE_FIELD_NUMBER: _ClassVar[int]
    DEBUG_FIELD_NUMBER: _ClassVar[int]
    ENABLE_NMS_FIELD_NUMBER: _ClassVar[int]
    WRITE_DATA_BY_TYPE_FIELD_NUMBER: _ClassVar[int]
    SWITCH_LCU_BATCH_FIELD_NUMBER: _ClassVar[int]
    WRITE_DATA_CCW_PTR_FIELD_NUMBER: _ClassVar[int]
    ALLOW_CONFIG_CHANNELS_FIELD_NUMBER: _ClassVar[int]
    DISABLE_DATA_CHANNELS_FIELD_NUMBER: _ClassVar[int]
    unique_id: int
    write_data: ProtoHEFActionWriteData
    write_data_ccw: ProtoHEFActionWriteDataCcw
    write_compressed_data: ProtoHEFActionWriteCompressedData
    enable_sequencer: ProtoHEFActionEnableSequencer
    wait_for_seqeuncer: ProtoHEFActionWaitForSequencer
    disable_lcu: ProtoHEFActionDisableLcu
    enable_lcu: ProtoHEFActionEnableLcu
    none: ProtoHEFActionNone
    allow_input_dataflow: ProtoHEFActionAllowInputDataflow
    wait_for_module_config_done: ProtoHEFActionWaitForModuleConfigDone
    debug: ProtoHEFActionDebug
    enable_nms: ProtoHEFActionEnableNMS
    write_data_by_type: ProtoHEFActionWriteDataByType
    switch_lcu_batch: ProtoHEFActionSwitchLcuBatch
    write_data_ccw_ptr: ProtoHEFActionWriteDataCcwPtr
    allow_config_channels: ProtoHEFActionAllowConfigChannel
    disable_data_channels: ProtoHEFActionDisableDataChannels
    def __init__(self, unique_id: _Optional[int] = ..., write_data: _Optional[_Union[ProtoHEFActionWriteData, _Mapping]] = ..., write_data_ccw: _Optional[_Union[ProtoHEFActionWriteDataCcw, _Mapping]] = ..., write_compressed_data: _Optional[_Union[ProtoHEFActionWriteCompressedData, _Mapping]] = ..., enable_sequencer: _Optional[_Union[ProtoHEFActionEnableSequencer, _Mapping]] = ..., wait_for_seqeuncer: _Optional[_Union[ProtoHEFActionWaitForSequencer, _Mapping]] = ..., disable_lcu: _Optional[_Union[ProtoHEFActionDisableLcu, _Mapping]] = ..., enable_lcu: _Optional[_Union[ProtoHEFActionEnableLcu, _Mapping]] = ..., none: _Optional[_Union[ProtoHEFActionNone, _Mapping]] = ..., allow_input_dataflow: _Optional[_Union[ProtoHEFActionAllowInputDataflow, _Mapping]] = ..., wait_for_module_config_done: _Optional[_Union[ProtoHEFActionWaitForModuleConfigDone, _Mapping]] = ..., debug: _Optional[_Union[ProtoHEFActionDebug, _Mapping]] = ..., enable_nms: _Optional[_Union[ProtoHEFActionEnableNMS, _Mapping]] = ..., write_data_by_type: _Optional[_Union[ProtoHEFActionWriteDataByType, _Mapping]] = ..., switch_lcu_batch: _Optional[_Union[ProtoHEFActionSwitchLcuBatch, _Mapping]] = ..., write_data_ccw_ptr: _Optional[_Union[ProtoHEFActionWriteDataCcwPtr, _Mapping]] = ..., allow_config_channels: _Optional[_Union[ProtoHEFActionAllowConfigChannel, _Mapping]] = ..., disable_data_channels: _Optional[_Union[ProtoHEFActionDisableDataChannels, _Mapping]] = ...) -> None: ...

class ProtoHEFActionWriteDataCcwPtr(_message.Message):
    __slots__ = ("offset", "size", "cfg_channel_index")
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    CFG_CHANNEL_INDEX_FIELD_NUMBER: _ClassVar[int]
    offset: int
    size: int
    cfg_channel_index: int
    def __init__(self, offset: _Optional[int] = ..., size: _Optional[int] = ..., cfg_channel_index: _Optional[int] = ...) -> None: ...

class ProtoHEFActionWriteData(_message.Message):
    __slots__ = ("address", "data")
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    address: int
    data: bytes
    def __init__(self, address: _Optional[int] = ..., data: _Optional[bytes] = ...) -> None: ...

class ProtoHEFActionWriteDataCcw(_message.Message):
    __slots__ = ("data", "cfg_channel_index")
    DATA_FIELD_NUMBER: _ClassVar[int]
    CFG_CHANNEL_INDEX_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    cfg_channel_index: int
    def __init__(self, data: _Optional[bytes] = ..., cfg_channel_index: _Optional[int] = ...) -> None: ...

class ProtoHEFActionDebugHalt(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ProtoHEFActionWriteCompressedData(_message.Message):
    __slots__ = ("address", "data")
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    address: int
    data: bytes
    def __init__(self, address: _Optional[int] = ..., data: _Optional[bytes] = ...) -> None: ...

class ProtoHEFActionDebugSleep(_message.Message):
    __slots__ = ("duration_in_usec",)
    DURATION_IN_USEC_FIELD_NUMBER: _ClassVar[int]
    duration_in_usec: int
    def __init__(self, duration_in_usec: _Optional[int] = ...) -> None: ...

class ProtoHEFActionDebug(_message.Message):
    __slots__ = ("type", "sleep", "halt")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    SLEEP_FIELD_NUMBER: _ClassVar[int]
    HALT_FIELD_NUMBER: _ClassVar[int]
    type: ProtoHEFDebugType
    sleep: ProtoHEFActionDebugSleep
    halt: ProtoHEFActionDebugHalt
    def __init__(self, type: _Optional[_Union[ProtoHEFDebugType, str]] = ..., sleep: _Optional[_Union[ProtoHEFActionDebugSleep, _Mapping]] = ..., halt: _Optional[_Union[ProtoHEFActionDebugHalt, _Mapping]] = ...) -> None: ...

class ProtoHEFActionWriteDataByType(_message.Message):
    __slots__ = ("address", "data_type", "data", "mask", "network_index", "shift")
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    DATA_TYPE_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    MASK_FIELD_NUMBER: _ClassVar[int]
    NETWORK_INDEX_FIELD_NUMBER: _ClassVar[int]
    SHIFT_FIELD_NUMBER: _ClassVar[int]
    address: int
    data_type: ProtoHEFWriteDataType
    data: bytes
    mask: int
    network_index: int
    shift: int
    def __init__(self, address: _Optional[int] = ..., data_type: _Optional[_Union[ProtoHEFWriteDataType, str]] = ..., data: _Optional[bytes] = ..., mask: _Optional[int] = ..., network_index: _Optional[int] = ..., shift: _Optional[int] = ...) -> None: ...

class InitialL3(_message.Message):
    __slots__ = ("initial_l3_index", "initial_l3_offset", "includes_initial_l3_info")
    INITIAL_L3_INDEX_FIELD_NUMBER: _ClassVar[int]
    INITIAL_L3_OFFSET_FIELD_NUMBER: _ClassVar[int]
    INCLUDES_INITIAL_L3_INFO_FIELD_NUMBER: _ClassVar[int]
    initial_l3_index: int
    initial_l3_offset: int
    includes_initial_l3_info: bool
    def __init__(self, initial_l3_index: _Optional[int] = ..., initial_l3_offset: _Optional[int] = ..., includes_initial_l3_info: bool = ...) -> None: ...

class ProtoHEFActionEnableSequencer(_message.Message):
    __slots__ = ("cluster_index", "initial_l3_legacy", "initial_l3_info", "active_apu_bitmap", "active_sc_bitmap", "active_l2_bitmap", "active_ia_bitmap", "l2_write_0", "l2_write_1", "l2_write_2", "l2_write_3")
    CLUSTER_INDEX_FIELD_NUMBER: _ClassVar[int]
    INITIAL_L3_LEGACY_FIELD_NUMBER: _ClassVar[int]
    INITIAL_L3_INFO_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_APU_BITMAP_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_SC_BITMAP_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_L2_BITMAP_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_IA_BITMAP_FIELD_NUMBER: _ClassVar[int]
    L2_WRITE_0_FIELD_NUMBER: _ClassVar[int]
    L2_WRITE_1_FIELD_NUMBER: _ClassVar[int]
    L2_WRITE_2_FIELD_NUMBER: _ClassVar[int]
    L2_WRITE_3_FIELD_NUMBER: _ClassVar[int]
    cluster_index: int
    initial_l3_legacy: int
    initial_l3_info: InitialL3
    active_apu_bitmap: int
    active_sc_bitmap: int
    active_l2_bitmap: int
    active_ia_bitmap: int
    l2_write_0: int
    l2_write_1: int
    l2_write_2: int
    l2_write_3: int
    def __init__(self, cluster_index: _Optional[int] = ..., initial_l3_legacy: _Optional[int] = ..., initial_l3_info: _Optional[_Union[InitialL3, _Mapping]] = ..., active_apu_bitmap: _Optional[int] = ..., active_sc_bitmap: _Optional[int] = ..., active_l2_bitmap: _Optional[int] = ..., active_ia_bitmap: _Optional[int] = ..., l2_write_0: _Optional[int] = ..., l2_write_1: _Optional[int] = ..., l2_write_2: _Optional[int] = ..., l2_write_3: _Optional[int] = ...) -> None: ...

class ProtoHEFActionWaitForSequencer(_message.Message):
    __slots__ = ("cluster_index",)
    CLUSTER_INDEX_FIELD_NUMBER: _ClassVar[int]
    cluster_index: int
    def __init__(self, cluster_index: _Optional[int] = ...) -> None: ...

class ProtoHEFActionWaitForModuleConfigDone(_message.Message):
    __slots__ = ("index",)
    INDEX_FIELD_NUMBER: _ClassVar[int]
    index: int
    def __init__(self, index: _Optional[int] = ...) -> None: ...

class ProtoHEFActionDisableLcu(_message.Message):
    __slots__ = ("lcu_index", "cluster_index", "lcu_enable_address")
    LCU_INDEX_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_INDEX_FIELD_NUMBER: _ClassVar[int]
    LCU_ENABLE_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    lcu_index: int
    cluster_index: int
    lcu_enable_address: int
    def __init__(self, lcu_index: _Optional[int] = ..., cluster_index: _Optional[int] = ..., lcu_enable_address: _Optional[int] = ...) -> None: ...

class ProtoHEFActionEnableLcu(_message.Message):
    __slots__ = ("lcu_index", "cluster_index", "lcu_kernel_done_address", "lcu_kernel_done_count", "lcu_enable_address", "network_index")
    LCU_INDEX_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_INDEX_FIELD_NUMBER: _ClassVar[int]
    LCU_KERNEL_DONE_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    LCU_KERNEL_DONE_COUNT_FIELD_NUMBER: _ClassVar[int]
    LCU_ENABLE_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    NETWORK_INDEX_FIELD_NUMBER: _ClassVar[int]
    lcu_index: int
    cluster_index: int
    lcu_kernel_done_address: int
    lcu_kernel_done_count: int
    lcu_enable_address: int
    network_index: int
    def __init__(self, lcu_index: _Optional[int] = ..., cluster_index: _Optional[int] = ..., lcu_kernel_done_address: _Optional[int] = ..., lcu_kernel_done_count: _Optional[int] = ..., lcu_enable_address: _Optional[int] = ..., network_index: _Optional[int] = ...) -> None: ...

class ProtoHEFActionSwitchLcuBatch(_message.Message):
    __slots__ = ("lcu_index", "cluster_index", "network_index")
    LCU_INDEX_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_INDEX_FIELD_NUMBER: _ClassVar[int]
    NETWORK_INDEX_FIELD_NUMBER: _ClassVar[int]
    lcu_index: int
    cluster_index: int
    network_index: int
    def __init__(self, lcu_index: _Optional[int] = ..., cluster_index: _Optional[int] = ..., network_index: _Optional[int] = ...) -> None: ...

class ProtoHEFActionEnableNMS(_message.Message):
    __slots__ = ("nms_unit_index", "network_index", "number_of_classes", "burst_size", "division_factor")
    NMS_UNIT_INDEX_FIELD_NUMBER: _ClassVar[int]
    NETWORK_INDEX_FIELD_NUMBER: _ClassVar[int]
    NUMBER_OF_CLASSES_FIELD_NUMBER: _ClassVar[int]
    BURST_SIZE_FIELD_NUMBER: _ClassVar[int]
    DIVISION_FACTOR_FIELD_NUMBER: _ClassVar[int]
    nms_unit_index: int
    network_index: int
    number_of_classes: int
    burst_size: int
    division_factor: int
    def __init__(self, nms_unit_index: _Optional[int] = ..., network_index: _Optional[int] = ..., number_of_classes: _Optional[int] = ..., burst_size: _Optional[int] = ..., division_factor: _Optional[int] = ...) -> None: ...

class ProtoHEFActionNone(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ProtoHEFActionDisableDataChannels(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ProtoHEFActionAllowInputDataflow(_message.Message):
    __slots__ = ("sys_index", "connection_type")
    SYS_INDEX_FIELD_NUMBER: _ClassVar[int]
    CONNECTION_TYPE_FIELD_NUMBER: _ClassVar[int]
    sys_index: int
    connection_type: ProtoHEFEdgeConnectionType
    def __init__(self, sys_index: _Optional[int] = ..., connection_type: _Optional[_Union[ProtoHEFEdgeConnectionType, str]] = ...) -> None: ...

class ProtoHEFActionAllowConfigChannel(_message.Message):
    __slots__ = ("config_index",)
    CONFIG_INDEX_FIELD_NUMBER: _ClassVar[int]
    config_index: int
    def __init__(self, config_index: _Optional[int] = ...) -> None: ...

class ProtoHEFActionSetDmaCompelte(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ProtoHEFActionWaitForDmaCompelte(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ProtoHEFPreliminaryConfig(_message.Message):
    __slots__ = ("operation",)
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    operation: _containers.RepeatedCompositeFieldContainer[ProtoHEFOperation]
    def __init__(self, operation: _Optional[_Iterable[_Union[ProtoHEFOperation, _Mapping]]] = ...) -> None: ...

class ProtoHEFContextMetadata(_message.Message):
    __slots__ = ("name", "edge_layers", "cluster_end_guarantee", "trigger_order", "sorted_outputs_order", "hw_package_info", "shmiglue_info")
    NAME_FIELD_NUMBER: _ClassVar[int]
    EDGE_LAYERS_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_END_GUARANTEE_FIELD_NUMBER: _ClassVar[int]
    TRIGGER_ORDER_FIELD_NUMBER: _ClassVar[int]
    SORTED_OUTPUTS_ORDER_FIELD_NUMBER: _ClassVar[int]
    HW_PACKAGE_INFO_FIELD_NUMBER: _ClassVar[int]
    SHMIGLUE_INFO_FIELD_NUMBER: _ClassVar[int]
    name: str
    edge_layers: _containers.RepeatedCompositeFieldContainer[ProtoHEFEdgeLayer]
    cluster_end_guarantee: _containers.RepeatedCompositeFieldContainer[ProtoHEFClusterEndGuarantee]
    trigger_order: _containers.RepeatedCompositeFieldContainer[ProtoHEFOrderedTrigger]
    sorted_outputs_order: _containers.RepeatedScalarFieldContainer[str]
    hw_package_info: ProtoHEFHwPackageInfo
    shmiglue_info: ProtoHEFShmiglueInfo
    def __init__(self, name: _Optional[str] = ..., edge_layers: _Optional[_Iterable[_Union[ProtoHEFEdgeLayer, _Mapping]]] = ..., cluster_end_guarantee: _Optional[_Iterable[_Union[ProtoHEFClusterEndGuarantee, _Mapping]]] = ..., trigger_order: _Optional[_Iterable[_Union[ProtoHEFOrderedTrigger, _Mapping]]] = ..., sorted_outputs_order: _Optional[_Iterable[str]] = ..., hw_package_info: _Optional[_Union[ProtoHEFHwPackageInfo, _Mapping]] = ..., shmiglue_info: _Optional[_Union[ProtoHEFShmiglueInfo, _Mapping]] = ...) -> None: ...

class ProtoHEFShmiglueInfo(_message.Message):
    __slots__ = ("should_use_shmiglue", "shmiglue_index")
    SHOULD_USE_SHMIGLUE_FIELD_NUMBER: _ClassVar[int]
    SHMIGLUE_INDEX_FIELD_NUMBER: _ClassVar[int]
    should_use_shmiglue: bool
    shmiglue_index: int
    def __init__(self, should_use_shmiglue: bool = ..., shmiglue_index: _Optional[int] = ...) -> None: ...

class ProtoHEFEdgeLayer(_message.Message):
    __slots__ = ("direction", "edge_layer_type", "layer_info", "layer_mux", "layer_planes", "context_switch_info", "network_index", "pad_index")
    DIRECTION_FIELD_NUMBER: _ClassVar[int]
    EDGE_LAYER_TYPE_FIELD_NUMBER: _ClassVar[int]
    LAYER_INFO_FIELD_NUMBER: _ClassVar[int]
    LAYER_MUX_FIELD_NUMBER: _ClassVar[int]
    LAYER_PLANES_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_SWITCH_INFO_FIELD_NUMBER: _ClassVar[int]
    NETWORK_INDEX_FIELD_NUMBER: _ClassVar[int]
    PAD_INDEX_FIELD_NUMBER: _ClassVar[int]
    direction: ProtoHEFEdgeLayerDirection
    edge_layer_type: ProtoHEFEdgeLayerType
    layer_info: ProtoHEFEdgeLayerInfo
    layer_mux: ProtoHEFEdgeLayerMux
    layer_planes: ProtoHEFEdgeLayerPlanes
    context_switch_info: ProtoHEFContextSwitchInformation
    network_index: int
    pad_index: int
    def __init__(self, direction: _Optional[_Union[ProtoHEFEdgeLayerDirection, str]] = ..., edge_layer_type: _Optional[_Union[ProtoHEFEdgeLayerType, str]] = ..., layer_info: _Optional[_Union[ProtoHEFEdgeLayerInfo, _Mapping]] = ..., layer_mux: _Optional[_Union[ProtoHEFEdgeLayerMux, _Mapping]] = ..., layer_planes: _Optional[_Union[ProtoHEFEdgeLayerPlanes, _Mapping]] = ..., context_switch_info: _Optional[_Union[ProtoHEFContextSwitchInformation, _Mapping]] = ..., network_index: _Optional[int] = ..., pad_index: _Optional[int] = ...) -> None: ...

class ProtoHEFEdgeLayerInfo(_message.Message):
    __slots__ = ("name", "hn_output_layer_name", "edge_layer_base", "numeric_info", "original_names", "transposed")
    NAME_FIELD_NUMBER: _ClassVar[int]
    HN_OUTPUT_LAYER_NAME_FIELD_NUMBER: _ClassVar[int]
    EDGE_LAYER_BASE_FIELD_NUMBER: _ClassVar[int]
    NUMERIC_INFO_FIELD_NUMBER: _ClassVar[int]
    ORIGINAL_NAMES_FIELD_NUMBER: _ClassVar[int]
    TRANSPOSED_FIELD_NUMBER: _ClassVar[int]
    name: str
    hn_output_layer_name: str
    edge_layer_base: ProtoHEFEdgeLayerBase
    numeric_info: ProtoHEFEdgeLayerNumericInfo
    original_names: _containers.RepeatedScalarFieldContainer[str]
    transposed: bool
    def __init__(self, name: _Optional[str] = ..., hn_output_layer_name: _Optional[str] = ..., edge_layer_base: _Optional[_Union[ProtoHEFEdgeLayerBase, _Mapping]] = ..., numeric_info: _Optional[_Union[ProtoHEFEdgeLayerNumericInfo, _Mapping]] = ..., original_names: _Optional[_Iterable[str]] = ..., transposed: bool = ...) -> None: ...

class ProtoHefEdge(_message.Message):
    __slots__ = ("layer_info", "layer_mux", "layer_planes")
    LAYER_INFO_FIELD_NUMBER: _ClassVar[int]
    LAYER_MUX_FIELD_NUMBER: _ClassVar[int]
    LAYER_PLANES_FIELD_NUMBER: _ClassVar[int]
    layer_info: ProtoHEFEdgeLayerInfo
    layer_mux: ProtoHEFEdgeLayerMux
    layer_planes: ProtoHEFEdgeLayerPlanes
    def __init__(self, layer_info: _Optional[_Union[ProtoHEFEdgeLayerInfo, _Mapping]] = ..., layer_mux: _Optional[_Union[ProtoHEFEdgeLayerMux, _Mapping]] = ..., layer_planes: _Optional[_Union[ProtoHEFEdgeLayerPlanes, _Mapping]] = ...) -> None: ...

class ProtoHEFEdgeLayerMux(_message.Message):
    __slots__ = ("name", "hn_output_layer_name", "edge_layer_base", "mux_data", "predecessors", "original_names")
    NAME_FIELD_NUMBER: _ClassVar[int]
    HN_OUTPUT_LAYER_NAME_FIELD_NUMBER: _ClassVar[int]
    EDGE_LAYER_BASE_FIELD_NUMBER: _ClassVar[int]
    MUX_DATA_FIELD_NUMBER: _ClassVar[int]
    PREDECESSORS_FIELD_NUMBER: _ClassVar[int]
    ORIGINAL_NAMES_FIELD_NUMBER: _ClassVar[int]
    name: str
    hn_output_layer_name: str
    edge_layer_base: ProtoHEFEdgeLayerBase
    mux_data: ProtoHEFEdgeLayerMuxData
    predecessors: _containers.RepeatedCompositeFieldContainer[ProtoHefEdge]
    original_names: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., hn_output_layer_name: _Optional[str] = ..., edge_layer_base: _Optional[_Union[ProtoHEFEdgeLayerBase, _Mapping]] = ..., mux_data: _Optional[_Union[ProtoHEFEdgeLayerMuxData, _Mapping]] = ..., predecessors: _Optional[_Iterable[_Union[ProtoHefEdge, _Mapping]]] = ..., original_names: _Optional[_Iterable[str]] = ...) -> None: ...

class ProtoHEFEdgeLayerPlanes(_message.Message):
    __slots__ = ("name", "planes_format", "planes", "height", "width", "features")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PLANES_FORMAT_FIELD_NUMBER: _ClassVar[int]
    PLANES_FIELD_NUMBER: _ClassVar[int]
    HEIGHT_FIELD_NUMBER: _ClassVar[int]
    WIDTH_FIELD_NUMBER: _ClassVar[int]
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    name: str
    planes_format: ProtoHEFEPlanesFormat
    planes: _containers.RepeatedCompositeFieldContainer[ProtoHefEdge]
    height: int
    width: int
    features: int
    def __init__(self, name: _Optional[str] = ..., planes_format: _Optional[_Union[ProtoHEFEPlanesFormat, str]] = ..., planes: _Optional[_Iterable[_Union[ProtoHefEdge, _Mapping]]] = ..., height: _Optional[int] = ..., width: _Optional[int] = ..., features: _Optional[int] = ...) -> None: ...

class ProtoHEFEdgeLayerMuxData(_message.Message):
    __slots__ = ("number_of_predecessors", "height_gcd", "height_ratios_list_len", "height_ratios_list")
    NUMBER_OF_PREDECESSORS_FIELD_NUMBER: _ClassVar[int]
    HEIGHT_GCD_FIELD_NUMBER: _ClassVar[int]
    HEIGHT_RATIOS_LIST_LEN_FIELD_NUMBER: _ClassVar[int]
    HEIGHT_RATIOS_LIST_FIELD_NUMBER: _ClassVar[int]
    number_of_predecessors: int
    height_gcd: int
    height_ratios_list_len: int
    height_ratios_list: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, number_of_predecessors: _Optional[int] = ..., height_gcd: _Optional[int] = ..., height_ratios_list_len: _Optional[int] = ..., height_ratios_list: _Optional[_Iterable[int]] = ...) -> None: ...

class ProtoHEFContextSwitchInformation(_message.Message):
    __slots__ = ("context_index", "context_name", "edge_connection_type", "connected_context_index", "connected_context_name", "buffers", "connected_sys_index", "connected_contexts", "cache_id")
    CONTEXT_INDEX_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_NAME_FIELD_NUMBER: _ClassVar[int]
    EDGE_CONNECTION_TYPE_FIELD_NUMBER: _ClassVar[int]
    CONNECTED_CONTEXT_INDEX_FIELD_NUMBER: _ClassVar[int]
    CONNECTED_CONTEXT_NAME_FIELD_NUMBER: _ClassVar[int]
    BUFFERS_FIELD_NUMBER: _ClassVar[int]
    CONNECTED_SYS_INDEX_FIELD_NUMBER: _ClassVar[int]
    CONNECTED_CONTEXTS_FIELD_NUMBER: _ClassVar[int]
    CACHE_ID_FIELD_NUMBER: _ClassVar[int]
    context_index: int
    context_name: str
    edge_connection_type: ProtoHEFEdgeConnectionType
    connected_context_index: int
    connected_context_name: str
    buffers: int
    connected_sys_index: int
    connected_contexts: _containers.RepeatedCompositeFieldContainer[ProtoHEFConnectedContextInfo]
    cache_id: int
    def __init__(self, context_index: _Optional[int] = ..., context_name: _Optional[str] = ..., edge_connection_type: _Optional[_Union[ProtoHEFEdgeConnectionType, str]] = ..., connected_context_index: _Optional[int] = ..., connected_context_name: _Optional[str] = ..., buffers: _Optional[int] = ..., connected_sys_index: _Optional[int] = ..., connected_contexts: _Optional[_Iterable[_Union[ProtoHEFConnectedContextInfo, _Mapping]]] = ..., cache_id: _Optional[int] = ...) -> None: ...

class ProtoHEFConnectedContextInfo(_message.Message):
    __slots__ = ("index", "name", "sys_index", "engine_id")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SYS_INDEX_FIELD_NUMBER: _ClassVar[int]
    ENGINE_ID_FIELD_NUMBER: _ClassVar[int]
    index: int
    name: str
    sys_index: int
    engine_id: int
    def __init__(self, index: _Optional[int] = ..., name: _Optional[str] = ..., sys_index: _Optional[int] = ..., engine_id: _Optional[int] = ...) -> None: ...

class ProtoHEFResourceIndices(_message.Message):
    __slots__ = ("index", "cluster_index")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_INDEX_FIELD_NUMBER: _ClassVar[int]
    index: int
    cluster_index: int
    def __init__(self, index: _Optional[int] = ..., cluster_index: _Optional[int] = ...) -> None: ...

class ProtoHEFEdgeLayerBase(_message.Message):
    __slots__ = ("height", "padded_height", "width", "padded_width", "features", "padded_features", "format", "sys_index", "core_bytes_per_buffer", "core_buffers_per_frame", "additional_info", "data_bytes", "buffer_indices", "host_argmax", "max_shmifo_size", "engine_id")
    HEIGHT_FIELD_NUMBER: _ClassVar[int]
    PADDED_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    WIDTH_FIELD_NUMBER: _ClassVar[int]
    PADDED_WIDTH_FIELD_NUMBER: _ClassVar[int]
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    PADDED_FEATURES_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    SYS_INDEX_FIELD_NUMBER: _ClassVar[int]
    CORE_BYTES_PER_BUFFER_FIELD_NUMBER: _ClassVar[int]
    CORE_BUFFERS_PER_FRAME_FIELD_NUMBER: _ClassVar[int]
    ADDITIONAL_INFO_FIELD_NUMBER: _ClassVar[int]
    DATA_BYTES_FIELD_NUMBER: _ClassVar[int]
    BUFFER_INDICES_FIELD_NUMBER: _ClassVar[int]
    HOST_ARGMAX_FIELD_NUMBER: _ClassVar[int]
    MAX_SHMIFO_SIZE_FIELD_NUMBER: _ClassVar[int]
    ENGINE_ID_FIELD_NUMBER: _ClassVar[int]
    height: int
    padded_height: int
    width: int
    padded_width: int
    features: int
    padded_features: int
    format: int
    sys_index: int
    core_bytes_per_buffer: int
    core_buffers_per_frame: int
    additional_info: ProtoHEFAdditionalInfo
    data_bytes: int
    buffer_indices: _containers.RepeatedCompositeFieldContainer[ProtoHEFResourceIndices]
    host_argmax: bool
    max_shmifo_size: int
    engine_id: int
    def __init__(self, height: _Optional[int] = ..., padded_height: _Optional[int] = ..., width: _Optional[int] = ..., padded_width: _Optional[int] = ..., features: _Optional[int] = ..., padded_features: _Optional[int] = ..., format: _Optional[int] = ..., sys_index: _Optional[int] = ..., core_bytes_per_buffer: _Optional[int] = ..., core_buffers_per_frame: _Optional[int] = ..., additional_info: _Optional[_Union[ProtoHEFAdditionalInfo, _Mapping]] = ..., data_bytes: _Optional[int] = ..., buffer_indices: _Optional[_Iterable[_Union[ProtoHEFResourceIndices, _Mapping]]] = ..., host_argmax: bool = ..., max_shmifo_size: _Optional[int] = ..., engine_id: _Optional[int] = ...) -> None: ...

class ProtoHEFAdditionalInfo(_message.Message):
    __slots__ = ("nms_info",)
    NMS_INFO_FIELD_NUMBER: _ClassVar[int]
    nms_info: ProtoHEFNmsInfo
    def __init__(self, nms_info: _Optional[_Union[ProtoHEFNmsInfo, _Mapping]] = ...) -> None: ...

class ProtoHEFNmsInfo(_message.Message):
    __slots__ = ("type_index", "number_of_classes", "max_output_size", "bbox_size", "is_defused", "defuse_info", "input_division_factor", "burst_size", "burst_type")
    TYPE_INDEX_FIELD_NUMBER: _ClassVar[int]
    NUMBER_OF_CLASSES_FIELD_NUMBER: _ClassVar[int]
    MAX_OUTPUT_SIZE_FIELD_NUMBER: _ClassVar[int]
    BBOX_SIZE_FIELD_NUMBER: _ClassVar[int]
    IS_DEFUSED_FIELD_NUMBER: _ClassVar[int]
    DEFUSE_INFO_FIELD_NUMBER: _ClassVar[int]
    INPUT_DIVISION_FACTOR_FIELD_NUMBER: _ClassVar[int]
    BURST_SIZE_FIELD_NUMBER: _ClassVar[int]
    BURST_TYPE_FIELD_NUMBER: _ClassVar[int]
    type_index: int
    number_of_classes: int
    max_output_size: int
    bbox_size: int
    is_defused: bool
    defuse_info: ProtoHEFNmsDefuseInfo
    input_division_factor: int
    burst_size: int
    burst_type: ProtoHEFNmsBurstType
    def __init__(self, type_index: _Optional[int] = ..., number_of_classes: _Optional[int] = ..., max_output_size: _Optional[int] = ..., bbox_size: _Optional[int] = ..., is_defused: bool = ..., defuse_info: _Optional[_Union[ProtoHEFNmsDefuseInfo, _Mapping]] = ..., input_division_factor: _Optional[int] = ..., burst_size: _Optional[int] = ..., burst_type: _Optional[_Union[ProtoHEFNmsBurstType, str]] = ...) -> None: ...

class ProtoHEFNmsDefuseInfo(_message.Message):
    __slots__ = ("class_group_index", "original_name")
    CLASS_GROUP_INDEX_FIELD_NUMBER: _ClassVar[int]
    ORIGINAL_NAME_FIELD_NUMBER: _ClassVar[int]
    class_group_index: int
    original_name: str
    def __init__(self, class_group_index: _Optional[int] = ..., original_name: _Optional[str] = ...) -> None: ...

class ProtoHEFEdgeLayerNumericInfo(_message.Message):
    __slots__ = ("qp_zp", "qp_scale", "limvals_min", "limvals_max", "qp_zps", "qp_scales")
    QP_ZP_FIELD_NUMBER: _ClassVar[int]
    QP_SCALE_FIELD_NUMBER: _ClassVar[int]
    LIMVALS_MIN_FIELD_NUMBER: _ClassVar[int]
    LIMVALS_MAX_FIELD_NUMBER: _ClassVar[int]
    QP_ZPS_FIELD_NUMBER: _ClassVar[int]
    QP_SCALES_FIELD_NUMBER: _ClassVar[int]
    qp_zp: float
    qp_scale: float
    limvals_min: float
    limvals_max: float
    qp_zps: _containers.RepeatedScalarFieldContainer[float]
    qp_scales: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, qp_zp: _Optional[float] = ..., qp_scale: _Optional[float] = ..., limvals_min: _Optional[float] = ..., limvals_max: _Optional[float] = ..., qp_zps: _Optional[_Iterable[float]] = ..., qp_scales: _Optional[_Iterable[float]] = ...) -> None: ...

class ProtoHEFOrderedTrigger(_message.Message):
    __slots__ = ("triggers", "estimated_time_from_previous_ns")
    TRIGGERS_FIELD_NUMBER: _ClassVar[int]
    ESTIMATED_TIME_FROM_PREVIOUS_NS_FIELD_NUMBER: _ClassVar[int]
    triggers: ProtoHEFTrigger
    estimated_time_from_previous_ns: int
    def __init__(self, triggers: _Optional[_Union[ProtoHEFTrigger, _Mapping]] = ..., estimated_time_from_previous_ns: _Optional[int] = ...) -> None: ...

class ProtoHEFClusterEndGuarantee(_message.Message):
    __slots__ = ("cluster_index", "trigger")
    CLUSTER_INDEX_FIELD_NUMBER: _ClassVar[int]
    TRIGGER_FIELD_NUMBER: _ClassVar[int]
    cluster_index: int
    trigger: ProtoHEFTrigger
    def __init__(self, cluster_index: _Optional[int] = ..., trigger: _Optional[_Union[ProtoHEFTrigger, _Mapping]] = ...) -> None: ...

class ProtoHEFHwPackageInfo(_message.Message):
    __slots__ = ("dense_alignment_size", "axi_width", "memory_width")
    DENSE_ALIGNMENT_SIZE_FIELD_NUMBER: _ClassVar[int]
    AXI_WIDTH_FIELD_NUMBER: _ClassVar[int]
    MEMORY_WIDTH_FIELD_NUMBER: _ClassVar[int]
    dense_alignment_size: int
    axi_width: int
    memory_width: int
    def __init__(self, dense_alignment_size: _Optional[int] = ..., axi_width: _Optional[int] = ..., memory_width: _Optional[int] = ...) -> None: ...
