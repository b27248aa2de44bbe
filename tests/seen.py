"""What a person sees: cards, tables and figures of a page, numbers of printed lines, as data for tests.

Figures are found by their data and the units of their axes, tables by words of their headings, so that a test fails
when a number is wrong and not when a sentence is rewritten.
"""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass
from html import unescape
from typing import Any

import numpy as np
from plotly.offline import get_plotlyjs

NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.]*\d)", re.IGNORECASE)
DTYPES = {"f4": "<f4", "f8": "<f8", "i1": "<i1", "i2": "<i2", "i4": "<i4", "u1": "<u1", "u2": "<u2"}


def numbers(text: str) -> list[float]:
    """The numbers of a text in their order.

    >>> numbers("for 70 ms, 21 times, -1.5e-3 of 4 kg")
    [70.0, 21.0, -0.0015, 4.0]
    """
    return [float(found) for found in NUMBER.findall(text)]


def rounds_to(text: str, value: float) -> bool:
    """Whether the first number of a text is ``value`` rounded to the digits that the text has."""
    found = NUMBER.search(text.replace("\u00a0", " "))
    if found is None:
        return False
    digits = found[0].lower().partition("e")
    places = len(digits[0].partition(".")[2])
    half = 0.5000001 * 10.0 ** (int(digits[2] or 0) - places)
    trailing = digits[0].rstrip("0") if "." not in digits[0] else digits[0]
    coarse = (
        10.0 ** (len(digits[0]) - len(trailing)) if "." not in digits[0] and trailing.strip("+-") else 1.0
    )
    return abs(float(found[0]) - value) <= half * coarse + 1e-12 * abs(value)


@dataclass(frozen=True)
class Card:
    label: str
    value: str
    unit: str
    remark: str
    mark: str


@dataclass(frozen=True)
class Cell:
    text: str
    mark: str


@dataclass(frozen=True)
class Table:
    columns: list[str]
    rows: list[list[Cell]]

    def column(self, *words: str) -> int:
        """Number of the one column whose heading has all these words."""
        low = [heading.lower().replace("\u00a0", " ") for heading in self.columns]
        (found,) = [i for i, heading in enumerate(low) if all(word.lower() in heading for word in words)]
        return found

    def cell(self, row: int, *words: str) -> Cell:
        """A cell by row and words of its heading."""
        return self.rows[row][self.column(*words)]


@dataclass(frozen=True)
class Figure:
    heading: str
    data: list[dict[str, Any]]
    layout: dict[str, Any]

    def unit(self, trace: dict[str, Any], which: str) -> str:
        """The unit in brackets of a trace's axis."""
        name = str(trace.get(f"{which}axis", which)).replace(which, f"{which}axis")
        title = self.layout.get(name, {}).get("title", {}).get("text", "")
        found = re.search(r"\[(.*)\]", title)
        return found[1] if found else ""

    def traces(
        self, x_unit: str, y_unit: str, x: Any, y: Any, *, dash: str | None = None, tolerance: float = 1e-6
    ) -> list[dict[str, Any]]:
        """The traces with these values over these, drawn with this dash, on axes with these units."""
        return [
            trace
            for trace in self.data
            if (self.unit(trace, "x"), self.unit(trace, "y")) == (x_unit, y_unit)
            and (trace.get("line", {}).get("dash") or "") == (dash or "")
            and same(trace.get("x"), x, tolerance)
            and same(trace.get("y"), y, tolerance)
        ]


def same(found: Any, wanted: Any, tolerance: float) -> bool:
    """Whether two columns agree to a share of the largest value; NaN only where NaN is wanted."""
    if found is None:
        return False
    a, b = np.asarray(found, dtype=float), np.asarray(wanted, dtype=float)
    if a.shape != b.shape or not np.array_equal(np.isnan(a), np.isnan(b)):
        return False
    scale = max(float(np.nanmax(np.abs(b), initial=0.0)), 1e-12)
    return bool(np.nanmax(np.abs(a - b), initial=0.0) <= tolerance * scale)


class Seen:
    """Cards, tables and figures of a page in their order."""

    def __init__(self, html: str) -> None:
        own = html.replace(get_plotlyjs(), "")
        self.text = " ".join(
            unescape(re.sub(r"<[^>]*>", " ", re.sub(r"(?s)<script.*?</script>", "", own))).split()
        )
        self.cards = [
            Card(*(unescape(part) for part in found[1:]), found[0].strip())
            for found in re.findall(
                r'<div class="card ([^"]*)"[^>]*><div class="label">(.*?)</div><div class="value">(.*?) '
                r'<span class="unit">(.*?)</span></div><div class="remark">(.*?)</div></div>',
                own,
            )
        ]
        self.tables = [_table(part) for part in re.findall(r"(?s)<table>(.*?)</table>", own)]
        self.figures = _figures(own)

    def drawn(
        self, x_unit: str, y_unit: str, x: Any, y: Any, *, dash: str | None = None, tolerance: float = 1e-6
    ) -> int:
        """In how many figures such a trace stands."""
        return sum(
            bool(figure.traces(x_unit, y_unit, x, y, dash=dash, tolerance=tolerance))
            for figure in self.figures
        )

    def figure(self, x_unit: str, y_unit: str, x: Any, y: Any, *, dash: str | None = None) -> Figure:
        """The one figure with such a trace."""
        (found,) = [item for item in self.figures if item.traces(x_unit, y_unit, x, y, dash=dash)]
        return found

    def card(self, unit: str, value: float) -> Card:
        """The one card that shows this value in this unit."""
        found = [card for card in self.cards if card.unit == unit and rounds_to(card.value, value)]
        assert len(found) == 1, (unit, value, self.cards)
        return found[0]

    def table(self, *headings: str) -> Table:
        """The one table whose headings have all these words."""
        (found,) = [
            table
            for table in self.tables
            if all(
                any(word in heading.replace("\u00a0", " ") for heading in table.columns) for word in headings
            )
        ]
        return found


def _table(html: str) -> Table:
    def cells(row: str, tag: str) -> list[Cell]:
        found = re.findall(rf'<{tag} class="(?:text|number) ([^"]*)">(.*?)</{tag}>', row)
        return [Cell(unescape(text).replace("\u00a0", " "), mark.strip()) for mark, text in found]

    head, _, body = html.partition("</thead>")
    rows = [cells(row, "td") for row in re.findall(r"<tr>(.*?)</tr>", body)]
    return Table([cell.text for cell in cells(head, "th")], rows)


def _figures(html: str) -> list[Figure]:
    found = []
    decode = json.JSONDecoder().raw_decode
    for part in re.findall(r"(?s)<figure>(.*?)</figure>", html):
        heading = re.search(r"<h3>(.*?)</h3>", part)
        start = re.search(r'Plotly\.newPlot\(\s*"[^"]*",\s*', part)
        assert start is not None
        data, end = decode(part, start.end())
        layout, _ = decode(part, re.compile(r"\s*,\s*").match(part, end).end())  # type: ignore[union-attr]
        found.append(Figure(unescape(heading[1]) if heading else "", [_plain(item) for item in data], layout))
    return found


def _plain(value: Any) -> Any:
    """Arrays that Plotly packs, as numpy arrays; None inside a list of numbers is NaN."""
    if isinstance(value, dict):
        if set(value) >= {"dtype", "bdata"}:
            return np.frombuffer(base64.b64decode(value["bdata"]), DTYPES[value["dtype"]]).astype(float)
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list) and value and all(isinstance(x, int | float) or x is None for x in value):
        return np.array([np.nan if x is None else x for x in value], dtype=float)
    return [_plain(item) for item in value] if isinstance(value, list) else value


def printed_rows(text: str, key: str) -> list[list[str]]:
    """The rows of printed tables that begin with a cell, cut where two blanks or more stand."""
    rows = [re.split(r"\s{2,}", line.strip()) for line in text.splitlines()]
    return [row for row in rows if row[0] == key and len(row) > 1]
