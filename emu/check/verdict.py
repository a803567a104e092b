"""What can be said of one model file without running it: who accepts it, why not, and what its users trip over."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, field

from emu.check.summary import accepted_first, graph_line, one_line, own_devices
from emu.check.trial import Trial, trial
from emu.chips import chips
from emu.errors import EmuError, ExitCode, GraphStatus, HailoStatus
from emu.files import is_folder, is_regular, is_there, shown
from emu.hef import Hef, open_hef
from emu.hef.damage import overlooked_damage
from emu.hef.enums import HwArch
from emu.hef.plausibility import implausible
from emu.hef.runtime import LINES, by_preference, spans
from emu.host.estimate import estimate
from emu.recognise import HEAD_SIZE, Kind, read_head, recognise
from emu.sequencer.acceptance import Acceptance, acceptances
from emu.sequencer.compile import CompileOptions
from emu.timing.workload import assumed_clock_hz

MODEL_SUFFIXES = frozenset({".hef", ".om", ".ms"})
# one frame at a time against pipelined: from this ratio on, somebody will measure the wrong one (known-problems.md 7)
LATENCY_RATIO = 1.25


# sound; accepted, but its lists ask for what never comes; sound, but for other devices or runtimes; another format, or
# a version that none of them reads; cannot be read; sound as far as can be told, but asks for what is not built here
State = Literal["ok", "fails", "refused", "foreign", "damaged", "not implemented"]
_NOT_BUILT = (HailoStatus.HAILO_NOT_IMPLEMENTED.name, GraphStatus.GRAPH_UNSUPPORTED.name)


class Verdict(Struct):
    """One file. `error` None: somebody of those asked accepts it, or loads it where no more is known; `accepted_by`
    lists every answer of HEFs; `trial` says whether an accepted HEF runs.

    `warnings` are of what is wrong with it, `notes` of what its users trip over though nothing is.
    """

    path: Path
    format: str
    summary: str = ""
    error: EmuError | None = None
    accepted_by: list[Acceptance] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def state(self) -> State:
        """What became of it, in a word."""
        if self.error is None:
            return "fails" if self.failure else "ok"
        if self.error.exit_code == ExitCode.REFUSED:
            return "refused"
        if self.error.name in _NOT_BUILT:
            return "not implemented"
        meaning = getattr(self.error, "meaning", None)
        return "foreign" if meaning is HailoStatus.HAILO_HEF_NOT_SUPPORTED else "damaged"

    trial: Trial | None = None

    @property
    def failure(self) -> str:
        """Why an accepted file does not run: the action that can never be met; empty where it runs."""
        return "" if self.trial is None else self.trial.sentence()

    @property
    def exit_code(self) -> int:
        """0, 3 (unreadable) or 4 (sound, but for none of those asked)."""
        if self.error is None:
            return 0
        return ExitCode.REFUSED if self.error.exit_code == ExitCode.REFUSED else ExitCode.UNREADABLE

    def where(self) -> str:
        """The devices that accept it, by runtime; then the releases of which is known that they load it."""
        by_runtime: dict[str, list[str]] = {}
        for one in self.accepted_by:
            if one.error is None and one.device is not None:
                layouts = f" (cluster layout {', '.join(map(str, one.cluster_layouts))})" if one.cluster_layouts else ""
                by_runtime.setdefault(one.runtime, []).append(one.device + layouts)
        by_devices: dict[str, list[str]] = {}
        for runtime, devices in by_runtime.items():
            by_devices.setdefault(", ".join(devices), []).append(runtime)
        loading = [one.runtime for one in self.accepted_by if one.error is None and one.device is None]
        loads = [f"{spans(loading)} load{'s' * (len(loading) == 1)} it"] if loading else []
        return "; ".join([*(f"{spans(runtimes)} on {devices}" for devices, runtimes in by_devices.items()), *loads])

    def document(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "file": shown(self.path),
            "format": self.format,
            "accepted": self.error is None,
            "status": 0 if self.error is None else self.error.number,
            "name": HailoStatus.HAILO_SUCCESS.name if self.error is None else self.error.name,
            "message": "" if self.error is None else self.error.message,
            "exit_code": self.exit_code,
            "state": self.state,
            "summary": self.summary,
            "accepted_by": [
                {
                    "runtime": one.runtime,
                    "device": one.device,
                    "accepted": one.error is None,
                    "cluster_layouts": list(one.cluster_layouts),
                    "status": 0 if one.error is None else one.error.number,
                    "name": HailoStatus.HAILO_SUCCESS.name if one.error is None else one.error.name,
                }
                for one in self.accepted_by
            ],
            "runs": None if self.trial is None else self.trial.error is None,
            "failure": self.failure,
            "warnings": self.warnings,
            "notes": self.notes,
        }


def models(paths: Sequence[Path]) -> Iterator[Path]:
    """The files to try: those named, and every model below a folder (by suffix or by magic), in name order.

    A folder that cannot be listed stands for what may be in it.
    """
    for path in paths:
        if is_folder(path):
            yield from _below(path)
        else:
            yield path


def _below(folder: Path) -> list[Path]:
    found: list[Path] = []
    for place, _, names in os.walk(folder, onerror=lambda error: found.append(Path(error.filename))):
        found.extend(Path(place, name) for name in names if _is_model(Path(place, name)))
    return sorted(found)


def _is_model(path: Path) -> bool:
    """Whether to try a file of a folder; pipes and devices are left alone."""
    named = path.suffix.lower() in MODEL_SUFFIXES
    if is_regular(path):
        return named or _has_magic(path)
    return named and not is_there(path)  # a link that leads nowhere: a model that cannot be read


def _has_magic(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) in (b"\x01HEF", b"IMOD")
    except OSError:
        return False


def verdict(path: Path, runtimes: Sequence[str], devices: Sequence[str], clock_mhz: int | None = None) -> Verdict:
    """Try one file on some runtimes and devices. Never raises an EmuError: it is part of the verdict."""
    try:
        kind = recognise(read_head(path)[:HEAD_SIZE])
        if kind is Kind.HEF:
            return _hef(path, runtimes, devices, clock_mhz)
        return _graph(path, kind)
    except EmuError as error:
        return Verdict(path, "unreadable", error=error)


def _graph(path: Path, kind: Kind) -> Verdict:
    from emu.graph.dynamic import specialise
    from emu.graph.load import map_file, model_gears, read_graph
    from emu.graph.plan import make_plan

    data = map_file(path)
    gears = model_gears(data)
    chosen: list[tuple[int, ...] | None] = [*gears] or [None]
    for gear in chosen:
        graph = specialise(read_graph(data, gear), {})
        plan = make_plan(graph)
    return Verdict(path, graph.format, graph_line(graph, len(plan.order), len(gears)), notes=list(graph.notes))


def _hef(path: Path, runtimes: Sequence[str], devices: Sequence[str], clock_mhz: int | None) -> Verdict:
    hef, refusal = _open(path, runtimes)
    if hef is None:
        return Verdict(path, "hef", error=refusal)
    found = list(acceptances(hef, devices, runtimes))
    accepted = accepted_first(hef, found)
    loaded = any(one.error is None for one in found)
    result = Verdict(path, "hef", one_line(hef, accepted, loaded, found), accepted_by=found)
    if not loaded:
        result.error = _decisive(found, own_devices(hef))
    result.notes = list(_notes(hef, accepted, clock_mhz))
    if accepted:  # after the notes, which compile the file once more: much of a run is left until it is collected
        result.trial = trial(hef, accepted)
        if result.trial is not None:
            result.warnings += [f"hazard: {one}" for one in result.trial.hazards]
    result.warnings += [*overlooked_damage(hef), *implausible(hef), *_clocks(hef, accepted, clock_mhz)]
    return result


def _decisive(found: Sequence[Acceptance], own: Sequence[str]) -> EmuError:
    """Of many refusals the one that tells what is wrong with the file.

    Damage found by a runtime that has the device, before a runtime or device that it is not meant for, and what is
    said of its `own` devices before what is said of others; that a runtime does not load it decides only if none does.
    """
    # older releases number some refusals otherwise, and those of the newest say most
    newest = by_preference({one.runtime for one in found})[:LINES]
    errors = [one for one in found if one.error is not None and one.runtime in newest]
    ranks = [
        (
            one.error.exit_code == ExitCode.REFUSED or one.device is None,
            one.error.exit_code != ExitCode.REFUSED,
            one.device not in own,
            one.error.number == HailoStatus.HAILO_HEF_NOT_COMPATIBLE_WITH_DEVICE,
        )
        for one in errors
        if one.error is not None
    ]
    decisive = errors[ranks.index(min(ranks))].error
    assert decisive is not None
    return decisive


def _open(path: Path, runtimes: Sequence[str]) -> tuple[Hef | None, EmuError | None]:
    """The file as the first runtime opens it that does; else the error that says most."""
    errors: list[EmuError] = []
    for runtime in by_preference(runtimes):
        try:
            return open_hef(path, runtime_version=runtime), None
        except EmuError as error:
            errors.append(error)
    return None, next((error for error in errors if error.exit_code == ExitCode.REFUSED), errors[0])


def _clocks(hef: Hef, accepted: Sequence[Acceptance], clock_mhz: int | None) -> Iterator[str]:
    """Devices whose clock is not the one that the file was compiled for."""
    for device in dict.fromkeys(one.device for one in accepted):
        assert device is not None
        profile = chips.load(device, clock_mhz)
        compiled_for = assumed_clock_hz(hef, profile)
        if compiled_for != profile.nn_hz:
            yield (
                f"compiled for a clock of {compiled_for / 1e6:g} MHz, {device} runs at {profile.nn_hz / 1e6:g} MHz: "
                f"compute takes {compiled_for / profile.nn_hz:.2f} times as long"
            )


def _notes(hef: Hef, accepted: Sequence[Acceptance], clock_mhz: int | None) -> Iterator[str]:
    """What users run into with a file that loads (known-problems.md)."""
    own = own_devices(hef)
    for device in dict.fromkeys(one.device for one in accepted):
        if own and device != own[0] and hef.header.hw_arch == HwArch.HAILO8L:
            yield f"compiled for {HwArch.HAILO8L.name}: {device} runs it, with the clusters of a {own[0]} only"
    if accepted:
        yield from _performance(hef, accepted[0], clock_mhz)


def _performance(hef: Hef, first: Acceptance, clock_mhz: int | None) -> Iterator[str]:
    layout = first.cluster_layouts[0] if first.cluster_layouts else None
    opened = hef.reopen(first.runtime)
    for group in hef.network_groups:
        options = CompileOptions(device=first.device, cluster_layout=layout, network_group=group.network_group_name)
        result = estimate(opened, options, clock_mhz=clock_mhz)
        figures = result.batches[0]
        serial = figures.sync_fps
        if serial and figures.fps > LATENCY_RATIO * serial:
            batches = "; single context: a larger batch amortises nothing" if result.single_context else ""
            yield (
                f"{group.network_group_name}: about {figures.fps:.0f} FPS with frames in flight, {serial:.0f} FPS one "
                f"frame at a time (the latency is {figures.first_frame_latency_ms:.2f} ms), on {first.device}"
                f"{batches}"
            )
        if not result.single_context:
            enough = result.batch_for_90_percent
            reach = "no batch that the runtime allows" if enough is None else f"a batch of {enough}"
            yield (
                f"{group.network_group_name}: several contexts are switched for every batch; {reach} reaches 90 % of "
                "the limit"
            )
