"""What is wrong with a job, and where: one line of text each."""

from __future__ import annotations

from dataclasses import dataclass

from servotwin.errors import InputError
from servotwin.jobs.syntax import NOWHERE, Place


class JobError(InputError):
    """A job file cannot be accepted; the text reads ``file:line:column: what is wrong; what is expected``."""

    def __init__(self, message: str, *, file: str | None = None, place: Place = NOWHERE) -> None:
        super().__init__(message, file=file, line=place.line or None)
        self.column = place.column or None
        if file and place.line:
            self.args = (f"{file}:{place.line}:{place.column}: {message}",)


@dataclass(frozen=True)
class Problem:
    """Something the checker found; only an error keeps the job from running."""

    file: str
    place: Place
    message: str
    error: bool = True

    @property
    def line(self) -> int:
        """The line, from 1."""
        return self.place.line

    @property
    def column(self) -> int:
        """The column, from 1."""
        return self.place.column

    def __str__(self) -> str:
        kind = "" if self.error else "warning: "
        return f"{self.file}:{self.place.line}:{self.place.column}: {kind}{self.message}"

    def exception(self) -> JobError:
        """The problem as an error to raise."""
        return JobError(self.message, file=self.file, place=self.place)
