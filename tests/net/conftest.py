"""Fixtures of the networks' tests."""

from __future__ import annotations

import pytest

from tests.trace.helpers import Cli


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    """The command line in this process."""
    return Cli(capsys)
