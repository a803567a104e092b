"""The model says what the message says, field by field, for every file; and unifies both layouts."""

from __future__ import annotations

import msgspec
import pytest

from emu.hef import enums, model, open_hef, operations
from emu.hef.build import build_network_group
from emu.schemas import hef_pb2 as pb
from tests.conftest import DATA, SHARED

FILES = [
    *sorted((DATA / "hef").glob("*.hef")),
    *sorted((SHARED / "hef").glob("*.hef")),
    *[path for path in sorted((SHARED / "synth" / "hef").glob("*.hef")) if not path.name.startswith("inv_")],
]
LEFT_OUT = {
    "unique_id",
    "mapping",
    "trigger_order",
    "cluster_end_guarantee",
    "hw_package_info",
    "shmiglue_info",
}


def oneof(message, name):
    kind = message.WhichOneof(name)
    return None if kind is None else getattr(message, kind)


def assert_same(record, message):
    """`record` was built from `message`: same name, same fields, same values, all the way down."""
    if message is None:
        assert record is None
        return
    descriptor = message.DESCRIPTOR
    assert type(record).__name__ == descriptor.name.removeprefix("ProtoHEF")
    names = set(record.__struct_fields__)
    groups = {group.name for group in descriptor.oneofs if not group.name.startswith("_")}  # _: of `optional`
    members = {field.name for group in descriptor.oneofs for field in group.fields if group.name in groups}
    optional = {field.name for field in descriptor.fields if field.has_presence and not field.message_type}
    assert names == {field.name for field in descriptor.fields} - members - LEFT_OUT | groups
    for name in names:
        value = getattr(record, name)
        if name in groups:
            assert_same(value, oneof(message, name))
        elif name in optional:
            assert value == (getattr(message, name) if message.HasField(name) else None)
        else:
            assert_equal(value, getattr(message, name))


def assert_equal(value, expected):
    if isinstance(value, tuple):
        assert len(value) == len(expected)
        for one, other in zip(value, expected, strict=True):
            assert_equal(one, other)
    elif isinstance(value, operations.Operation):
        assert_same(value.trigger, oneof(expected.trigger, "trigger"))
        assert len(value.actions) == len(expected.actions)
        for action, other in zip(value.actions, expected.actions, strict=True):
            assert_same(action, oneof(other, "action"))
    elif isinstance(value, model.EdgeLayerInfo | model.EdgeLayerMux | model.EdgeLayerPlanes):
        assert_same(value, oneof(expected, "edge") if expected.DESCRIPTOR.name == "ProtoHefEdge" else expected)
    elif isinstance(value, msgspec.Struct):
        assert_same(value, expected)
    else:
        assert value == expected


def assert_same_core_op(core_op, message):
    for name in ("network_group_metadata", "preliminary_config", "contexts", "fused_layers_metadata"):
        assert_equal(getattr(core_op, name), getattr(message, name))
    assert core_op.sorted_outputs_order == tuple(message.sorted_outputs_order)
    assert core_op.networks_names == tuple(message.networks_names)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_model_equals_message(path):
    hef = open_hef(path, runtime="5.2")  # the laxer one: one file has a wrong hash of the whole
    message = hef.message
    assert_same(hef.header, message.header)
    assert_same(hef.included_features, message.included_features)
    assert [(e.type_index, e.name) for e in hef.extensions] == [(e.type_index, e.name) for e in message.extensions]
    assert_equal(hef.external_resources, message.external_resources)
    assert len(hef.network_groups) == len(message.network_groups)
    for group, expected in zip(hef.network_groups, message.network_groups, strict=True):
        net_flow = any(extension.type_index == 13 for extension in message.extensions)
        if not net_flow:
            assert_same_core_op(group.core_op, expected)
            partial = [(p.network_group, p.layout) for p in expected.partial_network_groups]
        else:
            source = next(op.core_op for op in expected.ops if op.WhichOneof("op") == "core_op")
            assert_same_core_op(group.core_op, source)
            partial = [(p.core_op, p.layout) for p in source.partial_core_ops]
            assert_equal(group.pad_edges, expected.pad_edges)
            for op, other in zip(group.ops, expected.ops, strict=True):
                assert (op.name, len(op.input_pads)) == (other.name, len(other.input_pads))
                assert_equal(op.input_pads + op.output_pads, [*other.input_pads, *other.output_pads])
                if not isinstance(op.op, model.CoreOp):
                    assert_same(op.op, oneof(other, "op"))
        assert len(group.core_op.partial_core_ops) == len(partial)
        for one, (core_op, layout) in zip(group.core_op.partial_core_ops, partial, strict=True):
            assert one.layout.partial_clusters_layout_bitmap == layout.partial_clusters_layout_bitmap
            assert_same_core_op(one.core_op, core_op)


def core_op_message(name):
    return pb.ProtoHEFCoreOp(
        network_group_metadata=pb.ProtoHEFNetworkGroupMetadata(network_group_name=name, cfg_channels_count=2),
        contexts=[pb.ProtoHEFContext(context_index=0)],
        networks_names=["a", "b"],
    )


def test_both_layouts_give_the_same_core_op():
    core_op = core_op_message("net")
    legacy = pb.ProtoHEFNetworkGroup.FromString(core_op.SerializeToString())
    modern = pb.ProtoHEFNetworkGroup(
        ops=[pb.ProtoHEFOp(name="core", core_op=core_op)],
        network_group_metadata=core_op.network_group_metadata,
        networks_names=["a", "b"],
    )
    one, other = build_network_group(legacy, False), build_network_group(modern, True)
    assert one.core_op == other.core_op
    assert one.network_group_name == other.network_group_name == "net"
    assert one.networks_names == other.networks_names == ("a", "b")


def test_partial_groups_lend_name_order_and_networks():
    """hef-container.md 6.2, 6.3; stream-infos.md 2."""
    partial = pb.ProtoHEFNetworkGroup.FromString(core_op_message("partial").SerializeToString())
    partial.sorted_outputs_order.append("out")
    group = pb.ProtoHEFNetworkGroup(
        partial_network_groups=[
            pb.ProtoHEFPartialNetworkGroup(
                network_group=partial, layout=pb.ProtoHEFPhysicalLayout(partial_clusters_layout_bitmap=51)
            )
        ]
    )
    group.network_group_metadata.network_group_name = "whole"
    built = build_network_group(group, False)
    assert built.network_group_name == "partial"
    assert built.sorted_outputs_order == ("out",)
    assert built.networks_names == ("a", "b")
    assert built.core_op.partial_core_ops[0].layout.partial_clusters_layout_bitmap == 51
    assert build_network_group(group, True).sorted_outputs_order == ()


def test_a_layer_is_read_by_its_type_and_not_by_what_is_set():
    layer = pb.ProtoHEFEdgeLayer(layer_mux=pb.ProtoHEFEdgeLayerMux(name="mux"))  # edge_layer_type is INFO
    group = pb.ProtoHEFNetworkGroup(
        contexts=[pb.ProtoHEFContext(metadata=pb.ProtoHEFContextMetadata(edge_layers=[layer]))]
    )
    (built,) = build_network_group(group, False).core_op.contexts[0].metadata.edge_layers
    assert isinstance(built.edge, model.EdgeLayerInfo)
    assert built.edge.name == ""
    assert built.pad_index is None


def test_numbers_outside_an_enum_survive():
    header = pb.ProtoHEFHeader(hw_arch=99)
    hef_message = pb.ProtoHEFHef(header=header)
    assert enums.known(enums.HwArch, hef_message.header.hw_arch) == 99
    assert enums.known(enums.HwArch, 103) is enums.HwArch.HAILO1XH


@pytest.mark.parametrize(
    "enum",
    [value for value in vars(enums).values() if isinstance(value, type) and issubclass(value, enums.IntEnum)][1:],
    ids=lambda enum: enum.__name__,
)
def test_enums_hold_every_value_of_the_schema(enum):
    descriptor = pb.DESCRIPTOR.enum_types_by_name[f"ProtoHEF{enum.__name__}"]
    markers = {0xFFFF}  # UNUSED and MAX_ENUM
    assert {int(member) for member in enum} == {value.number for value in descriptor.values} - markers
    for member in enum:
        name = descriptor.values_by_number[int(member)].name
        words = set(member.name.split("_"))
        assert words <= set(name.replace("__", "_").split("_")), (member, name)


def test_records_are_immutable_and_slotted():
    for module in (model, operations):
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, msgspec.Struct) and value is not msgspec.Struct:
                assert value.__struct_config__.frozen
                assert not value.__dictoffset__
