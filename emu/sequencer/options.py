"""What a configure call depends on besides the HEF."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from emu.sequencer.host import HostSettings


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """Defaults as in cli.md; for which HailoRT is compiled says `Hef.runtime`.

    `device` None: the first that the HEF's architecture names. `net_batch`: by full network name (`group/network`).
    """

    device: str | None = None
    cluster_layout: int | None = None
    batch: int = 1
    net_batch: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    network_group: str | None = None
    host: HostSettings = field(default_factory=HostSettings)
    kv_cache: bool = False
