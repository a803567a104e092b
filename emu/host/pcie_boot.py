"""Loading a card's firmware through its registers, as the driver does at its start (vdma.md 9, silicon-facts.md b).

A card is made with its firmware loaded; this is for whoever wants the way there: soft reset, the file in pieces through
the window of ATR0, the trigger, the interrupt that says that it is up.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from emu.chips.chips import BootTimes
from emu.errors import HailoError, HailoStatus
from emu.host.pcie import PciePort
from emu.hw.pcie import boot, layout
from emu.hw.pcie.layout import CONFIG, FIRMWARE, Ring, Software

_CERTIFICATES = struct.Struct("<2I")  # bytes of key and content
_MOST_CERTIFICATE = 0x1000
_LEAST_CODE = 80
_ANSWER_NS = 5_000_000_000  # how long the driver waits for an interrupt
_POLL_NS, _POLLS = 1_000_000, 10  # for the bootloader
_NS_PER_S = 1e9


class Image(NamedTuple):
    """A firmware file in its parts, headers included."""

    app_header: bytes
    app_code: bytes
    key: bytes
    content: bytes
    core_header: bytes
    core_code: bytes

    @classmethod
    def read(cls, data: bytes) -> Image:
        """HailoError, with HailoRT's own statuses, for what is no firmware of a Hailo-8."""
        app_header, app_code, at = _firmware(data, 0, boot.MOST_APP_CODE)
        sizes = _part(data, at, _CERTIFICATES.size)
        key_size, content_size = _CERTIFICATES.unpack(sizes)
        if key_size > min(_MOST_CERTIFICATE, boot.CONTENT_CERTIFICATE - boot.KEY_CERTIFICATE):
            raise HailoError(HailoStatus.HAILO_INVALID_KEY_CERTIFICATE_SIZE, f"a key of {key_size} bytes", offset=at)
        if content_size > min(_MOST_CERTIFICATE, boot.TRIGGER - boot.CONTENT_CERTIFICATE):
            status = HailoStatus.HAILO_INVALID_CONTENT_CERTIFICATE_SIZE
            raise HailoError(status, f"a certificate of {content_size} bytes", offset=at)
        at += _CERTIFICATES.size
        key, content = _part(data, at, key_size), _part(data, at + key_size, content_size)
        core_header, core_code, at = _firmware(data, at + key_size + content_size, boot.MOST_CORE_CODE)
        if at != len(data):
            status = HailoStatus.HAILO_MISMATCHING_FIRMWARE_BUFFER_SIZES
            raise HailoError(status, f"{len(data) - at} bytes behind the firmware", offset=at)
        return cls(app_header, app_code, key, content, core_header, core_code)


def load_firmware(port: PciePort, data: bytes, times: BootTimes) -> None:
    """Load a firmware file, behind a soft reset where one runs.

    HailoError for a file that is none, HAILO_DRIVER_TIMEOUT where the card does not answer.
    """
    image = Image.read(data)
    if port.loaded:
        _soft_reset(port)
    for address, part in (
        (boot.APP_HEADER, image.app_header),
        (boot.APP_CODE, image.app_code),
        (boot.KEY_CERTIFICATE, image.key),
        (boot.CONTENT_CERTIFICATE, image.content),
        (boot.CORE_CODE, image.core_code),
        (boot.CORE_HEADER, image.core_header),
    ):
        write_memory(port, address, part)
    port.clock.run_to(port.clock.time + round(len(data) / times.upload_bytes_per_second * _NS_PER_S))
    port.answer_to(
        lambda: write_memory(port, boot.TRIGGER, (1).to_bytes(4, "little")),
        Software.NOTIFICATION,
        "boot trigger",
        _ANSWER_NS,
    )


def _soft_reset(port: PciePort) -> None:
    port.ring(Ring.SOFT_RESET, Software.SOFT_RESET, _ANSWER_NS)
    for _ in range(_POLLS):
        if int.from_bytes(read_memory(port, boot.BOOT_STATUS, 4), "little") == boot.AWAITS_FIRMWARE:
            return
        port.clock.run_to(port.clock.time + _POLL_NS)
    raise HailoError(HailoStatus.HAILO_DRIVER_TIMEOUT, "no bootloader behind the soft reset")


def write_memory(port: PciePort, address: int, data: bytes) -> None:
    """Bytes of the device's memory, a page of the window at a time; the translation is as it was thereafter."""
    before = _translation(port)
    at = 0
    while at < len(data):
        within = address + at & layout.PAGE - 1
        size = min(len(data) - at, layout.PAGE - within)
        _translate(port, address + at - within)
        port.bars.write_block(FIRMWARE, within, data[at : at + size])
        at += size
    _translate(port, before)


def read_memory(port: PciePort, address: int, size: int) -> bytes:
    """As `write_memory`, of bytes that lie in one page."""
    before = _translation(port)
    within = address & layout.PAGE - 1
    _translate(port, address - within)
    data = port.bars.read_block(FIRMWARE, within, size)
    _translate(port, before)
    return data


def _translation(port: PciePort) -> int:
    low, high = struct.unpack("<2I", port.bars.read_block(CONFIG, layout.TRANSLATIONS + layout.TARGET, 8))
    return int(high << 32 | low)


def _translate(port: PciePort, target: int) -> None:
    words = layout.WINDOW, 0, target & layout.EVERYTHING, target >> 32, layout.TRANSLATED
    port.bars.write_block(CONFIG, layout.TRANSLATIONS, struct.pack("<5I", *words))


def _firmware(data: bytes, at: int, most: int) -> tuple[bytes, bytes, int]:
    header = _part(data, at, boot.FIRMWARE_HEADER.size)
    magic, version, *_, size = boot.FIRMWARE_HEADER.unpack(header)
    if magic != boot.MAGIC or version:
        what = f"0x{magic:08X}, version {version} of the header, is no firmware of a Hailo-8"
        raise HailoError(HailoStatus.HAILO_INVALID_FIRMWARE_MAGIC, what, offset=at)
    if not _LEAST_CODE <= size <= most:
        what = f"{size} bytes of code, {_LEAST_CODE} to {most} are taken"
        raise HailoError(HailoStatus.HAILO_INVALID_FIRMWARE_CODE_SIZE, what, offset=at)
    code = _part(data, at + len(header), size)
    return header, code, at + len(header) + size


def _part(data: bytes, at: int, size: int) -> bytes:
    found = data[at : at + size]
    if len(found) != size:
        what = f"the firmware ends {size - len(found)} bytes too early"
        raise HailoError(HailoStatus.HAILO_MISMATCHING_FIRMWARE_BUFFER_SIZES, what, offset=at)
    return found
