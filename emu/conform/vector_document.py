"""A vector as a JSON document (docs/conform.md), written and read; what is read may be anybody's."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import orjson

from emu.conform.protocol import FORMS, Kind, Message, encode
from emu.conform.vector import Basis, Moved, Reply, Step, Vector
from emu.errors import HailoError, HailoStatus, UsageError
from emu.files import is_folder, open_regular, shown
from emu.wire.control import Opcode

SCHEMA, SCHEMA_VERSION = "emu-vector", 1
LARGEST_FILE = 1 << 24
LARGEST_FOLDER = 1 << 28
"""Bytes of all files of a folder; those of `emu vectors` have 2 MB."""
MOST_FILES = 10_000

_OPCODE_NUMBERS = frozenset(int(opcode) for opcode in Opcode)
_OF_MEMORY = (Kind.BUFFER, Kind.LIST, Kind.CONTINUOUS, Kind.ACTION_LIST, Kind.STREAM, Kind.FRAMES)
_OF_STEPS = (*_OF_MEMORY, Kind.CONTROL, Kind.LAUNCH, Kind.RUN)
_NAME = re.compile(r"[!-~]{1,100}")
_RULE = re.compile(r"[!-~]{1,100}/[!-~]{1,100}")
_STATUS = re.compile(r"0x[0-9A-Fa-f]{1,8}")
_MOST = 1 << 32
_T = TypeVar("_T")


# -- written


def document_of(vector: Vector) -> dict[str, Any]:
    """Its JSON."""
    return {
        "schema": SCHEMA,
        "version": SCHEMA_VERSION,
        "rule": vector.name,
        "says": vector.says,
        "basis": vector.basis.value,
        "source": vector.source,
        "device": vector.device,
        "runtime": vector.runtime,
        "clusters": vector.clusters,
        "covers": list(vector.covers),
        "hazards": None if vector.hazards is None else sorted(vector.hazards),
        "memory": [_message_document(one) for one in vector.memory],
        "steps": [_step_document(one) for one in vector.steps],
    }


def _message_document(one: Message) -> dict[str, Any]:
    fields = {name: value.hex() if isinstance(value, bytes) else value for name, value in one.fields.items()}
    if one.kind is Kind.CONTROL:
        fields = {"opcode": _opcode_of(one["request"]), **fields}
    return {"kind": one.kind.name, **fields}


def _opcode_of(request: bytes) -> str | int:
    opcode = int.from_bytes(request[12:16], "big")
    return Opcode(opcode).name if opcode in _OPCODE_NUMBERS else opcode


def _step_document(step: Step) -> dict[str, Any]:
    made: dict[str, Any] = {"send": _message_document(step.send)}
    if step.reply is not None:
        made["reply"] = _reply_document(step.reply)
    if step.notified:
        made["notified"] = [{"event": number, "payload": payload.hex()} for number, payload in step.notified]
    if step.moved is not None:
        made["moved"] = [{name: getattr(one, name) for name in Moved.__struct_fields__} for one in step.moved]
    if step.refused:
        made["refused"] = True
    return made


def _reply_document(reply: Reply) -> dict[str, Any]:
    made: dict[str, Any] = {"major": f"0x{reply.major:08X}"}
    if reply.minor is not None:
        made["minor"] = f"0x{reply.minor:08X}"
    if reply.echo is not None:
        made["opcode"] = reply.echo
    if reply.parameters is not None:
        made["parameters"] = [None if one is None else one.hex() for one in reply.parameters]
    if reply.sizes is not None:
        made["sizes"] = list(reply.sizes)
    return made


# -- read


def read_folder(folder: str) -> list[Vector]:
    """The vectors of `FOLDER/*.json` and `FOLDER/*/*.json`.

    UsageError where there is none; HAILO_INVALID_ARGUMENT for a file that is no vector, or more than any folder has.
    """
    if not is_folder(folder):
        raise UsageError(f"{shown(folder)} is no folder of vectors", file=shown(folder))
    found: dict[str, Vector] = {}
    files: dict[str, Path] = {}
    left = LARGEST_FOLDER
    for path in _files(Path(folder)):
        data = _read(path, left)
        left -= len(data)
        vector = _vector(path, data)
        if vector.name in found:
            raise _damaged(path, f"the rule {vector.name!r} is that of {shown(files[vector.name])}, too")
        found[vector.name], files[vector.name] = vector, path
    if not found:
        raise UsageError(f"{shown(folder)} holds no vectors (FAMILY/WHAT.json)", file=shown(folder))
    return list(found.values())


def _files(folder: Path) -> Iterator[Path]:
    seen = 0
    for top in _names(folder):
        # not deeper, so that a link back ends nowhere
        for path in _names(top) if is_folder(top) else (top,):
            seen += 1
            if seen > MOST_FILES:
                raise _damaged(folder, f"more than {MOST_FILES} files")
            if path.suffix == ".json":
                yield path


def _names(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        text = f"cannot open {shown(folder)}: {reason}"
        raise HailoError(HailoStatus.HAILO_OPEN_FILE_FAILURE, text, file=shown(folder)) from None


def _read(path: Path, left: int) -> bytes:
    with open_regular(path) as file:
        data = file.read(min(LARGEST_FILE, left) + 1)
    if len(data) > LARGEST_FILE:
        raise _damaged(path, f"larger than {LARGEST_FILE} bytes")
    if len(data) > left:
        raise _damaged(path, f"with it the folder has more than {LARGEST_FOLDER} bytes")
    return data


def _damaged(path: Path, why: str) -> HailoError:
    return HailoError(HailoStatus.HAILO_INVALID_ARGUMENT, f"{shown(path)} is no vector: {why}", file=shown(path))


def _vector(path: Path, data: bytes) -> Vector:
    try:
        return vector_of(orjson.loads(data))
    except orjson.JSONDecodeError as error:
        raise _damaged(path, f"no JSON at byte {error.pos}") from None
    except NoVectorError as error:
        raise _damaged(path, ": ".join((*reversed(error.places), error.why))) from None


class NoVectorError(Exception):
    """What of a document is not as it should be; `places` where, the innermost first."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why
        self.places: list[str] = []


@contextmanager
def _at(place: str) -> Iterator[None]:
    try:
        yield
    except NoVectorError as error:
        error.places.append(place)
        raise


class _Object:
    """A JSON object whose fields are taken one by one; `end` refuses those that nobody took, as a slip in the name of
    an expectation would let everything pass."""

    def __init__(self, value: object) -> None:
        if not isinstance(value, dict):
            raise NoVectorError(f"{_shown(value)} where an object is due")
        self._left: dict[str, object] = dict(value)

    def take(self, name: str, read: Callable[[object], _T]) -> _T:
        if name not in self._left:
            raise NoVectorError(f"it has no {name!r}")
        with _at(name):
            return read(self._left.pop(name))

    def maybe(self, name: str, read: Callable[[object], _T]) -> _T | None:
        return self.take(name, read) if name in self._left else None

    def end(self) -> None:
        for name in self._left:
            raise NoVectorError(f"{name!r} is nothing that it has")


def _shown(value: object) -> str:
    return {dict: "an object", list: "a list", type(None): "null"}.get(type(value), repr(value))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise NoVectorError(f"{_shown(value)} where text is due")
    return value


def _number(value: object) -> int:
    if type(value) is not int or value < 0:
        raise NoVectorError(f"{_shown(value)} where a number is due")
    return value


def _word(value: object) -> int:
    found = _number(value)
    if found >= _MOST:
        raise NoVectorError(f"{found} is more than 32 bits")
    return found


def _bytes(value: object) -> bytes:
    try:
        return bytes.fromhex(_text(value))
    except ValueError:
        raise NoVectorError(f"{_shown(value)} where bytes in hex are due") from None


def _status(value: object) -> int:
    if not _STATUS.fullmatch(_text(value)):
        raise NoVectorError(f"{_shown(value)} where a status (0x40130016) is due")
    return int(str(value), 16)


def _true(value: object) -> bool:
    if value is not True:
        raise NoVectorError(f"{_shown(value)} where true is due")
    return True


def _fitting(pattern: re.Pattern[str], what: str) -> Callable[[object], str]:
    def read(value: object) -> str:
        if not pattern.fullmatch(_text(value)):
            raise NoVectorError(f"{_shown(value)} is no {what}")
        return str(value)

    return read


def _items(read: Callable[[object], _T]) -> Callable[[object], tuple[_T, ...]]:
    def read_all(value: object) -> tuple[_T, ...]:
        if not isinstance(value, list):
            raise NoVectorError(f"{_shown(value)} where a list is due")
        found = []
        for number, one in enumerate(value, 1):
            with _at(str(number)):
                found.append(read(one))
        return tuple(found)

    return read_all


def _or_null(read: Callable[[object], _T]) -> Callable[[object], _T | None]:
    return lambda value: None if value is None else read(value)


def vector_of(document: object) -> Vector:
    """The vector that `document_of` wrote; NoVectorError for anything else."""
    given = _Object(document)
    if given.maybe("schema", _text) != SCHEMA:
        raise NoVectorError(f"its schema is not {SCHEMA!r}")
    version = given.take("version", _number)
    if version != SCHEMA_VERSION:
        raise NoVectorError(f"its version is {version}, this emu reads {SCHEMA_VERSION}")
    vector = Vector(
        name=given.take("rule", _fitting(_RULE, "rule (FAMILY/WHAT)")),
        says=given.take("says", _text),
        basis=given.take("basis", _basis),
        source=given.take("source", _text),
        device=given.take("device", _fitting(_NAME, "device")),
        runtime=given.take("runtime", _fitting(_NAME, "runtime")),
        clusters=given.take("clusters", _word),
        covers=given.take("covers", _items(_text)),
        hazards=_set_of(given.take("hazards", _or_null(_items(_text)))),
        memory=given.take("memory", _items(lambda one: _message(one, _OF_MEMORY))),
        steps=given.take("steps", _items(_step)),
    )
    given.end()
    return vector


def _set_of(names: Sequence[str] | None) -> frozenset[str] | None:
    return None if names is None else frozenset(names)


def _basis(value: object) -> Basis:
    for one in Basis:
        if one.value == value:
            return one
    raise NoVectorError(f"{_shown(value)}, there are {', '.join(Basis)}")


def _message(value: object, allowed: Sequence[Kind]) -> Message:
    given = _Object(value)
    name = given.take("kind", _text)
    kind = next((one for one in allowed if one.name == name), None)
    if kind is None:
        raise NoVectorError(f"{name!r} stands here, due is one of {', '.join(one.name for one in allowed)}")
    form = FORMS[kind]
    opcode = given.maybe("opcode", lambda one: one) if kind is Kind.CONTROL else None
    fields: dict[str, Any] = {one: given.take(one, _number) for one in form.names}
    if form.tail:
        fields[form.tail] = given.take(form.tail, _text if form.text else _bytes)
    given.end()
    found = Message(kind, fields)
    try:
        encode(found)
    except ValueError as error:
        raise NoVectorError(str(error)) from None
    if opcode is not None and opcode != _opcode_of(found["request"]):
        raise NoVectorError(f"it says opcode {_shown(opcode)}, its request has {_opcode_of(found['request'])}")
    return found


def _step(value: object) -> Step:
    given = _Object(value)
    step = Step(
        send=given.take("send", lambda one: _message(one, _OF_STEPS)),
        reply=given.maybe("reply", _reply),
        notified=given.maybe("notified", _items(_notified)) or (),
        moved=given.maybe("moved", _items(_moved)),
        refused=given.maybe("refused", _true) or False,
    )
    given.end()
    if step.reply is not None and (step.refused or step.send.kind is not Kind.CONTROL):
        raise NoVectorError(f"a reply to {step.send.kind.name}{' that is refused' * step.refused} never comes")
    return step


def _reply(value: object) -> Reply:
    given = _Object(value)
    reply = Reply(
        major=given.take("major", _status),
        minor=given.maybe("minor", _status),
        echo=given.maybe("opcode", _word),
        parameters=given.maybe("parameters", _items(_or_null(_bytes))),
        sizes=given.maybe("sizes", _items(_word)),
    )
    given.end()
    return reply


def _notified(value: object) -> tuple[int, bytes]:
    given = _Object(value)
    found = given.take("event", _word), given.take("payload", _bytes)
    given.end()
    return found


def _moved(value: object) -> Moved:
    given = _Object(value)
    moved = Moved(**{name: given.take(name, _number) for name in Moved.__struct_fields__})
    given.end()
    return moved
