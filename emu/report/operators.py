"""What the operators of an OM or MS graph cost: counted from shapes, timed where the graph was run."""

from __future__ import annotations

from msgspec import Struct

from emu.graph.costs import macs
from emu.graph.dynamic import specialise
from emu.graph.executor import run_plan
from emu.graph.feed import made_up
from emu.graph.ir import Graph
from emu.graph.plan import Plan, make_plan
from emu.graph.profile import Profile


class OperatorCost(Struct, frozen=True):
    """One operator; `time_ns` None: the graph was not run. `bytes` are read and written."""

    name: str
    type: str
    macs: int
    bytes: int
    time_ns: int | None = None


def operator_costs(graph: Graph, run: bool) -> tuple[Plan, list[OperatorCost]]:
    """The plan of a graph and its operators in the order of the plan, with `run` timed on this machine.

    Raises GraphError as the executor does.
    """
    whole = specialise(graph, {})
    plan = make_plan(whole)
    if run:
        inputs = made_up(whole, whole.inputs, 0)
        run_plan(plan, inputs, watch=Profile(whole))  # the first run prepares the plan
        profile = Profile(whole)
        run_plan(plan, inputs, watch=profile)
        return plan, [OperatorCost(one.name, one.type, one.macs, one.bytes, one.time_ns) for one in profile.costs]
    return plan, [
        OperatorCost(
            node.name,
            node.type,
            macs(whole, node),
            sum(whole.tensors[at].nbytes for at in (*node.inputs, *node.outputs) if at is not None),
        )
        for node in (whole.nodes[place] for place in plan.order)
    ]
