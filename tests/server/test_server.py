"""The server against a client of our own: results, the traps of hrpc-5.2.md part 2, statuses, limits, other clients."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import emu
from emu.dataflow.vstreams import InputVStream, OutputVStream
from emu.errors import EmuError, HailoError
from emu.hef import open_hef
from emu.hef.formats import Format, FormatOrder, FormatType
from emu.hef.infos import hef_infos
from emu.host.references import reference_files
from emu.server import resources
from emu.server.limits import Limits
from emu.server.session import Session
from tests.conftest import ROOT
from tests.server.client import BLOCK, Client, RpcError, field, fields, floats, handle, stream
from tests.server.serving import Serving, serving

EXAMPLE = ROOT / "examples" / "two_context.hef"
INPUT, OUTPUT = "two_context/input_layer1", "two_context/conv2"
NHWC, UINT8, FLOAT32, NCHW = 1, 1, 3, 11


@pytest.fixture(scope="module")
def server() -> Iterator[Serving]:
    with serving("hailo8") as one:
        yield one


@pytest.fixture
def client(server: Serving) -> Iterator[Client]:
    with Client(server.port) as one:
        yield one


def frames_of(hef: Path, count: int, seed: int = 0) -> list[list[bytes]]:
    """Frames of random bytes, a part each input in the order of the infos, in the default format."""
    group = hef_infos(emu.open_hef(hef)).network_groups[0]
    rng = np.random.default_rng(seed)
    return [[rng.bytes(info.frame_size) for info in group.input_vstreams] for _ in range(count)]


def in_process(
    device: str, hef: Path, frames: list[list[bytes]], user: Format | None = None, batch: int | None = None
) -> list[bytes]:
    """The bytes of every frame's outputs, one after the other, without a server."""
    auto = Format(FormatType.AUTO, FormatOrder.AUTO)
    with emu.open_device(device) as opened:
        application = opened.configure(hef, batch=batch, compute=None)  # as the server by default
        group = application.user_frames.group
        inputs = [InputVStream(group, info) for info in group.input_vstreams]
        outputs = [OutputVStream(group, info, user or auto, runtime="5.2") for info in group.output_vstreams]
        found = []
        for frame in frames:
            wire: dict[str, Any] = {}
            for vstream, data in zip(inputs, frame, strict=True):
                wire |= {name: one.tobytes() for name, one in vstream(data).items()}
            done = application.submit_raw(wire).wait()
            found.append(b"".join(output(done).frame.tobytes() for output in outputs))
        return found


def output_sizes(hef: Path) -> list[int]:
    return [info.frame_size for info in hef_infos(emu.open_hef(hef)).network_groups[0].output_vstreams]


def opened(client: Client, hef: Path = EXAMPLE, group: str = "SHARED", **more: Any) -> tuple[int, int, int]:
    """(VDevice, infer model, configured) with the default formats."""
    vdevice = client.vdevice(group)
    model = client.infer_model(vdevice, hef.read_bytes())
    configured, _ = client.configure(vdevice, model, **more)
    return vdevice, model, configured


# -- frames


@pytest.mark.parametrize("padded", [True, False])
def test_frames_in_flight_give_what_a_device_in_process_gives(server: Serving, padded: bool) -> None:
    frames = frames_of(EXAMPLE, 12)
    with Client(server.port, padded=padded) as client:
        _, model, configured = opened(client)
        sent = [client.run(configured, model, frame, [640]) for frame in frames]
        results = [client.answer(one) for one in sent]
    assert [status for status, _, _ in results] == [0] * 12
    assert [data for _, _, data in results] == in_process("hailo8", EXAMPLE, frames)


def test_formats_are_converted(client: Client) -> None:
    frames = frames_of(EXAMPLE, 2)
    vdevice = client.vdevice("SHARED")
    model = client.infer_model(vdevice, EXAMPLE.read_bytes(), "two_context")
    configured, queue = client.configure(
        vdevice, model, [stream(INPUT, NHWC, UINT8)], [stream(OUTPUT, NCHW, FLOAT32)], batch_size=2
    )
    assert queue >= 2
    got = [client.answer(client.run(configured, model, frame, [2560]))[2] for frame in frames]
    assert got == in_process("hailo8", EXAMPLE, frames, Format(FormatType.FLOAT32, FormatOrder.NCHW), batch=2)


@pytest.mark.parametrize(("create", "identify", "run"), [(14, 16, 13), (18, 20, 16), (20, 22, 18)])
def test_older_clients_have_other_numbers(server: Serving, create: int, identify: int, run: int) -> None:
    """5.0, 5.1.0 and 5.1.1; a program that forks goes on where nothing tells its version (part 2, 1 and 4)."""
    frames = frames_of(EXAMPLE, 2)
    with Client(server.port, padded=False) as client:
        vdevice = client.vdevice("SHARED")
        device = client.create(create)
        model = client.infer_model(vdevice, EXAMPLE.read_bytes())
        configured, _ = client.configure(vdevice, model)
        got = [client.answer(client.run(configured, model, frame, [640], run))[2] for frame in frames]
    assert got == in_process("hailo8", EXAMPLE, frames)
    with Client(server.port, padded=False) as parent:
        identity = fields(fields(parent.call(identify, field(1, handle(device))))[1][0])
        assert identity[4] == [b"Hailo-8"]


def test_planes_of_an_input_are_one_frame(client: Client) -> None:
    (frame,) = frames_of(EXAMPLE, 1)
    _, model, configured = opened(client)
    parts = [frame[0][:1000], frame[0][1000:]]
    status, _, data = client.answer(client.run(configured, model, parts, [640]))
    assert not status
    assert [data] == in_process("hailo8", EXAMPLE, [frame])


@pytest.mark.parametrize("name", ["scrfd_2.5g.v3.hailo1xh.hef", "face_landmarks_lite_2ctx.v3.hailo1xh.hef"])
def test_several_outputs_come_in_the_order_of_the_infos(shared: Path, name: str) -> None:
    hef = shared / "hef" / name
    frames = frames_of(hef, 2)
    with serving("hailo10h") as other, Client(other.port) as client:
        _, model, configured = opened(client, hef)
        got = [client.answer(client.run(configured, model, frame, output_sizes(hef)))[2] for frame in frames]
    assert got == in_process("hailo10h", hef, frames)


def test_nms_settings_reach_the_post_process(shared: Path) -> None:
    hef = shared / "hef" / "yolov8n_320_nms.v2.hailo8.hef"
    name = "yolov8n/yolov8_nms_postprocess"
    # no synthetic box has a score above 1: a frame of 110 empty classes, each with a count alone in 3 boxes' room
    with serving("hailo8") as other, Client(other.port) as client:
        vdevice = client.vdevice()
        model = client.infer_model(vdevice, hef.read_bytes())
        configured, _ = client.configure(vdevice, model, [], [stream(name, score=1.0, per_class=3)])
        status, _, data = client.answer(client.run(configured, model, [bytes(307200)], [110 * (4 + 3 * 20)]))
    assert (status, data) == (0, bytes(110 * 64))


def test_a_reference_gives_the_outputs() -> None:
    asked = []

    def reference_for(hef: Any, group: str) -> Any:
        asked.append(group)
        return lambda position, frame, inputs: {"two_context/conv2": bytes([frame]) * 640}

    with serving("hailo8", reference_for=reference_for) as other, Client(other.port) as client:
        _, model, configured = opened(client)
        for number in range(3):
            assert client.answer(client.run(configured, model, [bytes(3072)], [640]))[2] == bytes([number]) * 640
    assert asked == ["two_context"]


def test_a_model_gives_the_outputs_where_a_file_names_it() -> None:
    hef, onnx = ROOT / "examples" / "digits.hef", ROOT / "examples" / "digits.onnx"
    frames = frames_of(hef, 3)
    images = np.stack([np.frombuffer(frame[0], np.uint8).reshape(8, 8, 1) for frame in frames])
    expected = emu.run(hef, inputs={"digits/input_layer1": images}, reference=onnx).outputs["digits/fc2"]
    assert not np.array_equal(expected, emu.run(hef, inputs={"digits/input_layer1": images}).outputs["digits/fc2"])
    for argument in (str(onnx), f"digits={onnx}"):
        with serving("hailo8", reference_for=reference_files([argument])) as other, Client(other.port) as client:
            _, model, configured = opened(client, hef)
            got = [client.answer(client.run(configured, model, frame, output_sizes(hef)))[2] for frame in frames]
        assert got == [one.tobytes() for one in expected]


def test_files_of_references() -> None:
    onnx = ROOT / "examples" / "digits.onnx"
    chosen = reference_files([f"digits={onnx}"])
    assert (chosen(None, "digits"), chosen(None, "other")) == (onnx, None)  # type: ignore[arg-type]
    for wrong in (["absent.onnx"], ["digits=absent.onnx"], [str(onnx), str(onnx)]):
        with pytest.raises(HailoError):
            reference_files(wrong)


def test_ten_clients_with_three_models_each(shared: Path, server: Serving) -> None:
    hefs = [shared / "hef" / f"{one}.hailo8.hef" for one in ("mnist_cnn.v0", "hand_landmark_lite.v0")] + [EXAMPLE]
    frames = {hef: frames_of(hef, 10) for hef in hefs}
    expected = {hef: in_process("hailo8", hef, frames[hef]) for hef in hefs}

    def program(number: int) -> int:
        right = 0
        with Client(server.port, padded=number % 2 == 0, timeout=120) as client:
            vdevice = client.vdevice("SHARED")
            models = {hef: client.infer_model(vdevice, hef.read_bytes()) for hef in hefs}
            configured = {hef: client.configure(vdevice, model)[0] for hef, model in models.items()}
            sent = [
                (hef, at, client.run(configured[hef], models[hef], frames[hef][at], output_sizes(hef)))
                for at in range(10)
                for hef in hefs
            ]
            for hef, at, message in sent:
                status, _, data = client.answer(message)
                right += not status and data == expected[hef][at]
        return right

    with ThreadPoolExecutor(10) as pool:
        assert list(pool.map(program, range(10))) == [30] * 10


# -- the traps


def test_a_waiting_request_is_answered_late_and_a_frame_at_once(server: Serving) -> None:
    with Client(server.port) as client:
        device = client.device()
        _, model, configured = opened(client)
        waits, frames = [], []
        for _ in range(20):
            begin = time.monotonic()
            client.call(32, field(1, handle(device)))
            waits.append(time.monotonic() - begin)
            begin = time.monotonic()
            client.answer(client.run(configured, model, [bytes(3072)], [640]))
            frames.append(time.monotonic() - begin)
    assert min(waits) >= 0.0045  # 2 ms lose the client's wake-up on a busy machine
    # without acknowledging at once a small frame would wait 40 ms behind its message; a simulated one takes a few
    assert min(frames) < 0.035


def test_identity_keeps_within_the_bounds_of_the_client(client: Client) -> None:
    identity = fields(fields(client.call(22, field(1, handle(client.device()))))[1][0])
    assert len(identity[4][0]) <= 31
    assert len(identity[10][0]) <= 41
    assert len(identity.get(8, [])) == len(identity.get(9, []))
    assert identity[7] == [1]


def test_extended_info_has_whole_arrays(client: Client) -> None:
    info = fields(client.call(23, field(1, handle(client.device()))))
    lengths = {number: len(b"".join(map(bytes, info[number]))) for number in (4, 6, 7, 8)}
    assert lengths == {4: 32, 6: 6, 7: 12, 8: 24}
    assert info[1] == [400_000_000]


def test_a_device_outlives_its_connection(server: Serving) -> None:
    with Client(server.port) as first:
        device = first.device()
    with Client(server.port) as second:
        assert fields(second.call(22, field(1, handle(device))))[1]
        second.call(21, field(1, handle(device)))
        with pytest.raises(RpcError) as error:
            second.call(22, field(1, handle(device)))
        assert error.value.status == 61


def test_logs_fill_what_was_asked_for(client: Client) -> None:
    opened(client)
    device = client.device()
    for size in (0, 10, 1000):
        status, body, data = client.answer(client.send(35, field(1, handle(device)) + field(2, size), expected=size))
        assert (status, len(data)) == (0, size)
        used = fields(body).get(1, [0])[0]
        assert used <= size
        assert data[used:] == bytes(size - used)
    assert b"configured two_context" in data


@pytest.mark.parametrize("size", [0, 1, 100_000])
def test_echo(client: Client, size: int) -> None:
    data = np.random.default_rng(0).bytes(size)
    assert client.answer(client.send(36, field(1, size), data, size))[2] == data


def test_made_up_figures_are_said_once(server: Serving, client: Client) -> None:
    device = field(1, handle(client.device()))
    for _ in range(2):
        assert 0 < floats(fields(client.call(24, device))[1])[0] < 100
        assert floats(fields(client.call(25, device))[1])[0] > 0
        for action in (26, 28, 29, 30, 31):
            client.call(action, device)
        assert fields(client.call(27, device))[1]
    assert server.log.count("the temperature is made up") == 1


# -- statuses


def refused(client: Client, action: int, body: bytes = b"", data: bytes = b"") -> int:
    with pytest.raises(RpcError) as error:
        client.call(action, body, data)
    return error.value.status


def test_unknown_handles(client: Client) -> None:
    nobody = field(1, handle(999_999))
    assert {action: refused(client, action, nobody) for action in (6, 7, 8, 9, 10, 11, 12, 22, 23, 24, 32, 35)} == (
        dict.fromkeys((6, 7, 8, 9, 10, 11, 12, 22, 23, 24, 32, 35), 61)
    )
    assert refused(client, 2, nobody + field(2, 3), b"abc") == 61
    for action in (1, 3, 5, 21):  # destroying what is not there is fine
        assert client.call(action, nobody) == b""


def test_bodies_that_are_no_message(client: Client) -> None:
    assert refused(client, 22, b"\xff\xff") == 77
    client.device()  # and the connection goes on


def test_what_is_not_built_says_so(server: Serving, client: Client) -> None:
    assert refused(client, 13, field(1, handle(0))) == 7
    assert "UPDATE_CACHE_OFFSET is not built yet" in server.log


@pytest.mark.parametrize("name", ["empty.hef", "text_not_hef.hef", "truncated_proto.v2.hef", "truncated_ccws.v3.hef"])
def test_a_bad_hef_is_refused_with_its_status(shared: Path, client: Client, name: str) -> None:
    data = (shared / "hef-bad" / name).read_bytes()
    with pytest.raises(EmuError) as expected:
        open_hef(data, runtime="4.23", from_memory=True)
    vdevice = client.vdevice("SHARED")
    assert refused(client, 2, field(1, handle(vdevice)) + field(2, len(data)), data) == expected.value.number
    client.device()


def test_another_devices_hef_is_refused_with_93() -> None:
    with serving("hailo10h") as other, Client(other.port) as client:
        vdevice = client.vdevice()
        data = EXAMPLE.read_bytes()
        assert refused(client, 2, field(1, handle(vdevice)) + field(2, len(data)), data) == 93


@pytest.mark.parametrize(
    ("inputs", "outputs", "more", "status"),
    [
        ([stream("nobody")], [], {}, 61),
        ([stream(INPUT, 99)], [], {}, 2),
        ([stream(INPUT, score=0.5)], [], {}, 6),
        ([], [stream(OUTPUT, score=0.5)], {}, 2),
        ([], [], {"batch_size": 64}, 2),
    ],
    ids=["name", "order", "input-nms", "no-nms", "batch"],
)
def test_refused_configurations(client: Client, inputs: Any, outputs: Any, more: Any, status: int) -> None:
    vdevice = client.vdevice("SHARED")
    model = client.infer_model(vdevice, EXAMPLE.read_bytes())
    with pytest.raises(RpcError) as error:
        client.configure(vdevice, model, inputs, outputs, **more)
    assert error.value.status == status


def test_scheduler_settings(client: Client) -> None:
    _, _, configured = opened(client, batch_size=4)
    own = field(1, handle(configured))
    client.call(6, own + field(2, 100))
    client.call(7, own + field(2, 3))
    client.call(8, own + field(2, 31))
    assert refused(client, 8, own + field(2, 32)) == 2
    assert refused(client, 10, own) == 6


def test_without_scheduler_a_model_is_activated(client: Client) -> None:
    vdevice = client.vdevice("SHARED", scheduler=0)
    model = client.infer_model(vdevice, EXAMPLE.read_bytes())
    configured, _ = client.configure(vdevice, model)
    own = field(1, handle(configured))
    assert client.answer(client.run(configured, model, [bytes(3072)], [640]))[0] == 72
    assert refused(client, 7, own) == 6
    client.call(10, own)
    assert client.answer(client.run(configured, model, [bytes(3072)], [640]))[0] == 0
    client.call(11, own)


def test_shutdown_ends_after_the_frames_and_lets_no_more_in(client: Client) -> None:
    _, model, configured = opened(client)
    sent = [client.run(configured, model, [bytes(3072)], [640]) for _ in range(8)]
    client.call(12, field(1, handle(configured)))
    assert set(sent) <= set(client._answers)
    assert client.answer(client.run(configured, model, [bytes(3072)], [640]))[0] == 63


def test_latency_where_it_was_asked_for(client: Client) -> None:
    vdevice, model, configured = opened(client, latency_flag=1)
    own = field(1, handle(configured))
    assert refused(client, 9, own) == 65
    client.answer(client.run(configured, model, [bytes(3072)], [640]))
    (latency,) = fields(client.call(9, own))[1]
    assert latency == emu.run(EXAMPLE, inputs={INPUT: np.zeros((1, 32, 32, 3), np.uint8)}).network_groups[0].latency_ns
    other, _ = client.configure(vdevice, model)
    client.answer(client.run(other, model, [bytes(3072)], [640]))
    assert refused(client, 9, field(1, handle(other))) == 65


# -- several clients


def test_a_unique_vdevice_waits_for_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "WAIT_FOR_VDEVICE_SECONDS", 0.3)
    with serving("hailo8") as other, Client(other.port) as first, Client(other.port) as second:
        first.vdevice()
        assert refused(second, 0, field(1, field(1, 1) + field(2, "UNIQUE"))) == 73
        waiting = second.send(0, field(1, field(1, 1) + field(2, "UNIQUE")))
        first.close()
        assert second.answer(waiting)[0] == 0
        with Client(other.port) as third:
            assert third.vdevice("SHARED") > 0


def test_a_client_that_goes_leaves_only_its_devices() -> None:
    with serving("hailo8") as other:
        client = Client(other.port)
        client.device()
        _, model, configured = opened(client)
        for _ in range(20):
            client.run(configured, model, [bytes(3072)], [640])
        client.socket.sendall(b"\x32\x44")  # and in the middle of a message
        client.close()
        wait_until(lambda: [type(one).__name__ for one in other.held()] == ["DeviceHandle"])
        with Client(other.port) as next_one:
            opened(next_one, group="UNIQUE")


@pytest.mark.parametrize(
    "garbage",
    [b"\0" * 64, b"\x32\x44\x55\x8a" + b"\xff" * 16, b"GET / HTTP/1.1\r\n\r\n"],
    ids=["zeros", "size", "text"],
)
def test_garbage_ends_its_own_connection_alone(server: Serving, client: Client, garbage: bytes) -> None:
    _, model, configured = opened(client)
    with Client(server.port) as bad:
        bad.device()
        bad.socket.sendall(garbage.ljust(20 + BLOCK, b"\0"))
        with pytest.raises(ConnectionError):
            bad._receive()
    assert client.answer(client.run(configured, model, [bytes(3072)], [640]))[0] == 0


def test_nobody_touches_the_models_of_another(server: Serving, client: Client) -> None:
    vdevice, model, configured = opened(client)
    with Client(server.port) as other:
        device = client.device()
        for action, number in ((1, vdevice), (3, model), (5, configured), (21, device)):
            other.call(action, field(1, handle(number)))
        assert refused(other, 12, field(1, handle(configured))) == 61
    assert client.answer(client.run(configured, model, [bytes(3072)], [640]))[0] == 0
    client.call(22, field(1, handle(device)))


# -- limits


def ends(client: Client, action: int, body: bytes) -> bool:
    """Whether the server answers with the end of the connection."""
    try:
        client.call(action, body)
    except ConnectionError:
        return True
    return False


def test_what_a_client_may_ask_back_is_limited(server: Serving) -> None:
    for action, body in ((36, field(1, (1 << 20) + 1)), (35, field(1, handle(0)) + field(2, 0xFFFFFFFF))):
        with Client(server.port) as client:
            assert ends(client, action, body)


def test_hefs_are_limited_in_sum() -> None:
    data = EXAMPLE.read_bytes()
    with serving("hailo8", Limits(hef_bytes=2 * len(data))) as other:
        with Client(other.port) as client:
            vdevice = client.vdevice()
            client.infer_model(vdevice, data)
            last = client.infer_model(vdevice, data)
            client.call(3, field(1, handle(last)))
            client.infer_model(vdevice, data)
            assert ends(client, 2, field(1, handle(vdevice)) + field(2, 1))
        with Client(other.port) as client:
            assert ends(client, 2, field(1, handle(client.vdevice())) + field(2, (1 << 64) - 1))


def test_frames_of_other_sizes_end_the_connection(server: Serving) -> None:
    for inputs, outputs in (([3071], [640]), ([3072], [639]), ([3073], [640]), ([0xFFFFFFFF], [640]), ([], [])):
        with Client(server.port) as client:
            _, model, configured = opened(client)
            buffers = [field(1, size) + field(2, 1) for size in (*inputs, *outputs)]
            body = field(1, handle(configured)) + field(2, handle(model)) + field(3, buffers)
            assert ends(client, 18, body), (inputs, outputs)


def test_a_stalled_message_ends_the_connection() -> None:
    with serving("hailo8", Limits(message_seconds=1)) as other, Client(other.port) as client:
        client.device()
        time.sleep(1.5)  # silence between messages is fine
        client.device()
        client.socket.sendall(b"\x32\x44\x55\x8a")
        begin = time.monotonic()
        with pytest.raises(ConnectionError):
            client._receive()
        assert 0.5 < time.monotonic() - begin < 5


def test_connections_are_limited() -> None:
    with serving("hailo8", Limits(connections=2)) as other, Client(other.port) as one, Client(other.port) as two:
        one.device()
        two.device()
        with Client(other.port) as three, pytest.raises(ConnectionError):
            three.device()
        one.close()
        wait_until(lambda: "disconnected" in other.log)
        with Client(other.port) as four:
            four.device()


def test_a_client_that_reads_nothing_is_not_read_either() -> None:
    """Thousands of echoes that nobody takes cost the server no more than its buffers."""
    with serving("hailo8", Limits(message_seconds=2)) as other, Client(other.port, timeout=1) as client:
        block = bytes(1 << 20)
        with pytest.raises((TimeoutError, ConnectionError)):
            for _ in range(200):
                client.send(36, field(1, len(block)), block, len(block))
        wait_until(lambda: "takes nothing of what was sent" in other.log, 10)


@pytest.mark.parametrize("limits", [Limits(frames=3), Limits(frame_bytes=3 * (3072 + 640))])
def test_frames_in_flight_are_limited(monkeypatch: pytest.MonkeyPatch, limits: Limits) -> None:
    """A client that sends more is served all the same, a few at a time."""
    most = 0
    run = Session._run

    async def watched(session: Session, request: Any) -> None:
        nonlocal most
        await run(session, request)
        most = max(most, session.frames_in_flight)

    monkeypatch.setattr(Session, "_run", watched)
    with serving("hailo8", limits) as other, Client(other.port) as client:
        _, model, configured = opened(client)
        sent = [client.run(configured, model, [bytes(3072)], [640]) for _ in range(100)]
        assert [client.answer(one)[0] for one in sent] == [0] * 100
    assert most == 3


def test_handles_of_devices_are_limited() -> None:
    with serving("hailo8", Limits(devices=3)) as other:
        with Client(other.port) as client:
            for _ in range(3):
                client.device()
            assert refused(client, 20) == 3
        with Client(other.port) as client:
            for _ in range(3):
                client.device()
        wait_until(lambda: other.log.count("disconnected") == 2)
        assert len(other.held()) == 3


def test_limits_are_read_by_name() -> None:
    assert Limits().changed(["connections=3", "hef-bytes=100"]) == Limits(connections=3, hef_bytes=100)
    for wrong in ("connections", "connections=-1", "connections=0", "nobody=3", "frames=1e9", "frames=" + "9" * 30):
        with pytest.raises(HailoError):
            Limits().changed([wrong])


def wait_until(condition: Any, seconds: float = 5) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)
