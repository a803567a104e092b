"""`emu run --checkpoint FILE@FRAME` and `--resume FILE`: the state of a run in a file (docs/device.md)."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from emu.chips.chips import Profile
from emu.cli.log import detail, note
from emu.cli.options import open_output
from emu.cli.run_options import RunOptions
from emu.cli.run_settings import recipe
from emu.errors import CommandLineError, HailoError
from emu.files import open_regular, shown
from emu.host.checkpoint import LARGEST, Checkpoint, resume, saving
from emu.host.prepare import PreparedRun
from emu.host.session import RunRequest, RunResult, run_program
from emu.host.world import refusal
from emu.numerals import whole_number
from emu.output import Output
from emu.sequencer.program import Program


@dataclass(slots=True)
class Checkpoints:
    """What a run writes (`name`, at `frame`) and what it goes on from (`begins`)."""

    recipe: dict[str, str]
    name: str | None = None
    frame: int = 0
    begins: Checkpoint | None = None
    output: Output | None = None

    @classmethod
    def of(cls, run: PreparedRun, options: RunOptions) -> Checkpoints:
        """UsageError, before anything runs, for what cannot be; HAILO_INVALID_ARGUMENT for another run's checkpoint."""
        refused = ["--handlers"] * (options.spec.handlers is not None)
        if options.resume is not None:
            refused += ["--record"] * (options.record is not None) + ["--break"] * bool(options.breaks)
            refused += ["--step"] * options.step
        if refused:
            which = "--resume" if options.resume is not None else "--checkpoint"
            raise CommandLineError(f"{', '.join(refused)}: not with {which}")
        found = cls(recipe(options.spec, run.request.measure_actions))
        if options.resume is not None:
            found.begins = read(options.resume, found.recipe)
        if options.checkpoint is not None:
            name, sign, frame = options.checkpoint.rpartition("@")
            if not (sign and name and frame.isascii() and frame.isdecimal()):
                raise CommandLineError(f"--checkpoint {options.checkpoint:.80}: FILE@FRAME, FRAME a whole number")
            found.name, found.frame = name, whole_number(frame, "--checkpoint FILE@FRAME: FRAME")
            frames = run.request.frames * len(run.program.network_groups)
            if not 1 <= found.frame <= frames:
                raise CommandLineError(f"--checkpoint at frame {found.frame}: the run has frames 1 to {frames}")
            if found.begins is not None and found.frame <= found.begins.frame:
                past = f"--resume begins at frame {found.begins.frame}"
                raise CommandLineError(f"--checkpoint at frame {found.frame}: {past}")
        return found

    def open(self, files: ExitStack) -> None:
        """OutputError where the system refuses the file."""
        self.output = open_output(self.name, files)

    def run(self, program: Program, profile: Profile, request: RunRequest) -> RunResult:
        """As `run_program`."""
        if self.output is not None:
            request = saving(request, self.frame, self.recipe, self._put)
        if self.begins is None:
            return run_program(program, profile, request)
        return resume(program, profile, request, self.begins)

    def _put(self, checkpoint: Checkpoint) -> None:
        assert self.output is not None
        data = checkpoint.encode()
        self.output.stream.write(data)
        self.output.commit()
        place = f"checkpoint {shown(self.output.path)}: frame {checkpoint.frame}, at {checkpoint.ns / 1e6:.3f} ms"
        if checkpoint.frame > self.frame:
            note(f"{place}: the first moment behind frame {self.frame} at which the run can be taken up again")
        else:
            detail(f"{place}, {len(data):,} bytes")


def read(name: str, recipe: dict[str, str]) -> Checkpoint:
    """The checkpoint in a file; raises as `open_regular`, HAILO_INVALID_ARGUMENT for a file that is none, or that of
    a run of another recipe."""
    with open_regular(Path(name)) as file:
        data = file.read(LARGEST + 1)
    try:
        if len(data) > LARGEST:
            raise refusal(f"larger than any checkpoint ({LARGEST} bytes)")
        found = Checkpoint.decode(data)
        found.check(recipe)
        return found
    except HailoError as error:
        error.where = {"file": shown(name)} | error.where
        raise
