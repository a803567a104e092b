"""What a configure call depends on besides the HEF."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct, field

from emu.sequencer.host import HostSettings


class CompileOptions(Struct, frozen=True):
    """Defaults as in cli.md.

    `runtime` None: the one that opened the file (`Hef.runtime`); another compiles by its own rules what that one read.
    `device` None: the first that the HEF's architecture names. `net_batch`: by full network name (`group/network`).
    """

    device: str | None = None
    runtime: str | None = None
    cluster_layout: int | None = None
    batch: int = 1
    net_batch: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    network_group: str | None = None
    host: HostSettings = field(default_factory=HostSettings)
    kv_cache: bool = False
