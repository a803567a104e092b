"""What `emu run` was asked for: the recipe of the run, and what to show and keep of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from emu.cli.options import Model
from emu.errors import CommandLineError

if TYPE_CHECKING:
    from emu.host.spec import RunSpec

TRACE_FORMATS = ("text", "jsonl", "perfetto", "fw-actions")
TRACE_TO_STDOUT = ""
_REGISTERS = "registers"


def register_trace(text: str) -> tuple[str, bool]:
    """Where a trace goes, and whether it tells of the registers of a card too: `registers`, `registers:FILE`, `FILE`.

    (A file of that name is `./registers`.)
    """
    if text == _REGISTERS:
        return TRACE_TO_STDOUT, True
    if not text.startswith(f"{_REGISTERS}:"):
        return text, False
    path = text.removeprefix(f"{_REGISTERS}:")
    if not path:
        raise CommandLineError(f"--trace={text} needs the name of a file")
    return path, True


class RunOptions(Struct, frozen=True):
    """`spec` is what runs, `models` name its models, `device_ids` the devices to run on (`emu scan`). `trace`,
    `profile`: None off, "" on stdout, else a file. `registers`: the trace tells of accesses to the registers of a card
    too. `record_registers`: so does the recording."""

    models: tuple[Model, ...]
    spec: RunSpec
    device_ids: tuple[str, ...] = ()
    trace: str | None = None
    trace_format: str | None = None
    registers: bool = False
    as_json: bool = False
    timing: bool = False
    output_dir: str | None = None
    outputs: str | None = None
    until: str | None = None
    gear: str | None = None
    profile: str | None = None
    dump_all: str | None = None
    compare: str | None = None
    against: str | None = None
    tolerance: float | None = None
    memory_limit: int | None = None
    threads: int | None = None
    dump_memory: str | None = None
    coverage: bool = False
    dump_action_list: str | None = None
    coverage_file: str | None = None
    record: str | None = None
    record_registers: bool = False
    checkpoint: str | None = None
    resume: str | None = None
    breaks: tuple[str, ...] = ()
    step: bool = False
    break_script: str | None = None
    rules: bool = False
    draw: str | None = None
    labels: str | None = None
    score_threshold: float | None = None
    iou_threshold: float | None = None
    max_boxes: int | None = None

    @property
    def is_watched(self) -> bool:
        """Whether a debugger, a recording or a coverage file was asked for."""
        asked = (self.breaks, self.step, self.break_script, self.coverage_file, self.record)
        return any(one not in (None, (), False) for one in asked)

    def thresholds(self) -> dict[str, Any]:
        """What detection ops are to use instead of their own."""
        found = {
            "score_threshold": self.score_threshold,
            "iou_threshold": self.iou_threshold,
            "max_boxes": self.max_boxes,
        }
        return {name: value for name, value in found.items() if value is not None}

    def shown_options(self) -> list[str]:
        """The options given that say how results are read and shown, which only those of a HEF are."""
        shown = {"--draw": self.draw, "--labels": self.labels}
        return [*(name for name, value in shown.items() if value), *self.threshold_options()]

    def threshold_options(self) -> list[str]:
        """The names of those given."""
        return [f"--{name.replace('_', '-')}" for name in self.thresholds()]

    def hef_options(self) -> list[str]:
        """The options given that an OM or MS graph has no use for."""
        said = self.spec.reference
        names = ["--device-output"] * bool(self.spec.device_output) + ["--reference"] * bool(said.reference)
        names += [option for option in said.given() if option not in ("--input-mean", "--input-scale")]
        names += ["--compute"] * (self.spec.compute is not None) + ["--assume"] * bool(self.spec.assume)
        return names + self.shown_options()

    def picture_options(self) -> list[str]:
        """Those that only say how a picture is to be taken."""
        said = {
            "--fit": self.spec.fit,
            "--colour": self.spec.colour,
            "--input-mean": self.spec.reference.input_mean,
            "--input-scale": self.spec.reference.input_scale,
        }
        return [name for name, value in said.items() if value is not None]
