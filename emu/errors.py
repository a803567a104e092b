"""One base error, the statuses as enums, the place in every error.

Every refusal the program makes on purpose is an `EmuError`; the command line turns it into one line
(`emu: error: NAME(NUMBER): what is wrong (place)`) and an exit code (cli.md).
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Any


class HailoStatus(IntEnum):
    """hailo_status of HailoRT 5.2 (HAILO_STATUS_VARIABLES in hailort.h); numbers are stable since 4.6."""

    HAILO_SUCCESS = 0
    HAILO_UNINITIALIZED = 1
    HAILO_INVALID_ARGUMENT = 2
    HAILO_OUT_OF_HOST_MEMORY = 3
    HAILO_TIMEOUT = 4
    HAILO_INSUFFICIENT_BUFFER = 5
    HAILO_INVALID_OPERATION = 6
    HAILO_NOT_IMPLEMENTED = 7
    HAILO_INTERNAL_FAILURE = 8
    HAILO_DATA_ALIGNMENT_FAILURE = 9
    HAILO_CHUNK_TOO_LARGE = 10
    HAILO_INVALID_LOGGER_LEVEL = 11
    HAILO_CLOSE_FAILURE = 12
    HAILO_OPEN_FILE_FAILURE = 13
    HAILO_FILE_OPERATION_FAILURE = 14
    HAILO_UNSUPPORTED_CONTROL_PROTOCOL_VERSION = 15
    HAILO_UNSUPPORTED_FW_VERSION = 16
    HAILO_INVALID_CONTROL_RESPONSE = 17
    HAILO_FW_CONTROL_FAILURE = 18
    HAILO_ETH_FAILURE = 19
    HAILO_ETH_INTERFACE_NOT_FOUND = 20
    HAILO_ETH_RECV_FAILURE = 21
    HAILO_ETH_SEND_FAILURE = 22
    HAILO_INVALID_FIRMWARE = 23
    HAILO_INVALID_CONTEXT_COUNT = 24
    HAILO_INVALID_FRAME = 25
    HAILO_INVALID_HEF = 26
    HAILO_PCIE_NOT_SUPPORTED_ON_PLATFORM = 27
    HAILO_INTERRUPTED_BY_SIGNAL = 28
    HAILO_START_VDMA_CHANNEL_FAIL = 29
    HAILO_SYNC_VDMA_BUFFER_FAIL = 30
    HAILO_STOP_VDMA_CHANNEL_FAIL = 31
    HAILO_CLOSE_VDMA_CHANNEL_FAIL = 32
    HAILO_ATR_TABLES_CONF_VALIDATION_FAIL = 33
    HAILO_EVENT_CREATE_FAIL = 34
    HAILO_READ_EVENT_FAIL = 35
    HAILO_DRIVER_OPERATION_FAILED = 36
    HAILO_INVALID_FIRMWARE_MAGIC = 37
    HAILO_INVALID_FIRMWARE_CODE_SIZE = 38
    HAILO_INVALID_KEY_CERTIFICATE_SIZE = 39
    HAILO_INVALID_CONTENT_CERTIFICATE_SIZE = 40
    HAILO_MISMATCHING_FIRMWARE_BUFFER_SIZES = 41
    HAILO_INVALID_FIRMWARE_CPU_ID = 42
    HAILO_CONTROL_RESPONSE_MD5_MISMATCH = 43
    HAILO_GET_CONTROL_RESPONSE_FAIL = 44
    HAILO_GET_D2H_EVENT_MESSAGE_FAIL = 45
    HAILO_MUTEX_INIT_FAIL = 46
    HAILO_OUT_OF_DESCRIPTORS = 47
    HAILO_UNSUPPORTED_OPCODE = 48
    HAILO_USER_MODE_RATE_LIMITER_NOT_SUPPORTED = 49
    HAILO_RATE_LIMIT_MAXIMUM_BANDWIDTH_EXCEEDED = 50
    HAILO_ANSI_TO_UTF16_CONVERSION_FAILED = 51
    HAILO_UTF16_TO_ANSI_CONVERSION_FAILED = 52
    HAILO_UNEXPECTED_INTERFACE_INFO_FAILURE = 53
    HAILO_UNEXPECTED_ARP_TABLE_FAILURE = 54
    HAILO_MAC_ADDRESS_NOT_FOUND = 55
    HAILO_NO_IPV4_INTERFACES_FOUND = 56
    HAILO_SHUTDOWN_EVENT_SIGNALED = 57
    HAILO_THREAD_ALREADY_ACTIVATED = 58
    HAILO_THREAD_NOT_ACTIVATED = 59
    HAILO_THREAD_NOT_JOINABLE = 60
    HAILO_NOT_FOUND = 61
    HAILO_COMMUNICATION_CLOSED = 62
    HAILO_STREAM_ABORT = 63
    HAILO_DRIVER_NOT_INSTALLED = 64
    HAILO_NOT_AVAILABLE = 65
    HAILO_TRAFFIC_CONTROL_FAILURE = 66
    HAILO_INVALID_SECOND_STAGE = 67
    HAILO_INVALID_PIPELINE = 68
    HAILO_NETWORK_GROUP_NOT_ACTIVATED = 69
    HAILO_VSTREAM_PIPELINE_NOT_ACTIVATED = 70
    HAILO_OUT_OF_FW_MEMORY = 71
    HAILO_STREAM_NOT_ACTIVATED = 72
    HAILO_DEVICE_IN_USE = 73
    HAILO_OUT_OF_PHYSICAL_DEVICES = 74
    HAILO_INVALID_DEVICE_ARCHITECTURE = 75
    HAILO_INVALID_DRIVER_VERSION = 76
    HAILO_RPC_FAILED = 77
    HAILO_INVALID_SERVICE_VERSION = 78
    HAILO_NOT_SUPPORTED = 79
    HAILO_NMS_BURST_INVALID_DATA = 80
    HAILO_OUT_OF_HOST_CMA_MEMORY = 81
    HAILO_QUEUE_IS_FULL = 82
    HAILO_DMA_MAPPING_ALREADY_EXISTS = 83
    HAILO_CANT_MEET_BUFFER_REQUIREMENTS = 84
    HAILO_DRIVER_INVALID_RESPONSE = 85
    HAILO_DRIVER_INVALID_IOCTL = 86
    HAILO_DRIVER_TIMEOUT = 87
    HAILO_DRIVER_INTERRUPTED = 88
    HAILO_CONNECTION_REFUSED = 89
    HAILO_DRIVER_WAIT_CANCELED = 90
    HAILO_HEF_FILE_CORRUPTED = 91
    HAILO_HEF_NOT_SUPPORTED = 92
    HAILO_HEF_NOT_COMPATIBLE_WITH_DEVICE = 93
    HAILO_INVALID_HEF_USE = 94
    HAILO_OPERATION_ABORTED = 95
    HAILO_DEVICE_NOT_CONNECTED = 96
    HAILO_DEVICE_TEMPORARILY_UNAVAILABLE = 97

    def __str__(self) -> str:
        return f"{self.name}({self.value})"


class GraphStatus(IntEnum):
    """What can be wrong with an OM or MS graph; the numbers are the order of cli.md."""

    OM_CONTAINER = 1
    OM_MODEL = 2
    MS_FLATBUFFER = 3
    GRAPH_STRUCTURE = 4
    GRAPH_SHAPE = 5
    GRAPH_UNSUPPORTED = 6
    GRAPH_INPUT = 7


_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def without_controls(text: str) -> str:
    """The text with its control characters alone escaped, for text that is otherwise given to the byte."""
    return _CONTROLS.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def printable(text: str) -> str:
    """The text with what a terminal would act upon escaped: names out of a file may hold anything, and yet one error
    stays one line."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


MOST_QUOTED = 80
"""Characters of a value that an error quotes."""
_LONGEST_MESSAGE = 2000
_LONG_QUOTES = tuple(re.compile(f"{quote}([^{quote}]{{{MOST_QUOTED}}})[^{quote}]+{quote}") for quote in "'\"")


def _shortened(text: str) -> str:
    """What stands in quotes came from somewhere, and may be of any length."""
    if len(text) > MOST_QUOTED:
        for pattern in _LONG_QUOTES:
            text = pattern.sub(lambda match: f"{match[0][0]}{match[1]}…{match[0][0]}", text)
    return text if len(text) <= _LONGEST_MESSAGE else f"{text[:_LONGEST_MESSAGE]}…"


class ExitCode(IntEnum):
    """How a command ends (cli.md, exit codes), but by a signal."""

    DONE = 0
    USAGE = 2
    UNREADABLE = 3
    REFUSED = 4
    STOPPED = 5
    DIFFERENT = 6
    UNREACHABLE = 7


class EmuError(Exception):
    """Base of every deliberate refusal.

    `name` and `number` are the status as the real runtime or firmware spells it, `where` the place
    (file, offset, context, action index …, plain JSON values), `exit_code` as cli.md maps it.
    """

    exit_code = ExitCode.UNREADABLE

    def __init__(self, name: str, number: int, message: str, **where: Any) -> None:
        super().__init__(message)
        self.name = name
        self.number = number
        self.message = _shortened(message)
        self.where = where

    def number_text(self) -> str:
        return str(self.number)

    def line(self) -> str:
        """`NAME(NUMBER): message (key value, key value)`, the text after `emu: error: `."""
        # the file stands there as it was given, everything else is out of a file
        place = ", ".join(
            f"{key} {value if key == 'file' else f'{value!s:.{MOST_QUOTED}}'}"
            for key, value in self.where.items()
            if key != "file" or str(value) not in self.message
        )
        return printable(f"{self.name}({self.number_text()}): {self.message}" + (f" ({place})" if place else ""))

    def document(self) -> dict[str, Any]:
        """The `--json` form (cli.md, exit codes)."""
        return {
            "error": {
                "status": self.number,
                "name": self.name,
                "message": self.message,
                "where": self.where,
            }
        }

    def __str__(self) -> str:
        return self.line()


class HailoError(EmuError):
    """A refusal at load or configure, with the hailo_status that the chosen runtime gives.

    `meaning`: the status as the newest release numbers it, where an older one has one number for several.
    """

    def __init__(self, status: HailoStatus, message: str, **where: Any) -> None:
        super().__init__(status.name, int(status), message, **where)
        self.status = self.meaning = status


class IncompatibleError(HailoError):
    """Sound, but not for this device or runtime (cli.md exit code 4)."""

    exit_code = ExitCode.REFUSED


class UsageError(HailoError):
    """Wrong use of the command line or of an API argument (exit code 2)."""

    exit_code = ExitCode.USAGE

    def __init__(self, message: str, **where: Any) -> None:
        super().__init__(HailoStatus.HAILO_INVALID_ARGUMENT, message, **where)


class CommandLineError(UsageError):
    """A command line that means nothing: unknown, missing or contradictory arguments. No runtime is asked about it, so
    it has no hailo_status; the number is the exit code."""

    def __init__(self, message: str, **where: Any) -> None:
        super().__init__(message, **where)
        self.name = "USAGE"


class OutputError(HailoError):
    """An output that cannot be written (cli.md exit code 7)."""

    exit_code = ExitCode.UNREACHABLE

    def __init__(self, message: str, **where: Any) -> None:
        super().__init__(HailoStatus.HAILO_FILE_OPERATION_FAILURE, message, **where)


class HazardError(EmuError):
    """The run was to end at its first hazard; the number is its place in the table of units.md 6 (exit code 6)."""

    exit_code = ExitCode.DIFFERENT

    def __init__(self, number: int, message: str, **where: Any) -> None:
        super().__init__("HAZARD", number, message, **where)


class FirmwareError(EmuError):
    """The simulated device stopped with a firmware status (exit code 5).

    `hazards`: what went wrong before, each with its rule (`emu.trace.hazards.FoundHazard.document`).
    """

    exit_code = ExitCode.STOPPED

    def __init__(self, name: str, number: int, message: str, **where: Any) -> None:
        super().__init__(name, number, message, **where)
        self.hazards: list[dict[str, Any]] = []

    def number_text(self) -> str:
        return f"0x{self.number:08X}"

    def document(self) -> dict[str, Any]:
        found = super().document()
        if self.hazards:
            found["error"]["hazards"] = self.hazards
        return found


class GraphError(EmuError):
    """A refused OM or MS model, or a refused input of one."""

    def __init__(self, status: GraphStatus, message: str, **where: Any) -> None:
        super().__init__(status.name, int(status), message, **where)
        self.status = status
        if status is GraphStatus.GRAPH_INPUT:
            self.exit_code = ExitCode.USAGE
