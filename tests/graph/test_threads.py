"""Threads that share an op: the same bytes as one, errors that come out, and every part done once."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from emu.errors import GraphError
from emu.graph import threads
from emu.graph.executor import run_plan
from emu.graph.load import read_graph
from emu.graph.plan import make_plan
from tests.graph import nets


@pytest.mark.parametrize("name", ["residual", "plain", "separable"])
@pytest.mark.parametrize("size", [64, 112])
def test_any_number_of_threads_gives_the_same(name: str, size: int) -> None:
    net, result = getattr(nets, name)(size=size)
    plan = make_plan(read_graph(net.om(result)))
    x = np.random.default_rng(0).standard_normal(net.shape, np.float32)
    with threadpool_limits(1):
        (want,) = run_plan(plan, {"data": x}).values()
        for count in (2, 3, 5):
            (got,) = run_plan(plan, {"data": x}, threads=count).values()
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6 * np.abs(want).max())
            (again,) = run_plan(plan, {"data": x}, threads=count).values()
            assert np.array_equal(got, again)


def test_every_part_is_done_once_and_errors_come_out() -> None:
    done = np.zeros(100, int)

    def worker():
        def do(part: int) -> None:
            if part == 71:
                raise ValueError("seventy-one")
            done[part] += 1

        return do

    with threads.using(4):
        assert threads.count() == 4
        threads.spread(worker, range(70))
        with pytest.raises(ValueError, match="seventy-one"):
            threads.spread(worker, range(70, 100))
    assert threads.count() == 1
    assert (done[:70] == 1).all() and done.max() == 1
    threads.spread(worker, range(5))
    assert (done[:5] == 2).all()


@pytest.mark.parametrize(("length", "parts"), [(1, 4), (16, 2), (100, 3), (64, 4), (17, 2)])
def test_shares_cover_all(length: int, parts: int) -> None:
    found = threads.shares(length, parts)
    assert len(found) <= parts
    assert [at for part in found for at in range(part.start, part.stop)] == list(range(length))


def test_a_fault_in_a_thread_is_an_error_of_its_op() -> None:
    net, result = nets.separable(size=32, width=8)
    graph = read_graph(net.om(result))
    plan = make_plan(graph)
    next(tensor for tensor in graph.tensors if tensor.name == "p0:0").shape = (1, 9, 16, 16)
    with pytest.raises(GraphError, match="op 'p0'"):
        run_plan(plan, {"data": np.zeros(net.shape, np.float32)}, threads=3)
