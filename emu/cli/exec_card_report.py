"""What `emu exec --card` tells of a program that has ended: the JSON document, dumps, wall-clock figures (card.md)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from emu.cli.options import open_output
from emu.output import Output

if TYPE_CHECKING:
    from emu.card.activity import Activity
    from emu.card.card import Card
    from emu.cli.exec_card_options import ExecCard


def path_of_card(path: str, number: int, cards: int) -> str:
    """The file of one card: as it was named, with the name of the node before its suffix where there are several."""
    if cards == 1:
        return path
    named = Path(path)
    return str(named.with_name(f"{named.stem}.hailo{number}{named.suffix}"))


class Ended(Struct, frozen=True):
    """A program that has ended. `wall_s`: how long it took, where that was asked for."""

    program: Sequence[str]
    exit_code: int
    cards: Sequence[Card]
    seed: int
    wall_s: float | None = None

    @property
    def real_time_factor(self) -> float:
        """Simulated time of the card that is furthest over wall-clock time."""
        ns = max((card.device.clock.time for card in self.cards if card.powered), default=0)
        return ns / 1e9 / self.wall_s if self.wall_s else 0.0


class CardOutputs(Struct, frozen=True):
    """The files that are written at the end, opened before anything runs; empty or None where not asked for."""

    document: Output | None = None
    memory: Sequence[Output] = ()
    action_lists: Sequence[Output] = ()

    @classmethod
    def opened(cls, options: ExecCard, files: ExitStack) -> CardOutputs:
        """OutputError where the system refuses one of them, UsageError for a SOURCE_DATE_EPOCH that is no date."""

        def of_cards(path: str | None) -> list[Output]:
            names = [] if path is None else [path_of_card(path, at, options.cards) for at in range(options.cards)]
            return [output for name in names if (output := open_output(name, files)) is not None]

        if options.dump_action_list is not None:
            from emu.cli.tracing import source_date_epoch

            source_date_epoch(0)
        return cls(open_output(options.json, files), of_cards(options.dump_memory), of_cards(options.dump_action_list))

    def write(self, ended: Ended) -> None:
        """All that was asked for. A card that nobody used has an empty memory and no lists."""
        for card in ended.cards:
            card.settle()
        if self.document is not None:
            import orjson

            with self.document as output:
                output.stream.write(orjson.dumps(document(ended), option=orjson.OPT_INDENT_2) + b"\n")
        for card, output in zip(ended.cards, self.memory, strict=False):
            from emu.cli.run_report import write_dump

            write_dump(card.device, output)
        for card, output in zip(ended.cards, self.action_lists, strict=False):
            from emu.trace.sinks.fw_actions import dumps

            with output:
                output.stream.write((dumps(action_lists(card)) + "\n").encode())


def document(ended: Ended) -> dict[str, Any]:
    """What ran on the cards, and how the program ended; wall-clock figures only where they were asked for."""
    found: dict[str, Any] = {
        "program": list(ended.program),
        "exit_code": ended.exit_code,
        "device": ended.cards[0].options.profile.device,
        "seed": ended.seed,
        "cards": [_card(number, card) for number, card in enumerate(ended.cards)],
    }
    if ended.wall_s is not None:
        found["wall_s"] = ended.wall_s
        found["real_time_factor"] = ended.real_time_factor
    return found


def _card(number: int, card: Card) -> dict[str, Any]:
    head = {"node": f"/dev/hailo{number}", "runtime": card.runtime, "version": ".".join(map(str, card.version))}
    if not card.powered:
        return {**head, "simulated_ns": 0, "events": 0, "network_groups": [], "memory": None, "hazards": []}
    chip = card.device.inspection
    usage = chip.usage()
    return {
        **head,
        "simulated_ns": chip.time,
        "events": chip.events,
        "network_groups": [_group(activity) for activity in card.activities],
        "memory": {
            "register_writes": usage.register_writes,
            "ccw_bytes": usage.ccw_bytes,
            "opaque_bytes": usage.opaque_bytes,
            "regions": [use.document() for use in usage.regions if use.writes],
        },
        "hazards": [one.document() for one in card.device.hazards],
    }


def _group(activity: Activity) -> dict[str, Any]:
    network, application = activity.network, activity.application
    return {
        "name": network.name if network is not None else None,
        "model": network.file if network is not None else None,
        "difference": (network.difference or None) if network is not None else "no HEF was seen for it",
        "batch": application.header.batch_size,
        "activations": activity.activations,
        "simulated_ns": activity.simulated_ns,
        "fps": activity.fps,
        "contexts": [
            {
                "context_type": context.type.name.lower(),
                "index": context.index,
                "runs": activity.runs(context),
                "simulated_ns": activity.time(context),
                "actions": dict(context.actions.counts),
                "config_bytes": context.config_bytes,
                "data_bytes": context.data_bytes,
            }
            for context in application.contexts
        ],
        "streams": list(_streams(activity)),
    }


def _streams(activity: Activity) -> Iterator[dict[str, Any]]:
    known = activity.network.streams if activity.network is not None else {}
    for channel, passed in sorted(activity.streams.items()):
        name = known[channel].name if channel in known else None
        data = "the program's"
        if not passed.to_device:
            data = activity.network.source(name) if activity.network is not None and name is not None else "synthetic"
        yield {
            "name": name,
            "channel": channel,
            "direction": "h2d" if passed.to_device else "d2h",
            "frames": passed.frames,
            "bytes": passed.size,
            "data": data,
        }


def action_lists(card: Card) -> dict[str, Any]:
    """The document of `fw-control action-list` of the applications that ran, in their order, stamps and all."""
    from emu.cli.tracing import source_date_epoch
    from emu.files import is_regular
    from emu.trace.sinks import fw_actions

    hefs = [one.network for one in card.activities if one.network is not None]
    path = hefs[0].file if hefs else ""
    digest = ""
    if is_regular(path):
        with Path(path).open("rb") as stream:
            digest = fw_actions.md5(stream)
    return fw_actions.action_list_dump(
        [fw_actions.MeasuredRun(fw_actions.UNKNOWN, float(fw_actions.UNKNOWN), one.lists()) for one in card.activities],
        runtime=card.runtime,
        created=source_date_epoch(hefs[0].hef.header.timestamp // 1000 if hefs else 0),
        clock_cycle_mhz=int(card.options.profile.timestamp_hz) // 1_000_000,
        path=path,
        file_hash=digest,
    )
