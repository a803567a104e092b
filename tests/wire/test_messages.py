"""Control messages against those of a real Hailo-8L (shared/silicon) and the offsets of firmware-actions.md 5."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emu.chips.runtimes import runtime_names
from emu.errors import HailoError, HailoStatus
from emu.wire.control import (
    ContextSwitchStatus,
    Opcode,
    change_context_switch_status,
    encode_request,
    encode_response,
    set_context_info,
)
from emu.wire.headers import ApplicationHeader
from emu.wire.messages import (
    REQUESTS,
    RESPONSES,
    Kind,
    Value,
)
from emu.wire.wire import wire_of

FRAME = {Kind.REQUEST: 20, Kind.RESPONSE: 28}


def test_every_message_of_the_measured_board_decodes_and_encodes_back(shared: Path) -> None:
    """But for replies to GET_DEVICE_INFORMATION, where the lengths were zeroed along with the unit's own ids."""
    count = 0
    for name in ("mnist", "mobilenet_v1", "yolov6n"):
        for control in json.loads((shared / f"silicon/{name}.json").read_text())["controls"]:
            kind, data = Kind(control["direction"]), bytes.fromhex(control["hex"])
            if (control["opcode"], kind) == (Opcode.GET_DEVICE_INFORMATION, Kind.RESPONSE):
                continue
            message = wire_of("4.23").messages.decode(data, kind)
            assert message.opcode == control["opcode"]
            assert wire_of("4.23").messages.encode(message.opcode, kind, message.values) == data
            count += 1
    assert count > 100


def test_what_the_measured_board_said(shared: Path) -> None:
    """silicon-facts.md a."""
    controls = json.loads((shared / "silicon/mnist.json").read_text())["controls"]
    replies = {
        control["opcode"]: wire_of("4.23").messages.decode(bytes.fromhex(control["hex"]), Kind.RESPONSE).values
        for control in controls
        if control["direction"] == "response" and control["opcode"] != Opcode.GET_DEVICE_INFORMATION
    }
    identity = replies[Opcode.IDENTIFY]
    assert (identity["firmware_major"], identity["firmware_minor"]) == (4, 23)
    assert identity["board_name"] == b"Hailo-8".ljust(32, b"\0")
    assert identity["device_architecture"] == 2
    assert tuple(replies[Opcode.GET_HW_CONSTS].values()) == (8, 65535, 65535, 40960, 65536, 1, 65536)


@pytest.mark.parametrize(
    ("opcode", "runtime", "values", "offsets"),
    [
        (
            Opcode.DOWNLOAD_CONTEXT_ACTION_LIST,
            "4.23",
            {"network_group_id": 1, "context_type": 2, "context_index": 3, "action_list_offset": 4},
            {4: b"\0\0\0\1", 12: b"\2", 17: b"\3\0", 23: b"\0\4"},
        ),
        (
            Opcode.CHANGE_CONTEXT_SWITCH_STATUS,
            "5.2",
            {"state_machine_status": 1, "application_index": 5, "dynamic_batch_size": 6, "batch_count": 7},
            {4: b"\1", 9: b"\5", 14: b"\6\0", 20: b"\7\0"},
        ),
        (
            Opcode.CONFIG_CONTEXT_SWITCH_TIMESTAMP,
            "4.23",
            {"batch_index": 0x102, "enable_user_configuration": 1},
            {4: b"\1\2", 10: b"\1"},
        ),
        (
            Opcode.CONFIG_CONTEXT_SWITCH_TIMESTAMP,
            "5.2",
            {"batch_index": 0x102, "enable_user_configuration": 1},
            {4: b"\1\2\0\0", 12: b"\1"},
        ),
    ],
)
def test_parameters_lie_where_the_reference_says(
    opcode: Opcode, runtime: str, values: dict[str, Value], offsets: dict[int, bytes]
) -> None:
    """Offsets count from parameter_count on, lengths included."""
    body = wire_of(runtime).messages.encode(opcode, Kind.REQUEST, values)[FRAME[Kind.REQUEST] :]
    for offset, data in offsets.items():
        assert body[offset : offset + len(data)] == data


def test_reply_sizes_of_the_reference() -> None:
    """162, 131, 18 and 19 bytes (firmware-actions.md 5.8, 5.10)."""
    device: dict[str, Value] = {
        "neural_network_core_clock_rate": 400_000_000, "supported_features": 4, "boot_source": 1, "lcs": 3,
        "soc_id": bytes(32), "eth_mac_address": bytes(6), "fuse_info": bytes(12), "pd_info": bytes(24),
        "partial_clusters_layout_bitmap": 51,
    }  # fmt: skip
    reply = wire_of("4.23").messages.encode(Opcode.GET_DEVICE_INFORMATION, Kind.RESPONSE, device)
    assert len(reply) == FRAME[Kind.RESPONSE] + 131
    assert reply[FRAME[Kind.RESPONSE] + 127 :] == bytes([0, 0, 0, 51])
    identity: dict[str, Value] = {
        "protocol_version": 2, "firmware_major": 4, "firmware_minor": 23, "firmware_revision": 0, "logger_version": 0,
        "board_name": bytes(32), "device_architecture": 2, "serial_number": bytes(16), "part_number": bytes(16),
        "product_name": bytes(42),
    }  # fmt: skip
    assert len(wire_of("4.23").messages.encode(Opcode.IDENTIFY, Kind.RESPONSE, identity)) == FRAME[Kind.RESPONSE] + 162
    for runtime, size in (("4.23", 19), ("5.2", 18)):
        (parameter,) = wire_of(runtime).messages.layout(Opcode.GET_HW_CONSTS, Kind.RESPONSE)
        assert struct.calcsize(str(parameter.code)) == size


_DESCRIBED = [(Kind.REQUEST, opcode) for opcode in REQUESTS] + [(Kind.RESPONSE, opcode) for opcode in RESPONSES]


@given(st.data())
def test_decoding_gives_back_what_was_encoded(data: st.DataObject) -> None:
    kind, opcode = data.draw(st.sampled_from(_DESCRIBED))
    runtime = data.draw(st.sampled_from(runtime_names()))
    values: dict[str, Value] = {}
    for names, code, _, _ in wire_of(runtime).messages.layout(opcode, kind):
        if code is None:
            values[names[0]] = data.draw(st.binary(max_size=40))
        else:
            drawn = struct.unpack(
                code, data.draw(st.binary(min_size=struct.calcsize(code), max_size=struct.calcsize(code)))
            )
            values.update(zip(names, drawn, strict=True))
    message = wire_of(runtime).messages.decode(wire_of(runtime).messages.encode(opcode, kind, values), kind)
    assert (message.opcode, dict(message.values)) == (opcode, values)


@given(st.binary(max_size=120), st.sampled_from(Kind), st.sampled_from(runtime_names()))
def test_any_bytes_are_a_message_or_refused(data: bytes, kind: Kind, runtime: str) -> None:
    try:
        wire_of(runtime).messages.decode(data, kind)
    except HailoError as error:
        assert error.status in (HailoStatus.HAILO_INVALID_ARGUMENT, HailoStatus.HAILO_UNSUPPORTED_OPCODE)


def test_wrong_values_are_refused() -> None:
    good: dict[str, Value] = {"batch_index": 1, "enable_user_configuration": 1}
    for wrong in (
        {"batch_index": 1},
        good | {"more": 1},
        good | {"batch_index": 1 << 16},
        good | {"batch_index": b"x"},
    ):
        with pytest.raises(HailoError) as refusal:
            wire_of("4.23").messages.pack(Opcode.CONFIG_CONTEXT_SWITCH_TIMESTAMP, Kind.REQUEST, wrong)
        assert refusal.value.status is HailoStatus.HAILO_INVALID_ARGUMENT
    with pytest.raises(HailoError) as refusal:
        wire_of("4.23").messages.pack(
            Opcode.CONTEXT_SWITCH_SET_NETWORK_GROUP_HEADER, Kind.REQUEST, {"application_header": 1}
        )
    with pytest.raises(HailoError) as refusal:
        wire_of("4.23").messages.decode(encode_request(Opcode.GET_HW_CONSTS, (b"1",)), Kind.REQUEST)
    assert refusal.value.status is HailoStatus.HAILO_INVALID_ARGUMENT


@pytest.mark.parametrize("runtime", runtime_names())
def test_application_headers_read_back(runtime: str) -> None:
    header = ApplicationHeader(2, 1, 0, 1, 1, 512, 8, 0x80000000, 2, (0, 64))
    encoded = wire_of(runtime).header.encode(header)
    assert len(encoded) == {"4.21": 32, "4.22": 32, "4.23": 32, "5.0.1": 52}.get(
        runtime, 41 if runtime[0] == "4" else 53
    )
    if len(encoded) == 41:  # a batch size for each network, nothing of config channels (runtimes.md 2)
        header = header._replace(batch_sizes=(8,), config_channels_count=None, config_channels=())
    assert wire_of(runtime).header.decode(encoded) == header


@pytest.mark.parametrize("chunks", [[5], [3, 2], [1, 1, 1, 1, 1]])
def test_chunks_are_marked_first_and_last(chunks: list[int]) -> None:
    messages = [
        wire_of("4.23").messages.decode(data, Kind.REQUEST).values for data in set_context_info(1, b"abcde", chunks)
    ]
    assert b"".join(bytes(message["context_network_data"]) for message in messages) == b"abcde"
    assert [message["is_first_chunk_per_context"] for message in messages] == [1] + [0] * (len(chunks) - 1)
    assert [message["is_last_chunk_per_context"] for message in messages] == [0] * (len(chunks) - 1) + [1]


def test_enable_and_reset() -> None:
    enable = change_context_switch_status(ContextSwitchStatus.ENABLED, 3, 4, 5)
    assert dict(wire_of("5.2").messages.decode(enable, Kind.REQUEST).values) == {
        "state_machine_status": 1,
        "application_index": 3,
        "dynamic_batch_size": 4,
        "batch_count": 5,
    }
    reset = wire_of("5.2").messages.decode(change_context_switch_status(ContextSwitchStatus.RESET), Kind.REQUEST)
    assert reset.values["application_index"] == 255


def _served(pieces: list[bytes], base: int = 1) -> bytes:
    """Download an action list from a device that hands it out in these pieces."""
    whole, asked = b"".join(pieces), []

    def control(request: bytes) -> bytes:
        offset = wire_of("4.23").messages.decode(request, Kind.REQUEST).values["action_list_offset"]
        asked.append(offset)
        piece = pieces[len(asked) - 1]
        last = len(asked) == len(pieces)
        values: dict[str, Value] = {
            "base_address": base, "is_action_list_end": last, "batch_counter": 0, "idle_time": 0, "action_list": piece,
        }  # fmt: skip
        return wire_of("4.23").messages.encode(Opcode.DOWNLOAD_CONTEXT_ACTION_LIST, Kind.RESPONSE, values)

    got = wire_of("4.23").messages.download_action_list(control, 0, 1, 0)
    assert got == whole
    assert asked == [sum(map(len, pieces[:index])) for index in range(len(pieces))]
    return got


def test_downloading_an_action_list_piece_by_piece() -> None:
    assert _served([b"abc", b"defg", b"h"]) == b"abcdefgh"
    for pieces, base in (([b""], 1), ([b"abc"], 0)):
        with pytest.raises(HailoError) as refusal:
            _served(pieces, base)
        assert refusal.value.status is HailoStatus.HAILO_INVALID_CONTROL_RESPONSE
    with pytest.raises(HailoError) as refusal:
        wire_of("4.23").messages.download_action_list(
            lambda _: encode_response(Opcode.DOWNLOAD_CONTEXT_ACTION_LIST, (), 0x40130013), 0, 1, 0
        )
    assert refusal.value.status is HailoStatus.HAILO_FW_CONTROL_FAILURE
