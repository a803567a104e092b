"""The four kinds of contexts as action lists (hef-compile.md 4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from emu.errors import HailoError, HailoStatus
from emu.sequencer.actions import Action, ActionType
from emu.sequencer.channels import LayerType
from emu.sequencer.config import CCB, EXTERNAL_DESC
from emu.sequencer.host import Segments
from emu.sequencer.layers import EdgeLayer
from emu.sequencer.lower import Abstract, AllowInput, WaitDmaIdle, WaitOutputDone, WriteCcw
from emu.sequencer.profiles import RuntimeProfile
from emu.sequencer.program import Direction
from emu.sequencer.repeat import DISABLE_DATA_CHANNELS, PRE_ALLOW_INPUT, Marker
from emu.sequencer.resources import ContextResources, ResourceLayer

A = ActionType
H2D, D2H = Direction.H2D, Direction.D2H
_CREDIT_BYTES, _CREDIT_DESCRIPTORS = 1, 2
_LCU_DEFAULT_DONE_COUNT = 2
_U16 = 0xFFFF

Wire = Action | Marker


def activation(resources: ContextResources) -> list[Action]:
    """Opens every boundary channel (hef-compile.md 4.1)."""
    out = [Action(A.BURST_CREDITS_TASK_RESET, ())]
    for resource in resources.layers:
        layer, buffer = resource.layer, resource.buffer
        if layer.direction is D2H:
            out.append(Action(A.OPEN_BOUNDARY_OUTPUT_CHANNEL, (resource.packed_channel, *buffer)))
        else:
            registers = resource.registers
            out.append(
                Action(
                    A.OPEN_BOUNDARY_INPUT_CHANNEL,
                    (
                        resource.packed_channel,
                        *buffer,
                        layer.stream_index,
                        layer.network_index,
                        registers.periph_bytes_per_buffer,
                        registers.frame_periph_size,
                    ),
                )
            )
    return out


def batch_switching(
    preliminary: Sequence[Abstract], resources: ContextResources, opened: ContextResources
) -> list[Wire]:
    """What a new batch size needs (hef-compile.md 4.2); `opened` are the resources of the activation context."""
    out: list[Wire] = []
    for action in preliminary:
        if not isinstance(action, Action):
            continue
        if action.type is A.ENABLE_LCU_DEFAULT:
            out.append(Action(A.SWITCH_LCU_BATCH, (*action.values, _LCU_DEFAULT_DONE_COUNT)))
        elif action.type is A.ENABLE_LCU_NON_DEFAULT:
            lcu, network, _, count = action.values
            out.append(Action(A.SWITCH_LCU_BATCH, (lcu, network, count)))
        elif action.type is A.SWITCH_LCU_BATCH:
            out.append(action)
    out += [_deactivate(layer, batch_switch=True) for layer in resources.layers]
    out.append(Action(A.DDR_BUFFERING_RESET, ()))
    out += _activate(resources)
    out += _ddr_pairs(resources)
    out += [
        Action(A.CHANGE_BOUNDARY_INPUT_BATCH, (layer.packed_channel,)) for layer in opened.of(LayerType.BOUNDARY, H2D)
    ]
    out.append(Action(A.BURST_CREDITS_TASK_START, ()))
    return out


class ContextRecipe:
    """Preliminary and dynamic contexts of one network group.

    `ccw` is the file from the zero point of its CCW pointers on; `read_outside` refuses a pointer beyond it.
    """

    def __init__(
        self,
        runtime: RuntimeProfile,
        ccw: memoryview,
        read_outside: Callable[[int, int], memoryview],
        config_channels: Sequence[int],
        boundary: Sequence[EdgeLayer],
        boundary_channels: Callable[[EdgeLayer], int],
        hw_arch: int,
        single_context: bool,
        split_allow_input: bool,
    ) -> None:
        self._runtime = runtime
        self._ccw = ccw
        self._read_outside = read_outside
        self._config_channels = config_channels
        self._boundary = boundary
        self._boundary_channel = boundary_channels
        self._hw_arch = hw_arch
        self._single_context = single_context
        self._split = split_allow_input

    def preliminary(self, actions: Sequence[Abstract], resources: ContextResources, run_asap: bool) -> list[Wire]:
        """hef-compile.md 4.3; with `run_asap` it activates the layers of dynamic context 0."""
        fetched = self._fetch_config(actions, resources)
        if run_asap:
            fetched = self._insert_activation(fetched, resources, resources, 0, 0)
        return self._wrap_config(_resolve(fetched, resources), resources)

    def dynamic(
        self,
        actions: Sequence[Abstract],
        resources: ContextResources,
        activated: ContextResources,
        index: int,
        activated_index: int,
        wait_for_cache: bool,
    ) -> list[Wire]:
        """hef-compile.md 4.4; `activated` are the resources that the pre-allow marker of extension 34 activates."""
        fetched = self._fetch_config(actions, resources)
        fetched = self._insert_activation(fetched, resources, activated, index, activated_index)
        out = self._wrap_config(_resolve(fetched, resources), resources)
        if self._single_context:
            out.append(Action(A.APPLICATION_CHANGE_INTERRUPT, ()))
            return out
        close = [_deactivate(layer) for layer in resources.layers if layer.layer.type is not LayerType.BOUNDARY]
        if self._split:
            try:
                place = out.index(DISABLE_DATA_CHANNELS)
            except ValueError:
                raise HailoError(
                    HailoStatus.HAILO_INTERNAL_FAILURE,
                    "no disable_data_channels action, which ENABLE_CONFIG_CHANNELS needs in every context",
                    context=index,
                ) from None
            out[place : place + 1] = close
        else:
            out += close
        out += [
            Action(A.PAUSE_VDMA_CHANNEL, (layer.packed_channel, H2D)) for layer in resources.of(LayerType.BOUNDARY, H2D)
        ]
        if wait_for_cache:
            out.append(Action(A.WAIT_FOR_CACHE_UPDATED, ()))
        return out

    def _fetch_config(self, actions: Sequence[Abstract], resources: ContextResources) -> list[Abstract]:
        """Every run of CCW data becomes the action that fetches it (hef-compile.md 4.4)."""
        out: list[Abstract] = []
        for action in actions:
            if action.__class__ is not WriteCcw:
                out.append(action)
                continue
            assert isinstance(action, WriteCcw)
            buffer = resources.config[action.channel]
            segments = self._segments(action)
            if self._runtime.prefetch:
                buffer.append_run(segments, action.size)
                out.append(Action(A.FETCH_CCW_BURSTS, (action.bursts, action.channel)))
            else:
                count = buffer.write_run(segments, action.size)
                out.append(
                    Action(
                        A.FETCH_CFG_CHANNEL_DESCRIPTORS,
                        (count & _U16, self._config_channels[action.channel]),
                    )
                )
        for buffer in resources.config.values():
            buffer.finish()
        return out

    def _segments(self, action: WriteCcw) -> Segments:
        """The bytes of a run: as they are, or views of the file."""
        view, size = self._ccw, len(self._ccw)
        return tuple(
            record
            if isinstance(record, bytes)
            else view[record.offset : record.offset + record.size]
            if record.offset + record.size <= size
            else self._read_outside(record.offset, record.size)
            for record in action.records
        )

    def _wrap_config(self, actions: list[Wire], resources: ContextResources) -> list[Wire]:
        """hef-compile.md 4.7"""
        if not resources.config:
            return actions
        before: list[Wire] = []
        after: list[Wire] = []
        for index, buffer in resources.config.items():
            channel = self._config_channels[index]
            before.append(Action(A.ACTIVATE_CFG_CHANNEL, (channel, index, *buffer.info)))
            after.append(Action(A.DEACTIVATE_CFG_CHANNEL, (channel, index)))
        return before + actions + after

    def _insert_activation(
        self,
        actions: list[Abstract],
        resources: ContextResources,
        activated: ContextResources,
        index: int,
        activated_index: int,
    ) -> list[Abstract]:
        """Layers are activated before the one group of allow_input_dataflow actions (hef-compile.md 4.5)."""
        first, last = _only_group(actions, lambda action: action.__class__ is AllowInput, index)
        after: list[Abstract] = []
        if any(resources.of(LayerType.BOUNDARY, H2D)):
            after.append(Action(A.BURST_CREDITS_TASK_START, ()))
        before = [
            *_activate(activated),
            *self._map_streams(activated, activated_index),
            *_ddr_pairs(activated),
            *(
                Action(A.RESUME_VDMA_CHANNEL, (layer.packed_channel, H2D))
                for layer in activated.of(LayerType.BOUNDARY, H2D)
            ),
        ]
        if not self._split:
            return [*actions[:first], *before, *actions[first : last + 1], *after, *actions[last + 1 :]]
        out = [*actions[: last + 1], *after, *actions[last + 1 :]]
        marker, _ = _only_group(out, lambda action: action is PRE_ALLOW_INPUT, index)
        return [*out[:marker], *before, *out[marker:]]

    def _map_streams(self, resources: ContextResources, index: int) -> Iterator[Action]:
        """Where every boundary channel of the core op goes while the context runs; elsewhere to a dummy stream."""
        if self._single_context:
            return
        for layer in self._boundary:
            channel = self._boundary_channel(layer)
            if layer.context_index == index:
                yield Action(A.CHANGE_VDMA_TO_STREAM_MAPPING, (channel, layer.stream_index, 0))
            else:
                dummy = self._dummy_stream(resources, layer)
                yield Action(A.CHANGE_VDMA_TO_STREAM_MAPPING, (channel, dummy, 1))

    def _dummy_stream(self, resources: ContextResources, layer: EdgeLayer) -> int:
        streams = self._runtime.null_streams
        if streams is not None:
            null = streams.get(self._hw_arch)
            if null is None:
                raise HailoError(
                    HailoStatus.HAILO_INVALID_ARGUMENT,
                    f"architecture {self._hw_arch} has no null stream, its multi-context HEFs cannot be configured",
                )
            return null
        for other in resources.layers:
            if other.layer.direction is not layer.direction:
                return other.layer.stream_index
        raise HailoError(
            HailoStatus.HAILO_INTERNAL_FAILURE,
            f"no stream in the opposite direction can stand in for {layer.name}",
        )


def _only_group(actions: Sequence[Abstract], belongs: Callable[[Abstract], bool], context: int) -> tuple[int, int]:
    """First and last place of the one contiguous group; several groups or none are HAILO_INTERNAL_FAILURE."""
    places = [place for place, action in enumerate(actions) if belongs(action)]
    if not places or places[-1] - places[0] != len(places) - 1:
        what = "none" if not places else f"{len(places)} in several groups"
        raise HailoError(
            HailoStatus.HAILO_INTERNAL_FAILURE,
            f"expected one group of allow_input_dataflow (or allow_config_channels) actions, found {what}",
            context=context,
        )
    return places[0], places[-1]


def _activate(resources: ContextResources) -> Iterator[Action]:
    """Activation of edge layers, outputs before inputs (hef-compile.md 4.5 a)."""
    for kind, direction, make in _ACTIVATIONS:
        for layer in resources.of(kind, direction):
            yield make(layer)


def _activate_boundary_input(resource: ResourceLayer) -> Action:
    return Action(
        A.ACTIVATE_BOUNDARY_INPUT,
        (
            resource.packed_channel,
            resource.layer.stream_index,
            *resource.registers,
            *resource.buffer,
            resource.initial_credit_size,
        ),
    )


def _activate_output(kind: ActionType) -> Callable[[ResourceLayer], Action]:
    def make(resource: ResourceLayer) -> Action:
        layer = resource.layer
        return Action(
            kind,
            (
                resource.packed_channel,
                layer.stream_index,
                layer.network_index,
                *resource.registers,
                *resource.buffer,
            ),
        )

    return make


def _activate_internal_input(kind: ActionType) -> Callable[[ResourceLayer], Action]:
    def make(resource: ResourceLayer) -> Action:
        return Action(
            kind,
            (
                resource.packed_channel,
                resource.layer.stream_index,
                0,  # the runtime never fills network_index here (hef-compile.md 5)
                *resource.registers,
                *resource.buffer,
                resource.initial_credit_size,
            ),
        )

    return make


def _activate_ddr_output(resource: ResourceLayer) -> Action:
    return Action(
        A.ACTIVATE_DDR_BUFFER_OUTPUT,
        (
            resource.packed_channel,
            resource.layer.stream_index,
            *resource.registers,
            *resource.buffer,
            resource.layer.min_buffered_rows,
        ),
    )


def _activate_ddr_input(resource: ResourceLayer) -> Action:
    return Action(
        A.ACTIVATE_DDR_BUFFER_INPUT,
        (
            resource.packed_channel,
            resource.layer.stream_index,
            *resource.registers,
            *resource.buffer,
            resource.initial_credit_size,
            resource.connected_d2h_channel,
        ),
    )


def _activate_cache_output(resource: ResourceLayer) -> Action:
    return Action(
        A.ACTIVATE_CACHE_OUTPUT,
        (
            *resource.registers,
            *resource.buffer,
            resource.cache_batch_size & _U16,
            resource.packed_channel,
            resource.layer.stream_index,
            resource.layer.network_index,
        ),
    )


_ACTIVATIONS: tuple[tuple[LayerType, Direction, Callable[[ResourceLayer], Action]], ...] = (
    (LayerType.DDR, D2H, _activate_ddr_output),
    (LayerType.BOUNDARY, D2H, _activate_output(A.ACTIVATE_BOUNDARY_OUTPUT)),
    (LayerType.INTER_CONTEXT, D2H, _activate_output(A.ACTIVATE_INTER_CONTEXT_OUTPUT)),
    (LayerType.CACHE, D2H, _activate_cache_output),
    (LayerType.DDR, H2D, _activate_ddr_input),
    (LayerType.BOUNDARY, H2D, _activate_boundary_input),
    (LayerType.INTER_CONTEXT, H2D, _activate_internal_input(A.ACTIVATE_INTER_CONTEXT_INPUT)),
    (LayerType.CACHE, H2D, _activate_internal_input(A.ACTIVATE_CACHE_INPUT)),
)


def _deactivate(resource: ResourceLayer, *, batch_switch: bool = False) -> Action:
    layer, buffer_type = resource.layer, resource.buffer.buffer_type
    check_empty = (
        not batch_switch
        and layer.type is LayerType.INTER_CONTEXT
        and not (layer.direction is D2H and buffer_type == CCB)
    )
    return Action(
        A.DEACTIVATE_VDMA_CHANNEL,
        (
            resource.packed_channel,
            layer.direction,
            int(check_empty),
            buffer_type,
            resource.initial_credit_size,
        ),
    )


def _ddr_pairs(resources: ContextResources) -> Iterator[Action]:
    """Pairs whose credits the firmware copies: those over descriptors (hef-compile.md 4.6)."""
    pairs = [pair for pair in resources.ddr_pairs if pair.buffer_type == EXTERNAL_DESC]
    for pair in pairs:
        yield Action(
            A.ADD_DDR_PAIR_INFO,
            (
                pair.h2d_channel,
                pair.d2h_channel,
                pair.network_index,
                pair.descriptors_per_frame,
                pair.descriptors_count & _U16,
            ),
        )
    if pairs:
        yield Action(A.DDR_BUFFERING_START, ())


def _resolve(actions: Iterable[Abstract], resources: ContextResources) -> list[Wire]:
    """Look up the streams that actions name among the context's own layers (hef-compile.md 5)."""
    out: list[Wire] = []
    for action in actions:
        if isinstance(action, Action | Marker):
            out.append(action)
        elif isinstance(action, AllowInput):
            out.append(_fetch_data(action, resources))
        else:
            assert not isinstance(action, WriteCcw), "fetched before"
            out.append(_wait_output(action, resources))
    return out


def _fetch_data(action: AllowInput, resources: ContextResources) -> Action:
    resource = resources.find(action.stream_index, H2D)
    layer, buffer = resource.layer, resource.buffer
    if layer.type is LayerType.BOUNDARY:
        amount, credit = resource.registers.frame_periph_size, _CREDIT_BYTES
    elif layer.type is LayerType.INTER_CONTEXT:
        amount, credit = -(-buffer.bytes_in_pattern // buffer.desc_page_size), _CREDIT_DESCRIPTORS
    elif layer.type is LayerType.CACHE:
        amount, credit = buffer.total_desc_count - 1, _CREDIT_DESCRIPTORS
    else:
        raise HailoError(
            HailoStatus.HAILO_INTERNAL_FAILURE,
            f"allow_input_dataflow of stream {action.stream_index}, whose layer {layer.name} is {layer.type.name}",
            stream=action.stream_index,
        )
    return Action(
        A.FETCH_DATA_FROM_VDMA_CHANNEL,
        (
            resource.packed_channel,
            layer.stream_index,
            layer.network_index,
            amount,
            credit,
            buffer.buffer_type,
        ),
    )


def _wait_output(action: WaitOutputDone | WaitDmaIdle, resources: ContextResources) -> Action:
    resource = resources.find(action.stream_index, D2H)
    layer = resource.layer
    inter_context = int(layer.type is LayerType.INTER_CONTEXT)
    if isinstance(action, WaitOutputDone):
        return Action(
            A.OUTPUT_CHANNEL_TRANSFER_DONE_INTERRUPT,
            (
                resource.packed_channel,
                layer.stream_index,
                layer.network_index,
                inter_context,
                resource.buffer.buffer_type,
            ),
        )
    return Action(
        A.WAIT_FOR_DMA_IDLE_ACTION,
        (resource.packed_channel, layer.stream_index, inter_context, resource.buffer.buffer_type),
    )
