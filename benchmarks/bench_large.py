"""A HEF of a gigabyte: what inspect, estimate and check take of memory, and of time beyond reading it.

    pytest benchmarks/bench_large.py

The file is a legal one: a channel of a context has at most 65,535 descriptors of 4,096 bytes (docs/reference/vdma.md),
so its records of 16 KB lie in the two contexts of examples/two_context.hef, on two channels each. Memory is what the
process holds of its own, the most that a look every few milliseconds finds: pages of the mapped file are the system's
to take back. Time is held beyond hashing the file (V2) or parsing its protobuf (V3) in a process of its own, in
multiples of loading numpy and the generated schema. docs/performance.md has what was measured.
"""

from __future__ import annotations

import mmap
import re
import resource
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pytest
from msgspec.structs import replace

import emu
from emu.hef import operations as ops
from emu.hef.model import Context
from emu.hef.writer import contents_of, hef_pieces
from tests.conftest import ROOT
from tests.effort import sized

EXAMPLE = ROOT / "examples" / "two_context.hef"
RECORD = 16_384  # bytes, as compilers write them
RECORDS = sized(61_000, 600)
CHANNELS = 2
ADDRESS = 0x11408000
BLOCK = (struct.pack("<II", RECORD // 4 - 3, ADDRESS) + bytes(range(256)) * (RECORD // 256))[:RECORD]
ROUNDS = sized(3, 1)
COMMANDS = ("inspect", "estimate", "check")

MAX_BYTES = {"inspect": 48 << 20, "estimate": 48 << 20, "check": 64 << 20}
MAX_IMPORTS_BEYOND = {"inspect": 5.0, "estimate": 5.0, "check": 12.0}
"""By command, beyond what must be read; `check` also runs what it finds, which reads the file once more."""

BASELINES = {
    2: "import sys, zlib; from emu.hef.source import open_source; s = open_source(sys.argv[1]); d = 0\n"
    "for c in s.chunks(0, s.size): d = zlib.crc32(c, d)",
    3: "import sys; from emu.hef.container import Container; from emu.hef.source import open_source\n"
    "from emu.schemas import hef_pb2\n"
    "hef_pb2.ProtoHEFHef().ParseFromString(Container(open_source(sys.argv[1])).proto)",
}
IMPORTS = "import numpy, emu.schemas.hef_pb2"


def write_large(path: Path, version: int, room: Path) -> None:
    """The example with that much configuration more in front of its contexts; what a channel brings lies in a row."""
    contents = contents_of(emu.open_hef(EXAMPLE))
    (group,) = contents.network_groups
    core = group.core_op
    assert core is not None
    count = RECORDS // len(core.contexts) // CHANNELS
    with room.open("w+b") as data:
        data.write(contents.ccws)
        contexts = tuple(_padded(data, contents.ccws, context, count) for context in core.contexts)
        data.flush()
        groups = (replace(group, core_op=replace(core, contexts=contexts)),)
        with mmap.mmap(data.fileno(), 0, access=mmap.ACCESS_READ) as mapped, path.open("wb") as file:
            ccws = memoryview(mapped)
            pieces = hef_pieces(replace(contents, ccws=ccws, network_groups=groups), version)
            file.writelines(pieces)
            del pieces
            ccws.release()


def _padded(data: BinaryIO, ccws: bytes | memoryview, context: Context, count: int) -> Context:
    more: list[ops.Action] = []
    places: dict[ops.ActionWriteDataCcwPtr, int] = {}
    own = [
        action
        for operation in context.operations
        for action in operation.actions
        if isinstance(action, ops.ActionWriteDataCcwPtr)
    ]
    for channel in range(CHANNELS):
        for _ in range(count):
            more.append(ops.ActionWriteDataCcwPtr(data.tell(), RECORD, channel))
            data.write(BLOCK)
        for action in own:
            if action.cfg_channel_index == channel:
                places[action] = data.tell()
                data.write(ccws[action.offset : action.offset + action.size])
    operations = [
        replace(
            operation,
            actions=tuple(
                replace(action, offset=places[action]) if isinstance(action, ops.ActionWriteDataCcwPtr) else action
                for action in operation.actions
            ),
        )
        for operation in context.operations
    ]
    first = operations[0]
    operations[0] = replace(first, actions=(*more, *first.actions))
    return replace(context, operations=tuple(operations))


@pytest.fixture(scope="module", params=[2, 3], ids=["V2", "V3"])
def large(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path]]:
    folder = tmp_path_factory.mktemp("large")
    path, room = folder / "large.hef", folder / "ccws"
    write_large(path, request.param, room)
    room.unlink()
    yield request.param, path
    path.unlink()


def measured(*arguments: str) -> tuple[float, int]:
    """Processor seconds of a process, and the most bytes of its own that it was seen to hold."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen(
        [sys.executable, *arguments], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    most = 0
    while process.poll() is None:
        try:
            found = re.search(r"RssAnon:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())
        except OSError:
            break
        most = max(most, int(found[1]) * 1024 if found else 0)
        time.sleep(0.005)
    assert process.wait() == 0
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, most


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def bench_a_large_file(large: tuple[int, Path]) -> None:
    version, path = large
    commands = {name: ("-m", "emu", name, str(path)) for name in COMMANDS}
    commands |= {"imports": ("-c", IMPORTS), "baseline": ("-c", BASELINES[version], str(path))}
    seconds = dict.fromkeys(commands, float("inf"))
    most = dict.fromkeys(commands, 0)
    for _ in range(ROUNDS):
        for name, arguments in commands.items():
            spent, held = measured(*arguments)
            seconds[name], most[name] = min(seconds[name], spent), max(most[name], held)
    beyond = {name: (seconds[name] - seconds["baseline"]) / seconds["imports"] for name in COMMANDS}
    told = ", ".join(f"{name} {beyond[name]:.1f} imports beyond, {most[name] >> 20} MiB" for name in beyond)
    print(f"V{version}: {told}; an import {seconds['imports']:.2f} s, the baseline {seconds['baseline']:.2f} s")
    assert {name: most[name] for name in COMMANDS if most[name] > MAX_BYTES[name]} == {}
    assert {name: times for name, times in beyond.items() if times > MAX_IMPORTS_BEYOND[name]} == {}
