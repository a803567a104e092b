"""The sequencer programs that the lists of a compiled file start: what an estimate knows without a device."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from emu.hef import open_hef
from emu.hef import operations as ops
from emu.hef.writer import write_hef
from emu.hw.config import build
from emu.hw.config import starts as starts_module
from emu.hw.config.execute import Executor, Run
from emu.hw.config.starts import program_starts
from emu.sequencer.compile import CompileOptions, compile_hef
from emu.sequencer.configuration import read_configuration
from emu.timing.programs import Start
from tests.conftest import SHARED, needs_shared
from tests.scripts import script

BATCHES = (1, 2, 8)


def found(path: Path, batch: int = 1) -> list[Start]:
    """All starts of the first group of a file, in their order."""
    program = compile_hef(open_hef(path), CompileOptions(batch=batch))
    lists = program_starts(program, program.network_groups[0])
    assert lists is not None
    return [start for starts in lists for number in sorted(starts) for start in starts[number]]


def carried_out(path: Path) -> list[Start]:
    """The same from the lists of the file itself, carried out with all words kept."""
    hef = open_hef(path)
    core_op = next(core_op for core_op in hef.core_ops() if core_op.contexts)
    configuration = read_configuration(hef, core_op)
    executor = Executor(configuration.family)
    runs: list[Run] = [run for steps in configuration.lists for run in executor.execute(steps).runs]
    return [Start(run.cluster, run.program.words, run.ends_sequence) for run in runs]


@pytest.fixture
def example() -> ModuleType:
    return script("examples/make_configured.py")


def made(example: ModuleType, path: Path) -> Path:
    path.write_bytes(write_hef(example.contents(), version=2))
    return path


def test_each_file_has_its_own_at_every_batch_size(example: ModuleType, tmp_path: Path) -> None:
    """Starts are kept by content: one bit of an instruction of an LCU makes others of files of one size, and back."""

    # as they are, not compressed
    def l3_records(cluster: int, contents: dict[int, bytes], symbols: bytes | None = None) -> list[bytes]:
        return build.l3_records(cluster, contents)

    example.build = SimpleNamespace(**{**vars(build), "l3_records": l3_records})
    plain = made(example, tmp_path / "plain.hef")
    writes = example.program_writes

    def wrong() -> Iterator[object]:
        *others, (address, instructions), second, third = writes()
        yield from [*others, (address, [instructions[0] ^ 1, *instructions[1:]]), second, third]

    example.program_writes = wrong
    other = made(example, tmp_path / "wrong.hef")
    assert plain.stat().st_size == other.stat().st_size
    first = found(plain)
    assert len(first) == 1 and first[0].words > 500 and first[0].done
    assert found(other) == [replace(first[0], done=False)]
    for path in (plain, other, plain):
        for batch in BATCHES:
            assert found(path, batch) == carried_out(path)


def test_what_a_trigger_says_counts(example: ModuleType, tmp_path: Path) -> None:
    """The same records with one APU less: the scattered words are fewer."""
    plain = found(made(example, tmp_path / "plain.hef"))

    def narrower(**fields: Any) -> object:
        return ops.ActionEnableSequencer(**{**fields, "active_apu_bitmap": 0x1})

    example.ops = SimpleNamespace(**{**vars(ops), "ActionEnableSequencer": narrower})
    path = made(example, tmp_path / "narrow.hef")
    assert found(path) == carried_out(path) != plain


@needs_shared
@pytest.mark.parametrize("path", sorted((SHARED / "hef").glob("*1xh.hef")), ids=lambda path: path.name)
def test_files_of_bursts(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many records are read at once."""
    want = found(path)
    assert want
    for size in (1, 5_000):
        monkeypatch.setattr(starts_module, "_PART_BYTES", size)
        starts_module._kept.clear()
        assert found(path) == want
