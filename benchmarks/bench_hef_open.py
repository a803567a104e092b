"""Opening a HEF and building its model, against the least that must be done: read, checksum, protobuf's own parse.

    pytest benchmarks/bench_hef_open.py

Every figure is a ratio of processor times, or a cost per action, taken in one run. Limits: opening at most 1.5 times
the baseline, from a path and from memory; the model at most 3 microseconds an action; memory beyond the mapping at most
twice that of the parsed message and 4 MB.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
import xxhash

from benchmarks.hefs import HEFS, needs_hefs
from emu.hef import open_hef
from emu.schemas import hef_pb2 as pb
from tests.conftest import SHARED
from tests.effort import least, sized

FILES = HEFS
ROUNDS = sized(25, 1)
MAX_OPEN_RATIO = 1.5
MAX_MODEL_MICROSECONDS = 3.0
MAX_MEMORY_RATIO, MEMORY_ALLOWANCE = 2, 4 << 20

HASHES: dict[str, Callable[[memoryview], object]] = {
    "md5": lambda data: hashlib.md5(data, usedforsecurity=False).digest(),
    "crc": zlib.crc32,
    "xxh3_64bits": xxhash.xxh3_64_intdigest,
    "proto_xxh3_64bits": xxhash.xxh3_64_intdigest,
}
pytestmark = needs_hefs


def checksum_and_parse(path: Path) -> tuple[Callable[[memoryview], None], bytes]:
    """What the runtime of this file hashes and parses, without anything around it."""
    hef = open_hef(path)
    container = hef.container
    checksum = container.checksum
    if container.checks_proto_only(hef.version) and container.proto_checksum is not None:
        checksum = container.proto_checksum
    start, end = checksum.offset, checksum.offset + checksum.size
    proto = container.header_size, container.header_size + container.hef_proto_size

    def run(data: memoryview) -> None:
        HASHES[checksum.name](data[start:end])
        pb.ProtoHEFHef().ParseFromString(data[slice(*proto)])

    return run, path.read_bytes()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def bench_open_from_memory(path, benchmark):
    baseline, data = checksum_and_parse(path)
    view = memoryview(data)
    benchmark.pedantic(lambda: open_hef(data), rounds=5)
    opening, baseline_seconds = least(lambda: open_hef(data), lambda: baseline(view), rounds=ROUNDS)
    ratio = opening / baseline_seconds
    benchmark.extra_info["ratio"] = round(ratio, 2)
    assert ratio <= MAX_OPEN_RATIO


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def bench_open_from_path(path, benchmark):
    """The baseline reads the file at once; opening maps it and reads it piece by piece."""
    baseline, _ = checksum_and_parse(path)
    benchmark.pedantic(lambda: open_hef(path), rounds=5)
    opening, baseline_seconds = least(
        lambda: open_hef(path), lambda: baseline(memoryview(path.read_bytes())), rounds=ROUNDS
    )
    ratio = opening / baseline_seconds
    benchmark.extra_info["ratio"] = round(ratio, 2)
    assert ratio <= MAX_OPEN_RATIO


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def bench_model(path, benchmark):
    hef = open_hef(path)
    actions = sum(
        1 + len(operation.actions)
        for core_op in hef.core_ops()
        for operations in [core_op.preliminary_config.operation, *(c.operations for c in core_op.contexts)]
        for operation in operations
    )

    def build() -> object:
        vars(hef).pop("network_groups", None)
        return hef.network_groups

    benchmark.pedantic(build, rounds=5)
    microseconds = least(build, rounds=ROUNDS)[0] / actions * 1e6
    benchmark.extra_info["microseconds_per_action"] = round(microseconds, 2)
    assert microseconds <= MAX_MODEL_MICROSECONDS


MEASURE = """
import sys
from pathlib import Path
from emu.hef import open_hef
from emu.hef.hef import Hef
from emu.schemas import hef_pb2 as pb

def anonymous():
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) * 1024

kind, path, start, size = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
open_hef(sys.argv[5]).network_groups
before = anonymous()
if kind == "message":
    with open(path, "rb") as file:
        file.seek(start)
        data = file.read(size)
    before = anonymous()
    kept = pb.ProtoHEFHef.FromString(data)
else:
    kept = open_hef(path)
    kept.network_groups
print(anonymous() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="resident memory is read from /proc")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def bench_memory(path, benchmark):
    container = open_hef(path).container
    warm = SHARED / "synth" / "hef" / "ctr_v2a.hef"

    def grown(kind: str) -> int:
        arguments = [kind, path, container.header_size, container.hef_proto_size, warm]
        command = [sys.executable, "-c", MEASURE, *map(str, arguments)]
        return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    message = grown("message")
    opened = benchmark.pedantic(lambda: grown("hef"), rounds=1)
    benchmark.extra_info["message_kib"], benchmark.extra_info["opened_kib"] = message >> 10, opened >> 10
    assert opened <= MAX_MEMORY_RATIO * message + MEMORY_ALLOWANCE
