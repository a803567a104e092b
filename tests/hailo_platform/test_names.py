"""Names, numbers, texts: enums, statuses and their exceptions, constants (docs/reference/pyhailort-api.md 1)."""

from __future__ import annotations

import pickle
import re
from typing import Any

import pytest

from emu.errors import FirmwareError, HailoError, HailoStatus
from emu.hailo_platform import exceptions
from tests.conftest import ROOT

REFERENCE = (ROOT / "docs" / "reference" / "pyhailort-api.md").read_text()
TABLE = re.search(r"\| status \(code\) \|.*?\n\n", REFERENCE, re.DOTALL)
assert TABLE is not None
ROWS = [[cell.strip() for cell in row.split("|")[1:4]] for row in TABLE[0].splitlines()[2:] if row]


def test_the_package_has_the_names_of_the_reference(hailo_platform: Any) -> None:
    line = next(line for line in REFERENCE.splitlines() if line.startswith("`__all__` common"))
    names = line.split(":", 1)[1].rstrip(".").split(", ")
    assert len(names) > 25
    for name in (one.strip() for one in names):
        assert getattr(hailo_platform, name) is not None, name


def test_scripts_find_the_inner_modules(hailo_platform: Any) -> None:
    from hailo_platform.common.logger.logger import default_logger
    from hailo_platform.pyhailort._pyhailort import FormatType
    from hailo_platform.pyhailort.pyhailort import (
        AsyncInferJob,
        ConfiguredInferModel,
        FormatOrder,
        HailoRTTimeout,
        InferModel,
    )

    assert FormatType is hailo_platform.FormatType
    assert FormatOrder is hailo_platform.FormatOrder
    assert AsyncInferJob is hailo_platform.AsyncInferJob
    assert issubclass(HailoRTTimeout, hailo_platform.HailoRTException)
    assert InferModel.InferStream
    assert ConfiguredInferModel.Bindings.InferStream
    assert default_logger().name == "pyhailort"


@pytest.mark.parametrize("enum", ["FormatType", "FormatOrder"])
def test_enum_values_are_those_of_the_reference(hailo_platform: Any, enum: str) -> None:
    line = next(line for line in REFERENCE.splitlines() if line.startswith(f"- {enum}: "))
    plain = re.sub(r"\(.*?\)", "", line.split(": ", 1)[1])
    pairs = re.findall(r'"?(\w+)"? (\d+) ?[,.]', plain)
    assert len(pairs) >= 4
    for name, number in pairs:
        member = getattr(getattr(hailo_platform, enum), name)
        assert int(member) == int(number)
        assert str(member) == f"{enum}.{name}"
        assert repr(member) == f"<{enum}.{name}: {number}>"
        assert member != int(number)
        assert pickle.loads(pickle.dumps(member)) is member


def test_enums_that_scripts_take_apart(hailo_platform: Any) -> None:
    assert str(hailo_platform.FormatType.UINT8).split(".")[1].lower() == "uint8"
    assert str(hailo_platform.HailoFormatFlags.TRANSPOSED) == "FormatFlags.TRANSPOSED"
    assert int(hailo_platform.HailoFormatFlags.TRANSPOSED) == 2
    assert [int(one) for one in hailo_platform.HailoStreamInterface] == [0, 1, 2, 3]
    assert str(hailo_platform.HailoSchedulingAlgorithm.ROUND_ROBIN) == "SchedulingAlgorithm.ROUND_ROBIN"
    from hailo_platform.pyhailort.pyhailort import DeviceArchitectureTypes

    assert str(DeviceArchitectureTypes.HAILO8L) == "HAILO8L"
    assert DeviceArchitectureTypes.HAILO10H == 6


def statuses() -> list[tuple[int, str, str]]:
    """(number, class, beginning of the message) of every row of the table that names one."""
    found = []
    for status, kind, message in ROWS:
        numbers = [int(number) for number in re.findall(r"\b(\d+)\b", status)]
        if len(numbers) == 1:
            found.append((numbers[0], kind, message))
    return found


@pytest.mark.parametrize(("number", "kind", "message"), statuses())
def test_a_status_raises_its_class(number: int, kind: str, message: str) -> None:
    found = exceptions.exception_of(number)
    assert type(found).__name__ == kind
    assert isinstance(found, exceptions.HailoRTException)
    for part in message.split("…"):
        assert part.strip() in str(found)


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (6, "HailoRTInvalidOperationException"),
        (2, "HailoRTInvalidArgumentException"),
        (19, "HailoRTEthException"),
        (36, "HailoRTDriverOperationFailedException"),
        (62, "HailoCommunicationClosedException"),
        (69, "HailoRTNetworkGroupNotActivatedException"),
    ],
)
def test_rows_that_name_several(number: int, kind: str) -> None:
    assert type(exceptions.exception_of(number)).__name__ == kind


def test_every_other_status_shows_its_number_and_name() -> None:
    named = {row[0] for row in statuses()} | {2, 6, 19, 36, 62, 69}
    others = [status for status in HailoStatus if status and status not in named]
    assert len(others) > 70
    for status in others:
        found = exceptions.exception_of(status)
        assert type(found) is exceptions.HailoRTException
        assert str(found) == f"libhailort failed with error: {int(status)} ({status.name})"
    with pytest.raises(exceptions.HailoStatusInvalidValueException):
        exceptions.exception_of(1000)


def test_errors_of_emu_keep_their_words_in_a_note() -> None:
    with (
        pytest.raises(exceptions.HailoRTInvalidArgumentException) as caught,
        exceptions.raising_as_hailort(),
    ):
        raise HailoError(HailoStatus.HAILO_INVALID_ARGUMENT, "7 bytes given, 8 expected")
    assert "7 bytes given, 8 expected" in caught.value.__notes__[0]
    assert isinstance(caught.value.__cause__, HailoError)


def test_the_firmware_refuses_under_its_own_name() -> None:
    refused = FirmwareError("CONTEXT_SWITCH_STATUS_X", 0x40130001, "refused")
    assert isinstance(exceptions.translated(refused), exceptions.HailoRTFirmwareControlFailedException)


@pytest.mark.parametrize("name", ["HailoSession", "EthernetDevice", "UDPRateLimiter"])
def test_what_is_not_built_says_its_name(hailo_platform: Any, name: str) -> None:
    with pytest.raises(exceptions.HailoRTNotImplemented, match=name):
        getattr(hailo_platform, name)


@pytest.mark.parametrize("name", ["LLM", "VLM", "Speech2Text"])
def test_genai_is_not_built(hailo_platform: Any, name: str) -> None:
    import hailo_platform.genai as genai

    with pytest.raises(exceptions.HailoRTNotImplemented, match=f"genai.{name}"):
        getattr(genai, name)(None, "model")


def test_a_star_import_brings_hailorts_names_only(hailo_platform: Any) -> None:
    found: dict[str, Any] = {}
    exec("from hailo_platform import *", found)
    assert {"VDevice", "HEF", "InferVStreams"} <= set(found)
    assert set(found).isdisjoint({"clock", "install", "uninstall", "HailoRTNotImplemented"})
