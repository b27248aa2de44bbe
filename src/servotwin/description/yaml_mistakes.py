"""What is wrong with a text that is not YAML, in the words of someone who writes robot files."""

from __future__ import annotations

import re

from ruamel.yaml.error import MarkedYAMLError

NOT_UNDERSTOOD = "this is not understood; expected 'name: value', lists in [ ] and mappings in { }"
_SAME_COLUMN = "fields of one mapping begin in the same column"
# what the parser says, what it means, and whether it is about the line where the part begins
_MEANINGS = (
    (r"expected ',' or ']'", "the '[' is not closed; expected ',' or ']'", True),
    (r"expected ',' or '}'", "the '{' is not closed; expected ',' or '}'", True),
    (r".*unexpected end of stream", "the quote that begins here is not closed", True),
    (r"could not find expected ':'", "no ':' in this line; expected 'name: value'", True),
    (r"expected the node content, but found ']'", "']' without a '[' before it", False),
    (r"expected the node content, but found '}'", "'}' without a '{' before it", False),
    (
        r".*unknown escape character",
        "a '\\' in double quotes begins an escape; write '\\\\', or use single quotes",
        False,
    ),
)


def yaml_mistake(error: MarkedYAMLError, text: str) -> tuple[str, int | None]:
    """One line for what the parser found, and the line (1-based) it is about."""
    lines, found = text.splitlines(), str(error.problem or "")
    mark, start = error.problem_mark or error.context_mark, error.context_mark
    at = mark.line + 1 if mark is not None else None
    if "cannot start any token" in found:
        return _first_character(found), at
    if found.startswith("mapping values are not allowed"):
        return _colon(lines, at or 1, mark.column if mark is not None else 0), at
    if found.startswith("expected <block end>"):
        return _block(lines, at or 1, found), at
    for pattern, meaning, where_it_begins in _MEANINGS:
        if re.match(pattern, found):
            return meaning, start.line + 1 if where_it_begins and start is not None else at
    return NOT_UNDERSTOOD, at


def _first_character(found: str) -> str:
    if "'\\t'" in found:
        return "a tab indents this line; expected blanks"
    character = re.search(r"found character '(.)'", found)
    return f"a value cannot begin with '{character.group(1) if character else '?'}'; put it in quotes"


def _colon(lines: list[str], at: int, column: int) -> str:
    """A ':' where the line above, or this one, has its value already."""
    line = lines[at - 1] if at <= len(lines) else ""
    if re.search(r":\s", line[:column]):
        return "a second ':' in one line; expected 'name: value', or the value in quotes"
    above = next((earlier for earlier in reversed(lines[: at - 1]) if earlier.strip()), "")
    if ":" not in above and not above.lstrip().startswith("-"):
        return f"the line above, '{above.strip()[:40]}', has no ':'; expected 'name: value'"
    return f"wrong indentation: deeper than the line above, which has a value already; {_SAME_COLUMN}"


def _block(lines: list[str], at: int, found: str) -> str:
    """A line that belongs to none of the blocks above it."""
    if found.endswith("'-'"):
        return "a list item '-' among the fields of a mapping; expected 'name: value'"
    if found.endswith("'?'"):
        return "a field among the items of a list; expected '-', or the list indented deeper than its name"
    line = lines[at - 1] if at <= len(lines) else ""
    blanks = len(line) - len(line.lstrip())
    return (
        f"wrong indentation: no line above begins after {blanks} blank{'s' * (blanks != 1)}; {_SAME_COLUMN}"
    )
