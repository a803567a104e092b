"""Small applications for vectors: action lists by name that a vector changes, and what is sent to a device for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from emu.chips.runtimes import device_profile
from emu.conform.memory import memory_messages, stream_messages
from emu.conform.protocol import Message
from emu.hef.runtime import default_runtime
from emu.host.capture import boundary_streams
from emu.sequencer.program import (
    ContextProgram,
    ContextType,
    DescriptorList,
    DescriptorProgram,
    NetworkGroupProgram,
    Program,
)
from emu.wire.actions import ACTIONS, Action, ActionType, make_action
from emu.wire.headers import ApplicationHeader
from emu.wire.lists import Entry, Repeated
from emu.wire.wire import wire_of

IN, OUT = 2, 16
IN_STREAM, OUT_STREAM = 1, 9
INTER_OUT, INTER_IN = 17, 3
DDR_OUT, DDR_IN = 18, 4
PAGE = 512
FRAME = 1024
PER_FRAME = FRAME // PAGE
LENGTH = 64
BASE = 0x10000000
STRIDE = 0x100000
_LISTS = 8
_CHUNK = 1461  # of a control message (firmware-actions.md 4)
REGISTERS = {
    "core_bytes_per_buffer": 64,
    "core_buffers_per_frame": 16,
    "periph_bytes_per_buffer": 1024,
    "periph_buffers_per_frame": 1,
}


def speaks(device: str) -> str:
    """The runtime whose wire a device speaks where nobody says more."""
    return default_runtime(min(device_profile(device).architectures)).name


def act(name: str, **values: int) -> Action:
    """An action by name; fields not given are 0."""
    kind = ActionType[name]
    return make_action(kind, tuple(values.pop(field_name, 0) for field_name in ACTIONS[kind].NAMES))


def buffer(number: int, count: int = LENGTH, size: int = FRAME) -> dict[str, int]:
    """The fields of a host buffer: descriptor list `number`."""
    return {
        "dma_address": BASE + number * STRIDE,
        "desc_page_size": PAGE,
        "total_desc_count": count,
        "bytes_in_pattern": size,
    }


def stream_in(kind: str, channel: int, stream: int, number: int, **more: int) -> Action:
    """ACTIVATE_`kind`_INPUT over list `number`."""
    values = {**REGISTERS, **buffer(number), "initial_credit_size": 65536, **more}
    return act(f"ACTIVATE_{kind}_INPUT", packed_vdma_channel_id=channel, stream_index=stream, **values)


def stream_out(kind: str, channel: int, stream: int, number: int, **more: int) -> Action:
    """ACTIVATE_`kind`_OUTPUT over list `number`."""
    values = {**REGISTERS, **buffer(number), **more}
    return act(f"ACTIVATE_{kind}_OUTPUT", packed_vdma_channel_id=channel, stream_index=stream, **values)


def fetch(channel: int, stream: int, credit_type: int = 1, size: int = FRAME, **more: int) -> Action:
    """FETCH_DATA_FROM_VDMA_CHANNEL."""
    return act(
        "FETCH_DATA_FROM_VDMA_CHANNEL",
        packed_vdma_channel_id=channel,
        stream_index=stream,
        frame_periph_size=size,
        credit_type=credit_type,
        **more,
    )


def close(name: str, channel: int, direction: int, **more: int) -> Action:
    """An action that names a channel and its direction: DEACTIVATE, VALIDATE, PAUSE, RESUME."""
    return act(name, packed_vdma_channel_id=channel, edge_layer_direction=direction, **more)


def config_on(channel: int = 0, stream: int = 0, number: int = 2, descriptors: int = 3) -> Action:
    """ACTIVATE_CFG_CHANNEL."""
    size = descriptors * PAGE
    values = buffer(number, descriptors + 1, size)
    return act("ACTIVATE_CFG_CHANNEL", packed_vdma_channel_id=channel, config_stream_index=stream, **values)


def config_off(channel: int = 0, stream: int = 0) -> Action:
    """DEACTIVATE_CFG_CHANNEL."""
    return act("DEACTIVATE_CFG_CHANNEL", packed_vdma_channel_id=channel, config_stream_index=stream)


def descriptors(count: int, channel: int = 0) -> Action:
    """FETCH_CFG_CHANNEL_DESCRIPTORS, the Hailo-8 way to configure."""
    return act("FETCH_CFG_CHANNEL_DESCRIPTORS", descriptors_count=count, packed_vdma_channel_id=channel)


def bursts(count: int, stream: int = 0) -> Action:
    """FETCH_CCW_BURSTS, the way of the later chips."""
    return act("FETCH_CCW_BURSTS", ccw_bursts=count, config_stream_index=stream)


BOUNDARY = [
    stream_out("BOUNDARY", OUT, OUT_STREAM, 1),
    stream_in("BOUNDARY", IN, IN_STREAM, 0),
    close("RESUME_VDMA_CHANNEL", IN, 1),
    fetch(IN, IN_STREAM),
    act("BURST_CREDITS_TASK_START"),
]


@dataclass
class Application:
    """One application; `device` decides how it is configured. `config`: the bytes of list 2, else nobody knows them.

    `runtime`: whose wire its messages have, that of the device's family where it is not given.
    `base`: what a compiler made; header, memory and streams are then its own.
    """

    activation: list[Entry] = field(default_factory=list)
    batch_switching: list[Entry] = field(default_factory=list)
    preliminary: list[Entry] = field(default_factory=list)
    dynamic: list[list[Entry]] = field(default_factory=list)
    device: str = "hailo8"
    runtime: str = ""
    batch: int = 1
    networks: int = 1
    asap: int = 0
    fast: int = 1
    config_channels: tuple[int, ...] = (0,)
    layout: int = 0
    config: bytes | None = None
    base: Program | None = None

    def __post_init__(self) -> None:
        self.runtime = self.runtime or speaks(self.device)

    def all_lists(self) -> list[tuple[ContextType, int, list[Entry]]]:
        """In the order in which they are sent."""
        fixed = [
            (ContextType.ACTIVATION, 0, self.activation),
            (ContextType.BATCH_SWITCHING, 0, self.batch_switching),
            (ContextType.PRELIMINARY, 0, self.preliminary),
        ]
        return fixed + [(ContextType.DYNAMIC, index, entries) for index, entries in enumerate(self.dynamic)]

    def header(self) -> bytes:
        """The application header as its runtime packs it."""
        if self.base is not None:
            return self.base.network_groups[0].application_header
        header = ApplicationHeader(
            dynamic_contexts_count=len(self.dynamic),
            preliminary_run_asap=self.asap,
            batch_register_config=0,
            can_fast_batch_switch=self.fast,
            networks_count=self.networks,
            csm_buffer_size=512,
            batch_size=self.batch,
            external_action_list_address=0,
            config_channels_count=len(self.config_channels),
            config_channels=self.config_channels,
        )
        return wire_of(self.runtime).header.encode(header)

    def encoded(self, entries: Sequence[Entry]) -> bytes:
        """An action list as its runtime packs it."""
        return b"".join(wire_of(self.runtime).encode(entries))

    def program(self) -> Program:
        """What a library would have compiled."""
        contexts = tuple(
            ContextProgram(kind, index, data, tuple(min(_CHUNK, len(data) - at) for at in range(0, len(data), _CHUNK)))
            for kind, index, entries in self.all_lists()
            for data in (self.encoded(entries),)
        )
        if self.base is not None:
            base = self.base.network_groups[0]
            return replace(self.base, network_groups=(replace(base, contexts=contexts),))
        lists = []
        for number in range(_LISTS):
            segments = (self.config,) if number == 2 and self.config is not None else None
            size = len(self.config) if segments and self.config is not None else 16 * PAGE
            entry = DescriptorProgram(0, size, number, 0, segments, False)
            lists.append(DescriptorList(BASE + number * STRIDE, self._length(number), PAGE, True, (entry,)))
        streams = boundary_streams(contexts, self.runtime, self.batch, [])
        group = NetworkGroupProgram("net", 0, self.header(), contexts, (), streams, self.batch)
        return Program(self.runtime, self.device, self.batch, (group,), tuple(lists), ())

    def memory(self) -> tuple[Message, ...]:
        """What a target is told of the host's memory and streams."""
        program = self.program()
        return (*memory_messages(program), *stream_messages(program))

    def _length(self, number: int) -> int:
        """Descriptors of a list: what the first action that names it says."""
        for _, _, entries in self.all_lists():
            for entry in entries:
                for action in entry.items if isinstance(entry, Repeated) else (entry,):
                    values = action.arguments()
                    if values.get("dma_address") == BASE + number * STRIDE and "CFG" not in action.type.name:
                        return values["total_desc_count"] or LENGTH
        return LENGTH


Make = Callable[[], Application]


def opening() -> list[Entry]:
    """The activation list."""
    return [
        act("BURST_CREDITS_TASK_RESET"),
        act("OPEN_BOUNDARY_OUTPUT_CHANNEL", packed_vdma_channel_id=OUT, **buffer(1)),
        act(
            "OPEN_BOUNDARY_INPUT_CHANNEL",
            packed_vdma_channel_id=IN,
            stream_index=IN_STREAM,
            periph_bytes_per_buffer=1024,
            frame_periph_size=FRAME,
            **buffer(0),
        ),
    ]


def switching() -> list[Entry]:
    """The batch-switching list."""
    return [
        act("SWITCH_LCU_BATCH", packed_lcu_id=0, kernel_done_count=2),
        act("DDR_BUFFERING_RESET"),
        act("CHANGE_BOUNDARY_INPUT_BATCH", packed_vdma_channel_id=IN),
        act("BURST_CREDITS_TASK_START"),
    ]


def configuring(device: str = "hailo8") -> list[Entry]:
    """The preliminary list."""
    fetches = [descriptors(1), descriptors(2)] if not device_profile(device).integrated else [bursts(1), bursts(2)]
    return [
        config_on(),
        act("DISABLE_LCU", packed_lcu_id=0),
        *fetches,
        act("MODULE_CONFIG_DONE_INTERRUPT", module_index=5),
        act("TRIGGER_SEQUENCER", cluster_index=0, active_apu=7),
        act("SEQUENCER_DONE_INTERRUPT", sequencer_index=0),
        act("ENABLE_LCU_DEFAULT", packed_lcu_id=0),
        act("ENABLE_LCU_NON_DEFAULT", packed_lcu_id=1, kernel_done_address=3, kernel_done_count=5),
        config_off(),
    ]


def single(**settings: Any) -> Application:
    """One context, one input, one output."""
    device = settings.get("device", "hailo8")
    dynamic: list[list[Entry]] = [[*BOUNDARY, act("APPLICATION_CHANGE_INTERRUPT")]]
    return Application(opening(), switching(), configuring(device), dynamic, **settings)


def double(**settings: Any) -> Application:
    """Two contexts with an inter-context edge between them."""
    mapping = "CHANGE_VDMA_TO_STREAM_MAPPING"
    first: list[Entry] = [
        stream_out("INTER_CONTEXT", INTER_OUT, 10, 3),
        stream_in("BOUNDARY", IN, IN_STREAM, 0),
        Repeated(
            ActionType[mapping],
            (
                act(mapping, packed_vdma_channel_id=IN, stream_index=IN_STREAM),
                act(mapping, packed_vdma_channel_id=OUT, stream_index=1, is_dummy_stream=1),
            ),
        ),
        close("RESUME_VDMA_CHANNEL", IN, 1),
        fetch(IN, IN_STREAM),
        act("BURST_CREDITS_TASK_START"),
        act("LCU_INTERRUPT", packed_lcu_id=0),
        act(
            "OUTPUT_CHANNEL_TRANSFER_DONE_INTERRUPT",
            packed_vdma_channel_id=INTER_OUT,
            stream_index=10,
            is_inter_context=1,
        ),
        close("DEACTIVATE_VDMA_CHANNEL", INTER_OUT, 2, check_host_empty_num_available=1, initial_credit_size=65536),
        close("PAUSE_VDMA_CHANNEL", IN, 1),
    ]
    second: list[Entry] = [
        stream_out("BOUNDARY", OUT, OUT_STREAM, 1),
        stream_in("INTER_CONTEXT", INTER_IN, 4, 3),
        act(mapping, packed_vdma_channel_id=IN, stream_index=9, is_dummy_stream=1),
        act(mapping, packed_vdma_channel_id=OUT, stream_index=9),
        fetch(INTER_IN, 4, 2, 2),
        act("WAIT_FOR_DMA_IDLE_ACTION", packed_vdma_channel_id=OUT, stream_index=9),
        close("VALIDATE_VDMA_CHANNEL", OUT, 2),
        close("DEACTIVATE_VDMA_CHANNEL", INTER_IN, 1, check_host_empty_num_available=1, initial_credit_size=65536),
    ]
    switch = switching()
    switch[1:1] = [close("DEACTIVATE_VDMA_CHANNEL", INTER_OUT, 2, initial_credit_size=65536)]
    switch[3:3] = [stream_out("INTER_CONTEXT", INTER_OUT, 10, 3)]
    return Application(opening(), switch, configuring(), [first, second], **settings)


def with_ddr(**settings: Any) -> Application:
    """One context with a DDR portal."""
    made = single(**settings)
    rows = {"core_bytes_per_buffer": PAGE, "core_buffers_per_frame": 4}
    producer = {"connected_d2h_packed_vdma_channel_id": DDR_OUT}
    made.dynamic[0][0:0] = [
        stream_out("DDR_BUFFER", DDR_OUT, 12, 4, **rows, bytes_in_pattern=PAGE, buffered_rows_count=16),
        stream_in("DDR_BUFFER", DDR_IN, 13, 4, **rows, bytes_in_pattern=PAGE, **producer),
        act(
            "ADD_DDR_PAIR_INFO",
            h2d_packed_vdma_channel_id=DDR_IN,
            d2h_packed_vdma_channel_id=DDR_OUT,
            descriptors_per_frame=4,
            programmed_descriptors_count=64,
        ),
        act("DDR_BUFFERING_START"),
    ]
    portal = made.dynamic[0][:4]
    made.batch_switching[1:2] = [
        close("DEACTIVATE_VDMA_CHANNEL", DDR_OUT, 2, initial_credit_size=65536),
        close("DEACTIVATE_VDMA_CHANNEL", DDR_IN, 1, initial_credit_size=65536),
        act("DDR_BUFFERING_RESET"),
        *portal,
    ]
    return made


def changed(entries: Sequence[Entry], name: str, nth: int = 0, **values: int) -> list[Entry]:
    """The list with fields of the nth action called `name` replaced."""
    kind, seen, out = ActionType[name], 0, []
    for entry in entries:
        if isinstance(entry, Action) and entry.type is kind:
            if seen == nth:
                arguments = entry.arguments() | values
                entry = make_action(kind, tuple(arguments[one] for one in ACTIONS[kind].NAMES))
            seen += 1
        out.append(entry)
    return out


def without(entries: Sequence[Entry], name: str) -> list[Entry]:
    """The list without the actions called `name`."""
    kind = ActionType[name]
    return [entry for entry in entries if not (isinstance(entry, Action) and entry.type is kind)]
