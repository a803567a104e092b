"""The protocol: what docs/conform.md says of it is what is sent; what is no message costs one clear error."""

from __future__ import annotations

import re
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emu.conform.protocol import (
    CLOSING,
    EVENTS,
    FORMS,
    LENGTH,
    MAGIC,
    MOST,
    VERSION,
    Kind,
    ProtocolError,
    decode,
    encode,
    entries_of,
    length_of,
    message,
)
from emu.conform.respond import Responder
from tests.conftest import ROOT

TEXT = (ROOT / "docs" / "conform.md").read_text()
WIDTHS = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "4s": "4s", "16s": "16s"}
HELLO = message(Kind.HELLO, magic=MAGIC, version=VERSION)


def test_the_tables_of_the_page_are_the_forms() -> None:
    rows = re.findall(r"^\| (\w+) \| (0x\w\w) \| ([^|]*)\| ", TEXT, re.MULTILINE)
    assert {name: int(number, 16) for name, number, _ in rows} == {kind.name: int(kind) for kind in Kind}
    for name, _, body in rows:
        form = FORMS[Kind[name]]
        fields = [part.replace("`EMUC`", "").split() for part in body.strip().split(", ") if part.strip()]
        code = ">" + "".join(WIDTHS[words[0]] for words in fields if len(words) == 2)
        assert code == form.format, name
        names = [words[-1] for words in fields]
        assert names == [*form.names, *filter(None, [form.tail])], name
    assert f"version {VERSION}" in TEXT and f"{MOST:,} bytes" in TEXT


def test_who_says_what() -> None:
    for name, cell in re.findall(r"^\| (\w+) \| 0x\w\w \| [^|]*\| ([^|]*)\|$", TEXT, re.MULTILINE):
        kind = Kind[name]
        assert (kind in CLOSING) == cell.startswith("closes"), name
        assert (kind in EVENTS) == cell.startswith("event"), name


@pytest.mark.parametrize("kind", list(Kind))
def test_every_message_comes_back_as_it_was_sent(kind: Kind) -> None:
    form = FORMS[kind]
    values: list[object] = list(struct.unpack(form.format, bytes(range(1, 1 + struct.calcsize(form.format)))))
    fields = dict(zip(form.names, values, strict=True))
    if form.tail:
        fields[form.tail] = "täil" if form.text else b"\0\1"
    sent = encode(message(kind, **fields))
    assert length_of(sent[:4]) == len(sent) - 4
    assert decode(sent[4:]) == message(kind, **fields)


@pytest.mark.parametrize("length", [0, MOST + 1, 0x7FFFFFFF, 0xFFFFFFFF])
def test_a_length_that_no_message_has(length: int) -> None:
    with pytest.raises(ProtocolError, match=f"a message of {length} bytes"):
        length_of(LENGTH.pack(length))


@pytest.mark.parametrize("body", [b"", b"\x00", b"\x7f", b"\x01", b"\x0b" + bytes(9), b"\x92\0", b"\x84\xff"])
def test_what_is_no_message(body: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode(body)


def test_a_message_that_cannot_be_sent() -> None:
    for wrong in (
        message(Kind.CONTROL, request=bytes(MOST)),
        message(Kind.RUN, events=-1, wait_ms=0),
        message(Kind.RUN, events=1),
        message(Kind.RUN, events=1, wait_ms=1, more=2),
    ):
        with pytest.raises(ValueError, match=wrong.kind.name):
            encode(wrong)


def test_entries_that_are_cut_off() -> None:
    with pytest.raises(ProtocolError):
        list(entries_of(bytes(20)))


@given(st.lists(st.one_of(st.binary(max_size=80), st.builds(
    lambda kind, rest: bytes([kind]) + rest, st.sampled_from([int(kind) for kind in Kind]), st.binary(max_size=80)
)), max_size=12))  # fmt: skip
def test_the_answerer_answers_anything(messages: list[bytes]) -> None:
    responder = Responder()
    power = message(Kind.POWER, watch=7, clusters=0, seed=0, names="hailo8\0" + "4.23")
    for body in (encode(HELLO)[4:], encode(power)[4:], *messages):
        answer = [decode(one) for one in responder.answer(body)]
        assert answer[-1].kind in CLOSING
        assert all(one.kind in EVENTS for one in answer[:-1])
