"""A damaged capture ends in an error of the file or of the firmware, never in one of ours."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from emu.chips import chips
from emu.errors import EmuError, FirmwareError, HailoError
from emu.host.capture import load_capture
from emu.host.layout import usable_clusters
from emu.host.session import RunRequest, run_program
from emu.wire.actions import HostBufferType, make_action
from tests.conftest import DATA, ROOT
from tests.hw.mutants import load, outcome, with_list

CAPTURES = [
    DATA / "sequencer" / "synth" / "capture" / "4.23" / "ddr1_a.json",
    DATA / "sequencer" / "synth" / "capture" / "5.2" / "cache1_kv.kv.json",
]
MODELS = [ROOT / "examples" / "two_context.hef", ROOT / "examples" / "configured.hef"]
WRONG: tuple[Any, ...] = (None, -1, 0, 1 << 70, 1.5, True, "x", "00", [], {})


def _run(document: Any, path: Path) -> None:
    path.unlink(missing_ok=True)  # written over, it would have to reach the disk first
    path.write_text(json.dumps(document))
    capture = load_capture(path)
    profile = chips.load(capture.program.device)
    layout, _ = usable_clusters(capture.program, profile, capture.layout)
    run_program(capture.program, profile, RunRequest(frames=2, layout=layout))


def _places(node: Any) -> Iterator[tuple[Any, Any]]:
    """Every member of every object and list; of long lists the first few."""
    members = list(node.items() if isinstance(node, dict) else enumerate(node))[: 60 if isinstance(node, dict) else 4]
    for key, value in members:
        yield node, key
        if isinstance(value, dict | list) and key not in ("controls", "stdout", "actions"):
            yield from _places(value)


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
def test_a_capture_is_named_by_a_path_or_a_str(path: Path) -> None:
    assert load_capture(str(path)).program == load_capture(path).program


@pytest.fixture(params=CAPTURES, ids=lambda path: path.stem)
def document(request: pytest.FixtureRequest) -> Any:
    if not request.param.exists():
        pytest.skip(f"{request.param.name} is not among the test data")
    return json.loads(request.param.read_bytes())


def test_members_of_another_kind(document: Any, tmp_path: Path) -> None:
    _run(document, tmp_path / "sound.json")
    refused, random = 0, Random(5)
    for node, key in list(_places(document)):
        sound = node[key]
        for wrong in random.sample(WRONG, 4):
            node[key] = wrong
            try:
                _run(document, tmp_path / "damaged.json")
            except (HailoError, FirmwareError) as error:
                assert "\n" not in error.line()
                refused += 1
        node[key] = sound
    assert refused > 80


@pytest.mark.parametrize("model", MODELS, ids=lambda path: path.stem)
def test_a_number_of_zero_anywhere_in_a_list(model: Path, tmp_path: Path) -> None:
    """In the first action of each type, and there with either kind of buffer, where it names one."""
    sound = load(model)
    places = [(position, at) for position, listed in enumerate(sound.lists) for at in range(len(listed))]
    firsts = {sound.lists[position][at].type: (position, at) for position, at in reversed(places)}
    for position, at in firsts.values():
        listed = sound.lists[position]
        named = listed[at].arguments()
        others = [
            named | {"buffer_type": kind}
            for kind in (HostBufferType.EXTERNAL_DESC, HostBufferType.CCB)
            if "buffer_type" in named
        ]
        for values, name in itertools.product(others or [named], named):
            zero = make_action(listed[at].type, tuple((values | {name: 0}).values()))
            program = with_list(sound.program, position, [*listed[:at], zero, *listed[at + 1 :]])
            outcome(sound, program, tmp_path / "trace")  # what is no error of the firmware is raised
    assert len(firsts) > 10


def test_bytes_of_lists_and_headers(document: Any, tmp_path: Path) -> None:
    random = Random(7)
    ended: set[str] = set()
    text = json.dumps(document)
    for _ in range(400):
        damaged = json.loads(text)
        group = damaged["network_groups"][0]
        holder, key = random.choice(
            [(group, "application_header"), *[(one, "action_list") for one in group["contexts"]]]
        )
        data = bytearray.fromhex(holder[key])
        for _ in range(random.randrange(1, 4)):
            at = random.randrange(len(data))
            if random.random() < 0.7:
                data[at] = random.choice((0, 1, 0xFF, random.randrange(256)))
            elif random.random() < 0.5:
                data[at:at] = random.randbytes(random.randrange(1, 6))
            else:
                del data[at : at + random.randrange(1, 6)]
        holder[key] = data.hex()
        holder.pop("chunks", None)
        try:
            _run(damaged, tmp_path / "damaged.json")
            ended.add("done")
        except EmuError as error:
            ended.add(type(error).__name__)
    assert {"done", "FirmwareError"} <= ended
