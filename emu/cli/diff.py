"""`emu diff`: compare two traces, two HEFs, one HEF under two runtimes, or two captures, by meaning."""

from __future__ import annotations

from pathlib import Path

import click
from msgspec.structs import asdict, replace

from emu.catalog import names
from emu.cli.colour import Tone, marked
from emu.cli.command import Command, Place
from emu.cli.compiling import compile_model
from emu.cli.diff_profiles import compare as compare_profiles
from emu.cli.diff_profiles import is_profile
from emu.cli.diff_recordings import are_recordings
from emu.cli.diff_recordings import compare as compare_recordings
from emu.cli.document import print_document
from emu.cli.options import FiniteRange, Model, Release, hef_options
from emu.cli.progress import progress
from emu.cli.screen import say
from emu.errors import CommandLineError, EmuError, ExitCode, HailoError, HailoStatus
from emu.files import shown
from emu.hef import Hef
from emu.hef.host_diff import NOT_COMPARED, HostDifference, host_differences
from emu.host.capture import load_capture
from emu.host.spec import COMPILING, HefSettings
from emu.recognise import foreign_name, read_head, recognise
from emu.sequencer.differences import Difference, differences, own_fields
from emu.trace import diff
from emu.trace.lists import ActionLists
from emu.trace.matching import Source
from emu.trace.reader import TraceReader, is_trace

MOST = 40
"""Differences of the host's side that are shown to a person."""
_ACTING = (*COMPILING, "clock_mhz", "link", "host_profile")


@click.command(cls=Command)
@click.argument("a", type=Place())
@click.argument("b", type=Place(), required=False)
@hef_options(_ACTING)
@click.option("--a-runtime", type=Release(), help="HEFs: the runtime to compile A for, as --runtime.")
@click.option("--b-runtime", type=Release(), help="HEFs: compile B for another runtime than A.")
@click.option("--b-device", type=click.Choice(names("chips")), help="HEFs: compile B for another device than A.")
@click.option("--tolerance", type=FiniteRange(min=0), metavar="PCT", help="Traces: compare simulated time too.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(
    a: str,
    b: str | None,
    common: HefSettings,
    a_runtime: str | None,
    b_runtime: str | None,
    b_device: str | None,
    tolerance: float | None,
    as_json: bool,
) -> int:
    """Compare A with B by meaning: what happened in two traces (JSONL), or what two HEFs or captures have a device do.

    A file of `hailortcli run2 measure-fw-actions` is compared with another, with a trace, or with a HEF, which is run
    in the same batches: action by action, in order and, with --tolerance, in time.

    Two recordings (folders that --record made) are compared record by record.

    Without B, A is compared with itself compiled for --b-runtime or --b-device. Exit code 6 where they differ.
    """
    if are_recordings(a, b):
        assert b is not None
        refused = [
            *common.given(),
            *["--a-runtime"] * (a_runtime is not None),
            *["--b-runtime"] * (b_runtime is not None),
        ]
        refused += ["--b-device"] * (b_device is not None) + ["--tolerance"] * (tolerance is not None)
        if refused:
            raise CommandLineError(f"{', '.join(refused)}: no effect on recordings")
        return compare_recordings(a, b, as_json)
    if b is not None and (is_profile(a) or is_profile(b)):
        given = {"--a-runtime": a_runtime, "--b-runtime": b_runtime, "--b-device": b_device}
        if refused := [name for name, value in given.items() if value is not None]:
            raise CommandLineError(f"{', '.join(refused)}: no effect on a profile")
        return compare_profiles(a, b, common, tolerance, as_json)
    if a_runtime is not None:
        if common.runtime is not None:
            raise CommandLineError("--runtime and --a-runtime: say one of them")
        common = replace(common, runtime=a_runtime)
    if b is None and b_runtime is None and b_device is None:
        raise CommandLineError("diff takes A and B, or one HEF with --b-runtime or --b-device")
    common_b = replace(common, runtime=b_runtime or common.runtime, device=b_device or common.device)
    (first, hef_a), (second, hef_b) = _source(a, common), _source(a if b is None else b, common_b)
    traces = isinstance(first, TraceReader)
    if traces is not isinstance(second, TraceReader):
        raise CommandLineError("a trace can be compared with a trace only (`emu run X.hef --trace=FILE` writes one)")
    refused = ["--tolerance"] * (tolerance is not None and not traces)
    refused += (["--b-runtime"] * (b_runtime is not None) + ["--b-device"] * (b_device is not None)) * traces
    if refused:
        raise CommandLineError(f"{', '.join(refused)}: not for {'traces' if traces else 'action lists'}")
    compiled = any(isinstance(one, ActionLists) and one.with_config for one in (first, second))
    common.refuse_but(COMPILING if compiled else (), "action lists" if compiled else "traces and captures")
    if isinstance(first, ActionLists) and isinstance(second, ActionLists):
        # a capture holds no configuration bytes, and those of two runtimes lie in other lists
        with_config = first.with_config and second.with_config and first.runtime == second.runtime
        without = own_fields(first.runtime, second.runtime) if first.runtime != second.runtime else frozenset()
        first = replace(first, with_config=with_config, without=without)
        second = replace(second, with_config=with_config, without=without)
    between: list[Difference] = []
    names_of = ""
    if isinstance(first, ActionLists) and isinstance(second, ActionLists) and first.runtime != second.runtime:
        between, names_of = list(differences(first.runtime, second.runtime)), f"{first.runtime} / {second.runtime}"
    readers = [one for one in (first, second) if isinstance(one, TraceReader)]
    with progress("comparing", sum(one.path.stat().st_size for one in readers)) as advance:
        for reader in readers:
            reader.advance = advance
        result = diff.compare(first, second, tolerance)
    host, left_out = _host_side(hef_a, hef_b, first, second) if b is not None else ([], [])
    left_out += _left_out(first, second, tolerance)
    equal = result.equal and not host
    if as_json:
        releases = {"differences": [one._asdict() for one in between]} if between else {}
        sides = {"equal": equal, "host": [asdict(one) for one in host], "not_compared": left_out}
        print_document(diff.document(result) | sides | releases)
    else:
        lines = [*diff.text(result, "equal in meaning" if equal else "lists and configuration: equal in meaning")]
        lines += [f"the host's side: {len(host):,} differences"] * bool(host)
        lines += [f"  {one.line()}" for one in host[:MOST]] + ["  …"] * (len(host) > MOST)
        for title, layout in (("rules that differ", False), ("only laid out otherwise", True)):
            found = [one for one in between if one.layout is layout]
            lines += [f"{title}, {names_of}"] * bool(found) + [f"  {one}" for one in found]
        tones = {"equal in meaning": Tone.GOOD, "first divergence:": Tone.BAD, "the host's side:": Tone.BAD}
        say(marked([*lines, f"not compared: {', '.join(left_out)}"], tones))
    return 0 if equal else ExitCode.DIFFERENT


def _host_side(a: Hef | None, b: Hef | None, first: Source, second: Source) -> tuple[list[HostDifference], list[str]]:
    """What the host does otherwise with two files, both read by the release of the first, and what of it is not
    compared."""
    if not isinstance(first, ActionLists) or not isinstance(second, ActionLists):
        return [], []
    if a is None or b is None:
        return [], ["the host's side (a capture has none)"]
    try:
        read = b if b.runtime == a.runtime else b.reopen(a.runtime)
        groups = [[group.name for group in one.program.network_groups] for one in (first, second)]
        return host_differences(a, read, zip(*groups, strict=False)), list(NOT_COMPARED)
    except EmuError as error:
        return [], [f"the host's side (HailoRT {a.runtime} does not read B: {error.name})", *NOT_COMPARED]


def _left_out(first: Source, second: Source, tolerance: float | None) -> list[str]:
    """What a comparison by meaning leaves out."""
    if not isinstance(first, ActionLists) or not isinstance(second, ActionLists):
        times = ["simulated time (--tolerance PCT does)"] if tolerance is None else []
        return [*times, "whether an action had to wait", "the order of what has no unit in common"]
    left = ["the order of what has no unit in common"]
    if not (first.with_config and second.with_config):
        left.append("configuration bytes")
    if first.without:
        left.append(f"fields of one release alone ({', '.join(sorted(first.without))})")
    return left


def _source(argument: str, common: HefSettings) -> tuple[Source, Hef | None]:
    """What an argument is, by its content; its HEF where it is one."""
    path = Path(argument)
    head = read_head(path)
    if is_trace(head):
        return TraceReader(path), None
    if head.lstrip()[:1] == b"{":
        return ActionLists(shown(argument), load_capture(path).program), None
    if foreign_name(head) is not None and head[:4] != b"\x01HEF":
        raise HailoError(
            HailoStatus.HAILO_INVALID_ARGUMENT,
            f"{shown(path)} is neither a trace, a HEF nor a capture but {foreign_name(head)}",
            file=shown(argument),
        )
    hef, program = compile_model(Model(shown(argument), recognise(head), path), common)
    return ActionLists(shown(argument), program, with_config=True), hef
