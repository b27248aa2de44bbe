"""Names that only this user's processes can give: a part of them is authenticated with the user's key.

What a killed process leaves behind is completed by a later one, which moves and removes files. A stranger's folder can
hold things that look like such leftovers; without the key they cannot have the right name.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from functools import cache

from servotwin.cache.key import key_of
from servotwin.cache.place import place

DIGITS = 24


def seal(*parts: str | bytes) -> str:
    """A text of 24 hexadecimal digits that belongs to these parts and to this user."""
    data = b"\0".join(hashlib.sha256(os.fsencode(part)).digest() for part in parts)
    return hmac.new(_key(), b"seal\0" + data, hashlib.sha256).hexdigest()[:DIGITS]


def sealed(text: str, *parts: str | bytes) -> bool:
    """Whether a text is the seal of these parts."""
    return hmac.compare_digest(text.encode(errors="replace"), seal(*parts).encode())


def _key() -> bytes:
    return key_of(place().to_write(), make=True) or _passing()


@cache
def _passing() -> bytes:
    """A key for this process alone, where the user can keep none: nothing is completed by later ones then."""
    return os.urandom(32)
