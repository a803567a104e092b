"""HailoRT's exceptions by their own names, and which status raises which (pyhailort-api.md 1, Exceptions)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from emu.errors import EmuError, FirmwareError, HailoStatus


class HailoRTException(Exception):
    """Base of what HailoRT raises."""


class HailoRTStatusException(Exception):
    """What the compiled module raises; its text is the number of the status. Users see it from the info getters."""


class HailoRTNotImplemented(HailoRTException):
    """A part of HailoRT that emu has not built; the message names it."""

    def __init__(self, what: str) -> None:
        super().__init__(f"emu has not built {what}")
        self.what = what


class InvalidProtocolVersionException(HailoRTException):
    pass


class HailoRTFirmwareControlFailedException(HailoRTException):
    pass


class HailoRTInvalidFrameException(HailoRTException):
    pass


class HailoRTUnsupportedOpcodeException(HailoRTException):
    pass


class HailoRTTimeout(HailoRTException):
    pass


class HailoRTStreamAborted(HailoRTException):
    pass


class HailoRTStreamAbortedByUser(HailoRTException):
    pass


class HailoRTInvalidOperationException(HailoRTException):
    pass


class HailoRTInvalidArgumentException(HailoRTException):
    pass


class HailoRTNotFoundException(HailoRTException):
    pass


class HailoRTInvalidHEFException(HailoRTException):
    pass


class HailoRTHEFNotCompatibleWithDevice(HailoRTException):
    pass


class HailoRTEthException(HailoRTException):
    pass


class HailoRTDriverOperationFailedException(HailoRTException):
    pass


class HailoRTNetworkGroupNotActivatedException(HailoRTException):
    pass


class HailoCommunicationClosedException(HailoRTException):
    pass


class UdpRecvError(HailoRTException):
    pass


class HailoStatusInvalidValueException(Exception):
    """A number that is no status."""


HailoRTPCIeDriverException = HailoRTDriverOperationFailedException

_LOG = "See hailort.log for more information"
# status -> what raises it, with HailoRT's text; every other status is a HailoRTException with its number
_RAISED: dict[HailoStatus, tuple[type[HailoRTException], str]] = {
    HailoStatus.HAILO_UNSUPPORTED_CONTROL_PROTOCOL_VERSION: (
        InvalidProtocolVersionException,
        "HailoRT has failed because an invalid protocol version was received from device",
    ),
    HailoStatus.HAILO_FW_CONTROL_FAILURE: (
        HailoRTFirmwareControlFailedException,
        "libhailort control operation failed",
    ),
    HailoStatus.HAILO_UNSUPPORTED_OPCODE: (
        HailoRTUnsupportedOpcodeException,
        "HailoRT has failed because an unsupported opcode was sent to device",
    ),
    HailoStatus.HAILO_INVALID_FRAME: (HailoRTInvalidFrameException, "An invalid frame was received"),
    HailoStatus.HAILO_TIMEOUT: (
        HailoRTTimeout,
        "Received a timeout - hailort has failed because a timeout had occurred",
    ),
    HailoStatus.HAILO_STREAM_ABORT: (HailoRTStreamAborted, "Stream was aborted"),
    HailoStatus.HAILO_INVALID_OPERATION: (HailoRTInvalidOperationException, f"Invalid operation. {_LOG}"),
    HailoStatus.HAILO_INVALID_ARGUMENT: (HailoRTInvalidArgumentException, f"Invalid argument. {_LOG}"),
    HailoStatus.HAILO_NOT_FOUND: (HailoRTNotFoundException, f"Item not found. {_LOG}"),
    HailoStatus.HAILO_INVALID_HEF: (HailoRTInvalidHEFException, f"Invalid HEF. {_LOG}"),
    HailoStatus.HAILO_HEF_NOT_COMPATIBLE_WITH_DEVICE: (
        HailoRTHEFNotCompatibleWithDevice,
        f"HEF file is not compatible with device. {_LOG}",
    ),
    HailoStatus.HAILO_ETH_FAILURE: (
        HailoRTEthException,
        "Ethernet failure. If you get this error after starting a new session, check that the device is connected",
    ),
    HailoStatus.HAILO_DRIVER_OPERATION_FAILED: (
        HailoRTDriverOperationFailedException,
        "Failure in hailort driver ioctl. run 'dmesg | grep hailo' for more information",
    ),
    HailoStatus.HAILO_COMMUNICATION_CLOSED: (
        HailoCommunicationClosedException,
        "Communication closed failure. Check server-client connection",
    ),
    HailoStatus.HAILO_NETWORK_GROUP_NOT_ACTIVATED: (
        HailoRTNetworkGroupNotActivatedException,
        "Network group is not activated",
    ),
}


def exception_of(status: int, detail: str | None = None) -> HailoRTException:
    """The exception of a status; `detail`, what is wrong in emu's words, is a note of it (shown by a traceback)."""
    try:
        found = HailoStatus(status)
    except ValueError:
        raise HailoStatusInvalidValueException(f"Value {status} is not a valid status") from None
    kind, text = _RAISED.get(found, (HailoRTException, f"libhailort failed with error: {int(found)} ({found.name})"))
    exception = kind(text)
    if detail is not None:
        exception.add_note(f"emu: {detail}")
    return exception


def status_of(error: EmuError) -> HailoStatus:
    """The hailo_status under which the library reports an error: what stalls is waited for, the rest was refused."""
    if isinstance(error, FirmwareError):
        from emu.host.driver import StalledError

        stalled = isinstance(error, StalledError)
        return HailoStatus.HAILO_TIMEOUT if stalled else HailoStatus.HAILO_FW_CONTROL_FAILURE
    return HailoStatus(error.number)


def translated(error: EmuError) -> HailoRTException:
    """An error of emu as HailoRT raises it."""
    exception = exception_of(status_of(error), error.line())
    exception.__cause__ = error
    return exception


@contextmanager
def raising_as_hailort() -> Iterator[None]:
    """Errors of emu leave as HailoRT's."""
    try:
        yield
    except EmuError as error:
        raise translated(error) from error


@contextmanager
def raising_raw_status() -> Iterator[None]:
    """As the getters that no wrapper surrounds: the compiled module's own exception."""
    try:
        yield
    except EmuError as error:
        raise HailoRTStatusException(str(int(status_of(error)))) from error
