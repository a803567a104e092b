from __future__ import annotations

from tests.cli.conftest import emu  # noqa: F401
