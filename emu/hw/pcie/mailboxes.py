"""The page of a card that its mailboxes share: control request, control reply, notification (silicon-facts.md e).

A driver that is spared accesses leaves its messages here, and mostly nobody looks: they are laid out, each behind its
MD5, when somebody does.
"""

from __future__ import annotations

from emu.hw.pcie import layout


class Mailboxes:
    """All zeros at first."""

    def __init__(self) -> None:
        self._page = bytearray(layout.PAGE)
        # by offset: messages that are not laid out yet, each with what fills its last word; a message is dropped when
        # a later one covers it
        self._left: dict[int, list[tuple[bytes, bytes]]] = {}

    def read(self, offset: int, size: int) -> bytes:
        self._lay_out()
        return bytes(self._page[offset : offset + size])

    def write(self, offset: int, data: bytes) -> None:
        self._lay_out()
        self._page[offset : offset + len(data)] = data

    def leave(self, offset: int, message: bytes, filling: bytes = b"") -> None:
        """A message comes into the mailbox at an offset."""
        left = self._left.setdefault(offset, [])
        while left and len(left[-1][0]) <= len(message):
            left.pop()
        left.append((message, filling))

    def _lay_out(self) -> None:
        for offset, messages in self._left.items():
            for message, filling in messages:
                data = layout.HEAD.pack(layout.message_digest(message), len(message)) + message + filling
                self._page[offset : offset + len(data)] = data
        self._left.clear()
