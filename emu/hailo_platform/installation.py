"""Making `import hailo_platform` find emu's: in this process, and in those it starts."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from emu.hailo_platform.environment import CARD, bind_reference, say_once

if TYPE_CHECKING:
    from emu.host.jobs import Outputs

NAME = "hailo_platform"
OURS = "emu.hailo_platform"


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """`hailo_platform.x` is the module `emu.hailo_platform.x` itself, so that both names mean the same classes."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != NAME and not fullname.startswith(f"{NAME}."):
            return None
        try:
            found = importlib.util.find_spec(f"emu.{fullname}")
        except ModuleNotFoundError:
            return None
        if found is None:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=found.submodule_search_locations is not None)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        # the import system takes what stands in sys.modules behind this
        sys.modules[module.__name__] = importlib.import_module(f"emu.{module.__name__}")


_finder = _Finder()


def install(reference: Outputs | None = None) -> ModuleType:
    """Answer `import hailo_platform` from now on; the module.

    `reference`: gives the bytes of device output streams in place of synthetic ones, a callable as that of
    `OpenDevice.configure` (docs/api.md). A real hailo_platform that this hides is named on stderr.
    """
    if not is_installed():
        hidden = _real()
        if hidden is not None:
            say_once(f"hailo_platform is answered by emu; the one of {hidden} is hidden")
        for name in [name for name in sys.modules if name == NAME or name.startswith(f"{NAME}.")]:
            del sys.modules[name]
        sys.meta_path.insert(0, _finder)
    os.environ.setdefault(CARD, str(os.getpid()))
    bind_reference(reference)
    return importlib.import_module(NAME)


def uninstall() -> None:
    """Undo `install`: the next `import hailo_platform` finds what it found before. Open devices stay open."""
    if is_installed():
        sys.meta_path.remove(_finder)
    for name in [name for name in sys.modules if name == NAME or name.startswith(f"{NAME}.")]:
        if sys.modules[name].__name__.startswith(OURS):
            del sys.modules[name]
    bind_reference(None)


def is_installed() -> bool:
    return _finder in sys.meta_path


def _real() -> str | None:
    """Where another hailo_platform is."""
    loaded = sys.modules.get(NAME)
    if loaded is not None:
        return None if loaded.__name__.startswith(OURS) else str(getattr(loaded, "__file__", NAME))
    found = importlib.util.find_spec(NAME)
    if found is None or found.origin is None:
        return None
    shim = Path(__file__).parent / "shim"  # what `emu exec` lays before the others is ours
    return None if shim in Path(found.origin).parents else found.origin
