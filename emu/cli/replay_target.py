"""`emu replay --target`: a recording's host against another implementation of the firmware."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from emu.cli.document import print_document
from emu.cli.log import warn
from emu.cli.records import differing_fields
from emu.cli.run_options import RunOptions
from emu.cli.screen import say
from emu.conform.conform import connect
from emu.conform.protocol import Watch
from emu.conform.replay import Compared, Divergence, Replayer, check_records
from emu.host.prepare import prepare
from emu.trace.record import Recording

Describe = Callable[[dict[str, Any]], str]


def send_again(recording: Recording, options: RunOptions, address: str, describe: Describe | None) -> bool:
    """Whether nothing differs. `describe` puts a record into words, None: print JSON.

    Raises what opening the models, reading the recording and reaching the target raise.
    """
    if options.spec.inject:
        warn(f"the recorded run had faults ({', '.join(options.spec.inject)}), of which a target knows nothing")
    run = prepare(options.spec, [model.name for model in options.models])
    records = list(check_records(recording.records()))
    with connect(address) as target:
        name = target.name
        if recording.run.get("registers") and not target.watch & Watch.REGISTERS:
            warn(f"{name} does not know the registers of a card: accesses to them and interrupts are skipped")
        computed = run.request.outputs is not None
        compared = Replayer(target, run.program, run.request.layout or 0, run.request.seed, computed).run(records)
    if describe is None:
        print_document(_document(name, compared))
    else:
        say(_lines(name, compared, describe))
    return compared.divergence is None


def _document(name: str, compared: Compared) -> dict[str, Any]:
    found = compared.divergence
    return {
        "equal": found is None,
        "target": name,
        "compared": {
            "replies": compared.replies,
            "transfers": compared.transfers,
            "accesses": compared.accesses,
            "registers": compared.registers,
            "interrupts": compared.interrupts,
        },
        "divergence": None
        if found is None
        else {
            "number": found.number,
            "fields": list(found.fields),
            "recorded": found.recorded,
            "replayed": found.found,
        },
    }


def _lines(name: str, compared: Compared, describe: Describe) -> list[str]:
    counts = f"{compared.replies:,} replies, {compared.transfers:,} transfers, {compared.accesses:,} register accesses"
    if compared.registers:
        counts += f", {compared.registers:,} of the host to its card, {compared.interrupts:,} interrupts"
    found = compared.divergence
    if found is None:
        return [f"{name}: {counts}: as recorded"]
    return [
        f"{name}: first difference at record {found.number:,}: {', '.join(found.fields)}",
        f"  before it as recorded: {counts}",
        *_sides(found, describe),
        *differing_fields(found.recorded, found.found),
    ]


def _sides(found: Divergence, describe: Describe) -> list[str]:
    sides = (("recorded", found.recorded), ("target", found.found))
    return [f"  {word} " + ("nothing" if record is None else describe(dict(record))) for word, record in sides]
