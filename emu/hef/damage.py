"""Damage that the runtime overlooks: what is wrong with a file that it opens all the same.

hef-container.md 2 (quirk of 5.1 and later), 1.3 (CCW pointers), 8 (external resources); capture-findings.md 12, 14.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import xxhash

from emu.hef.container import CCW_ALIGNMENT, MAGIC, Container
from emu.hef.hef import Hef
from emu.hef.operations import ActionWriteDataCcwPtr, Operation


def overlooked_damage(hef: Hef) -> list[str]:
    """One sentence per fault, with the numbers; empty for a sound file. Reads the whole file for its checksum."""
    return [*_container(hef), *_ccw_pointers(hef), *_external_resources(hef)]


def _container(hef: Hef) -> Iterator[str]:
    container = hef.container
    if container.checks_proto_only(hef.version):
        why = f"HailoRT {hef.version} checks the proto hash only"
        if container.magic != MAGIC:
            yield f"the magic is {container.magic:08x}, not {MAGIC:08x} ({why})"
        if container.declared_size != container.file_size:
            yield f"{container.length_text()} ({why})"
        if not container.checksum.matches:
            yield f"{container.mismatch_text(container.checksum)} ({why})"
    elif container.proto_checksum is not None and not container.proto_checksum.matches:
        yield f"{container.mismatch_text(container.proto_checksum)} (HailoRT {hef.version} does not look at it)"
    for name, value in container.fields.items():
        if name.startswith("reserved") and isinstance(value, int) and value:
            yield f"the header field {name} is 0x{value:x}, 0 in every sound file"
    if container.version == 3:
        yield from _padding(container)


def _padding(container: Container) -> Iterator[str]:
    padding = container.number("hef_padding_size")
    if container.ccws_section_size < 0:
        yield (f"hef_padding_size {padding} is greater than ccws_size_with_padding {container.ccws_size_with_padding}")
    start = container.offset_zero_point
    if start % CCW_ALIGNMENT:
        yield f"the CCW section starts at {start}, not at a multiple of {CCW_ALIGNMENT}"
    if padding >= CCW_ALIGNMENT:
        yield f"hef_padding_size {padding} is more than alignment to {CCW_ALIGNMENT} needs"


def ccw_pointers(hef: Hef) -> Iterator[ActionWriteDataCcwPtr]:
    """Every CCW pointer of the file, of all network groups, layouts and contexts."""
    for core_op in hef.core_ops():
        yield from _pointers(core_op.preliminary_config.operation)
        for context in core_op.contexts:
            yield from _pointers(context.operations)


def _pointers(operations: tuple[Operation, ...]) -> Iterator[ActionWriteDataCcwPtr]:
    for operation in operations:
        for action in operation.actions:
            if isinstance(action, ActionWriteDataCcwPtr):
                yield action


def _ccw_pointers(hef: Hef) -> Iterator[str]:
    if hef.container.version == 0:
        return
    section = max(0, hef.container.ccws_section_size)
    present = max(0, min(section, hef.container.file_size - hef.container.offset_zero_point))
    outside = [pointer for pointer in ccw_pointers(hef) if pointer.offset + pointer.size > present]
    if outside:
        first = outside[0]
        yield (
            f"{len(outside)} CCW pointers lead outside the {present} bytes of the CCW section, the first to "
            f"{first.offset} to {first.offset + first.size}: such a context cannot be configured"
        )


def _external_resources(hef: Hef) -> Iterator[str]:
    names = Counter(resource.name for resource in hef.external_resources)
    for name, count in names.items():
        if count > 1:
            yield f"{count} external resources are named {name!r}"
    for resource in hef.external_resources:
        data = hef.container.external_resource(resource)
        if data is None:
            yield (
                f"external resource {resource.name!r}: bytes {resource.offset} to "
                f"{resource.offset + resource.size} from the zero point {hef.container.offset_zero_point} lie "
                f"outside the file of {hef.container.file_size} bytes"
            )
        elif resource.xxhash and resource.xxhash != xxhash.xxh3_64_intdigest(data):
            yield (
                f"external resource {resource.name!r}: xxhash does not match: stored {resource.xxhash:016x}, "
                f"computed {xxhash.xxh3_64_intdigest(data):016x}"
            )
