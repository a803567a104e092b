"""Sweeps: the rows, their order, bad files, dead workers, and a real Dask cluster of two workers."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import logging
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from emu.cli.main import main
from emu.errors import OutputError, UsageError
from emu.hef import open_hef
from emu.host.estimate import estimate
from emu.sequencer.compile import CompileOptions
from emu.sweep import Row, Sweep, sweep
from emu.sweep.columns import table
from emu.sweep.sweep import UnfinishedError, find_files
from emu.sweep.table import COLUMNS, document, to_csv
from emu.timing.estimate import compile_batch
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
        return compile_batch(hef, *arguments, **settings)

    healthy = sweep(Sweep(files, batches=(1, 8)), jobs=1)
    monkeypatch.setattr("emu.timing.estimate.compile_batch", fails_once)
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


def test_each_batch_is_compiled_once_whatever_the_links(
    files: tuple[Path, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[tuple[str, int]] = []

    def counting(hef: Any, options: Any, batch: int, *starts: Any) -> Any:
        compiled.append((Path(hef.name).name, batch))
        return compile_batch(hef, options, batch, *starts)

    monkeypatch.setattr("emu.timing.estimate.compile_batch", counting)
    rows = sweep(Sweep(files[:1], batches=(1, 8), links=("gen1x1", "gen2x1", "gen3x1", "gen3x4")), jobs=1)
    assert len(rows) == 8
    assert sorted(compiled) == [(files[0].name, 1), (files[0].name, 8)]


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
    local = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=logging.CRITICAL
    )
    try:
        yield local
    finally:
        with contextlib.suppress(TimeoutError):  # a nanny that is starting a worker anew may not hear of the end
            local.close(timeout=20)


def test_dask_gives_the_same_rows(cluster: Any, files: tuple[Path, ...]) -> None:
    plan = Sweep(files, batches=(1, 8))
    address: str = cluster.scheduler_address
    assert sweep(plan, scheduler=address) == sweep(plan, jobs=1)


def test_dask_worker_killed_half_way_loses_no_result(cluster: Any, files: tuple[Path, ...]) -> None:
    """One of the two workers is killed while it works; its nanny starts another, the scheduler repeats the task."""
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


def test_dask_blames_a_file_that_is_none_of_it(cluster: Any, files: tuple[Path, ...]) -> None:
    """All that a worker has in hand when it dies is suspected; alone, the file works."""
    plan = Sweep(files[:1])
    assert sweep(plan, scheduler=cluster.scheduler_address, work=workers.dies_in_company) == sweep(plan, jobs=1)


def test_dask_cluster_that_lost_all_workers(
    cluster: Any, files: tuple[Path, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it leaves undone is done here."""
    pytest.importorskip("distributed")
    from emu.sweep import cluster as module

    monkeypatch.setattr(module, "_POLL_S", 0.2)
    monkeypatch.setattr(module, "_DESERTED_POLLS", 3)
    cluster.scale(0)
    try:
        assert sweep(Sweep(files), scheduler=cluster.scheduler_address) == sweep(Sweep(files), jobs=1)
    finally:
        cluster.scale(2)


SCHEDULER = """
import sys
from distributed import LocalCluster

if __name__ == "__main__":
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None, silence_logs=100) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


def test_a_scheduler_that_is_killed_costs_no_row_that_is_done(tmp_path: Path, files: tuple[Path, ...]) -> None:
    pytest.importorskip("distributed")
    script = tmp_path / "scheduler.py"
    script.write_text(SCHEDULER)
    with subprocess.Popen(
        [sys.executable, str(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},  # of its worker too, which has to find the work
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        with pytest.raises(UnfinishedError, match=r"has gone: \d+ files are left") as caught:
            sweep(Sweep(files * 40), scheduler=address, work=workers.slow, progress=lambda done: process.kill())
    expected = sweep(Sweep(files), jobs=1)
    assert caught.value.rows and all(row in expected for row in caught.value.rows)


def test_what_is_done_of_a_cut_off_sweep_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = sweep(Sweep((EXAMPLE,)), jobs=1)

    def cut_off(*_: object, **__: object) -> list[Row]:
        raise UnfinishedError(OutputError("the Dask scheduler at x:1 has gone: 3 files are left"), rows)

    monkeypatch.setattr(sys.modules["emu.sweep.sweep"], "sweep", cut_off)
    table = tmp_path / "table.csv"
    with pytest.raises(SystemExit) as stopped:
        main(["sweep", str(EXAMPLE), "--json", "--output", str(table)])
    out, err = capsys.readouterr()
    assert stopped.value.code == 7 and err.count("\n") == 1 and "3 files are left" in err
    assert table.read_text() == to_csv(rows)
    assert json.loads(out)["rows"] == document(rows)["rows"] and json.loads(out)["error"]["status"] == 14


@pytest.fixture
def listeners() -> Iterator[dict[str, str]]:
    """Addresses where something else listens: one that says nothing, one that speaks HTTP."""
    with socket.create_server(("127.0.0.1", 0)) as silent, socket.create_server(("127.0.0.1", 0)) as http:

        def answer() -> None:
            with contextlib.suppress(OSError):
                while True:
                    one, _ = http.accept()
                    with one:
                        one.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        threading.Thread(target=answer, daemon=True).start()
        yield {"silent": f"tcp://127.0.0.1:{silent.getsockname()[1]}", "http": f"127.0.0.1:{http.getsockname()[1]}"}


UNREACHABLE = ("tcp://127.0.0.1:9", "127.0.0.1:99999", "tcp://nosuch.invalid:1", "silent", "http")
MALFORMED = ("", "foo", "foo://x:1", "tcp://h:port", "inproc://x", "tcp://[::1", "h:-1", "x" * 300)


@pytest.mark.parametrize("address", UNREACHABLE)
def test_no_scheduler_at_the_address(files: tuple[Path, ...], listeners: dict[str, str], address: str) -> None:
    pytest.importorskip("distributed")
    with pytest.raises(OutputError, match="no Dask scheduler answers"):
        sweep(Sweep(files), scheduler=listeners.get(address, address))


@pytest.mark.parametrize("address", MALFORMED)
def test_what_is_no_address(files: tuple[Path, ...], address: str) -> None:
    pytest.importorskip("distributed")
    with pytest.raises(UsageError, match="is no address"):
        sweep(Sweep(files), scheduler=address)


def test_a_sweep_of_nothing_but_unreadable_files_fails(
    tmp_path: Path, files: tuple[Path, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    bad = next(path for path in files if path.name == "bad.hef")
    for arguments, code in (([bad], 3), ([bad, EXAMPLE], 0), ([EXAMPLE, "--device", "hailo8l"], 4)):
        with pytest.raises(SystemExit) as stopped:
            main(["sweep", "--jobs", "1", *map(str, arguments)])
        assert stopped.value.code == code
        assert capsys.readouterr().out.count("\n") == 1 + sum(isinstance(one, Path) for one in arguments)


SWEEPING = """
import os, sys
from emu.__main__ import main
from emu.sweep import work

def kill(task):
    os.kill(os.getppid(), int(os.environ["SIGNAL"]))
    while True:
        pass

from emu.sweep import sweep
sweep.__kwdefaults__["work"] = kill
sys.argv = ["emu", "sweep", *sys.argv[1:]]
main()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_workers_too(files: tuple[Path, ...], number: int) -> None:
    """Workers that would never end: they hold the pipes, which are waited for."""
    done = subprocess.run(
        [sys.executable, "-c", SWEEPING, *map(str, files), "--jobs", "2"],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "SIGNAL": str(int(number))},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert (done.returncode, done.stdout, done.stderr) == (128 + number, "", "")


def test_a_row_is_hashable_and_compares() -> None:
    row = Row("f", None, None, None, None, 1)
    assert {row: 1}[Row("f", None, None, None, None, 1)] == 1


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_a_table_and_csv_where_it_is_asked_for(
    files: tuple[Path, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["sweep", str(ROOT / "examples" / "two_context.hef"), "--batch", "1,63", "--jobs", "1"]

    def printed(*more: str, terminal: bool) -> str:
        stream = Terminal() if terminal else io.StringIO()
        with monkeypatch.context() as patched, pytest.raises(SystemExit) as stop:
            patched.setattr(sys, "stdout", stream)
            main([*arguments, *more])
        assert stop.value.code == 0
        return stream.getvalue()

    table = printed(terminal=True)
    heading, *rows = table.splitlines()
    assert len(rows) == 2 and len(heading.split()) > 6 and not any("00000" in row for row in rows)
    ends = [match.end() for match in re.finditer(r"FPS(?= |$)", heading)]
    assert all(row[: ends[0]].rstrip()[-3] == "." and row[ends[0]] == " " for row in rows), (
        table
    )  # aligned on the right
    assert table == printed("--table", terminal=False)
    assert printed("--csv", terminal=True) == printed(terminal=False) != table


def test_a_row_of_the_table_says_why_it_has_no_figures(files: tuple[Path, ...]) -> None:
    rows = sweep(Sweep((files[0],), (1,), ("hailo15h",)), jobs=1)
    assert "HAILO_HEF_NOT_COMPATIBLE_WITH_DEVICE(93): " in list(table(rows))[1]


ROW = Row("models/a/network_of_a_long_name.hef", "g", "4.23", "hailo8", "gen3x4", 1, "x86", 12.5, 10.0, 80.125, 0.0)


@pytest.mark.parametrize("width", [40, 60, 80, 100, 127, 200])
@pytest.mark.parametrize("devices", [("hailo8",), ("hailo8", "hailo8l")])
def test_a_table_is_as_wide_as_it_may_be(width: int, devices: tuple[str, ...]) -> None:
    """What every row has is said once, what has no room is named; the name of a file keeps its end."""
    rows = [
        replace(ROW, device=device, batch=batch, activation_ms=7.5, bound_by="config reload")
        for device in devices
        for batch in (1, 8)
    ]
    lines = list(table(rows, width))
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    for row in rows:
        assert re.search(rf"name\.hef .*\b{row.batch} +12\.50", text)
    table_text, _, left_out = text.partition("not shown in ")
    for head in ("activation ms", "FPS one by one", "bound by", "latency ms"):
        assert (head in table_text) != (head in " ".join(left_out.split()))
    assert ("config reload" in table_text) == ("bound by" in table_text)
    assert list(table(rows, 1000)) == list(table(rows))


@pytest.mark.parametrize(("lines", "panels"), [(8, 1), (9, 9), (30, 30)])
def test_many_lines_become_small_pictures_with_their_legends_inside(
    lines: int, panels: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from matplotlib.figure import Figure

    from emu.sweep.plot import plot

    figures: list[Figure] = []
    save = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda self, *a, **k: (figures.append(self), save(self, *a, **k))[1])
    rows = [
        Row(f"model{n}.hef", "group", "4.23", "hailo8", "gen3x4", batch, fps=100.0 * (n + 1) * batch)
        for n in range(lines)
        for batch in (1, 8)
    ]
    plot(rows, io.BytesIO(), "png")
    (figure,) = figures
    shown = [axes for axes in figure.axes if axes.get_visible()]
    assert len(shown) == panels
    canvas = figure.bbox
    for axes in shown:
        legend = axes.get_legend()
        assert legend is not None and len(axes.lines) <= 8
        box = legend.get_window_extent()
        assert canvas.x0 <= box.x0 and box.x1 <= canvas.x1 and canvas.y0 <= box.y0 and box.y1 <= canvas.y1
