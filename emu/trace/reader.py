"""Reading a JSONL trace: header, records, and one clear error for everything that is none (docs/trace-schema.md)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Required, TypedDict, get_origin, get_type_hints

import orjson
from msgspec import Meta, MsgspecError, json

from emu.chips.runtimes import runtime_names
from emu.errors import HailoError, HailoStatus
from emu.files import open_regular, shown
from emu.recognise import foreign_name
from emu.trace.events import END, SCHEMA, SCHEMA_VERSION, Header

Record = dict[str, Any]

_MAX_HEADER = 1 << 16
_TELL = (1 << 14) - 1  # records between two calls of `advance`
_SAYS_TRACE = re.compile(rb'"schema"\s*:\s*"' + SCHEMA.encode() + rb'"')
_END = f'"{END}"'.encode()
_Whole = Annotated[int, Meta(ge=-(1 << 63), le=(1 << 63) - 1)]


class _Keys(TypedDict, total=False):
    """The keys of a record (docs/trace-schema.md)."""

    ns: Required[_Whole]
    kind: Required[str]
    application: _Whole
    context: str
    action_index: _Whole
    action: str
    arguments: dict[str, Any]
    unit: str
    cause: str
    woke: str
    bytes: _Whole
    frame: _Whole
    duration: _Whole


_TYPES: dict[str, type] = {name: get_origin(hint) or hint for name, hint in get_type_hints(_Keys).items()}
_TYPE_NAMES: dict[type, str] = {int: "whole number of 64 bits", str: "text", dict: "object"}


def is_trace(head: bytes) -> bool:
    """Whether a file that begins like this says that it is a trace, of whatever version."""
    line = head.partition(b"\n")[0]
    return line.lstrip().startswith(b"{") and _SAYS_TRACE.search(line) is not None


class TraceReader:
    """A trace file. Iterating opens it anew and reads it line by line in constant memory.

    `advance` is told of the bytes read, now and then.
    HAILO_INVALID_ARGUMENT where it is no trace, of another schema version, cut off or damaged, with the line.
    """

    kinds: frozenset[str] | None = None
    """Of records that it may hold: all."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.advance: Callable[[int], None] | None = None
        with open_regular(path) as file:
            head = file.readline(_MAX_HEADER)
            rest = file.read(_MAX_HEADER) if not is_trace(head) else b""
        self.header = self._header(head, rest)

    @property
    def name(self) -> str:
        return shown(self.path)

    @property
    def runtime(self) -> str:
        return self.header.runtime

    def lines(self) -> Iterator[bytes]:
        """The lines of the records, header and end excluded; a trace without its end is cut off."""
        end = _END
        with open_regular(self.path) as file:
            for number, line in self._numbered(file):
                if end in line and self.parse(line, number)["kind"] == END:
                    return self._require_last(line, number, file)
                yield line

    def known(self) -> Iterator[Record]:
        """As iterating, without the keys that the schema does not have, at a third of the cost."""
        decode: Any = json.Decoder(_Keys).decode
        with open_regular(self.path) as file:
            for number, line in self._numbered(file):
                try:
                    record = decode(line)
                except MsgspecError:
                    record = self.parse(line, number)  # which says what is wrong, or knows better
                if record["kind"] == END:
                    return self._require_last(line, number, file)
                yield record

    def __iter__(self) -> Iterator[Record]:
        for number, line in enumerate(self.lines(), 2):
            yield self.parse(line, number)

    def parse(self, line: bytes, number: int) -> Record:
        """One line as a record: it has a time and a kind, and the keys of the schema have their types."""
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError:
            raise self._error("the line is cut off or damaged", number) from None
        if not isinstance(record, dict) or "ns" not in record or "kind" not in record:
            raise self._error("the line is no trace record", number)
        type_of = _TYPES.get
        for name, value in record.items():
            kind = type(value)
            if (expected := type_of(name, kind)) is not kind:
                raise self._error(f"{name} of the record is no {_TYPE_NAMES[expected]}", number)
        return record

    def _numbered(self, file: BinaryIO) -> Iterator[tuple[int, bytes]]:
        """The lines behind the header, until whoever asks has seen the end record."""
        next(file)
        advance, number, told = self.advance, 1, 0
        for number, line in enumerate(file, 2):
            if advance is not None and not number & _TELL:
                advance(file.tell() - told)
                told = file.tell()
            yield number, line
        raise self._error("the trace is cut off: its end record is missing", number)

    def _require_last(self, line: bytes, number: int, file: BinaryIO) -> None:
        """The end record is a whole line, and nothing is behind it."""
        if not line.endswith(b"\n"):
            raise self._error("the line is cut off or damaged", number)
        if file.read(1):
            raise self._error("there is something behind the end record", number + 1)

    def _header(self, head: bytes, rest: bytes) -> Header:
        if not is_trace(head):
            what = foreign_name(head + rest) or "something else"
            raise HailoError(
                HailoStatus.HAILO_INVALID_ARGUMENT,
                f"{self.name} is no emu trace but {what} (traces are written by --trace=FILE, format jsonl)",
                file=self.name,
            )
        try:
            values = orjson.loads(head)
        except orjson.JSONDecodeError:
            raise self._error("the header is cut off or damaged", 1) from None
        version = values.get("version")
        if version != SCHEMA_VERSION:
            raise self._error(f"trace schema version {version}, this emu reads {SCHEMA_VERSION}", 1)
        try:
            header = Header(*(_HEADER_TYPES[name](values[name]) for name in Header._fields))
        except (KeyError, TypeError, ValueError, OverflowError):
            raise self._error("the header lacks what it has to say", 1) from None
        if header.runtime not in runtime_names():
            raise self._error(f"runtime {header.runtime!r} is none of {', '.join(runtime_names())}", 1)
        return header

    def _error(self, what: str, number: int) -> HailoError:
        return HailoError(HailoStatus.HAILO_INVALID_ARGUMENT, what, file=self.name, line=number)


_HEADER_TYPES: dict[str, Any] = {
    "model": str,
    "runtime": str,
    "device": str,
    "batch": int,
    "frames": int,
    "seed": int,
    "timestamp_mhz": float,
}
