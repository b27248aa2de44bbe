"""Text of a file as it may be shown: one printable line, and the characters that no name or title may hold."""

from __future__ import annotations

import unicodedata

# they turn the direction of what is shown, so that a reader sees other text than a program reads
_DIRECTION = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_BLANKS = "\t\n\r\u2028\u2029"  # become blanks where a line is expected


def one_line(text: object, width: int = 60) -> str:
    """``text`` on one printable line, cut to ``width`` characters."""
    flat = " ".join(str(text).split())
    flat = "".join(c if c.isprintable() else "?" for c in flat)
    return flat if len(flat) <= width else flat[: width - 3] + "..."


def quoted(text: object) -> str:
    """``text`` in quotes for a message, one line, cut if long."""
    return f"'{one_line(text)}'"


def _is_hidden(c: str) -> bool:
    """Control characters, lone surrogates, ends of lines and paragraphs, and what turns the direction."""
    return c in _DIRECTION or unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")


def visible(text: object, kept: str = "") -> str:
    """The text for a terminal: characters that steer it or hide something become escapes, but for those ``kept``.

    >>> print(visible("a\\x1b[31m.yaml"))
    a\\x1b[31m.yaml
    """
    words = str(text)
    if words.isprintable():
        return words
    return "".join(ascii(c)[1:-1] if _is_hidden(c) and c not in kept else c for c in words)


def hidden_character(text: str) -> int | None:
    """The index of the first character that steers a terminal or hides text; None if there is none.

    Control characters (escape sequences begin with one), characters that turn the direction of writing, and
    lone surrogates, which are no characters at all. Blanks, tabs and ends of lines are not meant.
    """
    if text.isprintable():
        return None
    return next((i for i, c in enumerate(text) if c not in _BLANKS and _is_hidden(c)), None)


def hidden_problem(text: str) -> str | None:
    """What is wrong with a text that holds such a character, and the remedy; None if it holds none."""
    at = hidden_character(text)
    if at is None:
        return None
    c = text[at]
    kind = "a lone surrogate" if unicodedata.category(c) == "Cs" else "a control character"
    if c in _DIRECTION:
        kind = "a character that turns the direction of writing"
    return f"{kind} (U+{ord(c):04X}) in {quoted(text)}; expected visible text: remove it"
