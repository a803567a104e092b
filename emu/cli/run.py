"""`emu run`: parse the options, tell by content what the models are, hand over."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import click

from emu.cli.options import HefOptions, Model, compute_time_option, hef_options, open_model
from emu.errors import UsageError
from emu.recognise import Kind

TRACE_FORMATS = ("text", "jsonl", "perfetto", "fw-actions")
TRACE_TO_STDOUT = ""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What `emu run` was asked for. `trace`: None off, "" readable on stdout, else the file to write."""

    models: tuple[Model, ...]
    common: HefOptions = field(default_factory=HefOptions)
    trace: str | None = None
    trace_format: str | None = None
    as_json: bool = False
    timing: bool = False
    input: tuple[str, ...] = ()
    inputs: str | None = None
    output_dir: str | None = None
    outputs: str | None = None
    device_output: tuple[str, ...] = ()
    until: str | None = None
    actions: str | None = None
    compute_time: float | None = None
    schedule: str = "sequential"
    inject: tuple[str, ...] = ()
    dump_memory: str | None = None
    coverage: bool = False
    dump_action_list: str | None = None
    coverage_file: str | None = None
    record: str | None = None
    breaks: tuple[str, ...] = ()
    step: bool = False
    break_script: str | None = None


class _RunCommand(click.Command):
    """A command whose `--trace` may stand without a value (then it never swallows the next argument)."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, ["--trace=" if arg == "--trace" else arg for arg in args])


@click.command(cls=_RunCommand)
@click.argument("models", nargs=-1, metavar="MODEL...")
@hef_options
@click.option("--trace", metavar="[=FILE]", help="Print a readable line per event, or write FILE.")
@click.option("--trace-format", type=click.Choice(TRACE_FORMATS), help="Format of the trace file (default jsonl).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("--timing", is_flag=True, help="Also show wall-clock figures.")
@click.option("--input", multiple=True, metavar="NAME=FILE", help="Input frames, .npy or .bin.")
@click.option("--inputs", metavar="FILE.npz", help="Several inputs at once.")
@click.option("--output-dir", metavar="DIR", help="Keep every output as NN_NAME.npy.")
@click.option("--outputs", metavar="FILE.npz", help="Keep all outputs in one file.")
@click.option("--device-output", multiple=True, metavar="NAME=FILE.bin", help="Real bytes of a device stream.")
@click.option("--until", metavar="OP", help="OM/MS: compute only what precedes OP and show its inputs.")
@click.option("--actions", metavar="FILE", help="Execute the action lists of a capture instead of a model.")
@compute_time_option
@click.option(
    "--schedule",
    type=click.Choice(("sequential", "round-robin")),
    default="sequential",
    help="Several network groups: one after the other, or a batch of each in turn.",
)
@click.option("--inject", multiple=True, metavar="FAULT", help="Inject a fault (docs/device.md).")
@click.option("--dump-memory", metavar="FILE", help="Write the registers and memory of the chip at the end.")
@click.option("--dump-action-list", metavar="FILE", help="Write what `hailortcli fw-control action-list` writes.")
@click.option("--coverage", is_flag=True, help="Show which actions and statuses the run touched.")
@click.option("--coverage-file", metavar="FILE", help="Merge what the run touched into FILE (`emu coverage` shows it).")
@click.option("--record", metavar="DIR", help="Keep control messages, register accesses, transfers for `emu replay`.")
@click.option("--break", "breaks", multiple=True, metavar="PLACE", help="Stop at CONTEXT:INDEX or write:ADDRESS.")
@click.option("--step", is_flag=True, help="Stop before the first action.")
@click.option("--break-script", metavar="FILE", help="Debugger commands to use in place of the prompt.")
def command(
    models: tuple[str, ...],
    common: HefOptions,
    trace: str | None,
    trace_format: str | None,
    as_json: bool,
    timing: bool,
    input: tuple[str, ...],
    inputs: str | None,
    output_dir: str | None,
    outputs: str | None,
    device_output: tuple[str, ...],
    until: str | None,
    actions: str | None,
    compute_time: float | None,
    schedule: str,
    inject: tuple[str, ...],
    dump_memory: str | None,
    coverage: bool,
    dump_action_list: str | None,
    coverage_file: str | None,
    record: str | None,
    breaks: tuple[str, ...],
    step: bool,
    break_script: str | None,
) -> None:
    """Execute HEFs on the simulated device, or an OM/MS graph on the numpy reference executor."""
    if as_json and trace == TRACE_TO_STDOUT:
        raise UsageError("--json prints one document; a trace beside it needs --trace=FILE")
    if trace_format is not None and trace is None:
        raise UsageError("--trace-format without --trace")
    for option, value in (("--output-dir", output_dir), ("--outputs", outputs)):
        if value == "":
            raise UsageError(f"{option} needs the name of a place to write to")
    options = RunOptions(
        models=tuple(open_model(model) for model in models),
        common=common,
        trace=trace,
        trace_format=trace_format,
        as_json=as_json,
        timing=timing,
        input=input,
        inputs=inputs,
        output_dir=output_dir,
        outputs=outputs,
        device_output=device_output,
        until=until,
        actions=actions,
        compute_time=compute_time,
        schedule=schedule,
        inject=inject,
        dump_memory=dump_memory,
        coverage=coverage,
        dump_action_list=dump_action_list,
        coverage_file=coverage_file,
        record=record,
        breaks=breaks,
        step=step,
        break_script=break_script,
    )
    if bool(models) == (actions is not None):
        raise UsageError("run takes one or more MODELs, or --actions FILE")
    if actions is not None:
        from emu.cli import run_hef

        run_hef.run_capture(options)
        return
    kinds = {model.kind for model in options.models}
    if kinds == {Kind.HEF}:
        if until is not None:
            raise UsageError("--until is for OM and MS graphs")
        from emu.cli import run_hef

        run_hef.run(options)
        return
    if len(options.models) > 1:
        raise UsageError(f"several models at once must all be HEFs; an OM or MS graph runs alone ({len(models)} given)")
    refused = common.given() + ["--trace"] * (trace is not None) + ["--device-output"] * bool(device_output)
    refused += ["--compute-time"] * (compute_time is not None) + ["--inject"] * bool(inject)
    refused += ["--schedule"] * (schedule != "sequential") + ["--dump-memory"] * (dump_memory is not None)
    refused += ["--coverage"] * coverage + ["--dump-action-list"] * (dump_action_list is not None)
    refused += ["--coverage-file"] * (coverage_file is not None) + ["--record"] * (record is not None)
    refused += ["--break"] * bool(breaks) + ["--step"] * step + ["--break-script"] * (break_script is not None)
    if refused:
        raise UsageError(f"{', '.join(refused)}: not for OM and MS graphs", file=models[0])
    # numpy's products round differently with every number of threads, which would be that of the machine; its library
    # reads the variable when it is loaded
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from emu.cli import run_graph

    run_graph.run(options)
