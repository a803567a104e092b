"""Recordings: a folder with what crossed the borders of the device, and the comparison of a new run with it.

`manifest.json` says what ran and is written last, so that a folder without one is an unfinished recording;
`record.jsonl` holds a record a line, in the order in which things happened.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from types import TracebackType
from typing import Any

import orjson

from emu.errors import HailoError, HailoStatus, UsageError
from emu.files import is_folder, is_there, open_regular, read_document, shown
from emu.output import Output, make_folder, write

SCHEMA, SCHEMA_VERSION = "emu-record", 1
_MANIFEST, _RECORDS = "manifest.json", "record.jsonl"
_BUFFERED = 4096
_A_LINE = orjson.OPT_APPEND_NEWLINE
_INSTANT = b"\0"  # in no line of JSON
_kind_of = itemgetter("kind")

Record = dict[str, Any]


class Block:
    """Records of one instant that come again at others: put into words once, but for the instant.

    Each has a `kind`, none an `ns`.
    """

    def __init__(self, records: Sequence[Record]) -> None:
        self.kinds = Counter(map(_kind_of, records))
        self._text = b"".join([_INSTANT + orjson.dumps(one, None, _A_LINE)[1:] for one in records])

    def at(self, ns: int) -> bytes:
        """Its lines at an instant."""
        return self._text.replace(_INSTANT, b'{"ns":%d,' % ns)


class RecordWriter:
    """Writes a recording into a folder that is empty or not there yet; UsageError otherwise."""

    def __init__(self, folder: Path) -> None:
        if is_there(folder) and (not is_folder(folder) or any(folder.iterdir())):
            raise UsageError(f"{shown(folder)} is not empty: a recording never overwrites anything", file=shown(folder))
        self._folder = make_folder(folder)
        self._output = Output(folder / _RECORDS)
        self._stream = self._output.stream
        self._pending: list[Record] = []
        self.counts: Counter[str] = Counter()

    def put(self, record: Record) -> None:
        self._pending.append(record)
        if len(self._pending) >= _BUFFERED:
            self._flush()

    def put_block(self, ns: int, block: Block) -> None:
        """As `put` of each of its records at an instant."""
        self._flush()
        self.counts.update(block.kinds)
        self._stream.write(block.at(ns))

    def finish(self, settings: Record) -> None:
        """The run is over; `settings` are what `replay` needs to do it again."""
        self._flush()
        self._output.commit()
        manifest = {"schema": SCHEMA, "version": SCHEMA_VERSION, "counts": dict(self.counts), "run": settings}
        write(self._folder / _MANIFEST, orjson.dumps(manifest, option=orjson.OPT_INDENT_2) + b"\n")

    def __enter__(self) -> RecordWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._output.discard()

    def _flush(self) -> None:
        self.counts.update(map(_kind_of, self._pending))
        self._stream.write(b"".join([orjson.dumps(record, None, _A_LINE) for record in self._pending]))
        self._pending.clear()


@dataclass(slots=True)
class Recording:
    """A finished recording; `run` is what `finish` was given. HAILO_INVALID_ARGUMENT where the folder holds none."""

    folder: Path
    run: Record
    counts: dict[str, int]

    @classmethod
    def open(cls, folder: Path) -> Recording:
        path = folder / _MANIFEST
        try:
            manifest = orjson.loads(read_document(path, b"{"))
        except HailoError:
            raise _error(f"{shown(folder)} holds no finished recording: there is no {_MANIFEST}", path) from None
        except orjson.JSONDecodeError:
            raise _error(f"{shown(path)} is damaged", path) from None
        if not isinstance(manifest, dict) or manifest.get("schema") != SCHEMA:
            raise _error(f"{shown(path)} is of something else than an emu recording", path)
        if manifest.get("version") != SCHEMA_VERSION:
            raise _error(f"recording version {manifest.get('version')}, this emu replays {SCHEMA_VERSION}", path)
        run, counts = manifest.get("run"), manifest.get("counts")
        if (
            not isinstance(run, dict)
            or not isinstance(counts, dict)
            or not {type(one) for one in counts.values()} <= {int}
        ):
            raise _error(f"{shown(path)} does not say what ran", path)
        return cls(folder, run, counts)

    def records(self) -> Iterator[Record]:
        """The records in order; what is cut off or damaged is HAILO_INVALID_ARGUMENT with its line."""
        path = self.folder / _RECORDS
        seen = 0
        with open_regular(path) as stream:
            for seen, line in enumerate(stream, 1):
                try:
                    record = orjson.loads(line)
                except orjson.JSONDecodeError:
                    raise _error("the line is cut off or damaged", path, line=seen) from None
                if (
                    not isinstance(record, dict)
                    or not isinstance(record.get("kind"), str)
                    or type(record.get("ns")) is not int
                ):
                    raise _error("the line is no record", path, line=seen)
                yield record
        expected = sum(self.counts.values())
        if seen != expected:
            raise _error(f"{seen} records, the manifest counts {expected}: the recording is cut off", path)


@dataclass(slots=True)
class Difference:
    """The first record that a new run has otherwise; None on a side that had no more."""

    number: int
    recorded: Record | None
    replayed: Record | None

    @property
    def fields(self) -> list[str]:
        """The fields that differ."""
        a, b = self.recorded or {}, self.replayed or {}
        return [name for name in {**a, **b} if a.get(name) != b.get(name)]


class DivergedError(Exception):
    """Ends a replay at the first difference; it never reaches a user."""


@dataclass(slots=True)
class Replay:
    """Compares a run, record by record, with a recording; `damage` is what is wrong with the recording itself."""

    recording: Recording
    number: int = 0
    difference: Difference | None = None
    damage: HailoError | None = None
    _expected: Iterator[Record] = field(init=False)

    def __post_init__(self) -> None:
        self._expected = self.recording.records()

    def put(self, record: Record) -> None:
        """DivergedError where the recording has something else here."""
        recorded = self._next()
        self.number += 1
        if self.damage is not None:
            raise DivergedError
        if recorded != record:
            self.difference = Difference(self.number, recorded, record)
            raise DivergedError

    def _next(self) -> Record | None:
        try:
            return next(self._expected, None)
        except HailoError as error:
            # it is raised inside the run, which has nothing to do with it
            self.damage = error
            return None

    def finish(self) -> None:
        """The run is over: nothing may be left in the recording."""
        if self.difference is None and self.damage is None:
            left = self._next()
            if left is not None:
                self.difference = Difference(self.number + 1, left, None)


def _error(message: str, path: Path, **where: Any) -> HailoError:
    return HailoError(HailoStatus.HAILO_INVALID_ARGUMENT, message, file=shown(path), **where)
