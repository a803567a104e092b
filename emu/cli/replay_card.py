"""`emu replay` of what a program said to a card (`emu exec --card --record`): said again, without the program."""

from __future__ import annotations

from typing import Any

from emu.card import conversation
from emu.card.conversation import Conversation
from emu.cli.exec_card import make_cards
from emu.cli.exec_card_options import KEPT, MOST_CARDS, ExecCard
from emu.cli.log import warn
from emu.cli.recorded_files import files_now, recorded_files, says_nothing
from emu.errors import EmuError
from emu.host.spec import typed
from emu.trace.record import DivergedError, Recording, Replay


def say_again(recording: Recording, models: tuple[str, ...], replay: Replay) -> str:
    """Say it to a card of the same kind; how it ended. `models` stand for the HEFs that were opened then, in order."""
    options, files = _recorded(recording, models)
    cards = make_cards(options, put=replay.put)
    try:
        conversation.say_again(recording.records, Conversation(cards, replay.put), files)
    except DivergedError:
        return "stopped at the first difference"
    except EmuError as error:
        if not replay.number:
            raise
        return error.line()
    replay.finish()
    return "OK"


def _recorded(recording: Recording, models: tuple[str, ...]) -> tuple[ExecCard, dict[str, str]]:
    """The options, and by the path of each HEF then the one that is taken now."""
    try:
        kept: dict[str, Any] = {"cards": 1, **recording.run["card"]}  # older recordings are of one
        options = ExecCard(**typed(ExecCard, kept, KEPT))
        if not 1 <= options.cards <= MOST_CARDS:
            raise ValueError(f"{options.cards} cards")
        recorded = recorded_files(recording)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise says_nothing(recording, error) from None
    paths, notes = files_now(recorded, models)
    for note in notes:
        warn(note)
    return options, {then: str(now) for (then, _), now in zip(recorded, paths, strict=True)}
