"""The options that commands share (cli.md, common options) and how a MODEL argument is opened."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from msgspec import Struct

from emu.catalog import names
from emu.cli.command import TextType, long_name
from emu.errors import CommandLineError, EmuError, HailoError, HailoStatus, UsageError
from emu.files import LARGEST_MODEL, is_folder, is_regular, shown
from emu.host.spec import HefSettings
from emu.numerals import MOST, decimal_number, whole_number
from emu.recognise import HEF_MAGIC, Kind, read_head, recognise
from emu.wire.control import MAX_BATCH_SIZE

if TYPE_CHECKING:
    from emu.output import Output

F = TypeVar("F", bound=Callable[..., Any])

MAX_FRAMES = MOST  # a frame number is eight bytes of what synthetic data are derived from
BATCH_LIMIT = "HailoRT's own limit, HAILO_MAX_BATCH_SIZE: --frames takes any number"
V3_VERSION = bytes((0, 0, 0, 3))  # behind the magic (hef-container.md 1.1)
_LINK = re.compile(r"integrated|gen[1-5]x(1|2|4|8|16)")


class Whole(click.IntRange):
    """A whole number within bounds (`emu.numerals`)."""

    def __init__(self, least: int = 0, most: int = MOST, whose: str = "") -> None:
        super().__init__(least, most if most != MOST else None)
        self._least, self._most, self._whose = least, most, whose

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        what = long_name(param) if param is not None and param.opts else "it"
        return (
            value if isinstance(value, int) else whole_number(value, what, self._least, self._most, whose=self._whose)
        )


class FiniteRange(click.FloatRange):
    """A range that not-a-number and infinity lie outside of: no comparison with them says so."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        what = long_name(param) if param is not None and param.opts else "it"
        number = float(value) if isinstance(value, int | float) else decimal_number(value, what)
        return float(super().convert(number, param, ctx))


class Release(click.Choice[str]):
    """A runtime, by its name or by a version of its release (`emu.hef.runtime.release_name`)."""

    def __init__(self) -> None:
        super().__init__(names("runtimes"))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from emu.hef.runtime import Runtime, release_name

        try:
            return release_name(str(value))
        except UsageError:
            pass
        try:
            loads = Runtime.parse(str(value))
        except UsageError:
            return str(super().convert(value, param, ctx))
        raise CommandLineError(
            f"--runtime: of HailoRT {loads} is known what it loads (inspect, parse-hef, check), not what it compiles; "
            f"here one of {', '.join(names('runtimes'))}"
        )


class LoadRelease(TextType):
    """As `Release`, and any other version from 4.6 on: for what happens when a file is loaded."""

    name = "release"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from emu.hef.runtime import any_release, release_name

        try:
            return release_name(str(value))
        except UsageError:
            return any_release(str(value)).label


class Model(Struct, frozen=True):
    """A MODEL argument: where it came from, what it is, and its path or (for `-`) its bytes."""

    name: str
    kind: Kind
    source: Path | bytes


def _pairs(what: str, values: tuple[str, ...]) -> dict[str, str]:
    out: dict[str, str] = {}
    for value in values:
        key, sign, rest = value.partition("=")
        if not sign or not key:
            raise UsageError(f"{what} takes KEY=VALUE, not {value!r}")
        out[key] = rest
    return out


def parse_batches(text: str) -> tuple[int, ...]:
    """The batch sizes of `--batch N,N,...`."""
    return tuple(whole_number(part, "--batch", 1, MAX_BATCH_SIZE, whose=BATCH_LIMIT) for part in text.split(","))


# name in HefSettings -> what click.option takes
_COMMON: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "runtime": (("--runtime",), {"type": Release(), "help": "HailoRT version (default: by architecture)."}),
    "device": (
        ("--device",),
        {"type": click.Choice(names("chips")), "help": "Device (default: the first the HEF allows)."},
    ),
    "cluster_layout": (
        ("--cluster-layout",),
        {"type": Whole(0), "metavar": "N", "help": "Cluster bitmap of the device."},
    ),
    "network_group": (("--network-group",), {"metavar": "NAME", "help": "Use only this network group."}),
    "batch": (
        ("--batch", "--batch-size"),
        {"type": Whole(1, MAX_BATCH_SIZE, BATCH_LIMIT), "metavar": "N", "help": "Batch size (default 1)."},
    ),
    "net_batch": (("--net-batch",), {"multiple": True, "metavar": "NET=N", "help": "Batch size of one network."}),
    "frames": (
        ("--frames", "--frames-count"),
        {"type": Whole(1, MAX_FRAMES), "metavar": "N", "help": "Frames to run (default: one batch)."},
    ),
    "seed": (("--seed",), {"type": Whole(0), "default": 0, "metavar": "N", "help": "Seed of made-up data."}),
    "clock_mhz": (("--clock-mhz",), {"type": Whole(1), "metavar": "MHZ", "help": "Clock of the NN core."}),
    "link": (("--link",), {"metavar": "LINK", "help": "Host link: genXxY or integrated."}),
    "host_profile": (
        ("--host-profile",),
        {"type": click.Choice(names("hosts")), "help": "The host it is in: link, cost of a frame."},
    ),
    "costs": (("--costs",), {"metavar": "PROFILE", "help": "Measured action costs (emu calibrate)."}),
    "host": (
        ("--host",),
        {"multiple": True, "metavar": "KEY=VALUE", "help": "Setting of the simulated host."},
    ),
    "kv_cache": (("--kv-cache",), {"is_flag": True, "help": "Enable caches."}),
    "from_memory": (("--from-memory",), {"is_flag": True, "help": "Load as from a buffer."}),
}
_RUNTIME_FLAGS, _RUNTIME_SAID = _COMMON["runtime"]
RUNTIME_OPTION = click.option(*_RUNTIME_FLAGS, **_RUNTIME_SAID)
_LOADING: dict[str, Any] = {
    "type": LoadRelease(),
    "metavar": "VERSION",
    "help": "HailoRT version, from 4.6 on (default: by architecture).",
}
LOAD_RUNTIME_OPTION = click.option(*_RUNTIME_FLAGS, **_LOADING)
_NAMES = tuple(HefSettings.__struct_fields__)


def hef_options(acting: Collection[str] = _NAMES) -> Callable[[F], F]:
    """Add the common options; the command receives them as one `HefSettings` argument `common`.

    Those that are not `acting` are known all the same, so that they are refused by name; `--help` is silent of them.
    """

    def add(function: F) -> F:
        return _add_options(function, acting)

    return add


def hef_options_of_loading(acting: Collection[str]) -> Callable[[F], F]:
    """As `hef_options`, but `--runtime` takes any release of which is known what it loads."""

    def add(function: F) -> F:
        instead = {"runtime": (_RUNTIME_FLAGS, _LOADING)}
        decorated: F = _decorated(_settings_made(function), _options(acting, instead))
        return decorated

    return add


def hef_options_with_batches(acting: Collection[str]) -> Callable[[F], F]:
    """As `hef_options`, but `--batch` is a list; the command receives it as `batches`, by default (1,)."""

    def add(function: F) -> F:
        added = _settings_made(function)

        @wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            text, kwargs["batch"] = kwargs["batch"], None
            return added(*args, batches=parse_batches(text), **kwargs)

        batches = {"default": "1", "metavar": "N,N,...", "help": "Batch sizes (default 1)."}
        decorated: F = _decorated(wrapper, _options(acting, {"batch": (("--batch", "--batch-size"), batches)}))
        return decorated

    return add


def _add_options(function: F, acting: Collection[str]) -> F:
    decorated: F = _decorated(_settings_made(function), _options(acting, {}))
    return decorated


def _options(
    acting: Collection[str], instead: dict[str, tuple[tuple[str, ...], dict[str, Any]]]
) -> list[Callable[[Any], Any]]:
    return [
        click.option(*flags, hidden=name not in acting, **said)
        for name, (flags, said) in {**_COMMON, **instead}.items()
    ]


def _settings_made(function: F) -> Any:
    """The function, called with `common` in place of the options."""

    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        given = {name: kwargs.pop(name) for name in _NAMES}
        given["net_batch"] = {
            net: whole_number(text, f"--net-batch {net:.80}", 1, MAX_BATCH_SIZE, whose=BATCH_LIMIT)
            for net, text in _pairs("--net-batch", given["net_batch"]).items()
        }
        given["host"] = _pairs("--host", given["host"])
        if given["link"] is not None and not _LINK.fullmatch(given["link"]):
            raise UsageError(f"--link takes genXxY or integrated, not {given['link']!r}")
        return function(*args, common=HefSettings(**given), **kwargs)

    return wrapper


def _decorated(function: Any, options: Sequence[Callable[[Any], Any]]) -> Any:
    """The function with options that stand before its own in the help."""
    for option in reversed(options):
        function = option(function)
    return function


compute_time_option = click.option(
    "--compute-time",
    type=FiniteRange(min=0),
    metavar="NS",
    help="Measured time from the last input byte to the outputs, in place of the HEF's own figures.",
)


def open_model(argument: str) -> Model:
    """Tell by content what a MODEL argument is; `-` reads standard input."""
    if argument == "-":
        data = sys.stdin.buffer.read(LARGEST_MODEL + 1)
        if len(data) > LARGEST_MODEL:
            raise HailoError(
                HailoStatus.HAILO_FILE_OPERATION_FAILURE, f"standard input holds more than {LARGEST_MODEL} bytes"
            )
        return Model("-", recognise(data), data)
    path = Path(argument)
    return Model(shown(argument), recognise(read_head(path)), path)


@contextmanager
def located(name: str) -> Iterator[None]:
    """Add the file to errors that do not name one."""
    try:
        yield
    except EmuError as error:
        error.where = {"file": name} | error.where
        raise


def output_path(argument: str) -> Path:
    """A path to write to; an existing model file is never overwritten (cli.md)."""
    path = Path(argument)
    if is_folder(path):
        raise UsageError(f"{path} is a directory", file=str(path))
    if is_regular(path) and _is_model(path):
        raise UsageError(f"{path} is an existing model file and is not overwritten", file=str(path))
    return path


def open_output(argument: str | None, files: ExitStack) -> Output | None:
    """As `opened_output`; None: None."""
    return None if argument is None else opened_output(argument, files)


def opened_output(argument: str, files: ExitStack) -> Output:
    """The output of that name, opened; discarded at the end of `files` where it was not committed."""
    from emu.output import Output

    output = Output(output_path(argument))
    files.callback(output.discard)
    return output


def output_directory(argument: str, names: Iterable[str]) -> Path:
    """A directory, made, to write the arrays of these names to; none of its files there may be a model (cli.md).

    OutputError where the system refuses the directory or one of the files.
    """
    from emu.arrays import output_file_name
    from emu.output import Output, make_folder

    directory = Path(argument)
    paths = [output_path(str(directory / output_file_name(position, name))) for position, name in enumerate(names)]
    make_folder(directory)
    for path in paths:
        Output(path).discard()
    return directory


def _is_model(path: Path) -> bool:
    head = read_head(path)
    if recognise(head) is not Kind.HEF or head.startswith(HEF_MAGIC):
        return True
    if head[4:8] != V3_VERSION:
        return False
    # HailoRT 5.1 and later take a V3 file by its proto hash, whatever its magic
    from emu.hef.container import Container
    from emu.hef.source import open_source

    try:
        checksum = Container(open_source(path)).proto_checksum
        return checksum is not None and checksum.matches
    except HailoError:
        return False
