"""`emu diff`: compare two traces, two HEFs, one HEF under two runtimes, or two captures, by meaning."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import click

from emu.cli.compiling import compile_model
from emu.cli.document import print_document
from emu.cli.options import DEVICES, FiniteRange, HefOptions, Model, hef_options
from emu.cli.progress import progress
from emu.errors import HailoError, HailoStatus, UsageError
from emu.files import shown
from emu.hw.capture import load_capture
from emu.recognise import foreign_name, read_head, recognise
from emu.sequencer.actions import RUNTIMES
from emu.trace import diff
from emu.trace.lists import ActionLists
from emu.trace.matching import Source
from emu.trace.reader import TraceReader, is_trace

DIFFERENT = 6


@click.command()
@click.argument("a")
@click.argument("b", required=False)
@hef_options
@click.option("--b-runtime", type=click.Choice(RUNTIMES), help="HEFs: compile B for another runtime than A.")
@click.option("--b-device", type=click.Choice(DEVICES), help="HEFs: compile B for another device than A.")
@click.option("--tolerance", type=FiniteRange(min=0), metavar="PCT", help="Traces: compare simulated time too.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(
    a: str,
    b: str | None,
    common: HefOptions,
    b_runtime: str | None,
    b_device: str | None,
    tolerance: float | None,
    as_json: bool,
) -> int:
    """Compare A with B by meaning: what happened in two traces (JSONL), or what two HEFs or captures have a device do.

    Without B, A is compared with itself compiled for --b-runtime or --b-device. Exit code 6 where they differ.
    """
    if b is None and b_runtime is None and b_device is None:
        raise UsageError("diff takes A and B, or one HEF with --b-runtime or --b-device")
    common_b = replace(common, runtime=b_runtime or common.runtime, device=b_device or common.device)
    first, second = _source(a, common), _source(a if b is None else b, common_b)
    traces = isinstance(first, TraceReader)
    if traces is not isinstance(second, TraceReader):
        raise UsageError("a trace can be compared with a trace only (`emu run X.hef --trace=FILE` writes one)")
    refused = ["--tolerance"] * (tolerance is not None and not traces)
    refused += (["--b-runtime"] * (b_runtime is not None) + ["--b-device"] * (b_device is not None)) * traces
    if refused:
        raise UsageError(f"{', '.join(refused)}: not for {'traces' if traces else 'action lists'}")
    if isinstance(first, ActionLists) and isinstance(second, ActionLists):
        # a capture holds no configuration bytes, and those of two runtimes lie in other lists
        with_config = first.with_config and second.with_config and first.runtime == second.runtime
        first, second = replace(first, with_config=with_config), replace(second, with_config=with_config)
    readers = [one for one in (first, second) if isinstance(one, TraceReader)]
    with progress("comparing", sum(one.path.stat().st_size for one in readers)) as advance:
        for reader in readers:
            reader.advance = advance
        result = diff.compare(first, second, tolerance)
    if as_json:
        print_document(diff.document(result))
    else:
        sys.stdout.writelines(f"{line}\n" for line in diff.text(result))
    return 0 if result.equal else DIFFERENT


def _source(argument: str, common: HefOptions) -> Source:
    """What an argument is, by its content."""
    path = Path(argument)
    head = read_head(path)
    if is_trace(head):
        return TraceReader(path)
    if head.lstrip()[:1] == b"{":
        return ActionLists(shown(argument), load_capture(path).program)
    if foreign_name(head) is not None and head[:4] != b"\x01HEF":
        raise HailoError(
            HailoStatus.HAILO_INVALID_ARGUMENT,
            f"{shown(path)} is neither a trace, a HEF nor a capture but {foreign_name(head)}",
            file=shown(argument),
        )
    _, program = compile_model(Model(shown(argument), recognise(head), path), common)
    return ActionLists(shown(argument), program, with_config=True)
