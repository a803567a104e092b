"""One run of an OM or MS graph for a test: its outputs and what can be asserted of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from emu.errors import EmuError, UsageError
from emu.graph.dynamic import fits, specialise
from emu.graph.executor import run_plan
from emu.graph.feed import input_error, made_up, read_arguments
from emu.graph.ir import Graph
from emu.graph.load import map_file, read_graph
from emu.graph.plan import make_plan
from emu.regression.outputs import check_outputs
from emu.regression.status import OK, check_status

_SETTINGS = ("input", "inputs", "seed", "until", "gear")


class GraphRun(Struct):
    """A finished execution. `error` is what stopped it (None: it ran to its end); `outputs` the arrays by name.

    The assertions raise AssertionError with what differs.
    """

    model: Path
    error: EmuError | None = None
    outputs: dict[str, Any] = field(default_factory=dict)
    update: bool = False
    base: Path = field(default_factory=Path)

    def assert_outputs(self, expected: str | Path | Mapping[str, Any], *, atol: float = 0.0, rtol: float = 0.0) -> Any:
        """The outputs are those of an .npz file beside the test, or of a mapping, within `atol` + `rtol` * expected.

        With `--emu-update` the file is written instead.
        """
        __tracebackhide__ = True
        self.assert_status()
        target = expected if isinstance(expected, Mapping) else self.base / expected
        check_outputs(self.model.name, target, self.outputs, update=self.update, atol=atol, rtol=rtol)
        return self

    def assert_status(self, expected: str | int = OK) -> Any:
        """How it ended: `OK`, or the name or number of the status."""
        __tracebackhide__ = True
        check_status(self.model.name, self.error, expected)
        return self


def execute_graph(model: Path, settings: Mapping[str, Any]) -> GraphRun:
    """Execute a graph as `emu run` does: inputs that are not given are seeded. `settings`: `input`, `inputs` (an .npz
    file or arrays by name), `seed`, `until`, `gear`; UsageError for any other. What stops it is in `GraphRun.error`."""
    refused = sorted(settings.keys() - set(_SETTINGS))
    if refused:
        raise UsageError(f"{', '.join(refused)}: no setting of a graph; there are {', '.join(_SETTINGS)}")
    run = GraphRun(model)
    try:
        graph = read_graph(map_file(model), settings.get("gear"))
        given = _given(graph, settings)
        graph = specialise(graph, {name: array.shape for name, array in given.items()})
        plan = make_plan(graph, settings.get("until"))
        read = {at for place in plan.order for at in graph.nodes[place].inputs if at is not None}
        read |= {port.tensor for port in plan.results}
        missing = [port for port in graph.inputs if port.name not in given and port.tensor in read]
        run.outputs = run_plan(plan, {**given, **made_up(graph, missing, settings.get("seed", 0))})
    except EmuError as error:
        run.error = error
    return run


def _given(graph: Graph, settings: Mapping[str, Any]) -> dict[str, Any]:
    inputs, arguments = settings.get("inputs"), settings.get("input", ())
    arguments = (arguments,) if isinstance(arguments, str) else tuple(arguments)
    if not isinstance(inputs, Mapping):
        return read_arguments(graph, arguments, None if inputs is None else str(inputs))
    found = read_arguments(graph, arguments, None)
    ports = {port.name: graph.tensors[port.tensor] for port in graph.inputs}
    for name, array in inputs.items():
        tensor = ports.get(name)
        if tensor is None:
            raise input_error(f"no input is called {name!r}; inputs: {', '.join(ports)}", input=name)
        if array.dtype != tensor.dtype or not fits(array.shape, tensor.shape):
            shape = list(array.shape)
            raise input_error(f"input {name!r} is {array.dtype}{shape}, the model takes {tensor}", input=name)
        found[name] = array
    return found
