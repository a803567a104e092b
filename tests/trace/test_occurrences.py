"""Occurrences of a subject: every sink writes them as the events that they are."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO

import orjson
import pytest

from emu.trace.events import Event, Header, Kind, Occurrence, Record, Subject, event_of
from emu.trace.sinks.jsonl import JsonlSink
from emu.trace.sinks.perfetto import PerfettoSink
from emu.trace.sinks.text import TextSink

HEADER = Header("net.hef", "4.23", "hailo8", 1, 1, 0, 200.0)
ACTION = Subject(Kind.ACTION, 0, "dynamic_0", 3, "ENABLE_LCU_DEFAULT", {"packed_lcu_id": 1, "network_index": 0})
LAUNCH = Subject(Kind.LAUNCH, 1, unit="channel 2 (H2D)", counted=("transfers", "available", "processed"))
TRANSFER = Subject(
    Kind.TRANSFER, 0, "dynamic_1", unit='100%d "of" \u672c\t (D2H)', counted=("available", "dma_address")
)
OCCURRENCES: list[Occurrence] = [
    (5, ACTION, "", "cluster 0 LCU 1", 0, 2, ()),
    (6, LAUNCH, "", "", 64, 0, (-1, 1, 8, 0)),
    (7, TRANSFER, "boundary stream 1 50% %s", "", 64, 0, (0, 8, 1 << 40)),
    (9, TRANSFER, "frame 7", "", 0, 3, (1, -1, 0)),
]


SINKS: dict[str, Callable[[BinaryIO], Any]] = {
    "jsonl": lambda out: JsonlSink(out, HEADER),
    "text": lambda out: TextSink(io.TextIOWrapper(out, encoding="utf-8"), HEADER),
    "perfetto": lambda out: PerfettoSink(out, HEADER),
}


def written(records: Sequence[Record], name: str) -> bytes:
    out = io.BytesIO()
    sink = SINKS[name](out)
    sink.write_records(records)
    sink.close()
    return out.getvalue()


@pytest.mark.parametrize("name", SINKS)
def test_an_occurrence_is_written_as_the_event_that_it_is(name: str) -> None:
    found = written(OCCURRENCES, name)
    assert found == written([event_of(one) for one in OCCURRENCES], name)
    assert found != written(OCCURRENCES[:-1], name)


def test_the_numbers_of_an_occurrence_are_its_frame_and_what_is_counted() -> None:
    event = event_of(OCCURRENCES[2])
    assert event == Event(
        7,
        Kind.TRANSFER,
        0,
        "dynamic_1",
        arguments={"available": 8, "dma_address": 1 << 40},
        unit=TRANSFER.unit,
        cause="boundary stream 1 50% %s",
        bytes=64,
        frame=0,
    )
    line = orjson.loads(written(OCCURRENCES[2:3], "jsonl").splitlines()[1])
    assert (line["arguments"], line["unit"], line["frame"]) == (event.arguments, event.unit, 0)
