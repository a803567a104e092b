"""Hostile messages in sound containers: a text or one error with a status, quickly, and never a traceback."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from emu.errors import EmuError
from emu.hef import builder, open_hef
from emu.hef.container import Container
from emu.hef.enums import EdgeLayerDirection, ExtensionType, HwArch
from emu.hef.formats import Shape
from emu.hef.pack import Sections, pack
from emu.hef.source import open_source
from emu.hef.text import parse_hef_text
from emu.hef.writer import message_of
from emu.schemas import hef_pb2 as pb
from tests.conftest import DATA

SAMPLES = [bytes.fromhex(entry["hef_hex"]) for entry in json.loads((DATA / "hef_infos.json").read_text())]
NUMBERS = [0, 1, 2, 5, 127, 128, 255, 256, 65535, 65536, 2**31 - 1, 2**32 - 1, 2**63, 2**64 - 1, -1]
FLOATS = [0.0, -1.0, 1e30, 1e300, float("inf"), float("nan")]
TEXTS = ["", "in", "x" * 300, "\u00e9" * 70]


def messages(message: Message) -> list[Message]:
    found = [message]
    for field, value in message.ListFields():
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            for part in value if field.is_repeated else [value]:
                found += messages(part)
    return found


def mutate(message: Message, draw: random.Random) -> None:
    """Change one field of one message in one way."""
    target = draw.choice([part for part in messages(message) if part.DESCRIPTOR.fields])
    field = draw.choice(list(target.DESCRIPTOR.fields))
    value: Any = getattr(target, field.name)
    is_message = field.type == FieldDescriptor.TYPE_MESSAGE
    try:
        if field.is_repeated and len(value) and draw.random() < 0.4:
            del value[draw.randrange(len(value))]
        elif field.is_repeated and is_message:
            copy = value.add()
            if len(value) > 1 and draw.random() < 0.5:
                copy.CopyFrom(draw.choice(list(value)[:-1]))
        elif field.is_repeated:
            value.append(scalar(field, draw))
        elif is_message and draw.random() < 0.5:
            target.ClearField(field.name)
        elif is_message:
            value.SetInParent()
        else:
            setattr(target, field.name, scalar(field, draw))
    except (ValueError, TypeError, OverflowError):
        pass  # the drawn number does not fit the field


def scalar(field: Any, draw: random.Random) -> Any:
    if field.type == FieldDescriptor.TYPE_STRING:
        return draw.choice(TEXTS)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return draw.randbytes(draw.randrange(40))
    if field.type in (FieldDescriptor.TYPE_FLOAT, FieldDescriptor.TYPE_DOUBLE):
        return draw.choice(FLOATS)
    return draw.choice(NUMBERS)


@pytest.mark.parametrize("runtime", ["4.23", "5.2"])
def test_mutated_messages_give_a_text_or_an_error(runtime: str) -> None:
    draw = random.Random(11)
    refused = printed = 0
    for _ in range(1500):
        container = Container(open_source(draw.choice(SAMPLES)))
        message = pb.ProtoHEFHef()
        message.ParseFromString(bytes(container.proto))
        for _ in range(draw.choice([1, 1, 2, 4])):
            mutate(message, draw)
        data = b"".join(pack(0, Sections(message.SerializeToString())))
        try:
            assert parse_hef_text(open_hef(data, runtime=runtime), streams=True)
            printed += 1
        except EmuError as error:
            assert error.exit_code in (3, 4)
            refused += 1
    assert refused > 200 and printed > 200


def one_layer(**base: Any) -> pb.ProtoHEFHef:
    layers = [
        builder.edge_layer(
            builder.layer_info(name, builder.layer_base(Shape(4, 8, 8), sys_index=index, **base)), direction
        )
        for index, (name, direction) in enumerate(
            [("in", EdgeLayerDirection.HOST_TO_DEVICE), ("out", EdgeLayerDirection.DEVICE_TO_HOST)]
        )
    ]
    core = builder.core_op("net", [builder.context([], layers)], sorted_outputs=["out"])
    return message_of(
        builder.hef_contents(
            HwArch.HAILO1XH,
            [builder.network_group(core)],
            extensions=[ExtensionType.OUTPUT_SCALE_PER_FEATURE],
            optional_extensions=[ExtensionType.MULTI_NETWORK_VARIABLE_BATCH_SIZE],
        )
    )


def layer_of(message: pb.ProtoHEFHef, index: int) -> pb.ProtoHEFEdgeLayerInfo:
    return message.network_groups[0].contexts[0].metadata.edge_layers[index].layer_info


def test_a_forged_feature_count_costs_no_memory() -> None:
    message = one_layer()
    message.network_groups[0].networks_names.append("net")
    layer_of(message, 1).edge_layer_base.features = 2**32 - 1
    data = b"".join(pack(0, Sections(message.SerializeToString())))
    text = parse_hef_text(open_hef(data, runtime="5.2"))
    assert "NHWC(4x8x4294967295)" in text


def test_many_networks_and_streams_are_listed_in_one_pass() -> None:
    count = 256  # network_index has 8 bits in the runtime
    message = one_layer()
    group = message.network_groups[0]
    layers = group.contexts[0].metadata.edge_layers
    first, second = list(layers)
    del group.sorted_outputs_order[:]
    for index in range(count):
        group.networks_names.append(f"n{index}")
        for template, name in ((first, f"in{index}"), (second, f"out{index}")):
            layer = layers.add()
            layer.CopyFrom(template)
            layer.network_index = index
            layer.layer_info.name = name
        group.sorted_outputs_order.append(f"out{index}")
    del layers[:2]
    data = b"".join(pack(0, Sections(message.SerializeToString())))
    text = parse_hef_text(open_hef(data, runtime="5.2"), streams=True)
    assert text.count("Network name: net/n") == count
    assert text.count("    Input ") == 2 * count
