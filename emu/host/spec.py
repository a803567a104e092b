"""The recipe of a run, as a value: what `emu run`, `emu.run`, recordings and the pytest plugin say.

`emu.host.prepare` makes of it what `run_program` takes; nothing heavy is imported here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

from msgspec import Struct, field
from msgspec.structs import asdict

from emu.errors import CommandLineError, UsageError
from emu.reference.options import ReferenceOptions

if TYPE_CHECKING:
    from emu.hef import Hef
    from emu.sequencer.options import CompileOptions

ROUND_ROBIN, SEQUENTIAL = "round-robin", "sequential"
REPORT, STOP = "report", "stop"


class HefSettings(Struct, frozen=True):
    """docs/reference/cli.md, common options. None where nothing was said, so that the default can depend on the HEF."""

    runtime: str | None = None
    device: str | None = None
    cluster_layout: int | None = None
    network_group: str | None = None
    batch: int | None = None
    net_batch: dict[str, int] = field(default_factory=dict)
    frames: int | None = None
    seed: int = 0
    clock_mhz: int | None = None
    link: str | None = None
    host_profile: str | None = None
    costs: str | None = None
    host: dict[str, str] = field(default_factory=dict)
    kv_cache: bool = False
    from_memory: bool = False

    def given(self) -> list[str]:
        """The options that say how a HEF is opened, compiled or run, and that were given, as on the command line."""
        names = (
            "runtime",
            "device",
            "cluster_layout",
            "network_group",
            "batch",
            "frames",
            "clock_mhz",
            "link",
            "host_profile",
            "costs",
        )
        out = [option_name(name) for name in names if getattr(self, name) is not None]
        if self.net_batch:
            out.append("--net-batch")
        if self.host:
            out.append("--host")
        return out + ["--kv-cache"] * self.kv_cache + ["--from-memory"] * self.from_memory

    def refuse_but(self, effective: Iterable[str], what: str) -> None:
        """UsageError that names what was given in vain: `what` makes something of `effective` alone."""
        names = [option_name(name) for name in effective]
        given = [*self.given(), *["--seed"] * (self.seed != 0)]
        idle = [name for name in given if name not in names]
        if idle:
            raise CommandLineError(f"{', '.join(idle)}: no effect on {what}")

    def open(self, source: str | Path | bytes) -> Hef:
        """Open a HEF; raises as `open_hef` does."""
        from emu.hef import open_hef

        return open_hef(source, runtime=self.runtime, from_memory=self.from_memory)

    def compile_options(self) -> CompileOptions:
        """As the compiler takes them; UsageError for a host setting that cannot be read."""
        from emu.sequencer.host import HostSettings
        from emu.sequencer.options import CompileOptions

        return CompileOptions(
            device=self.device,
            cluster_layout=self.cluster_layout,
            batch=1 if self.batch is None else self.batch,
            net_batch=self.net_batch,
            network_group=self.network_group,
            host=HostSettings.parse(self._host()),
            kv_cache=self.kv_cache,
        )

    def _host(self) -> dict[str, str]:
        """The settings of the simulated host: what was said, else the largest descriptor page of its profile."""
        if self.host_profile is None:
            return self.host
        from emu.catalog import quantities

        return {"desc_max_page": str(quantities("hosts", self.host_profile)["host.desc_max_page"].value), **self.host}


# the settings that decide what is compiled
COMPILING = (
    "runtime",
    "device",
    "cluster_layout",
    "network_group",
    "batch",
    "net_batch",
    "host",
    "kv_cache",
    "from_memory",
)

# and those that decide what it is estimated to do
ESTIMATING = (*(name for name in COMPILING if name != "net_batch"), "clock_mhz", "link", "host_profile", "costs")


def option_name(field_name: str) -> str:
    """`cluster_layout` as `--cluster-layout`."""
    return f"--{field_name.replace('_', '-')}"


# what a recording keeps besides the settings; where results go and how they are shown is not part of a run
_KEPT = ("actions", "compute_time", "schedule", "inject", "inputs", "input", "device_output")
_SETTINGS_LATER = ("host_profile", "costs")
# kept since inputs may be pictures, hazards end a run and transfers hold what was computed: old recordings lack them
_KEPT_LATER = ("fit", "colour", "hazards", "hef", "compute", "assume", "keep_outputs")


class RunSpec(Struct, frozen=True):
    """What to run: HEFs (paths, bytes or opened ones) together on one device, or the action lists of a capture.

    `input`, `inputs`, `device_output`: the files of `--input`, `--inputs`, `--device-output`; `fit`, `colour`: how
    pictures among them are taken; `reference`: the models that compute outputs. `inject`: faults as text.
    `compute_time` in ns. `compute`: one of `emu.host.computing.MODES`, None: its default; `assume`: what it takes for
    granted of layers. `handlers`: a module's name, or what its `HANDLERS` would be (docs/hacking.md). `hef`: what
    the configuration bytes of a capture are taken from. `hazards`: `report` goes on, `stop` ends the run at the first.
    """

    models: tuple[str | Path | bytes | Hef, ...] = ()
    settings: HefSettings = field(default_factory=HefSettings)
    actions: str | None = None
    compute_time: float | None = None
    schedule: str = SEQUENTIAL
    inject: tuple[str, ...] = ()
    inputs: str | None = None
    input: tuple[str, ...] = ()
    device_output: tuple[str, ...] = ()
    keep_outputs: bool = False
    fit: str | None = None
    colour: str | None = None
    compute: str | None = None
    assume: tuple[str, ...] = ()
    reference: ReferenceOptions = field(default_factory=ReferenceOptions)
    hazards: str = REPORT
    hef: str | None = None
    handlers: str | Mapping[Any, Any] | None = None

    @classmethod
    def of(cls, *models: str | Path | bytes | Hef, **options: Any) -> RunSpec:
        """From keywords named as the fields here, in `HefSettings` and in `ReferenceOptions` (`reference` one file or
        several); one model that ends in `.json` is a capture.

        UsageError for a keyword that is none.
        """
        own = {*cls.__struct_fields__} - {"models", "settings", "actions", "reference"}
        common = {*HefSettings.__struct_fields__}
        said = {*ReferenceOptions.__struct_fields__}
        unknown = sorted(options.keys() - own - common - said)
        if unknown:
            there = ", ".join(sorted(own | common | said))
            raise UsageError(f"{', '.join(unknown)}: no setting of a run; there are {there}")
        of_reference = {name: value for name, value in options.items() if name in said}
        if isinstance(of_reference.get("reference"), str | Path):
            of_reference["reference"] = (str(of_reference["reference"]),)
        settings = HefSettings(**{name: value for name, value in options.items() if name in common})
        rest = {name: value for name, value in options.items() if name in own}
        rest["reference"] = ReferenceOptions(**of_reference)
        if len(models) == 1 and isinstance(models[0], str | Path) and Path(models[0]).suffix == ".json":
            return cls(actions=str(models[0]), settings=settings, **rest)
        return cls(models=models, settings=settings, **rest)

    def document(self) -> dict[str, Any]:
        """What a recording keeps of it: everything but the models, which it names by their files."""
        kept = {name: getattr(self, name) for name in (*_KEPT, *_KEPT_LATER)}
        # the name of a module in a recording is for who reads it: nothing is loaded because a file says so
        own = self.handlers if self.handlers is None or isinstance(self.handlers, str) else "of the caller's"
        return kept | {"common": asdict(self.settings), "reference": asdict(self.reference), "handlers": own}

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> RunSpec:
        """From `document`; KeyError, TypeError or ValueError for anything else."""
        settings = document["common"]
        fields = [name for name in HefSettings.__struct_fields__ if name in settings or name not in _SETTINGS_LATER]
        common = typed(HefSettings, settings, fields)
        names = [*_KEPT, *(name for name in _KEPT_LATER if name in document)]
        said = typed(ReferenceOptions, document.get("reference", {}), document.get("reference", {}))
        return cls(
            settings=HefSettings(**common), reference=ReferenceOptions(**said), **typed(RunSpec, document, names)
        )


def typed(of: type, values: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The fields `names` of a document, lists as tuples; TypeError for one that is not of its type in `of`."""
    hints = get_type_hints(of, localns={"Hef": object})  # a model may be an opened HEF, which no document holds
    found = {}
    for name in names:
        value, hint = values[name], hints[name]
        value = tuple(value) if isinstance(value, list) else value
        if not any(_fits(value, one) for one in (get_args(hint) if isinstance(hint, UnionType) else (hint,))):
            raise TypeError(f"{name}: {values[name]!r:.40}")
        found[name] = value
    return found


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a type as settings have them: plain, `tuple[X, ...]` or `dict[str, X]`."""
    origin = get_origin(hint)
    if origin is None:
        return type(value) is hint
    members = value.values() if isinstance(value, dict) else value
    return type(value) is origin and all(type(one) in get_args(hint) for one in members)
