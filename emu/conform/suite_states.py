"""Vectors of what depends on what came before: contexts, applications, breakpoints, memory that runs full."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from emu.chips.runtimes import runtime_names, runtime_profile
from emu.conform.applications import (
    Application,
    act,
    bursts,
    config_off,
    config_on,
    single,
)
from emu.conform.protocol import Kind, message
from emu.conform.suite_controls import BOARD, ENABLE, INTEGRATED, RESET, context, header
from emu.conform.suite_flows import vector
from emu.conform.suite_statuses import configured
from emu.conform.vector import Basis, Step, Vector, asked, control, ran
from emu.hw.config import build
from emu.sequencer.configuration import HAILO1XH
from emu.sequencer.program import ContextType
from emu.wire.breakpoints import BreakpointStatus, Place
from emu.wire.control import (
    ContextSwitchStatus,
    Opcode,
    change_context_switch_status,
    encode_request,
    set_network_group_header,
)
from emu.wire.lists import Entry
from emu.wire.notifications import EventId
from emu.wire.status import FirmwareStatus as S
from emu.wire.wire import wire_of

NOTHING = b"\x1e\xff\xff\xff\xff"  # BURST_CREDITS_TASK_RESET: a list that can be read
_SOURCE = "firmware-actions.md 7"
_SET, _CONTINUE, _CLEAR = range(3)


def _refused(name: str, status: S, steps: Sequence[Step], made: Application, source: str = _SOURCE) -> Vector:
    return Vector(
        f"state/{name}",
        f"is answered by {status.name}",
        Basis.HOUSE_RULE,
        source,
        made.device,
        made.runtime,
        tuple(steps),
        made.memory(),
        covers=(status.name,),
    )


def configuring() -> Iterator[Vector]:
    """Headers and contexts at the wrong moment, or too many."""
    made = single()
    all_of = configured(made)
    many_contexts, no_contexts = (_packed(made, dynamic_contexts_count=count) for count in (1022, 0))
    many_channels = _packed(made, config_channels_count=17)
    yield _refused(
        "context-before-header",
        S.CONTEXT_SWITCH_TASK_STATUS_USER_SENT_CONTEXT_CONTROL_BEFORE_MAIN_HEADER_CONTROL,
        [control(context(3, NOTHING), major=0x40130006)],
        made,
    )
    for name, before, request, status in (
        ("context-too-many", all_of, context(1, NOTHING),
         S.CONTEXT_SWITCH_TASK_STATUS_CONTEXT_INFO_RECEIVED_TOO_MANY_CONTEXTS),
        ("context-of-no-type", all_of[:1], context(9, NOTHING), S.CONTEXT_SWITCH_STATUS_INVALID_CONTEXT_TYPE),
        ("contexts-more-than-any", [], many_contexts, S.CONTEXT_SWITCH_STATUS_INVALID_DYNAMIC_CONTEXT_COUNT),
        ("contexts-none", [], no_contexts, S.CONTEXT_SWITCH_STATUS_INVALID_DYNAMIC_CONTEXT_COUNT),
        ("config-channels-too-many", [], many_channels, S.CONTEXT_SWITCH_STATUS_INVALID_CFG_CHANNELS_COUNT),
        ("enable-of-nothing", [], ENABLE, S.CONTEXT_SWITCH_STATUS_INVALID_APPLICATION_INDEX),
        ("enable-before-all-contexts", all_of[:2], ENABLE, S.CONTEXT_SWITCH_STATUS_INVALID_DYNAMIC_CONTEXT_COUNT),
        ("batch-larger-than-configured", all_of,
         change_context_switch_status(ContextSwitchStatus.ENABLED, 0, 2), S.CONTEXT_SWITCH_STATUS_INVALID_BATCH_SIZE),
        ("configure-while-active", [*all_of, control(ENABLE)], header("hailo8"),
         S.CONTEXT_SWITCH_STATUS_CANT_CONFIGURE_HEF_WHILE_ACTIVATED),
        ("sub-action-of-no-type", all_of[:1], context(3, b"\x18\xff\xff\xff\xff\x01\x00\x1d"),
         S.CONTEXT_SWITCH_STATUS_REPEATED_ACTION_INVALID_SUBACTION_TYPE),
        ("repeated-none", all_of[:1], context(3, b"\x18\xff\xff\xff\xff\x00\x00\x05"),
         S.CONTEXT_SWITCH_STATUS_REPEATED_ACTION_INVALID_ACTION_COUNT),
    ):  # fmt: skip
        yield _refused(name, status, [*before, control(request, major=status)], made)
    many = wire_of(made.runtime).runtime.max_applications
    again = [control(header("hailo8"))] * many
    full = S.CONTEXT_SWITCH_STATUS_INVALID_APPLICATION_INDEX
    yield _refused("applications-too-many", full, [*again, control(header("hailo8"), major=full)], made)
    missing = S.CONTEXT_SWITCH_TASK_STATUS_DOWNLOAD_ACTION_LIST_INVALID_CONTEXT_INDEX
    third = (bytes(4), b"\1", (7).to_bytes(2, "little"), bytes(2))
    yield _refused(
        "download-of-no-context",
        missing,
        [*all_of, asked(Opcode.DOWNLOAD_CONTEXT_ACTION_LIST, third, major=missing)],
        made,
    )


def _packed(made: Application, **values: int) -> bytes:
    """SET_NETWORK_GROUP_HEADER with some fields changed."""
    header_of = wire_of(made.runtime).header
    found = header_of.decode(made.header())
    return set_network_group_header(header_of.encode(type(found)(**{**found._asdict(), **values})))


def integrated() -> Iterator[Vector]:
    """Of devices whose firmware has little memory, and fetches configuration in bursts."""
    made, sleep = single(device=INTEGRATED), b"\x2b\xff\xff\xff\xff\xe8\x03\x00\x00"
    chunks = [context(3, sleep * 160, number == 0, number == 39) for number in range(40)]
    full = S.CONTEXT_SWITCH_STATUS_SRAM_MEMORY_FULL
    steps = [control(header(INTEGRATED)), *map(control, chunks[:-1]), control(chunks[-1], major=full)]
    yield _refused("lists-beyond-the-memory", full, steps, made, "firmware-actions.md 5.2")
    absent = S.CONTEXT_SWITCH_STATUS_INVALID_EXTERNAL_ACTION_LIST_ADDRESS
    elsewhere = _packed(made, external_action_list_address=0x80000000)
    yield _refused("lists-in-ddr-not-there", absent, [control(elsewhere, major=absent)], made, "firmware-actions.md 4")
    contexts = made.program().network_groups[0].contexts
    there = [
        message(
            Kind.ACTION_LIST,
            address=0x80000000 + 0x10000 * at,
            context_type=int(one.context_type),
            data=one.action_list,
        )
        for at, one in enumerate(contexts)
    ]
    yield Vector(
        "state/lists-in-ddr",
        "lists that lie in DDR from the header's address on are taken in their order, as if they had been sent",
        Basis.DOCUMENTED,
        "firmware-actions.md 4",
        made.device,
        made.runtime,
        (control(elsewhere, sizes=()), control(ENABLE, sizes=()), ran()),
        (*made.memory(), *there),
        covers=("CONTEXT_SWITCH_SET_NETWORK_GROUP_HEADER",),
    )
    records = b"".join(build.register(HAILO1XH, 0x10000000 + 4 * at, at) for at in range(64))
    for fetched, status in (
        (65, S.CSM_CONFIG_MANAGER_STATUS_CSM_BURST_COUNTER_IS_NOT_ZERO),
        (63, S.CSM_CONFIG_MANAGER_STATUS_CSM_FIFO_NOT_EMPTY),
    ):
        made = single(device=INTEGRATED, config=records)
        lists: list[Entry] = [config_on(), bursts(fetched), config_off(), act("ENABLE_LCU_DEFAULT")]
        made.preliminary = lists
        stop = (int(EventId.CONTEXT_SWITCH_RUN_TIME_ERROR), status.to_bytes(4, "little"))
        yield _refused(
            f"{fetched}-of-64-bursts", status, [*configured(made), control(ENABLE), ran(notified=(stop,))], made
        )


def breakpoints() -> Iterator[Vector]:
    """A breakpoint is set, reached, left and cleared."""
    for device in (BOARD, INTEGRATED):
        made = single(device=device)
        wire = wire_of(made.runtime)
        place = wire.breakpoint.encode(Place(0, None, 2, 6))
        early = S.CONTEXT_SWITCH_STATUS_USER_CANT_CONTINUE_WHEN_BREAKPOINT_IS_CLEARED_OR_NOT_REACHED_YET
        twice = S.CONTEXT_SWITCH_STATUS_USER_MUST_CLEAR_OR_REACH_BREAKPOINT_BEFORE_SETTING_NEW_ONE
        wrong = S.CONTEXT_SWITCH_STATUS_RECEIVED_INVALID_BREAKPOINT_CONTROL
        reached = wire.notifications.breakpoint_reached(0, 0, 2, 6)
        told = ((int(EventId.CONTEXT_SWITCH_BREAKPOINT_REACHED), reached.payload),)
        yield vector(
            f"state/breakpoint-{device}",
            "a breakpoint is waited for, reached before its action, left by CONTINUE and gone after CLEAR",
            made,
            [
                _is(BreakpointStatus.CLEARED), _breakpoint(_CONTINUE, major=early), _breakpoint(_SET, place),
                _is(BreakpointStatus.WAITING_FOR_BREAKPOINT), _breakpoint(_SET, place, major=twice),
                control(ENABLE), ran(notified=told), _is(BreakpointStatus.REACHED_BREAKPOINT),
                _breakpoint(_CONTINUE), ran(), _breakpoint(_CLEAR), _is(BreakpointStatus.CLEARED),
                _breakpoint(7, major=wrong),
            ],
            "CONFIG_CONTEXT_SWITCH_BREAKPOINT", "GET_CONTEXT_SWITCH_BREAKPOINT_STATUS", early.name, twice.name,
            wrong.name,
            basis=Basis.DOCUMENTED,
            source="firmware-actions.md 5.6",
        )  # fmt: skip


def _breakpoint(what: int, place: bytes = b"", major: int = 0) -> Step:
    parameters = (bytes(4), bytes([what]), place)
    return control(encode_request(Opcode.CONFIG_CONTEXT_SWITCH_BREAKPOINT, parameters), major=major)


def _is(status: BreakpointStatus) -> Step:
    return asked(Opcode.GET_CONTEXT_SWITCH_BREAKPOINT_STATUS, (bytes(4),), parameters=(bytes([status]),))


def lasting() -> Iterator[Vector]:
    """What is read back, and what a reset leaves."""
    made = single(device=BOARD)
    listed = made.encoded(made.activation)
    asked_for = (bytes(4), bytes([ContextType.ACTIVATION]), bytes(2), bytes(2))
    yield vector(
        "state/download",
        "a list that never ran is downloaded as it was sent",
        made,
        [asked(Opcode.DOWNLOAD_CONTEXT_ACTION_LIST, asked_for, parameters=(None, b"\1", bytes(4), None, listed))],
        "DOWNLOAD_CONTEXT_ACTION_LIST",
        basis=Basis.DOCUMENTED,
        source="firmware-actions.md 5.4",
    )
    count = asked(Opcode.GET_CONTEXT_SWITCH_MAIN_HEADER, parameters=(bytes(1025),))
    yield vector(
        "state/reset-of-the-chip",
        "RESET forgets the applications",
        made,
        [asked(Opcode.RESET, (b"\0",), sizes=()), count, control(RESET)],
        "RESET",
        basis=Basis.HOUSE_RULE,
        source="firmware-actions.md 5",
    )
    old = [name for name in runtime_names() if runtime_profile(name).layouts["cache_info"]]
    size = S.CONTEXT_SWITCH_STATUS_INVALID_CACHE_SIZE
    length = S.CONTROL_PROTOCOL_STATUS_INVALID_CACHE_INFO_LENGTH
    init, get = Opcode.CONTEXT_SWITCH_INIT_CACHE_INFO, Opcode.CONTEXT_SWITCH_GET_CACHE_INFO
    update = Opcode.CONTEXT_SWITCH_UPDATE_CACHE_READ_OFFSET
    for runtime in old[-1:]:
        steps = (
            asked(get, parameters=(bytes(12),)),
            asked(update, (struct.pack("<i", 1),), major=size),
            asked(init, (bytes(12),), major=size),
            asked(init, (bytes(11),), major=length),
            asked(init, (struct.pack("<IIi", 100, 90, -1),), sizes=()),
            asked(update, (struct.pack("<i", 20),), sizes=()),
            asked(get, parameters=(struct.pack("<IIi", 100, 10, -1),)),
        )
        yield Vector(
            "state/cache-info",
            "a cache of old releases is described once, and its read offset moves round",
            Basis.DOCUMENTED,
            "firmware-actions.md 5.15",
            INTEGRATED,
            runtime,
            steps,
            covers=(init.name, get.name, update.name, size.name, length.name),
        )


STATES = (configuring, integrated, breakpoints, lasting)
