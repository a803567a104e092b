"""Verdicts as JUnit XML, as CI systems read it: a refusal is a failure, an unreadable file an error."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from emu.check.verdict import Verdict
from emu.errors import ExitCode


def junit(verdicts: Sequence[Verdict]) -> bytes:
    """One test suite with a test case a file; warnings are its output."""
    suite = ElementTree.Element(
        "testsuite",
        name="emu check",
        tests=str(len(verdicts)),
        failures=str(sum(one.exit_code == ExitCode.REFUSED or bool(one.failure) for one in verdicts)),
        errors=str(sum(one.exit_code not in (0, ExitCode.REFUSED) for one in verdicts)),
    )
    for one in verdicts:
        case = ElementTree.SubElement(
            suite, "testcase", classname=f"emu.check.{one.format}", name=_printable(str(one.path))
        )
        if one.error is not None:
            kind = "failure" if one.exit_code == ExitCode.REFUSED else "error"
            text = _printable(one.error.line())
            ElementTree.SubElement(case, kind, message=f"{one.state}: {text}", type=one.error.name).text = text
        elif one.failure:
            text = _printable(one.failure)
            ElementTree.SubElement(case, "failure", message=text, type="run").text = text
        lines = [line for line in (one.summary, one.where()) if line]
        lines += [f"warning: {warning}" for warning in one.warnings] + [f"note: {remark}" for remark in one.notes]
        if lines:
            ElementTree.SubElement(case, "system-out").text = _printable("\n".join(lines))
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites)
    data: bytes = ElementTree.tostring(suites, encoding="utf-8", xml_declaration=True)
    return data + b"\n"


def _printable(text: str) -> str:
    """Names out of a file may hold what XML 1.0 does not allow."""
    return "".join(letter if letter.isprintable() or letter == "\n" else "\N{REPLACEMENT CHARACTER}" for letter in text)
