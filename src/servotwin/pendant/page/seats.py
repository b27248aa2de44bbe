"""Who sits where: one operator, many viewers; and how late the messages of a page come."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, field

CREEP = 0.0005  # s per second by which the best known delay may grow: clocks drift apart
MOST_RATE = 120.0  # messages a second that a page may send, in the mean
BURST = 240.0


@dataclass
class Delay:
    """How much later than the quickest one a message came, from the page's own clock.

    Without it a burst of old messages, held up on their way, would look like an operator who still holds a key.
    """

    best: float | None = None
    _at: float = 0.0

    def sent_ns(self, page_ms: float, now_ns: int) -> int:
        """When a message was sent, in the server's time: now, less what it took longer than the quickest one."""
        now = now_ns * 1e-9
        offset = now - page_ms * 1e-3
        if self.best is None:
            self.best = offset
        self.best = min(offset, self.best + CREEP * (now - self._at) if self._at else offset)
        self._at = now
        return now_ns - round((offset - self.best) * 1e9)


@dataclass
class Seat:
    """A page that is connected. ``token`` shows that a message comes from it; ``may_operate``: its role allows it."""

    may_operate: bool
    name: str
    token: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    delay: Delay = field(default_factory=Delay)
    sequence: int = -1
    seen: int = 0  # the last picture that the page has drawn
    sent: int = 0
    untold: bool = False  # what its seat is has changed
    telling: bool = False
    columns: tuple[int, ...] = ()  # of the scope
    scope_at: int = 0
    ages: list[float] = field(default_factory=list)
    _credit: float = BURST
    _credit_at: float = field(default_factory=time.monotonic)

    def allowed(self) -> bool:
        """Whether the page may send one more message now."""
        now = time.monotonic()
        self._credit = min(BURST, self._credit + MOST_RATE * (now - self._credit_at))
        self._credit_at = now
        self._credit -= 1.0
        return self._credit >= 0.0


class Seats:
    """The operator's seat: taken when free, or from another one while the arm stands."""

    def __init__(self) -> None:
        self.all: list[Seat] = []
        self.operator: Seat | None = None
        self._count = 0

    def join(self, *, may_operate: bool) -> Seat:
        """A page has come; the first that may operates."""
        self._count += 1
        seat = Seat(may_operate, f"page {self._count}")
        self.all.append(seat)
        if self.operator is None and may_operate:
            self.operator = seat
        return seat

    def leave(self, seat: Seat) -> bool:
        """A page is gone; whether it was the operator."""
        self.all.remove(seat)
        if self.operator is not seat:
            return False
        self.operator = None
        return True

    def take(self, seat: Seat, *, moving: bool) -> str:
        """Sit down at the operator's place; why not, or empty."""
        if not seat.may_operate:
            return "this page was opened with the address of a viewer"
        if self.operator is seat:
            return ""
        if self.operator is not None and moving:
            return "the arm moves; take over when it stands"
        self.operator = seat
        return ""

    def holder(self, token: object) -> Seat | None:
        """The operator, if the token is the operator's."""
        seat = self.operator
        if seat is None or not isinstance(token, str):
            return None
        given = token.encode(errors="replace")  # whatever a page sends
        return seat if secrets.compare_digest(seat.token.encode(), given) else None
