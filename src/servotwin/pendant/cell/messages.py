"""Messages between server and cell: lines of JSON over a pair of sockets, bounded in size and number.

They are plain data: names and numbers that are checked here, before anything acts on them.
"""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from servotwin.errors import InputError

LONGEST = 1 << 14  # bytes of a message
MOST_AT_ONCE = 64  # messages of a period
MOST_WAITING = 1 << 18  # bytes that nobody has read yet
POSITIONS = ("released", "middle", "squeezed")
FRAMES = ("joint", "base", "tool", "user")
MOST_NUMBERS = 32
LARGEST = sys.float_info.max
STILL: tuple[float, ...] = ()


@dataclass(frozen=True)
class OperatorState:
    """What the operator holds at an instant: the latest one counts, and only for a short time.

    ``at_ns``: when the server got it; ``switch``: position of the enabling switch, an index into ``POSITIONS``;
    ``hold``: a key that moves something is held; ``frame``, ``direction``, ``speed``: of a jog, if one is held;
    ``user``: name of the user frame.
    """

    at_ns: int = 0
    switch: int = 0
    hold: bool = False
    frame: str = "joint"
    direction: tuple[float, ...] = STILL
    speed: float = 1.0
    user: str = ""


@dataclass(frozen=True)
class Request:
    """A key that was pressed once: ``name``, with words and numbers; ``number`` comes back with the answer."""

    number: int
    name: str
    arguments: dict[str, Any] = field(default_factory=dict)


def operator_state(data: dict[str, Any], at_ns: int) -> OperatorState:
    """The operator's state in a message; InputError for what is none."""
    switch = data.get("switch", 0)
    if isinstance(switch, bool) or switch not in (0, 1, 2):
        raise InputError(f"{switch!r}; expected 0, 1 or 2", field="switch")
    frame = data.get("frame", "joint")
    if frame not in FRAMES:
        raise InputError(f"{frame!r}; expected one of {', '.join(FRAMES)}", field="frame")
    direction, speed = data.get("direction", ()), data.get("speed", 1.0)
    if not isinstance(direction, list | tuple) or len(direction) > MOST_NUMBERS:
        raise InputError("expected a list of numbers", field="direction")
    if not all(is_number(value) and abs(value) <= 1.0 for value in direction):
        raise InputError("expected numbers from -1 to 1", field="direction")
    if not is_number(speed) or not 0.0 < speed <= 1.0:
        raise InputError(f"{speed!r}; expected a share above 0, at most 1", field="speed")
    user = data.get("user", "")
    if not isinstance(user, str) or len(user) > 60:
        raise InputError("expected the name of a frame", field="user")
    hold = data.get("hold", False) is True
    return OperatorState(at_ns, switch, hold, frame, tuple(float(v) for v in direction), float(speed), user)


def is_number(value: object) -> bool:
    """Whether a value is a number that a float can hold; a message may have whole numbers of any length."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST


class Channel:
    """One end of the pair of sockets; it never waits. ``closed``: the other end is gone, or talks nonsense."""

    def __init__(self, end: socket.socket) -> None:
        self.end, self.closed = end, False
        end.setblocking(False)
        self._in, self._out = bytearray(), bytearray()

    def unsent(self) -> int:
        """Bytes that there is no room for on the way to the other end."""
        self.flush()
        return len(self._out)

    def send(self, message: dict[str, Any]) -> None:
        """Send a message, later if the other end is slow; one that stays away for too long is given up."""
        self._out += json.dumps(message, separators=(",", ":")).encode() + b"\n"
        if len(self._out) > MOST_WAITING:
            self.closed = True
        self.flush()

    def flush(self) -> None:
        """Send what waits."""
        try:
            while self._out and not self.closed:
                del self._out[: self.end.send(self._out)]
        except BlockingIOError:
            pass
        except OSError:
            self.closed = True

    def receive(self) -> Iterator[dict[str, Any]]:
        """The messages that have come, so many as are taken at once."""
        self.flush()
        try:
            while len(self._in) < MOST_WAITING:
                piece = self.end.recv(1 << 16)
                if not piece:
                    self.closed = True
                    break
                self._in += piece
        except BlockingIOError:
            pass
        except OSError:
            self.closed = True
        for _ in range(MOST_AT_ONCE):
            line, end, rest = self._in.partition(b"\n")
            if not end:
                break
            self._in = rest
            message = _parsed(bytes(line))
            if message is not None:
                yield message
        if len(self._in) > LONGEST and b"\n" not in self._in:
            self.closed = True


def _parsed(line: bytes) -> dict[str, Any] | None:
    """The object in a line; None for anything else."""
    if len(line) > LONGEST:
        return None
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
