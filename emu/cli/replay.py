"""`emu run --record DIR` and `emu replay DIR`: keep what crossed the device's borders, do it again, compare."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from emu.catalog import names
from emu.cli.colour import Tone, Toned
from emu.cli.command import Command
from emu.cli.document import print_document
from emu.cli.log import warn
from emu.cli.options import MAX_FRAMES, open_model
from emu.cli.recorded_files import files_now, recorded_files, says_nothing
from emu.cli.records import decoded, described, differing_fields
from emu.cli.run_options import RunOptions
from emu.cli.screen import say
from emu.errors import EmuError, ExitCode, UsageError
from emu.host.spec import RunSpec
from emu.trace.record import DivergedError, Recording, Replay


@click.command(cls=Command)
@click.argument("folder", metavar="DIR")
@click.argument("models", nargs=-1, metavar="[MODEL...]")
@click.option(
    "--target", metavar="TARGET", help="Another implementation: tcp://H:P, udp://H:P, cmd:PROGRAM, python:M:N."
)
@click.option("--handlers", metavar="MODULE", help="Actions served by a module of your own, as in the recorded run.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(folder: str, models: tuple[str, ...], target: str | None, handlers: str | None, as_json: bool) -> int:
    """Run again what `emu run --record DIR` ran, and report the first difference (exit code 6).

    Or say again to a card what a program said under `emu exec --card --record DIR`.

    MODEL stands in for the recorded file, which may have moved or is to be tried in another version. With --target
    what the host did is sent to another implementation of the firmware (docs/conform.md).
    """
    recording = Recording.open(Path(folder))
    if target is not None:
        from emu.cli.replay_target import send_again

        if "card" in recording.run:
            raise UsageError(
                f"--target: {folder} is the recording of a card, whose host speaks to a driver", file=folder
            )
        if handlers is not None:
            raise UsageError("--handlers: the target has its own")
        options, notes = _options(recording, models)
        for note in notes:
            warn(note)
        same = send_again(recording, options, target, None if as_json else described)
        return 0 if same else ExitCode.DIFFERENT
    replay = Replay(recording)
    if "card" in recording.run:
        from emu.cli.replay_card import say_again

        if handlers is not None:
            raise UsageError("--handlers: no effect on the recording of a card")
        ended = say_again(recording, models, replay)
    else:
        options, notes = _options(recording, models, handlers)
        for note in notes:
            warn(note)
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
                "decoded": [
                    {"field": name, "recorded": one, "replayed": other}
                    for name, one, other in decoded(difference.recorded, difference.replayed, _runtime(recording))
                ],
            }
        found["status"] = {"recorded": recording.run.get("status"), "replayed": ended}
        print_document(found)
    else:
        say(_text(recording, replay, ended))
    return 0 if difference is None and same_end else ExitCode.DIFFERENT


def _run(options: RunOptions, replay: Replay) -> str:
    """Run; returns how it ended, raises what kept it from beginning. What it prints is not wanted here."""
    from emu.cli import run_hef

    ended = "OK"
    with redirect_stdout(StringIO()):
        try:
            run_hef.run(options, put=replay.put)
        except DivergedError:
            return "stopped at the first difference"
        except EmuError as error:
            ended = error.line()
            if not replay.number and ended != replay.recording.run.get("status"):
                raise  # nothing ran: there is nothing to compare
    replay.finish()
    return ended


def _options(
    recording: Recording, models: tuple[str, ...], handlers: str | None = None
) -> tuple[RunOptions, list[str]]:
    """The options of the recorded run with the files named now; UsageError where they are not there."""
    try:
        files = recorded_files(recording)
        spec = replace(RunSpec.of_document(recording.run["options"]), handlers=handlers)
        had = recording.run["options"].get("handlers")
        registers = recording.run.get("registers", False)
        frames = spec.settings.frames
        if not files:
            raise ValueError("no files")
        if registers not in (False, True):
            raise ValueError(f"registers {registers!r:.40}")
        if frames is not None and not 0 < frames <= MAX_FRAMES:
            raise ValueError(f"{frames} frames")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise says_nothing(recording, error) from None
    paths, notes = files_now(files, models)
    if had is not None and handlers is None:
        notes.append(
            f"the recorded run had handlers ({had!r:.80}): without --handlers actions do what the firmware's do"
        )
    if spec.actions is not None:
        alone = replace(spec, actions=str(paths[0]))
        return RunOptions(models=(), spec=alone, record_registers=registers), notes
    opened = tuple(open_model(str(path)) for path in paths)
    spec = replace(spec, models=tuple(model.source for model in opened))
    return RunOptions(models=opened, spec=spec, record_registers=registers), notes


def _text(recording: Recording, replay: Replay, ended: str) -> Iterator[str]:
    difference = replay.difference
    if difference is None:
        counts = ", ".join(f"{count:,} {kind}" for kind, count in sorted(recording.counts.items()))
        line = f"{replay.number:,} records ({counts}): replayed without a difference"
        yield Toned(line, len(line), Tone.GOOD)
        if ended != recording.run.get("status"):
            yield f"but the recorded run ended with {recording.run.get('status')}, this one with {ended}"
        return
    where = f"first difference at record {difference.number:,}:"
    yield Toned(f"{where} {', '.join(difference.fields)}", len(where), Tone.BAD)
    for word, record in (("recorded", difference.recorded), ("replayed", difference.replayed)):
        yield f"  {word} " + (f"nothing: the run is over ({ended})" if record is None else described(record))
    yield from differing_fields(difference.recorded, difference.replayed, _runtime(recording))


def _runtime(recording: Recording) -> str | None:
    """The runtime that a recording names; None where it was left to the model."""
    try:
        found = recording.run["card"]["runtime"] if "card" in recording.run else None
        found = found or recording.run["options"]["common"]["runtime"]
    except (KeyError, TypeError):
        return None
    return found if found in names("runtimes") else None
