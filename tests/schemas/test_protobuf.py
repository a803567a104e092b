"""The generated protobuf modules run with the oldest protobuf that pyproject.toml allows, not only with the newest."""

from __future__ import annotations

import re
import tomllib

import pytest

from emu.schemas import generate
from tests.conftest import ROOT


def version(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


@pytest.mark.parametrize("schema", generate.schemas(), ids=lambda path: path.stem)
def test_no_module_asks_for_a_newer_protobuf_than_the_floor(schema: object) -> None:
    requirements = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    floor = next(one.removeprefix("protobuf>=") for one in requirements if one.startswith("protobuf>="))
    module = (generate.FOLDER / f"{schema.stem}_pb2.py").read_text()  # type: ignore[attr-defined]
    made_by = re.search(r"# Protobuf Python Version: ([0-9.]+)", module)
    assert made_by is not None and version(made_by[1]) <= version(floor)
