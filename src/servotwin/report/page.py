"""A page of a report: one HTML file with text, tables and figures that asks nothing of the network."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from servotwin.report.page_style import CARDS_IN_ROW, STYLE

# The browser itself then refuses to fetch anything, whatever a script inside the page may try.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:"
)
_CONFIG = {
    "displaylogo": False,
    "displayModeBar": False,  # its buttons would cover the legends; dragging zooms, a double click resets
    "responsive": True,
    "plotlyServerURL": "",
}


# A finger that scrolls the page must not zoom the figures it passes.
_TOUCH = (
    "if (matchMedia('(pointer: coarse)').matches) "
    "document.querySelectorAll('.js-plotly-plot').forEach(p => Plotly.relayout(p, {dragmode: false}));"
)


@dataclass(frozen=True)
class Figure:
    """A plotly figure, its heading and what it shows in words."""

    plot: Any
    heading: str
    caption: str = ""


@dataclass(frozen=True)
class Cell:
    """A table cell; ``mark`` is '', 'good', 'warn' or 'strong'."""

    text: str
    mark: str = ""


@dataclass(frozen=True)
class Card:
    """One number that matters, with its unit and what it says."""

    label: str
    value: str
    unit: str
    remark: str = ""
    mark: str = ""


class Page:
    """Collects the parts of a page in reading order; all text is escaped."""

    def __init__(self, title: str, subtitle: str = "") -> None:
        self.title = title
        self.subtitle = subtitle
        self._parts: list[str] = []
        self._figures = 0

    def section(self, heading: str, text: str = "") -> None:
        """Start a section."""
        self._parts.append(f"<h2>{escape(heading)}</h2>")
        if text:
            self.paragraph(text)

    def paragraph(self, text: str) -> None:
        """A paragraph of plain text."""
        self._parts.append(f"<p>{escape(text)}</p>")

    def fragment(self, html: str, shared: str = "") -> None:
        """HTML that is already safe, such as formulas in MathML.

        ``shared``: what several fragments need before them, such as a script; it stands in the page once.
        """
        if shared and shared not in self._parts:
            self._parts.append(shared)
        self._parts.append(html)

    def note(self, text: str) -> None:
        """A remark set apart from the text."""
        self._parts.append(f'<p class="note">{escape(text)}</p>')

    def warning(self, text: str) -> None:
        """A remark that a reader must not miss."""
        self._parts.append(f'<p class="note warn">{escape(text)}</p>')

    def cards(self, cards: Iterable[Card]) -> None:
        """Single numbers in rows of the same length, as far as their count allows."""
        listed = list(cards)
        places = zip(*(row_lengths(len(listed), most) for most in CARDS_IN_ROW), strict=True)
        body = "".join(_card(card, rows) for card, rows in zip(listed, places, strict=True))
        self._parts.append(f'<div class="cards">{body}</div>')

    def figures(self, figures: Sequence[Figure], columns: int = 1) -> None:
        """Figures side by side on a wide screen, below each other on a narrow one."""
        body = "".join(self._figure(figure) for figure in figures)
        self._parts.append(f'<div class="grid columns-{columns}">{body}</div>')

    def table(
        self, columns: Sequence[str], rows: Iterable[Sequence[str | Cell]], text_columns: int = 1
    ) -> None:
        """A table; the first ``text_columns`` are flush left, the others flush right."""
        self._parts.append(_table(columns, rows, text_columns))

    def details(self, summary: str, columns: Sequence[str], rows: Iterable[Sequence[str | Cell]]) -> None:
        """A table of text that opens on a click."""
        table = _table(columns, rows, len(columns))
        self._parts.append(f"<details><summary>{escape(summary)}</summary>{table}</details>")

    def html(self, footer: str = "") -> str:
        """The whole page."""
        from plotly.offline import get_plotlyjs

        script = f"<script>{get_plotlyjs()}</script>" if self._figures else ""
        touch = f"<script>{_TOUCH}</script>" if self._figures else ""
        return (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{escape(self.title)}</title>\n<style>{STYLE}</style>\n{script}\n</head>\n<body>\n"
            f"<header><h1>{escape(self.title)}</h1><p>{escape(self.subtitle)}</p></header>\n<main>\n"
            + "\n".join(self._parts)
            + f"\n</main>\n<footer>{escape(footer)}</footer>\n{touch}\n</body>\n</html>\n"
        )

    def _figure(self, figure: Figure) -> str:
        from plotly.io import to_html

        self._figures += 1
        plot = to_html(
            _without_markup(figure.plot.to_plotly_json()),
            validate=False,
            include_plotlyjs=False,
            full_html=False,
            config=_CONFIG,
            div_id=f"figure-{self._figures}",
            default_height=f"{figure.plot.layout.height or 320}px",
        )
        caption = f"<p>{escape(figure.caption)}</p>" if figure.caption else ""
        return f"<figure><figcaption><h3>{escape(figure.heading)}</h3>{caption}</figcaption>{plot}</figure>"


def _without_markup(part: Any, key: str = "") -> Any:
    """A part of a figure in which '<' of a name is a sign; plotly would read it as a tag, but for its templates."""
    if isinstance(part, dict):
        return {name: _without_markup(value, str(name)) for name, value in part.items()}
    if isinstance(part, list | tuple):
        return [_without_markup(value, key) for value in part]
    return part.replace("<", "&lt;") if isinstance(part, str) and not key.endswith("template") else part


def row_lengths(count: int, most: int) -> list[int]:
    """For each of ``count`` cards how many stand in its row, if a row takes ``most``.

    As few rows as possible, the longer ones first; they differ by one card at most.

    >>> row_lengths(7, 6)
    [4, 4, 4, 4, 3, 3, 3]
    """
    rows = max(1, math.ceil(count / most))
    length, longer = divmod(count, rows)
    sizes = [length + 1] * longer + [length] * (rows - longer)
    return [size for size in sizes for _ in range(size)]


def _card(card: Card, rows: Sequence[int]) -> str:
    """A card; ``rows``: how many stand in its row, for each of ``CARDS_IN_ROW``."""
    style = "; ".join(f"--of-{most}: {row}" for most, row in zip(CARDS_IN_ROW, rows, strict=True))
    return (
        f'<div class="card {escape(card.mark)}" style="{style}"><div class="label">{escape(card.label)}</div>'
        f'<div class="value">{escape(card.value)} <span class="unit">{escape(card.unit)}</span></div>'
        f'<div class="remark">{escape(card.remark)}</div></div>'
    )


def _table(columns: Sequence[str], rows: Iterable[Sequence[str | Cell]], text_columns: int) -> str:
    def cell(tag: str, content: str | Cell, i: int) -> str:
        item = content if isinstance(content, Cell) else Cell(content)
        side = "text" if i < text_columns else "number"
        return f'<{tag} class="{side} {escape(item.mark)}">{escape(item.text)}</{tag}>'

    head = "".join(cell("th", column, i) for i, column in enumerate(columns))
    body = "".join(f"<tr>{''.join(cell('td', c, i) for i, c in enumerate(row))}</tr>" for row in rows)
    return f'<div class="table" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
