"""What a HEF asks for, and what its configuration writes: extensions and registers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from emu.explain.explanation import Explanation, own_words, texts
from emu.hef.enums import ExtensionType
from emu.hef.features import FIRST_SUPPORTED, OPTIONAL_SINCE
from emu.hw.config.addresses import MAPS, Place


def explanations() -> Iterator[Explanation]:
    """All extensions, and the registers and units that have a name."""
    found = texts("extensions")
    for extension in ExtensionType:
        entry = found.entries.get(extension.name) or own_words(extension.name)
        since, optional = FIRST_SUPPORTED.get(extension), OPTIONAL_SINCE.get(extension)
        taken = f"HailoRT {since} and later" if since is not None else "no release"
        details = [("taken by", taken)] + ([("optional since", f"HailoRT {optional}")] if optional else [])
        yield Explanation(
            name=extension.name,
            kind="HEF extension",
            number=int(extension),
            text=entry.what,
            when=entry.when,
            do="`emu inspect FILE` lists a file's extensions, and the releases that load it.",
            details=tuple(details),
            documented=entry.documented or ("hef-container.md 4.1",),
            source=found.source,
        )
    registers = texts("registers")
    for name, entry in registers.entries.items():
        places = [("at", entry.at)] if entry.at else [*_places(name)]
        yield Explanation(
            name=name,
            kind="register" if entry.at else "unit of the address space",
            text=entry.what,
            details=tuple(places),
            documented=entry.documented,
            source=registers.source,
        )


def _places(unit: str) -> Iterator[tuple[str, str]]:
    """Where a unit lies on each family."""
    for family, chip in MAPS.items():
        for bank in chip.banks:
            if bank.unit == unit:
                yield (
                    family,
                    f"{bank.units} at +0x{bank.base:06X} of a cluster's window, 0x{bank.stride:X} bytes each",
                )
        for system in chip.system:
            if system.name == unit:
                count = f"{system.size // system.stride} of " if system.stride else ""
                size = system.stride or system.size
                yield family, f"{count}0x{size:X} bytes at 0x{system.base:08X}"


def addresses(thing: str) -> Iterator[Explanation]:
    """The register at an address, by its number (0x…) or its name (`cluster 4 LCU 7 +0x12C`), on each family."""
    number = int(thing, 16) if re.fullmatch(r"0[xX][0-9a-fA-F]{5,8}", thing) else None
    for family, chip in MAPS.items():
        address = number
        if address is None:
            try:
                address = chip.address(thing)
            except ValueError:
                continue
        place = chip.place(address)
        if place.unit == "system":
            continue
        yield _at(family, address, place)


def _at(family: str, address: int, place: Place) -> Explanation:
    found = texts("registers")
    entry = found.entries.get(place.unit) or found.entries["L3 block"]
    return Explanation(
        name=str(place),
        kind=f"register ({family})",
        number=address,
        text=entry.what,
        details=(("offset", f"0x{place.offset:X}"),),
        documented=entry.documented,
        source=found.source,
    )
