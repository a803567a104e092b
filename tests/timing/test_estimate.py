"""What an estimate says about the given files and about made-up ones, checked by arithmetic done here."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from emu.chips import chips
from emu.cli.main import cli
from emu.errors import UsageError
from emu.hef import open_hef
from emu.hef.enums import HwArch
from emu.host.estimate import estimate
from emu.sequencer.compile import CompileOptions
from emu.timing.estimate import Estimate
from emu.timing.model import NS, network_compute
from emu.timing.workload import assumed_clock_hz
from tests.conftest import ROOT, SHARED, needs_shared
from tests.timing.cases import FILES

EXAMPLE = ROOT / "examples" / "two_context.hef"
BOUNDS = ("compute", "input dma", "output dma", "link", "host", "config reload", "pipeline fill")  # cli.md


def of(name: str, *batches: int, device: str | None = None, **settings: object) -> Estimate:
    hef = open_hef(SHARED / "hef" / name)
    return estimate(hef, CompileOptions(device=device), batches or (1,), **settings)  # type: ignore[arg-type]


def text(*arguments: str) -> str:
    result = CliRunner().invoke(cli, ["estimate", *arguments], catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def test_example_has_the_document_of_the_contract() -> None:
    document = json.loads(text(str(EXAMPLE), "--batch", "1,8", "--json"))
    assert list(document) == [
        "kind",
        "model",
        "device",
        "link",
        "host_profile",
        "batch_for_90_percent",
        "batches",
        "assumptions",
    ]
    assert document["kind"] == "estimate"
    assert [entry["batch"] for entry in document["batches"]] == [1, 8]
    for entry in document["batches"]:
        assert list(entry) == [
            "batch",
            "fps",
            "fps_interval",
            "sync_fps",
            "first_frame_latency_ms",
            "batch_wait_ms",
            "activation_ms",
            "deactivation_ms",
            "bound_by",
            "contexts",
        ]
        assert entry["bound_by"] in BOUNDS
        assert [context["index"] for context in entry["contexts"]] == [0, 1]
        for context in entry["contexts"]:
            assert list(context) == ["index", "config_ms", "compute_ms", "dma_ms", "switch_ms", "unexplained_ms"]
            assert all(context[name] >= 0 for name in context)
    for entry in document["assumptions"]:
        assert list(entry) == ["name", "value", "unit", "source"]
        assert entry["source"]


def test_the_same_arguments_print_the_same_bytes() -> None:
    assert text(str(EXAMPLE), "--json") == text(str(EXAMPLE), "--json")


def test_text_says_that_it_is_an_estimate_and_on_what_it_rests() -> None:
    out = text(str(EXAMPLE), "--batch", "1,8")
    assert out.startswith("estimate for ")
    for part in ("reaches 90 % of the limit", "latency of a first frame", "activation", "unexplained ms"):
        assert part in out
    assert "guesses that matter most, half to twice as large: " in out
    assert "[guessed: " not in out
    every = text(str(EXAMPLE), "--batch", "1,8", "--assumptions")
    listed = json.loads(text(str(EXAMPLE), "--batch", "1,8", "--json"))["assumptions"]
    assert every.count(f"  {listed[0]['name']} = ") == 1
    assert all(f"[{entry['source']}]" in every for entry in listed)


@needs_shared
def test_what_is_the_same_for_several_batches_is_said_once() -> None:
    out = text(str(SHARED / "hef" / "arcface_mobilefacenet.v1.hailo8.hef"), "--batch", "1,2,8")
    assert out.count("frames queued ahead") == out.count("latency of a first frame") == 1
    assert [line.split()[:2] for line in out.splitlines() if "a call" in line] == [
        ["one", "frame"],
        ["2", "frames"],
        ["8", "frames"],
    ]


@needs_shared
def test_single_context_says_that_batch_amortises_nothing() -> None:
    out = text(str(SHARED / "hef" / "arcface_mobilefacenet.v1.hailo8.hef"), "--batch", "1,8")
    assert "single context: batch does not amortise anything" in out
    one, eight = of("arcface_mobilefacenet.v1.hailo8.hef", 1, 8).batches
    assert one.fps == eight.fps


@needs_shared
@pytest.mark.parametrize("name", [path.name for path in FILES if "2ctx" not in path.name])
def test_single_context_is_the_slowest_of_its_stages(name: str) -> None:
    """Throughput from the file and the profile, computed here: the core, the DMA each way, the host."""
    result = of(name)
    profile = chips.load(result.device)
    hef = open_hef(SHARED / "hef" / name)
    fps = {core_op.network_group_metadata.bottleneck_fps for core_op in hef.core_ops()} - {0.0}
    (core_fps,) = fps
    figures = result.batches[0]
    assert figures.fps <= core_fps * (1 + 1e-12)
    assert figures.fps <= 1e9 / profile.host_frame_ns if profile.host_frame_ns else True
    if figures.bound_by == "compute":
        assert figures.fps == pytest.approx(core_fps)
    (context,) = figures.contexts
    assert context.compute_ms == pytest.approx(1e3 / core_fps)
    assert (context.config_ms, context.switch_ms, context.unexplained_ms) == (0.0, 0.0, 0.0)
    assert context.compute_ms + context.dma_ms == pytest.approx(1e3 / figures.fps)


@needs_shared
def test_a_ddr_portal_counts_as_traffic_in_both_directions() -> None:
    """fast_depth: 224x224x3 in, 112 rows of 6,656 bytes each way, against 1.637 GB/s (layer table of the file)."""
    figures = of("fast_depth_ddr.v1.hailo8.hef").batches[0]
    assert figures.fps == pytest.approx(1.637e9 / (224 * 224 * 3 + 112 * 6656), rel=1e-3)


@needs_shared
@pytest.mark.parametrize("batch", [1, 2, 8, 63])
def test_parts_of_the_contexts_add_up_to_the_batch(batch: int) -> None:
    figures = of("face_landmarks_lite_2ctx.v3.hailo1xh.hef", batch).batches[0]
    parts = sum(
        context.config_ms + context.compute_ms + context.dma_ms + context.switch_ms + context.unexplained_ms
        for context in figures.contexts
    )
    assert parts == pytest.approx(batch / figures.fps * 1e3)


@needs_shared
@pytest.mark.parametrize("device", ["hailo15h", "hailo10h"])
def test_batch_for_90_percent(device: str) -> None:
    """The smallest batch at 90 % of the limit, found by trying all of them."""
    hef = open_hef(SHARED / "hef" / "face_landmarks_lite_2ctx.v3.hailo1xh.hef")
    result = estimate(hef, CompileOptions(device=device), range(1, 64))
    fps = [round(figures.fps, 6) for figures in result.batches]
    # T(b) = fixed + b * interval while the contexts are the limit
    interval = (2 / fps[1] - 1 / fps[0]) if device == "hailo15h" else 1 / fps[-1]
    expected = next(batch for batch, value in enumerate(fps, 1) if value >= 0.9 / interval)
    assert result.batch_for_90_percent == expected
    assert fps == sorted(fps)


@needs_shared
@pytest.mark.parametrize("clock_mhz", [100, 200, 350])
def test_a_compute_bound_network_scales_with_the_clock(clock_mhz: int) -> None:
    name = "arcface_mobilefacenet.v1.hailo8.hef"
    nominal, slow = of(name).batches[0], of(name, clock_mhz=clock_mhz).batches[0]
    assert slow.fps == pytest.approx(nominal.fps * clock_mhz / 400)


@needs_shared
@pytest.mark.parametrize("command", ["estimate", "run"])
@pytest.mark.parametrize(
    ("name", "assumed"), [("hef/arcface_mobilefacenet.v1.hailo8.hef", 400), ("synth/hef/arch_h8r.hef", 200)]
)
@pytest.mark.parametrize("clock_mhz", [None, 100, 200])
def test_another_clock_than_the_compiler_assumed_is_warned_of_once(
    command: str, name: str, assumed: int, clock_mhz: int | None, capsys: pytest.CaptureFixture[str]
) -> None:
    from emu.cli.main import main

    arguments = [] if clock_mhz is None else ["--clock-mhz", str(clock_mhz)]
    with pytest.raises(SystemExit) as stop:
        main([command, str(SHARED / name), "--json", *arguments])
    assert stop.value.code == 0
    captured = capsys.readouterr()
    json.loads(captured.out)
    actual = clock_mhz or 400
    expected = f"compiled for {assumed} MHz, the NN clock is {actual} MHz: compute times are scaled"
    assert captured.err.count(expected) == captured.err.count("MHz: compute") == (actual != assumed)


@needs_shared
def test_a_narrow_link_is_named_as_the_limit() -> None:
    figures = of("fast_depth_ddr.v1.hailo8.hef", link="gen1x1").batches[0]
    assert figures.bound_by == "link"
    assert figures.fps == pytest.approx(250e6 * 128 / 148 / (224 * 224 * 3 + 112 * 6656), rel=1e-3)


@needs_shared
def test_given_compute_time() -> None:
    """--compute-time: from the last input byte to the outputs, whatever the file says."""
    figures = of("scrfd_2.5g.v3.hailo1xh.hef", compute_time_ns=3e6).batches[0]
    transfer = 640 * 640 * 3 / chips.load("hailo15h").dma_bytes_per_second * 1e3
    assert figures.first_frame_latency_ms == pytest.approx(transfer + 3.0, abs=0.02)
    assert figures.fps == pytest.approx(1e3 / 3.0)


@pytest.mark.parametrize("bottleneck", [0.0, -1.0, math.nan, math.inf, -math.inf, 1e-300, 1e300])
def test_impossible_figures_of_a_file_are_not_believed(bottleneck: float) -> None:
    profile = chips.load("hailo15h")
    compute = network_compute(bottleneck, math.nan, 2_000_000_000, profile, profile.nominal_nn_hz)
    assert compute.interval_ns == pytest.approx(2e9 / 20e12 * NS)
    nothing = network_compute(bottleneck, 1.0, 0, profile, profile.nominal_nn_hz)
    assert (nothing.interval_ns, nothing.after_ns) == (0.0, 0.0)
    assert "none" in nothing.source


@pytest.mark.parametrize("latency", [math.nan, math.inf, -1.0, 1e300, 0.0])
def test_an_impossible_latency_leaves_the_interval(latency: float) -> None:
    profile = chips.load("hailo8")
    compute = network_compute(100.0, latency, 0, profile, profile.nominal_nn_hz)
    assert (compute.interval_ns, compute.after_ns) == (1e7, 0.0)


@needs_shared
@pytest.mark.parametrize(("arguments", "noted"), [([], True), (["--network-group", "alpha"], False)])
def test_other_network_groups_are_mentioned(
    arguments: list[str], noted: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    from emu.cli.main import main

    with pytest.raises(SystemExit) as stop:
        main(["estimate", str(SHARED / "synth" / "hef" / "grp2_a.hef"), "--json", *arguments])
    assert stop.value.code == 0
    assert ("the first of 2 network groups" in capsys.readouterr().err) == noted


def test_no_batch_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="no batch size"):
        estimate(open_hef(EXAMPLE), CompileOptions(), ())


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--batch", "64"], 2),
        (["--batch", "0"], 2),
        (["--batch", "1,,2"], 2),
        (["--batch", "eight"], 2),
        (["--batch", "-1"], 2),
        (["--batch", "1.5"], 2),
        (["--batch", "1_0"], 2),
        (["--batch", "\N{ARABIC-INDIC DIGIT FOUR}"], 2),
        (["--batch", "9" * 5000], 2),
        (["--link", "gen9x4"], 2),
        (["--compute-time", "-1"], 2),
        (["--compute-time", "nan"], 2),
        (["--compute-time", "inf"], 2),
        (["--compute-time", "1e308"], 2),
        (["--table", "1,2,3x3x3"], 2),
    ],
)
def test_wrong_use(arguments: list[str], code: int) -> None:
    from emu.cli.main import main

    with pytest.raises(SystemExit) as stop:
        main(["estimate", str(EXAMPLE), *arguments])
    assert stop.value.code == code


def test_an_estimate_is_immutable() -> None:
    result = estimate(open_hef(EXAMPLE))
    with pytest.raises(AttributeError, match="immutable"):
        result.device = "hailo8"  # type: ignore[misc]


@needs_shared
def test_action_lists_in_ddr_take_the_same_time() -> None:
    """Where the lists lie changes how they are handed over, not how they run."""
    arguments = (str(SHARED / "hef" / "face_landmarks_lite_2ctx.v3.hailo1xh.hef"), "--batch", "1,8", "--json")
    assert text(*arguments, "--host", "HAILO_DDR_ACTION_LIST=1") == text(*arguments)


@pytest.mark.parametrize(("hw_arch", "clock_hz"), [(HwArch.HAILO8R, 200e6), (HwArch.HAILO8P, 400e6)])
def test_a_hailo_8r_hef_assumes_200_mhz(hw_arch: HwArch, clock_hz: float) -> None:
    hef: Any = SimpleNamespace(header=SimpleNamespace(hw_arch=hw_arch))
    assert assumed_clock_hz(hef, chips.load("hailo8")) == clock_hz


def test_estimating_imports_neither_simpy_nor_numpy() -> None:
    """They would be most of the time of the command."""
    code = (
        "import sys\n"
        "from emu.cli.main import cli\n"
        f"cli.main(['estimate', {str(EXAMPLE)!r}, '--json'], standalone_mode=False)\n"
        "print([name for name in ('simpy', 'numpy') if name in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
