"""Well-formed configuration in the running device: what acts, what is noticed, what stalls (units.md 0 to 3)."""

from __future__ import annotations

from pathlib import Path

import pytest

from emu.host.spec import RunSpec
from emu.hw.config.addresses import MAPS
from emu.hw.config.image import ChipImage
from emu.regression.run import Run, execute
from emu.sequencer.configuration import HAILO1XH, HAILO8
from emu.trace.events import Kind
from emu.trace.reader import TraceReader
from tests.conftest import ROOT, needs_shared
from tests.hw.configured import layouts, runs_1xh

MNIST = "mnist_cnn.v0.hailo8.hef"
FACE = "face_landmarks_lite_2ctx.v3.hailo1xh.hef"


def ran(model: Path, trace: Path, **settings: object) -> Run:
    run = execute(model, RunSpec.of(model, **settings), trace)
    assert run.device is not None
    return run


def hazards(trace: Path) -> list[str]:
    return [record["action"] for record in TraceReader(trace) if record["kind"] == Kind.HAZARD.value]


@needs_shared
@pytest.mark.parametrize("path", ["mnist_cnn.v0.hailo8", "driving_partial.v1.hailo8l", "behaviour_cnn.v2.hailo8"])
def test_hailo8_files_run_without_a_hazard(path: str, shared: Path, tmp_path: Path) -> None:
    run = ran(shared / "hef" / f"{path}.hef", tmp_path / "t", frames=3)
    assert run.error is None and run.device is not None
    assert run.device.logic.active and not run.device.logic.hazards and not hazards(tmp_path / "t")


@needs_shared
@pytest.mark.parametrize(("path", "programs"), [("scrfd_2.5g.v3.hailo1xh", 85), (FACE[:-4], 71)])
def test_1xh_files_run_without_a_hazard(path: str, programs: int, shared: Path, tmp_path: Path) -> None:
    """Every command's program runs; batches of the two contexts configure each other in turn."""
    run = ran(shared / "hef" / f"{path}.hef", tmp_path / "t", frames=3)
    assert run.error is None and run.device is not None
    logic = run.device.logic
    assert logic.active and not logic.hazards and logic.programs >= programs
    lists = [one for name, _, runs in runs_1xh() if name.startswith(path) for one in runs]
    assert logic.started == {(run.cluster, lcu) for one in lists for run in one.runs for lcu in run.effects.started}


@needs_shared
def test_the_memory_holds_what_programs_wrote(shared: Path, tmp_path: Path) -> None:
    """Every word that mnist_cnn's programs write stands in the device's memory, but for those that firmware wrote."""
    run = ran(shared / "hef" / MNIST, tmp_path / "t", frames=1)
    assert run.device is not None
    image: ChipImage = next(layout.executed.image for layout in layouts() if layout.name == MNIST)
    memory, lcus = run.device.memory, 0
    for cluster in (4, 5):
        for lcu in image.written_units(cluster, "LCU"):
            held = image.unit_words(cluster, "LCU", lcu, 8, 0x12C)
            base = MAPS[HAILO8].window(cluster) + 0x800000 + lcu * 0x20000 + 0x12C
            assert [memory.peek(base + 4 * n) for n in range(8)] == held.words.tolist()
            lcus += 1
    assert lcus == 10


@needs_shared
def test_l3_holds_what_was_decoded_at_its_direct_address(shared: Path, tmp_path: Path) -> None:
    """Both forms of an address read the same word, and the dump has each block once (chip-config.md 2)."""
    run = ran(shared / "hef" / MNIST, tmp_path / "t", frames=1)
    assert run.device is not None
    memory, chip = run.device.memory, MAPS[HAILO8]
    image: ChipImage = next(layout.executed.image for layout in layouts() if layout.name == MNIST)
    found = memory.snapshot()
    blocks = {
        (cluster, block): image.l3[cluster].block(block) for cluster in (4, 5) for block in image.l3[cluster].sizes
    }
    seen: dict[tuple[int, int], bytearray] = {key: bytearray(0x8000) for key in blocks}
    for address, data in found.items():
        cluster = chip.cluster_of(address)
        for at in range(address, address + len(data), 8):  # every stretch is a multiple of 8 bytes
            block = chip.l3_block(at)
            if block is not None and cluster is not None:
                assert chip.place(at).unit == "L3 block"
                seen[cluster, block][at % 0x8000 : at % 0x8000 + 8] = data[at - address : at - address + 8]
    for (cluster, block), held in blocks.items():
        assert held is not None and seen[cluster, block] == held.data.tobytes()
        direct = chip.window(cluster) + 0x1000000 + block * 0x8000
        for offset in (held.spans[0][0], held.spans[0][0] + 4, held.spans[-1][1] - 4):
            word = int.from_bytes(held.data[offset : offset + 4].tobytes(), "little")
            assert memory.peek(direct + offset) == memory.peek(direct + 0x400000 + offset) == word
    assert len(blocks) == 5


@needs_shared
def test_a_flipped_bit_of_a_1xh_record_is_not_written(shared: Path, tmp_path: Path) -> None:
    """The record is refused, event 13 comes once, and nothing else is lost (chip-config.md 8)."""
    run = ran(shared / "hef" / FACE, tmp_path / "t", frames=4, inject=("flip-ccw:0=40000",))
    assert run.device is not None
    assert run.error is None
    assert hazards(tmp_path / "t")[0] == "record-refused"
    events = [event for event in run.device.notifications if event.event_id == 13]
    assert len(events) == 1 and events[0].event_id.name == "NN_CORE_CRC_ERROR"
    assert "1 wrong records" in events[0].text


@needs_shared
def test_a_broken_program_is_never_done(shared: Path, tmp_path: Path) -> None:
    """A bit in the symbol table of mnist_cnn's programs: the sequencer's done never comes, and the stall says why."""
    ran(shared / "hef" / MNIST, tmp_path / "t")
    fetches = [r for r in TraceReader(tmp_path / "t") if r.get("action") == "FETCH_CFG_CHANNEL_DESCRIPTORS"]
    last = max(record["action_index"] for record in fetches)
    run = ran(shared / "hef" / MNIST, tmp_path / "t", inject=(f"flip-ccw:1={8 * 12}@preliminary:{last}",))
    assert run.error is not None
    assert "SEQUENCER_DONE_INTERRUPT" in run.error.message and "breaks off at L3 block" in run.error.message
    assert "program-broken" in hazards(tmp_path / "t")


def test_made_up_configuration_stays_opaque(tmp_path: Path) -> None:
    run = ran(ROOT / "examples" / "two_context.hef", tmp_path / "t", frames=2, batch=1)
    assert run.error is None and run.device is not None
    assert not run.device.logic.active and run.device.logic.programs == 0


def test_both_families_have_a_map() -> None:
    assert MAPS[HAILO8].name(0x188E012C) == "cluster 4 LCU 7 +0x12C"
    assert MAPS[HAILO8].name(0x11087FC0) == "cluster 0 L3 block 16 +0x7FC0"
    assert MAPS[HAILO1XH].name(0x10F00250) == "cluster 0 control +0x250"
    assert MAPS[HAILO8].name(0x00200684) == "interrupt raise +0x0"
