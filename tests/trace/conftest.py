"""Traces that several tests look at, made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.trace.helpers import DDR, SINGLE, TWO_CONTEXT, Cli, traced


@pytest.fixture(scope="session")
def two_context(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two contexts, three batches of two frames."""
    target = tmp_path_factory.mktemp("traces") / "two_context.trace"
    traced(TWO_CONTEXT, target, batch=2, frames=6)
    return target


@pytest.fixture(scope="session")
def single(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A single context."""
    target = tmp_path_factory.mktemp("traces") / "single.trace"
    traced(SINGLE, target, frames=4)
    return target


@pytest.fixture(scope="session")
def ddr(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A DDR portal."""
    target = tmp_path_factory.mktemp("traces") / "ddr.trace"
    traced(DDR, target, frames=4)
    return target


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(capsys)
