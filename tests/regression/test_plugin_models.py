"""The pytest plugin as its users have it: inputs, expected outputs, graphs, a folder of models, the mark, coverage."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import ROOT
from tests.regression.test_plugin import run_pytest

EXAMPLES = ROOT / "examples"


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    for name in ("digits.hef", "digits.onnx", "digits.alls", "computed_digits.hef", "two_context.hef", "lenet.ms"):
        shutil.copyfile(EXAMPLES / name, tmp_path / name)
    np.save(tmp_path / "image.npy", np.arange(64, dtype=np.uint8).reshape(8, 8, 1))
    return tmp_path


def passes(folder: Path, text: str, *arguments: object, autoload: bool = False) -> str:
    (folder / "test_x.py").write_text(text)
    code, out = run_pytest(folder, *arguments, autoload=autoload)
    assert code == 0, out
    return out


def test_expected_outputs_of_a_reference(suite: Path) -> None:
    """Against onnxruntime itself: what the reference gives is the model's own answer, to the step of the output."""
    pytest.importorskip("onnxruntime")
    from tests.onnx_session import onnx_session

    session = onnx_session(suite / "digits.onnx")
    pixels = np.load(suite / "image.npy").astype(np.float32).reshape(1, 1, 8, 8)
    (name,) = (one.name for one in session.get_inputs())
    (scores,) = session.run(None, {name: pixels / 255})
    np.save(suite / "scores.npy", scores.reshape(-1).astype(np.float32))
    passes(
        suite,
        """
import numpy as np
def test_numbers(emu_run):
    run = emu_run("digits.hef", input="image.npy", reference="digits.onnx", alls="digits.alls")
    (codes,) = run.outputs.values()
    assert codes.shape[0] == 1 and codes.dtype == np.uint8
    real = (codes.reshape(-1)[:10].astype(np.float32) - 145) * np.float32(0.16810429)
    assert abs(real - np.load("scores.npy")).max() <= 0.0841
    again = emu_run("digits.hef", inputs={"digits/input_layer1": np.load("image.npy")[None]},
                    reference="digits.onnx", alls="digits.alls")
    again.assert_outputs(run.outputs)
""",
    )


def test_the_life_of_expected_outputs(suite: Path) -> None:
    test = """
def test_outputs(emu_run):
    emu_run("computed_digits.hef", input=["image.npy"], keep_outputs=True).assert_outputs("outputs.npz"{more})
"""
    (suite / "test_x.py").write_text(test.format(more=""))
    code, out = run_pytest(suite)
    assert code == 1
    assert "--emu-update" in out
    passes(suite, test.format(more=""), "--emu-update")
    kept = (suite / "outputs.npz").read_bytes()
    passes(suite, test.format(more=""))
    with np.load(suite / "outputs.npz") as arrays:
        (name,) = arrays
        array = arrays[name].copy()
    array.flat[3] += 2
    np.savez(suite / "outputs.npz", **{name: array})
    code, out = run_pytest(suite)
    assert code == 1
    assert f"{name}: 1 of {array.size} elements" in out
    passes(suite, test.format(more=", atol=2"))
    passes(suite, test.format(more=""), "--emu-update")
    assert (suite / "outputs.npz").read_bytes() == kept  # the same outputs are the same bytes
    np.savez(suite / "outputs.npz", **{name: array[..., :-1], "other": array})
    code, out = run_pytest(suite)
    assert code == 1
    assert "came out" in out
    assert "other: there is no such output" in out


def test_synthetic_outputs_are_nothing_to_expect(suite: Path) -> None:
    test = """
import pytest
def test_it(emu_run):
    run = emu_run("digits.hef")
    with pytest.raises(AssertionError, match="digits/fc2 synthetic"):
        run.assert_outputs({{}})
    given = emu_run("digits.hef", device_output="digits/fc2=bytes.bin", keep_outputs=True)
    given.assert_outputs({{name: array for name, array in given.outputs.items()}})
    assert bytes(given.stream("digits/fc2").contents[0])[:10] == bytes(range(10))
""".replace("{{", "{").replace("}}", "}")
    (suite / "bytes.bin").write_bytes(bytes(range(16)))
    passes(suite, test)


GRAPHS = """
import numpy as np
import pytest
def test_graph(emu_run):
    run = emu_run("lenet.ms", seed=3)
    run.assert_status().assert_outputs("lenet.npz", atol=1e-6)
    (name,) = run.outputs
    with pytest.raises(AssertionError, match="elements, first"):
        run.assert_outputs({name: run.outputs[name] + 1})
    with pytest.raises(AssertionError, match="expected float64"):
        run.assert_outputs({name: run.outputs[name].astype(np.float64)})
def test_inputs(emu_run):
    from emu import open_graph
    graph = open_graph("lenet.ms")
    (port,) = graph.inputs
    given = np.ones(port.shape, port.dtype)
    one = emu_run("lenet.ms", inputs={port.name: given})
    np.save("ones.npy", given)
    emu_run("lenet.ms", input="ones.npy").assert_outputs(one.outputs)
    emu_run("lenet.ms", input=f"{port.name}=ones.npy").assert_outputs(one.outputs)
    assert emu_run("lenet.ms").outputs[next(iter(one.outputs))].tobytes() != next(iter(one.outputs.values())).tobytes()
    emu_run("lenet.ms", inputs={"no": given}).assert_status("GRAPH_INPUT")
    emu_run("lenet.ms", inputs={port.name: given[..., :1]}).assert_status("GRAPH_INPUT")
    with pytest.raises(AssertionError, match="ended with GRAPH_INPUT"):
        emu_run("lenet.ms", inputs={"no": given}).assert_outputs("lenet.npz")
def test_settings(emu_run):
    with pytest.raises(Exception, match="batch: no setting of a graph"):
        emu_run("lenet.ms", batch=2)
"""


def test_graphs(suite: Path) -> None:
    """The kept outputs are what the model's own file says (examples/make_lenet_ms.py, run by the command)."""
    from emu.cli.main import main

    with pytest.raises(SystemExit) as done:
        main(["run", str(suite / "lenet.ms"), "--seed", "3", "--outputs", str(suite / "lenet.npz")])
    assert not done.value.code
    passes(suite, GRAPHS)


FOLDER = """
import pytest
SEEN = []
@pytest.mark.hailo(models={models!r})
def test_each(emu_model, emu_run):
    SEEN.append(emu_model.name)
    emu_run(emu_model).assert_status()
def test_other():
    pass
"""


def test_a_folder_of_models(suite: Path) -> None:
    models = suite / "models"
    (models / "deeper").mkdir(parents=True)
    shutil.move(suite / "two_context.hef", models / "b.hef")
    shutil.move(suite / "lenet.ms", models / "deeper" / "c.ms")
    shutil.move(suite / "digits.hef", models / "a.hef")
    (models / "notes.txt").write_text("no model")
    (suite / "test_x.py").write_text(FOLDER.format(models="models"))
    _, out = run_pytest(suite, "--collect-only")
    names = [line.partition("[")[2].rstrip("]") for line in out.splitlines() if "test_each[" in line]
    assert names == ["models/a.hef", "models/b.hef", "models/deeper/c.ms"]
    assert run_pytest(suite)[0] == 0
    # a folder from the command line goes before, relative to where pytest was called
    _, out = run_pytest(suite, "--collect-only", "--emu-models", "models/deeper")
    assert [line for line in out.splitlines() if "test_each[" in line] == ["test_x.py::test_each[models/deeper/c.ms]"]
    (suite / "test_x.py").write_text(FOLDER.format(models=["models/deeper", "models/a.hef"]))
    assert run_pytest(suite)[0] == 0


@pytest.mark.parametrize("models", ["nothing", "empty"])
def test_a_folder_without_models_is_told(suite: Path, models: str) -> None:
    (suite / "empty").mkdir()
    (suite / "test_x.py").write_text(FOLDER.format(models=models))
    code, out = run_pytest(suite)
    assert code != 0
    assert models in out


def test_a_model_without_a_folder_is_told(suite: Path) -> None:
    (suite / "test_x.py").write_text("def test_each(emu_model): pass\n")
    code, out = run_pytest(suite)
    assert code != 0
    assert "--emu-models" in out


def test_the_mark_chooses(suite: Path) -> None:
    text = "def test_a(emu_run): emu_run('two_context.hef')\ndef test_b(): pass\n"
    assert "1 passed, 1 deselected" in passes(suite, text, "-m", "hailo")
    assert "1 passed, 1 deselected" in passes(suite, text, "-m", "not hailo")


def test_a_wrong_mark_is_told(suite: Path) -> None:
    text = "import pytest\n@pytest.mark.hailo(modles='x')\ndef test_a(emu_run): emu_run('two_context.hef')\n"
    (suite / "test_x.py").write_text(text)
    code, out = run_pytest(suite)
    assert code != 0
    assert "allow_hazards" in out


def test_a_line_of_coverage_ends_a_suite(suite: Path) -> None:
    text = "def test_a(emu_run): emu_run('two_context.hef')\ndef test_b(emu_run): emu_run('two_context.hef')\n"
    out = passes(suite, text)
    (line,) = (line for line in out.splitlines() if line.startswith("emu coverage: "))
    assert "of 44 action types" in line
    assert "emu coverage" not in passes(suite, "def test_a(): pass\n")


def test_workers_share_nothing_but_what_they_tell(suite: Path) -> None:
    """pytest-xdist: the same tests, the same files, the same line."""
    pytest.importorskip("xdist")
    (suite / "models").mkdir()
    for number in range(4):
        shutil.copyfile(suite / "two_context.hef", suite / "models" / f"{number}.hef")
    text = """
import pytest
@pytest.mark.hailo(models="models")
def test_each(emu_model, emu_run):
    emu_run(emu_model).assert_golden(f"{emu_model.stem}.trace")
@pytest.mark.parametrize("turn", range(3))
def test_outputs(emu_run, turn):
    emu_run("computed_digits.hef", input="image.npy", keep_outputs=True).assert_outputs("outputs.npz")
"""
    lines = []
    for arguments in (("--emu-update", "-n", 2), ("-n", 2), ()):
        out = passes(suite, text, *arguments, autoload=True)
        assert "7 passed" in out
        lines += [line for line in out.splitlines() if line.startswith("emu coverage: ")]
    assert len(lines) == 3
    assert len(set(lines)) == 1
