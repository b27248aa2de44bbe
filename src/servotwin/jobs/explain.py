"""What the parser did not understand, in the words of the language."""

from __future__ import annotations

import re
from collections.abc import Collection

from lark import Token
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from servotwin.description.nodes import quoted
from servotwin.description.units import did_you_mean
from servotwin.jobs import syntax as s
from servotwin.jobs.problems import JobError
from servotwin.jobs.words import INSTRUCTIONS, KEYWORDS, PROFILES, SHAPERS

_OPENERS = ("REPEAT", "IF", "SUB")
_WORDS = {
    "NUMBER": "a number",
    "UNIT": "a unit",
    "STRING": 'a text such as "grip.job"',
    "COMMA": "','",
    "EQUAL": "'='",
    "COMPARE": "a comparison such as <",
    "NEWLINE": "the end of the line",
    "$END": "the end of the file",
}
# What a name means behind a keyword.
_POINT = "a point such as P1"
_NAMES = {
    "SET": "an output such as OUT1",
    "WAITFOR": "an input such as IN1",
    "IF": "an input, an output or a variable",
    "LET": "a variable",
    "INC": "a variable",
    "BY": "a variable",
    "CALL": "a subprogram",
    "SUB": "a name for the subprogram",
    "NEXT": "a pallet",
    "RESET": "a pallet",
    "PALLET": "a pallet",
    "TOOL": "a tool",
    "FRAME": "a frame",
    "SHAPER": f"a shaper ({', '.join(SHAPERS)})",
    "PROFILE": f"a profile ({', '.join(PROFILES)})",
    **dict.fromkeys(("MOVEJ", "MOVEL", "VIA", "TO", "SPLINE", "ORIGIN", "ROW", "COLUMN"), _POINT),
}
_UNITS = {
    "SPEED": "%, m/s or mm/s",
    "ACC": "%, m/s2 or mm/s2",
    **dict.fromkeys(("TIME", "WAIT", "TIMEOUT"), "s or ms"),
    **dict.fromkeys(("BLEND", "ABOVE", "OFFSET", "LAYER"), "mm or m"),
}


def explain(error: UnexpectedInput, text: str, file: str) -> JobError:
    """The parser's error as one line with place, what stands there and what is expected."""
    lines = text.split("\n")
    if isinstance(error, UnexpectedCharacters):
        return _strange(error, lines, file)
    assert isinstance(error, UnexpectedToken)
    token = error.token
    line = min(max(token.line or len(lines), 1), len(lines))
    column = token.column or 1
    accepted = set(error.accepts or error.expected)
    if token.type == "$END":
        return _end_of_file(lines, file)
    at = s.Place(line, column)
    before = lines[line - 1][: column - 1].split()
    if not before:
        return JobError(_first_word(token, accepted), file=file, place=at)
    return JobError(_within(token, before, accepted), file=file, place=at)


def _strange(error: UnexpectedCharacters, lines: list[str], file: str) -> JobError:
    line, column = error.line, error.column
    rest = lines[line - 1][column - 1 :] if 0 < line <= len(lines) else ""
    hints = {
        '"': 'a text ends with " in the same line',
        "'": 'a text stands in double quotes, such as "grip.job"',
        "/": "comments begin with #",
        ";": "comments begin with #, and an instruction ends with its line",
        "!": "'not equal' is written <>",
    }
    hint = hints.get(rest[:1], "expected words, numbers with units, or a comment after #")
    return JobError(
        f"{quoted(rest[:1])} is not understood here; {hint}", file=file, place=s.Place(line, column)
    )


def _first_word(token: Token, accepted: set[str]) -> str:
    """What to say about the first word of a line."""
    word = str(token)
    if token.type in ("NAME", "NUMBER", "UNIT", "STRING"):
        hint = did_you_mean(word.upper(), list(INSTRUCTIONS))
        return f"{quoted(word)} is not an instruction; expected one such as MOVEJ, MOVEL, WAIT or SET{hint}"
    if token.type == "END":
        return "END without a block; expected REPEAT, IF, SUB or WAITFOR ... ELSE before it"
    if token.type == "ELSE":
        return "ELSE without IF; expected IF before it, and one ELSE at most"
    if token.type in ("SUB", "PALLET"):
        return f"{token.type} inside a block; expected it outside of all blocks"
    return f"{quoted(word)} does not begin an instruction; expected one such as MOVEJ, MOVEL, WAIT or SET"


def _within(token: Token, before: list[str], accepted: set[str]) -> str:
    """What to say about a word within a line, ``before`` the words in front of it."""
    keywords = [w.upper() for w in before if w.upper() in KEYWORDS]
    last = before[-1].upper()
    expected = _expected(accepted, last, keywords)
    stands = "the line ends" if token.type in ("NEWLINE", "COMMENT") else f"{quoted(token)} stands here"
    if token.type == "UNIT" and "UNIT" not in accepted and "NAME" in accepted:
        stands = f"{quoted(token)} is a unit"
    elif str(token).upper() in KEYWORDS and "NAME" in accepted and token.type not in accepted:
        stands = f"{quoted(token)} is a keyword"
    if "UNIT" in accepted and token.type == "NAME":
        units = _UNITS.get(keywords[-1] if keywords else "", "")
        known = [w for w in accepted if w in KEYWORDS]
        hint = did_you_mean(str(token).upper(), known)
        if not hint:
            return f"{quoted(token)} is not a unit; expected {units or 'a unit or ' + expected}"
        return f"{stands}; expected {expected}{hint}"
    hint = did_you_mean(str(token).upper(), [w for w in accepted if w in KEYWORDS])
    return f"{stands}; expected {expected}{hint}"


def _expected(accepted: Collection[str], last: str, keywords: list[str]) -> str:
    """The accepted words as a list in the order of usefulness."""
    words = []
    name_of = last if last in _NAMES else (keywords[-1] if keywords else "")
    if "NAME" in accepted:
        words.append(_NAMES.get(name_of, "a name"))
    for kind in ("NUMBER", "UNIT", "STRING", "COMMA", "EQUAL", "COMPARE"):
        if kind in accepted:
            units = _UNITS.get(keywords[-1], "") if keywords else ""
            words.append(units if kind == "UNIT" and units else _WORDS[kind])
    words += sorted(w for w in accepted if w in KEYWORDS)
    if "NEWLINE" in accepted:
        words.append(_WORDS["NEWLINE"])
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else (words or ["something else"])[0]


def _end_of_file(lines: list[str], file: str) -> JobError:
    """The file ended within a block: which one."""
    open_blocks: list[tuple[int, int, str]] = []
    for number, line in enumerate(lines, 1):
        code = re.sub(r'"[^"]*"', "", line).split("#")[0].upper().split()
        if not code:
            continue
        if code[0] in _OPENERS or (code[0] == "WAITFOR" and code[-1] == "ELSE"):
            open_blocks.append((number, line.index(line.split()[0]) + 1, code[0]))
        elif code[0] == "END" and open_blocks:
            open_blocks.pop()
    if not open_blocks:
        return JobError("the file ends too early", file=file, place=s.Place(len(lines), 1))
    number, column, word = open_blocks[-1]
    return JobError(
        f"this {word} has no END; expected END on a line after its block",
        file=file,
        place=s.Place(number, column),
    )
