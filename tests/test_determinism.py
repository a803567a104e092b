"""The same input gives the same bytes whatever surrounds it: hash seed, locale, time zone, threads, working folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

EXAMPLES = ROOT / "examples"
TWO, DIGITS, COMPUTED = (str(EXAMPLES / f"{name}.hef") for name in ("two_context", "digits", "computed_digits"))

SURROUNDINGS = (
    {"PYTHONHASHSEED": "1", "LC_ALL": "C.UTF-8", "TZ": "UTC", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    {"PYTHONHASHSEED": "77", "LC_ALL": "POSIX", "TZ": "Asia/Tokyo", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
)

SHIM = f"""
import hashlib
import numpy as np
from hailo_platform import HEF, ConfigureParams, HailoStreamInterface, InferVStreams, VDevice
from hailo_platform import InputVStreamParams, OutputVStreamParams
hef = HEF({COMPUTED!r})
with VDevice() as target:
    print(target.get_physical_devices_ids())
    group = target.configure(hef, ConfigureParams.create_from_hef(hef=hef, interface=HailoStreamInterface.PCIe))[0]
    inputs, outputs = InputVStreamParams.make(group), OutputVStreamParams.make(group)
    infos = [*hef.get_input_vstream_infos(), *hef.get_output_vstream_infos()]
    print([(info.name, info.shape, str(info.format.order)) for info in infos])
    frames = {{info.name: np.arange(5 * np.prod(info.shape)).astype(np.uint8).reshape(5, *info.shape)
              for info in hef.get_input_vstream_infos()}}
    with InferVStreams(group, inputs, outputs) as pipeline, group.activate(group.create_params()):
        for name, array in pipeline.infer(frames).items():
            print(name, array.dtype, array.shape, hashlib.sha256(array.tobytes()).hexdigest())
"""

SERVER = f"""
import hashlib
import sys
sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
from tests.server.client import Client, field, handle
from tests.server.serving import serving
from tests.server.test_server import frames_of, opened
path = Path({TWO!r})
with serving("hailo8") as server, Client(server.port) as client:
    vdevice, model, configured = opened(client, path)
    print(vdevice, model, configured, client.call(22, field(1, handle(client.device()))).hex())
    sent = [client.run(configured, model, frame, [8 * 8 * 10]) for frame in frames_of(path, 6)]
    for status, body, data in map(client.answer, sent):
        print(status, body.hex(), hashlib.sha256(data).hexdigest())
"""

COMMANDS: dict[str, list[str]] = {
    "run": ["run", TWO, "--frames", "5", "--json", "--trace=trace.jsonl", "--outputs", "all.npz", "--record", "record"],
    "run in threads": ["run", str(EXAMPLES / "lenet.ms"), "--json", "--threads", "2", "--outputs", "all.npz"],
    "inspect": ["inspect", DIGITS],
    "net": ["net", COMPUTED, "--json", "--weights", "weights.npz"],
    "check": ["check", str(EXAMPLES), "--junit", "junit.xml"],
    "estimate": ["estimate", DIGITS],
    "sweep": ["sweep", TWO, DIGITS, "--jobs", "2", "--batch", "1,4", "--output", "table.csv", "--output", "table.json"],
    "report": ["report", TWO, DIGITS, str(EXAMPLES / "lenet.ms"), "-o", "page.html"],
    "disasm": ["disasm", DIGITS, "-o", "digits.yaml"],
}


def made(folder: Path, command: list[str], surroundings: dict[str, str]) -> tuple[int, bytes, bytes, dict[str, bytes]]:
    """What a command said, and the files that it wrote into the folder it ran in."""
    folder.mkdir(parents=True)
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "EMU_"))}
    variables = plain | {"PYTHONPATH": str(ROOT)} | surroundings
    done = subprocess.run([sys.executable, *command], capture_output=True, cwd=folder, env=variables, timeout=120)
    files = {str(one.relative_to(folder)): one.read_bytes() for one in folder.rglob("*") if one.is_file()}
    return done.returncode, done.stdout, done.stderr, files


def held_to_be_the_same(tmp_path: Path, command: list[str]) -> None:
    folders = (tmp_path / "one", tmp_path / "two" / "deeper")
    first, second = (made(folder, command, one) for folder, one in zip(folders, SURROUNDINGS, strict=True))
    assert first[0] == 0, first[2].decode()
    assert first[1] or first[3]
    assert first[:3] == second[:3]
    assert first[3].keys() == second[3].keys()
    assert [name for name in first[3] if first[3][name] != second[3][name]] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command(tmp_path: Path, name: str) -> None:
    if name == "report":
        pytest.importorskip("jinja2")
    held_to_be_the_same(tmp_path, ["-m", "emu", *COMMANDS[name]])


def test_an_application_of_the_shim(tmp_path: Path) -> None:
    (tmp_path / "application.py").write_text(SHIM)
    held_to_be_the_same(tmp_path, ["-m", "emu", "exec", str(tmp_path / "application.py")])


def test_what_a_server_answers(tmp_path: Path) -> None:
    held_to_be_the_same(tmp_path, ["-c", SERVER])
