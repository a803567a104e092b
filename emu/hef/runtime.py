"""Which HailoRT reads the file: what differs between versions hangs on this one value, never on a name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from msgspec import Struct

from emu import catalog
from emu.errors import HailoError, HailoStatus, IncompatibleError, UsageError
from emu.hef.enums import HwArch

HAILO8_FAMILY = frozenset(
    {
        HwArch.SAGE_A0,
        HwArch.HAILO8,
        HwArch.HAILO8P,
        HwArch.HAILO8R,
        HwArch.SAGE_B0,
        HwArch.PAPRIKA_B0,
        HwArch.HAILO8L,
    }
)
"""What 4.23 accepts at configure (verify_legacy_hef_only, hef-container.md 5.1)."""

_SINCE_4_21 = frozenset(
    {
        HailoStatus.HAILO_HEF_FILE_CORRUPTED,
        HailoStatus.HAILO_HEF_NOT_SUPPORTED,
        HailoStatus.HAILO_HEF_NOT_COMPATIBLE_WITH_DEVICE,
    }
)
"""Statuses that up to 4.20 were all HAILO_INVALID_HEF (hef-container.md 10)."""


@dataclass(frozen=True, order=True, slots=True)
class Runtime:
    """A version of HailoRT; `name` is the runtime whose rules apply, by the name of its file."""

    major: int
    minor: int
    revision: int = 0
    name: str = field(default="", compare=False)

    @classmethod
    def named(cls, text: str) -> Runtime:
        """The release that a user names (`release_name`); UsageError for one that is not there."""
        name = release_name(text)
        major, minor, revision = catalog.quantities("runtimes", name)["release.version"].value
        return cls(major, minor, revision, name)

    @classmethod
    def parse(cls, text: str) -> Runtime:
        """Any version from 4.6 to 5.2, of which the nearest release's rules apply; UsageError for what is none."""
        numbers = _numbers(text)
        if numbers is None:
            raise UsageError(f"{text!r} is not a HailoRT version (such as 4.23 or 5.2)")
        runtime = cls(*numbers)
        if not V4_6 <= runtime < V5_3 or V4_24 <= runtime < V5_0:
            raise UsageError(f"HailoRT {text} is not known here (4.6 to 4.23, 5.0 to 5.2)")
        same_line = [(number, name) for number, name in _releases() if number[0] == runtime.major]
        older = [name for number, name in same_line if number <= numbers]
        return cls(*numbers, name=older[-1] if older else same_line[0][1])

    @property
    def loads_only(self) -> bool:
        """Whether it is known what it loads, but not what it compiles: no file is of its release."""
        numbers = list(catalog.quantities("runtimes", self.name)["release.version"].value)
        return [self.major, self.minor] != numbers[:2] or [self.major, self.minor, self.revision] < numbers

    @property
    def label(self) -> str:
        """What a user calls it: the name of its file, or of a release that has none its version."""
        if not self.loads_only:
            return self.name
        # 5.0 means the newest of its revisions, which has a file
        has_file = any(number[:2] == (self.major, self.minor) for number, _ in _releases())
        return f"{self.major}.{self.minor}.{self.revision}" if has_file else str(self)

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}" + (f".{self.revision}" if self.revision else "")

    def status(self, status: HailoStatus) -> HailoStatus:
        """The status as this version numbers it: 26 for 91, 92 and 93 up to 4.20."""
        if self < V4_21 and status in _SINCE_4_21:
            return HailoStatus.HAILO_INVALID_HEF
        return status

    def refusal(self, status: HailoStatus, message: str, **where: object) -> HailoError:
        """The error of a refused file (exit code 3), numbered as by this version."""
        error = HailoError(self.status(status), message, **where)
        error.meaning = status
        return error

    def incompatible(self, status: HailoStatus, message: str, **where: object) -> IncompatibleError:
        """The error of a sound file that this version or device does not take (exit code 4)."""
        error = IncompatibleError(self.status(status), message, **where)
        error.meaning = status
        return error


V4_6 = Runtime(4, 6)
V4_18 = Runtime(4, 18)
V4_20 = Runtime(4, 20)
V4_21 = Runtime(4, 21)
V4_24 = Runtime(4, 24)
V5_0 = Runtime(5, 0)
V5_0_1 = Runtime(5, 0, 1)
V5_1 = Runtime(5, 1)
V5_2 = Runtime(5, 2)
V5_3 = Runtime(5, 3)


def _numbers(text: str) -> tuple[int, int, int] | None:
    """The version that a text is; None for any other text."""
    match = re.fullmatch(r"(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?", text)
    return None if match is None else (int(match[1]), int(match[2]), int(match[3] or 0))


def _releases() -> list[tuple[tuple[int, int, int], str]]:
    """The runtimes whose names are versions, the oldest first."""
    numbered = ((_numbers(name), name) for name in catalog.names("runtimes"))
    return [(numbers, name) for numbers, name in numbered if numbers is not None]


def release_name(text: str) -> str:
    """The runtime that a user means: a runtime's own name, or a version of its release.

    `4.20.1` is 4.20, for which there is no file of its own, and `5.1` the newest of that release; UsageError for a
    version older than every file of its release, and for anything else.
    """
    known = catalog.names("runtimes")
    if text in known:
        return text
    numbers = _numbers(text)
    if numbers is not None:
        if text.count(".") == 1:
            numbers = (*numbers[:2], 1 << 16)
        older = [name for number, name in _releases() if number[:2] == numbers[:2] and number <= numbers]
        if older:
            return older[-1]
    raise UsageError(f"unknown runtime {text!r}; one of {', '.join(known)}")


def any_release(text: str) -> Runtime:
    """The runtime of that name, or any version from 4.6 on, of which is known what it loads (`loads_only`).

    UsageError for what is neither.
    """
    return Runtime.named(text) if text in catalog.names("runtimes") else Runtime.parse(text)


def newest() -> Runtime:
    """The last of `runtimes`; the files of the others are not read."""
    return Runtime.named(catalog.names("runtimes")[-1])


def runtimes() -> tuple[Runtime, ...]:
    """All that there are, the oldest first."""
    return tuple(Runtime.named(name) for name in catalog.names("runtimes"))


LINES = 2  # of releases: 4.x and 5.x


def by_preference(names: Iterable[str]) -> list[str]:
    """The newest of each line (4.x, 5.x), which are the defaults, then the others, the newest first.

    UsageError for a name that is no release (`any_release`).
    """
    ordered = sorted(names, key=any_release, reverse=True)
    newest = {name.partition(".")[0]: name for name in reversed(ordered)}
    first = sorted(newest.values(), key=any_release)
    return [*first, *(name for name in ordered if name not in first)]


def spans(names: Iterable[str]) -> str:
    """Runtimes in few words: `4.18 to 4.23, 5.2`."""
    names = list(names)
    known = sorted({*catalog.names("runtimes"), *names}, key=any_release)
    runs: list[list[int]] = []
    for place in sorted(map(known.index, names)):
        if runs and place == runs[-1][-1] + 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    return ", ".join(known[run[0]] if len(run) == 1 else f"{known[run[0]]} to {known[run[-1]]}" for run in runs)


class LibraryRules(Struct, frozen=True):
    """What the library of a runtime does its own way with frames.

    `prefilter`: codes are first compared with the quantised threshold, which drops more than the threshold itself
    (known-bugs.md 13, 14). `column_innermost`: the decoders' loop order, which decides among equal scores.
    `packed_floats`: BY_SCORE and WITH_BYTE_MASK outputs claim FLOAT32, else UINT8. `mask_header_bytes`: of a
    detection before its byte mask. `reads_switches`: post-processing has switches in the environment.
    `mask_bytes_per_pixel`: of the image, that all byte masks together may take unless the user says otherwise.
    """

    prefilter: bool
    column_innermost: bool
    packed_floats: bool
    mask_header_bytes: int
    reads_switches: bool
    mask_bytes_per_pixel: int


@catalog.forgetful
def library_rules(runtime: str) -> LibraryRules:
    """The rules of a runtime; HAILO_INVALID_ARGUMENT for a name that has no file."""
    if runtime not in catalog.names("runtimes"):
        known = ", ".join(catalog.names("runtimes"))
        raise HailoError(HailoStatus.HAILO_INVALID_ARGUMENT, f"runtime {runtime} is none of {known}")
    entries = catalog.quantities("runtimes", runtime)
    return LibraryRules(**{name: entries[f"library.{name}"].value for name in LibraryRules.__struct_fields__})


def default_runtime(hw_arch: HwArch | int | None) -> Runtime:
    """4.23 for the Hailo-8 family, 5.2 for all others and where no architecture can be read (cli.md)."""
    return Runtime.named("4.23" if hw_arch is not None and hw_arch in HAILO8_FAMILY else "5.2")
