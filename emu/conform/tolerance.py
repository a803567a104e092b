"""What two implementations may answer differently: times, time stamps, and what is a unit's own.

Everything else of a reply has to be the same, byte for byte.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from emu.errors import HailoError
from emu.wire.control import Opcode, decode_response
from emu.wire.messages import Kind
from emu.wire.wire import Wire

FREE: Mapping[Opcode, Mapping[str, str]] = MappingProxyType(
    {
        Opcode.IDENTIFY: dict.fromkeys(("serial_number", "part_number", "product_name"), "the unit's own"),
        Opcode.GET_DEVICE_INFORMATION: {
            **dict.fromkeys(("soc_id", "eth_mac_address", "fuse_info"), "the unit's own"),
            "pd_info": "what its sensors read",
        },
        Opcode.GET_CHIP_TEMPERATURE: {"temperature": "what its sensors read"},
        Opcode.DOWNLOAD_CONTEXT_ACTION_LIST: {
            "base_address": "where lists lie is its own",
            "idle_time": "a time",
            "batch_counter": "how far it is when it is asked",
            "action_list": "time stamps of its actions",
        },
    }
)
"""Values of replies that may differ, and why."""


def differing(wire: Wire, recorded: bytes, found: bytes) -> tuple[str, ...]:
    """The fields of a reply that differ and may not; a reply that cannot be read differs as a whole."""
    if recorded == found:
        return ()
    try:
        mine, theirs = decode_response(recorded), decode_response(found)
    except HailoError:
        return ("reply",)
    heads = [name for name in ("opcode", "major_status", "minor_status", "sequence") if _differ(mine, theirs, name)]
    if heads or mine.major_status:
        return tuple(heads) or ("reply",)
    free = FREE.get(Opcode(mine.opcode), {}) if mine.opcode in FREE else {}
    try:
        one = wire.messages.unpack(mine.opcode, Kind.RESPONSE, mine.parameters)
        two = wire.messages.unpack(theirs.opcode, Kind.RESPONSE, theirs.parameters)
    except HailoError:
        # of a reply that nobody described only its size and bytes are known
        same_sizes = list(map(len, mine.parameters)) == list(map(len, theirs.parameters))
        return () if "temperature" in free and same_sizes else ("parameters",)
    return tuple(name for name in one if one[name] != two[name] and (name not in free or not _alike(one, two, name)))


def _alike(one: Mapping[str, int | bytes], two: Mapping[str, int | bytes], name: str) -> bool:
    """What is free in its value keeps its size."""
    mine, theirs = one[name], two[name]
    return not isinstance(mine, bytes) or not isinstance(theirs, bytes) or len(mine) == len(theirs)


def _differ(one: object, two: object, name: str) -> bool:
    return bool(getattr(one, name) != getattr(two, name))
