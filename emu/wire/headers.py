"""The application header of a network group (firmware-actions.md 5.1), whose layout is the runtime's."""

from __future__ import annotations

from typing import Any, NamedTuple

from emu.errors import HailoError, HailoStatus
from emu.wire.layouts import Layout


class ApplicationHeader(NamedTuple):
    """firmware-actions.md 5.1; a field is 0 where the runtime has none of its name.

    `batch_sizes`: by network index, where the runtime sends them; `batch_size` is then the largest.
    `config_channels_count` None: the runtime does not send it, and any config stream may be used.
    """

    dynamic_contexts_count: int
    preliminary_run_asap: int
    batch_register_config: int
    can_fast_batch_switch: int
    networks_count: int
    csm_buffer_size: int
    batch_size: int
    external_action_list_address: int
    config_channels_count: int | None
    config_channels: tuple[int, ...]
    is_abbale_supported: int = 0
    split_allow_input_action: int = 0
    boundary_channels_bitmap: tuple[int, ...] = (0, 0, 0)
    batch_sizes: tuple[int, ...] = ()


class HeaderLayout:
    """Application headers of one runtime."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self.size = layout.size
        self.names = layout.names

    def encode(self, header: ApplicationHeader) -> bytes:
        """The header's bytes; config channels and networks behind the last that it has room for are left out.

        Networks whose batch sizes are not given have the application's.
        """
        sizes = header.batch_sizes or (header.batch_size,) * header.networks_count
        return self._layout.pack(header._asdict() | {"batch_sizes": sizes})

    def decode(self, data: bytes) -> ApplicationHeader:
        """Parse a header; another size than the runtime's is HAILO_INVALID_ARGUMENT."""
        if len(data) != self.size:
            raise HailoError(
                HailoStatus.HAILO_INVALID_ARGUMENT,
                f"an application header has {self.size} bytes, this one {len(data)}",
            )
        values: dict[str, Any] = self._layout.unpack(data)
        count = values.setdefault("config_channels_count", None)
        values["config_channels"] = values.get("config_channels", ())[:count]
        if "batch_sizes" in values:
            values["batch_sizes"] = values["batch_sizes"][: values["networks_count"]]
            values["batch_size"] = max(values["batch_sizes"], default=0)
        return ApplicationHeader(**values)
