"""The FlatBuffers schemas say what the references say, and the generated modules what the schemas say."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from emu.graph.readers.ms.describe import table_document
from emu.graph.readers.ms.file import generation, read_graph_def
from emu.graph.writers.ms import write
from emu.schemas import fbs, generate_fbs
from emu.schemas.generated import ms_v0_1, ms_v0_5
from tests.conftest import ROOT, SHARED, needs_shared

SCHEMAS = Path(generate_fbs.__file__).parent
GENERATIONS = {"A": (ms_v0_1, SCHEMAS / "ms_v0_1" / "ms.fbs"), "B": (ms_v0_5, SCHEMAS / "ms.fbs")}

needs_flatc = pytest.mark.skipif(shutil.which("flatc") is None, reason="flatc, the independent oracle, is not here")


def test_generated_modules_are_current() -> None:
    assert generate_fbs.stale() == []


def test_a_changed_schema_makes_its_module_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = tmp_path / "ms.fbs"
    schema.write_text("table One { number: int = 3; names: string; }\nroot_type One;\n")
    target = tmp_path / "one.py"
    monkeypatch.setattr(generate_fbs, "FOLDER", tmp_path)
    monkeypatch.setattr(generate_fbs, "TARGETS", {schema: target})
    assert generate_fbs.stale() == [target]
    assert generate_fbs.main([]) == 0
    assert generate_fbs.main(["--check"]) == 0
    schema.write_text(schema.read_text().replace("= 3", "= 4"))
    assert generate_fbs.main(["--check"]) == 1


@pytest.mark.parametrize("text", ["table A { b: int (deprecated); }", "struct A { b: int; }", "table A { b: int", "§"])
def test_what_the_generator_does_not_know_is_refused(text: str, tmp_path: Path) -> None:
    schema = tmp_path / "x.fbs"
    schema.write_text(text)
    parser = generate_fbs.Parser()
    with pytest.raises((ValueError, StopIteration)):
        parser.read(schema)


def reference_tables(generation_name: str) -> dict[str, str]:
    """Name → the line of facts of schema-tables.md, for one generation."""
    text = (ROOT / "docs" / "reference" / "schema-tables.md").read_text(encoding="utf-8")
    parts = re.split(r"^# ", text, flags=re.MULTILINE)
    part = next(part for part in parts if part.startswith(f"MindSpore predict, generation {generation_name}"))
    return dict(re.findall(r"^- (?:table|enum|union) \*\*(\w+)\*\* ?(.*)$", part, flags=re.MULTILINE))


def type_name(wire: fbs.Wire) -> str:
    match wire:
        case fbs.Scalar():
            return wire.name
        case fbs.EnumOf():
            return wire.enum.__name__
        case fbs.Text():
            return "string"
        case fbs.TableOf():
            return wire.table.__name__
        case fbs.Vector():
            return f"[{wire.element.name}]"
        case fbs.VectorOfTables():
            return f"[{wire.table.__name__}]"
        case fbs.Union():
            return wire.name


@pytest.mark.parametrize("name", ["A", "B"])
def test_tables_are_those_of_the_reference(name: str) -> None:
    module, _ = GENERATIONS[name]
    tables = reference_tables(name)
    assert len(tables) >= {"A": 40, "B": 120}[name]
    for table, facts in tables.items():
        declared = getattr(module, table, None)
        if table == "OpT":
            wanted = re.findall(r"\d+ (\w+)", facts.partition("NONE): ")[2])
            assert [member.__name__ for member in module.OPT.members] == wanted
        elif facts.startswith(":"):
            wanted_values = {word: int(number) for number, word in re.findall(r"(-?\d+) (\w+)", facts)}
            assert declared is not None
            assert {member.name: member.value for member in declared} == wanted_values
        else:
            fields = re.findall(r"\d+ (\w+) ?: (\[?\w+\]?)(?: = ([-\w.]+))?", facts.partition("order): ")[2])
            assert declared is not None
            found = fbs.fields_of(declared)
            assert [(field.name, type_name(field.wire)) for field in found] == [each[:2] for each in fields]
            for field, (_, _, default) in zip(found, fields, strict=True):
                check_default(field, default)


def check_default(field: fbs.Field, default: str) -> None:
    if not default:
        assert field.default in (0, "", None, ())
    elif default in ("true", "false"):
        assert field.default is (default == "true")
    elif default == "QUANT_NONE":
        assert field.default.name == default
    else:
        assert field.default == float(default)


@needs_shared
def test_the_graph_tables_are_the_seed() -> None:
    seed = next((SHARED / "seeds").glob("001*")).read_text(encoding="utf-8")
    comments = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
    words = [comments.sub("", text).split() for text in (seed, (SCHEMAS / "ms.fbs").read_text(encoding="utf-8"))]
    assert words[0] == words[1]


def test_member_counts() -> None:
    assert (len(ms_v0_1.OPT.members), len(ms_v0_5.OPT.members)) == (37, 115)
    assert (ms_v0_1.OPT.members[6].__name__, ms_v0_5.OPT.members[6].__name__) == ("Squeeze", "BiasAdd")


def normal(value: Any) -> Any:
    """A document without what says nothing (flatc leaves it out), tensor data as its length, floats to six digits."""
    if isinstance(value, dict):
        return {
            key: {"bytes": len(each)} if key == "data" and isinstance(each, list) else normal(each)
            for key, each in value.items()
            if each not in (None, [], "", "NONE")
        }
    if isinstance(value, list):
        return [normal(each) for each in value]
    return round(value, 6) if isinstance(value, float) else value


def by_flatc(data: bytes, schema: Path, folder: Path) -> Any:
    file = folder / "x.ms"
    file.write_bytes(data)
    command = ["flatc", "--json", "--raw-binary", "--defaults-json", "--strict-json", "-o", str(folder)]
    subprocess.run([*command, str(schema), "--", str(file)], check=True, capture_output=True)
    return normal(json.loads((folder / "x.json").read_text(encoding="utf-8")))


def ours(data: bytes) -> Any:
    return normal(json.loads(json.dumps(table_document(read_graph_def(data)))))


FLATC_SAMPLE = (
    "conv2d_pads", "q_ptq_conv", "detpost_regular", "upsample_lin", "embedsparse_0", "lrn_0", "subgraphs_2",
    "a_conv", "a_quant_channel", "a_detpost", "a_slice", "a_net_lenet", "net_mobile_nhwc", "addn_3",
)  # fmt: skip


@needs_flatc
def test_the_example_reads_as_flatc_reads_it(tmp_path: Path) -> None:
    data = (ROOT / "examples" / "lenet.ms").read_bytes()
    assert ours(data) == by_flatc(data, GENERATIONS["B"][1], tmp_path)


@needs_flatc
@needs_shared
@pytest.mark.parametrize("name", FLATC_SAMPLE)
def test_files_read_as_flatc_reads_them(name: str, tmp_path: Path) -> None:
    data = (SHARED / "graphs" / "ms" / f"{name}.ms").read_bytes()
    _, schema = GENERATIONS[generation(read_graph_def(data))]
    assert ours(data) == by_flatc(data, schema, tmp_path)


@needs_flatc
@needs_shared
@pytest.mark.parametrize("name", FLATC_SAMPLE)
def test_flatc_reads_what_we_write(name: str, tmp_path: Path) -> None:
    graph_def = read_graph_def((SHARED / "graphs" / "ms" / f"{name}.ms").read_bytes())
    data = write(graph_def)
    _, schema = GENERATIONS[generation(graph_def)]
    assert ours(data) == by_flatc(data, schema, tmp_path)
