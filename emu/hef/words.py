"""How the parts of a HEF's document (`hef_report`) are told to people."""

from __future__ import annotations

from typing import Any

from emu.hef.devices import ARCH_DEVICES
from emu.hef.enums import HwArch

Document = dict[str, Any]


def architecture(header: Document) -> str:
    """The architecture of a file's document in users' words."""
    return architecture_of(header["hw_arch_number"])


def architecture_of(number: int) -> str:
    """An architecture as its devices are sold, and as the schema calls it where that differs: `HAILO8 (HAILO8P)`."""
    try:
        arch = HwArch(number)
    except ValueError:
        return f"unknown architecture {int(number)}"
    devices = ARCH_DEVICES.get(arch, ())
    return f"{'/'.join(devices)} ({arch.name})" if devices and arch.name not in devices else arch.name


def host_side(vstream: Document) -> str:
    """A vstream's format and shape as the host sees it."""
    fmt = vstream["format"]
    if "nms_shape" in vstream:
        nms = vstream["nms_shape"]
        return (
            f"{fmt['type']} {fmt['order']}({nms['number_of_classes']} classes, "
            f"at most {nms['max_bboxes_per_class']} boxes a class)"
        )
    return f"{_format(fmt)}({dims(vstream['shape'])})"


def wire_side(stream: Document) -> str:
    """A stream's format and shape as they cross the wire, and what of it is padding."""
    note = ""
    if stream["shape"] != stream["hw_shape"]:
        note = f", of which {dims(stream['shape'])} hold values"
    elif stream["padded_shape"] not in (None, stream["hw_shape"]):
        note = f", padded on the chip to {dims(stream['padded_shape'])}"
    return f"{_format(stream['format'])}({dims(stream['hw_shape'])}), {stream['hw_frame_size']:,} bytes a frame{note}"


def _format(fmt: Document) -> str:
    flags = "".join(f" {flag}" for flag in fmt["flags"])
    return f"{fmt['type']} {fmt['order']}{flags}"


def dims(shape: list[int]) -> str:
    return "x".join(map(str, shape))


def quantisation(quant: Document) -> str:
    """How stored numbers become real ones."""
    scale, zero = quant["qp_scale"], quant["qp_zp"]
    limits = ""
    if quant["limvals_min"] or quant["limvals_max"]:
        limits = f", from {quant['limvals_min']:.6g} to {quant['limvals_max']:.6g}"
    return f"real = (stored - {zero:g}) * {scale:.9g}{limits}"


def stream_quantisation(stream: Document) -> str:
    """The same of a stream; of one that has a quantisation for each feature their ranges."""
    infos = stream.get("quant_infos", [])
    if len(infos) < 2:
        return quantisation(stream["quant_info"])
    zeros, scales = ([info[key] for info in infos] for key in ("qp_zp", "qp_scale"))
    zero = f"{min(zeros):g}" if min(zeros) == max(zeros) else f"{min(zeros):g} to {max(zeros):g}"
    scale = f"{min(scales):.9g} to {max(scales):.9g}"
    return f"one for each of {len(infos)} features: zero point {zero}, scale {scale} (all with --json)"
