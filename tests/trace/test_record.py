"""What writes a recording."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import orjson

from emu.trace.record import Block, RecordWriter


def test_a_block_is_written_as_its_records_are(tmp_path: Path) -> None:
    writes = [{"kind": "write", "address": address, "data": "00" * address} for address in range(3)]
    for folder, together in ((tmp_path / "one", False), (tmp_path / "block", True)):
        with RecordWriter(folder) as writer:
            writer.put({"ns": 4, "kind": "read", "address": 1, "bytes": 4})
            if together:
                writer.put_block(5, Block(writes))
            else:
                for one in writes:
                    writer.put({"ns": 5, **one})
            writer.put({"ns": 6, "kind": "launch", "channel": 1})
            writer.finish({})
    for name in ("record.jsonl", "manifest.json"):
        assert (tmp_path / "block" / name).read_bytes() == (tmp_path / "one" / name).read_bytes()


def test_records_that_wait_to_be_written_take_the_memory_of_their_text(tmp_path: Path) -> None:
    records = [{"ns": ns, "kind": "launch", "channel": 17, "transfers": 1} for ns in range(4095)]
    size = sum(len(orjson.dumps(one)) + 1 for one in records)
    with RecordWriter(tmp_path / "recording") as writer:
        for one in records:
            writer.put(one)
        tracemalloc.start()
        try:
            writer.put({"ns": 4095, "kind": "launch", "channel": 17, "transfers": 1})  # and all are written
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert size <= peak < 8 * size  # each as an object and all joined; as orjson gives them 77 times as much
        writer.finish({})
