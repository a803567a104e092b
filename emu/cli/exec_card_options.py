"""The options of `emu exec --card`."""

from __future__ import annotations

from msgspec import Struct

AUTO = "auto"
MOST_CARDS = 16
# the options that decide what a card answers, which a recording keeps
KEPT = (
    "device",
    "cards",
    "runtime",
    "seed",
    "link",
    "clock_mhz",
    "reference",
    "compute",
    "outputs",
    "inject",
    "hazards",
    "pace",
)


class ExecCard(Struct, frozen=True):
    """The options of `emu exec --card`; None or empty where nothing was said."""

    device: str = "hailo8"
    cards: int = 1
    runtime: str = AUTO
    seed: int = 0
    link: str | None = None
    clock_mhz: int | None = None
    reference: tuple[str, ...] = ()
    compute: str | None = None
    outputs: str = "made-up"
    trace: str | None = None
    trace_format: str | None = None
    record: str | None = None
    coverage_file: str | None = None
    inject: tuple[str, ...] = ()
    breaks: tuple[str, ...] = ()
    step: bool = False
    break_script: str | None = None
    hazards: str = "report"
    pace: str = "fast"
    check_compile: bool = False
    json: str | None = None
    timing: bool = False
    dump_memory: str | None = None
    dump_action_list: str | None = None
    handlers: str | None = None
