"""HEFs: the container and the walk of the message, then all that is said of a file, then a run of it."""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable
from random import Random
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase

from emu.errors import EmuError
from emu.hef import open_hef
from emu.hef.container import LAYOUTS, Container
from emu.hef.infos import hef_infos
from emu.hef.pack import Sections, pack
from emu.hef.report import hef_report
from emu.hef.source import open_source
from emu.hef.text import parse_hef_text
from emu.host.session import RunRequest, run_program
from emu.sequencer.compile import CompileOptions, compile_hef
from fuzz.messages import mutate_message
from fuzz.mutation import mutate_bytes, near
from fuzz.target import Target
from tests.strategies.hefs import Drawn, hefs

RUNTIMES = ("4.23", "5.2")
_WORK = 1 << 22
"""Bytes of frames and configuration up to which a sound mutant is also run."""


def drawn(count: int, **options: Any) -> list[bytes]:
    """Files that our strategies draw and our writer writes, always the same ones."""
    found: list[bytes] = []

    @hypothesis.settings(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.given(hefs(**options))
    def collect(one: Drawn) -> None:
        found.append(one.data())

    collect()
    return found


@functools.cache
def _seeds() -> list[bytes]:
    return drawn(40)


@functools.cache
def _running_seeds() -> list[bytes]:
    return drawn(25, runs=True)


def read_container(data: bytes) -> None:
    """The container and the message, as one of the runtimes or as from memory: which, the bytes say."""
    way = zlib.crc32(data)
    hef = open_hef(data, runtime=RUNTIMES[way & 1], from_memory=bool(way & 2))
    _ = hef.header, hef.features, hef.network_groups, hef.external_resources
    for core in hef.core_ops():
        _ = core.contexts


def read_hef(data: bytes) -> str:
    """What parse-hef, inspect and actions say."""
    outcome = "refused"
    first: EmuError | None = None
    for runtime in RUNTIMES:
        try:
            hef = open_hef(data, runtime=runtime)
            hef_report(hef)
            parse_hef_text(hef, streams=True)
            hef_infos(hef)
            compile_hef(hef, CompileOptions())
            outcome = f"compiled {runtime}"
        except EmuError as error:
            first = error
    if outcome == "refused" and first is not None:
        raise first
    return outcome


def run_hef(data: bytes) -> str:
    """Compile and run one frame."""
    hef = open_hef(data)
    program = compile_hef(hef, CompileOptions())
    work = sum(stream.hw_frame_size for group in program.network_groups for stream in group.streams)
    if work > _WORK:
        return "large"
    from emu.chips.chips import load

    run_program(program, load(program.device), RunRequest(frames=1))
    return "ran"


def mutate_hef(data: bytes, random: Random) -> bytes:
    """A field of the message or a header field forged, sizes and checksums redone; one in six as plain bytes."""
    kind = random.randrange(6)
    try:
        container = Container(open_source(data))
        sections = _sections(container)
    except EmuError:
        return mutate_bytes(data, random)
    if kind == 0:
        return mutate_bytes(data, random)
    overrides: dict[str, int | bytes] = {}
    version, proto = container.version, bytes(sections.proto)
    if kind == 1:
        field = random.choice([item for item in LAYOUTS[version].fields if item.size < 16] or [None])
        if field is not None:
            actual = container.fields.get(field.name, 0)
            assert isinstance(actual, int)
            overrides[field.name] = near(actual, random, 8 * field.size)
    elif kind == 2:
        ccws = b"".join(sections.ccws)
        sections = Sections(proto, sections.padding, [mutate_bytes(ccws, random)], sections.additional_info)
    else:
        proto = mutate_message(proto, random)
    if random.random() < 0.1:
        version = random.choice(list(LAYOUTS))
    extra = sections.additional_info if version == 3 else ()
    padding = sections.padding if version == 3 else ()
    ccws_pieces = sections.ccws if version else ()
    made = Sections(proto, padding, ccws_pieces, extra)
    sizes = {item.name: item.size for item in LAYOUTS[version].fields}
    overrides = {
        name: value & (1 << 8 * sizes[name]) - 1 if isinstance(value, int) else value
        for name, value in overrides.items()
        if name in sizes
    }
    return b"".join(pack(version, made, proto_hash=random.random() < 0.2, overrides=overrides))


def _sections(container: Container) -> Sections:
    rest = container.data[container.header_size + len(container.proto) :]
    padding = rest[: container.number("hef_padding_size")]
    rest = rest[len(padding) :]
    ccws = rest[: max(0, container.ccws_section_size)]
    return Sections(container.proto, [padding], [ccws], [rest[len(ccws) :]])


def _target(name: str, seeds: Callable[[], list[bytes]], read: Callable[[bytes], object]) -> Target:
    return Target(name, seeds, read, mutate_hef)


TARGETS = (
    _target("hef-container", _seeds, read_container),
    _target("hef", _seeds, read_hef),
    _target("hef-run", _running_seeds, run_hef),
)
