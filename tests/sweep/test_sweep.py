"""Sweeps: the rows, their order, bad files, dead workers, and a real Dask cluster of two workers."""

from __future__ import annotations

import csv
import io
import json
import logging
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from emu.cli.main import main
from emu.errors import UsageError
from emu.estimate import estimate
from emu.hef import open_hef
from emu.sequencer.compile import CompileOptions
from emu.sweep import Row, Sweep, pools, sweep
from emu.sweep.sweep import find_files
from emu.sweep.table import COLUMNS, document, to_csv
from tests.conftest import ROOT, SHARED, needs_shared
from tests.sweep import workers

EXAMPLE = ROOT / "examples" / "two_context.hef"


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, ...]:
    """Four HEFs and a file that is none."""
    directory = tmp_path / "models"
    directory.mkdir()
    for name in ("a.hef", "b.hef", "c.hef", "d.hef"):
        shutil.copy(EXAMPLE, directory / name)
    (directory / "bad.hef").write_bytes(b"not a model\n")
    return find_files([directory])


def test_rows_are_the_estimates_in_the_order_of_the_plan(files: tuple[Path, ...]) -> None:
    rows = sweep(Sweep(files, batches=(1, 8), links=(None, "gen3x1")), jobs=1)
    assert [(Path(row.file).name, row.batch) for row in rows] == [
        (path.name, batch) for path in files for _ in range(2) for batch in (1, 8)
    ]
    expected = estimate(open_hef(EXAMPLE), CompileOptions(), (8,), link="gen3x1")
    found = next(row for row in rows if row.link == "gen3x1" and row.batch == 8 and row.fps is not None)
    assert found.fps == expected.batches[0].fps
    assert found.config_ms == sum(context.config_ms for context in expected.batches[0].contexts)


def test_a_bad_file_becomes_rows_with_its_error(files: tuple[Path, ...]) -> None:
    rows = [row for row in sweep(Sweep(files, batches=(1, 2)), jobs=1) if Path(row.file).name == "bad.hef"]
    assert [row.batch for row in rows] == [1, 2]
    for row in rows:
        assert row.fps is None
        assert row.error_name is not None
        assert row.error_name.startswith("HAILO_")
        assert row.error


def test_a_device_that_refuses_becomes_a_row(files: tuple[Path, ...]) -> None:
    rows = sweep(Sweep(files[:1], devices=("hailo15l", None)), jobs=1)
    assert [row.error_status for row in rows] == [93, None]


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_of_our_own_costs_only_its_file(
    files: tuple[Path, ...], jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails_once(hef: Any, *arguments: Any, **settings: Any) -> Any:
        if Path(hef.name).name == "b.hef":
            raise ZeroDivisionError("a bug")
        return estimate(hef, *arguments, **settings)

    healthy = sweep(Sweep(files, batches=(1, 8)), jobs=1)
    monkeypatch.setattr("emu.estimate.estimate", fails_once)
    rows = sweep(Sweep(files, batches=(1, 8)), jobs=jobs)
    assert [row for row in rows if Path(row.file).name != "b.hef"] == [
        row for row in healthy if Path(row.file).name != "b.hef"
    ]
    failed = [row for row in rows if Path(row.file).name == "b.hef"]
    assert [(row.batch, row.error_name) for row in failed] == [
        (1, "HAILO_INTERNAL_FAILURE"),
        (8, "HAILO_INTERNAL_FAILURE"),
    ]
    assert all("ZeroDivisionError: a bug" in (row.error or "") for row in failed)


@pytest.mark.parametrize("jobs", [2, 3])
def test_processes_give_the_same_rows(files: tuple[Path, ...], jobs: int) -> None:
    plan = Sweep(files, batches=(1, 2, 4, 8))
    assert sweep(plan, jobs=jobs) == sweep(plan, jobs=1)


def test_forked_workers_find_every_module_imported() -> None:
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from emu.sweep.work import Task, prepare, run_task\n"
        "prepare()\n"
        "before = set(sys.modules)\n"
        f"run_task(Task(Path({str(EXAMPLE)!r}), (1, 8)))\n"
        "print([name for name in set(sys.modules) - before if name.startswith(('emu', 'google'))])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_file_that_kills_its_worker_costs_no_other_result(tmp_path: Path, files: tuple[Path, ...]) -> None:
    poison = tmp_path / "poison.hef"
    shutil.copy(EXAMPLE, poison)
    plan = Sweep((*files[:2], poison, *files[2:]), batches=(1, 8))
    rows = sweep(plan, jobs=2, work=workers.dies_on_poison)
    healthy = sweep(Sweep(files, batches=(1, 8)), jobs=1)
    assert [row for row in rows if row.file != str(poison)] == healthy
    dead = [row for row in rows if row.file == str(poison)]
    assert [(row.batch, row.error_name) for row in dead] == [
        (1, "HAILO_INTERNAL_FAILURE"),
        (8, "HAILO_INTERNAL_FAILURE"),
    ]


def test_workers_that_die_by_accident_lose_nothing(
    tmp_path: Path, files: tuple[Path, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMU_TEST_MARKS", str(tmp_path))
    plan = Sweep(files)
    assert sweep(plan, jobs=2, work=workers.dies_once) == sweep(plan, jobs=1)
    assert len(list(tmp_path.glob("*.hef"))) == len(files)


def test_progress_counts_every_file(files: tuple[Path, ...]) -> None:
    done: list[int] = []
    sweep(Sweep(files), jobs=2, progress=done.append)
    assert sum(done) == len(files)


def test_directories_are_searched_by_content_and_name(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    shutil.copy(EXAMPLE, tmp_path / "deep" / "er" / "no_suffix")
    (tmp_path / "broken.HEF").write_bytes(b"")
    (tmp_path / "README.md").write_text("not a model")
    assert [path.name for path in find_files([tmp_path])] == ["broken.HEF", "no_suffix"]
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(UsageError, match="nothing to sweep"):
        find_files([empty])


# --- output ---------------------------------------------------------------------------------------------------------


def test_csv_and_json_hold_the_same(files: tuple[Path, ...]) -> None:
    rows = sweep(Sweep(files, batches=(1, 8)), jobs=1)
    table = list(csv.DictReader(io.StringIO(to_csv(rows))))
    listed = document(rows)["rows"]
    assert list(table[0]) == list(COLUMNS) == list(listed[0])
    for line, entry in zip(table, listed, strict=True):
        assert line == {name: "" if value is None else str(value) for name, value in entry.items()}


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(["sweep", *arguments])
    code = stop.value.code
    assert isinstance(code, int)
    return code


def test_command(files: tuple[Path, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(str(files[0].parent), "--batch", "1,8", "--jobs", "1", "--json") == 0
    captured = capsys.readouterr()
    assert [entry["batch"] for entry in json.loads(captured.out)["rows"]] == [1, 8] * 5
    assert captured.err == ""


def test_command_writes_files_and_prints_nothing(
    tmp_path: Path, files: tuple[Path, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    outputs = [tmp_path / name for name in ("t.csv", "t.json", "t.png", "t.svg", "t.pdf")]
    arguments = [argument for path in outputs for argument in ("--output", str(path))]
    pytest.importorskip("matplotlib")
    kept = []
    for _ in range(2):
        assert run(str(files[0].parent), "--batch", "1,2,4", "--jobs", "1", *arguments) == 0
        kept.append([path.read_bytes() for path in outputs])
    assert kept[0] == kept[1]
    assert capsys.readouterr().out == ""
    assert kept[0][2].startswith(b"\x89PNG")


def test_a_model_is_never_overwritten(files: tuple[Path, ...]) -> None:
    target = files[0].with_suffix(".csv")
    shutil.copy(EXAMPLE, target)
    assert run(str(files[0]), "--output", str(target)) == 2
    assert target.read_bytes() == EXAMPLE.read_bytes()


@pytest.mark.parametrize(
    "arguments",
    [
        ["--device", "hailo9"],
        ["--device", "hailo8,,hailo8l"],
        ["--link", "gen9x9"],
        ["--clock-mhz", "20000"],
        ["--batch", "64"],
        ["--jobs", "0"],
        ["--jobs", "2", "--scheduler", "tcp://127.0.0.1:1"],
        ["--output", "table.txt"],
    ],
)
def test_wrong_use(files: tuple[Path, ...], arguments: list[str]) -> None:
    assert run(str(files[0]), *arguments) == 2


@needs_shared
def test_all_given_files() -> None:
    rows = sweep(Sweep(find_files([SHARED / "hef"]), batches=(1, 2, 4, 8)), jobs=2)
    assert len(rows) == 9 * 4
    assert all(row.error is None and row.fps for row in rows)


# --- Dask -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=logging.CRITICAL
    ) as local:
        yield local


def test_dask_gives_the_same_rows(cluster: Any, files: tuple[Path, ...]) -> None:
    plan = Sweep(files, batches=(1, 8))
    address: str = cluster.scheduler_address
    assert sweep(plan, scheduler=address) == sweep(plan, jobs=1)


def test_dask_worker_killed_half_way_loses_no_result(cluster: Any, files: tuple[Path, ...]) -> None:
    """One of the two workers is killed while it works; its nanny starts another, the scheduler repeats the task."""
    import os
    import signal

    import distributed

    address: str = cluster.scheduler_address
    with distributed.Client(address, set_as_default=False) as client:
        victim = next(iter(client.run(os.getpid).values()))
    killed: list[int] = []

    def kill_once(done: int) -> None:
        if not killed:
            killed.append(victim)
            os.kill(victim, signal.SIGKILL)

    plan = Sweep(files, batches=(1, 8))
    assert sweep(plan, scheduler=address, work=workers.slow, progress=kill_once) == sweep(plan, jobs=1)
    assert killed


def test_dask_file_that_kills_every_worker(cluster: Any, tmp_path: Path, files: tuple[Path, ...]) -> None:
    poison = tmp_path / "poison.hef"
    shutil.copy(EXAMPLE, poison)
    address: str = cluster.scheduler_address
    rows = sweep(Sweep((*files, poison)), scheduler=address, work=workers.dies_on_poison)
    assert rows[:-1] == sweep(Sweep(files), jobs=1)
    assert rows[-1].error_name == "HAILO_INTERNAL_FAILURE"


def test_dask_cluster_that_lost_all_workers(
    cluster: Any, files: tuple[Path, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it leaves undone is done here."""
    monkeypatch.setattr(pools, "_POLL_S", 0.2)
    monkeypatch.setattr(pools, "_DESERTED_POLLS", 3)
    cluster.scale(0)
    try:
        assert sweep(Sweep(files), scheduler=cluster.scheduler_address) == sweep(Sweep(files), jobs=1)
    finally:
        cluster.scale(2)


def test_no_scheduler_at_the_address(files: tuple[Path, ...]) -> None:
    pytest.importorskip("distributed")
    with pytest.raises(UsageError, match="no Dask scheduler answers"):
        sweep(Sweep(files), scheduler="tcp://127.0.0.1:9")


def test_a_row_is_hashable_and_compares() -> None:
    row = Row("f", None, None, None, None, 1)
    assert {row: 1}[Row("f", None, None, None, None, 1)] == 1
