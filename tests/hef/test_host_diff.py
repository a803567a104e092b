"""`emu diff` of two HEFs: the host's side too. The edits are made in the text of `disasm`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import DATA
from tests.trace.helpers import TWO_CONTEXT, Cli

YOLOV8 = DATA / "hef" / "nf_yolov8.hef"


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(capsys)


def edited(cli: Cli, folder: Path, source: Path, pattern: str, replacement: str) -> Path:
    """The file with one piece of its description replaced."""
    description, changed = folder / "x.yaml", folder / "changed.hef"
    assert cli("disasm", source, "-o", description) == 0
    text, count = re.subn(pattern, replacement, description.read_text(), count=1)
    assert count == 1, pattern
    description.write_text(text)
    assert cli("asm", description, "-o", changed) == 0
    return changed


@pytest.mark.parametrize(
    ("source", "pattern", "replacement", "paths"),
    [
        (YOLOV8, "nms_score_th: 0.3", "nms_score_th: 0.25", {"nms_score_th"}),
        (YOLOV8, "nms_iou_th: 0.6", "nms_iou_th: 0.45", {"nms_iou_th"}),
        (YOLOV8, "max_proposals_per_class: 20", "max_proposals_per_class: 30", {"max_proposals_per_class"}),
        (YOLOV8, "image_height: 64.0", "image_height: 32.0", {"image_height"}),
        # the stream's scale, and that of the vstream behind it
        (TWO_CONTEXT, "qp_scale: 0.003921569", "qp_scale: 0.0078", {"qp_scale"}),
    ],
)
def test_a_value_of_the_host_is_a_difference(
    cli: Cli, tmp_path: Path, source: Path, pattern: str, replacement: str, paths: set[str]
) -> None:
    """The device is told nothing of it: the lists and the configuration are equal."""
    changed = edited(cli, tmp_path, source, pattern, replacement)
    assert cli("diff", source, changed, "--json") == 6
    document = cli.document
    assert document["divergence"] is None
    assert not document["equal"]
    said = {one["path"].split()[-1] for one in document["host"]}
    assert paths <= said
    value = replacement.rpartition(" ")[2]
    numbers = [one["b"] for one in document["host"] if isinstance(one["b"], int | float)]
    assert any(abs(number - float(value)) < 1e-6 for number in numbers)
    assert cli("diff", source, changed) == 6
    assert "lists and configuration: equal in meaning" in cli.out
    assert paths.pop() in cli.out


def test_a_name_is_a_difference(cli: Cli, tmp_path: Path) -> None:
    changed = edited(
        cli, tmp_path, TWO_CONTEXT, r"(?s)(sorted_outputs_order: \[)two_context/conv2", r"\1two_context/conv3"
    )
    code = cli("diff", TWO_CONTEXT, changed)
    assert code in (3, 6)  # what no layer stands for is refused, or told


def test_the_same_file_is_equal_and_says_what_was_not_compared(cli: Cli) -> None:
    assert cli("diff", YOLOV8, YOLOV8, "--json") == 0
    assert cli.document["host"] == []
    assert "compiler and time of making" in cli.document["not_compared"]
    assert cli("diff", YOLOV8, "--a-runtime", "4.21", "--b-runtime", "4.23", "--json") == 0
    assert any("configuration bytes" in one for one in cli.document["not_compared"])


def test_two_releases_do_not_hide_a_threshold(cli: Cli, tmp_path: Path) -> None:
    changed = edited(cli, tmp_path, YOLOV8, "nms_score_th: 0.3", "nms_score_th: 0.25")
    assert cli("diff", YOLOV8, changed, "--a-runtime", "4.21", "--b-runtime", "4.23", "--json") == 6
    assert any(one["path"].endswith("nms_score_th") for one in cli.document["host"])


def test_traces_say_what_was_not_compared(cli: Cli, tmp_path: Path) -> None:
    trace = tmp_path / "x.jsonl"
    assert cli("run", TWO_CONTEXT, f"--trace={trace}") == 0
    assert cli("diff", trace, trace, "--json") == 0
    assert any("--tolerance" in one for one in cli.document["not_compared"])
    assert cli("diff", trace, trace, "--tolerance", 1, "--json") == 0
    assert not any("--tolerance" in one for one in cli.document["not_compared"])


def test_addresses_are_written_in_hex(cli: Cli) -> None:
    assert cli("diff", TWO_CONTEXT, "--b-runtime", "4.20") == 6
    assert "dma_address=0x10100000" in cli.out
    assert "total_desc_count 128 != 16" in cli.out  # runtimes.md 2
