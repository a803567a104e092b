"""Vectors of the control messages: replies of a real Hailo-8L, and the statuses of requests that are wrong."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from emu.conform.applications import single, speaks
from emu.conform.vector import Basis, Step, Vector, asked, control
from emu.wire.control import (
    MAX_MESSAGE_SIZE,
    ContextSwitchStatus,
    Opcode,
    change_context_switch_status,
    encode_request,
    opcode_name,
    set_network_group_header,
)
from emu.wire.messages import OF_CACHES, OPCODES
from emu.wire.status import FirmwareStatus as S
from emu.wire.wire import wire_of

BOARD = "hailo8l"  # of the captures
INTEGRATED = "hailo15h"
ENABLE = change_context_switch_status(ContextSwitchStatus.ENABLED, 0)
RESET = change_context_switch_status(ContextSwitchStatus.RESET)
CLEAR = encode_request(Opcode.CONTEXT_SWITCH_CLEAR_CONFIGURED_APPS)


def _vector(
    name: str,
    says: str,
    basis: Basis,
    source: str,
    steps: Sequence[Step],
    *covers: str,
    device: str = BOARD,
) -> Vector:
    return Vector(
        f"control/{name}", says, basis, source, device, speaks(device), tuple(steps), covers=covers, hazards=frozenset()
    )


def context(kind: int, data: bytes, first: int = 1, last: int = 1) -> bytes:
    """SET_CONTEXT_INFO in one chunk."""
    return encode_request(Opcode.CONTEXT_SWITCH_SET_CONTEXT_INFO, (bytes([first]), bytes([last]), bytes([kind]), data))


def header(device: str = BOARD) -> bytes:
    """SET_NETWORK_GROUP_HEADER of an application of one context."""
    return set_network_group_header(single(device=device).header())


def captured() -> Iterator[Vector]:
    """Replies whose bytes were read off a board (silicon-facts.md a)."""
    identity = (
        (2).to_bytes(4, "big"),
        struct.pack("<3I", 4, 23, 0x20000000),
        bytes(4),
        b"Hailo-8".ljust(32, b"\0"),
        (2).to_bytes(4, "big"),
        None,
        None,
        None,
    )
    yield _vector(
        "identify",
        "IDENTIFY tells protocol, firmware version and board of a Hailo-8L",
        Basis.CAPTURED,
        "silicon-facts.md a",
        [asked(Opcode.IDENTIFY, minor=0, parameters=identity, sizes=(4, 12, 4, 32, 4, 16, 16, 42))],
        "IDENTIFY",
    )
    information = (
        (400_000_000).to_bytes(4, "big"),
        bytes.fromhex("0000000400000000"),
        (1).to_bytes(4, "big"),
        b"\3",
        *[None] * 4,
        (51).to_bytes(4, "big"),
    )
    yield _vector(
        "device-information",
        "GET_DEVICE_INFORMATION tells clock, features and clusters; ids and sensors are a unit's own",
        Basis.CAPTURED,
        "silicon-facts.md a",
        [asked(Opcode.GET_DEVICE_INFORMATION, minor=0, parameters=information, sizes=(4, 8, 4, 1, 32, 6, 12, 24, 4))],
        "GET_DEVICE_INFORMATION",
    )
    yield _vector(
        "hw-consts",
        "GET_HW_CONSTS is 19 bytes, little-endian",
        Basis.CAPTURED,
        "silicon-facts.md a",
        [asked(Opcode.GET_HW_CONSTS, minor=0, parameters=(bytes.fromhex("08000000ffffffff00a0000001000100000100"),))],
        "GET_HW_CONSTS",
    )
    made = single(device=BOARD)
    contexts = [
        control(context(kind, made.encoded(entries)), minor=0, sizes=()) for kind, _, entries in made.all_lists()
    ]
    yield _vector(
        "configure",
        "RESET, CLEAR, a header and its contexts are each answered by an OK without parameters",
        Basis.CAPTURED,
        "silicon-facts.md a",
        [
            control(RESET, minor=0, echo=Opcode.CHANGE_CONTEXT_SWITCH_STATUS, sizes=()),
            control(CLEAR, minor=0, echo=Opcode.CONTEXT_SWITCH_CLEAR_CONFIGURED_APPS, sizes=()),
            control(header(), minor=0, echo=Opcode.CONTEXT_SWITCH_SET_NETWORK_GROUP_HEADER, sizes=()),
            *contexts,
        ],
        "CHANGE_CONTEXT_SWITCH_STATUS",
        "CONTEXT_SWITCH_CLEAR_CONFIGURED_APPS",
        "CONTEXT_SWITCH_SET_NETWORK_GROUP_HEADER",
        "CONTEXT_SWITCH_SET_CONTEXT_INFO",
    )


def measured() -> Iterator[Vector]:
    """Statuses that were seen on the board (silicon-facts.md d)."""
    seen: list[tuple[str, S, list[Step]]] = [
        (
            "context-out-of-order",
            S.CONTEXT_SWITCH_STATUS_UNEXPECTED_CONTEXT_ORDER,
            [control(header()), control(context(0, b"\x1e\xff\xff\xff\xff"), major=0x4013006E)],
        ),
        (
            "header-of-the-other-struct",
            S.CONTROL_PROTOCOL_STATUS_INVALID_CONTEXT_SWITCH_APP_HEADER_LENGTH,
            [control(set_network_group_header(bytes(53)), major=0x40030060)],
        ),
        (
            "memory-of-the-configuration",
            S.CONTROL_PROTOCOL_STATUS_ACCESS_RESTRICTED_MEMORY_AREA,
            [
                asked(
                    Opcode.WRITE_MEMORY,
                    ((0x11000000).to_bytes(4, "big"), bytes(4)),
                    major=0x40030098,
                    echo=Opcode.WRITE_MEMORY,
                )
            ],
        ),
        (
            "self-test-of-a-block-not-listed",
            S.CONTROL_PROTOCOL_STATUS_INVALID_BYPASS_SELECTION,
            [asked(Opcode.RUN_BIST_TEST, (b"\0", bytes(4), bytes(4)), major=0x400300B2)],
        ),
        (
            "hw-infer-without-channels",
            S.CONTROL_PROTOCOL_STATUS_INVALID_CHANNELS_INFO_LENGTH,
            [
                asked(
                    Opcode.CHANGE_HW_INFER_STATUS,
                    (b"\0", b"\0", bytes(2), bytes(2), bytes(385), b"\0"),
                    major=0x400300CA,
                    minor=0x40000001,
                )
            ],
        ),
        (
            "malformed",
            S.CONTROL_PROTOCOL_STATUS_PARSE_COMMAND_FAILED,
            [
                control(
                    encode_request(Opcode.CONFIG_STREAM, (b"\0",))[:-1],
                    major=0x40030050,
                    minor=0x40030005,
                    echo=0xFFFFFFFF,
                    sizes=(),
                )
            ],
        ),
    ]
    for name, status, steps in seen:
        covers = [status.name]
        if name.startswith("self-test"):
            covers.append(Opcode.RUN_BIST_TEST.name)
        if name == "malformed":
            covers.append(Opcode.CONFIG_STREAM.name)
            covers.append(S.HAILO_CONTROL_STATUS_OVERRUN_AT_PARAMETER.name)
        if name == "hw-infer-without-channels":
            covers += [S.HAILO_STATUS_UNINITIALIZED.name, Opcode.CHANGE_HW_INFER_STATUS.name]
        yield _vector(name, f"is answered by {status.name}", Basis.MEASURED, "silicon-facts.md d", steps, *covers)
    for name, data, number in (
        ("empty-context", b"", 0x40130004),
        ("actions-that-do-not-parse", b"\x1e\xff\xff", 0x40130016),
        ("no-such-action", b"\x99\xff\xff\xff\xff", 0x40130018),
        ("bursts-on-hailo-8", b"\x1b\xff\xff\xff\xff\x01\x00\x00", 0x402A0001),
    ):
        steps = [control(header()), control(context(3, data), major=number)]
        text = f"a context of such bytes is answered by 0x{number:08X}"
        yield _vector(name, text, Basis.MEASURED, "silicon-facts.md d", steps, S(number).name)
    for address in (0, 0xA0000, 0x60000000):
        status = S.RESTRICTED_MEMORY_ACCESS
        request = (address.to_bytes(4, "big"), (4).to_bytes(4, "big"))
        steps = [asked(Opcode.READ_MEMORY, request, major=status, minor=status)]
        text = "memory outside the public list is answered by the same status twice"
        yield _vector(f"memory-0x{address:X}", text, Basis.MEASURED, "silicon-facts.md d", steps, status.name)


def documented() -> Iterator[Vector]:
    """What the public headers and the library say of messages (firmware-actions.md 5)."""
    source = "firmware-actions.md 5"
    yield _vector(
        "core-identify",
        "CORE_IDENTIFY tells the version of the core's firmware in 12 bytes",
        Basis.DOCUMENTED,
        "silicon-facts.md a",
        [asked(Opcode.CORE_IDENTIFY, sizes=(12,))],
        "CORE_IDENTIFY",
    )
    yield _vector(
        "temperature",
        "GET_CHIP_TEMPERATURE tells two temperatures and how many samples they are of",
        Basis.DOCUMENTED,
        source,
        [asked(Opcode.GET_CHIP_TEMPERATURE, sizes=(10,))],
        "GET_CHIP_TEMPERATURE",
    )
    word = ((0x108001DC).to_bytes(4, "big"), b"\1\2\3\4")
    reading = (word[0], (4).to_bytes(4, "big"))
    yield _vector(
        "memory",
        "a word that WRITE_MEMORY wrote is what READ_MEMORY reads",
        Basis.DOCUMENTED,
        source,
        [asked(Opcode.WRITE_MEMORY, word, sizes=()), asked(Opcode.READ_MEMORY, reading, parameters=(word[1],))],
        "WRITE_MEMORY",
        "READ_MEMORY",
    )
    for device in (BOARD, INTEGRATED):
        wire = wire_of(speaks(device))
        size = wire.header.size * wire.runtime.max_applications + 1
        own = single(device=device).header()
        full = (b"\1" + own).ljust(size, b"\0")
        yield _vector(
            f"main-header-{device}",
            "GET_CONTEXT_SWITCH_MAIN_HEADER gives the number of applications and the places of all their headers",
            Basis.DOCUMENTED,
            "firmware-actions.md 5.7",
            [
                asked(Opcode.GET_CONTEXT_SWITCH_MAIN_HEADER, parameters=(bytes(size),)),
                control(header(device)),
                asked(Opcode.GET_CONTEXT_SWITCH_MAIN_HEADER, parameters=(full,)),
            ],
            "GET_CONTEXT_SWITCH_MAIN_HEADER",
            device=device,
        )
    yield from _simple()


def _simple() -> Iterator[Vector]:
    for opcode, parameters in (
        (Opcode.SIGNAL_DRIVER_DOWN, ()),
        (Opcode.CONTEXT_SWITCH_SIGNAL_CACHE_UPDATED, ()),
        (Opcode.CONFIG_CONTEXT_SWITCH_TIMESTAMP, (bytes(2), b"\1")),
    ):
        yield _vector(
            opcode.name.lower().replace("_", "-"),
            f"{opcode.name} succeeds on a device at rest and gives nothing",
            Basis.DOCUMENTED,
            "firmware-actions.md 5",
            [asked(opcode, parameters, sizes=())],
            opcode.name,
        )


def refused() -> Iterator[Vector]:
    """Requests with other parameters than their opcode takes: a status for each parameter, by its name."""
    yield from _framing()
    wire = wire_of(speaks(BOARD))
    for opcode, parameters in wire.messages.requests.items():
        if opcode in OF_CACHES and not wire.cache_info.names:
            continue
        sound = [bytes(one.sizes.start) for one in parameters]
        wrong = S.CONTROL_PROTOCOL_STATUS_INCORRECT_PARAMETER_COUNT
        short = opcode_name(opcode).lower().replace("_", "-")
        yield _vector(
            f"{short}-of-too-many-parameters",
            f"{opcode.name} takes {len(parameters)} parameters",
            Basis.DOCUMENTED,
            "firmware-actions.md 5",
            [asked(opcode, [*sound, b"\0"], major=wrong)],
            opcode.name,
            wrong.name,
        )
        for at, one in enumerate(parameters):
            if one.status is S.SUCCESS or one.sizes.stop - 1 > MAX_MESSAGE_SIZE - 200:
                continue
            changed = [*sound[:at], bytes(one.sizes.stop), *sound[at + 1 :]]
            yield _vector(
                f"{short}-with-another-{'-'.join(one.names[:1]) or 'layout'}",
                f"{opcode.name}: {' '.join(one.names)} of another size is answered by {one.status.name}",
                Basis.DOCUMENTED,
                "firmware-actions.md 7",
                [asked(opcode, changed, major=one.status)],
                opcode.name,
                one.status.name,
            )


def _framing() -> Iterator[Vector]:
    parse = S.CONTROL_PROTOCOL_STATUS_PARSE_COMMAND_FAILED
    plain = encode_request(Opcode.IDENTIFY)
    for name, data, minor in (
        ("cut-off", plain[:10], S.HAILO_CONTROL_STATUS_OVERRUN_BEFORE_PARAMETERS),
        ("another-version", b"\0\0\0\3" + plain[4:], S.HAILO_CONTROL_STATUS_INVALID_VERSION),
        ("an-acknowledgement", plain[:4] + b"\0\0\0\1" + plain[8:], S.HAILO_CONTROL_STATUS_CONTROL_ACK_RECEIVED),
        ("bytes-left-over", plain + b"\0", S.CONTROL_PROTOCOL_PART_OF_THE_MESSAGE_NOT_PARSED),
        ("too-long", plain + bytes(MAX_MESSAGE_SIZE), S.CONTROL_PROTOCOL_STATUS_REQUSET_LENGTH_OVERFLOW),
    ):
        yield _vector(
            f"message-{name}",
            f"a message that cannot be parsed is answered by {parse.name} and {minor.name}, without its opcode",
            Basis.DOCUMENTED,
            "firmware-actions.md 7",
            [control(data, major=parse, minor=minor, echo=0xFFFFFFFF, sizes=())],
            minor.name,
        )
    for name, opcode, status in (
        ("no-such-opcode", OPCODES, S.HAILO_CONTROL_STATUS_INVALID_OPCODE),
        ("opcode-that-is-not-served", OPCODES - 2, S.HAILO_CONTROL_STATUS_UNSUPPORTED_OPCODE),
    ):
        steps = [asked(opcode, major=status)]
        yield _vector(
            name, f"is answered by {status.name}", Basis.HOUSE_RULE, "firmware-actions.md 7", steps, status.name
        )


CONTROLS = (captured, measured, documented, refused)
"""What makes the vectors, the strongest basis first."""
