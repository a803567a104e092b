"""`emu run --record DIR` and `emu replay DIR`: keep what crossed the device's borders, do it again, compare."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import redirect_stdout
from dataclasses import asdict, fields
from io import StringIO
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import click

from emu.cli.document import print_document
from emu.cli.log import warn
from emu.cli.options import MAX_FRAMES, HefOptions, open_model
from emu.cli.run import RunOptions
from emu.errors import EmuError, HailoError, HailoStatus, UsageError
from emu.files import shown
from emu.sequencer.control import Opcode, decode_request
from emu.trace.record import DivergedError, Recording, Replay

DIFFERENT = 6
# what a replay does again; where results go and how they are shown is not part of it
_KEPT = ("actions", "compute_time", "schedule", "inject", "inputs", "input", "device_output")


def settings(options: RunOptions, error: EmuError | None) -> dict[str, Any]:
    """What `emu replay` needs of a run: its files with their hashes, its options, how it ended."""
    sources = [options.actions] if options.actions is not None else [model.source for model in options.models]
    paths = [Path(source).resolve() for source in sources if not isinstance(source, bytes)]
    if len(paths) < len(sources):
        raise UsageError("--record needs files: what comes from standard input cannot be read again")
    for path in paths:
        if shown(path) != str(path):
            raise UsageError(f"--record keeps the names of files as text, {shown(path)} is none")
    kept = {name: getattr(options, name) for name in _KEPT}
    # a replay may be started from elsewhere
    kept |= {name: tuple(map(_absolute, kept[name])) for name in ("input", "device_output")}
    kept["inputs"] = None if options.inputs is None else _absolute(options.inputs)
    return {
        "files": [{"path": str(path), "md5": _md5(path)} for path in paths],
        "options": {**kept, "common": asdict(options.common)},
        "status": "OK" if error is None else error.line(),
    }


def _absolute(argument: str) -> str:
    """`NAME=FILE` or `FILE` with the whole path of the file; as it is where there is no such file."""
    for begin in (0, *(at + 1 for at, letter in enumerate(argument) if letter == "=")):
        path = Path(argument[begin:])
        if path.is_file():
            return argument[:begin] + str(path.resolve())
    return argument


def _md5(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "md5").hexdigest()


@click.command()
@click.argument("folder", metavar="DIR")
@click.argument("models", nargs=-1, metavar="[MODEL...]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(folder: str, models: tuple[str, ...], as_json: bool) -> int:
    """Run again what `emu run --record DIR` ran, and report the first difference (exit code 6).

    MODEL stands in for the recorded file, which may have moved or is to be tried in another version.
    """
    recording = Recording.open(Path(folder))
    options, notes = _options(recording, models)
    for note in notes:
        warn(note)
    replay = Replay(recording)
    ended = _run(options, replay)
    if replay.damage is not None:
        raise replay.damage
    difference = replay.difference
    same_end = difference is not None or ended == recording.run.get("status")
    if as_json:
        found: dict[str, Any] = {"equal": difference is None and same_end, "records": replay.number, "divergence": None}
        if difference is not None:
            found["divergence"] = {
                "number": difference.number,
                "fields": difference.fields,
                "recorded": difference.recorded,
                "replayed": difference.replayed,
            }
        found["status"] = {"recorded": recording.run.get("status"), "replayed": ended}
        print_document(found)
    else:
        for line in _text(recording, replay, ended):
            click.echo(line)
    return 0 if difference is None and same_end else DIFFERENT


def _run(options: RunOptions, replay: Replay) -> str:
    """Run; returns how it ended, raises what kept it from beginning. What it prints is not wanted here."""
    from emu.cli import run_hef

    ended = "OK"
    with redirect_stdout(StringIO()):
        try:
            execute = run_hef.run if options.actions is None else run_hef.run_capture
            execute(options, put=replay.put)
        except DivergedError:
            return "stopped at the first difference"
        except EmuError as error:
            ended = error.line()
            if not replay.number and ended != replay.recording.run.get("status"):
                raise  # nothing ran: there is nothing to compare
    replay.finish()
    return ended


def _options(recording: Recording, models: tuple[str, ...]) -> tuple[RunOptions, list[str]]:
    """The options of the recorded run with the files named now; UsageError where they are not there."""
    try:
        files = [(Path(entry["path"]), str(entry["md5"])) for entry in recording.run["files"]]
        kept = recording.run["options"]
        common = HefOptions(**_typed(HefOptions, kept["common"], [name.name for name in fields(HefOptions)]))
        given = _typed(RunOptions, kept, _KEPT)
        if not files:
            raise ValueError("no files")
        if common.frames is not None and not 0 < common.frames <= MAX_FRAMES:
            raise ValueError(f"{common.frames} frames")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise HailoError(
            HailoStatus.HAILO_INVALID_ARGUMENT,
            f"the manifest does not say what ran ({type(error).__name__} {error})",
            file=str(recording.folder),
        ) from None
    if models and len(models) != len(files):
        raise UsageError(f"the recording is of {len(files)} files, {len(models)} were given")
    paths = [Path(model) for model in models] or [path for path, _ in files]
    notes = []
    for path, (recorded, digest) in zip(paths, files, strict=True):
        if not path.is_file():
            raise UsageError(f"{path} is not there any more: name the file that stands in for it", file=str(path))
        if _md5(path) != digest:
            notes.append(f"{path} is not the file that was recorded ({recorded}): its bytes differ")
    if given["actions"] is not None:
        return RunOptions(models=(), common=common, **{**given, "actions": str(paths[0])}), notes
    return RunOptions(models=tuple(open_model(str(path)) for path in paths), common=common, **given), notes


def _typed(of: type, values: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The options `names` of a manifest, lists as tuples; TypeError for one that is not of its type in `of`."""
    hints = get_type_hints(of)
    found = {}
    for name in names:
        value, hint = values[name], hints[name]
        value = tuple(value) if isinstance(value, list) else value
        if not any(_fits(value, one) for one in (get_args(hint) if isinstance(hint, UnionType) else (hint,))):
            raise TypeError(f"{name}: {values[name]!r:.40}")
        found[name] = value
    return found


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a type as options have them: plain, `tuple[X, ...]` or `dict[str, X]`."""
    origin = get_origin(hint)
    if origin is None:
        return type(value) is hint
    members = value.values() if isinstance(value, dict) else value
    return type(value) is origin and all(type(one) in get_args(hint) for one in members)


def _text(recording: Recording, replay: Replay, ended: str) -> Iterator[str]:
    difference = replay.difference
    if difference is None:
        counts = ", ".join(f"{count:,} {kind}" for kind, count in sorted(recording.counts.items()))
        yield f"{replay.number:,} records ({counts}): replayed without a difference"
        if ended != recording.run.get("status"):
            yield f"but the recorded run ended with {recording.run.get('status')}, this one with {ended}"
        return
    yield f"first difference at record {difference.number:,}: {', '.join(difference.fields)}"
    for word, record in (("recorded", difference.recorded), ("replayed", difference.replayed)):
        yield f"  {word} " + (f"nothing: the run is over ({ended})" if record is None else _described(record))


def _described(record: dict[str, Any]) -> str:
    """A record in one line; control messages by what they are."""
    if record["kind"] == "control":
        try:
            request = decode_request(bytes.fromhex(record["request"]))
            name = Opcode(request.opcode).name
        except (ValueError, KeyError, TypeError, HailoError):
            name = "?"
        return f"{record['ns']} ns control {name}, request {record.get('request')}, reply {record.get('reply')}"
    return " ".join(f"{name}={value}" for name, value in record.items())
