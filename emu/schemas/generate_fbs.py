"""Write the generated modules of the FlatBuffers schemas: `python -m emu.schemas.generate_fbs`.

`flatc` is not used: its readers trust the file, and its Python for the table AddN hides the class behind a method
of the same name. Ours are plain dataclasses that say where each field lies (`emu.schemas.fbs`), for a reader that
checks everything. `--check` writes nothing and tells whether what is committed is current.

The part of the schema language that these schemas use is understood: include, namespace, enum, table, union,
root_type, `//` comments. Anything else is refused.
"""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from emu.schemas.fbs import SCALARS

FOLDER = Path(__file__).resolve().parent
TARGETS = {
    FOLDER / "ms.fbs": FOLDER / "generated" / "ms_v0_5.py",
    FOLDER / "ms_v0_1" / "ms.fbs": FOLDER / "generated" / "ms_v0_1.py",
    FOLDER / "ms_lite" / "v0.fbs": FOLDER / "generated" / "ms_lite_v0.py",
    FOLDER / "ms_lite" / "v2.fbs": FOLDER / "generated" / "ms_lite_v2.py",
}
_TOKEN = re.compile(r'\s+|//[^\n]*|/\*.*?\*/|(?P<token>"[^"]*"|[A-Za-z_][\w.]*|-?[\d.]+|[{}\[\]:;,=])', re.DOTALL)


@dataclass
class Enumeration:
    """An enum of a schema: its scalar type and values by name."""

    name: str
    scalar: str
    values: dict[str, int] = field(default_factory=dict)


@dataclass
class TableField:
    """A field: type name (`[name]` is a vector) and the default as written, empty where none is."""

    name: str
    type: str
    is_vector: bool
    default: str


@dataclass
class TableType:
    """A table and its fields in slot order."""

    name: str
    fields: list[TableField] = field(default_factory=list)


@dataclass
class UnionType:
    """A union; its members count from 1."""

    name: str
    members: list[str] = field(default_factory=list)


Declaration = Enumeration | TableType | UnionType


class Parser:
    """Reads one schema and what it includes, in order of declaration."""

    def __init__(self) -> None:
        self.declarations: dict[str, Declaration] = {}
        self.root = ""

    def read(self, path: Path) -> None:
        """Add the declarations of a file; raises ValueError at what is not understood."""
        tokens = _tokens(path)
        for word in tokens:
            if word == "include":
                self.read(path.parent / next(tokens).strip('"'))
                _expect(tokens, ";")
            elif word == "namespace":
                next(tokens)
                _expect(tokens, ";")
            elif word == "root_type":
                self.root = next(tokens)
                _expect(tokens, ";")
            elif word in {"enum", "table", "union"}:
                declaration = getattr(self, "_" + word)(next(tokens), tokens)
                self.declarations[declaration.name] = declaration
            else:
                raise ValueError(f"{path.name}: {word!r} is not understood")

    @staticmethod
    def _enum(name: str, tokens: Iterator[str]) -> Enumeration:
        _expect(tokens, ":")
        result = Enumeration(name, next(tokens))
        _expect(tokens, "{")
        value = -1
        word = next(tokens)
        while word != "}":
            member, value, word = word, value + 1, next(tokens)
            if word == "=":
                value, word = int(next(tokens)), next(tokens)
            result.values[member] = value
            if word == ",":
                word = next(tokens)
        return result

    @staticmethod
    def _union(name: str, tokens: Iterator[str]) -> UnionType:
        _expect(tokens, "{")
        result = UnionType(name)
        for word in tokens:
            if word == "}":
                return result
            if word != ",":
                result.members.append(word)
        raise ValueError(f"union {name} has no end")

    @staticmethod
    def _table(name: str, tokens: Iterator[str]) -> TableType:
        _expect(tokens, "{")
        result = TableType(name)
        for word in tokens:
            if word == "}":
                return result
            _expect(tokens, ":")
            kind, default = next(tokens), ""
            is_vector = kind == "["
            if is_vector:
                kind = next(tokens)
                _expect(tokens, "]")
            end = next(tokens)
            if end == "=":
                default, end = next(tokens), next(tokens)
            if end != ";":
                raise ValueError(f"{name}.{word}: {end!r} where ';' belongs")
            result.fields.append(TableField(word, kind, is_vector, default))
        raise ValueError(f"table {name} has no end")


def _tokens(path: Path) -> Iterator[str]:
    text = path.read_text(encoding="utf-8")
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise ValueError(f"{path.name}: {text[position : position + 20]!r} is not understood")
        position = match.end()
        if match["token"]:
            yield match["token"]


def _expect(tokens: Iterator[str], wanted: str) -> None:
    word = next(tokens)
    if word != wanted:
        raise ValueError(f"{word!r} where {wanted!r} belongs")


class Emitter:
    """Writes the declarations of a parser as a Python module."""

    def __init__(self, parser: Parser) -> None:
        self.parser = parser

    def module(self, schema: Path) -> str:
        """The module's text."""
        name = schema.relative_to(FOLDER).as_posix()
        product = "Lite" if name.startswith("ms_lite") else "predict"
        parts = [
            f'"""The tables of {name} (MindSpore {product}). Written by emu.schemas.generate_fbs, not by hand."""\n\n'
            "from __future__ import annotations\n\n"
            "from dataclasses import dataclass\n"
            "from enum import IntEnum\n"
            "from typing import TypeAlias\n\n"
            "from emu.schemas import fbs\n"
            "from emu.schemas.fbs import Table, slot\n"
        ]
        for declaration in self.parser.declarations.values():
            match declaration:
                case Enumeration():
                    parts.append(self._enumeration(declaration))
                case UnionType():
                    parts.append(self._union(declaration))
                case TableType():
                    parts.append(self._table(declaration))
        return "\n\n".join(parts) + f"\n\nROOT = {self.parser.root}\n"

    @staticmethod
    def _enumeration(enumeration: Enumeration) -> str:
        lines = [f"class {enumeration.name}(IntEnum):"]
        lines += [f"    {name} = {value}" for name, value in enumeration.values.items()]
        return "\n".join(lines) + "\n"

    @staticmethod
    def _union(union: UnionType) -> str:
        alias = " | ".join(union.members)
        members = "".join(f"    {member},\n" for member in union.members)
        return (
            f"{union.name}: TypeAlias = (\n    "
            + alias.replace(" | ", "\n    | ")
            + f"\n)\n{union.name.upper()} = fbs.Union({union.name!r}, (\n{members}))\n"
        ).replace("'", '"')

    def _table(self, table: TableType) -> str:
        lines = ["@dataclass(frozen=True, slots=True)", f"class {table.name}(Table):"]
        number = 0
        for item in table.fields:
            declaration = self.parser.declarations.get(item.type)
            if isinstance(declaration, UnionType):
                number += 1  # the member's number lies in a slot of its own before the table
            lines.append(self._field(item, number, declaration))
            number += 1
        if not table.fields:
            lines.append("    pass")
        return "\n".join(lines) + "\n"

    def _field(self, item: TableField, number: int, declaration: Declaration | None) -> str:
        kind, wire, default = self._type(item, declaration)
        attribute = item.name + "_" if keyword.iskeyword(item.name) else item.name
        alias = f', name="{item.name}"' if attribute != item.name else ""
        return f"    {attribute}: {kind} = slot({number}, {wire}, {default}{alias})"

    @staticmethod
    def _type(item: TableField, declaration: Declaration | None) -> tuple[str, str, str]:
        """Python type, wire description and default."""
        if isinstance(declaration, UnionType):
            return f"{item.type} | None", item.type.upper(), "None"
        if isinstance(declaration, TableType):
            if item.is_vector:
                return f"tuple[{item.type}, ...]", f"fbs.VectorOfTables({item.type})", "()"
            return f"{item.type} | None", f"fbs.TableOf({item.type})", "None"
        if isinstance(declaration, Enumeration):
            by_value = {value: name for name, value in declaration.values.items()}
            name = item.default if item.default in declaration.values else by_value[int(item.default or 0)]
            scalar = SCALARS[declaration.scalar].name.upper()
            return item.type, f"fbs.EnumOf(fbs.{scalar}, {item.type})", f"{item.type}.{name}"
        if item.type == "string":
            return "str", "fbs.Text()", '""'
        scalar = f"fbs.{SCALARS[item.type].name.upper()}"
        python = {"bool": "bool", "float": "float", "double": "float"}.get(item.type, "int")
        if item.is_vector:
            if item.type == "ubyte":
                return "memoryview | None", f"fbs.Vector({scalar})", "None"
            return f"tuple[{python}, ...]", f"fbs.Vector({scalar})", "()"
        if python == "bool":
            return python, scalar, str(item.default == "true")
        return python, scalar, repr(float(item.default or 0) if python == "float" else int(item.default or 0))


def generate(schema: Path) -> str:
    """The text of the module for a schema; raises ValueError where the schema is not understood."""
    parser = Parser()
    parser.read(schema)
    return Emitter(parser).module(schema)


def stale() -> list[Path]:
    """The committed modules that are not what their schema gives."""
    return [
        target
        for schema, target in TARGETS.items()
        if not target.exists() or target.read_text(encoding="utf-8") != generate(schema)
    ]


def main(arguments: list[str]) -> int:
    """Exit status 1 when `--check` finds a module that is out of date."""
    if arguments == ["--check"]:
        for target in stale():
            print(f"{target.name} is out of date; run python -m emu.schemas.generate_fbs")
        return 1 if stale() else 0
    for schema, target in TARGETS.items():
        target.parent.mkdir(exist_ok=True)
        target.write_text(generate(schema), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
