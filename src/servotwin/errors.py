"""One tree of errors: everything a user can cause derives from ``ServotwinError``."""

from __future__ import annotations

from typing import Any


class ServotwinError(Exception):
    """Base of every error that ServoTwin raises on purpose; its text is one clear line."""


class InputError(ServotwinError):
    """Something the user wrote cannot be accepted.

    The text reads ``file:line: field: what is wrong; what is accepted`` with
    the parts that are known. ``file``, ``line`` (1-based) and ``field`` are
    kept for tools that want to jump there.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        field: str | None = None,
    ) -> None:
        self.message = message
        self.file = file
        self.line = line
        self.field = field
        place = file or ""
        if place and line:
            place += f":{line}"
        elif field and place.startswith("--") and f".{field}".endswith(f".{place.split(' ')[-1]}"):
            field = None  # an option that names the field already
        super().__init__(": ".join(part for part in (place, field, message) if part))


class SimulationError(ServotwinError):
    """A run could not be carried to its end; ``partial`` is the result up to there."""

    def __init__(self, message: str, partial: Any = None) -> None:
        self.partial = partial
        super().__init__(message)


class RobotWarning(UserWarning):
    """A robot file contradicts itself, or has numbers that no body can have."""


class ShapeError(ServotwinError, ValueError):
    """An array argument has the wrong shape."""


class UnreachableError(ServotwinError):
    """No joint position reaches the requested pose; the text says why."""


class KinematicsError(ServotwinError):
    """A numeric kinematic solution did not converge."""


class UnsupportedError(ServotwinError):
    """The robot has a feature that the requested operation cannot treat."""
