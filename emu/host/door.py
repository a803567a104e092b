"""The functions of `import emu` that put several rooms together (docs/api.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emu.errors import UsageError
from emu.hef import Hef
from emu.host.computing import OFF, STRICT
from emu.host.estimate import estimate as estimate_hef
from emu.host.prepare import PreparedRun, prepare
from emu.host.session import GroupResult, RunResult, Switch, run_program
from emu.host.spec import ESTIMATING, HefSettings, RunSpec
from emu.host.vstreams import UserFrames
from emu.naming import listed, similar
from emu.sequencer import compile as compiler
from emu.sequencer.host import HostSettings
from emu.sequencer.options import CompileOptions
from emu.sequencer.program import Direction, Program
from emu.timing.estimate import Estimate

if TYPE_CHECKING:
    from emu.reference.reference import Function

Source = str | Path | bytes | Hef


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """What `run` gives: per network group the figures of the command's JSON, times in simulated ns.

    `wall_ns`: from the first ENABLE to the last output of any group.
    `outputs`: {output vstream: array with a leading frames axis}, where they were asked for. `result` is the whole.
    """

    network_groups: tuple[GroupResult, ...]
    switches: tuple[Switch, ...]
    events: int
    wall_ns: int
    result: RunResult = field(repr=False)
    outputs: dict[str, Any] = field(default_factory=dict, repr=False)


def compile_hef(
    hef: Source,
    device: str | None = None,
    batch: int = 1,
    *,
    cluster_layout: int | None = None,
    network_group: str | None = None,
    net_batch: Mapping[str, int] | None = None,
    host: Mapping[str, str] | None = None,
    kv_cache: bool = False,
) -> Program:
    """Everything the runtime sends to a device for one configure call (`emu actions`).

    Parameters as the command's options; `device` None: the first of the HEF's architecture. Raises what `open_hef`
    raises, HailoError with the runtime's status where it refuses, IncompatibleError where the HEF is sound but not for
    this device.
    """
    options = CompileOptions(
        device=device,
        cluster_layout=cluster_layout,
        batch=batch,
        net_batch=dict(net_batch or {}),
        network_group=network_group,
        host=HostSettings.parse(host or {}),
        kv_cache=kv_cache,
    )
    return compiler.compile_hef(_opened(hef, None), options)


def run(
    source: Source | Sequence[Source],
    frames: int | None = None,
    inputs: Mapping[str, Any] | None = None,
    reference: str | Path | Function | Mapping[str, str | Path | Function] | None = None,
    *,
    keep_outputs: bool = False,
    **options: Any,
) -> FinishedRun:
    """What `emu run` does: compile, execute on the simulated device, take the figures.

    `source`: a HEF (path, bytes, opened), a capture (a path that ends in .json) or several HEFs for one device.
    `inputs`: {input vstream: array with a leading frames axis}, repeated in turn; None: seeded random. `frames` None:
    those given, else one batch. `reference`: what computes the outputs, as for `OpenDevice.configure`, or by network
    group. `keep_outputs`: give the outputs (as do `inputs` and `reference`), computed by the core where the whole
    network is read (`compute="strict"` or True, "partial", "off" or False; docs/network.md). All else as the command's
    options: `batch=8`, `device="hailo8l"`, `inject=("stall-channel:2",)` (`emu.host.spec.RunSpec.of`).

    Raises what `open_hef` and `compile_hef` raise, FirmwareError where the device stops with a status or stalls,
    UsageError for an option that does not exist or has no effect.
    """
    sources = [source] if isinstance(source, str | Path | bytes | Hef) else list(source)
    of_file = isinstance(reference, str | Path)
    if of_file:
        options["reference"] = reference
    if isinstance(options.get("compute"), bool):
        options["compute"] = STRICT if options["compute"] else OFF
    wanted = keep_outputs or inputs is not None or reference is not None
    if inputs is not None and frames is None:
        frames = max((len(array) for array in inputs.values()), default=None)
    prepared = prepare(RunSpec.of(*sources, frames=frames, keep_outputs=of_file, **options))
    users = _user_frames(prepared) if wanted else []
    if inputs is not None:
        prepared.request.inputs = _contents(users, inputs)
    prepared.request.keep_outputs = wanted
    if reference is not None and not of_file:
        from emu.reference.choose import choose_references

        groups = [user.group for user in users]
        by_group = reference if isinstance(reference, Mapping) else {group.name: reference for group in groups}
        prepared.request.outputs = choose_references(groups, by_group)
    elif wanted and reference is None:
        prepared.compute()
    result = run_program(prepared.program, prepared.profile, prepared.request)
    outputs = _outputs_of(users, result.groups)
    return FinishedRun(tuple(result.groups), tuple(result.switches), result.events, result.wall_ns, result, outputs)


def user_outputs(prepared: PreparedRun, groups: Sequence[GroupResult]) -> dict[str, Any]:
    """{output vstream: array with a leading frames axis} of a run that kept its outputs; UsageError for a capture."""
    return _outputs_of(_user_frames(prepared), groups)


def input_contents(prepared: PreparedRun, inputs: Mapping[str, Any]) -> Callable[[int, str, int], bytes]:
    """Arrays of input vstreams as a request takes them; UsageError for a name, shape or dtype that does not fit."""
    return _contents(_user_frames(prepared), inputs)


def _outputs_of(users: Sequence[UserFrames], groups: Sequence[GroupResult]) -> dict[str, Any]:
    outputs: dict[str, Any] = {}
    for user, group in zip(users, groups, strict=False):
        streams = [stream for stream in group.streams if stream.direction is Direction.D2H]
        count = min((len(stream.contents) for stream in streams), default=0)
        rows = [{stream.name: stream.contents[at] for stream in streams} for at in range(count)]
        outputs |= user.from_wire(rows, real=group.real)
    return outputs


def estimate(
    source: Source,
    batch: int | Sequence[int] = (1, 8),
    *,
    compute_time: float | None = None,
    runtime: str | None = None,
    clock_mhz: float | None = None,
    link: str | None = None,
    **options: Any,
) -> Estimate:
    """What `emu estimate` prints: FPS, latency and activation time at each batch size, without running.

    `compute_time` in ns; all else as the command's options. Raises as `open_hef` and `compile_hef` do.
    """
    batches = (batch,) if isinstance(batch, int) else tuple(batch)
    settings = RunSpec.of(**options).settings
    settings.refuse_but(ESTIMATING, "an estimate")
    return estimate_hef(
        _opened(source, runtime),
        settings.compile_options(),
        batches,
        clock_mhz=clock_mhz,
        link=link,
        host_profile=settings.host_profile,
        costs=settings.costs,
        compute_time_ns=compute_time,
    )


def _opened(source: Source, runtime: str | None) -> Hef:
    return source if isinstance(source, Hef) else HefSettings(runtime=runtime).open(source)


def _user_frames(prepared: PreparedRun) -> list[UserFrames]:
    if not prepared.hefs:
        raise UsageError("a capture has no vstreams, only HEFs do")
    settings = prepared.spec.settings.compile_options().host
    users, groups = [], iter(prepared.program.network_groups)
    for hef, count in zip(prepared.hefs, prepared.group_of_model, strict=True):
        users += [UserFrames.of_hef(hef, next(groups).name, prepared.program.runtime, settings) for _ in range(count)]
    return users


def _contents(users: Sequence[UserFrames], inputs: Mapping[str, Any]) -> Callable[[int, str, int], bytes]:
    names = [info.name for user in users for info in user.group.input_vstreams]
    unknown = [name for name in inputs if name not in names]
    if unknown:
        near = similar(unknown[0], names)
        raise UsageError(f"no input {unknown[0]!r}; the inputs are {listed(names)}.{near}")
    rows = [
        user.to_wire({info.name: inputs[info.name] for info in user.group.input_vstreams if info.name in inputs})
        for user in users
    ]
    return lambda group, stream, frame: rows[group][frame % len(rows[group])][stream]
