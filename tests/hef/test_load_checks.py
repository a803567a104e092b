"""Single faults in sound files and the status that HailoRT's own code gives them at load (hef.cpp, net_flow/ops).

The captures in test_load.py hold one file per common fault; here are the others. Each case changes one thing.
"""

from __future__ import annotations

import pytest

from emu.errors import HailoError
from emu.hef import open_hef
from emu.hef.load import check_load
from emu.hef.pack import Sections, pack
from emu.schemas import hef_pb2 as pb
from tests.conftest import DATA

BOTH = ("4.23", "5.2")


def forged(name, change):
    """A sound file with its message changed; container and checksum sound again."""
    container = open_hef(DATA / "hef" / f"{name}.hef").container
    message = pb.ProtoHEFHef.FromString(bytes(container.proto))
    change(message)
    proto = message.SerializeToString()
    ccws = container.data[container.offset_zero_point :] if container.version else b""
    return b"".join(pack(2 if container.version else 0, Sections(proto, ccws=[ccws] if container.version else [])))


def status(name, change, runtime):
    try:
        hef = open_hef(forged(name, change), runtime=runtime)
        check_load(hef)
    except HailoError as error:
        return error.number
    return 0


def core_op(message):
    group = message.network_groups[0]
    for op in group.ops:
        if op.WhichOneof("op") == "core_op":
            return op.core_op
    if group.partial_network_groups:
        return group.partial_network_groups[0].network_group
    return group


def layers(message, connection=0, direction=None):
    return [
        layer
        for context in core_op(message).contexts
        for layer in context.metadata.edge_layers
        if layer.context_switch_info.edge_connection_type == connection and direction in (None, layer.direction)
    ]


def post_process(message):
    return next(op for op in message.network_groups[0].ops if op.WhichOneof("op") != "core_op")


def extension(message, number):
    message.extensions.add(type_index=number, name=f"EXTENSION_{number}")


@pytest.mark.parametrize("runtime", BOTH)
@pytest.mark.parametrize(
    "name",
    [
        "onms_h8_defused",
        "qp_a",
        "mc2_a",
        "ddr1_a",
        "mux2_a",
        "nf_yolov8",
        "nf_yolox",
        "nf_ssd",
        "nf_argmax",
        "part_leg_a",
    ],
)
def test_the_files_are_sound_before(name, runtime):
    assert status(name, lambda message: None, runtime) == 0


# --- edge layers ----------------------------------------------------------------------------------------------------


def connected(field, value, connection):
    def change(message):
        setattr(layers(message, connection)[0].context_switch_info.connected_contexts[0], field, value)

    return change


@pytest.mark.parametrize("runtime", BOTH)
@pytest.mark.parametrize("name, connection", [("mc2_a", 1), ("ddr1_a", 2)])
@pytest.mark.parametrize("field, value", [("sys_index", 256), ("engine_id", 256), ("index", 65536)])
def test_the_connected_context_must_fit(name, connection, field, value, runtime):
    assert status(name, connected(field, value, connection), runtime) == 26


@pytest.mark.parametrize("runtime", BOTH)
@pytest.mark.parametrize("buffers, expected", [(65535, 0), (65536, 26)])
def test_the_rows_of_a_ddr_buffer_must_fit(buffers, expected, runtime):
    def change(message):
        for layer in layers(message, 2):
            layer.context_switch_info.buffers = buffers

    assert status("ddr1_a", change, runtime) == expected


def internal(change_layer):
    def change(message):
        for layer in layers(message, 1):
            change_layer(layer.layer_info)

    return change


@pytest.mark.parametrize("runtime", BOTH)
@pytest.mark.parametrize(
    "change",
    [
        internal(lambda info: setattr(info, "name", "x" * 300)),
        internal(lambda info: setattr(info.edge_layer_base, "host_argmax", True)),
        internal(lambda info: info.numeric_info.qp_zps.append(1.0)),
    ],
    ids=["long name", "host_argmax", "odd quantisation"],
)
def test_internal_layers_are_looked_at_less(change, runtime):
    """get_inter_context_layer_info reads neither; with extension 25 no list of theirs counts either."""

    def with_scales(message):
        extension(message, 25)
        for layer in layers(message):
            numeric, features = layer.layer_info.numeric_info, layer.layer_info.edge_layer_base.features
            numeric.qp_zps[:] = [0.0] * features
            numeric.qp_scales[:] = [1.0] * features
        change(message)

    assert status("mc2_a", with_scales, runtime) == 0


@pytest.mark.parametrize("runtime", BOTH)
def test_an_unknown_direction_counts_as_host_to_device(runtime):
    def change(message):
        layers(message, 2, 0)[0].direction = 7

    assert status("ddr1_a", change, runtime) == 0


@pytest.mark.parametrize("runtime", BOTH)
def test_a_mux_reads_as_many_predecessors_as_it_says(runtime):
    def fewer(message):
        mux = layers(message, 0, 1)[0].layer_mux
        mux.mux_data.number_of_predecessors = 1
        mux.predecessors[1].Clear()  # of no kind, but not looked at

    def more(message):
        layers(message, 0, 1)[0].layer_mux.mux_data.number_of_predecessors += 1

    assert status("mux2_a", fewer, runtime) == 0
    assert status("mux2_a", more, runtime) == 26


@pytest.mark.parametrize("runtime", BOTH)
@pytest.mark.parametrize(
    "field, value, expected",
    [("class_group_index", 8, 0), ("class_group_index", 9, 26), ("original_name", "x" * 128, 8)],
)
def test_defuse_info_must_fit_even_if_nothing_is_defused(field, value, expected, runtime):
    def change(message):
        nms_info = layers(message, 0, 1)[0].layer_info.edge_layer_base.additional_info.nms_info
        assert not nms_info.is_defused
        setattr(nms_info.defuse_info, field, value)

    assert status("onms_h8_burst", change, runtime) == expected


@pytest.mark.parametrize("runtime", BOTH)
def test_fused_layers_count_only_where_the_group_has_them(runtime):
    def missing(message):
        del core_op(message).fused_layers_metadata.fused_layers[:]

    def unfused(message):
        missing(message)
        fused = core_op(message).fused_layers_metadata
        fused.network_has_fused_layers = False
        message.network_groups[0].sorted_outputs_order.extend(fused.updated_sorted_output_names)

    assert status("onms_h8_defused", missing, runtime) == 61
    assert status("onms_h8_defused", unfused, runtime) == 0


@pytest.mark.parametrize(
    "direction, field, runtime, expected",
    [
        (1, "qp_zps", "5.2", 0),  # empty: the scalar stands in
        (1, "qp_scales", "5.2", 0),
        (1, "qp_zps", "4.23", 26),
        (1, "qp_scales", "4.23", 26),
        (0, "qp_zps", "5.2", 0),
        (0, "qp_scales", "4.23", 26),  # reads past the end there
    ],
)
def test_one_empty_list_of_quantisations(direction, field, runtime, expected):
    def change(message):
        for layer in layers(message, 0, direction):
            layer.layer_info.numeric_info.ClearField(field)

    assert status("qp_a", change, runtime) == expected


def test_an_empty_list_takes_the_scalar_by_itself():
    from emu.hef.infos import hef_infos

    def change(message):
        for layer in layers(message, 0, 1):
            layer.layer_info.numeric_info.ClearField("qp_zps")
            layer.layer_info.numeric_info.qp_zp = 7.0

    hef = open_hef(forged("qp_a", change), runtime="5.2")
    original = open_hef(DATA / "hef" / "qp_a.hef").message
    expected = layers(original, 0, 1)[0].layer_info.numeric_info.qp_scales
    stream = hef_infos(hef).network_groups[0].output_streams[0]
    assert {info.zp for info in stream.quant_infos} == {7.0}
    assert [info.scale for info in stream.quant_infos] == pytest.approx(list(expected))


def test_forged_features_cost_no_memory():
    def change(message):
        for layer in layers(message, 0, 1):
            layer.layer_info.edge_layer_base.features = 2**32 - 1
            layer.layer_info.numeric_info.ClearField("qp_zps")

    assert status("qp_a", change, "5.2") == 26


@pytest.mark.parametrize("runtime", BOTH)
@pytest.mark.parametrize(
    "count, engine, expected", [(255, 0, 0), (256, 0, 26), (0, 255, 0), (0, 256, 26), (1, 256, 26)]
)
def test_config_channels_must_fit(count, engine, expected, runtime):
    def change(message):
        metadata = core_op(message).network_group_metadata
        metadata.cfg_channels_count = count
        metadata.ClearField("cfg_channels_config")
        metadata.cfg_channels_config.add(cfg_channel_index=0, engine_id=engine)

    assert status("ctr_v2a", change, runtime) == expected


@pytest.mark.parametrize("runtime", BOTH)
def test_outputs_must_be_ordered_somewhere(runtime):
    """hef-container.md 6.3, rules 3 and 4."""

    def nowhere(message):
        message.network_groups[0].ClearField("sorted_outputs_order")
        for context in message.network_groups[0].contexts:
            context.metadata.ClearField("sorted_outputs_order")

    def in_the_last_context(message):
        nowhere(message)
        message.network_groups[0].contexts[-1].metadata.sorted_outputs_order.append("net/conv1")

    assert status("ctr_v2a", nowhere, runtime) == 26
    assert status("ctr_v2a", in_the_last_context, runtime) == 0


# --- operations -----------------------------------------------------------------------------------------------------


def with_action(**action):
    def change(message):
        core_op(message).contexts[0].operations[0].actions.add(**action)

    return change


@pytest.mark.parametrize("runtime", BOTH)
@pytest.mark.parametrize(
    "action, expected",
    [
        ({"disable_lcu": {"cluster_index": 255, "lcu_index": 255, "lcu_enable_address": 2**32 - 1}}, 0),
        ({"disable_lcu": {"cluster_index": 256}}, 26),
        ({"disable_lcu": {"lcu_index": 256}}, 26),
        ({"enable_lcu": {"lcu_kernel_done_address": 65535, "lcu_kernel_done_count": 2**32 - 1}}, 0),
        ({"enable_lcu": {"lcu_kernel_done_address": 65536}}, 26),
        ({"enable_lcu": {"network_index": 256}}, 0),  # cast, not checked
        ({"switch_lcu_batch": {"cluster_index": 256}}, 26),
        ({"enable_sequencer": {"cluster_index": 256}}, 26),
        ({"enable_sequencer": {"initial_l3_info": {"initial_l3_index": 256}}}, 0),  # not included
        ({"enable_sequencer": {"initial_l3_info": {"initial_l3_index": 256, "includes_initial_l3_info": True}}}, 26),
        ({"enable_sequencer": {"initial_l3_info": {"initial_l3_offset": 65536, "includes_initial_l3_info": True}}}, 26),
        ({"wait_for_seqeuncer": {"cluster_index": 256}}, 26),
        ({"wait_for_module_config_done": {"index": 256}}, 26),
        ({"allow_input_dataflow": {"sys_index": 255, "connection_type": 9}}, 0),
        ({"enable_nms": {"number_of_classes": 1, "burst_size": 1, "nms_unit_index": 256}}, 26),
        ({"enable_nms": {"number_of_classes": 1, "burst_size": 1, "network_index": 256}}, 26),
        ({"enable_nms": {"number_of_classes": 65536, "burst_size": 65536}}, 0),  # cast, not checked
        ({"write_data_by_type": {"address": 2**32}}, 26),
        ({"write_data_by_type": {"address": 2**32 - 4, "data": b"1234", "shift": 255}}, 0),
        ({"write_data_by_type": {"data": b"12345"}}, 26),
        ({"debug": {"sleep": {"duration_in_usec": 999}}}, 26),
        ({"debug": {"sleep": {"duration_in_usec": 1000}}}, 0),
        ({"debug": {"halt": {}}}, 0),
        ({"debug": {"type": 5000}}, 26),  # a sleep of a compiler before 4.19
        ({"write_compressed_data": {}}, 8),
        ({"write_data_ccw_ptr": {"cfg_channel_index": 255}}, 0),
        ({"write_data_ccw_ptr": {"cfg_channel_index": 256}}, 26),
        ({"write_data_ccw_ptr": {"offset": 2**40, "size": 8}}, 0),  # looked at when it is read
        ({"unique_id": 7}, 8),
    ],
    ids=str,
)
def test_actions(action, expected, runtime):
    assert status("ctr_v2a", with_action(**action), runtime) == expected


@pytest.mark.parametrize("action", ["allow_config_channels", "disable_data_channels"])
def test_actions_of_5_1_are_unset_to_4_23(action):
    assert status("ctr_v2a", with_action(**{action: {}}), "4.23") == 8
    assert status("ctr_v2a", with_action(**{action: {}}), "5.2") == 0
    assert status("ctr_v2a", with_action(allow_config_channels={"config_index": 256}), "5.2") == 26


@pytest.mark.parametrize("runtime", BOTH)
def test_more_ccw_writes_in_a_row_than_16_bits_count(runtime):
    def many(number, interrupted):
        def change(message):
            actions = core_op(message).contexts[0].operations[0].actions
            for index in range(number):
                actions.add(write_data_ccw_ptr={"size": 8})
                if interrupted and index == number // 2:
                    actions.add(none={})

        return change

    assert status("ctr_v2a", many(65535, False), runtime) == 0
    assert status("ctr_v2a", many(65536, False), runtime) == 26
    assert status("ctr_v2a", many(65536, True), runtime) == 0


# --- post-process ops -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("runtime", BOTH)
def test_decoders_must_read_inputs_of_the_op(runtime):
    """A pad that the core op has and the op has not: 2; one that nobody has: the real program throws."""

    def not_an_input(message):
        op = post_process(message)
        pad = op.input_pads[0].index
        del op.input_pads[0]
        assert any(edge.dst == pad for edge in message.network_groups[0].pad_edges)

    def nowhere(message):
        post_process(message).nms_op.yolov8_nms_op.bbox_decoders[0].reg_pad_index = 12345

    assert status("nf_yolov8", not_an_input, runtime) == 2
    assert status("nf_yolov8", nowhere, runtime) == 26


def output_base(message, index):
    return layers(message, 0, 1)[index].layer_info.edge_layer_base


@pytest.mark.parametrize("runtime", BOTH)
@pytest.mark.parametrize("name", ["nf_yolov8", "nf_yolox", "nf_ssd"])
def test_layers_of_one_decoder_must_have_the_same_cells(name, runtime):
    def change(message):
        base = output_base(message, 0)
        base.height += 1
        base.padded_height += 1

    assert status(name, change, runtime) == 2


@pytest.mark.parametrize("runtime", BOTH)
@pytest.mark.parametrize("name, expected", [("nf_yolov8", 2), ("nf_yolox", 2), ("nf_ssd", 0)])
def test_layers_of_one_decoder_must_have_the_same_format(name, expected, runtime):
    def change(message):
        base = output_base(message, 0)
        base.format = 0 if base.format == 1 else 1

    assert status(name, change, runtime) == expected


@pytest.mark.parametrize("runtime", BOTH)
def test_regression_features_come_in_fours(runtime):
    def change(message):
        decoder = post_process(message).nms_op.yolov8_nms_op.bbox_decoders[0]
        for layer in layers(message, 0, 1):
            if layer.pad_index == decoder.reg_pad_index:
                layer.layer_info.edge_layer_base.features += 1

    assert status("nf_yolov8", change, runtime) == 2


@pytest.mark.parametrize("runtime", BOTH)
@pytest.mark.parametrize("name", ["nf_yolox", "nf_ssd"])
def test_bbox_only_exists_for_some_kinds(name, runtime):
    def change(message):
        post_process(message).nms_op.bbox_decoding_only = True

    assert status(name, change, runtime) == 2


@pytest.mark.parametrize("runtime", BOTH)
@pytest.mark.parametrize("side, expected", [(None, 0), ("h", 2), ("w", 2)])
def test_anchors_of_one_layer_must_agree(side, expected, runtime):
    def change(message):
        """A third decoder reads the boxes of the first and the classes of the second, which is made like the first."""
        first, second = decoders = post_process(message).nms_op.ssd_nms_op.bbox_decoders
        second.h[:], second.w[:] = first.h, first.w
        if side:
            getattr(second, side)[0] += 1
        decoders.add(h=first.h, w=first.w, reg_pad_index=first.reg_pad_index, cls_pad_index=second.cls_pad_index)
        for layer in layers(message, 0, 1):
            base = layer.layer_info.edge_layer_base
            base.height, base.width = 8, 8

    assert status("nf_ssd", change, runtime) == expected


@pytest.mark.parametrize("runtime", BOTH)
def test_a_logits_op_has_one_output(runtime):
    def change(message):
        post_process(message).output_pads.add(index=99, name="more")

    assert status("nf_argmax", change, runtime) == 26


@pytest.mark.parametrize("runtime", BOTH)
def test_boxes_only_needs_a_decoder_for_every_input(runtime):
    def change(message):
        del post_process(message).nms_op.yolo_nms_op.bbox_decoders[0]

    assert status("nf_yolov5_bbox", change, runtime) == 26
