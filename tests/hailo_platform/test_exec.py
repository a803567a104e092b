"""`emu exec`, what `install` hides, what loads when, and `hailortcli` (docs/applications.md)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.hailo_platform.conftest import TWO_CONTEXT

ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("EMU_")}


def emu_exec(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "emu", "exec", *arguments]
    variables = ENVIRONMENT | {"PYTHONPATH": str(ROOT)} | environment
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=variables, timeout=60)


@pytest.fixture
def script(tmp_path: Path) -> Any:
    def write(text: str) -> str:
        (tmp_path / "app.py").write_text(text)
        return "app.py"

    return write


def test_an_application(script: Any, tmp_path: Path) -> None:
    """The vstream tutorial's shape, unchanged."""
    name = script(
        "import sys\nimport numpy as np\n"
        "from hailo_platform import (HEF, ConfigureParams, FormatType, HailoStreamInterface, InferVStreams,\n"
        "    InputVStreamParams, OutputVStreamParams, VDevice)\n"
        "hef = HEF(sys.argv[1])\n"
        "with VDevice() as target:\n"
        "    params = ConfigureParams.create_from_hef(hef=hef, interface=HailoStreamInterface.PCIe)\n"
        "    group = target.configure(hef, params)[0]\n"
        "    inputs = InputVStreamParams.make(group, format_type=FormatType.FLOAT32)\n"
        "    outputs = OutputVStreamParams.make(group, format_type=FormatType.UINT8)\n"
        "    info = hef.get_input_vstream_infos()[0]\n"
        "    with InferVStreams(group, inputs, outputs) as pipeline, group.activate(group.create_params()):\n"
        "        found = pipeline.infer({info.name: np.zeros((2, *info.shape), np.float32)})\n"
        "print({key: value.shape for key, value in found.items()}, sys.argv[2:])\n"
    )
    done = emu_exec(name, TWO_CONTEXT, "--debug", "--json", "-h", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "{'two_context/conv2': (2, 8, 8, 10)} ['--debug', '--json', '-h']"
    assert done.stderr.count("synthetic") == 1


@pytest.mark.parametrize(
    ("text", "code", "error"),
    [
        ("import sys; sys.exit(7)", 7, ""),
        ("raise KeyError('mine')", 1, "KeyError: 'mine'"),
        ("import hailo_platform; hailo_platform.HEF('/nonexistent')", 1, "error: 13 (HAILO_OPEN_FILE_FAILURE)"),
        ("from hailo_platform import HailoRTService", 1, "cannot import name 'HailoRTService'"),
        ("import hailo_platform.nothing", 1, "No module named 'hailo_platform.nothing'"),
        ("import os; os.kill(os.getpid(), 15)", -15, ""),
    ],
)
def test_it_is_python_itself(script: Any, tmp_path: Path, text: str, code: int, error: str) -> None:
    done = emu_exec(script(text), cwd=tmp_path)
    assert done.returncode == code
    assert error in done.stderr
    assert ("Traceback" in done.stderr) == (code == 1)


def test_threads_are_those_of_the_program(script: Any, tmp_path: Path) -> None:
    """Other commands keep numpy's library to one thread."""
    name = script("import os\nprint([key for key in os.environ if key.endswith('_NUM_THREADS')])")
    found = emu_exec(name, cwd=tmp_path, OPENBLAS_NUM_THREADS="5")
    assert found.stdout == "['OPENBLAS_NUM_THREADS']\n"


def test_a_script_that_is_not_there(tmp_path: Path) -> None:
    assert emu_exec("nothing.py", cwd=tmp_path).returncode == 2
    assert emu_exec(cwd=tmp_path).returncode == 2
    refused = emu_exec("nothing.py", cwd=tmp_path, EMU_DEVICE="hailo9")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "EMU_DEVICE=hailo9" in refused.stderr


def test_modules_and_children(script: Any, tmp_path: Path) -> None:
    script(
        "import subprocess, sys, hailo_platform\n"
        "print(hailo_platform.__version__, flush=True)\n"
        "if len(sys.argv) > 1:\n"
        "    subprocess.run([sys.executable, 'app.py'], check=True)\n"
    )
    done = emu_exec("-m", "app", "child", cwd=tmp_path, EMU_RUNTIME="5.2", EMU_DEVICE="hailo10h")
    assert done.stdout.split() == ["5.2.0", "5.2.0"]
    assert done.stderr == ""


def test_a_real_hailo_platform_is_named(script: Any, tmp_path: Path) -> None:
    (tmp_path / "lib" / "hailo_platform").mkdir(parents=True)
    (tmp_path / "lib" / "hailo_platform" / "__init__.py").write_text("raise RuntimeError('the real one')\n")
    name = script("import hailo_platform; print(hailo_platform.VDevice.__module__)")
    done = emu_exec(name, cwd=tmp_path, PYTHONPATH=f"{tmp_path / 'lib'}{os.pathsep}{ROOT}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("emu.")
    assert str(tmp_path / "lib" / "hailo_platform") in done.stderr


def test_a_test_run_under_exec(tmp_path: Path) -> None:
    """The fixture finds what `emu exec` laid down, and takes it for no real one."""
    (tmp_path / "test_app.py").write_text(
        "def test_app(hailo_platform):\n    import hailo_platform as found\n    assert found is hailo_platform\n"
        "def test_again():\n    import hailo_platform\n    assert hailo_platform.HEF\n"
    )
    done = emu_exec("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_app.py", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "is hidden" not in done.stdout + done.stderr


def test_install_and_uninstall(tmp_path: Path) -> None:
    (tmp_path / "hailo_platform.py").write_text("real = True\n")
    program = (
        "import emu, sys\n"
        f"sys.path.insert(0, {str(tmp_path)!r})\n"
        "import hailo_platform; assert hailo_platform.real\n"
        "ours = emu.hailo_platform.install()\n"
        "import hailo_platform; assert hailo_platform is ours and hailo_platform is emu.hailo_platform\n"
        "emu.hailo_platform.uninstall()\n"
        "import hailo_platform; assert hailo_platform.real\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("is hidden") == 1


def test_the_import_loads_neither_a_reader_nor_a_simulator() -> None:
    """Within 1.3 times numpy and the schema of HEF files, which it does not even load."""
    program = "import sys, emu.hailo_platform; print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True)
    loaded = set(done.stdout.split())
    assert loaded.isdisjoint(
        {"google", "simpy", "msgspec", "yaml", "orjson", "emu.hw", "emu.host.device", "emu.hef.hef"}
    )


# -- hailortcli


def hailortcli(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [str(ROOT / "emu" / "hailo_platform" / "bin" / "hailortcli"), *arguments]
    variables = ENVIRONMENT | {"EMU_PYTHON": sys.executable} | environment
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=variables, timeout=60)


def test_identify() -> None:
    """The text of docs/reference/fw-trace.md 3, lines of empty fields left out."""
    done = hailortcli("fw-control", "identify", EMU_DEVICE="hailo8l")
    assert done.returncode == 0
    assert done.stdout == (
        "Executing on device: 0000:01:00.0\n"
        "Identifying board\n"
        "Control Protocol Version: 2\n"
        "Firmware Version: 4.23.0 (release,app,extended context switch buffer)\n"
        "Logger Version: 0\n"
        "Board Name: Hailo-8\n"
        "Device Architecture: HAILO8L\n"
        "\n"
    )


@pytest.mark.parametrize("runtime", ["4.20", "4.23"])
def test_the_firmware_is_of_the_release(runtime: str) -> None:
    """The library takes no other (driver-ioctl-4.23.md)."""
    done = hailortcli("fw-control", "identify", EMU_DEVICE="hailo8", EMU_RUNTIME=runtime)
    assert f"\nFirmware Version: {runtime}.0 (release,app,extended context switch buffer)\n" in done.stdout


def test_a_release_without_the_device_does_not_identify_it() -> None:
    done = hailortcli("fw-control", "identify", EMU_DEVICE="hailo8", EMU_RUNTIME="5.2")
    assert (done.returncode, done.stdout) == (93, "")
    assert "HailoRT 5.2 has no Hailo-8 support: hailo8 needs HailoRT 4.17.1 to 4.23" in done.stderr


@pytest.mark.parametrize("device", ["hailo8", "hailo8l", "hailo10h", "hailo15h", "hailo15m", "hailo15l", "hailo12l"])
def test_every_device_names_its_architecture(device: str) -> None:
    """The line that installers parse."""
    done = hailortcli("fw-control", "identify", EMU_DEVICE=device)
    assert f"\nDevice Architecture: {device.upper()}\n" in done.stdout


def test_scan_and_version() -> None:
    assert hailortcli("scan").stdout == "Hailo Devices:\n[-] Device: 0000:01:00.0\n"
    assert hailortcli("--version").stdout == "HailoRT-CLI version 4.23.0\n"


@pytest.mark.parametrize("runtime", ["4.23", "5.2"])
def test_parse_hef_is_the_real_text(shared: Path, runtime: str) -> None:
    model = "mnist_cnn.v0.hailo8" if runtime == "4.23" else "scrfd_2.5g.v3.hailo1xh"
    device = "hailo8" if runtime == "4.23" else "hailo15h"
    done = hailortcli("parse-hef", str(shared / "hef" / f"{model}.hef"), EMU_DEVICE=device, EMU_RUNTIME=runtime)
    # the last line of a capture is the exit code
    expected = (shared / "oracle" / "parse-hef" / runtime / f"{model}.txt").read_text().removesuffix("rc=0\n")
    assert done.stdout.strip() == expected.strip()


def test_frame_rates_are_those_of_a_run() -> None:
    import emu

    group = emu.run(TWO_CONTEXT, frames=16).network_groups[0]
    for command in (["run", TWO_CONTEXT], ["run2", "-t", "1", "set-net", TWO_CONTEXT], ["benchmark", TWO_CONTEXT]):
        done = hailortcli(*command)
        assert done.returncode == 0, done.stderr
        found = [float(word) for word in done.stdout.replace("=", " ").split() if word.replace(".", "").isdigit()]
        assert any(abs(one - group.fps) < 0.01 for one in found), done.stdout


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["sensor-config"], 1),
        ([], 1),
        (["run"], 1),
        (["scan", "--nothing"], 1),
        (["fw-control", "identify", "-s", "x"], 2),
        (["parse-hef", "/nonexistent"], 13),
        (["run2"], 6),
    ],
)
def test_what_hailortcli_refuses(arguments: list[str], code: int) -> None:
    done = hailortcli(*arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.count("\n") == 1


def test_a_model_computes_what_an_application_gets(script: Any, tmp_path: Path) -> None:
    """EMU_REFERENCE against the open device with the same model."""
    import numpy as np

    import emu
    from emu.hef.infos import hef_infos

    digits, model = ROOT / "examples" / "digits.hef", ROOT / "examples" / "digits.onnx"
    (stream,) = hef_infos(emu.open_hef(digits)).network_groups[0].input_vstreams
    shape = stream.shape
    frames = np.random.default_rng(4).integers(0, 256, (3, shape.height, shape.width, shape.features), np.uint8)
    np.save(tmp_path / "frames.npy", frames)
    name = script(
        "import sys\nimport numpy as np\nfrom hailo_platform import HEF, VDevice\n"
        "frames = np.load('frames.npy')\n"
        "with VDevice() as device:\n"
        "    model = device.create_infer_model(sys.argv[1])\n"
        "    with model.configure() as configured:\n"
        "        found = []\n"
        "        for frame in frames:\n"
        "            bindings = configured.create_bindings()\n"
        "            bindings.input().set_buffer(frame)\n"
        "            output = np.empty(model.output().shape, np.uint8)\n"
        "            bindings.output().set_buffer(output)\n"
        "            configured.run([bindings], 10000)\n"
        "            found.append(output)\n"
        "np.save('found.npy', np.stack(found))\n"
    )
    done = emu_exec(name, str(digits), cwd=tmp_path, EMU_REFERENCE=str(model))
    assert done.returncode == 0, done.stderr
    assert "synthetic" not in done.stderr
    with emu.open_device("hailo8") as device:
        application = device.configure(digits, reference=model)
        (expected,) = application.infer({stream.name: frames}).values()
    np.testing.assert_array_equal(np.load(tmp_path / "found.npy").reshape(expected.shape), expected)
    missing = emu_exec("app.py", str(digits), cwd=tmp_path, EMU_REFERENCE="absent.onnx")
    assert missing.returncode == 1 and "EMU_REFERENCE absent.onnx: there is no file" in missing.stderr
