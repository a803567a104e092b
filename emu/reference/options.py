"""What is said of a reference model in words, as options and keywords have it; the library's form is made here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from emu.errors import UsageError
from emu.files import is_there
from emu.naming import listed, similar
from emu.numerals import decimal_number

if TYPE_CHECKING:
    from emu.reference.binding import BindOptions


class ReferenceOptions(Struct, frozen=True):
    """What was said of a reference; `given` lists the options that mean nothing without one."""

    reference: tuple[str, ...] = ()
    maps: tuple[str, ...] = ()
    input_mean: str | None = None
    input_scale: str | None = None
    alls: str | None = None
    quantise_edges: bool = False

    def given(self) -> list[str]:
        names = ["--map"] * bool(self.maps) + ["--input-mean"] * (self.input_mean is not None)
        names += ["--input-scale"] * (self.input_scale is not None) + ["--alls"] * (self.alls is not None)
        return names + ["--quantise-edges"] * self.quantise_edges


def numbers(text: str | None, option: str) -> tuple[float, ...]:
    """The finite numbers of `N[,N,...]`; empty for None."""
    if text is None:
        return ()
    return tuple(decimal_number(part, f"{option} (numbers with commas between)") for part in text.split(","))


def bind_options(options: ReferenceOptions, names: Iterable[str]) -> BindOptions:
    """The library's form; `names` are those that `--map` may name, so that a name may hold `=`."""
    from emu.reference.binding import BindOptions
    from emu.reference.script import read_script

    return BindOptions(
        maps=_maps(options.maps, list(names)),
        mean=numbers(options.input_mean, "--input-mean"),
        scale=numbers(options.input_scale, "--input-scale"),
        script=None if options.alls is None else read_script(Path(options.alls)),
        quantise_edges=options.quantise_edges,
    )


def _maps(texts: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        name = next((one for one in sorted(names, key=len, reverse=True) if text.startswith(f"{one}=")), None)
        name = text.partition("=")[0] if name is None else name
        tensor = text[len(name) + 1 :]
        if not name or not tensor:
            raise UsageError(f"--map takes NAME=TENSOR, not {text!r}")
        if name in found:
            raise UsageError(f"--map {name}: given twice")
        found[name] = tensor
    return found


def files_by_group(references: Sequence[str], groups: Sequence[str]) -> dict[str, Path]:
    """The file of each group: `GROUP=FILE`, or a plain FILE where there is one group. UsageError otherwise."""
    found: dict[str, Path] = {}
    for text in references:
        group = next((one for one in sorted(groups, key=len, reverse=True) if text.startswith(f"{one}=")), None)
        if group is None:
            head, sign, _ = text.partition("=")
            if sign and not is_there(text):
                what = f"there is no network group {head!r}, only {listed(groups)}.{similar(head, groups)}"
                raise UsageError(f"--reference {text}: {what}")
            if len(groups) != 1:
                raise UsageError(f"--reference {text}: which of {', '.join(groups)} is it for? GROUP=FILE says so")
            group, path = groups[0], Path(text)
        else:
            path = Path(text[len(group) + 1 :])
        if group in found:
            raise UsageError(f"--reference: two models for {group} ({found[group]}, {path})")
        found[group] = path
    return found
