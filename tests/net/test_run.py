"""Runs whose outputs the core computes: `emu run --compute`, `emu.run`, the open device."""

from __future__ import annotations

import json
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import emu
from emu.cli.main import main
from emu.errors import HailoError, UsageError
from emu.net import build
from emu.net.frames import ComputedFrames
from emu.net.layers import Kind
from emu.net.reading import GroupReading, read
from tests.conftest import ROOT
from tests.net.given import network_of
from tests.net.test_build import chain, made

INPUT, OUTPUT = "MNIST_CNN/input_layer1", "MNIST_CNN/maxpool3"


def run_main(arguments: list[str]) -> tuple[int, str, str]:
    """Exit code, stdout, stderr of the program."""
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err, pytest.raises(SystemExit) as stop:
        main(arguments)
    return int(stop.value.code or 0), out.getvalue(), err.getvalue()


@pytest.fixture(scope="module")
def mnist(shared: Path) -> str:
    return str(shared / "hef" / "mnist_cnn.v0.hailo8.hef")


@pytest.fixture
def unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A built file whose first layer computes what nobody knows."""
    monkeypatch.setitem(build._CODES, Kind.SCALE, 0x2B)
    path = tmp_path / "unread.hef"
    path.write_bytes(made(chain(0)))
    return str(path)


@pytest.fixture(scope="module")
def images(shared: Path) -> Any:
    with np.load(shared / "network" / "mnist_cnn.npz") as file:
        return file["images"][:5]


@pytest.fixture(scope="module")
def wanted(images: Any) -> Any:
    """What the library computes without a device."""
    compute = ComputedFrames(GroupReading((read(network_of("mnist_cnn")),)))
    frames = compute([{INPUT: image.tobytes()} for image in images])
    return np.stack([np.frombuffer(frame[OUTPUT], np.uint8).reshape(4, 4, 16) for frame in frames])


@pytest.mark.parametrize("batch", [1, 2, 5])
def test_a_run_computes_by_default(mnist: str, images: Any, wanted: Any, batch: int) -> None:
    found = emu.run(mnist, inputs={INPUT: images}, batch=batch)
    assert np.array_equal(found.outputs[OUTPUT], wanted)


def test_a_run_computes_nothing_when_that_is_asked(mnist: str, images: Any, wanted: Any) -> None:
    found = emu.run(mnist, inputs={INPUT: images}, compute="off")
    assert not np.array_equal(found.outputs[OUTPUT], wanted)


@pytest.mark.parametrize("compute", [True, "strict", "partial"])
def test_an_open_device_computes(mnist: str, images: Any, wanted: Any, compute: bool | str) -> None:
    with emu.open_device("hailo8") as device:
        application = device.configure(mnist, compute=compute)
        assert np.array_equal(application.infer({INPUT: images})[OUTPUT], wanted)


def test_an_open_device_computes_only_when_asked(mnist: str, images: Any, wanted: Any) -> None:
    with emu.open_device("hailo8") as device:
        assert not np.array_equal(device.configure(mnist).infer({INPUT: images})[OUTPUT], wanted)


def test_the_document_says_what_was_computed(mnist: str, tmp_path: Path) -> None:
    code, out, err = run_main(["run", mnist, "--outputs", str(tmp_path / "o.npz"), "--json"])
    assert (code, err) == (0, "")
    group = json.loads(out)["network_groups"][0]
    assert group["computed"] == {"layers": 6, "streams": [OUTPUT], "unread": [], "refused": {}, "assumed": []}
    assert {stream["name"]: stream["data"] for stream in group["streams"]}[OUTPUT] == "computed"


def test_strict_refuses_with_lcu_cluster_and_reason(unread: str) -> None:
    with pytest.raises(HailoError, match="layers are not read") as caught:
        emu.run(unread, compute="strict")
    assert {"cluster", "lcu"} <= caught.value.where.keys()


def test_partial_runs_and_says_what_is_missing(unread: str, tmp_path: Path) -> None:
    code, out, err = run_main(["run", unread, "--compute=partial", "--json"])
    assert code == 0 and "no output stream can be computed" in err
    computed = json.loads(out)["network_groups"][0]["computed"]
    assert computed["unread"] == [
        {"lcu": [4, 0], "why": "its sub-clusters compute 0x2b, which is not known"},
        {"lcu": [4, 1], "why": "the number of its input channels is not known"},
    ]


def test_by_default_a_network_that_is_not_read_whole_stays_synthetic(unread: str, tmp_path: Path) -> None:
    code, out, err = run_main(["run", unread, "--outputs", str(tmp_path / "o.npz")])
    assert code == 0 and "outputs are synthetic: " in err and "layers are not read" in err and "synthetic" in out


def test_files_given_for_a_stream_go_before(mnist: str, tmp_path: Path) -> None:
    given = tmp_path / "given.bin"
    given.write_bytes(bytes(range(256)))
    kept = tmp_path / "o.npz"
    code, out, _ = run_main(
        ["run", mnist, "--device-output", f"{OUTPUT}={given}", "--outputs", str(kept), "--compute", "--json"]
    )
    assert code == 0
    with np.load(kept) as file:
        assert file[OUTPUT].tobytes() == bytes(range(256))
    group = json.loads(out)["network_groups"][0]
    assert {one["name"]: one["data"] for one in group["streams"]}[OUTPUT] == "given with --device-output"


def test_files_without_a_network_are_refused_by_strict_alone() -> None:
    two_context = str(ROOT / "examples" / "two_context.hef")
    with pytest.raises(HailoError, match="no whole sequencer programs"):
        emu.run(two_context, compute="strict")
    assert emu.run(two_context, keep_outputs=True).outputs


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"compute": "all"}, "compute is one of"),
        ({"compute": "strict", "assume": ("4.0.padding=full",)}, "padding is same or valid"),
        ({"compute": "strict", "assume": ("9.0.padding=same",)}, "--assume takes"),
        ({"assume": ("4.0.padding=same",)}, "no effect"),
    ],
)
def test_settings_that_make_no_sense_are_refused(mnist: str, options: dict[str, Any], what: str) -> None:
    with pytest.raises(UsageError, match=what):
        emu.run(mnist, **options)


def test_an_assumption_that_does_not_fit_is_refused(mnist: str) -> None:
    with pytest.raises(HailoError, match="no strides and paddings fit"):
        emu.run(mnist, compute="strict", assume=("4.0.padding=valid",))
    with pytest.raises(HailoError, match="no layer"):
        emu.run(mnist, compute="strict", assume=("0.0.padding=valid",))
