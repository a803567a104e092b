"""Documents that hold: every command line in them runs, what they show is what is printed, every link leads somewhere.

The files that they speak of stand for others: a folder of small files with these names is what the commands run in.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
import shlex
import shutil
import socketserver
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import yaml

import emu
from emu.cli.main import COMMANDS, main
from emu.conform.respond import serve
from tests.conftest import DATA, ROOT
from tests.graph.test_cli_graph import write_om
from tests.graph.test_om_control import gear_model

PAGES = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "examples").rglob("*.md")],
    key=lambda path: str(path.relative_to(ROOT)),
)
REFERENCES = sorted((ROOT / "docs" / "reference").glob("*.md"))
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# what has no end, or needs a program, a network or a library that is not there
NOT_RUN = {
    "emu serve": "it has no end: tests/server",
    "emu exec --card": "it needs HailoRT: tests/card",
    "emu exec app.py": "it becomes another program: tests/cli/test_help.py",
}
# a page's own names of things -> those of the files here
NAMES = {
    "docs/conform.md": {"--stdio'": "--stdio' --rule 'control/*'", "'status/*'": "'control/*'"},  # few of the rules
    "docs/questions.md": {"tcp://board:7070": "tcp://board:7070 --rule 'control/*'"},
    "docs/dataflow.md": {"net/input_layer1": "input_layer1", "net/conv41=a.bin": "fc2=fc2.bin", "net/conv42=b.bin": ""},
    "docs/graph.md": {"data=x.npy": "input_0=map.npy", "OP": "ip2", "--gear 4": "--gear 4,6"},
    "docs/ms.md": {"image.npy": "map.npy"},
    "docs/ms_lite.md": {"image.npy": "map.npy", "OP": "ip2"},
}
LANGUAGES = {
    "sh",
    "text",
    "python",
    "yaml",
    "trace",
}  # of blocks: what is in none of these is run or compared by nobody


def commands(text: str) -> Iterator[str]:
    """The command lines of a page: of its shell blocks, and in backticks in its tables of questions."""
    for language, block in BLOCK.findall(text):
        if language == "sh":
            yield from (line.split(" # ")[0].strip() for line in block.splitlines() if line.startswith("emu "))


def expected(text: str) -> Iterator[tuple[str, str]]:
    """(the last command of a shell block, the text block behind it)."""
    for block, shown in re.findall(r"^```sh\n((?:(?!```).*\n)+)```\n\n```text\n((?:(?!```).*\n)+)```$", text, re.M):
        yield block.splitlines()[-1], shown


@pytest.fixture(scope="module")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("documents")
    examples = ROOT / "examples"
    shutil.copytree(examples, made / "examples")
    (made / "models").mkdir()
    for source, names in {
        "digits.hef": ("model.hef", "yolo.hef", "digits.hef"),
        "two_context.hef": ("other.hef", "a.hef", "b.hef", "models/a.hef"),
        "computed_digits.hef": ("read.hef", "models/b.hef"),
        "digits.onnx": ("model.onnx",),
        "lenet.ms": ("graph.ms", "model.ms", "graph.om", "model.om", "other.om"),
    }.items():
        for name in names:
            shutil.copyfile(examples / source, made / name)
    shutil.copyfile(DATA / "graphs" / "om" / "act_0.om", made / "ascend.om")
    shutil.copyfile(DATA / "fw_actions_two_context.json", made / "runtime_data_model.json")
    (made / "mine.py").write_text("from emu.conform.respond import Responder as Device\n")
    (made / "firmware").write_text(f"#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m emu respond\n")
    (made / "firmware").chmod(0o755)
    (made / "gears.om").write_bytes(write_om(gear_model([[4, 6], [8, 8]], lambda gear: (1, 2, *gear)).message))
    np.save(made / "image.npy", np.arange(64, dtype=np.uint8).reshape(8, 8, 1))
    np.save(made / "map.npy", np.ones((1, 1, 12, 12), np.float32))
    shutil.copyfile(made / "image.npy", made / "in.npy")
    (made / "fc2.bin").write_bytes(bytes(range(16)))
    (made / "coco.txt").write_text("".join(f"digit {n}\n" for n in range(10)))
    from PIL import Image

    for name in ("photo.jpg", "photo.png"):
        Image.fromarray(np.zeros((20, 30, 3), np.uint8)).save(made / name)
    with contextlib.chdir(made):
        assert run("run model.hef --reference model.onnx --input image.npy --outputs out.npz")[0] == 0
        shutil.copyfile("out.npz", "recorded.npz")
        assert run("run model.ms --outputs ref.npz")[0] == 0
        for name in ("a", "b"):
            assert run(f"run a.hef --trace={name}.trace")[0] == 0
        assert run("run a.hef --trace=measured.json --trace-format fw-actions")[0] == 0
        (made / "capture.json").write_text(run("actions a.hef --json")[1])
    return made


@pytest.fixture
def folder(made_once: Path, tmp_path: Path) -> Path:
    """Of one test alone: what a page writes would be in the way of another one."""
    return shutil.copytree(made_once, tmp_path / "documents")


def run(line: str) -> tuple[int, str, str]:
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as stop:
        main(shlex.split(line))
    return int(stop.value.code or 0), out.buffer.getvalue().decode(), err.getvalue()


@pytest.fixture(scope="module")
def board() -> Iterator[str]:
    """A firmware behind a socket: the simulated device, by the protocol of docs/conform.md."""

    class Answer(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            serve(self.rfile, self.wfile)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def on_our_files(page: str, line: str) -> str:
    """The command with files that have what it looks at."""
    for name, ours in NAMES.get(page, {}).items():
        line = line.replace(name, ours).replace(" --device-output  ", " ")
    if re.match(r"emu net|emu inspect .*--chip|.*--compute", line):
        line = line.replace("model.hef", "read.hef")
    if "--inject" in line:
        line = line.replace("model.hef", "other.hef")
    if "--gear" in line:
        line = line.replace("model.om", "gears.om")
    if "--soc" in line:
        line = line.replace("model.om", "ascend.om")
    if "[" in line and "]" in line:
        line = re.sub(r"\[[^\]]*\]", "", line)
    return line


LINES = {str(page.relative_to(ROOT)): list(dict.fromkeys(commands(page.read_text()))) for page in PAGES}
QUESTIONS = [
    line
    for row in (ROOT / "docs" / "questions.md").read_text().splitlines()
    if row.startswith("| ") and "|---" not in row
    for line in re.findall(r"`(emu [^`]+)`", row.split(" | ")[1])
]
LINES["docs/questions.md"] += QUESTIONS


@pytest.mark.parametrize("page", [page for page, lines in LINES.items() if lines])
def test_the_commands_run(page: str, folder: Path, board: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In their order: later ones may take what earlier ones wrote."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))  # nobody asks `emu respond` for anything
    for line in [one for whole in LINES[page] for one in whole.split(" && ")]:
        if line.startswith(tuple(NOT_RUN)):
            continue
        ours = re.sub(r" --device-output(?= --|$)", "", on_our_files(page, line)).replace("board:7070", board)
        code, _, err = run(ours.removeprefix("emu "))
        stalls = "--inject" in line
        assert code == (5 if stalls else code) and code in (0, 6, *[5] * stalls), (ours, err)
        assert code == 0 or "conform" not in line  # ours answers as it has to


def test_most_commands_are_run() -> None:
    lines = [line for page in LINES.values() for line in page]
    run_ones = [line for line in lines if not line.startswith(tuple(NOT_RUN))]
    assert len(run_ones) > 60 and len({line.split()[1] for line in lines} & set(COMMANDS)) > 13


@pytest.mark.parametrize("page", ["docs/tutorial.md", "docs/hef.md"])
def test_what_is_shown_is_printed(page: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    text = (ROOT / page).read_text()
    outputs: dict[str, str] = {}
    for line in commands(text) if page == "docs/tutorial.md" else [line for line, _ in expected(text)]:
        code, outputs[line], err = run(line.removeprefix("emu "))
        assert code == 0, (line, err)
    shown = list(expected(text))
    assert shown
    for line, block in shown:
        at = 0
        for part in filter(None, (part.strip("\n") for part in block.split("…\n"))):
            found = outputs[line].find(part, at)
            assert found >= 0, (line, part)
            at = found + len(part)


def test_the_test_of_the_tutorial_passes(folder: Path) -> None:
    blocks = BLOCK.findall((ROOT / "docs" / "tutorial.md").read_text())
    (sample,) = (block for language, block in blocks if language == "python")
    place = folder / "own"
    place.mkdir()
    shutil.copyfile(ROOT / "examples" / "two_context.hef", place / "two_context.hef")
    (place / "test_mine.py").write_text(sample)
    for options in (["--emu-update"], []):
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-c", "/dev/null", *options, "test_mine.py"],
            capture_output=True,
            text=True,
            cwd=place,
        )
        assert done.returncode == 0, done.stdout
    assert (place / "two_context.trace").exists()


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_block_says_what_it_is(page: Path) -> None:
    """A command in a block without a language, or in an indented one, would be run by no test."""
    text = page.read_text()
    assert {language for language, _ in BLOCK.findall(text)} <= LANGUAGES
    indented = re.findall(r"^(?: {4}|\t)\s*(?:\$ )?(?:emu|python -m emu) .*$", BLOCK.sub("", text), re.MULTILINE)
    assert indented == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_samples_are_python(page: Path) -> None:
    for language, block in BLOCK.findall(page.read_text()):
        if language == "python":
            ast.parse(block)


# --- links and the site ---------------------------------------------------------------------------------------------


def anchors(text: str) -> set[str]:
    """As mkdocs and others make them of headings."""
    plain = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    found = (re.sub(r"[^\w\s-]", "", line.lower()).strip() for line in re.findall(r"^#+ (.*)$", plain, re.MULTILINE))
    return {re.sub(r"[\s-]+", "-", one) for one in found}


@pytest.mark.parametrize("page", [*PAGES, *REFERENCES], ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    text = re.sub(r"`[^`\n]*`", "", BLOCK.sub("", page.read_text()))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        assert not target.startswith("http"), f"{target}: the documents stand alone"
        place, _, anchor = target.partition("#")
        found = page if not place else (page.parent / place).resolve()
        assert found.exists(), target
        for site in [ROOT / "docs"] * page.is_relative_to(ROOT / "docs"):
            assert found.is_relative_to(site), f"{target}: not in the site"
        if anchor:
            assert anchor in anchors(found.read_text()), target


def test_the_site_has_every_page() -> None:
    text = (ROOT / "mkdocs.yml").read_text()
    for page in [*(ROOT / "docs").glob("*.md"), *REFERENCES]:
        assert str(page.relative_to(ROOT / "docs")) in text, f"mkdocs.yml: {page.name} is in no menu"


def test_the_site_builds(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="mkdocs is not installed (extra docs)")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", tmp_path / "site"],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site" / "tutorial.html").stat().st_size > 2000


# --- the repository as others meet it -------------------------------------------------------------------------------


def test_one_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"]["path"] == "emu/__init__.py"
    assert f"## {emu.__version__}" in (ROOT / "CHANGELOG.md").read_text()
    assert run("--version")[1].strip().endswith(emu.__version__)


def test_the_public_workflow_runs_the_check_on_every_python_that_is_named() -> None:
    found = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
    job = found["jobs"]["test"]
    assert any(step.get("run") == ".ci/run" for step in job["steps"])
    named = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', (ROOT / "pyproject.toml").read_text())
    assert job["strategy"]["matrix"]["python"] == named and len(named) == 3


def test_the_examples_are_described() -> None:
    for folder in (ROOT / "examples", *(path for path in (ROOT / "examples").iterdir() if path.is_dir())):
        if folder.name == "__pycache__":
            continue
        described = (folder / "README.md").read_text()
        for path in folder.iterdir():
            if path.name not in ("README.md", "__pycache__"):
                assert path.name in described, path
