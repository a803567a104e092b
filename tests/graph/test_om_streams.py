"""Random graphs on several streams against a walk through their queues: the same results, or the same deadlock
(om-format.md 5, graph-conventions.md OM-S)."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest

from emu.errors import GraphError, GraphStatus
from emu.graph.executor import run
from emu.graph.readers import om
from emu.graph.writers.om import write_om
from emu.schemas import om_pb2

SEEDS = range(150)


def random_queues(random: np.random.Generator) -> tuple[list[list[om_pb2.OpDef]], int]:
    """Ops by stream, every one after what it reads: by its place in the queue, or by an event."""
    streams = int(random.integers(1, 5))
    queues: list[list[om_pb2.OpDef]] = [[] for _ in range(streams)]
    made: list[tuple[str, int]] = []
    events = 0
    for place in range(int(random.integers(3, 14))):
        stream = int(random.integers(streams))
        name = f"op{place}"
        op = om_pb2.OpDef(name=name, type="Eltwise", stream_id=stream)
        op.output_desc.add(format=2, dim=[3])
        op.eltwise_param.mode = 1
        if not made:
            op = om_pb2.OpDef(name=name, type="Data", stream_id=stream)
            op.output_desc.add(format=2, dim=[3])
        else:
            for at in random.integers(0, len(made), int(random.integers(1, 4))):
                source, home = made[int(at)]
                op.src_name.append(source)
                op.src_index.append(0)
                if home != stream:
                    send = om_pb2.OpDef(name=f"send{events}", type="Send", stream_id=home)
                    recv = om_pb2.OpDef(name=f"recv{events}", type="Recv", stream_id=stream)
                    send.sender_param.event_id = recv.receiver_param.event_id = events
                    after = [each.name for each in queues[home]].index(source) + 1
                    queues[home].insert(int(random.integers(after, len(queues[home]) + 1)), send)
                    queues[stream].append(recv)
                    events += 1
            op.eltwise_param.coeff.extend([1.0] * len(op.src_name))
        queues[stream].append(op)
        made.append((name, stream))
    end = om_pb2.OpDef(name="end", type="NetOutput", stream_id=0, src_name=[made[-1][0]], src_index=[0])
    queues[0].append(end)
    return queues, events


def interleaved(queues: list[list[om_pb2.OpDef]], random: np.random.Generator) -> list[om_pb2.OpDef]:
    """One list that keeps the order within every stream and no other."""
    rest = [deque(queue) for queue in queues]
    found = []
    while any(rest):
        found.append(random.choice([at for at, queue in enumerate(rest) if queue]))
        found[-1] = rest[int(found[-1])].popleft()
    return found


def walk(queues: list[list[om_pb2.OpDef]], x: np.ndarray) -> np.ndarray | None:
    """The result of the last op, or None where all streams wait."""
    rest = [deque(queue) for queue in queues]
    values: dict[str, np.ndarray] = {}
    sent: set[int] = set()
    moved = True
    while moved:
        moved = False
        for queue in rest:
            while queue:
                op = queue[0]
                if op.type == "Recv" and op.receiver_param.event_id not in sent:
                    break
                if any(name not in values for name in op.src_name):
                    break
                if op.type == "Send":
                    sent.add(op.sender_param.event_id)
                elif op.type == "Data":
                    values[op.name] = x
                elif op.type != "Recv":
                    values[op.name] = np.sum([values[name] for name in op.src_name], axis=0)
                queue.popleft()
                moved = True
    return None if any(rest) else values["end"]


def swap(queues: list[list[om_pb2.OpDef]], random: np.random.Generator) -> None:
    """Two neighbours of some queue change places."""
    queue = queues[int(random.integers(len(queues)))]
    if len(queue) > 1:
        at = int(random.integers(len(queue) - 1))
        queue[at], queue[at + 1] = queue[at + 1], queue[at]


def result(queues: list[list[om_pb2.OpDef]], events: int, random: np.random.Generator, x: np.ndarray) -> np.ndarray:
    model = om_pb2.ModelDef(name="streams", stream_num=len(queues), event_num=events)
    model.op.extend(interleaved(queues, random))
    (found,) = run(om.read(write_om(model)), {"op0": x}).values()
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_any_interleaving_of_streams(seed: int):
    random = np.random.default_rng(seed)
    queues, events = random_queues(random)
    x = random.integers(-8, 9, 3).astype(np.float32)
    want = walk(queues, x)
    assert want is not None
    for _ in range(3):
        assert np.array_equal(result(queues, events, random, x), want)


@pytest.mark.parametrize("seed", SEEDS)
def test_queues_in_another_order(seed: int):
    """Two neighbours of a queue change places, some times over: it runs as the walk does, or is refused where the walk
    stands still, with a cycle whose ops each wait for the next."""
    random = np.random.default_rng(seed)
    queues, events = random_queues(random)
    x = random.integers(-8, 9, 3).astype(np.float32)
    for _ in range(4):
        swap(queues, random)
        want = walk(queues, x)
        if want is not None:
            assert np.array_equal(result(queues, events, random, x), want)
            continue
        with pytest.raises(GraphError) as caught:
            result(queues, events, random, x)
        assert caught.value.status is GraphStatus.GRAPH_STRUCTURE
        assert caught.value.exit_code == 3
        check_cycle(caught.value.where["cycle"], queues)


def check_cycle(cycle: list[str], queues: list[list[om_pb2.OpDef]]) -> None:
    ops = {op.name: op for queue in queues for op in queue}
    place = {op.name: at for queue in queues for at, op in enumerate(queue)}
    if len(cycle) == 8:
        return  # the error shows no more
    for name, other in zip(cycle, [*cycle[1:], cycle[0]], strict=True):
        op, before = ops[name], ops[other]
        queued = op.stream_id == before.stream_id and place[name] == place[other] + 1
        event = op.type == "Recv" and before.type == "Send" and (
            op.receiver_param.event_id == before.sender_param.event_id)  # fmt: skip
        assert queued or event or other in op.src_name


def test_both_ends_are_drawn():
    ends = set()
    for seed in SEEDS:
        random = np.random.default_rng(seed)
        queues, _ = random_queues(random)
        for _ in range(4):
            swap(queues, random)
            ends.add(walk(queues, np.zeros(3, np.float32)) is None)
    assert ends == {True, False}
