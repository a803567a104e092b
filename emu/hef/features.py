"""What a HEF asks of a runtime: extensions, the feature flags they set, and which runtime knows them.

Numbers and first versions: hef-container.md 4.1; flags: 4.2.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from emu.hef.enums import ExtensionType
from emu.hef.model import Extension, Header, IncludedFeatures
from emu.hef.runtime import V4_6, V5_0, V5_1, Runtime

_X = ExtensionType

FIRST_SUPPORTED: Mapping[ExtensionType, Runtime] = MappingProxyType(
    {
        _X.ABBALE: V4_6,
        _X.POSTED_WRITES: V4_6,
        _X.DDR: V4_6,
        _X.PADDED_DDR_BUFFERS: V4_6,
        _X.IS_MULTI_CONTEXTS: V4_6,
        _X.COMPRESSED_PARAMS: V4_6,
        _X.TRANSPOSE_COMPONENT: V4_6,
        _X.IS_NMS_MULTI_CONTEXT: V4_6,
        _X.OFFLOAD_ARGMAX: V4_6,
        _X.KO_RUN_ASAP: Runtime(4, 7),
        _X.HAILO_NET_FLOW: Runtime(4, 12),
        _X.HAILO_NET_FLOW_YOLOV5_NMS: Runtime(4, 12),
        _X.HAILO_NET_FLOW_YOLOX_NMS: Runtime(4, 14),
        _X.HAILO_NET_FLOW_SSD_NMS: Runtime(4, 14),
        _X.WRITE_DATA_BY_TYPE: Runtime(4, 14),
        _X.NMS_OUTPUT_BURST: Runtime(4, 14),
        _X.DUAL_DIRECTION_STREAM_INDEX: Runtime(4, 14),
        _X.HAILO_NET_FLOW_ARGMAX: Runtime(4, 14),
        _X.HAILO_NET_FLOW_SOFTMAX: Runtime(4, 14),
        _X.ALIGNED_FORMAT_TYPE: Runtime(4, 14),
        _X.OUTPUT_SCALE_PER_FEATURE: Runtime(4, 14),
        _X.PERIPH_CALCULATION_IN_HAILORT: Runtime(4, 14),
        _X.HAILO_NET_FLOW_IOU_NMS: Runtime(4, 15),
        _X.HAILO_NET_FLOW_YOLOV5_SEG_NMS: Runtime(4, 15),
        _X.HW_PADDING: Runtime(4, 16),
        _X.HAILO_NET_FLOW_YOLOV8_NMS: Runtime(4, 16),
        _X.BATCH_REGISTER_CONFIG: Runtime(4, 17),
        _X.HAILO_NET_FLOW_BBOX_DECODING: Runtime(4, 17),
        _X.CCW_PTR_SQUEEZE: Runtime(4, 21),
        _X.EXTERNAL_RESOURCES: Runtime(4, 21),
        _X.SHARED_CONFIG: Runtime(4, 21),
        _X.STRICT_RUNTIME_VERSIONING: V5_0,
        _X.CSM_CRC: V5_1,
        _X.ENABLE_CONFIG_CHANNELS: V5_1,
    }
)
"""First runtime that takes an extension from the mandatory list. TEST_ONE and MULTI_NETWORK_VARIABLE_BATCH_SIZE are in
no runtime's list: the one is a test, the other means something as an optional extension only."""

OPTIONAL_SINCE: Mapping[ExtensionType, Runtime] = MappingProxyType(
    {_X.MULTI_NETWORK_VARIABLE_BATCH_SIZE: V4_6, _X.HW_PADDING: Runtime(4, 16)}
)
"""First runtime that reads an extension from the optional list; the others it ignores there (hef.cpp of the tags)."""

_LEGACY: Mapping[ExtensionType, str] = MappingProxyType(
    {
        _X.ABBALE: "abbale",
        _X.POSTED_WRITES: "posted_writes",
        _X.DDR: "ddr",
        _X.IS_MULTI_CONTEXTS: "is_multi_context",
        _X.COMPRESSED_PARAMS: "compressed_params",
        _X.TRANSPOSE_COMPONENT: "transpose_component",
        _X.PADDED_DDR_BUFFERS: "padded_ddr_buffers",
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


@dataclass(frozen=True, slots=True)
class SupportedFeatures:
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
        padded_ddr_buffers=has(_X.PADDED_DDR_BUFFERS),
        multi_network_support=_X.MULTI_NETWORK_VARIABLE_BATCH_SIZE in optional,
        multi_context=has(_X.IS_MULTI_CONTEXTS),
        preliminary_run_asap=has(_X.KO_RUN_ASAP),
        hailo_net_flow=has(_X.HAILO_NET_FLOW),
        dual_direction_stream_index=has(_X.DUAL_DIRECTION_STREAM_INDEX),
        nms_burst_mode=has(_X.NMS_OUTPUT_BURST),
        output_scale_by_feature=has(_X.OUTPUT_SCALE_PER_FEATURE),
        periph_calculation_in_hailort=has(_X.PERIPH_CALCULATION_IN_HAILORT),
        core_hw_padding_config_in_dfc=_X.HW_PADDING in optional,
        batch_register_config=has(_X.BATCH_REGISTER_CONFIG),
        shared_config=has(_X.SHARED_CONFIG),
        strict_versioning=has(_X.STRICT_RUNTIME_VERSIONING),
        split_allow_input_action=has(_X.ENABLE_CONFIG_CHANNELS),
    )
