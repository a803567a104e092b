"""`emu run` and `emu inspect` of OM and MS files as a user calls them: documents, files, exit codes, errors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from emu.cli.main import _run
from emu.graph.writers.om import write_om
from tests.conftest import DATA, SHARED, needs_shared
from tests.graph import nets
from tests.graph.om_cases import CASES, VALID, compare
from tests.graph.test_om_control import IMAGES, dynamic_model, gear_model

BY_NAME = {case.name: case for case in CASES}


class Outcome:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def document(self) -> dict:
        return json.loads(self.out)


@pytest.fixture
def emu(capsys):
    def call(*arguments: str | Path) -> Outcome:
        given = [str(argument) for argument in arguments]
        code = _run(given, "--json" in given, False)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call


def test_document(emu):
    case = BY_NAME["net_multi_io.om"]
    found = emu("run", case.path, "--inputs", case.path.with_suffix(".inputs.npz"), "--json")
    assert (found.code, found.err) == (0, "")
    document = found.document
    assert list(document) == ["model", "seed", "inputs", "outputs", "nodes"]
    assert document["model"] == {"file": str(case.path), "format": "om", "kind": "domi", "name": "net_multi_io"}
    assert document["seed"] == 0
    want = case.arrays("expected")
    assert [each["name"] for each in document["outputs"]] == list(want)
    for each in document["outputs"]:
        assert each["shape"] == list(want[each["name"]].shape)
        assert each["dtype"] == str(want[each["name"]].dtype)
        assert each["min"] == pytest.approx(float(want[each["name"]].min()), abs=1e-4)
        assert each["max"] == pytest.approx(float(want[each["name"]].max()), abs=1e-4)
    assert {each["source"] for each in document["inputs"]} == {"file"}


@pytest.mark.parametrize("case", VALID[::9], ids=lambda case: case.name)
def test_outputs_in_files(emu, tmp_path: Path, case):
    found = emu(
        "run", case.path, "--inputs", case.path.with_suffix(".inputs.npz"),
        "--outputs", tmp_path / "all.npz", "--output-dir", tmp_path / "each",
    )  # fmt: skip
    assert found.code == 0, found.err
    want = case.arrays("expected")
    with np.load(tmp_path / "all.npz") as archive:
        compare(dict(archive), want, *case.limits)
    files = sorted((tmp_path / "each").iterdir())
    assert [file.name for file in files] == [f"{at:02d}_{name.replace(':', '_')}.npy" for at, name in enumerate(want)]
    for file, array in zip(files, want.values(), strict=True):
        assert np.load(file).shape == array.shape


def test_inputs_one_by_one(emu, tmp_path: Path):
    case = BY_NAME["conv_basic.om"]
    (name, array), *_ = case.arrays("inputs").items()
    np.save(tmp_path / "x.npy", array)
    (tmp_path / "x.bin").write_bytes(array.tobytes())
    (tmp_path / "a=b.npy").write_bytes((tmp_path / "x.npy").read_bytes())
    seen = set()
    for argument in (f"{name}={tmp_path / 'x.npy'}", tmp_path / "x.npy", tmp_path / "x.bin", tmp_path / "a=b.npy"):
        found = emu("run", case.path, "--json", "--input", argument)
        assert found.code == 0, found.err
        seen.add(json.dumps(found.document["outputs"]))
    assert len(seen) == 1


def test_random_inputs_follow_the_seed(emu):
    case = BY_NAME["conv_basic.om"]
    first, again, other = (emu("run", case.path, "--json", "--seed", seed) for seed in ("3", "3", "4"))
    assert first.out == again.out
    assert first.document["outputs"] != other.document["outputs"]
    assert first.document["seed"] == 3
    assert first.document["inputs"][0]["source"] == "random"


def test_giving_one_input_does_not_change_the_random_others(emu, tmp_path: Path):
    case = BY_NAME["net_multi_io.om"]
    names = list(case.arrays("inputs"))
    made = emu("run", case.path, "--json", "--until", "Node_Output", "--outputs", tmp_path / "out.npz")
    assert made.code == 0, made.err
    np.save(tmp_path / "first.npy", case.arrays("inputs")[names[0]])
    given = emu("run", case.path, "--json", "--input", f"{names[0]}={tmp_path / 'first.npy'}")
    assert [each["source"] for each in given.document["inputs"]] == ["file", "random"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--input", "nobody=x.npy"], "'nobody'"),
        (["--input", "data=SHORT"], "504"),
        (["--inputs", "WRONG_NAME"], "'other'"),
        (["--inputs", "WRONG_SHAPE"], "float32[1, 3, 7, 6]"),
        (["--inputs", "WRONG_TYPE"], "float64[1, 3, 6, 7]"),
        (["--inputs", "GOOD", "--input", "data=GOOD_NPY"], "twice"),
        (["--until", "nobody"], "'nobody'"),
    ],
)
def test_input_errors_exit_2(emu, tmp_path: Path, arguments: list[str], words: str):
    good = np.zeros((1, 3, 6, 7), np.float32)
    (tmp_path / "SHORT").write_bytes(bytes(503))
    np.savez(tmp_path / "WRONG_NAME", other=good)
    np.savez(tmp_path / "WRONG_SHAPE", data=good.reshape(1, 3, 7, 6))
    np.savez(tmp_path / "WRONG_TYPE", data=good.astype(np.float64))
    np.savez(tmp_path / "GOOD", data=good)
    np.save(tmp_path / "GOOD_NPY.npy", good)
    for name in ("SHORT", "WRONG_NAME", "WRONG_SHAPE", "WRONG_TYPE", "GOOD_NPY", "GOOD"):
        file = next(path for path in tmp_path.iterdir() if path.stem == name)
        arguments = [
            argument.replace(name, str(file)) if argument in (name, f"data={name}") else argument
            for argument in arguments
        ]
    found = emu("run", BY_NAME["conv_basic.om"].path, *arguments)
    assert found.code == 2
    assert found.out == ""
    assert found.err.startswith("emu: error: GRAPH_INPUT(7): ")
    assert words in found.err
    assert found.err.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "status", "number"),
    [
        ("bad_pico.om", "OM_CONTAINER", 1),
        ("bad_both_kinds.om", "OM_MODEL", 2),
        ("bad_self_loop.om", "GRAPH_STRUCTURE", 4),
        ("bad_deadlock2.om", "GRAPH_STRUCTURE", 4),
        ("bad_num_output.om", "GRAPH_SHAPE", 5),
        ("bad_op_type.om", "GRAPH_UNSUPPORTED", 6),
        ("bad_graph_kind.om", "GRAPH_STRUCTURE", 4),
    ],
)
def test_refused_models_exit_3(emu, name: str, status: str, number: int):
    found = emu("run", BY_NAME[name].path, "--json")
    assert found.code == 3
    error = found.document["error"]
    assert (error["name"], error["status"]) == (status, number)
    assert error["where"]["file"].endswith(name)
    assert found.err.startswith(f"emu: error: {status}({number}): ")
    assert found.err.count("\n") == 1


@pytest.mark.parametrize(
    "option", [["--batch", "2"], ["--device", "hailo8"], ["--runtime", "5.2"], ["--trace"], ["--frames", "3"]]
)
def test_options_of_devices_exit_2(emu, option: list[str]):
    found = emu("run", BY_NAME["conv_basic.om"].path, *option)
    assert found.code == 2
    assert option[0] in found.err


def test_a_model_is_never_overwritten(emu, tmp_path: Path):
    model = tmp_path / "copy.om"
    model.write_bytes(BY_NAME["conv_basic.om"].data)
    found = emu("run", BY_NAME["conv_basic.om"].path, "--outputs", model)
    assert found.code == 2
    assert model.read_bytes() == BY_NAME["conv_basic.om"].data


def test_a_model_is_never_overwritten_in_a_folder(emu, tmp_path: Path):
    model = tmp_path / "00_op_0.npy"
    model.write_bytes(BY_NAME["conv_basic.om"].data)
    found = emu("run", BY_NAME["conv_basic.om"].path, "--output-dir", tmp_path)
    assert (found.code, found.out) == (2, "")
    assert "00_op_0.npy is an existing model file" in found.err
    assert model.read_bytes() == BY_NAME["conv_basic.om"].data


def test_until_gives_the_operands(emu, tmp_path: Path):
    case = BY_NAME["q_chain_half.om"]
    found = emu(
        "run", case.path, "--inputs", case.path.with_suffix(".inputs.npz"), "--until", "conv2", "--json",
        "--outputs", tmp_path / "out.npz",
    )  # fmt: skip
    assert [each["name"] for each in found.document["outputs"]] == ["conv1:0"]
    with np.load(tmp_path / "out.npz") as archive:
        assert np.array_equal(archive["conv1:0"], case.arrays("expected")["conv1:0"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_inspect_never_fails_but_on_files_that_are_none(emu, case):
    found = emu("inspect", case.path, "--json")
    if found.code:
        assert found.code == 3
        # an empty file is no OM file by content
        names = ("OM_CONTAINER", "OM_MODEL") if case.data else ("HAILO_FILE_OPERATION_FAILURE",)
        assert found.document["error"]["name"] in names
    else:
        assert found.document["kind"] in ("domi", "graph")
        assert bool(found.document["refusals"]) is not case.valid
    assert emu("inspect", case.path).code == found.code


def test_text_for_a_person(emu):
    case = BY_NAME["conv_basic.om"]
    found = emu("run", case.path)
    assert "random (seed 0)" in found.out
    assert "op:0" in found.out
    shown = emu("inspect", case.path)
    assert "op 1 'op' Convolution: data:0 -> " in shown.out


def test_standard_input_and_the_module():
    case = BY_NAME["conv_basic.om"]
    done = subprocess.run(
        [sys.executable, "-m", "emu", "run", "-", "--json"], input=case.data, capture_output=True, check=True
    )
    assert json.loads(done.stdout)["model"]["file"] == "-"


@needs_shared
def test_ms_graphs_run_the_same_way(emu, tmp_path: Path):
    found = emu("run", SHARED / "ms" / "lenet.ms", "--input", SHARED / "ms" / "lenet.bin", "--json", "--outputs",
                tmp_path / "out.npz")  # fmt: skip
    assert found.code == 0, found.err
    assert found.document["model"]["format"] == "ms"
    want = np.array((SHARED / "ms" / "lenet.out").read_text().split("\n")[1].split(), np.float32)
    with np.load(tmp_path / "out.npz") as archive:
        np.testing.assert_allclose(archive["output_0"].reshape(-1), want, atol=1e-6)
    assert emu("inspect", SHARED / "ms" / "lenet.ms").code == 0


def test_results_do_not_depend_on_the_number_of_cores(tmp_path: Path):
    """BLAS takes as many threads as there are cores and rounds differently with each number; emu asks for one."""
    net, result = nets.plain(size=48)
    (tmp_path / "net.om").write_bytes(net.om(result))
    found = []
    for setting in ({}, {"OPENBLAS_NUM_THREADS": "1"}):
        kept = tmp_path / f"{len(found)}"
        environment = {key: value for key, value in os.environ.items() if not key.endswith("_NUM_THREADS")}
        subprocess.run(
            [sys.executable, "-m", "emu", "run", tmp_path / "net.om", "--output-dir", kept],
            env=environment | setting, check=True, capture_output=True,
        )  # fmt: skip
        (array,) = kept.iterdir()
        found.append(array.read_bytes())
    assert found[0] == found[1]


def test_chip_is_for_om_files(emu, tmp_path: Path):
    case = VALID[0]
    found = emu("inspect", case.path, "--soc", "Ascend910B2", "--json")
    assert (found.code, found.document["soc"], found.document["accepts_soc"]) == (0, "Ascend910B2", None)
    assert "accepts_soc" not in emu("inspect", case.path, "--json").document
    other = next((DATA / "hef").glob("*.hef"))
    found = emu("inspect", other, "--soc", "Ascend910B2")
    assert found.code == 2
    assert "--soc" in found.err


def test_gears(emu, tmp_path: Path):
    path = tmp_path / "gears.om"
    path.write_bytes(write_om(gear_model(IMAGES, lambda gear: (1, 2, *gear)).message))
    assert emu("run", path, "--gear", "4,6", "--json").document["outputs"][0]["shape"] == [1, 2, 4, 6]
    assert emu("run", path, "--gear", "large").code == 2
    assert "one must be chosen" in emu("run", path).err
    assert "2 gears" in emu("check", path).out
    shown = emu("inspect", path, "--json").document
    assert shown["gears"] == IMAGES
    assert shown["refusals"] == []


def test_dims_that_the_run_decides(emu, tmp_path: Path):
    path = tmp_path / "dynamic.om"
    model = dynamic_model()
    model.end("y:0")
    path.write_bytes(write_om(model.message))
    np.save(tmp_path / "x.npy", np.zeros((5, 4), np.float32))
    found = emu("run", path, "--input", f"x={tmp_path / 'x.npy'}", "--json")
    assert found.document["outputs"][0]["shape"] == [20, 2]
    (tmp_path / "x.bin").write_bytes(bytes(80))
    assert emu("run", path, "--input", f"x={tmp_path / 'x.bin'}").code == 2
    made = emu("run", path)
    assert made.code == 0
    assert "no array gives its dims: [1, 4] is taken" in made.err
