"""What an attack on every command goes through: the commands, their options, and files with escapes in every string."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from emu.cli.main import COMMANDS
from emu.hef.container import Container
from emu.hef.pack import Sections, pack
from emu.hef.source import open_source
from emu.schemas import hef_pb2
from tests.conftest import ROOT

EXAMPLES = ROOT / "examples"
ESCAPE = "\x1b[31mX\x1b]0;t\x07\x9b2J\n\r\x00\x7f"
"""Colours, a title, a C1 introducer, a new line, NUL and DEL."""


def commands() -> Iterator[tuple[str, click.Command]]:
    for name, (module, _) in COMMANDS.items():
        yield name, importlib.import_module(module).command


def _is_name(field: FieldDescriptor) -> bool:
    return field.type == FieldDescriptor.TYPE_STRING


def _escape(message: Message) -> None:
    for field, value in message.ListFields():
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            if field.message_type.GetOptions().map_entry:
                continue
            for part in value if field.is_repeated else [value]:
                _escape(part)
        elif _is_name(field) and field.is_repeated:
            value[:] = [text + ESCAPE for text in value]
        elif _is_name(field) and value:
            setattr(message, field.name, value + ESCAPE)


def escaped_hef(path: Path) -> bytes:
    """A HEF with the escapes behind every string of its message: names still refer to each other."""
    container = Container(open_source(path))
    message = hef_pb2.ProtoHEFHef()
    message.ParseFromString(bytes(container.proto))
    _escape(message)
    rest = container.data[container.header_size + len(container.proto) :]
    sections = Sections(message.SerializeToString(deterministic=True), ccws=[rest])
    return b"".join(pack(container.version, sections))


def escaped_json(tree: Any) -> Any:
    """The same document with the escapes behind every text that is no hex and no word of the format's own."""
    if isinstance(tree, dict):
        return {name: escaped_json(value) for name, value in tree.items()}
    if isinstance(tree, list):
        return [escaped_json(value) for value in tree]
    return tree + ESCAPE if isinstance(tree, str) else tree


def escaped_lines(text: str, keys: tuple[str, ...]) -> str:
    """Lines of JSON with the escapes behind the texts under these keys."""
    lines = []
    for line in text.splitlines():
        record = json.loads(line)
        for key in keys:
            if isinstance(record.get(key), str):
                record[key] += ESCAPE
        lines.append(json.dumps(record))
    return "\n".join(lines) + "\n"
