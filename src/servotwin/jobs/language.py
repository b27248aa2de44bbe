"""Job programs as text: read, written, in files. The language: docs/job-language.md.

>>> job = parse("movej P1 speed 50%   # first\\nwait 0.2s")
>>> print(format_job(job), end="")
MOVEJ P1 SPEED 50%  # first
WAIT 0.2 s
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from servotwin.description.file_write import atomic_write_text
from servotwin.description.regular_file import JOB, read_text
from servotwin.jobs.file_pair import finish
from servotwin.jobs.layout import format_job
from servotwin.jobs.problems import JobError
from servotwin.jobs.syntax import Job, Place
from servotwin.jobs.words import GRAMMAR, KEYWORDS

if TYPE_CHECKING:
    from lark import Lark, Token

__all__ = ["format_job", "parse", "read_job", "write_job"]

MAX_LINE = 2000  # characters
MAX_TEXT = JOB.limit


def parse(text: str, file: str = "job") -> Job:
    """The job that stands in ``text``; ``file`` is the name shown in messages.

    Whatever the text, a job or an InputError with line and column comes out.
    """
    from lark.exceptions import UnexpectedInput, VisitError

    from servotwin.jobs.build_blocks import JobBuilder
    from servotwin.jobs.explain import explain

    clean = _clean(text, file)
    try:
        return JobBuilder(file).transform(_parser().parse(clean))
    except UnexpectedInput as error:
        raise explain(error, clean, file) from None
    except VisitError as error:
        raise error.orig_exc from None


def read_job(path: str | Path) -> Job:
    """The job in a file."""
    finish(path)
    return parse(read_text(path, JOB), str(path))


def write_job(job: Job, path: str | Path) -> None:
    """Write a job file in the one layout, whole or not at all."""
    atomic_write_text(path, format_job(job))


def _clean(text: str, file: str) -> str:
    """The text with one kind of line end, or an error for what is no job at all."""
    if len(text) > MAX_TEXT:
        raise JobError(f"longer than {MAX_TEXT // 1000} kB; this is not a job", file=file)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > MAX_LINE:
            message = f"a line of more than {MAX_LINE} characters; expected one instruction per line"
            raise JobError(message, file=file, place=Place(number, 1))
        if not line.replace("\t", "").isprintable():
            column = next(i for i, c in enumerate(line, 1) if c != "\t" and not c.isprintable())
            message = f"the character U+{ord(line[column - 1]):04X} is not accepted; expected printable text"
            raise JobError(message, file=file, place=Place(number, column))
    return text if text.endswith("\n") or not text else text + "\n"


@cache
def _parser() -> Lark:
    """The parser of the grammar, made once."""
    from lark import Lark

    return Lark(
        GRAMMAR.read_text(encoding="utf-8"),
        parser="lalr",
        lexer="basic",
        maybe_placeholders=True,
        lexer_callbacks={"NAME": _keyword},
    )


def _keyword(token: Token) -> Token:
    """A name that is a keyword, in any case, becomes the token of that keyword."""
    word = token.upper()
    return token.update(type=word) if word in KEYWORDS else token
