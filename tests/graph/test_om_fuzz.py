"""Damaged .om files: every one is read, or refused with one line; never a crash, a hang or a huge allocation."""

from __future__ import annotations

import contextlib
import struct
import tracemalloc

import numpy as np
import pytest

from emu.errors import GraphError
from emu.graph import executor
from emu.graph.dynamic import specialise
from emu.graph.feed import made_up
from emu.graph.load import read_graph
from emu.graph.plan import make_plan
from emu.graph.readers.om import container as om_container
from emu.graph.readers.om import describe as om_describe
from emu.graph.readers.om.domi import parse
from emu.graph.writers.om import write_om
from emu.graph.writers.om_graph_kind import rewrite
from emu.schemas import ge_ir_pb2, om_pb2
from tests.conftest import SHARED
from tests.effort import within
from tests.graph import test_om_control, test_om_control_streams, test_om_ge_ops
from tests.graph.om_cases import VALID

MEMORY = 200 << 20
WORK = 1 << 22
"""Bytes of live tensors up to which a mutant that is still sound is also run."""

FORGED = [0, 1, 0x7F, 0x80, 0xFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF]


def attempt(data: bytes) -> str:
    """Read, describe and, if it is small, run; the status of the refusal or "ok". Anything but GraphError escapes."""
    try:
        with within(MEMORY):
            _judge(data)
    except GraphError as error:
        line = error.line()
        assert "\n" not in line
        assert len(line) < 20000
        if isinstance(error.__cause__, MemoryError):  # refused at once, or after it had taken what it could?
            assert _peak(data) < MEMORY
        return error.name
    return "ok"


def _judge(data: bytes) -> None:
    graph = read_graph(data)
    for line in om_describe.lines(om_describe.document(data)):
        assert isinstance(line, str)
    graph = specialise(graph, {})
    plan = make_plan(graph)
    if plan.peak <= WORK:
        executor.run_plan(plan, made_up(graph, graph.inputs, 0))


def _peak(data: bytes) -> int:
    tracemalloc.start()
    try:
        with contextlib.suppress(GraphError):
            _judge(data)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def mutants(data: bytes, random: np.random.Generator, count: int):
    """Flipped bytes, forged numbers, cuts, doubled and removed pieces; header and table left sound half of the time."""
    for _ in range(count):
        mutant = bytearray(data)
        start = 0 if random.integers(4) == 0 else min(284, len(data) - 1)
        for _ in range(int(random.integers(1, 4))):
            at = int(random.integers(start, len(mutant)))
            match int(random.integers(6)):
                case 0:
                    mutant[at] ^= 1 << int(random.integers(8))
                case 1:
                    mutant[at] = int(random.integers(256))
                case 2:
                    value = FORGED[int(random.integers(len(FORGED)))]
                    packed = struct.pack("<Q", value)[: int(random.choice([1, 4, 8]))]
                    mutant[at : at + len(packed)] = packed
                case 3:
                    mutant = mutant[: max(at, 1)]
                    break
                case 4:
                    size = int(random.integers(1, 32))
                    mutant[at:at] = mutant[at : at + size]
                case _:
                    del mutant[at : at + int(random.integers(1, 16))]
        if random.integers(2) and len(mutant) > 284:
            repair(mutant)
        yield bytes(mutant)


def repair(mutant: bytearray) -> None:
    """Sizes in header and table as the container wants them, so that the mutation reaches the model."""
    struct.pack_into("<I", mutant, 76, len(mutant) - 256)
    (count,) = struct.unpack_from("<I", mutant, 256)
    if count != 2:
        return
    base = 256 + 4 + 2 * 12
    (weights,) = struct.unpack_from("<I", mutant, 256 + 4 + 12 + 8)
    model = len(mutant) - base - weights
    if model > 0:
        struct.pack_into("<II", mutant, 256 + 4 + 4, 0, model)
        struct.pack_into("<I", mutant, 256 + 4 + 12 + 4, model)


def as_graph_kind(data: bytes) -> bytes:
    """The same model of the other kind; as it is where it has an op that the graph kind has not."""
    container = om_container.read_container(data)
    model = parse(container.find(om_container.MODEL_DEF))
    try:
        return rewrite(model, container.find(om_container.WEIGHTS_DATA))
    except GraphError:
        return data


@pytest.mark.parametrize("part", range(9))
def test_damaged_domi_models(part: int):
    random = np.random.default_rng(part)
    outcomes = [attempt(mutant) for case in VALID[part::9] for mutant in mutants(case.data, random, 12)]
    assert {"ok", "OM_CONTAINER"} <= set(outcomes)


@pytest.mark.parametrize("part", range(9))
def test_damaged_graph_models(part: int):
    random = np.random.default_rng(100 + part)
    outcomes = [attempt(mutant) for case in VALID[part::9] for mutant in mutants(as_graph_kind(case.data), random, 8)]
    assert {"ok", "OM_CONTAINER"} <= set(outcomes)


@pytest.mark.parametrize("path", sorted((SHARED / "om").glob("*.om")), ids=lambda path: path.name[:24])
def test_damaged_real_files(path):
    data = path.read_bytes()
    if len(data) > 100_000:
        pytest.skip("large files are covered by the smaller ones of their kind")
    random = np.random.default_rng(len(data))
    for mutant in mutants(data, random, 25):
        attempt(mutant)


@pytest.mark.parametrize("case", VALID[::15], ids=lambda case: case.name)
def test_every_cut(case):
    data = case.data
    for end in range(0, len(data), 7):
        with pytest.raises(GraphError):
            read_graph(data[:end])


# --- mutants of the message, which protobuf always decodes -----------------------------------------------------------


def scalars(message, found):
    """Every scalar field that is set, of a message and of all below it: (message, descriptor, place in the list)."""
    for descriptor, value in message.ListFields():
        if descriptor.message_type is not None:
            if descriptor.message_type.GetOptions().map_entry:
                if descriptor.message_type.fields_by_name["value"].message_type is not None:
                    for key in sorted(value):
                        scalars(value[key], found)
            elif descriptor.is_repeated:
                for each in value:
                    scalars(each, found)
            else:
                scalars(value, found)
        elif descriptor.is_repeated:
            found += [(message, descriptor, at) for at in range(len(value))]
        else:
            found.append((message, descriptor, None))
    return found


INTEGERS = [
    0,
    1,
    -1,
    2,
    3,
    7,
    255,
    1 << 16,
    (1 << 31) - 1,
    -(1 << 31),
    (1 << 32) - 1,
    1 << 40,
    (1 << 63) - 1,
    -(1 << 63),
]
FLOATS = [0.0, -0.0, 1.0, -1.0, 1e-45, 3e38, float("inf"), float("nan")]


def forge(model, random: np.random.Generator) -> None:
    """One to three scalar fields set to a value of the edges; strings swapped with those of other fields."""
    found = scalars(model, [])
    for _ in range(int(random.integers(1, 4))):
        message, descriptor, at = found[int(random.integers(len(found)))]
        kind = descriptor.cpp_type
        if kind in (descriptor.CPPTYPE_STRING,):
            others = [f for f in found if f[1].type == descriptor.type]
            other = others[int(random.integers(len(others)))]
            value = getattr(other[0], other[1].name)
            value = value if other[2] is None else value[other[2]]
            if descriptor.type == descriptor.TYPE_BYTES and random.integers(2):
                value = value[: int(random.integers(len(value) + 1))]
        elif kind in (descriptor.CPPTYPE_FLOAT, descriptor.CPPTYPE_DOUBLE):
            value = FLOATS[int(random.integers(len(FLOATS)))]
        elif kind == descriptor.CPPTYPE_BOOL:
            value = bool(random.integers(2))
        else:
            value = INTEGERS[int(random.integers(len(INTEGERS)))]
            limits = {
                descriptor.CPPTYPE_INT32: (-(1 << 31), (1 << 31) - 1),
                descriptor.CPPTYPE_ENUM: (-(1 << 31), (1 << 31) - 1),
                descriptor.CPPTYPE_UINT32: (0, (1 << 32) - 1),
                descriptor.CPPTYPE_INT64: (-(1 << 63), (1 << 63) - 1),
                descriptor.CPPTYPE_UINT64: (0, (1 << 64) - 1),
            }[kind]
            value = min(max(value, limits[0]), limits[1])
        if at is None:
            setattr(message, descriptor.name, value)
        else:
            getattr(message, descriptor.name)[at] = value


def forged(data: bytes, random: np.random.Generator, count: int):
    container = om_container.read_container(data)
    weights = bytes(container.find(om_container.WEIGHTS_DATA) or b"")
    message_type = om_pb2.ModelDef if om_container.model_kind(container.find(0)) == "domi" else ge_ir_pb2.ModelDef
    for _ in range(count):
        model = message_type.FromString(bytes(container.find(om_container.MODEL_DEF)))
        forge(model, random)
        yield write_om(model, weights)


@pytest.mark.parametrize("graph_kind", [False, True])
@pytest.mark.parametrize("part", range(5))
def test_forged_fields(part: int, graph_kind: bool):
    random = np.random.default_rng((200 + part, graph_kind))
    outcomes = set()
    for case in VALID[part::5]:
        data = as_graph_kind(case.data) if graph_kind else case.data
        outcomes |= {attempt(mutant) for mutant in forged(data, random, 10)}
    assert {"ok", "GRAPH_STRUCTURE", "GRAPH_SHAPE", "GRAPH_UNSUPPORTED"} <= outcomes


CONTROL = [lambda: test_om_control_streams.switch_model(1), test_om_control_streams.loop_model,
           test_om_control_streams.label_model, test_om_control.if_model, test_om_control.while_model,
           test_om_control.dynamic_model,
           lambda: test_om_control.gear_model([[1], [2]], lambda gear: (gear[0], 3))]  # fmt: skip


@pytest.mark.parametrize("part", range(8))
def test_forged_made_up_models(part: int, monkeypatch: pytest.MonkeyPatch):
    """Ops, control flow and unknown dims of the graph kind that the cases above do not have."""
    monkeypatch.setattr("emu.graph.ops.call.RUN_LIMIT", 1000)
    monkeypatch.setattr("emu.graph.ops.streams.STEP_LIMIT", 1000)
    random = np.random.default_rng(300 + part)
    models = [make() for make in CONTROL for _ in range(3)]
    for model in models:
        if model.graph.op[-1].type != "NetOutput":
            model.end(f"{model.graph.op[-1].name}:0")
    models += [test_om_ge_ops.one_model(*case)[0] for case in test_om_ge_ops.ONE[part::8]]
    outcomes = {attempt(mutant) for model in models for mutant in forged(write_om(model.message), random, 12)}
    assert {"ok", "GRAPH_STRUCTURE", "GRAPH_SHAPE"} <= outcomes
