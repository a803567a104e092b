"""The bytes of real clients in, replies compared with the recorded ones in every field that the protocol determines."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.server.client import BLOCK, HEADER, fields
from tests.server.recordings import NAMES, Unit, units
from tests.server.serving import serving

DEVICES = {"python-nms": "hailo8", "run2-5.1.1": "hailo8"}
CREATE_CONFIGURED, RUN_ASYNC, IDENTIFY = 4, 18, 22
QUEUE_SIZE = 2  # the server's own choice, a field of CREATE_CONFIGURED's reply


def exactly(client: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = client.recv(size - len(data))
        assert part, "the server closed the connection"
        data += part
    return bytes(data)


def conversation(shared: Path, name: str, port: int) -> dict[int, tuple[int, int, bytes, int]]:
    """Play a recording against a server: message id -> (action, status, body, bytes that followed)."""
    padded = name != "run2-5.1.1"
    recorded = units(shared, name)
    outputs: dict[int, int] = {}
    for one in recorded:
        if one.kind == "output":
            outputs[one.message_id] = outputs.get(one.message_id, 0) + len(one.data)
    answers: dict[int, tuple[int, int, bytes, int]] = {}

    def receive() -> None:
        _, size, message_id, action, status = HEADER.unpack(exactly(client, HEADER.size))
        body = exactly(client, BLOCK if padded else size)[:size]
        follow = len(exactly(client, outputs.get(message_id, 0))) if not status else 0
        answers[message_id] = action, status, body, follow

    with socket.create_connection(("127.0.0.1", port), 20) as client:
        client.settimeout(20)
        for one in recorded:
            if one.direction == "c2s":
                client.sendall(one.data)
            elif one.kind == "message":
                while one.message_id not in answers:
                    receive()
    return answers


def determined(one: Unit, body: bytes) -> object:
    """What of a reply's body every server must give."""
    if one.action == CREATE_CONFIGURED and not one.status:
        reply = fields(body)
        return {number: value for number, value in reply.items() if number != QUEUE_SIZE}, QUEUE_SIZE in reply
    if one.action == IDENTIFY:
        identity = fields(fields(body)[1][0])
        # protocol version, firmware, board, release and architecture; serial and names are a unit's own
        return {number: identity[number] for number in (1, 2, 4, 5, 7)}
    return body


@pytest.mark.parametrize("name", NAMES)
def test_replies_are_the_recorded_ones(shared: Path, name: str) -> None:
    with serving(DEVICES.get(name, "hailo10h")) as server:
        answers = conversation(shared, name, server.port)
    recorded = [one for one in units(shared, name) if one.direction == "s2c" and one.kind == "message"]
    assert set(answers) == {one.message_id for one in recorded}
    for one in recorded:
        action, status, body, _ = answers[one.message_id]
        assert (action, status) == (one.action, one.status), one
        expected = one.data[HEADER.size : HEADER.size + one.size]
        assert determined(one, body) == determined(one, expected), one
