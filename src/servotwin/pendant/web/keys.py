"""Random tokens, one for each role and start; and codes that open a page once."""

from __future__ import annotations

import hmac
import secrets
import threading
import time
from collections.abc import Sequence

CODE_LIFE = 120.0  # s: a browser that has not asked until then was not started


class Keys:
    """Who may ask: a token for each role, and codes that let a browser in once.

    A code stands in the command line of the browser, where other users of the machine may read it; it is worth nothing
    once the browser has used it.
    """

    def __init__(self, roles: Sequence[str] = ("operator",)) -> None:
        self.tokens = {role: secrets.token_urlsafe(24) for role in roles}
        self._codes: dict[str, tuple[str, float]] = {}
        self._lock = threading.Lock()

    def role(self, token: str) -> str | None:
        """The role that a token stands for; None for a wrong one."""
        given, found = token.encode(), None
        for role, known in self.tokens.items():  # all are compared, so that time tells nothing
            if hmac.compare_digest(given, known.encode()):
                found = role
        return found

    def home(self, role: str) -> str:
        """The path at which the pages of a role begin; those of the first one at the root."""
        return "/" if role == next(iter(self.tokens)) else f"/{role}/"

    def code(self, role: str) -> str:
        """A code that is good for one page of this role, within two minutes."""
        made = secrets.token_urlsafe(24)
        with self._lock:
            self._codes[made] = (role, time.monotonic() + CODE_LIFE)
        return made

    def redeem(self, code: str) -> str | None:
        """The role of a code, which is then used up; None for an unknown or old one."""
        with self._lock:
            role, until = self._codes.pop(code, ("", 0.0))
        return role if role and time.monotonic() < until else None
