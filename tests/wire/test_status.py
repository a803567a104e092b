"""Every firmware status has the number and the name of the public header, of which the tests carry a list."""

from __future__ import annotations

from emu.wire.status import FirmwareStatus
from tests.conftest import ROOT

# seen in replies of a real device (silicon-facts.md d); the header stops before it
_NOT_IN_THE_HEADER = {"SUCCESS", "RESTRICTED_MEMORY_ACCESS"}


def test_every_status_is_the_public_one() -> None:
    lines = (ROOT / "tests/data/firmware_statuses.txt").read_text().splitlines()[1:]
    listed = {name: int(number, 16) for number, name in map(str.split, lines)}
    assert {status.name: int(status) for status in FirmwareStatus if status.name not in _NOT_IN_THE_HEADER} == listed
    assert FirmwareStatus.SUCCESS == 0 and FirmwareStatus.RESTRICTED_MEMORY_ACCESS == 0x40000058
