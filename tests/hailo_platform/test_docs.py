"""The samples of docs/applications.md run, and its workflow is YAML that names what there is."""

from __future__ import annotations

import os
import re
from typing import Any

import pytest
import yaml

from tests.conftest import ROOT

DOCUMENT = (ROOT / "docs" / "applications.md").read_text()


def test_the_sample_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("EMU_CARD", f"docs-{os.getpid()}")
    samples = [one for one in re.findall(r"^```python\n(.*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL) if "emu" in one]
    assert len(samples) == 1
    exec(compile(samples[0], "docs/applications.md", "exec"), {})


def test_the_workflow() -> None:
    found: dict[Any, Any] = yaml.safe_load((ROOT / "examples" / "github-actions.yml").read_text())
    commands = [step["run"] for step in found["jobs"]["run"]["steps"] if "run" in step]
    assert any(one.startswith("emu exec ") for one in commands)


def test_every_variable_is_read() -> None:
    sources = "".join(path.read_text() for path in (ROOT / "emu" / "hailo_platform").rglob("*.py"))
    for name in re.findall(r"^\| `(EMU_\w+)`", DOCUMENT, re.MULTILINE):
        assert f'"{name}"' in sources
