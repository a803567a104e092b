"""Attributes of a graph-style ModelDef by name and kind, CANN 7's interned names included (om-format.md 2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from emu.errors import GraphStatus
from emu.graph.ops import OpError
from emu.schemas import ge_ir_pb2

INTERNED = "\0"
"""An interned name is this and the digits of a 0-based index, least significant first, each as its value + 1."""

BASE = 127
"""Digits are the characters 1 to 127, which UTF-8 keeps as one byte each."""

DIGIT_LIMIT = 5
"""More digits than any table of names needs: a forged key costs nothing."""


def interned_index(key: str) -> int | None:
    """The index that an interned name spells; None where it spells none."""
    digits = key[len(INTERNED) :]
    if not 0 < len(digits) <= DIGIT_LIMIT or any(not 1 <= ord(digit) <= BASE for digit in digits):
        return None
    index = 0
    for digit in reversed(digits):
        index = index * BASE + ord(digit) - 1
    return index


def _texts_of(values: ge_ir_pb2.AttrDef.ListValue) -> list[str]:
    return [text.decode("utf-8", "replace") for text in values.s]


class Names:
    """The tables of interned attribute names and string values in the attributes of the model."""

    def __init__(self, model: ge_ir_pb2.ModelDef) -> None:
        attrs = dict(model.attr)
        none = ge_ir_pb2.AttrDef()
        self._names = _texts_of(attrs.get("attr_name_enum", none).list)
        self._values = _texts_of(attrs.get("attr_value_enum", none).list)
        self._strings = list(attrs.get("attrs_use_string_value", none).list.b)

    def resolve(self, attrs: Mapping[str, ge_ir_pb2.AttrDef]) -> dict[str, ge_ir_pb2.AttrDef]:
        """The attributes under their real names, interned strings replaced by the strings."""
        if not any(key.startswith(INTERNED) for key in attrs):
            return dict(attrs)
        found: dict[str, ge_ir_pb2.AttrDef] = {}
        for key, attr in attrs.items():
            if not key.startswith(INTERNED):
                found[key] = attr
                continue
            index = interned_index(key)
            if index is None or index >= len(self._names):
                raise OpError(
                    f"interned name {key!r} is none of the {len(self._names)} in attr_name_enum",
                    "attr",
                    GraphStatus.OM_MODEL,
                )
            is_string = index < len(self._strings) and self._strings[index]
            found[self._names[index]] = self._string(attr) if is_string else attr
        return found

    def _string(self, attr: ge_ir_pb2.AttrDef) -> ge_ir_pb2.AttrDef:
        out = ge_ir_pb2.AttrDef()
        if attr.WhichOneof("value") == "list":
            out.list.s.extend(self._text(index) for index in attr.list.i)
        else:
            out.s = self._text(attr.i)
        return out

    def _text(self, index: int) -> bytes:
        if not 0 <= index < len(self._values):
            raise OpError(
                f"interned value {index} is none of the {len(self._values)} in attr_value_enum",
                "attr",
                GraphStatus.OM_MODEL,
            )
        return self._values[index].encode()


REQUIRED: Any = object()


class Attrs:
    """Typed access: a name that is missing where no default is given, or of another kind, is an OpError that names it.

    Every getter takes the names under which versions of the format spell the attribute, first match wins.
    """

    def __init__(self, attrs: Mapping[str, ge_ir_pb2.AttrDef]) -> None:
        self._attrs = attrs

    def __contains__(self, name: str) -> bool:
        return name in self._attrs

    def names(self) -> Iterable[str]:
        return sorted(self._attrs)

    def find(self, *names: str) -> tuple[str, ge_ir_pb2.AttrDef] | None:
        return next(((name, self._attrs[name]) for name in names if name in self._attrs), None)

    def _value(self, names: tuple[str, ...], kinds: tuple[str, ...], default: Any) -> Any:
        found = self.find(*names)
        if found is None:
            if default is REQUIRED:
                # compiled files lose attributes of fused ops (om-format.md 8): nothing here could know them
                raise OpError("is missing", names[-1], GraphStatus.OM_MODEL)
            return default
        name, attr = found
        kind = attr.WhichOneof("value")
        if kind not in kinds:
            raise OpError(f"is of kind {kind}, {' or '.join(kinds)} is needed", name, GraphStatus.OM_MODEL)
        return getattr(attr, kind)

    def integer(self, *names: str, default: Any = REQUIRED) -> int:
        return int(self._value(names, ("i", "b"), default))

    def number(self, *names: str, default: Any = REQUIRED) -> float:
        return float(self._value(names, ("f", "i"), default))

    def boolean(self, *names: str, default: Any = REQUIRED) -> bool:
        return bool(self._value(names, ("b", "i"), default))

    def data(self, *names: str, default: Any = REQUIRED) -> bytes:
        return bytes(self._value(names, ("bt", "s"), default))

    def text(self, *names: str, default: Any = REQUIRED) -> str:
        value = self._value(names, ("s", "bt"), default)
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)

    def integers(self, *names: str, default: Any = REQUIRED) -> tuple[int, ...]:
        """A list; one integer counts as a list of one."""
        value = self._value(names, ("list", "i"), default)
        if isinstance(value, ge_ir_pb2.AttrDef.ListValue):
            return tuple(value.i)
        return (int(value),) if isinstance(value, int) else tuple(value)

    def texts(self, *names: str) -> tuple[str, ...]:
        value = self._value(names, ("list",), REQUIRED)
        return tuple(_texts_of(value))

    def flat(self, *names: str, default: Any = REQUIRED) -> tuple[int, ...]:
        """A list of integers, or the rows of a list of lists one after the other."""
        value = self._value(names, ("list", "list_list_int"), default)
        if isinstance(value, ge_ir_pb2.AttrDef.ListListInt):
            return tuple(each for row in value.list_list_i for each in row.list_i)
        return tuple(value.i) if isinstance(value, ge_ir_pb2.AttrDef.ListValue) else tuple(value)

    def numbers(self, *names: str, default: Any = REQUIRED) -> tuple[float, ...]:
        value = self._value(names, ("list",), default)
        return tuple(value.f) if isinstance(value, ge_ir_pb2.AttrDef.ListValue) else tuple(value)

    def group(self, name: str) -> Attrs | None:
        """The members of a NamedAttrs attribute, or None where there is none."""
        found = self.find(name)
        if found is None:
            return None
        if found[1].WhichOneof("value") != "func":
            raise OpError(f"is of kind {found[1].WhichOneof('value')}, func is needed", name, GraphStatus.OM_MODEL)
        return Attrs(found[1].func.attr)
