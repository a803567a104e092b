"""What `emu run` of a graph shows beside its outputs: costs of the ops, every tensor, differences from a reference."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from emu.arrays import open_arrays, output_file_name, save_array
from emu.cli.options import located, open_model, output_directory
from emu.cli.run_options import RunOptions
from emu.errors import CommandLineError
from emu.files import shown
from emu.graph.compare import TOLERANCE, Collection, Comparison, Watches, named_results
from emu.graph.dynamic import specialise
from emu.graph.executor import Watch, run_plan
from emu.graph.feed import input_error
from emu.graph.ir import Array, Graph
from emu.graph.load import map_file, read_graph
from emu.graph.plan import Plan, make_plan
from emu.graph.profile import Profile
from emu.output import Output
from emu.recognise import Kind

SHOWN_DIFFERENCES = 10
SHOWN_COSTS = 40


class Instruments:
    """`--profile`, `--dump-all`, `--compare` and `--against` of one run; `trace`: the file of `--profile`, opened."""

    def __init__(
        self, options: RunOptions, plan: Plan, gear: tuple[int, ...] | None, trace: Output | None = None
    ) -> None:
        if options.compare is not None and options.against is not None:
            raise CommandLineError("--compare and --against: one reference at a time")
        if options.tolerance is not None and options.compare is None and options.against is None:
            raise CommandLineError("--tolerance without --compare or --against")
        self._options, self._plan, self._gear = options, plan, gear
        self._profile: Profile | None = None
        self._comparison: Comparison | None = None
        self._trace = trace
        self._reference: dict[str, Callable[[], Array]] = {}
        if options.compare is not None:
            files = open_arrays(Path(options.compare))
            self._reference = {name: file.load for name, file in files.items()}

    @property
    def different(self) -> bool:
        return self._comparison is not None and bool(self._comparison.differences)

    def feeds(self, given: dict[str, Array]) -> dict[str, Array]:
        """The given inputs, and those that the file to compare with has."""
        names = {port.name for port in self._plan.graph.inputs} & set(self._reference) - set(given)
        return given | {name: self._reference[name]() for name in sorted(names)}

    def prepared(self, inputs: Mapping[str, Array]) -> Watch | None:
        """What watches the run on these inputs; None where nothing does."""
        options, graph = self._options, self._plan.graph
        watches: list[Watch] = []
        if options.profile is not None:
            # the first run prepares the steps, and reads the weights from the file
            run_plan(self._plan, inputs, watch=Watches())
            self._profile = Profile(graph)
            watches.append(self._profile)
        if options.against is not None:
            self._reference = self._other(options.against, inputs)
        if options.compare is not None or options.against is not None:
            tolerance = TOLERANCE if options.tolerance is None else options.tolerance
            for port in graph.inputs:
                self._reference.pop(port.name, None)
            if not self._reference.keys() & self._names():
                what = "--compare" if options.against is None else "--against"
                raise CommandLineError(f"{what}: nothing in it has the name of a tensor or op of this run")
            self._comparison = Comparison(graph, self._reference, tolerance)
            watches.append(self._comparison)
        if options.dump_all is not None:
            watches.append(self._dump(options.dump_all, inputs))
        return Watches(*watches) if watches else None

    def _names(self) -> set[str]:
        """Of all results of the run."""
        graph = self._plan.graph
        nodes = (graph.nodes[place] for place in self._plan.order)
        return {name for node in nodes for names, _ in named_results(graph, node) for name in names}

    def _dump(self, argument: str, inputs: Mapping[str, Array]) -> Collection:
        """Inputs are written at once, every result when it is there."""
        graph = self._plan.graph
        nodes = (graph.nodes[place] for place in self._plan.order)
        names = [names[0] for node in nodes for names, _ in named_results(graph, node)]
        directory = output_directory(argument, [*inputs, *names])
        position = 0

        def keep(name: str, array: Array) -> None:
            nonlocal position
            save_array(directory / output_file_name(position, name), array)
            position += 1

        for name, array in inputs.items():
            keep(name, array)
        return Collection(graph, keep)

    def _other(self, argument: str, inputs: Mapping[str, Array]) -> dict[str, Callable[[], Array]]:
        """Every tensor of another model on the same inputs, as far as this one has its name."""
        other = open_model(argument)
        if other.kind not in (Kind.OM, Kind.MS):
            raise CommandLineError("--against takes an OM or MS graph", file=shown(argument))
        own = self._names()
        found: dict[str, Callable[[], Array]] = {}
        with located(other.name):
            graph = read_graph(map_file(other.source), self._gear)
            feeds = _same_inputs(graph, inputs)
            graph = specialise(graph, {name: array.shape for name, array in feeds.items()})
            plan = make_plan(graph, limit=self._options.memory_limit)
            run_plan(plan, feeds, watch=_Named(graph, own, found))
        return found

    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self._profile is not None:
            found["profile"] = [cost.document() for cost in self._profile.dearest()]
            if self._trace is not None:
                self._write_trace(self._trace)
        if self._comparison is not None:
            found["comparison"] = {
                "compared": len(self._comparison.compared),
                "tolerance": self._comparison.tolerance,
                "missing": self._comparison.missing(),
                "differences": [each.document() for each in self._comparison.differences],
            }
        return found

    def _write_trace(self, output: Output) -> None:
        import orjson

        assert self._profile is not None
        output.stream.write(orjson.dumps(self._profile.trace()))
        output.commit()

    def lines(self) -> Iterator[str]:
        if self._profile is not None:
            yield from _profile_lines(self._profile)
        if self._comparison is not None:
            yield from _comparison_lines(self._comparison)


class _Named:
    """Watches the run of a reference model and keeps the tensors that have one of these names."""

    def __init__(self, graph: Graph, names: set[str], found: dict[str, Callable[[], Array]]) -> None:
        self._graph, self._names, self._found = graph, names, found

    def before(self, node: Any, stored: Callable[[int], Array]) -> None:
        pass

    def after(self, node: Any, stored: Callable[[int], Array]) -> None:
        for names, at in named_results(self._graph, node):
            name = next((name for name in names if name in self._names and name not in self._found), None)
            if name is not None:
                self._found[name] = partial(_itself, stored(at))


def _itself(array: Array) -> Array:
    return array


def _same_inputs(graph: Graph, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """The inputs by the names of another graph; in order where they are called differently."""
    names = [port.name for port in graph.inputs]
    if set(names) <= set(inputs):
        return {name: inputs[name] for name in names}
    if len(names) != len(inputs):
        raise input_error(f"the models take {len(inputs)} and {len(names)} inputs, of other names: {', '.join(names)}")
    return dict(zip(names, inputs.values(), strict=True))


def _profile_lines(profile: Profile) -> Iterator[str]:
    whole = sum(cost.time_ns for cost in profile.costs) or 1
    macs, moved = sum(cost.macs for cost in profile.costs), sum(cost.bytes for cost in profile.costs)
    yield f"profile: {whole / 1e6:.3f} ms in {len(profile.costs)} ops, {macs} MACs, {moved} bytes"
    yield f"{'ms':>10} {'%':>6} {'MACs':>14} {'GMAC/s':>8} {'bytes':>12}  op"
    costs = profile.dearest()
    for cost in costs[:SHOWN_COSTS]:
        rate = cost.macs / max(cost.time_ns, 1)
        share = 100 * cost.time_ns / whole
        yield (
            f"{cost.time_ns / 1e6:10.3f} {share:6.1f} {cost.macs:14d} {rate:8.2f} {cost.bytes:12d}"
            f"  {cost.name} ({cost.type})"
        )
    if len(costs) > SHOWN_COSTS:
        yield f"… {len(costs) - SHOWN_COSTS} more (--json has all)"


def _comparison_lines(comparison: Comparison) -> Iterator[str]:
    differences = comparison.differences
    for found in differences[:SHOWN_DIFFERENCES]:
        first = "first difference" if found is differences[0] else "differs"
        yield f"{first}: {found.tensor} of op {found.op}: {found.text}"
    if len(differences) > SHOWN_DIFFERENCES:
        yield f"… {len(differences) - SHOWN_DIFFERENCES} more differ"
    missing = comparison.missing()
    if missing:
        more = f", … {len(missing) - SHOWN_DIFFERENCES} more" if len(missing) > SHOWN_DIFFERENCES else ""
        yield f"not in this run: {', '.join(missing[:SHOWN_DIFFERENCES])}{more}"
    yield (
        f"compared {len(comparison.compared)} tensors, {len(differences)} differ by more than "
        f"{comparison.tolerance:g} of the largest magnitude"
    )
