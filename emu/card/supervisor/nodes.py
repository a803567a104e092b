"""What stands for the device nodes and their class in sysfs: descriptors that are copied into the client.

Each open of a node is a memfd of its own, by whose inode a call is told; that the last descriptor of it is gone, by
close, exit or kill, inotify says (driver-ioctl-4.23.md 8.2).
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import struct
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from emu.card.card import Card
from emu.card.conversation import Conversation
from emu.card.supervisor.seccomp import Listener
from emu.output import make_folder, write

if TYPE_CHECKING:
    from emu.card.open_file import OpenFile
    from emu.card.supervisor.process import Thread

CLASS = "/sys/class/hailo_chardev"
_NODE = re.compile(r"/dev/hailo(\d{1,3})")
_IN_DELETE_SELF = 0x400
_IN_NONBLOCK = 0o4000
_EVENT = struct.Struct("<iIII")
_libc = ctypes.CDLL(None, use_errno=True)


class Nodes:
    """The nodes of some cards; a context manager. Files of sysfs end without a newline, as HailoRT demands.

    `gone` hears of each open file that no descriptor is left of.
    """

    def __init__(self, conversation: Conversation, gone: Callable[[OpenFile], None]) -> None:
        self._conversation = conversation
        self._gone = gone
        self._cards = conversation.cards
        self._files: dict[tuple[int, int], OpenFile] = {}
        self._watches: dict[int, tuple[int, int]] = {}
        self.inotify = int(_libc.inotify_init1(_IN_NONBLOCK | os.O_CLOEXEC))
        if self.inotify < 0:
            raise OSError(ctypes.get_errno(), "inotify")
        self._tree = Path(tempfile.mkdtemp(prefix="emu-card-"))
        for number, card in enumerate(self._cards):
            folder = make_folder(self._tree / f"hailo{number}")
            for name, text in (
                ("board_location", card.options.board_location),
                ("accelerator_type", "0"),
                ("device_id", "1e60:2864"),
            ):
                write(folder / name, text)

    def __enter__(self) -> Nodes:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.inotify)
        shutil.rmtree(self._tree, ignore_errors=True)

    def serves(self, path: str) -> bool:
        """Whether a path is one of the card's."""
        return self._card(path) is not None or path == CLASS or path.startswith(f"{CLASS}/")

    def open(self, path: str, flags: int, thread: Thread, listener: Listener, id: int) -> int | None:
        """Open a path of the card's for the caller of notification `id`; the number of its descriptor.

        OSError as the system would refuse it; None where the caller is gone or has no room.
        """
        close_on_exec = bool(flags & os.O_CLOEXEC)
        card = self._card(path)
        if card is None:
            inside = self._tree / path[len(CLASS) :].lstrip("/")
            descriptor = os.open(inside, flags | os.O_CLOEXEC)
            try:
                return listener.add(id, descriptor, close_on_exec)
            finally:
                os.close(descriptor)
        self.reap()  # a client that was killed, and the next one that wants its card
        descriptor = os.memfd_create(Path(path).name, os.MFD_CLOEXEC)
        try:
            found = os.fstat(descriptor)
            key = found.st_dev, found.st_ino
            file = self._files[key] = self._conversation.open(card, thread.process)
            self._watch(descriptor, key)
            number = thread.free_number()
            if number is not None and listener.add(id, descriptor, close_on_exec, number) == number:
                thread.known[number] = file
                return number
            return listener.add(id, descriptor, close_on_exec)
        finally:
            os.close(descriptor)

    def file(self, inode: tuple[int, int]) -> OpenFile | None:
        """The open file of a device and inode; None for any other file."""
        return self._files.get(inode)

    def reap(self) -> bool:
        """Release the files whose last descriptor is gone; whether there were any."""
        any_gone = False
        with suppress(BlockingIOError):
            while True:
                for watch in _watches(os.read(self.inotify, 4096)):
                    key = self._watches.pop(watch, None)
                    file = self._files.pop(key, None) if key is not None else None
                    if file is not None:
                        self._gone(file)
                        self._conversation.close(file)
                        any_gone = True
        return any_gone

    def close_all(self) -> None:
        """No client is left."""
        for file in self._files.values():
            self._conversation.close(file)
        self._files.clear()

    @property
    def open_files(self) -> int:
        return len(self._files)

    def _card(self, path: str) -> Card | None:
        match = _NODE.fullmatch(path)
        number = int(match[1]) if match else len(self._cards)
        return self._cards[number] if number < len(self._cards) else None

    def _watch(self, descriptor: int, key: tuple[int, int]) -> None:
        path = f"/proc/self/fd/{descriptor}".encode()
        watch = int(_libc.inotify_add_watch(self.inotify, path, _IN_DELETE_SELF))
        if watch < 0:
            del self._files[key]
            raise OSError(ctypes.get_errno(), "inotify")
        self._watches[watch] = key


def _watches(data: bytes) -> Iterator[int]:
    """The watches of the deletions among some events."""
    at = 0
    while at + _EVENT.size <= len(data):
        watch, mask, _, length = _EVENT.unpack_from(data, at)
        at += _EVENT.size + length
        if mask & _IN_DELETE_SELF:
            yield watch
