"""A target that misbehaves as its first argument says, from HELLO on or (`then-`) behind it."""

from __future__ import annotations

import sys
import time

READY = bytes([0, 0, 0, 5, 0x81, 0, 1, 1]) + b"x"
LOG = bytes([0, 0, 0, 2, 0x9F]) + b"x"
ANSWERS = {
    "text": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "huge": b"\xff\xff\xff\xff\x83",
    "empty": bytes(4),
    "unknown": bytes([0, 0, 0, 1, 0x77]),
    "short": bytes([0, 0, 0, 1, 0x92]),
    "host": bytes([0, 0, 0, 1, 0x0C]),
    "reply": bytes([0, 0, 0, 2, 0x83, 7]),
    "part": bytes([0, 0, 0, 9, 0x82]),
    "silent": b"",
}


def main() -> None:
    what = sys.argv[1]
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    later = what.startswith("then-")
    what = what.removeprefix("then-")
    while head := source.read(4):
        message = source.read(int.from_bytes(head, "big"))
        if message[0] == 0x0C:
            return
        if later and message[0] == 1:
            sink.write(READY)
        elif what == "endless":
            while True:
                sink.write(LOG)
        elif what == "gone":
            return
        elif what == "other-version":
            sink.write(READY[:6] + b"\x09" + READY[7:])
        else:
            sink.write(ANSWERS[what])
        sink.flush()
        if what == "silent" and not later:
            time.sleep(60)


if __name__ == "__main__":
    main()
