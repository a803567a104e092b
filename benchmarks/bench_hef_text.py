"""parse-hef and disasm/asm of the given HEFs, against the walks over the message that they cannot do without.

    pytest benchmarks/bench_hef_text.py

Limits: infos and text at most twice the time of building the model (the load checks look at every action once);
describing at most 3 times protobuf's own MessageToDict plus libyaml's dump of it, assembling at most 3 times
libyaml's load of the text plus protobuf's ParseDict.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from google.protobuf import json_format

from benchmarks.hefs import HEFS, needs_hefs
from emu.hef import open_hef
from emu.hef.assembly import assemble, disassemble
from emu.hef.build import build_network_group
from emu.hef.text import parse_hef_text
from emu.schemas import hef_pb2 as pb
from tests.effort import least

FILES = HEFS
MAX_TEXT_RATIO, MAX_DISASM_RATIO, MAX_ASM_RATIO = 2.0, 3.0, 3.0
pytestmark = needs_hefs


def _small_fields(message: pb.ProtoHEFHef) -> pb.ProtoHEFHef:
    """The message without its bulk bytes, which disasm moves aside without looking at them."""
    out = pb.ProtoHEFHef()
    out.CopyFrom(message)
    out.mapping = b""
    for group in out.network_groups:
        lists = [group.preliminary_config.operation, *(context.operations for context in group.contexts)]
        for action in (action for items in lists for item in items for action in item.actions):
            if action.HasField("write_data_ccw"):
                action.write_data_ccw.data = b""
    return out


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_parse_hef(path: Path, benchmark: Any) -> None:
    hef = open_hef(path)
    net_flow = hef.features.hailo_net_flow
    assert hef.network_groups  # built and kept: what is measured is the text alone
    model, text = least(
        lambda: [build_network_group(group, net_flow) for group in hef.message.network_groups],
        lambda: parse_hef_text(hef, streams=True),
    )
    benchmark.extra_info["text_to_model"] = round(text / model, 2)
    benchmark.pedantic(lambda: parse_hef_text(hef, streams=True), rounds=3)
    assert text <= MAX_TEXT_RATIO * model


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_disasm_and_asm(path: Path, benchmark: Any) -> None:
    container = open_hef(path, runtime="5.2").container
    description = disassemble(container, "x.bin")
    bulk = memoryview(b"".join(description.bulk))
    small = _small_fields(open_hef(path).message)
    as_dict = json_format.MessageToDict(small, preserving_proto_field_name=True)
    dump, load, disasm, asm = least(
        lambda: yaml.dump(json_format.MessageToDict(small, preserving_proto_field_name=True), Dumper=yaml.CSafeDumper),
        lambda: (
            yaml.load(description.text, Loader=yaml.CSafeLoader),
            json_format.ParseDict(as_dict, pb.ProtoHEFHef()),
        ),
        lambda: disassemble(container, "x.bin"),
        lambda: assemble(description.text, lambda name: bulk),
    )
    benchmark.extra_info["disasm_to_dump"] = round(disasm / dump, 2)
    benchmark.extra_info["asm_to_load"] = round(asm / load, 2)
    benchmark.pedantic(lambda: disassemble(container, "x.bin"), rounds=3)
    assert disasm <= MAX_DISASM_RATIO * dump
    assert asm <= MAX_ASM_RATIO * load
