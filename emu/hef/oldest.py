"""The oldest HailoRT that loads a file: by what the file needs, not by trying every release."""

from __future__ import annotations

from emu.hef.container import LAYOUTS
from emu.hef.context_layers import ARCH_SINCE
from emu.hef.features import first_supported
from emu.hef.hef import Hef
from emu.hef.load import ACTION_SINCE
from emu.hef.runtime import V4_6, Runtime


def loads_since(hef: Hef) -> Runtime | None:
    """The first release that reads a file's container, and knows its architecture, extensions and actions.

    None where no release takes one of its extensions. Later releases may refuse it for other reasons (4.21 and later
    files without PERIPH_CALCULATION_IN_HAILORT, 4.22 and 4.23 other architectures, hef-container.md 4.1 and 5.1).
    """
    arch = hef.header.hw_arch
    needed = [V4_6, LAYOUTS[hef.container.version].since]
    needed += [since for known, since in ARCH_SINCE.items() if known == arch]
    for extension in hef.extensions:
        since = first_supported(extension.type_index)
        if since is None:
            return None
        needed.append(since)
    operations = [
        operation
        for core_op in hef.core_ops()
        for listed in (core_op.preliminary_config.operation, *(context.operations for context in core_op.contexts))
        for operation in listed
    ]
    kinds = {type(action) for operation in operations for action in operation.actions}
    needed += [ACTION_SINCE[kind] for kind in kinds if kind in ACTION_SINCE]
    return max(needed)
