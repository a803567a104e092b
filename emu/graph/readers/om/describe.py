"""What an .om file holds, for people and as JSON whose keys are the names of the schemas (cli.md, inspect)."""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message

from emu.errors import GraphError
from emu.graph.dynamic import UNKNOWN, specialise
from emu.graph.ir import Graph, Layout, Tensor
from emu.graph.layouts import packed_shape
from emu.graph.ops import OpError
from emu.graph.ops.call import all_graphs
from emu.graph.plan import make_plan
from emu.graph.readers.om import container, domi, ge
from emu.graph.readers.om.ge_attrs import Attrs, Names
from emu.graph.readers.om.ge_control import Gear
from emu.graph.readers.om.memory import Buffer, overlaps
from emu.graph.readers.om.reader import read
from emu.graph.readers.om.types import INT_DTYPES, INT_FORMATS
from emu.graph.summary import summary, summary_lines, tree_lines
from emu.schemas import ge_ir_pb2, om_pb2, om_task_pb2

TEXT_LIMIT = 200
"""Characters of a string attribute that are shown; more is told by its length."""

ACCEPTED = {
    True: "yes",
    False: "no (EE1001: the runtime asks for the very name, so the model must be converted again with --soc_version)",
    None: "not told by the file",
}

# rtModelTaskType of the runtime (om-format.md 5)
TASK_TYPES = {
    0: "kernel",
    1: "event record",
    2: "event wait",
    3: "fusion start",
    4: "fusion end",
    5: "kernel_ex",
    7: "stream switch",
    8: "stream active",
    9: "label set",
    10: "label switch",
    11: "label goto",
    12: "profiler trace",
    13: "memcpy async",
    19: "end graph",
}


def document(data: bytes | memoryview, soc: str | None = None) -> dict[str, Any]:
    """Header, partitions, the whole ModelDef, constants, launched tasks, and why ops or the graph are refused.

    With `soc`, an Ascend chip, `accepts_soc` is whether the model was compiled for it, None if the file does not say.
    Raises GraphError only for a container or a MODEL_DEF that cannot be read at all.
    """
    found = container.read_container(data)
    model = found.find(container.MODEL_DEF)
    assert model is not None  # read_container requires it
    kind = container.model_kind(model)
    message: Message = domi.parse(model) if kind == "domi" else ge.parse(model)
    gears = ge.model_gears(message) if isinstance(message, ge_ir_pb2.ModelDef) else []
    graph, refusals = _graph(data, gears[0] if gears else None)
    attrs = _model_attrs(message)
    header = {name: _plain(getattr(found.header, name)) for name in found.header.__slots__}
    made_for = attrs["soc_version"]
    return {
        "format": "om",
        "kind": kind,
        "summary": summary(graph) | {**attrs, "gears": [list(gear) for gear in gears]},
        "header": {key: value for key, value in header.items() if value is not None},
        "table_bits": found.table_bits,
        "partitions": [
            {"type": each.type, "name": each.name, "offset": each.offset, "size": each.size}
            for each in found.partitions
        ],
        "ModelDef": message_document(message, _names(message)),
        "soc_version": made_for,
        **({} if soc is None else {"soc": soc, "accepts_soc": None if made_for is None else made_for == soc}),
        "gears": [list(gear) for gear in gears],
        "constants": [] if graph is None else _constants(graph),
        "tasks": _tasks(found),
        "refusals": [error.line() for error in refusals],
        "notes": [] if graph is None else [*graph.notes, *_overlaps(graph, message)],
    }


def _graph(data: bytes | memoryview, gear: Gear | None) -> tuple[Graph | None, list[GraphError]]:
    """The graph if there is one, and every reason why it cannot be executed; a model of several gears as its first."""
    try:
        graph = read(data, gear)
    except GraphError as error:
        return None, [error]
    refusals = [node.refusal for each in all_graphs(graph) for node in each.nodes if node.refusal is not None]
    if not refusals:
        try:
            make_plan(specialise(graph, {}))
        except GraphError as error:
            refusals = [error]
    return graph, refusals


def _names(message: Message) -> Names | None:
    return Names(message) if isinstance(message, ge_ir_pb2.ModelDef) else None


# --- protobuf as plain values -------------------------------------------------------------------------------------


def _plain(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else value


def message_document(message: Message, names: Names | None) -> dict[str, Any]:
    """The fields that are set, by their names; attributes by value, bulk bytes as their length."""
    found: dict[str, Any] = {}
    for descriptor, value in message.ListFields():
        if descriptor.name == "attr":
            found["attr"] = _attributes(value, names)
        elif descriptor.type == FieldDescriptor.TYPE_MESSAGE:
            found[descriptor.name] = (
                [message_document(each, names) for each in value]
                if descriptor.is_repeated
                else message_document(value, names)
            )
        elif descriptor.type == FieldDescriptor.TYPE_ENUM:
            found[descriptor.name] = _enum(descriptor, value)
        else:
            found[descriptor.name] = [_scalar(each) for each in value] if descriptor.is_repeated else _scalar(value)
    return found


def _enum(descriptor: FieldDescriptor, value: int) -> Any:
    known = descriptor.enum_type.values_by_number.get(value) if descriptor.enum_type is not None else None
    return value if known is None else known.name


def _scalar(value: Any) -> Any:
    if not isinstance(value, bytes):
        return value
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return {"bytes": len(value)}
    return text if len(text) <= TEXT_LIMIT and text.isprintable() else {"bytes": len(value)}


def _attributes(attrs: Mapping[str, Any], names: Names | None) -> dict[str, Any]:
    resolved: Mapping[str, Any] = dict(attrs)
    if names is not None:
        # a name that cannot be resolved is told as a refusal; here it stays as it is
        with contextlib.suppress(OpError):
            resolved = names.resolve(attrs)
    return {key: _attribute(resolved[key], names) for key in sorted(resolved)}


def _attribute(attr: Any, names: Names | None) -> Any:
    kind = attr.WhichOneof("value")
    if kind is None:
        return None
    value = getattr(attr, kind)
    if kind == "list":
        return [
            message_document(each, names) if isinstance(each, Message) else _scalar(each)
            for descriptor, values in value.ListFields()
            if descriptor.is_repeated
            for each in values
        ]
    if kind == "func":
        return _attributes(value.attr, names)
    return message_document(value, names) if isinstance(value, Message) else _scalar(value)


# --- what the file was made for ---------------------------------------------------------------------------------------


def _model_attrs(message: Message) -> dict[str, Any]:
    """What the model's attributes say about its making: the chip that atc compiled for (the runtime refuses the model
    on any other), the version of CANN, and the memory that it asks of the device; null what is not stated."""
    found: dict[str, Any] = {"soc_version": None, "cann_version": None, "memory_size": None, "weight_size": None}
    if isinstance(message, om_pb2.ModelDef):
        return found | {"memory_size": message.memory_size, "weight_size": message.weight_size}
    if not isinstance(message, ge_ir_pb2.ModelDef):
        return found
    with contextlib.suppress(OpError):
        attrs = Attrs(Names(message).resolve(message.attr))
        found["soc_version"] = attrs.text("soc_version", default="") or None
        found["cann_version"] = attrs.text("atc_version", default="") or None
        for key in ("memory_size", "weight_size"):
            found[key] = attrs.integer(key, default=-1)
            found[key] = None if found[key] < 0 else found[key]
    return found


# --- what is beside the ModelDef ------------------------------------------------------------------------------------


def _constants(graph: Graph) -> list[dict[str, Any]]:
    return [
        {
            "name": tensor.name,
            "dtype": str(tensor.dtype),
            "shape": list(tensor.shape),
            "layout": str(tensor.layout),
            "bytes": int(tensor.value.nbytes),
        }
        for each in all_graphs(graph)
        for tensor in each.tensors
        if tensor.value is not None and not (each is not graph and each.tensors is graph.tensors)
    ]


def _tasks(found: container.Container) -> list[dict[str, Any]]:
    """Launched tasks by stream and type; Kirin's TASK_INFO is opaque (om-format.md 1)."""
    data = found.find(container.TASK_INFO)
    if not data or found.header.platform_type == container.PLATFORM_LITE:
        return []
    try:
        message = om_task_pb2.ModelTaskDef.FromString(bytes(data))
    except DecodeError:
        return []
    counts = Counter((task.stream_id, task.type) for task in message.task)
    return [
        {"stream_id": stream, "type": kind, "name": TASK_TYPES.get(kind, "unknown"), "count": count}
        for (stream, kind), count in sorted(counts.items())
    ]


def _overlaps(graph: Graph, message: Message) -> list[str]:
    """Overlaps of simultaneously live buffers; nothing where the graph cannot be ordered."""
    buffers: list[Buffer] = []
    ops: list[tuple[Sequence[int], Sequence[Any]]] = []
    if isinstance(message, om_pb2.ModelDef):
        ops = [(op.output, op.output_desc) for op in message.op]
    elif isinstance(message, ge_ir_pb2.ModelDef):
        ops = [(op.output_i, op.output_desc) for op in message.graph[0].op]
    if len(ops) != len(graph.nodes):
        return []  # streams that start each other: what is live when depends on the run
    for node, (offsets, descriptors) in zip(graph.nodes, ops, strict=True):
        if node.type in ("Const", "NetOutput"):
            continue
        for at, offset, descriptor in zip(node.outputs, offsets, descriptors, strict=False):
            if UNKNOWN in graph.tensors[at].op_shape:
                return []
            buffers.append(Buffer(at, offset, _physical_bytes(graph.tensors[at]), descriptor.reuse_input))
    try:
        return overlaps(graph, buffers)
    except GraphError:
        return []


def _physical_bytes(tensor: Tensor) -> int:
    """Bytes that the tensor takes in the arena; `size` of its descriptor has slack behind them (om-format.md 4)."""
    shape = tensor.shape
    if tensor.layout is Layout.NC1HWC0 and len(shape) == 4:
        shape = packed_shape(tensor.layout, shape, tensor.dtype)
    return math.prod(shape) * tensor.dtype.itemsize


# --- text -----------------------------------------------------------------------------------------------------------


def lines(report: dict[str, Any], constants: bool = True) -> Iterator[str]:
    """The document for a person: a summary, then all the rest; `constants` tells each of them."""
    header, model = report["header"], report["ModelDef"]
    version = f"0x{header['version']:08X}"
    yield f"model {model.get('name', '')!r}"
    yield from (f"  {line}" for line in summary_lines(report["summary"]))
    yield from (f"refused: {line}" for line in report["refusals"])
    yield from (f"note: {note}" for note in report["notes"])
    yield f"OM container version {version}, {report['table_bits']}-bit table, model kind {report['kind']}"
    for key, value in header.items():
        if key != "version":
            yield f"  {key} {value if value == 0 or str(value).strip('0') else 'zero'}"
    for each in report["partitions"]:
        yield f"partition {each['name']} (type {each['type']}): offset {each['offset']}, {each['size']} bytes"
    yield "ModelDef"
    for key in sorted(model):
        if key not in ("name", "op", "graph", "attr"):
            yield from tree_lines(key, model[key], "  ")
    for key, value in model.get("attr", {}).items():
        yield from tree_lines(f"attr {key}", value, "  ")
    yield f"soc_version {report['soc_version'] or 'not stated'}"
    if "soc" in report:
        yield f"accepted by {report['soc']}: {ACCEPTED[report['accepts_soc']]}"
    yield f"dynamic gears: {', '.join(map(str, report['gears'])) or 'none'}"
    if "graph" not in model:
        yield from _graph_lines({key: model[key] for key in ("name", "op") if key in model})
    for graph in model.get("graph", []):
        yield from _graph_lines(graph)
    for each in report["constants"] if constants else ():
        yield f"constant {each['name']}: {each['dtype']}{each['shape']} {each['layout']}, {each['bytes']} bytes"
    for each in report["tasks"]:
        yield f"tasks on stream {each['stream_id']}: {each['count']} of type {each['type']} ({each['name']})"


def _graph_lines(graph: dict[str, Any], indent: str = "") -> Iterator[str]:
    yield f"{indent}graph {graph.get('name', '')!r}: {len(graph.get('op', []))} ops"
    for place, op in enumerate(graph.get("op", [])):
        results = ", ".join(_described(each) for each in op.get("output_desc", []))
        sources = ", ".join(_edges(op))
        stream = f", stream {op['stream_id']}" if op.get("stream_id") else ""
        yield f"{indent}  op {place} {op.get('name', '')!r} {op.get('type', '')}{stream}: {sources} -> {results}"
        for key, value in op.items():
            if key == "attr":
                for name, each in value.items():
                    if name != "subgraph" or not isinstance(each, dict):
                        yield from tree_lines(name, each, indent + "      ")
            elif key not in ("name", "type", "stream_id"):
                yield from tree_lines(key, value, indent + "      ")
        subgraph = op.get("attr", {}).get("subgraph")
        if isinstance(subgraph, dict):
            yield from _graph_lines(subgraph, indent + "    ")
    for key, value in graph.items():
        if key not in ("name", "op", "attr"):
            yield from tree_lines(key, value, indent + "  ")
    for key, value in graph.get("attr", {}).items():
        yield from tree_lines(f"attr {key}", value, indent + "  ")


def _edges(op: dict[str, Any]) -> list[str]:
    """What an op reads; `input` holds edges in the graph kind and offsets in domi."""
    edges = [each for each in op.get("input", []) if isinstance(each, str)]
    if edges:
        return edges
    indices = [str(index) for index in op.get("src_index", [])]
    names = op.get("src_name", [])
    return [":".join(pair) for pair in zip(names, indices, strict=False)]


def _described(descriptor: dict[str, Any]) -> str:
    """Names in the graph kind, numbers in domi, which are shown by name where they have one."""
    if "dtype" in descriptor or "layout" in descriptor:
        dims = descriptor.get("shape", {}).get("dim", [])
        return f"{descriptor.get('dtype', 'DT_UNDEFINED')}{dims} {descriptor.get('layout', '')}".rstrip()
    number, layout = descriptor.get("data_type", 0), descriptor.get("format", 0)
    dtype = str(INT_DTYPES[number]) if number in INT_DTYPES else f"data_type {number} "
    return f"{dtype}{descriptor.get('dim', [])} {INT_FORMATS.get(layout, f'format {layout}')}"
