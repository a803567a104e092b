"""What a boundary channel finds in its descriptor list: which buffers, how many bytes, and where that ends.

The list is the host's (`HostList`), the base, page, depth and pattern by which the chip walks it are what the actions
say: OPEN_BOUNDARY_* programs the host's half of a channel, ACTIVATE_BOUNDARY_* the half of the stream. Where all agree,
a frame is one transfer of the host and nothing has to be walked (`agrees`); else what comes follows from the walk
(units.md 7): a short transfer, another frame's bytes, or a descriptor that points nowhere.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from emu.hw.hostmem import Extent, HostBuffer, HostList
from emu.hw.payload import Content, Payload
from emu.hw.vdma import Channel, Edge


class Piece(NamedTuple):
    """What one descriptor moves: `size` bytes of a buffer from `offset` on."""

    buffer: HostBuffer
    offset: int
    size: int


class Walk(Struct, frozen=True):
    """`descriptors` of the list, which move `pieces`, `moved` bytes in all; `nowhere`: the one that points nowhere."""

    descriptors: int
    moved: int
    pieces: tuple[Piece, ...]
    nowhere: int = -1


def agrees(edge: Edge) -> bool:
    """Whether both halves of a channel and the host's list say the same: a frame is one transfer of the host."""
    channel = edge.channel
    listed = channel.descriptors
    return (
        listed is not None
        and channel.buffer == edge.buffer
        and listed.count == channel.length
        and listed.page_size == edge.buffer.desc_page_size
        and patterns_of_frame(edge) == 1
    )


def patterns_of_frame(edge: Edge) -> int:
    """Transfers of `bytes_in_pattern` that the stream takes for one frame: the core waits for all of its buffers.

    The last buffer may be padded (vdma.md 4: to 16 bytes on some chips).
    """
    registers, pattern = edge.registers, edge.buffer.bytes_in_pattern
    frame = registers.periph_bytes_per_buffer * registers.periph_buffers_per_frame
    return max(1, -(-(frame - _PADDING) // pattern))


_PADDING = 15


def transfer_at(channel: Channel) -> Extent | None:
    """The transfer that the host put where the channel goes on."""
    listed = channel.descriptors
    return None if listed is None else listed.bound.get(channel.claimed % channel.length)


def walk(edge: Edge, most: int) -> Walk:
    """Go on with the next frame of a channel over at most `most` descriptors."""
    channel, listed = edge.channel, edge.channel.descriptors
    opened = channel.buffer
    if listed is None or opened is None:
        return Walk(0, 0, (), channel.claimed)
    page, pattern = edge.buffer.desc_page_size, edge.buffer.bytes_in_pattern
    wanted = patterns_of_frame(edge) * pattern * edge.transfers
    moved, count, in_pattern = 0, 0, 0
    pieces: list[Piece] = []
    while moved < wanted and count < most:
        place = (channel.claimed + count) % channel.length
        found = _piece(listed, place)
        if found is None:
            return Walk(count, moved, tuple(pieces), place)
        due = min(page, pattern - in_pattern)  # the stream's half counts pages of its own
        size = min(found.size, opened.desc_page_size, due, wanted - moved)
        in_pattern = (in_pattern + due) % pattern
        pieces.append(found._replace(size=size))
        moved += size
        count += 1
    return Walk(count, moved, tuple(pieces))


def wanted_bytes(edge: Edge) -> int:
    """Bytes of a frame on the stream's half of a channel."""
    return patterns_of_frame(edge) * edge.buffer.bytes_in_pattern * edge.transfers


def _piece(listed: HostList, place: int) -> Piece | None:
    if place >= listed.count:
        return None
    for extent in listed.bound.values():
        within = (place - extent.start) % listed.count
        if within < extent.count:
            offset = within * listed.page_size
            return Piece(extent.buffer, extent.offset + offset, min(listed.page_size, extent.size - offset))
    found = listed.buffer_at(place)
    return None if found is None else Piece(*found, listed.page_size)


def take(edge: Edge, wanted: bool) -> Content | None:
    """Claim the descriptors of a boundary input's next frame; what they hold, if anybody wants to know."""
    channel = edge.channel
    if edge.plain:
        extent = transfer_at(channel) if wanted else None
        edge.claims = edge.descriptors_per_frame * edge.transfers
        channel.claimed += edge.claims
        return None if extent is None else extent.buffer.content(extent.offset, extent.size)
    found = walk(edge, channel.available - channel.claimed)
    edge.claims = found.descriptors
    channel.claimed += found.descriptors
    return read(found.pieces) if wanted else None


def put(edge: Edge, content: Content | None) -> None:
    """Write a frame (None: nobody looks) through the descriptors of a boundary output."""
    channel = edge.channel
    if edge.plain:
        extent = transfer_at(channel) if content is not None else None
        if extent is not None and content is not None:
            extent.buffer.write(extent.offset, content)
        count = edge.descriptors_per_frame * edge.transfers
    else:
        found = walk(edge, channel.available - channel.claimed)
        if content is not None:
            write(found.pieces, content)
        count = found.descriptors
    channel.claimed += count
    # an NMS frame is more transfers than the host has queued yet: it does so at the interrupt
    channel.processed = channel.claimed


def read(pieces: tuple[Piece, ...]) -> Content | None:
    """What pieces of host memory hold."""
    whole = _whole(pieces)
    if whole is not None:
        return whole.content(0, whole.size)
    return b"".join([one.buffer.read(one.offset, one.size) or bytes(one.size) for one in pieces])


def write(pieces: tuple[Piece, ...], content: Content) -> None:
    """Spread a frame over pieces of host memory."""
    whole = _whole(pieces)
    if whole is not None:
        whole.write(0, content)
        return
    data, at = content.materialise() if isinstance(content, Payload) else content, 0
    for one in pieces:
        one.buffer.write(one.offset, data[at : at + one.size])
        at += one.size


def _whole(pieces: tuple[Piece, ...]) -> HostBuffer | None:
    """The buffer that pieces are, from its begin to its end."""
    at = 0
    for one in pieces:
        if one.buffer is not pieces[0].buffer or one.offset != at:
            return None
        at += one.size
    return pieces[0].buffer if pieces and pieces[0].buffer.size == at else None
