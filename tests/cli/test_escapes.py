"""No control character of a file reaches stdout or stderr, from any command, as text or as JSON (cli.md)."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.attacks import ESCAPE, escaped_hef, escaped_json, escaped_lines
from tests.conftest import ROOT

EXAMPLES = ROOT / "examples"
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")
Emu = Callable[..., tuple[int, str, str]]

HEF_COMMANDS: list[list[str]] = [
    ["run", "HEF"],
    ["run", "HEF", "--trace"],
    ["run", "HEF", "--coverage"],
    ["run", "HEF", "--output-dir", "OUT"],
    ["run", "HEF", "--step", "--break-script", "SCRIPT"],
    ["run", "HEF", "HEF", "--schedule", "round-robin"],
    ["inspect", "HEF"],
    ["inspect", "HEF", "--chip"],
    ["net", "HEF"],
    ["parse-hef", "HEF", "--parse-streams"],
    ["actions", "HEF"],
    ["diff", "HEF", "HEF"],
    ["check", "HEF"],
    ["disasm", "HEF", "--chip"],
    ["bind", "HEF", str(EXAMPLES / "digits.onnx")],
    ["compare", "HEF", "--reference", str(EXAMPLES / "digits.onnx"), "--against", "OUT.npz"],
    ["estimate", "HEF"],
    ["sweep", "HEF", "--jobs", "1"],
    ["run", "HEF", "--network-group", "no"],
    ["run", "HEF", "--input", "no=no.npy"],
    ["run", "HEF", "--reference", str(EXAMPLES / "lenet.ms")],
]
OTHERS: list[list[str]] = [
    ["check", "--trace", "TRACE"],
    ["diff", "TRACE", "PLAIN-TRACE"],
    ["run", "--actions", "CAPTURE"],
    ["actions", "--decode", "CAPTURE"],
    ["diff", "CAPTURE", "CAPTURE"],
    ["replay", "RECORDING"],
    ["replay", "RECORDING", "HEF"],
    ["coverage", "COVERAGE"],
    ["asm", "YAML", "-o", "OUT.hef"],
]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The files that stand for the words of the commands."""
    from emu.cli.main import main

    folder = tmp_path_factory.mktemp("escapes")

    def emu(*arguments: str) -> None:
        with pytest.raises(SystemExit) as stopped:
            main(arguments)
        assert not stopped.value.code

    plain = str(EXAMPLES / "digits.hef")
    found = {"OUT": str(folder / "out"), "OUT.npz": str(folder / "out.npz"), "OUT.hef": str(folder / "out.hef")}

    def keep(word: str, name: str, data: str | bytes) -> None:
        path = folder / name
        path.write_bytes(data.encode(errors="surrogatepass") if isinstance(data, str) else data)
        found[word] = str(path)

    for name in ("digits", "two_context", "configured"):
        keep(f"HEF {name}", f"{name}.hef", escaped_hef(EXAMPLES / f"{name}.hef"))
    keep(
        "SCRIPT",
        "script",
        f"where\nwaits\nlcus\nqueues\nchannels\n{ESCAPE[:5]}\nbreak x{ESCAPE[:5]}\nmemory 9{ESCAPE[:5]}\nc\n",
    )
    emu(
        "run",
        plain,
        f"--trace={folder / 'plain'}",
        "--record",
        str(folder / "recording"),
        "--outputs",
        found["OUT.npz"],
    )
    found["PLAIN-TRACE"] = str(folder / "plain")
    texts = ("context", "action", "unit", "cause", "woke", "model")
    keep("TRACE", "trace", escaped_lines((folder / "plain").read_text(), texts))
    emu("run", plain, "--coverage-file", str(folder / "coverage"))
    coverage = json.loads((folder / "coverage").read_text())
    coverage["units"] = {name + ESCAPE: count for name, count in coverage["units"].items()}
    keep("COVERAGE", "coverage", json.dumps(coverage))
    record = folder / "recording" / "record.jsonl"
    record.write_text(escaped_lines(record.read_text(), ("request", "reply", "digest", "direction")))
    manifest = json.loads((folder / "recording" / "manifest.json").read_text())
    manifest["run"]["status"] += ESCAPE
    (folder / "recording" / "manifest.json").write_text(json.dumps(manifest))
    found["RECORDING"] = str(folder / "recording")
    keep("YAML", "x.yaml", f'emu_hef: 1\ncontainer: {{version: "a{ESCAPE[:3].encode("unicode_escape").decode()}"}}\n')
    return found


@pytest.fixture(scope="module")
def capture(files: dict[str, str]) -> str:
    from contextlib import redirect_stdout
    from io import StringIO

    from emu.cli.main import main

    out = StringIO()
    with redirect_stdout(out), pytest.raises(SystemExit):
        main(["actions", str(EXAMPLES / "digits.hef"), "--json"])
    document: Any = json.loads(out.getvalue())
    for group in document["network_groups"]:
        group["name"] += ESCAPE
    document["streams"] = escaped_json([{"dir": "in", "index": 0, "name": "a", "hw_frame_size": 8}])
    document["streams"][0]["dir"] = "in"
    path = Path(files["TRACE"]).with_name("capture.json")
    path.write_text(json.dumps(document))
    return str(path)


def harmless(out: str, err: str, what: str) -> None:
    for stream in (out, err):
        found = CONTROL.search(stream)
        assert found is None, f"{what}: {stream[max(0, found.start() - 80) : found.start() + 20]!r}"


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("name", ["digits", "two_context", "configured"])
def test_of_a_hef(emu: Emu, files: dict[str, str], name: str, as_json: bool) -> None:
    told = set()
    for command in HEF_COMMANDS:
        arguments = [files[f"HEF {name}"] if one == "HEF" else files.get(one, one) for one in command]
        code, out, err = emu(*arguments, *["--json"] * as_json)
        harmless(out, err, " ".join(command))
        assert code in (0, 2, 3, 4, 5, 6), (command, err)
        if "X\\x1b" in out + err or "X\\u001b" in out + err:
            told.add(command[0])
    # the attack is one: these show names of the file
    assert {"run", "inspect", "estimate", "bind", "diff"} - told <= (
        {"diff", "bind", "estimate"} if as_json else {"diff"}
    )


@pytest.mark.parametrize("as_json", [False, True])
def test_of_everything_else(emu: Emu, files: dict[str, str], capture: str, as_json: bool) -> None:
    files = files | {"CAPTURE": capture, "HEF": files["HEF digits"]}
    for command in OTHERS:
        code, out, err = emu(*(files.get(one, one) for one in command), *["--json"] * (as_json and command[0] != "asm"))
        harmless(out, err, " ".join(command))
        assert code in (0, 2, 3, 4, 5, 6), (command, err)


def test_text_files_for_people_hold_none_either(emu: Emu, files: dict[str, str], tmp_path: Path) -> None:
    trace, table = tmp_path / "t.txt", tmp_path / "t.csv"
    assert emu("run", files["HEF two_context"], f"--trace={trace}", "--trace-format", "text")[0] == 0
    assert emu("sweep", files["HEF two_context"], "--jobs", "1", "--output", table)[0] == 0
    for path in (trace, table):
        harmless(path.read_text(), "", path.name)
        assert "X\\x1b" in path.read_text()


def test_numbers_and_places_are_asked_for_in_one_way() -> None:
    """`click.IntRange` takes digits of every script and fails at thousands of them; `Path.is_file` and its kin raise
    for names that are too long (`emu.numerals`, `emu.files`)."""
    for path in sorted((ROOT / "emu").rglob("*.py")):
        where = str(path.relative_to(ROOT / "emu"))
        if where in ("cli/options.py", "files.py") or where.startswith(("schemas/", "regression/", "catalog")):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                call = ast.unparse(node.func)
                assert call not in ("click.IntRange", "click.FloatRange"), f"{where}:{node.lineno}"
                assert not call.endswith((".is_file", ".is_dir", ".exists")), f"{where}:{node.lineno}"


SPEAKERS = {"screen.py": "the door", "document.py": "JSON", "main.py": "errors", "parse_hef.py": "bytes of hailortcli"}


def test_commands_speak_through_one_door() -> None:
    """No other module of the command line writes to a standard stream."""
    for path in sorted((ROOT / "emu" / "cli").glob("*.py")):
        if path.name in SPEAKERS:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                call = ast.unparse(node.func)
                assert call not in ("print", "click.echo", "click.secho"), f"{path.name}:{node.lineno}"
                assert not re.fullmatch(r"(sys\.)?(stdout|stderr)\.write(lines)?", call), f"{path.name}:{node.lineno}"
