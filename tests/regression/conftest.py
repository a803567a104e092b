"""The command line in this process."""

from __future__ import annotations

import pytest

from tests.trace.helpers import Cli


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(capsys)
