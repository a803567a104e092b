"""Input arrays of a graph: from .npy, .npz and raw files, checked before their data is read, or made from a seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from emu.arrays import ArrayFile, open_array, open_arrays
from emu.errors import GraphError, GraphStatus
from emu.files import is_there
from emu.graph.dynamic import UNKNOWN, fits
from emu.graph.ir import Array, Graph, Port, Tensor
from emu.naming import listed, similar


def input_error(message: str, **where: str) -> GraphError:
    return GraphError(GraphStatus.GRAPH_INPUT, message, **where)


def read_arguments(graph: Graph, arguments: Sequence[str], archive: str | None) -> dict[str, Array]:
    """Arrays of `--input [NAME=]FILE` and `--inputs FILE.npz`; GRAPH_INPUT for what does not fit the graph.

    An argument is NAME=FILE only if NAME is an input's name; a plain FILE needs a graph with one input (cli.md).
    """
    ports = {port.name: graph.tensors[port.tensor] for port in graph.inputs}
    found: dict[str, Array] = {}
    if archive is not None:
        for name, array_file in open_arrays(Path(archive)).items():
            if name not in ports:
                raise _unknown(name, ports)
            found[name] = _read(name, ports[name], array_file)
    for argument in arguments:
        name, file = _split(argument, ports)
        if name in found:
            raise input_error(f"input {name!r} is given twice", input=name)
        found[name] = _read(name, ports[name], open_array(Path(file)))
    return found


def _split(argument: str, ports: Mapping[str, Tensor]) -> tuple[str, str]:
    for at, character in enumerate(argument):
        if character == "=" and argument[:at] in ports:
            return argument[:at], argument[at + 1 :]
    if len(ports) == 1 and is_there(argument):
        return next(iter(ports)), argument
    named, sign, _ = argument.partition("=")
    if sign:
        raise _unknown(named, ports)
    if len(ports) == 1:
        return next(iter(ports)), argument
    known = ", ".join(ports) or "none"
    raise input_error(f"{argument}: the model has {len(ports)} inputs ({known}), NAME=FILE is needed", file=argument)


def _unknown(name: str, ports: Mapping[str, Tensor]) -> GraphError:
    near = similar(name, ports)
    return input_error(f"no input is called {name!r}; inputs: {listed(ports)}.{near}", input=name)


def _read(name: str, tensor: Tensor, file: ArrayFile) -> Array:
    """The array of a file, which must have the tensor's dtype and shape, or as raw bytes its size."""
    if file.shape is None:
        if UNKNOWN in tensor.shape:
            raise input_error(f"input {name!r} is {tensor}: dims that the run decides need a .npy file", input=name)
        if file.size != tensor.nbytes:
            raise input_error(f"input {name!r} has {file.size} bytes, {tensor} takes {tensor.nbytes}", input=name)
        return file.load().view(tensor.dtype.newbyteorder("<")).reshape(tensor.shape)
    if file.dtype != tensor.dtype or not fits(file.shape, tensor.shape):
        raise input_error(f"input {name!r} is {file.dtype}{list(file.shape)}, the model takes {tensor}", input=name)
    return file.load()


def made_up(graph: Graph, ports: Sequence[Port], seed: int) -> dict[str, Array]:
    """Seeded arrays: floats standard normal, 8-bit integers over their whole range, other integers 0 (cli.md).

    Each input has a generator of its own, so that giving one does not change the others.
    """
    found: dict[str, Array] = {}
    for place, port in enumerate(graph.inputs):
        if port not in ports:
            continue
        tensor = graph.tensors[port.tensor]
        generator = np.random.default_rng((seed, place))
        if tensor.dtype.kind == "f":
            found[port.name] = generator.standard_normal(tensor.shape, np.float32).astype(tensor.dtype)
        elif tensor.dtype.itemsize == 1 and tensor.dtype.kind in "iu":
            limits = np.iinfo(tensor.dtype)
            found[port.name] = generator.integers(
                limits.min, limits.max, tensor.shape, dtype=tensor.dtype.type, endpoint=True
            )
        else:
            found[port.name] = np.zeros(tensor.shape, tensor.dtype)
    return found
