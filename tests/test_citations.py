"""Every citation `name.md section` has its document in docs/reference (or docs) and its section there.

What a section is: a numbered heading (`### 4.5 …`), a lettered one (`## b. …`), a numbered line of a document that is a
list (`13. …`), a rule of graph-conventions.md (`OM-O12` is line `O12` under heading `OM-O`), or, behind a comma
(`cli.md, exit codes`), words of a heading. A `§ 4.5` in a reference is a section of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import ROOT

FOLDERS = ("emu", "tests", "benchmarks", "examples", "docs")
SUFFIXES = {".py", ".toml", ".proto", ".fbs", ".md", ".yaml", ".tsv"}
REFERENCES = ROOT / "docs" / "reference"
THIS = Path(__file__).resolve()

_GAP = r"(?: |\n[ \t]*(?:#|//)?[ \t]*)"
_NAME = r"(?<![\w./-])(?:docs/(?:reference/)?)?(?P<name>[a-z][a-z0-9]*(?:[.-][a-z0-9]+)*)\.md\b"
_PLACE = r"(?:(?:part )?(?:OM|MS)(?:-[A-Z]\d*)?|[A-Z]\d+|\d+(?:\.\d+)*[a-z]?|[a-z])(?![\w%])"
_JOINT = rf"(?:,{_GAP}(?:and )?|{_GAP}(?:and|to){_GAP}|-(?=\d))"
_CITATION = re.compile(
    rf"{_NAME}(?:{_GAP}(?P<places>{_PLACE}(?:{_JOINT}{_PLACE})*)|,{_GAP}(?P<words>[\w`][\w` -]*)(?= ?[):|]))?"
)
_OWN = re.compile(r"§ ?(\d+(?:\.\d+)*[a-z]?|[a-z])\b")
_RULE = re.compile(r"(?<![\w-])((?:OM|MS)-[A-Z]\d*)\b")
_NUMBERED = re.compile(r"^#+ (\d+(?:\.\d+)*[a-z]?)\.? ", re.MULTILINE)
_LETTERED = re.compile(r"^#+ ([a-z])\. ", re.MULTILINE)
_LISTED = re.compile(r"^(\d+)\. ", re.MULTILINE)
_RULES = re.compile(r"^#+ (?P<part>(?:OM|MS)(?:-[A-Z])?|Part (?:OM|MS)) |^(?P<rule>[A-Z]?\d+(?:\.\d+)?) ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Citation:
    """`name`.md, the sections it names (none: the whole document), or words of a heading; `line` is where it stands."""

    name: str
    places: tuple[str, ...]
    words: str
    line: int


def citations(text: str) -> Iterator[Citation]:
    """The citations in a file; one may go on behind a line break and a comment mark."""
    for match in _CITATION.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        yield Citation(match["name"], tuple(_places(match["places"] or "")), (match["words"] or "").strip("` "), line)


def _places(text: str) -> Iterator[str]:
    part = ""
    for place in re.findall(rf"(?<![\w.])(?!and\b|to\b){_PLACE}", text):
        rule = place.removeprefix("part ")
        if rule[:3] in ("OM-", "MS-"):
            part = rule[:3]
        elif part and rule[0].isupper():
            rule = part + rule  # MS-O10, O16
        yield rule


@cache
def document(name: str) -> Path | None:
    for folder in (REFERENCES, ROOT / "docs"):
        if (folder / f"{name}.md").is_file():
            return folder / f"{name}.md"
    return None


@cache
def sections(path: Path) -> frozenset[str]:
    text = path.read_text(encoding="utf-8")
    found = {*_NUMBERED.findall(text), *_LETTERED.findall(text)}
    if not found:
        found = set(_LISTED.findall(text))
    if path.stem == "graph-conventions":
        part = ""
        for match in _RULES.finditer(text):
            if match["part"]:
                part = match["part"].removeprefix("Part ")
                found.add(part)
            else:
                found.add(match["rule"] if match["rule"][0].isdigit() else part[:3] + match["rule"])
    return frozenset(found)


@cache
def headings(path: Path) -> str:
    return "\n".join(re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)).replace("`", "").lower()


def faults(path: Path, text: str) -> Iterator[str]:
    """What `text`, read as the file `path`, cites and nobody says: a line each."""
    for citation in citations(text):
        where = f"{path.relative_to(ROOT)}:{citation.line}: {citation.name}.md"
        target = document(citation.name)
        if target is None:
            yield f"{where}: there is no such document"
            continue
        for place in citation.places:
            if place not in sections(target):
                yield f"{where} {place}: there is no such section"
        if citation.words and citation.words.lower() not in headings(target):
            yield f"{where}, {citation.words}: no heading says so"
    for rule in _RULE.findall(text):
        if rule not in sections(REFERENCES / "graph-conventions.md"):
            yield f"{path.relative_to(ROOT)}: {rule}: graph-conventions.md has no such rule"
    if path.parent == REFERENCES:
        for place in _OWN.findall(text):
            if place not in sections(path):
                yield f"{path.relative_to(ROOT)}: § {place}: it has no such section"


def files() -> list[Path]:
    """What is searched: everything but this file, whose samples cite what does not exist."""
    found = [ROOT / "README.md"]
    for folder in FOLDERS:
        found += sorted(path for path in (ROOT / folder).rglob("*") if path.suffix in SUFFIXES and path.is_file())
    return [path for path in found if path != THIS]


def test_every_citation_has_its_section() -> None:
    found = [fault for path in files() for fault in faults(path, path.read_text(encoding="utf-8"))]
    assert not found, "\n".join(found)


def test_the_search_sees_the_citations() -> None:
    found = [citation for path in files() for citation in citations(path.read_text(encoding="utf-8"))]
    assert len(found) > 700
    assert sum(bool(citation.places) for citation in found) > 550


@pytest.mark.parametrize(
    ("text", "places", "words"),
    [
        ("(vdma.md 3.1, 3.6, 4).", ("3.1", "3.6", "4"), ""),
        ("hef-container.md 5.1's table", ("5.1",), ""),
        ("known-bugs.md 2, 14, 23 to 29).", ("2", "14", "23", "29"), ""),
        ("transforms.md 3-5).", ("3", "5"), ""),
        ("hef-container.md 1 and 2).", ("1", "2"), ""),
        ("firmware-actions.md 7, modules 51 and 37).", ("7",), ""),
        ("silicon-facts.md a, b, d).", ("a", "b", "d"), ""),
        ("silicon-facts.md f: 1,228,800 bytes", ("f",), ""),
        ("netflow-nms.md 9), saturated to 32 bits", ("9",), ""),
        ("hef-compile.md 2.2.1).", ("2.2.1",), ""),
        ("# read there (silicon-facts.md\n    # c, d)", ("c", "d"), ""),
        ("graph-conventions.md MS-Q4 to Q6, OM-O2", ("MS-Q4", "MS-Q6", "OM-O2"), ""),
        ("graph-conventions.md part MS; ms", ("MS",), ""),
        ("(cli.md, exit codes)", (), "exit codes"),
        ("(docs/timing.md, the model):", (), "the model"),
        ("| cli.md, what the outputs hold |", (), "what the outputs hold"),
        ("cli.md prescribes, with", (), ""),
    ],
)
def test_the_forms_of_a_citation(text: str, places: tuple[str, ...], words: str) -> None:
    (citation,) = citations(text)
    assert (citation.places, citation.words) == (places, words)
    assert not list(faults(ROOT / "README.md", text))


@pytest.mark.parametrize("text", ["hashlib.md5(data)", "vectors/cases.md 7", "data/README.md: many", "stored.md5"])
def test_what_is_no_citation(text: str) -> None:
    assert not list(citations(text))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\n(hef-compile.md 4.5, 4.99)", "README.md:2: hef-compile.md 4.99: there is no such section"),
        ("hef-compiler.md 4.5", "README.md:1: hef-compiler.md: there is no such document"),
        ("silicon-facts.md k", "README.md:1: silicon-facts.md k: there is no such section"),
        ("known-bugs.md 61", "README.md:1: known-bugs.md 61: there is no such section"),
        ("graph-conventions.md OM-O77", "README.md:1: graph-conventions.md OM-O77: there is no such section"),
        ("timing.md, house rules)", "README.md:1: timing.md, house rules: no heading says so"),
        ("(MS-T99)", "README.md: MS-T99: graph-conventions.md has no such rule"),
    ],
)
def test_a_citation_of_nothing_is_found(text: str, said: str) -> None:
    assert said in list(faults(ROOT / "README.md", text))


@pytest.mark.parametrize("path", sorted(REFERENCES.glob("*.md")), ids=lambda path: path.stem)
def test_a_reference_stands_alone(path: Path) -> None:
    """No path out of the repository, no word to the reader; each is in the table of the README."""
    text = path.read_text(encoding="utf-8")
    assert not re.findall(r"\.\./(?!\w+\.md\))|\bshared/|\bheld-back\b|\b[Yy]our?\b", text)
    assert path.stem == "README" or f"]({path.name})" in (REFERENCES / "README.md").read_text(encoding="utf-8")
