"""Traces, captures, recordings and YAML descriptions: text that emu wrote and somebody else changed."""

from __future__ import annotations

import functools
import io
import json
from contextlib import redirect_stdout
from pathlib import Path
from random import Random
from typing import Any

import yaml

from emu.cli.actions import _capture as capture_lists
from emu.cli.actions import command as actions_command
from emu.cli.replay import _options as replay_options
from emu.cli.replay import _text as replay_text
from emu.cli.run import command as run_command
from emu.conform.replay import check_records
from emu.hef.assembly import assemble, disassemble
from emu.hef.container import Container
from emu.hef.source import open_source
from emu.host.capture import load_capture
from emu.trace import diff, invariants
from emu.trace.reader import TraceReader
from emu.trace.record import Recording, Replay
from emu.wire.wire import wire_of
from fuzz.documents import mutate_json, mutate_lines, mutate_tree
from fuzz.files import folder, given
from fuzz.mutation import mutate_bytes
from fuzz.target import Target
from fuzz.targets.hef import drawn

_SEPARATOR = b"\n\0\n"
"""Between the files of an input that stands for several."""


@functools.cache
def _files() -> list[Path]:
    """HEFs of our writers that run."""
    return [given(data, f"seed-{number}.hef") for number, data in enumerate(drawn(12, runs=True))]


def _main(command: Any, *args: str) -> str:
    text = io.StringIO()
    with redirect_stdout(text):
        command.main([*args], standalone_mode=False)
    return text.getvalue()


@functools.cache
def _traces() -> list[bytes]:
    found = []
    for path in _files()[:5]:
        out = path.with_suffix(".trace")
        _main(run_command, str(path), f"--trace={out}")
        found.append(out.read_bytes())
    return found


def read_trace(data: bytes) -> None:
    reader = TraceReader(given(data, "trace.jsonl"))
    result = invariants.check(reader)
    assert all(isinstance(violation.message, str) for violation in result.violations)
    compared = diff.compare(reader, reader)
    list(diff.text(compared))
    json.dumps(diff.document(compared))


@functools.cache
def _captures() -> list[bytes]:
    return [_main(actions_command, str(path), "--json").encode() for path in _files()[:8]]


def read_capture(data: bytes) -> None:
    path = given(data, "capture.json")
    runtime, lists = capture_lists(str(path), data, None)
    for _, one in lists:
        for located in wire_of(runtime or "4.23").decode(one):
            _ = located.entry
    load_capture(path)


@functools.cache
def _recordings() -> list[bytes]:
    found = []
    for number, path in enumerate(_files()[:4]):
        out = folder() / f"recording-{number}"
        if not out.exists():
            _main(run_command, str(path), "--record", str(out))
        found.append((out / "manifest.json").read_bytes() + _SEPARATOR + (out / "record.jsonl").read_bytes())
    return found


def read_recording(data: bytes) -> None:
    """What replay reads and says, but for the run."""
    manifest, _, records = data.partition(_SEPARATOR)
    place = folder() / "recording"
    place.mkdir(exist_ok=True)
    (place / "manifest.json").write_bytes(manifest)
    (place / "record.jsonl").write_bytes(records)
    recording = Recording.open(place)
    try:
        replay_options(recording, (), None)
    finally:
        replay = Replay(recording)
        try:
            replay.put({"ns": 0, "kind": "none"})
        except Exception:  # it ends a replay
            assert replay.difference is not None or replay.damage is not None
        if replay.damage is not None:
            raise replay.damage
        for line in replay_text(recording, replay, "OK"):
            assert isinstance(line, str)
        for _ in check_records(recording.records()):  # what a target would be sent
            pass


def _mutate_recording(data: bytes, random: Random) -> bytes:
    manifest, separator, records = data.partition(_SEPARATOR)
    if random.random() < 0.5:
        return mutate_json(manifest, random) + separator + records
    return manifest + separator + mutate_lines(records, random)


@functools.cache
def _descriptions() -> list[bytes]:
    found = []
    for path in _files():
        description = disassemble(Container(open_source(path)), "x.bin")
        if len(description.text) < 1 << 13:
            found.append(description.text.encode())
    return found


def read_yaml(data: bytes) -> int:
    text = data.decode("utf-8", "replace")
    return sum(len(piece) for piece in assemble(text, lambda name: memoryview(bytes(4096))))


_TAGS = ("!!int", "!!float", "!!bool", "!!timestamp", "!!binary", "!!set", "!!omap", "!!python/name:os.system", "!x")


def _mutate_yaml(data: bytes, random: Random) -> bytes:
    kind = random.randrange(4)
    if kind == 0:
        return mutate_bytes(data, random)
    text = data.decode("utf-8", "replace")
    if kind == 1:  # a tag, an anchor, a nest or an odd scalar in front of some value
        places = [at for at, one in enumerate(text) if one == ":" and text[at + 1 : at + 2] == " "] or [0]
        at = random.choice(places) + 2
        odd = [f"{random.choice(_TAGS)} ", "&a ", "*a ", "[" * random.choice((1, 90, 2000)), "? ", "| ", "1_0", "0o9 "]
        return (text[:at] + random.choice(odd) + text[at:]).encode()
    try:
        tree = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        return json.dumps(mutate_tree(tree, random)).encode()  # which is YAML too
    except Exception:  # what does not load, or cannot be dumped
        return mutate_bytes(data, random)


TARGETS = (
    Target("trace", _traces, read_trace, mutate_lines),
    Target("capture", _captures, read_capture, mutate_json),
    Target("recording", _recordings, read_recording, _mutate_recording),
    Target("yaml", _descriptions, read_yaml, _mutate_yaml),
)
