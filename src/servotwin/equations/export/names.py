"""Identifiers: valid, free of collisions, and the same in every run."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable


class Names:
    """Hands out each name once; a wish that is taken gets a tail."""

    def __init__(self, reserved: Iterable[str] = (), separator: str = "_") -> None:
        self._taken = set(reserved)
        self._separator = separator

    def take(self, wish: str) -> str:
        """The wish, or the first free variation of it."""
        name, k = wish, 2
        while name in self._taken:
            name, k = f"{wish}{self._separator}{k}", k + 1
        self._taken.add(name)
        return name


def ascii_text(text: str) -> str:
    """One line of printable ASCII: accents dropped, anything else replaced by '_'."""
    plain = unicodedata.normalize("NFKD", text)
    kept = (c for c in plain if not unicodedata.combining(c))
    return "".join(c if c.isascii() and c.isprintable() else "_" for c in kept)


def comment_text(text: str) -> str:
    """ASCII that ends no comment in any of the languages."""
    return re.sub(r'\*/|/\*|\(\*|\*\)|""|\?\?|\\', "_", ascii_text(text))


def identifier(text: str, default: str = "robot") -> str:
    """Letters, digits and underscores, no digit first: 'gsis-scara' -> 'gsis_scara'."""
    name = re.sub(r"[^A-Za-z0-9]+", "_", ascii_text(text)).strip("_")
    if not name:
        return default
    return f"{default}_{name}" if name[0].isdigit() else name


def camel(name: str) -> str:
    """'gsis_scara_rne' -> 'gsisScaraRne', for languages in which an underscore means something else."""
    first, *rest = [part for part in name.split("_") if part]
    return first + "".join(part[0].upper() + part[1:] for part in rest)


def joined(letters: str, index: Iterable[int], *, wide: bool) -> str:
    """Letters and indices: 'M12', or 'M1_12' where an index may have two digits (``wide``)."""
    return letters + ("_" if wide else "").join(str(i) for i in index)


def words(text: str) -> tuple[str, ...]:
    """Words of a list that is long enough to be written as text."""
    return tuple(text.split())
