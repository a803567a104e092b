"""Binds a HEF's inputs and output edges to the tensors of a model.

`bind` never guesses silently: every row says how it was found, what does not bind is listed with the reason, and what
looks wrong (a missing normalisation, values that the stream cannot hold) is a note.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from emu.dataflow.edges import InputEdge, OutputEdge, inner_edges, input_edges, output_edges
from emu.dataflow.yuv import YUV_ORDERS, to_rgb
from emu.errors import HailoError, HailoStatus, UsageError
from emu.hef.formats import Shape
from emu.hef.infos import NetworkGroupInfo
from emu.naming import listed, similar, with_full_names
from emu.reference.activations import (
    SIGMOID,
    activation_named,
    is_sigmoid,
    moved_sigmoid,
    stream_range,
)
from emu.reference.names import Candidate, NameIndex, plain
from emu.reference.script import ModelScript, Normalisation
from emu.reference.tensors import (
    LAYOUTS,
    Array,
    ReferenceModel,
    TensorInfo,
    fit,
    from_features_last,
    input_shape,
)

_SHOWN = 4  # names in a message
_CLIPPED_NOTE = 0.01  # share of a stream's range that a tensor may leave before it is worth a note
_PROBES = 2


@dataclass(frozen=True, slots=True)
class BindOptions:
    """What the user says by hand: HEF names by tensor (`TENSOR`, `TENSOR:NHWC`), what was folded into the chip."""

    maps: Mapping[str, str] = field(default_factory=dict)
    mean: tuple[float, ...] = ()
    scale: tuple[float, ...] = ()
    script: ModelScript | None = None
    quantise_edges: bool = False


@dataclass(frozen=True, slots=True)
class BoundInput:
    """An input vstream and the model input that it feeds; `mean` and `scale` by channel, empty for none."""

    edge: InputEdge
    tensor: TensorInfo
    shape: tuple[int, ...]
    layout: str
    how: str
    mean: tuple[float, ...] = ()
    scale: tuple[float, ...] = ()

    def feed(self, values: Array) -> Array:
        """A frame's real numbers, in the vstream's order, as the model takes them."""
        if self.edge.order in YUV_ORDERS:
            height, width, _ = frame_shape(self.edge)
            values = to_rgb(values.reshape(-1), height, width, self.edge.order)
        values = values.reshape(frame_shape(self.edge))
        if self.scale:
            values = (values - np.asarray(self.mean, np.float32)) / np.asarray(self.scale, np.float32)
        array = from_features_last(values, self.shape, self.layout)
        if self.tensor.dtype.kind in "iu":
            limits = np.iinfo(self.tensor.dtype)
            array = np.clip(np.rint(array), limits.min, limits.max)
        return array.astype(self.tensor.dtype)


@dataclass(frozen=True, slots=True)
class BoundOutput:
    """An output edge and the tensor whose numbers leave through it."""

    edge: OutputEdge
    tensor: TensorInfo
    layout: str
    how: str
    activation: str = ""
    why: str = ""  # of the activation


@dataclass(frozen=True, slots=True)
class Missing:
    """What binds to nothing, and why."""

    name: str
    reason: str

    def error(self, file: str) -> HailoError:
        return HailoError(
            HailoStatus.HAILO_NOT_FOUND,
            f"{self.name} is bound to nothing in {file}: {self.reason}; say it by hand: --map {self.name}=TENSOR",
        )


@dataclass(slots=True)
class Binding:
    """A group of a HEF and a model, name by name."""

    group: NetworkGroupInfo
    model: ReferenceModel
    inputs: list[BoundInput] = field(default_factory=list)
    outputs: list[BoundOutput] = field(default_factory=list)
    inner: list[BoundOutput] = field(default_factory=list)  # edges between contexts that are quantised too
    missing: list[Missing] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def require_complete(self) -> None:
        """HAILO_NOT_FOUND (exit code 3) that names the first vstream or stream without a tensor."""
        if self.missing:
            raise self.missing[0].error(self.model.file)

    def feeds(self, frame: Mapping[str, Array]) -> dict[str, Array]:
        """The model's inputs of a frame; `frame` has by vstream its real numbers."""
        return {bound.tensor.name: bound.feed(frame[bound.edge.info.name]) for bound in self.inputs}


def frame_shape(edge: InputEdge) -> Shape:
    """An input frame as the model sees it, [height, width, features]; a 4:2:0 frame is the RGB picture in it."""
    if edge.order in YUV_ORDERS:
        return Shape(edge.shape.height * 2, edge.shape.width, 3)
    if math.prod(edge.array_shape) == edge.shape.elements and len(edge.array_shape) == 3:
        return Shape(*edge.array_shape)
    return edge.shape


def bind(group: NetworkGroupInfo, model: ReferenceModel, options: BindOptions | None = None) -> Binding:
    """Find a tensor for every input and output edge of a group.

    UsageError for names or numbers of `options` that do not exist; HailoError where the model does not run. What stays
    without a tensor is in `missing`.
    """
    options = options or BindOptions()
    binding = Binding(group, model)
    edges = output_edges(group)
    inner = inner_edges(group) if options.quantise_edges else ()
    if options.quantise_edges and not inner:
        raise UsageError(
            f"--quantise-edges: no edge inside {group.name} has quantisation parameters in the HEF, it would do nothing"
        )
    maps = _checked_maps(options.maps, [edge.info.name for edge in input_edges(group)], (*edges, *inner))
    _bind_inputs(binding, maps, options)
    if len(binding.inputs) == len(group.input_vstreams) and not binding.missing:
        _quantise_inner(binding, inner, maps)
        _bind_outputs(binding, edges, maps, options)
    else:  # the model cannot be run to see shapes: names only
        index = NameIndex(model.tensors)
        for edge in edges:
            if not _candidates(edge, index, maps):
                binding.missing.append(Missing(edge.name, _nothing(edge, maps)))
    return binding


def _checked_maps(
    maps: Mapping[str, str], inputs: Iterable[str], edges: Sequence[OutputEdge]
) -> dict[str, tuple[str, str]]:
    """(tensor, layout or "") by HEF name; an op's vstream with one input stands for that input."""
    names = {name: name for name in inputs}
    for edge in edges:
        names[edge.name] = edge.name
        if edge.op is not None and edge.name == edge.op.output_name:
            names[edge.layer.name] = edge.name
    found: dict[str, tuple[str, str]] = {}
    for name, text in with_full_names(maps, names).items():
        if name not in names:
            what = f"there is no such vstream or stream; there are {listed(names)}.{similar(name, names)}"
            raise UsageError(f"--map {name}: {what}")
        tensor, colon, layout = text.rpartition(":")
        found[names[name]] = (tensor, layout) if colon and layout in LAYOUTS else (text, "")
    return found


# --- inputs ---------------------------------------------------------------------------------------------------------


def _bind_inputs(binding: Binding, maps: Mapping[str, tuple[str, str]], options: BindOptions) -> None:
    free = dict(binding.model.inputs)
    pending: list[InputEdge] = []
    edges = input_edges(binding.group)
    for edge in edges:
        if edge.info.name not in maps:
            pending.append(edge)
            continue
        tensor, layout = maps[edge.info.name]
        if tensor not in free:
            binding.missing.append(Missing(edge.info.name, f"the model has no input {tensor}{_list(free)}"))
        else:
            _try_input(binding, edge, free.pop(tensor), layout, "--map", options)
    for edge in list(pending):  # a name first, where several inputs have one shape
        names = {plain(name) for name in (*edge.original_names, edge.info.name.rpartition("/")[2])}
        named = [name for name in free if plain(name) in names and _fits(free[name], edge)]
        if len(named) == 1:
            pending.remove(edge)
            _try_input(binding, edge, free.pop(named[0]), "", "name", options)
    for edge in pending:
        fitting = [name for name in free if _fits(free[name], edge)]
        if not fitting:
            shape = "x".join(map(str, frame_shape(edge)))
            binding.missing.append(Missing(edge.info.name, f"no model input has the shape {shape}{_list(free, True)}"))
            continue
        alike = [other for other in pending if frame_shape(other) == frame_shape(edge)]
        how = "shape" if len(fitting) == 1 or len(alike) == 1 else "shape and order"
        if len(fitting) > 1:
            binding.notes.append(f"{edge.info.name}: {len(fitting)} model inputs have its shape, {fitting[0]} is taken")
        _try_input(binding, edge, free.pop(fitting[0]), "", how, options)
    if not binding.missing:
        binding.missing += [Missing(name, "the model needs this input, no vstream is left for it") for name in free]
    _check_normalisation(binding, edges, options)


def _fits(tensor: TensorInfo, edge: InputEdge) -> bool:
    return any(_concrete(tensor, edge, layout) is not None for layout in LAYOUTS)


def _concrete(tensor: TensorInfo, edge: InputEdge, layout: str) -> tuple[int, ...] | None:
    return None if tensor.shape is None else input_shape(tensor.shape, frame_shape(edge), layout)


def _try_input(
    binding: Binding, edge: InputEdge, tensor: TensorInfo, layout: str, how: str, options: BindOptions
) -> None:
    layouts = (layout,) if layout else (tensor.layout, *(one for one in LAYOUTS if one != tensor.layout))
    for one in layouts:
        shape = _concrete(tensor, edge, one)
        if shape is not None:
            normal = _normalisation(edge, options)
            mean, scale = (normal.mean, normal.deviation) if normal is not None else ((), ())
            binding.inputs.append(BoundInput(edge, tensor, shape, one, how, mean, scale))
            return
    shape_text = "x".join("?" if one is None else str(one) for one in tensor.shape or ())
    wanted = "x".join(map(str, frame_shape(edge)))
    binding.missing.append(Missing(edge.info.name, f"{tensor.name} has the shape {shape_text}, not {wanted}"))


def _normalisation(edge: InputEdge, options: BindOptions) -> Normalisation | None:
    """What was folded into the chip for this input: by hand, else out of the model script."""
    channels = frame_shape(edge).features
    if options.mean or options.scale:
        mean, scale = options.mean or (0.0,), options.scale or (1.0,)
        found = Normalisation(
            _by_channel(mean, channels, "--input-mean"), _by_channel(scale, channels, "--input-scale")
        )
        if not all(found.deviation):
            raise UsageError("--input-scale: 0 divides nothing")
        return found
    local = edge.info.name.rpartition("/")[2]
    for one in options.script.normalisations if options.script is not None else ():
        if one.layer in ("", local):
            if not all(one.deviation):
                raise UsageError(f"the model script normalises {local} by a deviation of 0")
            return Normalisation(
                _by_channel(one.mean, channels, "--alls"), _by_channel(one.deviation, channels, "--alls"), one.layer
            )
    return None


def _by_channel(values: tuple[float, ...], channels: int, option: str) -> tuple[float, ...]:
    if len(values) == 1:
        return values * channels
    if len(values) != channels:
        raise UsageError(f"{option}: {len(values)} values for an input of {channels} channels")
    return values


def _check_normalisation(binding: Binding, edges: Sequence[InputEdge], options: BindOptions) -> None:
    for edge in edges:
        if edge.order in YUV_ORDERS:
            binding.notes.append(
                f"{edge.info.name}: the model gets the {edge.order.name} frame as RGB (BT.601, assumed)"
            )
    normalised = {bound.edge.info.name for bound in binding.inputs if bound.scale}
    for edge in edges:
        folded = [name for name in edge.original_names if "normalization" in name.rpartition("/")[2].lower()]
        if folded and edge.info.name not in normalised:
            binding.notes.append(
                f"{edge.info.name}: the chip normalises it ({folded[0]}), the model gets the plain numbers; give "
                "--input-mean and --input-scale, or the model script with --alls"
            )


# --- edges inside the network ---------------------------------------------------------------------------------------


def _quantise_inner(binding: Binding, edges: Sequence[OutputEdge], maps: Mapping[str, tuple[str, str]]) -> None:
    model = binding.model
    index = NameIndex(model.tensors)
    found = {edge.name: _candidates(edge, index, maps) for edge in edges}
    names = list(dict.fromkeys(one.tensor for candidates in found.values() for one in candidates))
    if names:
        model.expose(names)
    probe = model.run(binding.feeds(_probe_frames(binding)[0]), names) if names else {}
    for edge in edges:
        layout = maps.get(edge.name, ("", ""))[1]
        bound = _choose(edge, found[edge.name], [probe], model, layout) if found[edge.name] else None
        if bound is None or isinstance(bound, Missing):
            binding.missing.append(bound or Missing(edge.name, _nothing(edge, maps)))
            continue
        highest = 255 if edge.layer.hw_data_bytes == 1 else 65535
        model.quantise(bound.tensor.name, edge.layer.quant_info, highest)
        binding.inner.append(bound)


# --- outputs --------------------------------------------------------------------------------------------------------


def _bind_outputs(
    binding: Binding, edges: Sequence[OutputEdge], maps: Mapping[str, tuple[str, str]], options: BindOptions
) -> None:
    model = binding.model
    index = NameIndex(model.tensors)
    found = {edge.name: _candidates(edge, index, maps) for edge in edges}
    names = list(dict.fromkeys(one.tensor for candidates in found.values() for one in candidates))
    if not names:
        binding.missing += [Missing(edge.name, _nothing(edge, maps)) for edge in edges]
        return
    model.expose(names)
    probes = [model.run(binding.feeds(frame), names) for frame in _probe_frames(binding)]
    for edge in edges:
        mapped = maps.get(edge.name)
        layout = "" if mapped is None else mapped[1]
        bound = _choose(edge, found[edge.name], probes, model, layout) if found[edge.name] else None
        if bound is None or isinstance(bound, Missing):
            binding.missing.append(bound or Missing(edge.name, _nothing(edge, maps)))
            continue
        _note_doubt(binding, bound, found[edge.name], probes[0])
        binding.outputs.append(_activated(binding, bound, probes, options))
    _note_earlier_names(binding)


def _note_doubt(
    binding: Binding, bound: BoundOutput, candidates: Sequence[Candidate], probe: Mapping[str, Array]
) -> None:
    """Where one and the same name may mean several tensors of the right size."""
    name = next(one.name for one in candidates if one.tensor == bound.tensor.name)
    size = probe[bound.tensor.name].size
    alike = [one.tensor for one in candidates if one.name == name and probe[one.tensor].size == size]
    if len(alike) > 1:
        binding.notes.append(f"{bound.edge.name}: {name} may be {_shown(alike)}; {bound.tensor.name} is taken")


def _candidates(edge: OutputEdge, index: NameIndex, maps: Mapping[str, tuple[str, str]]) -> tuple[Candidate, ...]:
    if edge.name in maps:
        tensor = maps[edge.name][0]
        exact = index.find(tensor)
        return tuple(Candidate(one.tensor, tensor, "--map") for one in exact if one.how in ("tensor name", "node name"))
    if edge.original_names:
        return index.candidates(edge.original_names)
    local = edge.name.rpartition("/")[2]
    return tuple(
        Candidate(one.tensor, local, "its own name, there is no original one")
        for one in index.find(local)
        if one.how in ("tensor name", "node name", "name")
    )


def _nothing(edge: OutputEdge, maps: Mapping[str, tuple[str, str]]) -> str:
    if edge.name in maps:
        return f"the model has no tensor {maps[edge.name][0]}"
    if not edge.original_names:
        return "the HEF keeps no original name of it"
    return f"the model has no tensor or node called {_shown(edge.original_names)}"


def _probe_frames(binding: Binding) -> list[dict[str, Array]]:
    """A frame of zeros and one of noise over all codes: what shapes tensors have, and whether they leave a range."""
    frames = []
    for probe in range(_PROBES):
        rng = np.random.default_rng(probe)
        frame: dict[str, Array] = {}
        for bound in binding.inputs:
            qp = bound.edge.quant_info
            codes = rng.integers(0, 256, bound.edge.array_shape) * probe
            frame[bound.edge.info.name] = ((codes - qp.zp) * (qp.scale or 1.0)).astype(np.float32)
        frames.append(frame)
    return frames


def _choose(
    edge: OutputEdge,
    candidates: Sequence[Candidate],
    probes: Sequence[Mapping[str, Array]],
    model: ReferenceModel,
    layout: str,
) -> BoundOutput | Missing:
    fitting = []
    for one in candidates:
        tensor = model.tensors[one.tensor]
        shape = probes[0][one.tensor].shape
        layouts = boxes_layout(edge, shape) if edge.nms_infos else fit(shape, edge.shape, layout or tensor.layout)
        if layouts and (not layout or layout in layouts):
            fitting.append(BoundOutput(edge, tensor, layout or layouts[0], one.how))
    if not fitting:
        first = candidates[0].tensor
        shape_text = "x".join(map(str, probes[0][first].shape))
        wanted = "boxes by class" if edge.nms_infos else "x".join(map(str, edge.shape))
        return Missing(
            edge.name, f"{first} has the shape {shape_text}, not {wanted}{f' in {layout}' if layout else ''}"
        )
    return fitting[0]  # the last made of those that fit


def boxes_layout(edge: OutputEdge, shape: Sequence[int]) -> tuple[str, ...]:
    """Whether a tensor holds an on-chip NMS's boxes: [classes, boxes, 5] (NHWC) or [classes, 5, boxes] (NCHW)."""
    classes = sum(info.number_of_classes for info in edge.nms_infos)
    dims = tuple(shape[1:]) if len(shape) == 4 and shape[0] == 1 else tuple(shape)
    if len(dims) != 3 or dims[0] != classes:
        return ()
    return ("NHWC",) * (dims[2] == 5) + ("NCHW",) * (dims[1] == 5)


def _activated(
    binding: Binding, bound: BoundOutput, probes: Sequence[Mapping[str, Array]], options: BindOptions
) -> BoundOutput:
    """The output with what the chip does behind the tensor, and a note where the numbers do not fit all the same."""
    edge, tensor = bound.edge, bound.tensor
    if edge.nms_infos:
        return bound
    finite = [array[np.isfinite(array)] for array in (probe[tensor.name] for probe in probes) if array.size]
    lowest = min((float(array.min()) for array in finite if array.size), default=0.0)
    highest = max((float(array.max()) for array in finite if array.size), default=0.0)
    activation, why = "", ""
    said = _said_activation(edge, options.script)
    if said == SIGMOID and is_sigmoid(tensor):
        binding.notes.append(
            f"{edge.name}: {tensor.name} is a sigmoid already, the model script's is not applied again"
        )
    elif said:
        activation, why = activation_named(said, edge.name), "model script"
    elif moved_sigmoid(edge, tensor, lowest, highest):
        activation = SIGMOID
        low, high = stream_range(edge)
        why = f"the stream holds {low:.3g} to {high:.3g}, the tensor {lowest:.3g} to {highest:.3g}"
    if not activation:
        low, high = stream_range(edge)
        room = (high - low) * _CLIPPED_NOTE
        if lowest < low - room or highest > high + room:
            binding.notes.append(
                f"{edge.name}: {tensor.name} goes from {lowest:.3g} to {highest:.3g} on made-up frames, the stream "
                f"holds {low:.3g} to {high:.3g}: numbers beyond are clipped"
            )
    return BoundOutput(edge, tensor, bound.layout, bound.how, activation, why)


def _said_activation(edge: OutputEdge, script: ModelScript | None) -> str:
    if script is None:
        return ""
    names = (edge.layer.name.rpartition("/")[2], "")
    return next((script.activations[name] for name in names if name in script.activations), "")


def _note_earlier_names(binding: Binding) -> None:
    """Where the last of a layer's fused names is not in the model, what it stands for may be missing."""
    index = NameIndex(binding.model.tensors)
    for bound in binding.outputs:
        names = bound.edge.original_names
        unknown = [name for name in names if not index.find(name)]
        if bound.how != "--map" and unknown and unknown[-1] == names[-1] and len(unknown) < len(names):
            binding.notes.append(
                f"{bound.edge.name}: the model has no {_shown(unknown)}; bound to {bound.tensor.name} before it"
            )


def _list(tensors: Mapping[str, Any], shapes: bool = False) -> str:
    if not tensors:
        return ""
    texts = []
    for name, info in list(tensors.items())[:_SHOWN]:
        shape = "x".join("?" if one is None else str(one) for one in info.shape or ()) if shapes else ""
        texts.append(f"{name} {shape}".rstrip())
    more = f" and {len(tensors) - _SHOWN} more" if len(tensors) > _SHOWN else ""
    return f" (there {'is' if len(tensors) == 1 else 'are'} {', '.join(texts)}{more})"


def _shown(names: Sequence[str]) -> str:
    return " or ".join(names[:_SHOWN]) + (f" or {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
