"""The offset of caches moves with every frame that asks for it (vdma.md 3.6)."""

from __future__ import annotations

from pathlib import Path

import pytest

from emu.chips.chips import load
from emu.hef import open_hef
from emu.host.session import RunRequest, Session, open_for
from emu.hw.payload import Content, Payload
from emu.sequencer.compile import CompileOptions, compile_hef
from tests.conftest import needs_shared


def materialised(content: Content | None) -> bytes:
    return b"" if content is None else content.materialise() if isinstance(content, Payload) else content


@needs_shared
@pytest.mark.parametrize("frames", [1, 2, 3, 5])
def test_what_a_frame_writes_is_read_next(shared: Path, frames: int) -> None:
    """A ring of 128 entries, 96 of which are read and 32 written: each frame moves reading by the 32."""
    program = compile_hef(open_hef(shared / "synth" / "hef" / "cache_h8.hef"), CompileOptions(kv_cache=True))
    request = RunRequest(frames=frames, keep_outputs=True)
    session = Session(open_for(program, load(program.device), request), program, request)
    session.configure()
    (application,) = session.applications
    session.run_group(application, leave=False)
    (cache, *_) = application.group.caches
    assert (cache.input_length, cache.output_length) == (96, 32)
    lists, offset = session.chip.host_memory.lists, 32 * frames % 128
    for address, first, length in ((cache.input_dma_address, offset, 96), (cache.output_dma_address, offset + 96, 32)):
        listed, per_entry = lists[address], -(-cache.entry_size // cache.page_size)
        for entry in range(length):
            found = listed.buffer_at(entry * per_entry)
            assert found is not None
            assert found[1] == (first + entry) % 128 * cache.padded_entry_size
    # one block of entries behind the other in the ring, and no two alike
    buffer = lists[cache.input_dma_address].extents[0].buffer
    blocks = {at // cache.padded_entry_size for at, _ in buffer.writes}
    assert blocks == {(96 + 32 * frame) % 128 for frame in range(frames)}
    assert len({materialised(one) for one in buffer.writes.values()}) == len(buffer.writes)
