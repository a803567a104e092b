"""What a real HailoRT sent, by its captures, against what is compiled beside the client: the whole compile path."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import emu
from emu.card.calls import Name
from emu.card.errors import CallError
from emu.card.networks import Networks
from emu.host.capture import load_capture
from emu.wire.actions import make_action
from emu.wire.control import ContextSwitchStatus, change_context_switch_status
from emu.wire.wire import wire_of
from tests.card.conversation import Client, PlainMemory, make_card
from tests.card.runtime import InProcess, MiniRuntime
from tests.conftest import ROOT, RUNTIMES
from tests.sequencer.captures import Capture, captures

PLACES = {"oracle": RUNTIMES[0], "synth": f"capture/{RUNTIMES[0]}"}
EXAMPLE = ROOT / "examples" / "two_context.hef"
FAMILY = ("hailo8", "hailo8l")


class Unknown(PlainMemory):
    """Memory whose content no capture holds: it is there, and cannot be read while the device runs."""

    hidden = False

    def read(self, address: int, size: int) -> bytes:
        if self.hidden:
            raise CallError(14, "not in the capture")
        return super().read(address, size)


def sent(capture: Capture, path: Path) -> list[tuple[str, str]]:
    """Send what a capture holds to a card, call by call, and enable every group: group and first difference."""
    device, layout = capture.device
    networks = Networks(compute="off", host=capture.host())
    networks.opened(str(capture.hef))
    card = make_card(device, capture.runtime, networks, layout=layout)
    memory = Unknown()
    client = Client(card, memory)
    handles: dict[int, int] = {}
    made: dict[int, int] = {}
    mini = MiniRuntime(InProcess(client), load_capture(path).program)
    for one in capture.document["desc_lists"]:
        fields = client.out(Name.DESC_LIST_CREATE, one["count"], one["page"], one["circ"], 0, 0)
        assert fields[4] == one["dma"]
        made[one["h"]] = fields[3]
    sizes: dict[int, int] = {}
    told = [one for one in capture.document["desc_programs"] if one["phase"] == "configure"]
    for one in told:
        sizes[one["buf"]] = max(sizes.get(one["buf"], 0), one["off"] + one["size"] * max(1, one["batch"]))
    for buffer, size in sizes.items():
        handles[buffer], _ = mini.map(-(-size // 4096) * 4096, 0)
    for one in told:
        where = made[one["desc"]], one["ch"], one["start"], one["bind"], one["irq"], 0, one["stride"]
        client(Name.DESC_LIST_PROGRAM, handles[one["buf"]], one["size"], one["off"], one["batch"], *where)
    for group in mini.program.network_groups:
        for message in group.controls():
            mini.control(message)
    memory.hidden = True
    for index in range(len(mini.program.network_groups)):
        mini.control(change_context_switch_status(ContextSwitchStatus.ENABLED, index))
    return networks.checked


@pytest.mark.parametrize("folder", ["oracle", "synth"])
def test_what_real_runtimes_sent_is_what_is_compiled(shared: Path, folder: str) -> None:
    count = 0
    for capture in captures(shared, RUNTIMES[0]):
        path = shared / folder / PLACES[folder] / f"{capture.name}.json"
        if (
            capture.stage != "ok"
            or not capture.document["network_groups"]
            or capture.device[0] not in FAMILY
            or not path.exists()
        ):
            continue
        checked = sent(capture, path)
        assert checked, capture.name
        assert [difference for _, difference in checked] == [""] * len(checked), capture.name
        count += 1
    assert count >= 20


def first_difference(change: Callable[[MiniRuntime], None], batch: int = 1) -> str:
    """What is found where a client does one thing otherwise than emu would."""
    networks = Networks(compute="off")
    networks.opened(str(EXAMPLE))
    client = Client(make_card(networks=networks))
    mini = MiniRuntime(InProcess(client), emu.compile_hef(emu.open_hef(EXAMPLE), batch=batch))
    change(mini)
    mini.configure()
    with suppress(RuntimeError):  # what was changed may be more than the firmware takes
        mini.control(change_context_switch_status(ContextSwitchStatus.ENABLED, 0))
    ((_, difference),) = networks.checked
    return difference


def _group(mini: MiniRuntime, **changes: Any) -> None:
    (group,) = mini.program.network_groups
    mini.program = replace(mini.program, network_groups=(replace(group, **changes),))


def test_the_first_difference_is_named() -> None:
    wire = wire_of(RUNTIMES[0])

    def action(mini: MiniRuntime) -> None:
        (group,) = mini.program.network_groups
        contexts = list(group.contexts)
        entries = [located.entry for located in wire.decode(contexts[3].action_list)]
        wanted = "initial_credit_size"
        at, entry = next((at, one) for at, one in enumerate(entries) if wanted in getattr(one, "NAMES", ()))
        place = entry.NAMES.index(wanted)
        entries[at] = make_action(entry.type, (*entry[:place], entry[place] ^ 1, *entry[place + 1 :]))
        contexts[3] = replace(contexts[3], action_list=b"".join(wire.encode(entries)))
        _group(mini, contexts=tuple(contexts))

    def byte(mini: MiniRuntime) -> None:
        lists = list(mini.program.descriptor_lists)
        at = next(at for at, one in enumerate(lists) if any(entry.segments is not None for entry in one.programs))
        entry = lists[at].programs[0]
        data = bytearray(b"".join(bytes(one) for one in entry.segments or ()))
        data[5] ^= 1
        lists[at] = replace(lists[at], programs=(replace(entry, segments=(bytes(data),)), *lists[at].programs[1:]))
        mini.program = replace(mini.program, descriptor_lists=tuple(lists))

    def size(mini: MiniRuntime) -> None:
        lists = list(mini.program.descriptor_lists)
        at = next(at for at, one in enumerate(lists) if any(entry.segments is not None for entry in one.programs))
        entry = lists[at].programs[0]
        lists[at] = replace(lists[at], programs=(replace(entry, size=entry.size - 8), *lists[at].programs[1:]))
        mini.program = replace(mini.program, descriptor_lists=tuple(lists))

    def count(mini: MiniRuntime) -> None:
        lists = list(mini.program.descriptor_lists)
        lists[0] = replace(lists[0], count=2 * lists[0].count)
        mini.program = replace(mini.program, descriptor_lists=tuple(lists))

    assert first_difference(lambda mini: None) == ""
    assert first_difference(lambda mini: None, batch=2) == "", "the batch is the client's"
    changed = r"dynamic_0 action \d+: \w+: initial_credit_size: compiled \d+, the client sent \d+"
    assert re.fullmatch(changed, first_difference(action))
    assert "byte 5 behind descriptor 0: the content differs" in first_difference(byte)
    assert re.search(r"descriptor 0: compiled \d+ bytes, the client programmed \d+", first_difference(size))
    assert re.search(r"compiled circular \d+ x 512|compiled circular", first_difference(count))
