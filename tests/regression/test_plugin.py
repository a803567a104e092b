"""The pytest plugin as its users have it: golden files, updates, failures that print the difference, coverage."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from emu.errors import HailoError, UsageError
from emu.host.spec import RunSpec
from emu.regression.golden import check_golden
from emu.regression.run import execute
from tests.conftest import ROOT, SHARED, needs_shared
from tests.processes import run_module
from tests.trace.helpers import SINGLE, TWO_CONTEXT, records_of, traced, write_trace

TEST = """
def test_golden(emu_run):
    emu_run("x.hef", frames={frames}{more}).assert_golden("x.trace"{tolerance})
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    shutil.copyfile(TWO_CONTEXT, tmp_path / "x.hef")
    return tmp_path


def write_test(folder: Path, frames: int = 2, more: str = "", tolerance: str = "") -> None:
    text = TEST.format(frames=frames, more=more, tolerance=tolerance)
    (folder / "test_x.py").write_text(text)


def run_pytest(folder: Path, *arguments: object, autoload: bool = False) -> tuple[int, str]:
    """pytest as a process of its own; without `autoload` it need not start every plugin there is."""
    options = ("-q", "-p", "no:cacheprovider", *map(str, arguments))
    if autoload:
        command = [sys.executable, "-m", "pytest", *options]
        done = subprocess.run(command, cwd=folder, capture_output=True, timeout=120, check=False)
    else:
        environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        done = run_module("pytest", "-p", "emu.regression.pytest_plugin", *options, cwd=folder, env=environment)
    return done.returncode, (done.stdout + done.stderr).decode()


def test_the_life_of_a_golden_file(suite: Path) -> None:
    write_test(suite)
    code, text = run_pytest(suite)
    assert code == 1
    assert "pytest --emu-update" in text
    assert not (suite / "x.trace").exists()
    assert run_pytest(suite, "--emu-update")[0] == 0
    golden = (suite / "x.trace").read_bytes()
    assert run_pytest(suite)[0] == 0
    # a run that differs prints where and how, and leaves the file alone
    records = records_of(suite / "x.trace")
    record = next(record for record in records if record.get("action") == "ENABLE_LCU_DEFAULT")
    record["arguments"]["packed_lcu_id"] = 5
    write_trace(suite / "x.trace", records)
    code, text = run_pytest(suite)
    assert code == 1
    assert "first divergence: dynamic_0 action 8" in text
    assert "packed_lcu_id 5 != 0" in text
    assert "Traceback" not in text
    assert run_pytest(suite, "--emu-update")[0] == 0
    assert (suite / "x.trace").read_bytes() == golden


FOREIGN = {
    "notes": (b"notes\n", "is no emu trace but a text file"),
    "other version": (b'{"schema":"emu-trace","version":9}\n', "trace schema version 9"),
    "other model": (
        b'{"schema":"emu-trace","version":1,"model":"y.hef","runtime":"4.23","device":"hailo8","batch":1,'
        b'"frames":2,"seed":0,"timestamp_mhz":200.0}\n{"ns":0,"kind":"end","events":0}\n',
        "the golden file is of y.hef, this run is of x.hef",
    ),
}


@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.parametrize("update", [False, True])
def test_golden_files_of_something_else_are_left_as_they_are(name: str, update: bool, suite: Path) -> None:
    content, expected = FOREIGN[name]
    golden = suite / "x.trace"
    golden.write_bytes(content)
    traced(suite / "x.hef", suite / "mine")
    with pytest.raises(HailoError, match=expected):
        check_golden(golden, suite / "mine", update=update)
    assert golden.read_bytes() == content
    assert {path.name for path in suite.iterdir()} == {"x.hef", "x.trace", "mine"}


def test_other_settings_are_named(suite: Path) -> None:
    write_test(suite)
    assert run_pytest(suite, "--emu-update")[0] == 0
    write_test(suite, frames=3, more=", batch=3")
    code, text = run_pytest(suite)
    assert code == 1
    assert "batch: golden 1, this run 3" in text
    assert "frames: golden 2, this run 3" in text


def test_time_counts_within_a_tolerance(suite: Path) -> None:
    write_test(suite, more=", link='gen1x1'")
    assert run_pytest(suite, "--emu-update")[0] == 0
    write_test(suite)
    assert run_pytest(suite)[0] == 0
    write_test(suite, tolerance=", tolerance=0")
    code, text = run_pytest(suite)
    assert code == 1
    assert "ns " in text


ASSERTIONS = """
import pytest
MODEL = {model!r}
def fails(call, *words):
    with pytest.raises(AssertionError) as found:
        call()
    for word in words:
        assert word in str(found.value), (word, str(found.value))
def test_all(emu_run):
    run = emu_run(MODEL, frames=2)
    run.assert_status().assert_status("OK").assert_status(0)
    fails(lambda: run.assert_status("HAILO_INVALID_HEF"), "ended with OK(0)")
    run.assert_actions({{"LCU_INTERRUPT": 2}}, context="dynamic_0")
    fails(lambda: run.assert_actions({{"LCU_INTERRUPT": 3}}, context="dynamic_0"), "expected 3, executed 2")
    names = ["BURST_CREDITS_TASK_RESET", "OPEN_BOUNDARY_OUTPUT_CHANNEL", "OPEN_BOUNDARY_INPUT_CHANNEL"]
    run.assert_actions(names, context="activation")
    fails(lambda: run.assert_actions(names[:2], context="activation"), "action 2: expected nothing")
    fails(lambda: run.assert_actions([*names, "HALT"], context="activation"), "action 3: expected HALT")
    run.assert_stream("two_context/conv2", frames=2, size=1280)
    fails(lambda: run.assert_stream("two_context/conv2", frames=3), "frames: expected 3, passed 2")
    fails(lambda: run.assert_stream("nothing"), "no stream", "two_context/conv2")
    frames = run.stream("two_context/conv2").contents
    run.assert_stream("two_context/conv2", contents=frames)
    other = [frames[0], bytes(640)]
    fails(lambda: run.assert_stream("two_context/conv2", contents=other), "frame 1: byte 0: expected 0x00")
    run.assert_memory({{0x128001DC: 0}})
    fails(lambda: run.assert_memory({{0x128001DC: 7, 0x20: 1}}), "0x128001DC: expected 0x00000007", "nothing written")
    fps = run.group().fps
    run.assert_fps(fps * 1.01, within=0.02)
    fails(lambda: run.assert_fps(fps * 1.1, within=0.02), "FPS, expected")
    fails(lambda: run.assert_fps(float("nan")), "expected nan")
    fails(lambda: run.group("x"), "no network group")
    gone = emu_run("gone.hef")
    for check in (lambda: gone.assert_golden("g"), lambda: gone.assert_actions({{"HALT": 1}}), gone.assert_status,
                  lambda: gone.assert_memory({{0: 1}}), lambda: gone.assert_stream("x"), lambda: gone.assert_fps(1)):
        fails(check, "gone.hef", "HAILO_OPEN_FILE_FAILURE")
    stopped = emu_run(MODEL, inject=("stall-channel:2",))
    stopped.assert_status("CONTEXT_SWITCH_STATUS_TIMEOUT_WHILE_WAITING_FOR_INTERRUPT").assert_status(0x40130020)
    fails(lambda: stopped.assert_status(), "stalled")
    fails(lambda: stopped.assert_fps(1), "did not run to its end")
    emu_run(MODEL, device="hailo8l").assert_status(93)
"""


def test_the_assertions(suite: Path) -> None:
    (suite / "test_x.py").write_text(ASSERTIONS.format(model="x.hef"))
    code, text = run_pytest(suite, autoload=True)  # by the entry point, as users get it
    assert code == 0, text


@needs_shared
@pytest.mark.parametrize("given", [{"batch": 4}, {"runtime": "5.2"}, {"network_group": "x"}], ids=str)
def test_a_capture_has_its_own_settings(given: dict[str, Any], tmp_path: Path) -> None:
    capture = SHARED / "oracle" / "4.23" / "mnist_cnn.v0.hailo8.json"
    assert execute(capture, RunSpec.of(capture), tmp_path / "x").error is None
    refused = execute(capture, RunSpec.of(capture, **given), tmp_path / "x").error
    assert isinstance(refused, UsageError)
    assert next(iter(given)).replace("_", "-") in refused.message


def test_coverage_over_a_suite_and_its_threshold(suite: Path) -> None:
    write_test(suite)
    assert run_pytest(suite, "--emu-update")[0] == 0
    report = suite / "coverage.json"
    code, text = run_pytest(suite, "--emu-coverage", report)
    assert code == 0
    assert "action types" in text
    first = orjson.loads(report.read_bytes())
    assert first["actions"]["TRIGGER_SEQUENCER"] > 0
    # the next suite adds to it
    shutil.copyfile(SINGLE, suite / "x.hef")
    (suite / "x.trace").unlink()
    assert run_pytest(suite, "--emu-update", "--emu-coverage", report)[0] == 0
    second = orjson.loads(report.read_bytes())
    assert second["actions"]["APPLICATION_CHANGE_INTERRUPT"] > first["actions"]["APPLICATION_CHANGE_INTERRUPT"] == 0
    assert second["percent"] > first["percent"]
    assert run_pytest(suite, "--emu-coverage-threshold", 5)[0] == 0
    code, text = run_pytest(suite, "--emu-coverage-threshold", 99)
    assert code == 1
    assert "99 % are required" in text
    assert run_pytest(suite, "--emu-coverage-threshold", "nan")[0] == 4  # pytest's code for wrong use


def test_coverage_adds_up_over_workers(suite: Path) -> None:
    """pytest-xdist: runs in two processes count as those in one."""
    pytest.importorskip("xdist")
    (suite / "test_x.py").write_text("def test_a(emu_run): emu_run('x.hef')\ndef test_b(emu_run): emu_run('x.hef')\n")
    alone, apart = suite / "alone.json", suite / "apart.json"
    assert run_pytest(suite, "--emu-coverage", alone)[0] == 0
    code, text = run_pytest(suite, "--emu-coverage", apart, "--emu-coverage-threshold", 10, "-n", 2, autoload=True)
    assert code == 0, text
    assert apart.read_bytes() == alone.read_bytes()


def test_a_reference_beside_the_test_computes_the_outputs(tmp_path: Path) -> None:
    for name in ("digits.hef", "digits.onnx", "digits.alls"):
        shutil.copyfile(ROOT / "examples" / name, tmp_path / name)
    test = """
def test_numbers(emu_run):
    plain = emu_run("digits.hef", frames=2)
    run = emu_run("digits.hef", frames=2, reference="digits.onnx", alls="digits.alls")
    one, other = run.stream("digits/fc2").contents
    assert one[10:] == bytes(6) and one != other  # ten scores, padded with zeros
    assert plain.stream("digits/fc2").contents[0][10:] != bytes(6)
    again = emu_run("digits.hef", frames=2, reference="digits.onnx", alls="digits.alls")
    again.assert_stream("digits/fc2", contents=(one, other))
"""
    (tmp_path / "test_x.py").write_text(test)
    code, out = run_pytest(tmp_path)
    assert code == 0, out
