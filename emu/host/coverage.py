"""Which actions, statuses and units runs touched; reports can be merged over runs and suites."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from emu.errors import HailoError, HailoStatus
from emu.files import is_regular, read_document
from emu.hw.inspection import Inspection
from emu.output import Output
from emu.wire.actions import ActionType
from emu.wire.semantics import WAITS
from emu.wire.status import FirmwareStatus

# REPEATED_ACTION is a frame around others and never executed itself
ACTIONS = tuple(kind for kind in ActionType if kind is not ActionType.REPEATED_ACTION)
# the actions that wait: what HEFs call triggers
TRIGGERS = tuple(kind.name for kind in ACTIONS if kind.name in WAITS)
_PARTS = ("actions", "statuses", "units")
_MOST = 1 << 48  # of a count in a file: sums of them stay within what JSON holds
STATUSES = tuple(status for status in FirmwareStatus if status is not FirmwareStatus.SUCCESS)


class Coverage(Struct):
    """Counts by name."""

    actions: Counter[str] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    units: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, chip: Inspection) -> Coverage:
        """What one chip has done so far."""
        found = cls()
        probe = chip.probe
        found.actions.update({kind.name: count for kind, count in probe.actions.counts.items()})
        found.statuses.update({FirmwareStatus(status).name: count for status, count in probe.statuses.counts.items()})
        for unit in chip.units():
            if unit.KIND:
                found.units[unit.KIND] += unit.used
        return found

    def merge(self, other: Coverage) -> None:
        """Add the counts of another run."""
        self.actions.update(other.actions)
        self.statuses.update(other.statuses)
        self.units.update(other.units)

    @classmethod
    def read(cls, path: Path) -> Coverage:
        """The counts of a file that `document` was written to; HAILO_INVALID_ARGUMENT for anything else."""
        import orjson

        try:
            return cls.of_document(orjson.loads(read_document(path, b"{")))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise HailoError(
                HailoStatus.HAILO_INVALID_ARGUMENT, f"{path} is no coverage report of emu", file=str(path)
            ) from None

    @classmethod
    def of_document(cls, document: Any) -> Coverage:
        """The counts that `document` gave; KeyError, TypeError, ValueError or AttributeError for anything else."""
        return cls(*(Counter({name: _count(count) for name, count in document[part].items()}) for part in _PARTS))

    @property
    def percent(self) -> float:
        """Share of the action types that were executed."""
        return 100 * (len(ACTIONS) - len(self.missing_actions)) / len(ACTIONS)

    @property
    def missing_actions(self) -> list[str]:
        return [kind.name for kind in ACTIONS if not self.actions[kind.name]]

    @property
    def missing_statuses(self) -> list[str]:
        return [status.name for status in STATUSES if not self.statuses[status.name]]

    def document(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "actions": {kind.name: self.actions[kind.name] for kind in ACTIONS},
            "triggers": {name: self.actions[name] for name in TRIGGERS},
            "statuses": dict(sorted(self.statuses.items())),
            "units": dict(sorted(self.units.items())),
            "percent": self.percent,
            "missing_actions": self.missing_actions,
            "missing_statuses": self.missing_statuses,
        }

    def text(self) -> Iterator[str]:
        """Lines for a person."""
        touched = len(ACTIONS) - len(self.missing_actions)
        waited = sum(bool(self.actions[name]) for name in TRIGGERS)
        yield (
            f"coverage: {touched} of {len(ACTIONS)} action types ({waited} of {len(TRIGGERS)} triggers), "
            f"{len(self.statuses)} of {len(STATUSES)} statuses\n"
        )
        yield f"  units: {', '.join(f'{count} {name}' for name, count in sorted(self.units.items()))}\n"
        yield f"  not executed: {', '.join(self.missing_actions) or 'none'}\n"


def _count(value: object) -> int:
    if type(value) is not int or not 0 <= value <= _MOST:
        raise ValueError(f"{value!r} is no count")
    return value


def merge_into(path: Path, coverage: Coverage) -> Coverage:
    """Add `coverage` to what a file holds (none yet: it is made); returns the sum. A foreign file is left as it is.

    Runs that end at one time wait for each other; a write that fails leaves the sum of those before it.
    """
    import orjson

    with Output(path, wait=True) as output:
        # read behind the lock: another run may just have added its counts
        total = Coverage.read(path) if is_regular(path) else Coverage()
        total.merge(coverage)
        output.stream.write(orjson.dumps(total.document(), option=orjson.OPT_INDENT_2) + b"\n")
    return total
