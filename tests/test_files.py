"""How large a document may be, and what opens."""

from __future__ import annotations

from pathlib import Path

import pytest

from emu import files
from emu.errors import HailoError


@pytest.mark.parametrize(("size", "opens"), [(0, True), (10, True), (11, False)])
def test_a_document_beyond_the_limit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, opens: bool
) -> None:
    monkeypatch.setattr(files, "LARGEST_DOCUMENT", 10)
    path = tmp_path / "document"
    path.write_bytes(bytes(size))
    if opens:
        assert files.read_document(path) == bytes(size)
        return
    with pytest.raises(HailoError, match="larger than 10 bytes") as refusal:
        files.read_document(path)
    assert refusal.value.number == 14
