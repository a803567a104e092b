"""What must hold between edge layers: within a context, and over all of them (hef-container.md 7)."""

from __future__ import annotations

from collections.abc import Iterable

from emu.errors import HailoError, HailoStatus
from emu.hef.enums import EdgeConnectionType
from emu.hef.layers import LayerInfo, StreamDirection


def check_context(layers: Iterable[LayerInfo], context_index: int) -> None:
    """DDR layers must come in pairs that agree (hef-container.md 7); HAILO_INVALID_HEF."""
    ddr = [layer for layer in layers if layer.type is EdgeConnectionType.DDR]
    outputs = [layer for layer in ddr if layer.direction is StreamDirection.D2H]
    inputs = [layer for layer in ddr if layer.direction is StreamDirection.H2D]
    if len(inputs) != len(outputs):
        raise _invalid_pair(f"{len(outputs)} DDR outputs and {len(inputs)} DDR inputs", context_index)
    by_stream: dict[int, list[LayerInfo]] = {}
    for layer in inputs:
        by_stream.setdefault(layer.stream_index, []).append(layer)
    for output in outputs:
        stream = output.connected_contexts[0].sys_index
        matches = by_stream.get(stream, [])
        if len(matches) != 1:
            raise _invalid_pair(
                f"DDR output {output.name} feeds stream {stream}, which {len(matches)} DDR inputs have", context_index
            )
        match = matches[0]
        for field in ("core_bytes_per_buffer", "core_buffers_per_frame"):
            if getattr(output, field) != getattr(match, field):
                raise _invalid_pair(
                    f"DDR pair {output.name}, {match.name}: {field} {getattr(output, field)} and "
                    f"{getattr(match, field)} differ",
                    context_index,
                )


def _invalid_pair(message: str, context_index: int) -> HailoError:
    return HailoError(HailoStatus.HAILO_INVALID_HEF, message, context=context_index)


def check_unique_names(layers: Iterable[LayerInfo]) -> None:
    """Boundary names must differ over all contexts and directions; those inside a mux or planes layer may repeat."""
    seen: set[str] = set()
    for layer in layers:
        if layer.type is EdgeConnectionType.BOUNDARY:
            if layer.name in seen:
                raise HailoError(HailoStatus.HAILO_INVALID_HEF, f"two boundary layers are named {layer.name!r}")
            seen.add(layer.name)
