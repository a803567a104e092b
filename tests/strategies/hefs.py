"""Random sound HEFs: files that the real runtimes would load and configure, in every container and layout.

`hefs()` draws a `Drawn`: contents, container version and the runtime it is for. Sound means: unique stream indices in a
context, rows of whole 8-byte words, DDR rows of whole 512 bytes, every inter-context edge with both ends, one group of
allow_input_dataflow in every dynamic context, waits for streams and LCUs that exist.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable
from dataclasses import dataclass

from hypothesis import strategies as st
from msgspec.structs import replace

from emu.hef import builder, model
from emu.hef import operations as ops
from emu.hef.enums import (
    DebugType,
    EdgeConnectionType,
    EdgeLayerDirection,
    EPlanesFormat,
    ExtensionType,
    HwArch,
    NmsBurstType,
    WriteDataType,
)
from emu.hef.formats import COMPILER_FORMAT_NMS, Shape
from emu.hef.writer import HefContents, write_hef
from tests.strategies.post_process import DETECTOR, post_processed
from tests.strategies.runnable import runnable

H2D, D2H = EdgeLayerDirection.HOST_TO_DEVICE, EdgeLayerDirection.DEVICE_TO_HOST
# the bursts that can be configured (capture-findings.md 8)
BURST_TYPES = {
    HwArch.HAILO8P: NmsBurstType.H8_PER_CLASS,
    HwArch.HAILO8R: NmsBurstType.H8_PER_CLASS,
    HwArch.HAILO8L: NmsBurstType.H8_PER_CLASS,
    HwArch.HAILO1XH: NmsBurstType.H15_PER_CLASS,
}
MAX_STREAM_INDEX = 15  # enough for every device, and below each null stream (hef-compile.md 4.5)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A drawn file: what is in it, the container version, and the HailoRT that takes it."""

    contents: HefContents
    version: int
    runtime: str
    proto_hash: bool
    resources: dict[str, bytes]

    def data(self) -> bytes:
        return write_hef(self.contents, self.version, proto_hash=self.proto_hash, resources=self.resources)


# --- edges ----------------------------------------------------------------------------------------------------------

FORMATS = st.sampled_from([builder.COMPILER_FORMAT_NHCW, 0, 3, builder.COMPILER_FORMAT_NC, 7])


@st.composite
def bases(draw: st.DrawFn, sys_index: int, *, row_bytes: int | None = None) -> model.EdgeLayerBase:
    """A layer whose rows are a multiple of 8 bytes (or exactly `row_bytes`)."""
    data_bytes = draw(st.sampled_from([1, 2]))
    height = draw(st.integers(1, 12))
    if row_bytes is None:
        features = draw(st.sampled_from([1, 3, 4, 8, 16, 40]))
        padded_width = 8 * draw(st.integers(1, 4))
    else:
        features = 8
        padded_width = row_bytes // (8 * data_bytes)
    width = draw(st.integers(max(1, padded_width - 7), padded_width))
    compiler_format = draw(FORMATS) if row_bytes is None else builder.COMPILER_FORMAT_NHCW
    return builder.layer_base(
        Shape(height, width, features),
        padded=Shape(height, padded_width, features),
        format=compiler_format,
        sys_index=sys_index,
        data_bytes=data_bytes,
    )


@st.composite
def quantisation(draw: st.DrawFn) -> model.EdgeLayerNumericInfo:
    value = st.floats(-64, 64, width=32, allow_nan=False)
    return builder.numeric_info(draw(value), draw(value), draw(value), draw(value))


@dataclass(frozen=True, slots=True)
class Traits:
    """What a whole file has or has not.

    `asap`: KO_RUN_ASAP, the preliminary context starts the dataflow of context 0. `gaps`: contexts may leave out config
    channels. `per_feature`: OUTPUT_SCALE_PER_FEATURE. `bursts`: NMS_OUTPUT_BURST. `markers`: ENABLE_CONFIG_CHANNELS.
    """

    arch: HwArch
    asap: bool
    gaps: bool
    per_feature: bool
    bursts: bool
    net_flow: bool
    markers: bool


@dataclass(slots=True)
class _Context:
    """A context while it is being drawn: its layers and the stream indices it has left."""

    index: int
    free: list[int]
    layers: list[model.EdgeLayer]
    inputs: list[tuple[int, EdgeConnectionType]]
    outputs: list[int]

    def take(self) -> int:
        return self.free.pop()


@st.composite
def boundary(
    draw: st.DrawFn, context: _Context, direction: EdgeLayerDirection, name: str, networks: int, traits: Traits
) -> None:
    """Append a boundary layer, now and then a mux, a planes input or an on-chip NMS output."""
    network_index = draw(st.integers(0, networks - 1)) if networks > 1 else 0
    stream = context.take()
    edge: model.Edge = builder.layer_info(
        name,
        draw(bases(stream)),
        draw(quantisation()),
        original_names=draw(st.lists(st.sampled_from(["conv", "relu", "add"]), max_size=2)),
        transposed=draw(st.booleans()),
    )
    kind = draw(st.sampled_from(["info", "info", "info", "special"]))
    if kind == "special" and direction is D2H and draw(st.booleans()):
        edge = builder.nms_layer_info(
            name,
            classes=draw(st.integers(1, 5)),
            max_output_size=draw(st.integers(1, 20)),
            sys_index=stream,
            input_division_factor=draw(st.integers(0, 2)),
            burst_type=BURST_TYPES[traits.arch] if traits.bursts else NmsBurstType.NO_BURST,
            burst_size=draw(st.integers(1, 64)),
        )
    elif kind == "special" and direction is D2H:
        row = builder.layer_info(f"{name}/part0", draw(bases(stream, row_bytes=64)))
        base = row.edge_layer_base
        parts = [replace(row, name=f"{name}/part{part}") for part in range(2)]
        whole = replace(
            base,
            features=2 * base.features,
            padded_features=2 * base.padded_features,
            core_bytes_per_buffer=2 * base.core_bytes_per_buffer,
        )
        edge = builder.mux_layer(name, whole, parts, height_gcd=base.height, height_ratios=[1, 1])
    elif kind == "special" and len(context.free) > 4:
        luma = builder.layer_info(f"{name}/y", builder.layer_base(Shape(4, 16, 1), sys_index=stream))
        chroma = builder.layer_info(f"{name}/uv", builder.layer_base(Shape(2, 8, 2), sys_index=context.take()))
        edge = builder.planes_layer(name, EPlanesFormat.NV12, [luma, chroma], Shape(2, 16, 3))
        context.inputs.append((chroma.edge_layer_base.sys_index, EdgeConnectionType.BOUNDARY))
    context.layers.append(builder.edge_layer(edge, direction, context_index=context.index, network_index=network_index))
    if direction is H2D:
        context.inputs.append((stream, EdgeConnectionType.BOUNDARY))
    else:
        context.outputs.append(stream)


@st.composite
def detector(draw: st.DrawFn, context: _Context, name: str) -> None:
    """Append the two or three outputs of equal geometry that one decoder of an NMS op reads, or none."""
    shape = Shape(draw(st.integers(1, 5)), 8 * draw(st.integers(1, 2)), 16)
    for part in range(draw(st.sampled_from([0, 2, 3]))):
        stream = context.take()
        edge = builder.layer_info(f"{name}{DETECTOR}{part}", builder.layer_base(shape, sys_index=stream))
        context.layers.append(builder.edge_layer(edge, D2H, context_index=context.index))
        context.outputs.append(stream)


@st.composite
def inter_context(draw: st.DrawFn, producer: _Context, consumers: list[_Context], name: str) -> None:
    """Append an edge from one context to one or more later ones."""
    source = producer.take()
    base = draw(bases(source))
    ends = [(consumer.index, consumer.take()) for consumer in consumers]
    producer.layers.append(
        builder.edge_layer(
            builder.layer_info(name, base),
            D2H,
            context_index=producer.index,
            connection=EdgeConnectionType.INTERMEDIATE,
            connected=ends,
        )
    )
    producer.outputs.append(source)
    for consumer, (_, stream) in zip(consumers, ends, strict=True):
        consumer.layers.append(
            builder.edge_layer(
                builder.layer_info(f"{name}_to_{consumer.index}", replace(base, sys_index=stream)),
                H2D,
                context_index=consumer.index,
                connection=EdgeConnectionType.INTERMEDIATE,
                connected=[(producer.index, source)],
            )
        )
        consumer.inputs.append((stream, EdgeConnectionType.INTERMEDIATE))


@st.composite
def ddr_pair(draw: st.DrawFn, context: _Context, name: str) -> None:
    """Append a DDR output and the DDR input that it feeds."""
    output, target = context.take(), context.take()
    base = draw(bases(output, row_bytes=512 * draw(st.integers(1, 3))))
    rows = draw(st.integers(1, 40))
    for direction, stream, other in ((D2H, output, target), (H2D, target, output)):
        context.layers.append(
            builder.edge_layer(
                builder.layer_info(f"{name}_{direction.name.lower()}", replace(base, sys_index=stream)),
                direction,
                context_index=context.index,
                connection=EdgeConnectionType.DDR,
                connected=[(context.index, other)],
                buffers=rows,
            )
        )


# --- operations -----------------------------------------------------------------------------------------------------

U8 = st.integers(0, 255)
U32 = st.integers(0, 2**32 - 1)
U64 = st.integers(0, 2**64 - 1)
CLUSTERS, LCUS = st.integers(0, 7), st.integers(0, 15)


def ccw_writes(channels: int) -> st.SearchStrategy[ops.Action]:
    """A CCW record, inline; the writer makes it a pointer where the container wants one."""
    return st.builds(
        lambda words, channel: ops.ActionWriteDataCcw(words * 8, channel),
        st.binary(min_size=1, max_size=12),
        st.integers(0, channels - 1),
    )


@functools.cache  # one object for all that draw from it: Hypothesis looks through a strategy when it is first drawn
def plain_actions(channels: int, networks: int, most: int) -> st.SearchStrategy[list[ops.Action]]:
    """At most that many actions, of those that may stand anywhere."""
    network = st.integers(0, networks - 1)
    actions = st.one_of(
        ccw_writes(channels),
        ccw_writes(channels),
        st.builds(ops.ActionDisableLcu, LCUS, CLUSTERS, U32),
        st.builds(ops.ActionEnableLcu, LCUS, CLUSTERS, st.just(1), st.just(2), U32, network),
        st.builds(ops.ActionEnableLcu, LCUS, CLUSTERS, st.integers(0, 65535), U32, U32, network),
        st.builds(ops.ActionSwitchLcuBatch, LCUS, CLUSTERS, network),
        st.builds(
            ops.ActionEnableSequencer,
            CLUSTERS,
            U32,
            st.builds(ops.InitialL3, U8, st.integers(0, 65535), st.booleans()),
            U32,
            U64,
            U64,
            U32,
            U32,
            U32,
            U32,
            U32,
        ),
        st.builds(ops.ActionWaitForSequencer, CLUSTERS),
        st.builds(ops.ActionWaitForModuleConfigDone, U8),
        st.just(ops.ActionNone()),
        st.builds(
            ops.ActionWriteDataByType,
            U32.map(lambda address: address & ~3),
            st.sampled_from(WriteDataType),
            st.binary(max_size=4),
            U32,
            network,
            U8,
        ),
        st.builds(
            ops.ActionDebug,
            st.just(DebugType.SLEEP),
            st.builds(ops.ActionDebugSleep, st.integers(1000, 2**34)),
        ),
        st.builds(ops.ActionEnableNMS, U8, network, st.integers(1, 99), st.integers(1, 99), st.integers(0, 9)),
    )
    return st.lists(actions, max_size=most)


TRIGGER_NONE = ops.TriggerNone()
LCU_OR_NONE = (st.builds(ops.TriggerLcu, CLUSTERS, LCUS), st.just(TRIGGER_NONE))


@st.composite
def dynamic_operations(
    draw: st.DrawFn, context: _Context, channels: int, networks: int, traits: Traits, single: bool
) -> tuple[ops.Operation, ...]:
    """Configuration, one group of allow_input_dataflow, waits; the markers stand where the compiler puts them."""
    actions = functools.partial(plain_actions, channels, networks)
    before = draw(actions(6))
    after = draw(actions(2))
    out = [builder.operation(TRIGGER_NONE, *before, *allow_inputs(context, traits.markers and single), *after)]
    waits = st.one_of(
        *LCU_OR_NONE,
        *[st.just(ops.TriggerAllDataWasSentToHostPCIe(stream)) for stream in context.outputs],
        *[st.just(ops.WaitDmaIdleTrigger(stream)) for stream in context.outputs],
    )
    out += [builder.operation(trigger, *draw(actions(3))) for trigger in draw(st.lists(waits, max_size=4))]
    if traits.markers and not single:
        out.append(builder.operation(TRIGGER_NONE, ops.ActionDisableDataChannels(), ops.ActionAllowConfigChannel(0)))
    return tuple(out)


def allow_inputs(context: _Context, marker: bool) -> list[ops.Action]:
    """The one group of allow_input_dataflow, behind the marker of ENABLE_CONFIG_CHANNELS where it belongs there."""
    group: list[ops.Action] = [ops.ActionAllowConfigChannel(0)] if marker else []
    return group + [ops.ActionAllowInputDataflow(stream, connection) for stream, connection in context.inputs]


def without_gaps(operations: tuple[ops.Operation, ...]) -> tuple[ops.Operation, ...]:
    """The same with config channels numbered 0, 1 ... in each context: 4.23 aborts on a gap (hef-compile.md 2.4)."""
    used = sorted(
        {
            action.cfg_channel_index
            for item in operations
            for action in item.actions
            if isinstance(action, ops.ActionWriteDataCcw)
        }
    )

    def renumber(action: ops.Action | None) -> ops.Action | None:
        if isinstance(action, ops.ActionWriteDataCcw):
            return replace(action, cfg_channel_index=used.index(action.cfg_channel_index))
        return action

    return tuple(replace(item, actions=tuple(map(renumber, item.actions))) for item in operations)


@st.composite
def preliminary_operations(
    draw: st.DrawFn, channels: int, networks: int, traits: Traits, first_context: _Context
) -> tuple[ops.Operation, ...]:
    """Anything behind a first LCU switched off (a context without any action is never sent); with KO_RUN_ASAP also the
    dataflow of context 0."""
    first = [ops.ActionDisableLcu(0, 0, 0), *draw(plain_actions(channels, networks, 8))]
    if traits.asap:
        first += allow_inputs(first_context, traits.markers)
    more = draw(st.lists(plain_actions(channels, networks, 3), max_size=2))
    return tuple(builder.operation(TRIGGER_NONE, *part) for part in [first, *more])


# --- core ops and files ---------------------------------------------------------------------------------------------


@st.composite
def core_ops(
    draw: st.DrawFn,
    name: str,
    traits: Traits,
    networks: tuple[str, ...],
    max_contexts: int = 3,
) -> model.CoreOp:
    """A core op of 1 to `max_contexts` contexts, the first with a boundary input, the last with a boundary output."""
    channels = draw(st.integers(1, 3))
    count = draw(st.integers(1, max_contexts))
    contexts = [_Context(index, draw(st.permutations(range(MAX_STREAM_INDEX))), [], [], []) for index in range(count)]
    names: list[str] = []

    def add(context: _Context, direction: EdgeLayerDirection) -> None:
        layer_name = f"{name}/{direction.name[0].lower()}{context.index}_{len(names)}"
        names.append(layer_name)
        draw(boundary(context, direction, layer_name, len(networks), traits))

    for context in contexts:
        if context.index == 0 or draw(st.booleans()):
            add(context, H2D)
        if context.index == count - 1 or draw(st.booleans()):
            add(context, D2H)
    for producer, context in itertools.pairwise(contexts):
        later = contexts[context.index :]
        consumers = [context, *(other for other in later[1:] if draw(st.booleans()))]
        draw(inter_context(producer, consumers, f"{name}/mid{producer.index}"))
    for context in contexts:
        if draw(st.sampled_from([False, False, True])):
            draw(ddr_pair(context, f"{name}/ddr{context.index}"))
    if traits.net_flow:
        draw(detector(contexts[-1], name))
    if traits.per_feature:
        for context in contexts:
            context.layers[:] = [scaled_per_feature(layer) for layer in context.layers]
    if traits.net_flow:
        give_pads(contexts)
    outputs = [leaf for layer in boundary_outputs(contexts) for leaf in _leaves(layer.edge)]
    sorted_outputs = draw(st.permutations(outputs))
    number = (lambda operations: operations) if traits.gaps else without_gaps
    return builder.core_op(
        name,
        [
            builder.context(
                number(draw(dynamic_operations(context, channels, len(networks), traits, count == 1))),
                context.layers,
                index=context.index,
            )
            for context in contexts
        ],
        preliminary=number(draw(preliminary_operations(channels, len(networks), traits, contexts[0]))),
        sorted_outputs=sorted_outputs,
        networks=networks,
        config_channels=channels,
        bottleneck_fps=draw(st.floats(0, 1e4)),
    )


def boundary_outputs(contexts: Iterable[_Context]) -> list[model.EdgeLayer]:
    return [
        layer
        for context in contexts
        for layer in context.layers
        if layer.direction is D2H and layer.context_switch_info.edge_connection_type is EdgeConnectionType.BOUNDARY
    ]


def give_pads(contexts: list[_Context]) -> None:
    """Number the boundary outputs as output pads of the core op."""
    pads = itertools.count(1)
    for context in contexts:
        outputs = {id(layer) for layer in boundary_outputs([context])}
        context.layers[:] = [
            replace(layer, pad_index=next(pads)) if id(layer) in outputs else layer for layer in context.layers
        ]


def scaled_per_feature(layer: model.EdgeLayer) -> model.EdgeLayer:
    """The layer with a zp and a scale for every feature; an input has the same ones for all."""

    def scaled(edge: model.Edge | None) -> model.Edge | None:
        if isinstance(edge, model.EdgeLayerMux):
            return replace(edge, predecessors=tuple(map(scaled, edge.predecessors)))
        if isinstance(edge, model.EdgeLayerPlanes):
            return replace(edge, planes=tuple(map(scaled, edge.planes)))
        assert edge is not None
        base, numeric = edge.edge_layer_base, edge.numeric_info
        count = 2 if base.format == COMPILER_FORMAT_NMS else base.features
        step = 0.5 if layer.direction is D2H else 0.0
        scales = tuple(numeric.qp_scale + step * index for index in range(count))
        return replace(edge, numeric_info=replace(numeric, qp_zps=(numeric.qp_zp,) * count, qp_scales=scales))

    return replace(layer, edge=scaled(layer.edge))


def _leaves(edge: model.Edge | None) -> list[str]:
    if isinstance(edge, model.EdgeLayerMux):
        return [name for part in edge.predecessors for name in _leaves(part)]
    assert edge is not None
    return [edge.name]


@st.composite
def hefs(draw: st.DrawFn, runtimes: tuple[str, ...] = ("4.23", "5.2"), *, runs: bool = False) -> Drawn:
    """A sound file for one of `runtimes`; `runs`: one that a device also runs to its end (with one network)."""
    runtime = draw(st.sampled_from(runtimes))
    arch = (
        HwArch.HAILO1XH if runtime == "5.2" else draw(st.sampled_from([HwArch.HAILO8P, HwArch.HAILO8R, HwArch.HAILO8L]))
    )
    version = draw(st.integers(0, 3))
    flag = st.booleans()
    traits = Traits(
        arch, draw(flag), runtime == "5.2", draw(flag), draw(flag), draw(flag), runtime == "5.2" and draw(flag)
    )
    optional = [ExtensionType.HW_PADDING] * draw(flag)
    networks: tuple[str, ...] = ()
    if draw(flag):
        optional.append(ExtensionType.MULTI_NETWORK_VARIABLE_BATCH_SIZE)
        networks = draw(st.sampled_from([("a",)] if runs else [("a",), ("b", "a")]))
    groups = []
    for name in draw(st.lists(st.sampled_from(["net", "other"]), min_size=1, max_size=2, unique=True)):
        group_networks = networks or (name,)
        core = draw(core_ops(name, traits, group_networks))
        if arch is HwArch.HAILO8L:
            # an empty shell around the alternatives, all with the same names (hef-container.md 5.2)
            layouts = [(bitmap, core) for bitmap in draw(st.permutations([51, 204]))]
            core = builder.core_op(name, [], networks=group_networks, layouts=layouts)
        if traits.net_flow:
            groups.append(draw(post_processed(core)))
        else:
            groups.append(builder.network_group(core))
    extensions = [
        ExtensionType.PADDED_DDR_BUFFERS,
        ExtensionType.IS_MULTI_CONTEXTS,
        *[ExtensionType.KO_RUN_ASAP] * traits.asap,
        *[ExtensionType.HAILO_NET_FLOW] * traits.net_flow,
        *[ExtensionType.OUTPUT_SCALE_PER_FEATURE] * traits.per_feature,
        *[ExtensionType.NMS_OUTPUT_BURST] * traits.bursts,
        *[ExtensionType.ENABLE_CONFIG_CHANNELS] * traits.markers,
    ]
    contents = builder.hef_contents(arch, groups, extensions=extensions, optional_extensions=optional)
    if runs:
        contents = runnable(contents)
    proto_hash = version == 3 and draw(flag)
    resources = draw(st.dictionaries(st.sampled_from(["a", "b"]), st.binary(max_size=40))) if version == 3 else {}
    return Drawn(contents, version, runtime, proto_hash, resources)
