"""Bytes and messages: the recorded conversations, the numberings of the document, and what is no conversation."""

from __future__ import annotations

import random
import struct
from pathlib import Path
from typing import Any

import pytest

from emu.server.actions import REQUESTS, V5_0, V5_1_0, V5_1_1, V5_2, Action
from emu.server.framing import BLOCK_BODY, HEADER, MAGIC, Decoder, ProtocolError, Request, encode_message
from tests.server.recordings import NAMES, units


def following(action: Action, body: Any) -> int:
    """As a server of the recorded models would know."""
    if action is Action.VDEVICE__CREATE_INFER_MODEL:
        return int(body.hef_size)
    if action is Action.CONFIGURED_INFER_MODEL__RUN_ASYNC:
        return int(body.buffer_infos[0].size)  # each of them has one input
    return int(body.buffer_size) if action is Action.DEVICE__ECHO_BUFFER else 0


def decoded(decoder: Decoder, data: bytes, piece: int) -> list[Request]:
    found = []
    for at in range(0, len(data), piece):
        found += decoder.feed(data[at : at + piece])
    return found


def message(action: int, body: bytes = b"", padded: bool = False, message_id: int = 0) -> bytes:
    head = HEADER.pack(MAGIC, len(body), message_id, action, 1)
    return head + (body.ljust(BLOCK_BODY, b"\x7e") if padded else body)


@pytest.mark.parametrize("piece", [1009, 65536, 1 << 30])
@pytest.mark.parametrize("name", NAMES)
def test_recorded_requests_are_read(shared: Path, name: str, piece: int) -> None:
    sent = [one for one in units(shared, name) if one.direction == "c2s"]
    decoder = Decoder(following)
    requests = decoded(decoder, b"".join(one.data for one in sent), piece)
    messages = [one for one in sent if one.kind == "message"]
    assert [(one.message_id, one.action) for one in messages] == [(one.message_id, one.action) for one in requests]
    assert [one.data for one in sent if one.kind in ("hef", "input")] == [one.data for one in requests if one.data]
    assert all(one.body is not None for one in requests)
    assert decoder.numbering is (V5_1_1 if name == "run2-5.1.1" else V5_2)
    assert not decoder.partial


@pytest.mark.parametrize("name", NAMES)
def test_recorded_replies_are_written(shared: Path, name: str) -> None:
    numbering = V5_1_1 if name == "run2-5.1.1" else V5_2
    for one in units(shared, name):
        if one.direction == "s2c" and one.kind == "message":
            body = one.data[HEADER.size : HEADER.size + one.size]
            assert encode_message(numbering, Action(one.action), one.message_id, one.status, body) == one.data


@pytest.mark.parametrize(
    ("numbering", "numbers"),
    [
        (
            V5_0,
            {"RUN_ASYNC": 13, "E__CREATE": 14, "E__DESTROY": 15, "IDENTIFY": 16, "EXTENDED_INFO": 17, "TEMPERATURE": 18}
            | {"QUERY_HEALTH_STATS": 24, "ARCHITECTURE": 26, "REMOVE_NOTIFICATION_CALLBACK": 28, "FETCH_LOGS": 29}
            | {"NOTIFICATION": 30},
        ),
        (
            V5_1_0,
            {"UPDATE_CACHE_OFFSET": 13, "INIT_CACHE": 14, "FINALIZE_CACHE": 15, "RUN_ASYNC": 16, "FOR_DURATION": 17}
            | {"DEVICE__CREATE": 18, "FETCH_LOGS": 33, "NOTIFICATION": 34},
        ),
        (V5_1_1, {"RUN_ASYNC": 18, "DEVICE__CREATE": 20, "FETCH_LOGS": 35, "ECHO_BUFFER": 36, "NOTIFICATION": 37}),
        (V5_2, {"SHUTDOWN": 12, "RUN_ASYNC": 18, "IDENTIFY": 22, "NOTIFICATION": 37, "RESET": 38}),
    ],
)
def test_numbers_are_those_of_the_document(numbering: Any, numbers: dict[str, int]) -> None:
    for name, number in numbers.items():
        assert numbering.actions[number].name.endswith(name), numbering.version
    assert max(numbering.actions) == max(numbers.values())


@pytest.mark.parametrize("numbering", [V5_0, V5_1_0, V5_1_1])
@pytest.mark.parametrize("behind_vdevice", [False, True])
def test_device_create_tells_the_numbering(numbering: Any, behind_vdevice: bool) -> None:
    decoder = Decoder(following)
    if behind_vdevice:
        assert not list(decoder.feed(message(0, bytes.fromhex("0a0a08011206554e49515545"))))
        assert decoder.undecided
        (first,) = decoder.settle()
        assert first.action is Action.VDEVICE__CREATE
        assert first.body.params.group_id == "UNIQUE"
    (create,) = [*decoder.feed(message(numbering.numbers[Action.DEVICE__CREATE])), *decoder.settle()]
    assert create.action is Action.DEVICE__CREATE
    assert decoder.numbering is numbering


def test_a_client_that_goes_on_after_a_fork_speaks_as_before() -> None:
    decoder = Decoder(following, fallback=V5_0)
    assert not list(decoder.feed(message(V5_0.numbers[Action.DEVICE__IDENTIFY], bytes.fromhex("0a020801"))))
    (request,) = decoder.settle()
    assert request.action is Action.DEVICE__IDENTIFY
    assert request.body.device_handle.id == 1


@pytest.mark.parametrize("padded", [True, False])
def test_silence_decides_only_where_nothing_came(padded: bool) -> None:
    decoder = Decoder(following)
    whole = message(20, padded=padded)
    assert not list(decoder.feed(whole[:20]))
    assert decoder.undecided
    if padded:
        assert [one.action for one in decoder.feed(whole[20:])] == [Action.DEVICE__CREATE]
        assert decoder.numbering is V5_2
    else:
        assert [one.action for one in decoder.settle()] == [Action.DEVICE__CREATE]
        assert decoder.numbering is V5_1_1


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        struct.pack("<5I", MAGIC, BLOCK_BODY + 1, 0, 20, 1),
        struct.pack("<5I", MAGIC, 0xFFFFFFFF, 0, 20, 1),
        message(99, padded=True),
        message(37, padded=True),
        message(20, padded=True) + b"\0" * 20,
    ],
    ids=["text", "body", "huge", "unknown", "notification", "behind"],
)
def test_what_is_no_conversation_is_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        decoded(Decoder(following), data, 1 << 20)


def test_a_body_that_is_no_message_is_an_answerable_request() -> None:
    (request,) = Decoder(following).feed(message(22, b"\xff\xff\xff", padded=True))
    assert request.body is None


@pytest.mark.parametrize("seed", range(20))
def test_garbage_ends_in_an_error_or_in_waiting(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(50):
        data = bytearray(message(rng.choice(list(REQUESTS)), rng.randbytes(rng.randrange(40)), rng.random() < 0.5))
        for _ in range(rng.randrange(4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        decoder = Decoder(lambda action, body: rng.randrange(100))
        try:
            decoded(decoder, bytes(data) * 3, rng.randrange(1, 900))
        except ProtocolError:
            continue
        assert decoder.partial or decoder.numbering is not None
