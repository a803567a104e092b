"""The page of `emu report`: its figures are the commands', nothing of a file acts in it, and a browser takes it."""

from __future__ import annotations

import itertools
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, get_args

import pytest

from emu.cli.main import main
from emu.host.spec import HefSettings
from emu.report import ModelFacts, model_facts, page
from emu.report.curves import Series, curves
from emu.report.facts import LINKS
from emu.report.lanes import MOST_MARKS, LaneSink
from emu.report.pictures import Node, layered
from emu.report.render import ADVICE, DRAWN_BATCHES
from emu.timing.model import Bound
from emu.trace.events import Event, Kind
from tests.conftest import ROOT, SHARED, needs_shared
from tests.report.browser import Browser, browser, needs_browser
from tests.report.many_contexts import many_contexts

EXAMPLES = ROOT / "examples"
MODELS = [EXAMPLES / name for name in ("two_context.hef", "configured.hef", "digits.hef", "lenet.ms")]


class Page(HTMLParser):
    """Every element with its attributes, and the text of all."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def written(tmp_path: Path, capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    target = tmp_path / "page.html"
    with pytest.raises(SystemExit) as ended:
        main(["report", *map(str, arguments), "-o", str(target)])
    capsys.readouterr()
    assert ended.value.code == 0
    return target.read_text()


def printed(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> dict[str, Any]:
    with pytest.raises(SystemExit) as ended:
        main([*map(str, arguments), "--json"])
    assert ended.value.code == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


@pytest.mark.parametrize("model", MODELS, ids=lambda path: path.name)
def test_a_page_stands_alone(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No address that is not a place in the page: it opens from disk and asks nobody for anything."""
    html = written(tmp_path, capsys, model, "--run")
    addresses = re.findall(r"""(?:src|href|srcset|data|action)\s*=\s*["']?([^"'\s>]+)""", html)
    assert all(address.startswith("#") for address in addresses)
    assert "url(" not in html and "@import" not in html and "http" not in html.replace("http-equiv", "")
    assert len(html) < 2 << 20


def test_its_figures_are_those_of_estimate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    html = written(tmp_path, capsys, EXAMPLES / "two_context.hef")
    expected = printed(capsys, "estimate", EXAMPLES / "two_context.hef", "--batch", "1,2,4,8,16,32,63")
    (embedded,) = re.findall(r'<script type="application/json" id="figures">(.*?)</script>', html)
    (model,) = json.loads(embedded)
    drawn = [
        batch if batch["batch"] in DRAWN_BATCHES else {key: batch[key] for key in batch if key != "contexts"}
        for batch in expected["batches"]
    ]
    assert model["estimates"][0]["batches"] == drawn
    text = " ".join(Page(html).texts)
    for batch in expected["batches"]:
        if batch["batch"] in (1, 8):
            assert f"{batch['fps']:,.2f} FPS" in text
    assert f"{expected['batches'][0]['first_frame_latency_ms']:,.3f} ms" in text


def test_every_bound_has_advice() -> None:
    assert set(ADVICE) == set(get_args(Bound))


def test_its_floor_plan_is_that_of_inspect(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    html = written(tmp_path, capsys, EXAMPLES / "configured.hef")
    chip = printed(capsys, "inspect", EXAMPLES / "configured.hef", "--chip")["chip"]
    units = [cluster for entry in chip for cluster in entry["clusters"]]
    lit = sum(attributes.get("class") == "cell on" for _, attributes in Page(html).elements)
    assert lit == sum(
        len(cluster[key]) for cluster in units for key in ("lcus", "sub_clusters", "input_aligners", "apus")
    )
    blocks = sum(attributes.get("class") in ("cell program", "cell data") for _, attributes in Page(html).elements)
    assert blocks == sum(len(cluster["l3_blocks"]) for cluster in units)


def test_a_run_gives_lanes_and_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    html = written(tmp_path, capsys, EXAMPLES / "two_context.hef", "--run", "--frames", "3")
    run = printed(capsys, "run", EXAMPLES / "two_context.hef", "--frames", "3")
    text = " ".join(Page(html).texts)
    assert f"{run['network_groups'][0]['simulated_ns']:,} ns simulated" in " ".join(text.split())
    for lane in ("dynamic_0", "dynamic_1", "channel 16 (D2H)", "cluster 0 LCU 0"):
        assert lane in text


def test_the_same_facts_give_the_same_bytes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hefs = [path for path in MODELS if path.suffix == ".hef"]
    pages = {written(tmp_path, capsys, *hefs, "--run") for _ in range(2)}
    assert len(pages) == 1


HOSTILE = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(1)>\x1b[31m"


def test_nothing_of_a_file_acts_in_the_page() -> None:
    facts = model_facts(EXAMPLES / "two_context.hef", HefSettings())
    document = json.loads(json.dumps(facts.hef).replace("two_context", json.dumps(HOSTILE)[1:-1]))
    hostile = ModelFacts(HOSTILE, "hef", hef=document, groups=facts.groups, accepted=[HOSTILE], refused=HOSTILE)
    plain = Page(page([facts]))
    found = Page(page([hostile]))
    scripts = [attributes for tag, attributes in found.elements if tag == "script"]
    assert scripts == [attributes for tag, attributes in plain.elements if tag == "script"]
    assert "img" not in {tag for tag, _ in found.elements}
    assert not any(name.startswith("on") for _, attributes in found.elements for name in attributes)
    assert "\x1b" not in page([hostile])


def test_refused_files_stand_beside_the_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "broken.hef"
    broken.write_bytes(b"\x01HEF" + bytes(20))
    html = written(tmp_path, capsys, broken, EXAMPLES / "two_context.hef")
    with pytest.raises(SystemExit):
        main(["inspect", str(broken)])
    line = capsys.readouterr().err.strip().removeprefix("emu: error: ").removesuffix(f" (file {broken})")
    assert line in html and 'role="alert"' in html and "two_context/conv2" in html


def test_options_without_effect_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["report", str(EXAMPLES / "two_context.hef"), "--frames", "3", "-o", str(tmp_path / "x.html")])
    assert ended.value.code == 2 and "--frames: no effect on a report without --run" in capsys.readouterr().err
    assert not (tmp_path / "x.html").exists()


def test_lanes_are_bounded() -> None:
    sink = LaneSink()
    sink.write([Event(n, Kind.TRANSFER, 0, "dynamic_0", unit="channel 1", frame=n) for n in range(MOST_MARKS + 10)])
    sink.close()
    assert sum(len(lane.marks) for lane in sink.lanes()) == MOST_MARKS and sink.dropped == 10
    assert sink.span() == (0, MOST_MARKS + 9)


def test_curves_name_every_line_once_and_keep_names_apart() -> None:
    series = [Series(f"line {n}", [(1, 100 + n), (8, 200 + n)], [(90, 110), (180, 220)]) for n in range(5)]
    drawn = str(curves(series, "batch", "FPS"))
    heights = [float(y) for y in re.findall(r'class="name s\d" x="\d+" y="([\d.]+)"', drawn)]
    assert len(heights) == 5
    assert all(later - earlier >= 14 for earlier, later in itertools.pairwise(sorted(heights)))
    assert drawn.count("<circle") == 10 and drawn.count('class="band') == 5
    assert str(curves([], "batch", "FPS")) == ""


def test_a_graph_lies_below_what_leads_to_it() -> None:
    nodes = {name: Node(name) for name in "abcd"}
    drawn = str(
        layered(nodes, [("a", "b", ""), ("a", "c", ""), ("b", "d", ""), ("c", "d", ""), ("d", "a", "back")], "g")
    )
    height = {name: int(y) for y, name in re.findall(r'<rect x="-?\d+" y="(\d+)"[^>]*/><text[^>]*>(\w)<', drawn)}
    assert height["a"] < height["b"] == height["c"] < height["d"]


@needs_shared
@pytest.mark.parametrize("name", ["hef/fast_depth_ddr.v1.hailo8.hef", "om/tensorflow2_resnet20_quant8_8_retrain.om"])
def test_real_models_give_a_page(name: str) -> None:
    html = page([model_facts(SHARED / name, HefSettings(), run=True)])
    assert len(html) < 2 << 20 and "verdict good" in html


def test_its_curves_are_those_of_estimate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each point and each row of the tables beside them: the figure and the interval of `emu estimate --json`."""
    html = written(tmp_path, capsys, EXAMPLES / "two_context.hef")
    (over_batch, over_link) = re.findall(r'<svg class="curves.*?</svg>', html, re.DOTALL)
    expected = printed(capsys, "estimate", EXAMPLES / "two_context.hef", "--batch", "1,2,4,8,16,32,63")["batches"]
    says = [f"two_context, {one['batch']}: {figures(one)}" for one in expected]
    assert re.findall(r'aria-label="(two_context, [^"]*)"', over_batch) == says
    assert rows(html, "by-batch") == [
        [
            str(one["batch"]),
            f"{one['fps']:,.2f}",
            between(one),
            f"{one['sync_fps']:,.2f}",
            f"{one['first_frame_latency_ms']:,.3f}",
            one["bound_by"],
        ]
        for one in expected
    ]
    wanted_rows, wanted_points = [], {1: [], 8: []}
    for link in LINKS:
        document = printed(capsys, "estimate", EXAMPLES / "two_context.hef", "--batch", "1,8", "--link", link)
        for one in document["batches"]:
            wanted_rows.append([link, str(one["batch"]), f"{one['fps']:,.2f}", between(one), one["bound_by"]])
            wanted_points[one["batch"]].append(figures(one))
    assert [[row[0], *row[2:]] for row in rows(html, "by-link")] == wanted_rows
    found = re.findall(r'aria-label="batch (\d+), [\d.,]+: ([^"]*)"', over_link)
    assert {batch: [text for at, text in found if at == str(batch)] for batch in (1, 8)} == wanted_points


def figures(one: dict[str, Any]) -> str:
    low, high = one["fps_interval"]
    return f"{one['fps']:,.2f} ({low:,.2f} to {high:,.2f})"


def between(one: dict[str, Any]) -> str:
    low, high = one["fps_interval"]
    return f"{low:,.2f} to {high:,.2f}" if low < high else "the same"


def rows(html: str, table: str) -> list[list[str]]:
    """The texts of the cells of the body of the table of that class."""
    (found,) = re.findall(rf'<table class="{table}">.*?<tbody>(.*?)</tbody>', html, re.DOTALL)
    return [re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", found, re.DOTALL)]


def test_bands_are_as_wide_as_the_intervals() -> None:
    drawn = str(curves([Series("x", [(1, 100.0), (10, 1000.0)], [(50, 200), (500, 2000)])], "batch", "FPS"))
    (band,) = re.findall(r'class="band s0" d="M([^"]*)Z"', drawn)
    corners = [tuple(map(float, corner.split())) for corner in band.split("L")]
    (upper_left, upper_right, lower_right, lower_left) = corners
    centres = [(float(x), float(y)) for x, y in re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', drawn)]
    for (x, y), (_, high), (_, low) in zip(centres, (upper_left, upper_right), (lower_left, lower_right), strict=True):
        assert abs((y - high) - (low - y)) < 0.3  # half and twice are as far away on a logarithmic axis
        assert x in (upper_left[0], upper_right[0])


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of a HEF of 400 contexts, at the batches whose time it draws."""
    hef = tmp_path_factory.mktemp("chain") / "chain.hef"
    hef.write_bytes(many_contexts(400))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("emu.report.facts.BATCHES", DRAWN_BATCHES)
        return page([model_facts(hef, HefSettings())])


def test_a_page_of_400_contexts_stays_small(chain: str) -> None:
    assert len(chain) < 2 << 20 and chain.count("<") < 30_000
    (embedded,) = re.findall(r'<script type="application/json" id="figures">(.*?)</script>', chain)
    (model,) = json.loads(embedded)
    assert [len(batch["contexts"]) for batch in model["estimates"][0]["batches"]] == [400, 400]


@needs_browser
def test_a_browser_shows_it_without_complaint(tmp_path: Path, capsys: pytest.CaptureFixture[str], chain: str) -> None:
    written(tmp_path, capsys, *MODELS, "--run")
    (tmp_path / "chain.html").write_text(chain)
    with browser(tmp_path) as shown:
        for name in ("page.html", "chain.html"):
            shown.size(1280, 900)
            shown.open(tmp_path / name)
            assert shown.complaints() == []
            sliders = shown.evaluate("return document.querySelectorAll('input[type=range]').length")
            assert sliders == shown.evaluate("return document.querySelectorAll('.zoom').length") > 0
            _reachable(shown)
            _readable(shown)
            _prints(shown)
            for width in (360, 1280):  # what is wider scrolls in its own box
                shown.size(width, 900)
                assert shown.evaluate("return document.documentElement.scrollWidth") <= width


def _reachable(shown: Browser) -> None:
    """One stop of the tab key for each picture, whatever it holds; arrow keys go from part to part and say each."""
    stops = "return [...document.querySelectorAll('.walk')].map(p => p.querySelectorAll('[tabindex=\"0\"]').length)"
    assert set(shown.evaluate(stops)) == {1}
    shown.evaluate("document.querySelector('.curves [tabindex=\"0\"]').focus()")
    said = "return document.activeElement.getAttribute('aria-label')"
    first = shown.evaluate(said)
    shown.press("ArrowRight")
    second = shown.evaluate(said)
    assert first and second and first != second
    seen = "return getComputedStyle(document.activeElement.querySelector('.says')).visibility"
    assert shown.evaluate(seen) == "visible"
    shown.press("ArrowLeft")
    assert shown.evaluate(said) == first
    shown.press("Tab")
    left = "return document.activeElement.closest('.curves') !== document.querySelector('.curves')"
    assert shown.evaluate(left) is True
    assert set(shown.evaluate(stops)) == {1}


def _readable(shown: Browser) -> None:
    """Text has at least 4.5 times the light of its ground, or the other way round (WCAG 2.1, 1.4.3), in both themes."""
    grounds = set()
    for scheme in ("light", "dark"):
        shown.shows_as(color_scheme=scheme)
        ground, *texts = shown.evaluate(_COLOURS)
        grounds.add(ground)
        for text in texts:
            light, dark = sorted((_luminance(ground), _luminance(text)), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (scheme, ground, text)
    assert len(grounds) == 2


_COLOURS = """
const at = (element) => getComputedStyle(element);
const drawn = [...document.querySelectorAll(".curves text")].map((text) => at(text).fill);
const told = [...document.querySelectorAll("p, td, th, h1, h3, a, summary")].map((text) => at(text).color);
return [at(document.body).backgroundColor, ...new Set([...drawn, ...told])];
"""


def _luminance(colour: str) -> float:
    """Relative luminance of rgb(r, g, b), as WCAG defines it."""
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _prints(shown: Browser) -> None:
    """On paper a dark theme is light, nothing scrolls, and what was folded is there."""
    shown.shows_as("print", color_scheme="dark")
    assert shown.evaluate("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    hidden = "return [...document.querySelectorAll('.scroll')].filter(b => b.scrollHeight > b.clientHeight + 2).length"
    assert shown.evaluate(hidden) == 0
    folded = "return [...document.querySelectorAll('details:not([open]) table')].map(t => t.offsetHeight)"
    heights = shown.evaluate(folded)
    assert heights and min(heights) > 0
    shown.shows_as()


def test_traces_and_measured_files_are_told_by_their_lists(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The times of the lists are those that the file says: its last stamp less its first, at its clock."""
    measured = ROOT / "tests" / "data" / "fw_actions_two_context.json"
    trace = tmp_path / "x.jsonl"
    with pytest.raises(SystemExit):
        main(["run", str(ROOT / "examples" / "two_context.hef"), "--frames", "3", f"--trace={trace}"])
    html = written(tmp_path, capsys, measured, trace)
    (run,) = json.loads(measured.read_text())["runs"]
    for context in run["contexts"]:
        stamps = [action["timestamp"] for action in context["actions"] if action["timestamp"]]
        row = re.search(rf'<th scope="row">{context["context_name"]}</th>(.*)</tr>', html)
        if not stamps:
            continue
        assert row is not None
        runs, actions, micros = (cell.replace(",", "") for cell in re.findall(r">([\d.,]+)<", row[1]))
        assert runs == "1"
        assert int(actions) == sum(action["type"] != "repeated_action" for action in context["actions"])
        assert abs(float(micros) - (stamps[-1] - stamps[0]) / 200) < 0.01
    assert "Measured by the firmware" in html
    assert "Trace of a simulated run" in html
    assert "ENABLE_LCU_DEFAULT" in html
    alone = written(tmp_path, capsys, trace)
    assert "nothing here was measured on a chip" in alone


@pytest.mark.parametrize("name", ["none.hef", "."])
def test_a_file_that_cannot_be_read_is_no_report(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 3 (cli.md), and what stood there stays; a file that is refused for what it holds is a page."""
    page = tmp_path / "page.html"
    page.write_text("before")
    with pytest.raises(SystemExit) as stopped:
        main(["report", str(ROOT / "examples" / "digits.hef"), str(tmp_path / name), "-o", str(page)])
    assert stopped.value.code == 3 and len(capsys.readouterr().err.splitlines()) == 1
    assert page.read_text() == "before"
    (tmp_path / "damaged.hef").write_bytes(b"\x01HEF damaged")
    with pytest.raises(SystemExit) as stopped:
        main(["report", str(tmp_path / "damaged.hef"), "-o", str(page)])
    assert stopped.value.code == 0 and "HAILO_" in page.read_text()
