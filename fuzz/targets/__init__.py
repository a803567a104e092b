"""The targets by name. A module is imported only for a target of its own, so that coverage can count all of it.

Whoever adds a reader adds a module here, or one to an existing module: `TARGETS = (Target(…), …)`.
"""

from __future__ import annotations

from importlib import import_module

from fuzz.target import Target

# target -> (module of this package, packages and modules whose edges count)
_WHERE: dict[str, tuple[str, tuple[str, ...]]] = {
    "hef-container": ("hef", ("emu.hef",)),
    "hef": ("hef", ("emu.hef", "emu.sequencer", "emu.timing")),
    "hef-run": ("hef", ("emu.sequencer", "emu.hw", "emu.host")),
    "om": ("graphs", ("emu.graph",)),
    "ms": ("graphs", ("emu.graph",)),
    "ms-lite": ("graphs", ("emu.graph",)),
    "trace": ("documents", ("emu.trace",)),
    "capture": ("documents", ("emu.host.capture", "emu.wire")),
    "recording": ("documents", ("emu.trace.record", "emu.cli.replay", "emu.host.spec")),
    "yaml": ("documents", ("emu.hef.assembly", "emu.hef.plain")),
    "npz": ("arrays", ("emu.arrays", "zipfile", "numpy.lib.format")),
    "picture": ("arrays", ("emu.images", "PIL")),
    "hrpc": ("server", ("emu.server",)),
    "control": ("server", ("emu.wire", "emu.hw", "emu.server.control")),
    "conform": ("conform", ("emu.conform", "emu.hw")),
    "card": ("card", ("emu.card", "emu.wire", "emu.hw")),
    "onnx": ("binding", ("emu.reference",)),
}

NAMES = tuple(_WHERE)


def load(name: str) -> Target:
    """The target of that name; KeyError for none."""
    module = import_module(f"fuzz.targets.{_WHERE[name][0]}")
    return next(target for target in module.TARGETS if target.name == name)


def packages_of(name: str) -> tuple[str, ...]:
    return _WHERE[name][1]
