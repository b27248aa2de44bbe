"""Texts of overrides, which may know where they were written; imports next to nothing, so that loading stays quick."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from servotwin.errors import InputError

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


def override_mapping(overrides: Any) -> dict[str, Any]:
    """Overrides as a caller gives them, None for none; what maps no field to a value is refused."""
    given: Any = {} if overrides is None else overrides
    if not isinstance(given, Mapping) or not all(isinstance(field, str) for field in given):
        raise InputError("overrides must map fields to values, such as {'axes.A.gear.ratio': '80'}")
    return dict(given)


def override_text(value: object) -> str:
    """The text of an override from Python; None is the empty text, which removes what stands there."""
    if isinstance(value, str):
        return value
    return "" if value is None else str(value)
