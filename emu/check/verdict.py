"""What can be said of one model file without running it: who accepts it, why not, and what its users trip over."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from emu.errors import EmuError, HailoStatus
from emu.estimate import estimate
from emu.files import shown
from emu.hef import Hef, open_hef
from emu.hef.damage import overlooked_damage
from emu.hef.devices import ARCH_DEVICES
from emu.hef.enums import HwArch
from emu.hw import profiles
from emu.hw.workload import assumed_clock_hz
from emu.recognise import HEAD_SIZE, Kind, read_head, recognise
from emu.sequencer.acceptance import Acceptance, acceptances
from emu.sequencer.compile import CompileOptions

UNREADABLE, REFUSED = 3, 4
MODEL_SUFFIXES = frozenset({".hef", ".om", ".ms"})
# one frame at a time against pipelined: from this ratio on, somebody will measure the wrong one (known-problems.md 7)
LATENCY_RATIO = 1.25


@dataclass(slots=True)
class Verdict:
    """One file. `error` None: somebody of those asked accepts it; `accepted_by` lists every answer of HEFs."""

    path: Path
    format: str
    summary: str = ""
    error: EmuError | None = None
    accepted_by: list[Acceptance] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """0, 3 (unreadable) or 4 (sound, but for none of those asked)."""
        if self.error is None:
            return 0
        return REFUSED if self.error.exit_code == REFUSED else UNREADABLE

    def where(self) -> str:
        """The devices that accept it, by runtime."""
        by_runtime: dict[str, list[str]] = {}
        for one in self.accepted_by:
            if one.error is None and one.device is not None:
                layouts = f" (cluster layout {', '.join(map(str, one.cluster_layouts))})" if one.cluster_layouts else ""
                by_runtime.setdefault(one.runtime, []).append(one.device + layouts)
        return "; ".join(f"{runtime} on {', '.join(devices)}" for runtime, devices in by_runtime.items())

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
            "warnings": self.warnings,
        }


def models(paths: Sequence[Path]) -> Iterator[Path]:
    """The files to try: those named, and every model below a folder (by suffix or by magic), in name order.

    A folder that cannot be listed stands for what may be in it.
    """
    for path in paths:
        if path.is_dir():
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
    if path.is_file():
        return named or _has_magic(path)
    return named and not path.exists()  # a link that leads nowhere: a model that cannot be read


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
    from emu.graph.load import map_file, read_graph
    from emu.graph.plan import make_plan

    graph = read_graph(map_file(path))
    plan = make_plan(graph)
    summary = f"{graph.format} graph, {len(plan.order)} nodes"
    return Verdict(path, graph.format, summary, warnings=list(graph.notes))


def _hef(path: Path, runtimes: Sequence[str], devices: Sequence[str], clock_mhz: int | None) -> Verdict:
    hef, refusal = _open(path, runtimes)
    if hef is None:
        return Verdict(path, "hef", error=refusal)
    found = [one for one in acceptances(hef, devices) if one.runtime in runtimes]
    result = Verdict(path, "hef", _summary(hef), accepted_by=found)
    accepted = [one for one in found if one.error is None]
    if not accepted:
        result.error = _decisive(found)
    result.warnings = [*overlooked_damage(hef), *_warnings(hef, accepted, clock_mhz)]
    return result


def _decisive(found: Sequence[Acceptance]) -> EmuError:
    """Of many refusals the one that tells what is wrong with the file.

    Damage found by a runtime that has the device, before a runtime or device that it is not meant for; that a runtime
    does not load it decides only if none does.
    """
    errors = [one for one in found if one.error is not None]
    ranks = [
        (
            one.error.exit_code == REFUSED or one.device is None,
            one.error.exit_code != REFUSED,
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
    for runtime in runtimes:
        try:
            return open_hef(path, runtime=runtime), None
        except EmuError as error:
            errors.append(error)
    return None, next((error for error in errors if error.exit_code == REFUSED), errors[0])


def _summary(hef: Hef) -> str:
    groups = ", ".join(group.network_group_name for group in hef.network_groups)
    return f"{_arch(hef)} HEF V{hef.container.version}, {groups}"


def _arch(hef: Hef) -> str:
    try:
        return HwArch(hef.header.hw_arch).name
    except ValueError:
        return f"architecture {int(hef.header.hw_arch)}"


def _warnings(hef: Hef, accepted: Sequence[Acceptance], clock_mhz: int | None) -> Iterator[str]:
    """What users run into with a file that loads (known-problems.md)."""
    own = [name.lower() for name in ARCH_DEVICES.get(hef.header.hw_arch, ())]
    for device in dict.fromkeys(one.device for one in accepted):
        assert device is not None
        if own and device != own[0] and hef.header.hw_arch == HwArch.HAILO8L:
            yield f"compiled for {_arch(hef)}: {device} runs it, with the clusters of a {own[0]} only"
        profile = profiles.load(device, clock_mhz)
        compiled_for = assumed_clock_hz(hef, profile)
        if compiled_for != profile.nn_hz:
            yield (
                f"compiled for a clock of {compiled_for / 1e6:g} MHz, {device} runs at {profile.nn_hz / 1e6:g} MHz: "
                f"compute takes {compiled_for / profile.nn_hz:.2f} times as long"
            )
    if accepted:
        yield from _performance(hef, accepted[0], clock_mhz)


def _performance(hef: Hef, first: Acceptance, clock_mhz: int | None) -> Iterator[str]:
    layout = first.cluster_layouts[0] if first.cluster_layouts else None
    opened = hef.reopen(first.runtime)
    for group in hef.network_groups:
        options = CompileOptions(device=first.device, cluster_layout=layout, network_group=group.network_group_name)
        result = estimate(opened, options, clock_mhz=clock_mhz)
        figures = result.batches[0]
        serial = 1000 / figures.first_frame_latency_ms if figures.first_frame_latency_ms else 0.0
        if serial and figures.fps > LATENCY_RATIO * serial:
            batches = "; single context: a larger batch amortises nothing" if result.single_context else ""
            yield (
                f"{group.network_group_name}: about {figures.fps:.0f} FPS with frames in flight, {serial:.0f} FPS one "
                f"frame at a time (that measures latency, {figures.first_frame_latency_ms:.2f} ms), on {first.device}"
                f"{batches}"
            )
        if not result.single_context:
            yield (
                f"{group.network_group_name}: several contexts are switched for every batch; a batch of "
                f"{result.batch_for_90_percent} reaches 90 % of the limit"
            )
