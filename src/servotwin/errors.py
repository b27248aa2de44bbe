"""One tree of errors: everything a user can cause derives from ``ServotwinError``."""

from __future__ import annotations

from typing import Any


class ServotwinError(Exception):
    """Base of every error that ServoTwin raises on purpose; its text is one clear line.

    Errors travel between processes with text and fields, whatever their own arguments are.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle and copy: made again from text and fields, since arguments by name alone are not kept."""
        return restored, (type(self), self.args, self.__dict__)


def restored(kind: type[ServotwinError], args: tuple[Any, ...], fields: dict[str, Any]) -> ServotwinError:
    """An error with the text and the fields that it had in another process."""
    error = kind.__new__(kind, *args)
    error.__dict__.update(fields)
    return error


def located(message: str, file: str | None, line: int | None, field: str | None) -> str:
    """``file:line: field: message`` with the parts that are known.

    ``file`` may also be an option or override, which has no line and may name the field already.

    >>> located("8 is odd", "--set gear.ratio", None, "axes.A.gear.ratio")
    '--set gear.ratio: 8 is odd'
    """
    place = file or ""
    what, _, path = place.partition(" ")
    if place and line:
        place += f":{line}"
    elif field and (what.startswith("--") or what == "override"):
        field = None if not path or f".{field}".endswith(f".{path}") else field
    return ": ".join(part for part in (place, field, message) if part)


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
        field = " ".join(field.split()) if field else field  # the name of a column may hold a tab
        self.message = message
        self.file = file
        self.line = line
        self.field = field
        super().__init__(located(message, file, line, field))


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


class MissingExtraError(ServotwinError):
    """A package is needed that few people need, so that it comes with an extra of the installation.

    >>> str(MissingExtraError("SymPy objects", "sympy", "sympy"))
    "SymPy objects need the package sympy: pip install 'servotwin[sympy]'"
    """

    def __init__(self, what: str, package: str, extra: str) -> None:
        super().__init__(f"{what} need the package {package}: pip install 'servotwin[{extra}]'")
