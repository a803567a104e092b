"""The options that commands share, against the tables of the library they stand for."""

from __future__ import annotations

import pytest

from emu.cli import options
from emu.errors import UsageError


def test_batches_are_those_the_runtime_takes() -> None:
    assert options.parse_batches("1,8,63") == (1, 8, 63)


@pytest.mark.parametrize("text", ["0", "64", "-1", "8,64", "", "8,", "x", "1.5"])
def test_other_batches_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--batch"):
        options.parse_batches(text)
