"""`emu run`: parse the options, tell by content what the models are, hand over."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import click

from emu.cli.command import Command
from emu.cli.options import FiniteRange, Whole, compute_time_option, hef_options, open_model
from emu.cli.reference_options import reference_options
from emu.cli.run_options import TRACE_FORMATS, TRACE_TO_STDOUT, RunOptions, register_trace
from emu.errors import CommandLineError
from emu.host.spec import HefSettings
from emu.recognise import Kind
from emu.reference.options import ReferenceOptions

_WRITTEN = {".json", ".jsonl", ".trace", ".txt", ".log", ".perfetto", ".pftrace", ".perfetto-trace", ".pb"}


class _RunCommand(Command):
    """A command whose `--trace`, `--profile` and `--compute` may stand without a value (then they never swallow the
    next argument)."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        alone = {"--trace": "--trace=", "--profile": "--profile=", "--compute": "--compute=strict"}
        for option, value in pairwise(args):
            if option in alone and _is_meant_as_value(option, value):
                raise CommandLineError(f"{option} {value}: its value stands behind an equals sign, {option}={value}")
        return super().parse_args(ctx, [alone.get(arg, arg) for arg in args])


def _is_meant_as_value(option: str, word: str) -> bool:
    """Whether a word behind an option that may stand alone was to be its value, not a model."""
    if option == "--compute":
        return word in ("strict", "partial", "off")
    return not word.startswith("-") and (Path(word).suffix.lower() in _WRITTEN or word == "registers")


@click.command(cls=_RunCommand)
@click.argument("models", nargs=-1, metavar="MODEL...")
@hef_options()
@click.option("-s", "--device-id", "device_ids", multiple=True, metavar="ID", help="The device of that id (emu scan).")
@click.option(
    "--trace", metavar="[=FILE]", help="A readable line per event, or FILE; =registers[:FILE] a card's registers too."
)
@click.option("--trace-format", type=click.Choice(TRACE_FORMATS), help="Format of the trace file (default jsonl).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("--timing", is_flag=True, help="Also show wall-clock figures.")
@click.option("--input", multiple=True, metavar="[NAME=]FILE", help="Input frames: .npy, .bin or pictures.")
@click.option("--inputs", metavar="FILE.npz", help="Several inputs at once.")
@click.option("--output-dir", metavar="DIR", help="Keep every output as NN_NAME.npy.")
@click.option("--outputs", metavar="FILE.npz", help="Keep all outputs in one file.")
@click.option("--device-output", multiple=True, metavar="NAME=FILE.bin", help="Real bytes of a device stream.")
@click.option("--compute", metavar="[=MODE]", help="Compute outputs: strict (all or refuse), partial, off (README).")
@click.option("--assume", multiple=True, metavar="C.L.KEY=VALUE", help="Padding, stride, pool of a computed layer.")
@reference_options
@click.option("--fit", type=click.Choice(("letterbox", "resize", "none")), help="Pictures of another size (letterbox).")
@click.option("--colour", type=click.Choice(("rgb", "bgr")), help="Channel order that the network wants (rgb).")
@click.option("--draw", metavar="DIR", help="Write pictures with boxes, masks and labels, and maps of classes.")
@click.option("--labels", metavar="FILE", help="Names of the classes, one a line.")
@click.option("--score-threshold", type=FiniteRange(0, 1), metavar="P", help="Of detections, in place of the HEF's.")
@click.option("--iou-threshold", type=FiniteRange(0, 1), metavar="P", help="Of suppression, in place of the HEF's.")
@click.option("--max-boxes", type=Whole(1, 65535), metavar="N", help="Boxes of a class, in place of the HEF's.")
@click.option("--until", metavar="OP", help="OM/MS: compute only what precedes OP and show its inputs.")
@click.option("--profile", metavar="[=FILE]", help="OM/MS: what each op costs, and as a Perfetto trace in FILE.")
@click.option("--dump-all", metavar="DIR", help="OM/MS: keep every tensor as NN_NAME.npy.")
@click.option(
    "--compare", metavar="REF.npz", help="OM/MS: report the first tensor that differs from REF's by its name."
)
@click.option("--against", metavar="MODEL", help="OM/MS: report the first op whose results differ from MODEL's.")
@click.option(
    "--tolerance", type=FiniteRange(min=0), metavar="T", help="OM/MS: of the largest magnitude (default 1e-3)."
)
@click.option("--memory-limit", type=Whole(1), metavar="BYTES", help="OM/MS: what all tensors may take.")
@click.option("--threads", type=Whole(1, 64), metavar="N", help="OM/MS: threads that share the convolutions.")
@click.option("--gear", metavar="SIZES", help="OM: the batch or image size, of a model that has several.")
@click.option("--actions", metavar="FILE", help="Execute the action lists of a capture instead of a model.")
@click.option("--hef", metavar="FILE", help="With --actions: the HEF that the configuration bytes come from.")
@compute_time_option
@click.option(
    "--schedule",
    type=click.Choice(("sequential", "round-robin")),
    default="sequential",
    help="Several network groups: one after the other, or a batch of each in turn.",
)
@click.option("--inject", multiple=True, metavar="FAULT", help="Inject a fault (docs/device.md).")
@click.option("--hazards", type=click.Choice(("report", "stop")), help="Go on at a hazard, or end there (report).")
@click.option("--dump-memory", metavar="FILE", help="Write the registers and memory of the chip at the end.")
@click.option("--dump-action-list", metavar="FILE", help="Write what `hailortcli fw-control action-list` writes.")
@click.option("--coverage", is_flag=True, help="Show which actions and statuses the run touched.")
@click.option("--coverage-file", metavar="FILE", help="Merge what the run touched into FILE (`emu coverage` shows it).")
@click.option("--rules", is_flag=True, help="List the house rules that the run rested on, with their paragraphs.")
@click.option("--handlers", metavar="MODULE", help="Actions served by a module of your own (docs/hacking.md).")
@click.option("--record", metavar="DIR", help="Keep control messages, register accesses, transfers for `emu replay`.")
@click.option("--record-registers", is_flag=True, help="With --record: the accesses to a card's registers too.")
@click.option("--checkpoint", metavar="FILE@FRAME", help="Write the state of the run once FRAME frames are delivered.")
@click.option("--resume", metavar="FILE", help="Go on from a checkpoint of the same run (docs/device.md).")
@click.option("--break", "breaks", multiple=True, metavar="PLACE", help="Stop at CONTEXT:INDEX or write:ADDRESS.")
@click.option("--step", is_flag=True, help="Stop before the first action.")
@click.option("--break-script", metavar="FILE", help="Debugger commands to use in place of the prompt.")
def command(
    models: tuple[str, ...],
    common: HefSettings,
    device_ids: tuple[str, ...],
    trace: str | None,
    trace_format: str | None,
    as_json: bool,
    timing: bool,
    input: tuple[str, ...],
    inputs: str | None,
    output_dir: str | None,
    outputs: str | None,
    device_output: tuple[str, ...],
    compute: str | None,
    assume: tuple[str, ...],
    until: str | None,
    profile: str | None,
    dump_all: str | None,
    compare: str | None,
    against: str | None,
    tolerance: float | None,
    memory_limit: int | None,
    threads: int | None,
    gear: str | None,
    actions: str | None,
    hef: str | None,
    compute_time: float | None,
    schedule: str,
    inject: tuple[str, ...],
    hazards: str | None,
    dump_memory: str | None,
    coverage: bool,
    dump_action_list: str | None,
    coverage_file: str | None,
    rules: bool,
    handlers: str | None,
    record: str | None,
    record_registers: bool,
    checkpoint: str | None,
    resume: str | None,
    breaks: tuple[str, ...],
    step: bool,
    break_script: str | None,
    reference: ReferenceOptions,
    fit: str | None,
    colour: str | None,
    draw: str | None,
    labels: str | None,
    score_threshold: float | None,
    iou_threshold: float | None,
    max_boxes: int | None,
) -> int:
    """Execute HEFs on the simulated device, or an OM/MS graph on the numpy reference executor."""
    registers = False
    if trace is not None:
        trace, registers = register_trace(trace)
    if as_json and trace == TRACE_TO_STDOUT:
        raise CommandLineError("--json prints one document; a trace beside it needs --trace=FILE")
    if trace_format is not None and trace is None:
        raise CommandLineError("--trace-format without --trace")
    if record_registers and record is None:
        raise CommandLineError("--record-registers without --record")
    places = {"--output-dir": output_dir, "--outputs": outputs, "--draw": draw, "--dump-all": dump_all}
    for option, value in {**places, "--labels": labels}.items():
        if value == "":
            raise CommandLineError(f"{option} needs the name of a place to write to")
    if bool(models) == (actions is not None):
        raise CommandLineError("run takes one or more MODELs, or --actions FILE")
    from emu.host.spec import REPORT, RunSpec

    opened = tuple(open_model(model) for model in models)
    options = RunOptions(
        models=opened,
        device_ids=device_ids,
        spec=RunSpec(
            models=tuple(model.source for model in opened),
            settings=common,
            actions=actions,
            compute_time=compute_time,
            schedule=schedule,
            inject=inject,
            inputs=inputs,
            input=input,
            device_output=device_output,
            keep_outputs=bool(
                (output_dir or outputs or draw or labels or device_output or reference.reference)
                or any(one is not None for one in (score_threshold, iou_threshold, max_boxes))
            ),
            fit=fit,
            colour=colour,
            compute=compute,
            assume=assume,
            reference=reference,
            hazards=hazards or REPORT,
            hef=hef,
            handlers=handlers,
        ),
        trace=trace,
        trace_format=trace_format,
        registers=registers,
        as_json=as_json,
        timing=timing,
        output_dir=output_dir,
        outputs=outputs,
        until=until,
        profile=profile,
        dump_all=dump_all,
        compare=compare,
        against=against,
        tolerance=tolerance,
        memory_limit=memory_limit,
        threads=threads,
        gear=gear,
        dump_memory=dump_memory,
        coverage=coverage,
        dump_action_list=dump_action_list,
        coverage_file=coverage_file,
        record=record,
        record_registers=record_registers,
        checkpoint=checkpoint,
        resume=resume,
        breaks=breaks,
        step=step,
        break_script=break_script,
        rules=rules,
        draw=draw,
        labels=labels,
        score_threshold=score_threshold,
        iou_threshold=iou_threshold,
        max_boxes=max_boxes,
    )
    kinds = {model.kind for model in options.models}
    for_graphs: dict[str, object] = {
        "--until": until,
        "--gear": gear,
        "--profile": profile,
        "--dump-all": dump_all,
        "--compare": compare,
        "--against": against,
        "--tolerance": tolerance,
        "--memory-limit": memory_limit,
        "--threads": threads,
    }
    only = [name for name, value in for_graphs.items() if value is not None]
    if only and kinds <= {Kind.HEF}:
        raise CommandLineError(f"{', '.join(only)}: for OM and MS graphs only")
    if actions is not None:
        from emu.cli import run_hef

        run_hef.run(options)
        return 0
    if kinds == {Kind.HEF}:
        from emu.cli import run_hef

        run_hef.run(options)
        return 0
    if len(options.models) > 1:
        given = f"({len(models)} given)"
        raise CommandLineError(f"several models at once must all be HEFs; an OM or MS graph runs alone {given}")
    refused = common.given() + ["--trace"] * (trace is not None) + options.hef_options()
    refused += ["--device-id"] * bool(device_ids)
    refused += ["--compute-time"] * (compute_time is not None) + ["--inject"] * bool(inject)
    refused += ["--hef"] * (hef is not None)
    refused += ["--hazards"] * (hazards is not None)
    refused += ["--schedule"] * (schedule != "sequential") + ["--dump-memory"] * (dump_memory is not None)
    refused += ["--rules"] * rules + ["--handlers"] * (handlers is not None)
    refused += ["--coverage"] * coverage + ["--dump-action-list"] * (dump_action_list is not None)
    refused += ["--coverage-file"] * (coverage_file is not None) + ["--record"] * (record is not None)
    refused += ["--checkpoint"] * (checkpoint is not None) + ["--resume"] * (resume is not None)
    refused += ["--break"] * bool(breaks) + ["--step"] * step + ["--break-script"] * (break_script is not None)
    if refused:
        raise CommandLineError(f"{', '.join(refused)}: not for OM and MS graphs", file=models[0])
    from emu.cli import run_graph

    return run_graph.run(options)
