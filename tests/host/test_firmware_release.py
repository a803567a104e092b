"""The firmware is that of the runtime that is spoken: a library takes no other (driver-ioctl-4.23.md 2)."""

from __future__ import annotations

import struct

import pytest

from emu.hef import open_hef
from emu.host.device import open_device
from emu.wire.control import Opcode, encode_request
from tests.conftest import ROOT

_REVISION = (1 << 27) - 1  # above it are flags


@pytest.mark.parametrize(("runtime", "version"), [("4.20", (4, 20, 0)), ("4.22", (4, 22, 0)), ("4.23", (4, 23, 0))])
def test_identify_tells_the_release(runtime: str, version: tuple[int, int, int]) -> None:
    with open_device("hailo8", runtime) as device:
        device.configure(open_hef(ROOT / "examples" / "digits.hef", runtime=runtime))
        reply = device.chip.control(encode_request(Opcode.IDENTIFY))
    place = reply.index(struct.pack("<2I", *version[:2]))
    major, minor, revision = struct.unpack_from("<3I", reply, place)
    assert (major, minor, revision & _REVISION) == version
