"""Text of a file as it may be shown: one printable line, and the characters that no name or title may hold."""

from __future__ import annotations

import unicodedata

# they turn the direction of what is shown, so that a reader sees other text than a program reads
_DIRECTION = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def one_line(text: object, width: int = 60) -> str:
    """``text`` on one printable line, cut to ``width`` characters."""
    flat = " ".join(str(text).split())
    flat = "".join(c if c.isprintable() else "?" for c in flat)
    return flat if len(flat) <= width else flat[: width - 3] + "..."


def quoted(text: object) -> str:
    """``text`` in quotes for a message, one line, cut if long."""
    return f"'{one_line(text)}'"


def shown_path(path: object) -> str:
    """The name of a file for the terminal: every character that is not printable becomes an escape.

    >>> print(shown_path("a\\x1b[31m.yaml"))
    a\\x1b[31m.yaml
    """
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in str(path))


def hidden_character(text: str, allowed: str = "\t\n\r") -> int | None:
    """The index of the first character that steers a terminal or hides text; None if there is none.

    Control characters (escape sequences begin with one), characters that turn the direction of writing, and
    lone surrogates, which are no characters at all.
    """
    if text.isascii() and text.isprintable():
        return None
    for i, c in enumerate(text):
        if c in allowed:
            continue
        if c in _DIRECTION or unicodedata.category(c) in ("Cc", "Cs"):
            return i
    return None


def hidden_problem(character: str) -> str:
    """What is wrong with such a character, and the remedy."""
    kind = "a lone surrogate" if 0xD800 <= ord(character) <= 0xDFFF else "a control character"
    if character in _DIRECTION:
        kind = "a character that turns the direction of writing"
    return f"{kind} (U+{ord(character):04X}); expected visible text: remove it"
