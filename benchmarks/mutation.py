"""How many small faults in the code do the tests notice?

    python benchmarks/mutation.py map             which test functions reach which lines, and how long they take
    python benchmarks/mutation.py run [--sample N] [--jobs N]
    python benchmarks/mutation.py show            the survivors of the last run

Both steps run without the shared captures, in a copy of the tree. A mutant changes one place of one module; the test
functions that reach its line run until one fails, those first that are short and reach little else, as many as take
`BUDGET` seconds on sound code; what then runs on for twice as long and `GRACE` seconds of CPU time more (`LIMIT` at
most) hangs and is noticed too. A run that was stopped goes on where it stood, as long as the code is the same. Needs
the package `coverage`.
"""

from __future__ import annotations

import argparse
import ast
import copy
import hashlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / ".mutation"
ROOMS = ("emu/hw", "emu/wire", "emu/sequencer", "emu/dataflow", "emu/graph/ops")
SEED, SAMPLE = 20, 200
BUDGET, GRACE, LIMIT = 25.0, 10, 60
FEW = 3
FIRST = 8  # tests that are tried alone: most mutants end there, and few modules of tests are loaded
WAITS = 600.0  # seconds of real time after which what takes no CPU time hangs as well

_COMPARE = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
            ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In}  # fmt: skip
_ARITHMETIC = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult,
               ast.Mod: ast.FloorDiv, ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr,
               ast.BitOr: ast.BitAnd}  # fmt: skip


def places(tree: ast.Module) -> Iterator[tuple[int, int, str]]:
    """Every mutation of a module as (number of the node in walking order, line, what changes)."""
    documented = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    in_text = {
        id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr | ast.Raise) for part in ast.walk(node)
    }
    annotations = {
        id(part)
        for node in ast.walk(tree)
        for part_of in (getattr(node, "annotation", None), getattr(node, "returns", None))
        if part_of is not None
        for part in ast.walk(part_of)
    }
    for number, node in enumerate(ast.walk(tree)):
        if id(node) in annotations or id(node) in in_text:
            continue  # wording and types are not behaviour
        if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARE:
            yield number, node.lineno, "compare"
        elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in _ARITHMETIC:
            yield number, node.lineno, "arithmetic"
        elif isinstance(node, ast.BoolOp):
            yield number, node.lineno, "and/or"
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
            yield number, node.lineno, "drop unary"
        elif isinstance(node, ast.Constant) and id(node) not in documented:
            if isinstance(node.value, bool | int) and not isinstance(node.value, float):
                yield number, node.lineno, "constant"
        elif isinstance(node, ast.If | ast.While | ast.IfExp):
            yield number, node.lineno, "negate"
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield number, node.lineno, "drop call"
        elif isinstance(node, ast.Break | ast.Continue):
            yield number, node.lineno, "break/continue"


def mutate(source: str, number: int, kind: str) -> str:
    """The source with one place changed."""
    tree = copy.deepcopy(ast.parse(source))
    node: Any = list(ast.walk(tree))[number]
    if kind == "compare":
        node.ops[0] = _COMPARE[type(node.ops[0])]()
    elif kind == "arithmetic":
        node.op = _ARITHMETIC[type(node.op)]()
    elif kind == "and/or":
        node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    elif kind == "constant":
        node.value = not node.value if isinstance(node.value, bool) else node.value + 1
    elif kind == "negate":
        node.test = ast.UnaryOp(ast.Not(), node.test)
    else:
        replaced = {"drop unary": getattr(node, "operand", None), "drop call": ast.Pass()}.get(kind)
        if kind == "break/continue":
            replaced = ast.Continue() if isinstance(node, ast.Break) else ast.Break()
        for parent in ast.walk(tree):
            for name, value in ast.iter_fields(parent):
                if value is node:
                    setattr(parent, name, replaced)
                elif isinstance(value, list) and node in value:
                    value[value.index(node)] = replaced
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


_PLUGIN = """
import collections, json, time, coverage, pytest
seconds, failed = collections.Counter(), set()
rooms = ["emu/hw", "emu/wire", "emu/sequencer", "emu/dataflow", "emu/graph/ops"]
cov = coverage.Coverage(data_file=None, source=rooms, context="setup")
cov.start()

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item, nextitem):
    name = item.nodeid.split("[")[0]
    cov.switch_context(name)
    started = time.process_time()
    yield
    seconds[name] += time.process_time() - started
    cov.switch_context("setup")

def pytest_runtest_logreport(report):
    if report.failed:
        failed.add(report.nodeid.split("[")[0])

def pytest_sessionfinish(session):
    cov.stop()
    data = cov.get_data()
    lines = {}
    for file in data.measured_files():
        found = {}
        for line, contexts in data.contexts_by_lineno(file).items():
            # "setup", or "setup|" and the test; who fails on sound code is no witness
            found[str(line)] = sorted({name.removeprefix("setup|") for name in contexts if name} - failed)
        lines[file.split("/emu/", 1)[1]] = found
    with open("reached.json", "w") as out:
        json.dump({"seconds": seconds, "lines": lines}, out)
"""


def copied(folder: Path) -> Path:
    """The tracked files of the tree (as they are now) in a folder, without the shared captures beside it."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode()
    for name in filter(None, names.split("\0")):
        target = folder / "tree" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target)
    return folder / "tree"


def pytest(tree: Path, *arguments: str, limit: int | None = None, keeps_bytecode: bool = False) -> int | None:
    """The exit code of a run of the tests there; None where it was still running after `limit` seconds of CPU time.

    RuntimeError where it did not find a test that it was to run: nothing was tried then.
    """
    environment = os.environ | {
        "EMU_SHARED": str(tree / "no-captures"),
        "PYTHONDONTWRITEBYTECODE": "" if keeps_bytecode else "1",
    }
    environment["PYTHONPATH"] = str(tree)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *arguments]

    def limited() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))

    try:
        done = subprocess.run(
            command,
            cwd=tree,
            env=environment,
            timeout=None if limit is None else WAITS,
            capture_output=True,
            text=True,
            preexec_fn=limited,
        )
    except subprocess.TimeoutExpired:
        return None
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return None
    if done.returncode == 5 or "file or directory not found" in done.stderr or "ERROR: not found" in done.stderr:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip() or 'no tests ran'}")
    return done.returncode


def write_map() -> None:
    with tempfile.TemporaryDirectory() as folder:
        tree = copied(Path(folder))
        (tree / "reached_plugin.py").write_text(_PLUGIN)
        pytest(tree, "-p", "reached_plugin", "tests", "--ignore=tests/sweep")
        KEPT.mkdir(exist_ok=True)
        shutil.move(tree / "reached.json", KEPT / "reached.json")


def digest() -> str:
    """Of the code that is mutated."""
    paths = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()


def sample(count: int) -> list[tuple[str, int, int, str]]:
    """Mutants drawn evenly over all places: (module, number of the node, line, kind)."""
    found = []
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            name = str(path.relative_to(ROOT))
            found += [(name, *place) for place in places(ast.parse(path.read_text()))]
    return random.Random(SEED).sample(found, min(count, len(found)))


def chosen(reached: dict[str, Any], module: str, line: int) -> list[str]:
    """The test functions that reach a line, the most specific and then the shortest ones first, within the budget.

    A line that runs when the module is loaded is everybody's who reaches any other line of it, and so is one that few
    reach: what is kept for the process is worked out by the test that comes first alone.
    """
    lines = reached["lines"].get(module.removeprefix("emu/"), {})
    names = set(lines.get(str(line), ()))
    if names == {"setup"} or 0 < len(names) < FEW:
        names |= {name for others in lines.values() for name in others}
    names -= {"setup"}
    breadth: Counter[str] = reached["breadth"]
    tests, seconds = [], 0.0
    for name in sorted(names, key=lambda name: (breadth[name] * reached["seconds"].get(name, 0.0), name)):
        cost = reached["seconds"].get(name, 0.0)
        if seconds + cost <= BUDGET:
            tests.append(name)
            seconds += cost
    return tests


def run(count: int, jobs: int) -> None:
    reached = json.loads((KEPT / "reached.json").read_text())
    reached["breadth"] = Counter(
        name for lines in reached["lines"].values() for names in lines.values() for name in names
    )
    mutants, results = sample(count), []
    code_of_all, judged = digest(), {}
    if (KEPT / "results.json").exists():
        before = json.loads((KEPT / "results.json").read_text())
        if before["code"] == code_of_all:
            judged = {(row["module"], row["node"], row["kind"]): row for row in before["rows"]}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        trees: Queue[Path] = Queue()
        for job in range(jobs):
            tree = copied(Path(folder) / str(job))
            pytest(
                tree, "--collect-only", "tests", keeps_bytecode=True
            )  # compiled once: half of what a short run takes
            trees.put(tree)

        def judge(mutant: tuple[str, int, int, str]) -> dict[str, Any]:
            module, number, line, kind = mutant
            if (module, number, kind) in judged:
                return judged[module, number, kind]
            source = (ROOT / module).read_text()
            tests = chosen(reached, module, line)
            changed = mutate(source, number, kind)
            row = {"module": module, "line": line, "kind": kind, "tests": len(tests), "node": number}
            if not tests:
                return row | {"noticed": False, "how": "no test reaches it"}
            tree = trees.get()
            try:
                (tree / module).write_text(changed)
                code: int | None = 0
                for part in filter(None, (tests[:FIRST], tests[FIRST:])):
                    seconds = sum(reached["seconds"].get(name, 0.0) for name in part)
                    code = pytest(tree, "-x", *part, limit=min(LIMIT, GRACE + round(2 * seconds)))
                    if code != 0:
                        break
            finally:
                shutil.copy2(ROOT / module, tree / module)  # with its time, by which its bytecode is known
                trees.put(tree)
            how = "hangs" if code is None else "fails" if code else "passes"
            return row | {"noticed": code != 0, "how": how}

        began = time.monotonic()
        for row in pool.map(judge, mutants):
            results.append(row)
            (KEPT / "results.json").write_text(json.dumps({"code": code_of_all, "rows": results}, indent=1))
            noticed = sum(one["noticed"] for one in results)
            print(f"{len(results)}/{len(mutants)} {noticed / len(results):.1%} {row}", flush=True)
        print(f"{time.monotonic() - began:.0f} s")
    show()


def show() -> None:
    results = json.loads((KEPT / "results.json").read_text())["rows"]
    by_room: dict[str, list[bool]] = defaultdict(list)
    for row in results:
        by_room[next(room for room in ROOMS if row["module"].startswith(room))].append(row["noticed"])
        if not row["noticed"]:
            source = (ROOT / row["module"]).read_text()
            line = source.splitlines()[row["line"] - 1].strip()
            print(f"{row['module']}:{row['line']} {row['kind']} ({row['how']}): {line}")
    for room, noticed in sorted(by_room.items()):
        print(f"{room}: {sum(noticed)} of {len(noticed)} noticed")
    print(f"in all {sum(row['noticed'] for row in results)} of {len(results)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("map", "run", "show"))
    parser.add_argument("--sample", type=int, default=SAMPLE)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    if options.step == "map":
        write_map()
    elif options.step == "run":
        run(options.sample, options.jobs)
    else:
        show()


if __name__ == "__main__":
    main()
