"""The options that commands share (cli.md, common options) and how a MODEL argument is opened."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

import click

from emu.errors import EmuError, HailoError, UsageError
from emu.files import shown
from emu.recognise import HEF_MAGIC, Kind, read_head, recognise
from emu.sequencer.actions import RUNTIMES
from emu.sequencer.control import MAX_BATCH_SIZE

F = TypeVar("F", bound=Callable[..., Any])

DEVICES = ("hailo8", "hailo8l", "hailo15h", "hailo15m", "hailo15l", "hailo10h", "hailo12l")
MAX_FRAMES = (1 << 63) - 1  # a frame number is eight bytes of what synthetic data are derived from
V3_VERSION = bytes((0, 0, 0, 3))  # behind the magic (hef-container.md 1.1)
_MOST_DIGITS = 20  # of a number worth converting: int() refuses thousands of them with an error of its own
_LINK = re.compile(r"integrated|gen[1-5]x(1|2|4|8|16)")


class FiniteRange(click.FloatRange):
    """A range that not-a-number and infinity lie outside of: no comparison with them says so."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))
        if not isfinite(number):
            self.fail(f"{value} is no finite number", param, ctx)
        return number


@dataclass(frozen=True, slots=True)
class Model:
    """A MODEL argument: where it came from, what it is, and its path or (for `-`) its bytes."""

    name: str
    kind: Kind
    source: Path | bytes


@dataclass(frozen=True, slots=True)
class HefOptions:
    """The common options; None where the user gave none, so that the default can depend on the HEF."""

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
    host: dict[str, str] = field(default_factory=dict)
    kv_cache: bool = False
    from_memory: bool = False

    def given(self) -> list[str]:
        """The options that mean nothing for an OM or MS graph and that the user gave all the same."""
        names = (
            "runtime",
            "device",
            "cluster_layout",
            "network_group",
            "batch",
            "frames",
            "clock_mhz",
            "link",
        )
        out = [f"--{name.replace('_', '-')}" for name in names if getattr(self, name) is not None]
        if self.net_batch:
            out.append("--net-batch")
        if self.host:
            out.append("--host")
        return out + ["--kv-cache"] * self.kv_cache + ["--from-memory"] * self.from_memory


def _pairs(what: str, values: tuple[str, ...]) -> dict[str, str]:
    out: dict[str, str] = {}
    for value in values:
        key, sign, rest = value.partition("=")
        if not sign or not key:
            raise UsageError(f"{what} takes KEY=VALUE, not {value!r}")
        out[key] = rest
    return out


def _batch(text: str | int, what: str) -> int:
    plain = str(text).strip()
    if not re.fullmatch(r"-?[0-9]+", plain):  # int() takes underscores, signs and the digits of every script too
        raise UsageError(f"{what} takes a number, not {text!r}")
    if len(plain) > _MOST_DIGITS or not 1 <= int(plain) <= MAX_BATCH_SIZE:
        raise UsageError(f"{what}: {plain[: _MOST_DIGITS + 1]} is out of range (1 to {MAX_BATCH_SIZE})")
    return int(plain)


def parse_batches(text: str) -> tuple[int, ...]:
    """The batch sizes of `--batch N,N,...`."""
    return tuple(_batch(part, "--batch") for part in text.split(","))


_BATCH = click.option("--batch", type=int, metavar="N", help="Batch size (default 1).")
_COMMON = (
    click.option("--runtime", type=click.Choice(RUNTIMES), help="HailoRT version (default: by architecture)."),
    click.option("--device", type=click.Choice(DEVICES), help="Device (default: the first the HEF allows)."),
    click.option("--cluster-layout", type=click.IntRange(min=0), metavar="N", help="Cluster bitmap of the device."),
    click.option("--network-group", metavar="NAME", help="Use only this network group."),
    _BATCH,
    click.option("--net-batch", multiple=True, metavar="NET=N", help="Batch size of one network."),
    click.option(
        "--frames", type=click.IntRange(1, MAX_FRAMES), metavar="N", help="Frames to run (default: one batch)."
    ),
    click.option("--seed", type=click.IntRange(min=0), default=0, metavar="N", help="Seed of made-up data."),
    click.option("--clock-mhz", type=click.IntRange(min=1), metavar="MHZ", help="Clock of the NN core."),
    click.option("--link", metavar="LINK", help="Host link: genXxY or integrated."),
    click.option("--host", multiple=True, metavar="KEY=VALUE", help="Setting of the simulated host."),
    click.option("--kv-cache", is_flag=True, help="Enable caches."),
    click.option("--from-memory", is_flag=True, help="Load as from a buffer."),
)
_NAMES = tuple(HefOptions.__dataclass_fields__)


def hef_options(function: F) -> F:
    """Add the common options; the command receives them as one `HefOptions` argument `common`."""
    return _add_options(function, _COMMON)


def hef_options_with_batches(function: F) -> F:
    """As `hef_options`, but `--batch` is a list; the command receives it as `batches`, by default (1,)."""

    added = _add_options(function, ())

    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        text, kwargs["batch"] = kwargs["batch"], None
        return added(*args, batches=parse_batches(text), **kwargs)

    batches = click.option("--batch", default="1", metavar="N,N,...", help="Batch sizes (default 1).")
    decorated: F = _decorated(wrapper, [batches if option is _BATCH else option for option in _COMMON])
    return decorated


def _add_options(function: F, options: Sequence[Callable[[Any], Any]]) -> F:
    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        given = {name: kwargs.pop(name) for name in _NAMES}
        given["net_batch"] = {
            net: _batch(text, f"--net-batch {net}") for net, text in _pairs("--net-batch", given["net_batch"]).items()
        }
        given["host"] = _pairs("--host", given["host"])
        if given["batch"] is not None:
            given["batch"] = _batch(given["batch"], "--batch")
        if given["link"] is not None and not _LINK.fullmatch(given["link"]):
            raise UsageError(f"--link takes genXxY or integrated, not {given['link']!r}")
        return function(*args, common=HefOptions(**given), **kwargs)

    decorated: F = _decorated(wrapper, options)
    return decorated


def _decorated(function: Any, options: Sequence[Callable[[Any], Any]]) -> Any:
    """The function with options that stand before its own in the help."""
    for option in reversed(options):
        function = option(function)
    return function


compute_time_option = click.option(
    "--compute-time",
    type=click.FloatRange(min=0),
    metavar="NS",
    help="Measured time from the last input byte to the outputs, in place of the HEF's own figures.",
)


def open_model(argument: str) -> Model:
    """Tell by content what a MODEL argument is; `-` reads standard input."""
    if argument == "-":
        data = sys.stdin.buffer.read()
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
    if path.is_dir():
        raise UsageError(f"{path} is a directory", file=str(path))
    if path.is_file() and _is_model(path):
        raise UsageError(f"{path} is an existing model file and is not overwritten", file=str(path))
    return path


def output_directory(argument: str, names: Iterable[str]) -> Path:
    """A directory to write the arrays of these names to; none of its files there may be a model (cli.md)."""
    from emu.arrays import output_file_name

    directory = Path(argument)
    for position, name in enumerate(names):
        output_path(str(directory / output_file_name(position, name)))
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
