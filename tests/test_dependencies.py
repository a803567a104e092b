"""docs/dependencies.md names what pyproject.toml asks for, each with the floor and a licence that the package says."""

from __future__ import annotations

import importlib.metadata
import re
import tomllib

import pytest

from tests.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (ROOT / "docs" / "dependencies.md").read_text().splitlines()
    if re.match(r"\| [a-zA-Z]", line) and not line.startswith("| package")
]
LICENCES = {row[0]: row[-2] for row in ROWS}
# how packages spell a licence that has a shorter name
SPELLINGS = {
    "Apache Software License": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "apache-2.0": "Apache-2.0",
    "MIT License": "MIT",
    "BSD License": "BSD-3-Clause",
    "3-Clause BSD License": "BSD-3-Clause",
    "License agreement for matplotlib": "Matplotlib",
    "Python Software Foundation License": "PSF",
    "HPND": "MIT-CMU",
    "Historical Permission Notice and Disclaimer (HPND)": "MIT-CMU",
}


def asked(requirements: list[str]) -> dict[str, str]:
    """Package -> floor."""
    found = {}
    for requirement in requirements:
        name, _, floor = requirement.partition(">=")
        found[name] = floor or "any"
    return found


def test_every_dependency_is_listed_with_its_floor() -> None:
    assert {row[0]: row[1] for row in ROWS if len(row) == 4} == asked(PROJECT["dependencies"])
    extras: dict[str, tuple[list[str], str]] = {}
    for extra, requirements in PROJECT["optional-dependencies"].items():
        for name, floor in asked(requirements).items():
            extras.setdefault(name, ([], floor))[0].append(extra)
            assert extras[name][1] == floor, f"{name} has two floors"
    assert {row[0]: (row[1].split(", "), row[2]) for row in ROWS if len(row) == 5} == extras


@pytest.mark.parametrize("package", LICENCES)
def test_the_licence_is_what_the_package_says(package: str) -> None:
    try:
        metadata = importlib.metadata.metadata(package)
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"{package} is not installed")
    # the newest way to say it first; what none of them says cannot be held against the table
    said = [metadata.get("License-Expression"), (metadata.get("License") or "").split("\n")[0]]
    said += [one.rpartition(" :: ")[2] for one in metadata.get_all("Classifier") or [] if one.startswith("License")]
    words = [word for text in said if text for word in names_in(text)]
    if not words:
        pytest.skip(f"{package} says nothing of its licence")
    assert any(word in LICENCES[package] for word in words), (package, words)


def names_in(text: str) -> list[str]:
    for spelling, name in SPELLINGS.items():
        if text.startswith(spelling):
            return [name]
    return re.findall(r"[A-Za-z0-9.-]+", text)[:1]
