"""The four kinds of contexts as action lists (hef-compile.md 4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from emu.chips.runtimes import DeviceProfile, RuntimeProfile
from emu.errors import HailoError, HailoStatus
from emu.sequencer.channels import LayerType
from emu.sequencer.context_resources import ContextResources, ResourceLayer
from emu.sequencer.layers import EdgeLayer
from emu.sequencer.lower import Abstract, AllowInput, WaitDmaIdle, WaitOutputDone, WriteCcw
from emu.sequencer.program import Direction
from emu.sequencer.repeat import DISABLE_DATA_CHANNELS, PRE_ALLOW_INPUT, Marker
from emu.sequencer.segments import FileSegments, Segments
from emu.wire.actions import (
    Action,
    ActivateBoundaryInput,
    ActivateBoundaryOutput,
    ActivateCacheInput,
    ActivateCacheOutput,
    ActivateCfgChannel,
    ActivateDdrBufferInput,
    ActivateDdrBufferOutput,
    ActivateInterContextInput,
    ActivateInterContextOutput,
    AddDdrPairInfo,
    ApplicationChangeInterrupt,
    BurstCreditsTaskReset,
    BurstCreditsTaskStart,
    ChangeBoundaryInputBatch,
    ChangeVdmaToStreamMapping,
    DdrBufferingReset,
    DdrBufferingStart,
    DeactivateCfgChannel,
    DeactivateVdmaChannel,
    EnableLcuDefault,
    EnableLcuNonDefault,
    FetchCcwBursts,
    FetchCfgChannelDescriptors,
    FetchDataFromVdmaChannel,
    HostBufferType,
    OpenBoundaryInputChannel,
    OpenBoundaryOutputChannel,
    OutputChannelTransferDoneInterrupt,
    PauseVdmaChannel,
    ResumeVdmaChannel,
    SwitchLcuBatch,
    ValidateVdmaChannel,
    WaitForCacheUpdated,
    WaitForDmaIdle,
)

H2D, D2H = Direction.H2D, Direction.D2H
_CREDIT_BYTES, _CREDIT_DESCRIPTORS = 1, 2
_LCU_DEFAULT_DONE_COUNT = 2
_U16 = 0xFFFF

Wire = Action | Marker
Make = Callable[..., Action]  # `ActionLists.make` of the runtime


def activation(resources: ContextResources) -> list[Action]:
    """Opens every boundary channel (hef-compile.md 4.1)."""
    out: list[Action] = [BurstCreditsTaskReset()]
    for resource in resources.layers:
        layer, buffer = resource.layer, resource.buffer
        if layer.direction is D2H:
            out.append(OpenBoundaryOutputChannel(resource.packed_channel, *buffer))
        else:
            registers = resource.registers
            out.append(
                OpenBoundaryInputChannel(
                    resource.packed_channel,
                    *buffer,
                    layer.stream_index,
                    layer.network_index,
                    registers.periph_bytes_per_buffer,
                    registers.frame_periph_size,
                )
            )
    return out


def batch_switching(
    make: Make, preliminary: Sequence[Abstract], resources: ContextResources, inputs: Iterable[ResourceLayer]
) -> list[Wire]:
    """What a new batch size needs (hef-compile.md 4.2); `inputs`: the boundary inputs that are told of it."""
    switches = _SWITCHES
    out: list[Wire] = [made(action) for action in preliminary if (made := switches.get(action.__class__)) is not None]
    out += [_close(DeactivateVdmaChannel, layer, batch_switch=True) for layer in resources.layers]
    out.append(DdrBufferingReset())
    out += _activate(make, resources)
    out += _ddr_pairs(resources)
    out += [ChangeBoundaryInputBatch(layer.packed_channel) for layer in inputs]
    out.append(BurstCreditsTaskStart())
    return out


class ContextRecipe:
    """Preliminary and dynamic contexts of one network group.

    `ccw` is the file from the zero point of its CCW pointers on; `read_outside` refuses a pointer beyond it.
    """

    def __init__(
        self,
        runtime: RuntimeProfile,
        device: DeviceProfile,
        make: Make,
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
        self._device = device
        self._prefetch = device.attachment in runtime.prefetch
        self._make = make
        self._ccw = ccw
        self._read_outside = read_outside
        self._config_channels = config_channels
        self._boundary = boundary
        self._boundary_channel = boundary_channels
        self._hw_arch = hw_arch
        self._single_context = single_context
        self._split = split_allow_input

    def preliminary(
        self, actions: Sequence[Abstract], resources: ContextResources, run_asap: bool, wait_for_cache: bool
    ) -> list[Wire]:
        """hef-compile.md 4.3; with `run_asap` it activates the layers of dynamic context 0."""
        fetched = self._fetch_config(actions, resources)
        if run_asap:
            fetched = self._insert_activation(fetched, resources, resources, 0, 0)
        out = self._wrap_config(_resolve(fetched, resources), resources)
        return [WaitForCacheUpdated(), *out] if wait_for_cache else out

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
            out.append(ApplicationChangeInterrupt())
            return out
        close = list(self._close(resources))
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
        out += [PauseVdmaChannel(layer.packed_channel, H2D) for layer in resources.of(LayerType.BOUNDARY, H2D)]
        if wait_for_cache:
            out.insert(0 if self._runtime.cache_wait_first else len(out), WaitForCacheUpdated())
        return out

    def _close(self, resources: ContextResources) -> Iterator[Action]:
        """hef-compile.md 4.8"""
        for layer in resources.layers:
            if layer.layer.type is not LayerType.BOUNDARY:
                yield _close(DeactivateVdmaChannel, layer)
            elif self._runtime.validates_boundary:
                yield _close(ValidateVdmaChannel, layer)

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
            if self._prefetch:
                buffer.append_run(segments, action.size)
                out.append(FetchCcwBursts(action.bursts, action.channel))
            else:
                count = buffer.write_run(segments, action.size)
                out.append(FetchCfgChannelDescriptors(count & _U16, self._config_channels[action.channel]))
        for buffer in resources.config.values():
            buffer.finish()
        return out

    def _segments(self, action: WriteCcw) -> Segments:
        """The bytes of a run: as they are, or where they lie in the file."""
        pointers = tuple([record for record in action.records if not isinstance(record, bytes)])
        if not pointers:
            return tuple([record for record in action.records if isinstance(record, bytes)])
        end = len(self._ccw)
        for pointer in pointers:
            if pointer.offset + pointer.size > end:
                self._read_outside(pointer.offset, pointer.size)
        return FileSegments(self._ccw, pointers)

    def _wrap_config(self, actions: list[Wire], resources: ContextResources) -> list[Wire]:
        """hef-compile.md 4.7"""
        if not resources.config:
            return actions
        before: list[Wire] = []
        after: list[Wire] = []
        for index, buffer in resources.config.items():
            channel = self._config_channels[index]
            before.append(ActivateCfgChannel(channel, index, *buffer.info))
            after.append(DeactivateCfgChannel(channel, index))
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
        first, last = _only_group([at for at, action in enumerate(actions) if action.__class__ is AllowInput], index)
        after: list[Abstract] = []
        if any(resources.of(LayerType.BOUNDARY, H2D)):
            after.append(BurstCreditsTaskStart())
        before = [
            *_activate(self._make, activated),
            *self._map_streams(activated, activated_index),
            *_ddr_pairs(activated),
            *(ResumeVdmaChannel(layer.packed_channel, H2D) for layer in activated.of(LayerType.BOUNDARY, H2D)),
        ]
        if not self._split:
            return [*actions[:first], *before, *actions[first : last + 1], *after, *actions[last + 1 :]]
        out = [*actions[: last + 1], *after, *actions[last + 1 :]]
        marker, _ = _only_group([at for at, action in enumerate(out) if action is PRE_ALLOW_INPUT], index)
        return [*out[:marker], *before, *out[marker:]]

    def _map_streams(self, resources: ContextResources, index: int) -> Iterator[Action]:
        """Where every boundary channel of the core op goes while the context runs; elsewhere to a dummy stream."""
        if self._single_context:
            return
        for layer in self._boundary:
            channel = self._boundary_channel(layer)
            if layer.context_index == index:
                yield ChangeVdmaToStreamMapping(channel, layer.stream_index, 0)
            else:
                dummy = self._dummy_stream(resources, layer)
                yield ChangeVdmaToStreamMapping(channel, dummy, 1)

    def _dummy_stream(self, resources: ContextResources, layer: EdgeLayer) -> int:
        by_device = self._runtime.device_null_streams
        null = by_device.get(self._device.name, by_device.get(self._device.attachment))
        if null is not None:
            return null
        streams = self._runtime.null_streams
        if streams:
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


def _only_group(places: Sequence[int], context: int) -> tuple[int, int]:
    """First and last of places that are to be contiguous; several groups or none are HAILO_INTERNAL_FAILURE."""
    if not places or places[-1] - places[0] != len(places) - 1:
        what = "none" if not places else f"{len(places)} in several groups"
        raise HailoError(
            HailoStatus.HAILO_INTERNAL_FAILURE,
            f"expected one group of allow_input_dataflow (or allow_config_channels) actions, found {what}",
            context=context,
        )
    return places[0], places[-1]


def _activate(make: Make, resources: ContextResources) -> Iterator[Action]:
    """Activation of edge layers, outputs before inputs (hef-compile.md 4.5 a)."""
    for kind, direction, made in _ACTIVATIONS:
        for layer in resources.of(kind, direction):
            yield _activation(make, made, layer)


def _activation(make: Make, made: type[Action], resource: ResourceLayer) -> Action:
    """An ACTIVATE of an edge layer: of all that can be said of one, what the action has fields for."""
    layer = resource.layer
    # the runtime never fills network_index of an internal input (hef-compile.md 5)
    unnamed = layer.direction is H2D and layer.type is not LayerType.BOUNDARY
    return make(
        made,
        packed_vdma_channel_id=resource.packed_channel,
        stream_index=layer.stream_index,
        network_index=0 if unnamed else layer.network_index,
        **resource.registers._asdict(),
        **resource.buffer._asdict(),
        initial_credit_size=resource.initial_credit_size,
        buffered_rows_count=layer.min_buffered_rows,
        connected_d2h_packed_vdma_channel_id=resource.connected_d2h_channel,
        batch_size=resource.cache_batch_size & _U16,
    )


_ACTIVATIONS: tuple[tuple[LayerType, Direction, type[Action]], ...] = (
    (LayerType.DDR, D2H, ActivateDdrBufferOutput),
    (LayerType.BOUNDARY, D2H, ActivateBoundaryOutput),
    (LayerType.INTER_CONTEXT, D2H, ActivateInterContextOutput),
    (LayerType.CACHE, D2H, ActivateCacheOutput),
    (LayerType.DDR, H2D, ActivateDdrBufferInput),
    (LayerType.BOUNDARY, H2D, ActivateBoundaryInput),
    (LayerType.INTER_CONTEXT, H2D, ActivateInterContextInput),
    (LayerType.CACHE, H2D, ActivateCacheInput),
)


def _close(made: type[Action], resource: ResourceLayer, *, batch_switch: bool = False) -> Action:
    """DEACTIVATE or VALIDATE (hef-compile.md 4.8)."""
    layer, buffer_type = resource.layer, resource.buffer.buffer_type
    check_empty = (
        not batch_switch
        and layer.type is LayerType.INTER_CONTEXT
        and not (layer.direction is D2H and buffer_type == HostBufferType.CCB)
    )
    return made(
        resource.packed_channel,
        layer.direction,
        int(check_empty),
        buffer_type,
        resource.initial_credit_size,
    )


def _ddr_pairs(resources: ContextResources) -> Iterator[Action]:
    """Pairs whose credits the firmware copies: those over descriptors (hef-compile.md 4.6)."""
    pairs = [pair for pair in resources.ddr_pairs if pair.buffer_type == HostBufferType.EXTERNAL_DESC]
    for pair in pairs:
        yield AddDdrPairInfo(
            pair.h2d_channel,
            pair.d2h_channel,
            pair.network_index,
            pair.descriptors_per_frame,
            pair.descriptors_count & _U16,
        )
    if pairs:
        yield DdrBufferingStart()


def _resolve(actions: Iterable[Abstract], resources: ContextResources) -> list[Wire]:
    """Look up the streams that actions name among the context's own layers (hef-compile.md 5)."""
    naming = _NAMING
    out: list[Any] = [
        action if (made := naming.get(action.__class__)) is None else made(action, resources) for action in actions
    ]
    return out


def _fetch_data(action: AllowInput, resources: ContextResources) -> Action:
    resource = resources.find(action.stream_index, H2D)
    layer, buffer = resource.layer, resource.buffer
    if layer.type is LayerType.BOUNDARY:
        amount, credit = resource.registers.frame_periph_size, _CREDIT_BYTES
    elif layer.type is LayerType.INTER_CONTEXT:
        amount, credit = -(-buffer.bytes_in_pattern // buffer.desc_page_size), _CREDIT_DESCRIPTORS
    elif layer.type is LayerType.CACHE:
        # the descriptors of a list, which has one more than its transfers need
        amount, credit = buffer.total_desc_count - 1, _CREDIT_DESCRIPTORS
    else:
        raise HailoError(
            HailoStatus.HAILO_INTERNAL_FAILURE,
            f"allow_input_dataflow of stream {action.stream_index}, whose layer {layer.name} is {layer.type.name}",
            stream=action.stream_index,
        )
    return FetchDataFromVdmaChannel(
        resource.packed_channel,
        layer.stream_index,
        layer.network_index,
        amount,
        credit,
        buffer.buffer_type,
    )


def _wait_output(action: WaitOutputDone | WaitDmaIdle, resources: ContextResources) -> Action:
    resource = resources.find(action.stream_index, D2H)
    layer = resource.layer
    inter_context = int(layer.type is LayerType.INTER_CONTEXT)
    if isinstance(action, WaitOutputDone):
        return OutputChannelTransferDoneInterrupt(
            resource.packed_channel,
            layer.stream_index,
            layer.network_index,
            inter_context,
            resource.buffer.buffer_type,
        )
    return WaitForDmaIdle(resource.packed_channel, layer.stream_index, inter_context, resource.buffer.buffer_type)


_SWITCHES: dict[type[Any], Callable[[Any], Action]] = {
    EnableLcuDefault: lambda enable: SwitchLcuBatch(*enable, _LCU_DEFAULT_DONE_COUNT),
    EnableLcuNonDefault: lambda enable: SwitchLcuBatch(enable[0], enable[1], enable[3]),
    SwitchLcuBatch: lambda switch: switch,
}
_NAMING: dict[type[Any], Callable[[Any, ContextResources], Action]] = {
    AllowInput: _fetch_data,
    WaitOutputDone: _wait_output,
    WaitDmaIdle: _wait_output,
}
