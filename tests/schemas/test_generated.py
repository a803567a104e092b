"""The committed modules say what the schemas say, and run on protobuf's fast backend."""

from __future__ import annotations

import re
import tomllib

import pytest
from google.protobuf.internal import api_implementation

from emu.schemas import generate
from tests.conftest import ROOT


@pytest.mark.parametrize("schema", generate.schemas(), ids=lambda schema: schema.name)
def test_generated_module_is_current(schema):
    pytest.importorskip("grpc_tools", reason="regenerating needs grpcio-tools (extra test)")
    assert generate.is_current(schema)


def test_a_changed_schema_is_noticed(tmp_path, monkeypatch):
    pytest.importorskip("grpc_tools", reason="regenerating needs grpcio-tools (extra test)")
    changed = (generate.FOLDER / "hef.proto").read_text().replace("bytes mapping = 3", "bytes mapping = 33")
    (tmp_path / "hef.proto").write_text(changed)
    monkeypatch.setattr(generate, "FOLDER", tmp_path)
    assert not generate.is_current(tmp_path / "hef.proto")


def test_upb_backend_is_in_use():
    assert api_implementation.Type() == "upb"


@pytest.mark.parametrize("schema", generate.schemas(), ids=lambda schema: schema.name)
def test_declared_runtime_can_load_the_generated_module(schema):
    """A generated module refuses an older protobuf: the declared lower bound must not be one."""
    text = (schema.parent / f"{schema.stem}_pb2.py").read_text()
    generated = re.search(r"# Protobuf Python Version: ([\d.]+)", text).group(1)
    declared = [
        requirement
        for requirement in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
        if requirement.startswith("protobuf>=")
    ]
    minimum = declared[0].removeprefix("protobuf>=").split(",")[0]
    assert tuple(map(int, minimum.split("."))) >= tuple(map(int, generated.split(".")))
