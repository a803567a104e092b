"""Each check of the container (graph-conventions.md OM-C), both tables, partition names, the kind by wire content."""

from __future__ import annotations

import struct

import pytest

from emu.errors import GraphError, GraphStatus
from emu.graph.readers.om import describe as om_describe
from emu.graph.readers.om.container import model_kind, read_container
from emu.graph.writers.om import write_om
from emu.schemas import ge_ir_pb2, om_pb2

NAME = "a model whose name has more than thirty-two bytes"


def model() -> om_pb2.ModelDef:
    message = om_pb2.ModelDef(name=NAME)
    message.op.add(name="data", type="Data")
    return message


def refused(data: bytes, *words: str) -> None:
    with pytest.raises(GraphError) as caught:
        read_container(data)
    assert caught.value.status is GraphStatus.OM_CONTAINER
    for word in words:
        assert word in caught.value.line()


def changed(data: bytes, offset: int, code: str, value: int) -> bytes:
    copy = bytearray(data)
    struct.pack_into(f"<{code}", copy, offset, value)
    return bytes(copy)


@pytest.mark.parametrize("wide", [False, True])
def test_both_tables_and_tails(wide: bool):
    others = {7: b"seven", 99: b"", 3: b"three"}
    found = read_container(write_om(model(), b"weights", wide_table=wide, others=others))
    assert found.table_bits == (64 if wide else 32)
    assert [each.type for each in found.partitions] == [0, 1, 7, 99, 3]
    assert bytes(found.find(7)) == b"seven"
    assert bytes(found.find(1)) == b"weights"
    assert found.find(5) is None
    assert found.header.name == NAME[:32]
    assert found.header.platform_version == "1.0.0"
    assert (found.header.model_num, found.header.custom_data_len) == ((1, None) if wide else (None, 0))


def test_version_2_with_a_length_has_the_narrow_table():
    data = changed(write_om(model()), 8, "I", 0x20000000)
    assert read_container(data).table_bits == 32


def test_refusals():
    data = write_om(model(), b"weights")
    wide = write_om(model(), b"weights", wide_table=True)
    refused(b"", "0 bytes")
    refused(data[:255], "255 bytes")
    refused(b"PICO" + data[4:], "PICO")
    refused(b"ONNX" + data[4:], "4f4e4e58")
    refused(changed(data, 4, "I", 512), "headsize is 512")
    refused(changed(data, 80, "B", 1), "encrypted")
    refused(data + b"x", f"length is {len(data) - 256}")
    refused(data[:-1], "length is")
    refused(changed(wide, 184, "Q", 1 << 60), str(1 << 60))
    refused(changed(data, 256, "I", 0), "no partition")
    refused(changed(data, 256, "I", 0xFFFFFFFF), "4294967295 partition entries")
    refused(changed(data, 256 + 4 + 12 + 4, "I", 3), "offset 3")
    refused(changed(data, 256 + 4 + 12 + 8, "I", 8), "exceeds the file")
    refused(changed(data, 256 + 4 + 12 + 8, "I", 6), "the partitions end at")
    refused(changed(data, 256 + 4 + 12, "I", 0), "repeats type 0")
    refused(changed(data, 256 + 4, "I", 5), "no MODEL_DEF")
    refused(changed(wide, 256 + 8 + 24 + 16, "Q", (1 << 64) - 1), "exceeds the file")


@pytest.mark.parametrize(
    ("platform", "names"), [(0, ["TASK_GRAPH", "ENCRYPT_INFO"]), (1, ["TBE_KERNELS", "FLOW_SUBMODEL"])]
)
def test_partition_names_by_family(platform: int, names: list[str]):
    data = changed(write_om(model(), others={3: b"", 7: b"", 99: b""}), 176, "B", platform)
    assert [each.name for each in read_container(data).partitions] == ["MODEL_DEF", *names, "unknown(99)"]


def test_kind_by_wire_content():
    domi, graph = model(), ge_ir_pb2.ModelDef(name="g", version=2)
    graph.graph.add(name="g")
    assert model_kind(memoryview(domi.SerializeToString())) == "domi"
    assert model_kind(memoryview(graph.SerializeToString())) == "graph"
    # each parses as the other without complaint: only the fields tell
    assert not om_pb2.ModelDef.FromString(graph.SerializeToString()).op
    for data, words in (
        (domi.SerializeToString() + graph.SerializeToString(), "both"),
        (om_pb2.ModelDef(name="x").SerializeToString(), "neither"),
        (b"", "neither"),
        (b"\xff" * 64, "varint"),
        (b"\x0b", "no protobuf"),
        (b"\xa2\x01\x7f", "cut"),
    ):
        with pytest.raises(GraphError, match=words) as caught:
            model_kind(memoryview(data))
        assert caught.value.status is GraphStatus.OM_MODEL


def test_every_partition_and_task_is_described():
    from emu.schemas import om_task_pb2

    tasks = om_task_pb2.ModelTaskDef()
    for stream, kind in ((0, 0), (0, 0), (1, 2), (1, 77)):
        tasks.task.add(stream_id=stream, type=kind)
    data = changed(write_om(model(), b"w", others={2: tasks.SerializeToString(), 8: b"io"}), 176, "B", 1)
    report = om_describe.document(data)
    assert [each["name"] for each in report["partitions"]] == [
        "MODEL_DEF", "WEIGHTS_DATA", "TASK_INFO", "MODEL_INOUT_INFO",
    ]  # fmt: skip
    assert report["tasks"] == [
        {"stream_id": 0, "type": 0, "name": "kernel", "count": 2},
        {"stream_id": 1, "type": 2, "name": "event wait", "count": 1},
        {"stream_id": 1, "type": 77, "name": "unknown", "count": 1},
    ]
    assert report["refusals"]
