"""OM, MS (predict) and MS Lite: read, described, planned, and run where that is little work."""

from __future__ import annotations

import functools
import struct
from random import Random

from emu.errors import GraphError
from emu.graph import executor
from emu.graph.dynamic import specialise
from emu.graph.feed import made_up
from emu.graph.load import read_graph
from emu.graph.plan import make_plan
from emu.graph.readers.lite import describe as lite_describe
from emu.graph.readers.lite.file import is_lite, read_meta_graph
from emu.graph.readers.ms import describe as ms_describe
from emu.graph.readers.ms.file import read_graph_def
from emu.graph.readers.om import container as om_container
from emu.graph.readers.om import describe as om_describe
from fuzz.messages import mutate_message
from fuzz.mutation import mutate_bytes, mutate_word
from fuzz.target import Target
from tests.graph import om_cases, test_lite_fuzz, test_ms_fuzz
from tests.graph.test_om_fuzz import as_graph_kind

_WORK = 1 << 20
"""Bytes of live tensors up to which a sound mutant is also run."""


def _run(data: bytes) -> str:
    graph = specialise(read_graph(data), {})
    plan = make_plan(graph)
    if plan.peak > _WORK:
        return "large"
    executor.run_plan(plan, made_up(graph, graph.inputs, 0))
    return "ran"


def read_om(data: bytes) -> str:
    for line in om_describe.lines(om_describe.document(data)):
        assert isinstance(line, str)
    return _run(data)


def read_ms(data: bytes) -> str:
    try:
        tables = read_graph_def(data)
    except GraphError:
        pass
    else:
        ms_describe.document(tables)
        list(ms_describe.lines(tables, True))
    return _run(data)


def read_lite(data: bytes) -> str:
    if is_lite(data):
        try:
            meta = read_meta_graph(data)
        except GraphError:
            pass
        else:
            lite_describe.document(meta)
            list(lite_describe.lines(meta))
    return _run(data)


def mutate_om(data: bytes, random: Random) -> bytes:
    """A field of MODEL_DEF, the constants or the header forged; the table and sizes redone."""
    try:
        found = om_container.read_container(data)
    except GraphError:
        return mutate_bytes(data, random)
    if found.table_bits != 32 or random.random() < 0.1:
        return mutate_bytes(data, random)
    parts = {one.type: bytes(data[one.start : one.start + one.size]) for one in found.partitions}
    chosen = om_container.MODEL_DEF if random.random() < 0.85 else random.choice(list(parts))
    change = mutate_message if chosen != om_container.WEIGHTS_DATA else mutate_bytes
    parts[chosen] = change(parts[chosen], random)
    table, offset = bytearray(struct.pack("<I", len(parts))), 0
    for kind, part in parts.items():
        table += struct.pack("<III", kind, offset, len(part))
        offset += len(part)
    body = bytes(table) + b"".join(parts.values())
    header = bytearray(data[: om_container.HEADER_SIZE])
    struct.pack_into("<I", header, 76, len(body))
    return bytes(header) + body


def _mutate_ms(data: bytes, random: Random) -> bytes:
    return mutate_word(data, random) if random.random() < 0.7 else mutate_bytes(data, random)


@functools.cache
def _om_seeds() -> list[bytes]:
    cases = [case.data for case in om_cases.VALID if case.path.stat().st_size < 1 << 15]
    return cases + [as_graph_kind(data) for data in cases[::4]]


@functools.cache
def _ms_seeds() -> list[bytes]:
    return test_ms_fuzz.corpus()


@functools.cache
def _lite_seeds() -> list[bytes]:
    return test_lite_fuzz.corpus()


TARGETS = (
    Target("om", _om_seeds, read_om, mutate_om),
    Target("ms", _ms_seeds, read_ms, _mutate_ms),
    Target("ms-lite", _lite_seeds, read_lite, _mutate_ms),
)
