"""Small applications for the tests of single actions: lists of actions by name that a test can change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from emu.hw.capture import boundary_streams
from emu.hw.device import Device
from emu.hw.hostmem import HostMemory
from emu.hw.profiles import load
from emu.hw.session import RunRequest, RunResult, Session, run_program
from emu.sequencer.actions import FIELD_NAMES, Action, ActionType, Entry, Repeated, encode
from emu.sequencer.control import ApplicationHeader
from emu.sequencer.program import (
    ContextProgram,
    ContextType,
    DescriptorList,
    DescriptorProgram,
    NetworkGroupProgram,
    Program,
)

IN, OUT = 2, 16
INTER_OUT, INTER_IN = 17, 3
DDR_OUT, DDR_IN = 18, 4
PAGE = 512
FRAME = 1024
BASE = 0x10000000
STRIDE = 0x100000
REGISTERS = {
    "core_bytes_per_buffer": 64,
    "core_buffers_per_frame": 16,
    "periph_bytes_per_buffer": 1024,
    "periph_buffers_per_frame": 1,
}


def act(name: str, **values: int) -> Action:
    """An action by name; fields not given are 0."""
    kind = ActionType[name]
    return Action(kind, tuple(values.pop(field_name, 0) for field_name in FIELD_NAMES[kind]))


def buffer(number: int, count: int = 64, size: int = FRAME) -> dict[str, int]:
    return {
        "dma_address": BASE + number * STRIDE,
        "desc_page_size": PAGE,
        "total_desc_count": count,
        "bytes_in_pattern": size,
    }


def stream_in(kind: str, channel: int, stream: int, number: int, **more: int) -> Action:
    values = {**REGISTERS, **buffer(number), "initial_credit_size": 65536, **more}
    return act(f"ACTIVATE_{kind}_INPUT", packed_vdma_channel_id=channel, stream_index=stream, **values)


def stream_out(kind: str, channel: int, stream: int, number: int, **more: int) -> Action:
    values = {**REGISTERS, **buffer(number), **more}
    return act(f"ACTIVATE_{kind}_OUTPUT", packed_vdma_channel_id=channel, stream_index=stream, **values)


def fetch(channel: int, stream: int, credit_type: int = 1, size: int = FRAME, **more: int) -> Action:
    return act(
        "FETCH_DATA_FROM_VDMA_CHANNEL",
        packed_vdma_channel_id=channel,
        stream_index=stream,
        frame_periph_size=size,
        credit_type=credit_type,
        **more,
    )


def close(name: str, channel: int, direction: int, **more: int) -> Action:
    return act(name, packed_vdma_channel_id=channel, edge_layer_direction=direction, **more)


def config_on(channel: int = 0, stream: int = 0, number: int = 2, descriptors: int = 3) -> Action:
    return act(
        "ACTIVATE_CFG_CHANNEL",
        packed_vdma_channel_id=channel,
        config_stream_index=stream,
        **buffer(number, descriptors + 1, descriptors * PAGE),
    )


def config_off(channel: int = 0, stream: int = 0) -> Action:
    return act("DEACTIVATE_CFG_CHANNEL", packed_vdma_channel_id=channel, config_stream_index=stream)


def descriptors(count: int, channel: int = 0) -> Action:
    return act("FETCH_CFG_CHANNEL_DESCRIPTORS", descriptors_count=count, packed_vdma_channel_id=channel)


def bursts(count: int, stream: int = 0) -> Action:
    return act("FETCH_CCW_BURSTS", ccw_bursts=count, config_stream_index=stream)


BOUNDARY = [
    stream_out("BOUNDARY", OUT, 9, 1),
    stream_in("BOUNDARY", IN, 1, 0),
    close("RESUME_VDMA_CHANNEL", IN, 1),
    fetch(IN, 1),
    act("BURST_CREDITS_TASK_START"),
]


@dataclass
class Lists:
    """One application. `device` decides the style of configuration."""

    activation: list[Entry] = field(default_factory=list)
    batch_switching: list[Entry] = field(default_factory=list)
    preliminary: list[Entry] = field(default_factory=list)
    dynamic: list[list[Entry]] = field(default_factory=list)
    device: str = "hailo8"
    runtime: str = "4.23"
    batch: int = 1
    networks: int = 1
    asap: int = 0
    fast: int = 1
    config_channels: tuple[int, ...] = (0,)
    layout: int | None = None

    def all_lists(self) -> list[tuple[ContextType, int, list[Entry]]]:
        fixed = [
            (ContextType.ACTIVATION, 0, self.activation),
            (ContextType.BATCH_SWITCHING, 0, self.batch_switching),
            (ContextType.PRELIMINARY, 0, self.preliminary),
        ]
        return fixed + [(ContextType.DYNAMIC, index, entries) for index, entries in enumerate(self.dynamic)]

    def header(self) -> ApplicationHeader:
        return ApplicationHeader(
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

    def program(self, config_bytes: bytes | None = None) -> Program:
        contexts = tuple(
            ContextProgram(kind, index, data, tuple(min(1461, len(data) - at) for at in range(0, len(data), 1461)))
            for kind, index, entries in self.all_lists()
            for data in (b"".join(encode(entries, self.runtime)),)
        )
        lists = []
        for number in range(8):
            segments = (config_bytes,) if number == 2 and config_bytes is not None else None
            size = len(config_bytes) if segments and config_bytes is not None else 16 * PAGE
            entry = DescriptorProgram(0, size, number, 0, segments, False)
            lists.append(DescriptorList(BASE + number * STRIDE, 64, PAGE, True, (entry,)))
        group = NetworkGroupProgram(
            "net",
            0,
            self.header().encode(self.runtime),
            contexts,
            (),
            boundary_streams(contexts, self.runtime, self.batch, []),
            self.batch,
        )
        return Program(self.runtime, self.device, self.batch, (group,), tuple(lists), (), ())

    def run(self, frames: int | None = None, config_bytes: bytes | None = None, **settings: Any) -> RunResult:
        request = RunRequest(frames=frames or self.batch, layout=self.layout, **settings)
        return run_program(self.program(config_bytes), load(self.device), request)

    def session(self, frames: int = 1, config_bytes: bytes | None = None, **settings: Any) -> Session:
        """A configured device, not yet enabled."""
        program = self.program(config_bytes)
        device = Device(
            load(self.device), self.runtime, HostMemory.from_program(program), layout=self.layout, **settings
        )
        session = Session(device, program, RunRequest(frames=frames))
        session.configure()
        return session


def opening() -> list[Entry]:
    return [
        act("BURST_CREDITS_TASK_RESET"),
        act("OPEN_BOUNDARY_OUTPUT_CHANNEL", packed_vdma_channel_id=OUT, **buffer(1)),
        act(
            "OPEN_BOUNDARY_INPUT_CHANNEL",
            packed_vdma_channel_id=IN,
            stream_index=1,
            periph_bytes_per_buffer=1024,
            frame_periph_size=FRAME,
            **buffer(0),
        ),
    ]


def switching() -> list[Entry]:
    return [
        act("SWITCH_LCU_BATCH", packed_lcu_id=0, kernel_done_count=2),
        act("DDR_BUFFERING_RESET"),
        act("CHANGE_BOUNDARY_INPUT_BATCH", packed_vdma_channel_id=IN),
        act("BURST_CREDITS_TASK_START"),
    ]


def preliminary(device: str = "hailo8") -> list[Entry]:
    load_all = [descriptors(1), descriptors(2)] if device.startswith("hailo8") else [bursts(1), bursts(2)]
    return [
        config_on(),
        act("DISABLE_LCU", packed_lcu_id=0),
        *load_all,
        act("MODULE_CONFIG_DONE_INTERRUPT", module_index=5),
        act("TRIGGER_SEQUENCER", cluster_index=0, active_apu=7),
        act("SEQUENCER_DONE_INTERRUPT", sequencer_index=0),
        act("ENABLE_LCU_DEFAULT", packed_lcu_id=0),
        act("ENABLE_LCU_NON_DEFAULT", packed_lcu_id=1, kernel_done_address=3, kernel_done_count=5),
        config_off(),
    ]


def single(**settings: Any) -> Lists:
    """One context, one input, one output."""
    device = settings.get("device", "hailo8")
    return Lists(
        opening(),
        switching(),
        preliminary(device),
        [[*BOUNDARY, act("APPLICATION_CHANGE_INTERRUPT")]],
        **settings,
    )


def double(**settings: Any) -> Lists:
    """Two contexts with an inter-context edge between them."""
    mapping = "CHANGE_VDMA_TO_STREAM_MAPPING"
    first: list[Entry] = [
        stream_out("INTER_CONTEXT", INTER_OUT, 10, 3),
        stream_in("BOUNDARY", IN, 1, 0),
        Repeated(
            ActionType[mapping],
            (
                act(mapping, packed_vdma_channel_id=IN, stream_index=1),
                act(mapping, packed_vdma_channel_id=OUT, stream_index=1, is_dummy_stream=1),
            ),
        ),
        close("RESUME_VDMA_CHANNEL", IN, 1),
        fetch(IN, 1),
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
        stream_out("BOUNDARY", OUT, 9, 1),
        stream_in("INTER_CONTEXT", INTER_IN, 4, 3),
        act(mapping, packed_vdma_channel_id=IN, stream_index=9, is_dummy_stream=1),
        act(mapping, packed_vdma_channel_id=OUT, stream_index=9),
        fetch(INTER_IN, 4, 2, 2),
        act("WAIT_FOR_DMA_IDLE_ACTION", packed_vdma_channel_id=OUT, stream_index=9),
        close("VALIDATE_VDMA_CHANNEL", OUT, 2),
        close("DEACTIVATE_VDMA_CHANNEL", INTER_IN, 1, check_host_empty_num_available=1, initial_credit_size=65536),
    ]
    switch = switching()
    switch[1:1] = [
        close("DEACTIVATE_VDMA_CHANNEL", INTER_OUT, 2, initial_credit_size=65536),
    ]
    switch[3:3] = [stream_out("INTER_CONTEXT", INTER_OUT, 10, 3)]
    return Lists(opening(), switch, preliminary(), [first, second], **settings)


def with_ddr(**settings: Any) -> Lists:
    """One context with a DDR portal."""
    lists = single(**settings)
    rows = {"core_bytes_per_buffer": PAGE, "core_buffers_per_frame": 4}
    lists.dynamic[0][0:0] = [
        stream_out("DDR_BUFFER", DDR_OUT, 12, 4, **rows, bytes_in_pattern=PAGE, buffered_rows_count=16),
        stream_in(
            "DDR_BUFFER",
            DDR_IN,
            13,
            4,
            **rows,
            bytes_in_pattern=PAGE,
            connected_d2h_packed_vdma_channel_id=DDR_OUT,
        ),
        act(
            "ADD_DDR_PAIR_INFO",
            h2d_packed_vdma_channel_id=DDR_IN,
            d2h_packed_vdma_channel_id=DDR_OUT,
            descriptors_per_frame=4,
            programmed_descriptors_count=64,
        ),
        act("DDR_BUFFERING_START"),
    ]
    portal = lists.dynamic[0][:4]
    lists.batch_switching[1:2] = [
        close("DEACTIVATE_VDMA_CHANNEL", DDR_OUT, 2, initial_credit_size=65536),
        close("DEACTIVATE_VDMA_CHANNEL", DDR_IN, 1, initial_credit_size=65536),
        act("DDR_BUFFERING_RESET"),
        *portal,
    ]
    return lists


def changed(entries: Sequence[Entry], name: str, nth: int = 0, **values: int) -> list[Entry]:
    """The list with fields of the nth action called `name` replaced."""
    kind, seen, out = ActionType[name], 0, []
    for entry in entries:
        if isinstance(entry, Action) and entry.type is kind:
            if seen == nth:
                arguments = entry.arguments() | values
                entry = Action(kind, tuple(arguments[one] for one in FIELD_NAMES[kind]))
            seen += 1
        out.append(entry)
    return out


def without(entries: Sequence[Entry], name: str) -> list[Entry]:
    kind = ActionType[name]
    return [entry for entry in entries if not (isinstance(entry, Action) and entry.type is kind)]
