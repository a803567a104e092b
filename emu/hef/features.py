"""What a HEF asks of a runtime: extensions, the feature flags they set, and which runtime knows them.

Numbers and first versions: hef-container.md 4.1; flags: 4.2.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

from msgspec import Struct

from emu.hef.enums import ExtensionType
from emu.hef.model import Extension, Header, IncludedFeatures
from emu.hef.runtime import V4_6, V5_0, V5_0_1, V5_1, Runtime

FIRST_SUPPORTED: Mapping[ExtensionType, Runtime] = MappingProxyType(
    {
        ExtensionType.ABBALE: V4_6,
        ExtensionType.POSTED_WRITES: V4_6,
        ExtensionType.DDR: V4_6,
        ExtensionType.PADDED_DDR_BUFFERS: V4_6,
        ExtensionType.IS_MULTI_CONTEXTS: V4_6,
        ExtensionType.COMPRESSED_PARAMS: V4_6,
        ExtensionType.TRANSPOSE_COMPONENT: V4_6,
        ExtensionType.IS_NMS_MULTI_CONTEXT: V4_6,
        ExtensionType.OFFLOAD_ARGMAX: V4_6,
        ExtensionType.KO_RUN_ASAP: Runtime(4, 7),
        ExtensionType.HAILO_NET_FLOW: Runtime(4, 12),
        ExtensionType.HAILO_NET_FLOW_YOLOV5_NMS: Runtime(4, 12),
        ExtensionType.HAILO_NET_FLOW_YOLOX_NMS: Runtime(4, 14),
        ExtensionType.HAILO_NET_FLOW_SSD_NMS: Runtime(4, 14),
        ExtensionType.WRITE_DATA_BY_TYPE: Runtime(4, 14),
        ExtensionType.NMS_OUTPUT_BURST: Runtime(4, 14),
        ExtensionType.DUAL_DIRECTION_STREAM_INDEX: Runtime(4, 14),
        ExtensionType.HAILO_NET_FLOW_ARGMAX: Runtime(4, 14),
        ExtensionType.HAILO_NET_FLOW_SOFTMAX: Runtime(4, 14),
        ExtensionType.ALIGNED_FORMAT_TYPE: Runtime(4, 14),
        ExtensionType.OUTPUT_SCALE_PER_FEATURE: Runtime(4, 14),
        ExtensionType.PERIPH_CALCULATION_IN_HAILORT: Runtime(4, 14),
        ExtensionType.HAILO_NET_FLOW_IOU_NMS: Runtime(4, 15),
        ExtensionType.HAILO_NET_FLOW_YOLOV5_SEG_NMS: Runtime(4, 15),
        ExtensionType.HW_PADDING: Runtime(4, 16),
        ExtensionType.HAILO_NET_FLOW_YOLOV8_NMS: Runtime(4, 16),
        ExtensionType.BATCH_REGISTER_CONFIG: Runtime(4, 17),
        ExtensionType.HAILO_NET_FLOW_BBOX_DECODING: Runtime(4, 17),
        ExtensionType.CCW_PTR_SQUEEZE: Runtime(4, 21),
        ExtensionType.EXTERNAL_RESOURCES: Runtime(4, 21),
        ExtensionType.SHARED_CONFIG: Runtime(4, 21),
        ExtensionType.STRICT_RUNTIME_VERSIONING: V5_0,
        ExtensionType.CSM_CRC: V5_1,
        ExtensionType.ENABLE_CONFIG_CHANNELS: V5_0_1,
    }
)
"""First runtime that takes an extension from the mandatory list. TEST_ONE and MULTI_NETWORK_VARIABLE_BATCH_SIZE are in
no runtime's list: the one is a test, the other means something as an optional extension only."""

OPTIONAL_SINCE: Mapping[ExtensionType, Runtime] = MappingProxyType(
    {ExtensionType.MULTI_NETWORK_VARIABLE_BATCH_SIZE: V4_6, ExtensionType.HW_PADDING: Runtime(4, 16)}
)
"""First runtime that reads an extension from the optional list; the others it ignores there (hef.cpp of the tags)."""

_LEGACY: Mapping[ExtensionType, str] = MappingProxyType(
    {
        ExtensionType.ABBALE: "abbale",
        ExtensionType.POSTED_WRITES: "posted_writes",
        ExtensionType.DDR: "ddr",
        ExtensionType.IS_MULTI_CONTEXTS: "is_multi_context",
        ExtensionType.COMPRESSED_PARAMS: "compressed_params",
        ExtensionType.TRANSPOSE_COMPONENT: "transpose_component",
        ExtensionType.PADDED_DDR_BUFFERS: "padded_ddr_buffers",
    }
)


def extension_name(type_index: int) -> str | None:
    """The schema's name of an extension, None for a number it does not have."""
    try:
        return ExtensionType(type_index).name
    except ValueError:
        return None


def first_supported(type_index: int) -> Runtime | None:
    """The first runtime that takes this extension from the mandatory list, None where none up to 5.2 does."""
    try:
        return FIRST_SUPPORTED.get(ExtensionType(type_index))
    except ValueError:
        return None


def unsupported_extensions(extensions: Collection[Extension], runtime: Runtime) -> list[Extension]:
    """The mandatory extensions that this runtime refuses, in file order."""
    out = []
    for extension in extensions:
        since = first_supported(extension.type_index)
        if since is None or runtime < since:
            out.append(extension)
    return out


class SupportedFeatures(Struct, frozen=True):
    """The flags that the runtime derives from the extensions (hef-container.md 4.2), named as it names them.

    `strict_versioning` counts since 5.0 and `split_allow_input_action` since 5.1; `shared_config` is called
    aligned_ccws up to 4.23.
    """

    padded_ddr_buffers: bool
    multi_network_support: bool
    multi_context: bool
    preliminary_run_asap: bool
    hailo_net_flow: bool
    dual_direction_stream_index: bool
    nms_burst_mode: bool
    output_scale_by_feature: bool
    periph_calculation_in_hailort: bool
    core_hw_padding_config_in_dfc: bool
    batch_register_config: bool
    shared_config: bool
    strict_versioning: bool
    split_allow_input_action: bool


def supported_features(
    header: Header,
    included_features: IncludedFeatures,
    extensions: Collection[Extension],
    optional_extensions: Collection[Extension],
) -> SupportedFeatures:
    """Extensions count where header.version is above 0, else the included_features (hef-container.md 4)."""
    mandatory = {extension.type_index for extension in extensions}
    optional = {extension.type_index for extension in optional_extensions} if header.version > 0 else set()

    def has(extension: ExtensionType) -> bool:
        if header.version > 0:
            return extension in mandatory
        legacy = _LEGACY.get(extension)
        return legacy is not None and bool(getattr(included_features, legacy))

    return SupportedFeatures(
        padded_ddr_buffers=has(ExtensionType.PADDED_DDR_BUFFERS),
        multi_network_support=ExtensionType.MULTI_NETWORK_VARIABLE_BATCH_SIZE in optional,
        multi_context=has(ExtensionType.IS_MULTI_CONTEXTS),
        preliminary_run_asap=has(ExtensionType.KO_RUN_ASAP),
        hailo_net_flow=has(ExtensionType.HAILO_NET_FLOW),
        dual_direction_stream_index=has(ExtensionType.DUAL_DIRECTION_STREAM_INDEX),
        nms_burst_mode=has(ExtensionType.NMS_OUTPUT_BURST),
        output_scale_by_feature=has(ExtensionType.OUTPUT_SCALE_PER_FEATURE),
        periph_calculation_in_hailort=has(ExtensionType.PERIPH_CALCULATION_IN_HAILORT),
        core_hw_padding_config_in_dfc=ExtensionType.HW_PADDING in optional,
        batch_register_config=has(ExtensionType.BATCH_REGISTER_CONFIG),
        shared_config=has(ExtensionType.SHARED_CONFIG),
        strict_versioning=has(ExtensionType.STRICT_RUNTIME_VERSIONING),
        split_allow_input_action=has(ExtensionType.ENABLE_CONFIG_CHANNELS),
    )
