"""Texts of overrides, which may know where they were written; imports nothing, so that loading stays quick."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from servotwin.description.nodes import Origin


class Placed(str):
    """The text of an override that knows where it was written: an option, a line of a scenario."""

    __slots__ = ("origin",)
    origin: Origin

    def __new__(cls, text: str, origin: Origin) -> Placed:
        """The text with its place."""
        made = super().__new__(cls, text)
        made.origin = origin
        return made


def override_text(value: object) -> str:
    """The text of an override from Python; None is the empty text, which removes what stands there."""
    if isinstance(value, str):
        return value
    return "" if value is None else str(value)
