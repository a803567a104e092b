"""A second implementation of a little of the firmware, written from the reference alone: it imports nothing of emu.

No simulation and no time: a list is walked until it cannot go on; frames pass as soon as all that they need is there.
One application of one context on a Hailo-8/8L with firmware 4.23; `--bug NAME` makes one mistake.

It speaks the protocol of docs/conform.md on standard input and output.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator

# firmware-actions.md 3: payload sizes of 4.23
SIZES = {
    0: 3, 1: 44, 2: 9, 3: 2, 4: 8, 5: 1, 6: 42, 7: 39, 8: 43, 9: 39, 10: 43, 11: 42, 12: 8, 13: 3, 14: 9, 15: 0, 16: 1,
    17: 1, 18: 5, 19: 5, 20: 1, 21: 0, 22: 21, 23: 2, 25: 4, 26: 6, 27: 3, 28: 8, 29: 0, 30: 0, 31: 0, 32: 28, 33: 20,
    34: 7, 35: 15, 36: 6, 37: 1, 38: 2, 39: 2, 40: 43, 41: 41, 42: 0, 43: 4, 44: 0,
}  # fmt: skip
BUGS = ("hw-consts-big-endian", "pause-forgotten", "status-of-the-neighbour")
HELLO, POWER, CONTROL, BYE, LAUNCH, RUN = 1, 2, 3, 12, 10, 11
READY, DONE, REPLY, REFUSED, NOTIFICATION, TRANSFER = 0x81, 0x82, 0x83, 0x84, 0x91, 0x92


class Fault(Exception):  # noqa: N818 - a status, as the firmware has them
    """A status."""


class Device:
    def __init__(self, bug: str) -> None:
        self.bug = bug
        self.headers: list[bytes] = []
        self.lists: list[tuple[int, bytes]] = []
        self.queued = {"in": 0, "out": 0}
        self.memory: dict[int, int] = {}
        self.events: list[bytes] = []
        self.rest()

    def rest(self) -> None:
        self.steps: list[tuple[int, int, int, bytes]] | None = None
        self.enabled: set[int] = set()
        self.triggered: set[int] = set()
        self.open = self.resumed = self.credits = False
        self.streams: dict[str, int] = {}
        self.frames = 0
        self.queued = {"in": 0, "out": 0}

    # -- control messages (firmware-actions.md 5)

    def control(self, data: bytes) -> bytes:
        fault, opcode, parts = parsed(data)
        if fault:
            return struct.pack(">7I", 2, 1, 0, 0xFFFFFFFF, 0x40030050, fault, 0)
        try:
            values = self.serve(opcode, parts)
        except Fault as found:
            status = found.args[0]
            minor = status if status == 0x40000058 else 0
            return struct.pack(">7I", 2, 1, 0, opcode, status, minor, 0)
        body = b"".join(struct.pack(">I", len(one)) + one for one in values)
        return struct.pack(">7I", 2, 1, 0, opcode, 0, 0, len(values)) + body

    def serve(self, opcode: int, parts: list[bytes]) -> list[bytes]:
        if opcode == 0:
            version = struct.pack("<3I", 4, 23, 0x20000000)
            name = b"Hailo-8" + bytes(25)
            return [be(2), version, be(0), name, be(2), b"S" * 16, b"P" * 16, bytes(42)]
        if opcode == 51:
            return [be(400000000), bytes([0, 0, 0, 4, 0, 0, 0, 0]), be(1), b"\3", bytes(32), bytes(6), bytes(12),
                    bytes(24), be(0x33)]  # fmt: skip
        if opcode == 72:
            order = ">" if self.bug == "hw-consts-big-endian" else "<"
            return [struct.pack(order + "IHHHIBI", 8, 65535, 65535, 40960, 65536, 1, 65536)]
        if opcode == 32:
            (header,) = parts
            if len(header) != 32:
                raise Fault(0x40030060)
            self.headers.append(header)
            return []
        if opcode == 33:
            self.store(parts)
            return []
        if opcode == 37:
            self.change(parts[0][0])
            return []
        if opcode == 54:
            return [(bytes([len(self.headers)]) + b"".join(self.headers)).ljust(1025, b"\0")]
        if opcode == 71:
            self.headers, self.lists = [], []
            return []
        if opcode in (1, 2):
            return self.access(opcode, int.from_bytes(parts[0], "big"), parts[1])
        raise Fault(0x4003000F if opcode < 80 else 0x40030007)

    def access(self, opcode: int, address: int, data: bytes) -> list[bytes]:
        if not 0x10000000 <= address < 0x20000000:
            raise Fault(0x40000058)
        if opcode == 2:
            return [struct.pack("<I", self.memory.get(address, 0))[: int.from_bytes(data, "big")]]
        if address & 0x01000000:
            raise Fault(0x40030098)
        self.memory[address] = struct.unpack("<I", data)[0]
        return []

    def store(self, parts: list[bytes]) -> None:
        kind, data = parts[2][0], parts[3]
        if kind != (3, 2, 0, 1)[min(len(self.lists), 3)]:
            raise Fault(0x4013006E)
        if not data:
            raise Fault(0x40130004)
        for number, _ in actions(data):
            if number == 27:
                raise Fault(0x402A0001)
        self.lists.append((kind, data))

    def change(self, state: int) -> None:
        self.rest()
        if state == 1:
            steps = [
                (context, number, kind, payload)
                for context, listed in zip((0, 1, 2, 3), self.lists, strict=False)
                if context != 1
                for number, (kind, payload) in enumerate(actions(listed[1]))
            ]
            self.steps = steps
            while self.steps and self.steps[0][0] == 0:
                self.step()

    # -- actions (firmware-actions.md 8)

    def go_on(self) -> None:
        while self.steps and self.step():
            pass
        while self.passes():
            self.frame()
            while self.steps and self.step():
                pass

    def step(self) -> bool:
        """Whether the list goes on."""
        assert self.steps
        context, number, kind, data = self.steps[0]
        status = self.act(kind, data)
        if status is None:
            return False
        if status:
            text = struct.pack("<IBHHH", status, 0, 0, context, number)
            self.events.append(bytes([NOTIFICATION]) + struct.pack("<7I", 0, 0, 1, 19, 12, 5, len(text)) + text)
            self.steps, self.open = None, False
            return False
        self.steps = self.steps[1:]
        return True

    def act(self, kind: int, data: bytes) -> int | None:
        """0: done, None: not yet, else a status."""
        if kind in (3, 4):
            self.enabled.add(data[0])
        elif kind == 1:
            self.triggered.add(data[0])
        elif kind == 17:
            return 0 if data[0] in self.triggered else None
        elif kind in (6, 7):
            self.streams["in" if kind == 6 else "out"] = data[1]
        elif kind == 33:
            self.open = True
        elif kind in (38, 39):
            self.resumed = kind == 39 or self.bug == "pause-forgotten"
        elif kind == 29:
            self.credits = True
        elif kind == 34:
            if int.from_bytes(data[2:4], "little") == 0:
                return 0x4035000C if self.bug == "status-of-the-neighbour" else 0x4035000B
        elif kind == 35:
            self.write(data)
        elif kind == 16:
            return 0 if data[0] in self.enabled and self.frames else None
        elif kind in (21, 44):
            return None
        elif kind == 43 and int.from_bytes(data, "little") < 1000:
            return 0x40130079
        return 0

    def write(self, data: bytes) -> None:
        address, kind, value, shift, mask = struct.unpack_from("<IBIBI", data)
        if kind == 1:
            (value,) = struct.unpack_from("<H", self.headers[0], 9)  # the batch
        before = self.memory.get(address, 0)
        self.memory[address] = before & ~mask | (value << shift) & mask

    def passes(self) -> bool:
        flowing = self.open and self.resumed and self.credits and len(self.streams) == 2
        return flowing and min(self.queued.values()) > 0

    def frame(self) -> None:
        for channel, name, way in ((2, "in", 1), (16, "out", 2)):
            self.queued[name] -= 1
            done = 2 * (self.frames + 1) % 64
            place = struct.pack(">BBBQH16s", channel, self.streams[name], way, self.frames, done, bytes(16))
            self.events.append(bytes([TRANSFER]) + place)
        self.frames += 1

    # -- the protocol

    def answer(self, message: bytes) -> Iterator[bytes]:
        kind, body = message[0], message[1:]
        self.events = []
        closing = bytes([DONE, 0])
        if kind == HELLO:
            closing = bytes([READY]) + struct.pack(">HB", 1, 1) + b"another one"
        elif kind == POWER:
            if b"hailo8" not in body:
                closing = bytes([REFUSED]) + b"only a Hailo-8"
            self.__init__(self.bug)  # type: ignore[misc]
        elif kind == CONTROL:
            closing = bytes([REPLY]) + self.control(body)
        elif kind == LAUNCH:
            self.queued["in" if body[0] == 2 else "out"] += int.from_bytes(body[3:7], "big")
        elif kind == RUN:
            self.go_on()
            closing = bytes([DONE, 1])
        yield from self.events
        yield closing


def parsed(data: bytes) -> tuple[int, int, list[bytes]]:
    """(what is wrong, opcode, parameters)."""
    if len(data) > 1500:
        return 0x40030099, 0, []
    if len(data) < 20:
        return 0x40030004, 0, []
    version, flags, _, opcode, count = struct.unpack_from(">5I", data)
    if version != 2:
        return 0x40030003, 0, []
    if flags & 1:
        return 0x40030006, 0, []
    parts, at = [], 20
    for _ in range(count):
        size = int.from_bytes(data[at : at + 4], "big")
        if at + 4 > len(data) or at + 4 + size > len(data):
            return 0x40030005, 0, []
        parts.append(data[at + 4 : at + 4 + size])
        at += 4 + size
    return (0, opcode, parts) if at == len(data) else (0x4003009C, 0, [])


def actions(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Each action; those of a REPEATED one by one."""
    at = 0
    while at < len(data):
        if len(data) - at < 5:
            raise Fault(0x40130016)
        kind, at = data[at], at + 5
        count = 1
        if kind == 24:
            count, kind, at = data[at], data[at + 2], at + 3
        if kind not in SIZES:
            raise Fault(0x40130018)
        for _ in range(count):
            if len(data) - at < SIZES[kind]:
                raise Fault(0x40130016)
            yield kind, data[at : at + SIZES[kind]]
            at += SIZES[kind]


def be(value: int) -> bytes:
    return value.to_bytes(4, "big")


def main() -> None:
    device = Device(sys.argv[2] if sys.argv[1:2] == ["--bug"] else "")
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    while head := source.read(4):
        message = source.read(int.from_bytes(head, "big"))
        if message[0] == BYE:
            return
        for one in device.answer(message):
            sink.write(be(len(one)) + one)
        sink.flush()


if __name__ == "__main__":
    main()
