"""examples/computed_digits.hef: what it classifies, and that it is what its script makes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import emu
from emu.cli.main import main
from tests.conftest import ROOT
from tests.net.test_build import network_of

DIGITS = ROOT / "examples" / "computed_digits.hef"


def test_it_is_read_whole() -> None:
    network = network_of(DIGITS.read_bytes())
    assert not network.unread and len(network.layers) == 4


def test_it_classifies_digits_that_it_was_not_trained_with() -> None:
    digits = pytest.importorskip("sklearn.datasets").load_digits()
    images = (digits.images[3::4] * 15).astype(np.uint8)[..., None]
    outputs = emu.run(DIGITS, inputs={"digits/input_layer1": images}, compute="strict").outputs["digits/fc2"]
    found = outputs.reshape(len(images), 10).argmax(1)
    assert (found == digits.target[3::4]).mean() >= 0.96


@pytest.mark.parametrize(
    ("options", "source"),
    [
        ([], "synthetic"),
        (["--compute"], "computed"),
        (["--compute=partial"], "computed"),
        (["--compute=off", "--outputs", "out.npz"], "synthetic"),
        (["--outputs", "out.npz"], "computed"),
        (["--device-output", "digits/fc2=out.bin"], "device"),
    ],
)
def test_what_is_said_of_an_output_is_said_of_its_stream(
    options: list[str], source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """Whether its frames are kept or not."""
    monkeypatch.chdir(tmp_path)
    Path("out.bin").write_bytes(bytes(16))
    with pytest.raises(SystemExit):
        main(["run", str(DIGITS), "--json", *options])
    document = json.loads(capsys.readouterr().out)
    stream = next(one for one in document["network_groups"][0]["streams"] if one["direction"] == "d2h")
    assert [one["source"] for one in document["outputs"]] == [source]
    assert stream["data"] == {"device": "given with --device-output"}.get(source, source)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([str(DIGITS)], True),
        ([str(DIGITS), "--compute"], False),
        ([str(DIGITS), "--compute=off"], False),
        ([str(DIGITS), "--outputs", "out.npz"], False),
        ([str(DIGITS), "--device-output", "digits/fc2=out.bin"], False),
        ([str(DIGITS.parent / "two_context.hef")], False),
    ],
)
def test_synthetic_outputs_say_how_to_get_computed_ones(
    arguments: list[str], said: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("out.bin").write_bytes(bytes(16))
    with pytest.raises(SystemExit):
        main(["run", *arguments])
    assert ("--compute computes the network's own from the HEF" in capsys.readouterr().out) == said


def test_true_and_false_stand_for_strict_and_off() -> None:
    kept = [
        emu.run(DIGITS, keep_outputs=True, compute=one).outputs["digits/fc2"] for one in (True, "strict", False, "off")
    ]
    assert (
        np.array_equal(kept[0], kept[1]) and np.array_equal(kept[2], kept[3]) and not np.array_equal(kept[0], kept[2])
    )
