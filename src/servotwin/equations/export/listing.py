"""Script -> listings for people: plain text and Markdown. Every line reads ``name = expression``."""

from __future__ import annotations

from collections.abc import Sequence

from servotwin.equations.export.names import ascii_text
from servotwin.equations.export.printing import Infix, folded, plain_number, write
from servotwin.equations.export.script import Function, Script, Step, counted
from servotwin.equations.export.terms import Number


class _Notation(Infix):
    powers = True

    def number(self, value: float) -> str:
        return plain_number(value)


NOTATION = _Notation()
ZERO = Number(0.0)


def listed_steps(function: Function) -> list[Step]:
    """Steps, then results; neither zeros of a result nor entries that are steps already."""
    entries = [entry for result in function.results for entry in result.entries]
    return [
        *function.steps,
        *(entry for entry in entries if entry.term not in (entry.symbol, ZERO)),
    ]


def remarks(function: Function) -> str:
    """Operations of a call, and which results have zeros that are not listed."""
    text = f"Operations: {counted(function)}."
    sparse = [r.name for r in function.results if any(entry.term == ZERO for entry in r.entries)]
    return f"{text} Entries of {' and '.join(sparse)} that are not listed are 0." if sparse else text


def text_listing(script: Script) -> str:
    """Plain text."""
    lines = [ascii_text(script.title), "=" * max(len(script.title), 1), ""]
    lines += ["SI units and radians.", *map(ascii_text, (*script.coordinates, *script.notes))]
    if script.parameters:
        lines += ["", "Parameters", "----------", *_columns(_parameter_rows(script))]
    if script.constants:
        lines += ["", "Constants, once per robot", "-------------------------", *_lines(script.constants)]
    for function in script.functions:
        lines += ["", *_function_head(function), *_lines(listed_steps(function))]
    return "\n".join(lines) + "\n"


def markdown_listing(script: Script) -> str:
    """Markdown: a table of parameters, listings as code."""
    lines = [f"# {_plain_markdown(script.title)}", "", "SI units and radians.", ""]
    lines += [f"- {_plain_markdown(text)}" for text in (*script.coordinates, *script.notes)]
    if script.parameters:
        lines += ["", "## Parameters", "", "| name | value | unit | meaning |", "| --- | ---: | --- | --- |"]
        for name, value, unit, meaning in _parameter_rows(script):
            lines.append(f"| `{name}` | {value} | {unit} | {_plain_markdown(meaning)} |")
    if script.constants:
        lines += ["", "## Constants, once per robot", "", *_code(script.constants)]
    for function in script.functions:
        title, _, count = _function_head(function)
        lines += ["", f"## {_plain_markdown(title)}", "", count, "", *_code(listed_steps(function))]
    return "\n".join(lines) + "\n"


def _parameter_rows(script: Script) -> list[tuple[str, str, str, str]]:
    return [
        (p.symbol.name, "-" * (p.value < 0) + plain_number(abs(p.value)), p.unit, ascii_text(p.meaning))
        for p in script.parameters
    ]


def _columns(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]


def _function_head(function: Function) -> list[str]:
    title = f"{function.name}: {ascii_text(function.summary)}" if function.summary else function.name
    return [title, "-" * len(title), remarks(function)]


def _lines(steps: Sequence[Step]) -> list[str]:
    lines = []
    for step in steps:
        lines += folded(f"{step.symbol.name} = ", write(step.term, NOTATION))
    return lines


def _code(steps: Sequence[Step]) -> list[str]:
    return ["```text", *_lines(steps), "```"] if steps else []


def _plain_markdown(text: str) -> str:
    """Text in which nothing is markup."""
    marks = r"\`*_{}<#|$" + ("[]" if "](" in text else "")
    return "".join(f"\\{c}" if c in marks else c for c in ascii_text(text))
