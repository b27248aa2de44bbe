"""What notebooks show of an object: a small piece of HTML with a title, single numbers, a table, notes.

It asks nothing of the network, has no scripts, and takes the colours of the page around it, light or dark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from servotwin.report.page_style import COLOURS, FONT

SHOWN_ROWS = 12
LONGEST = 90  # characters of a cell

STYLE = f"""
.servotwin {{ font: 13px/1.5 {FONT}; max-width: 960px; }}
.servotwin .name {{ font-size: 15px; font-weight: 600; }}
.servotwin .about, .servotwin .more {{ opacity: 0.72; }}
.servotwin .facts {{ display: flex; flex-wrap: wrap; gap: 4px 26px; margin: 6px 0;
  padding: 6px 0 6px 12px; border-left: 3px solid {COLOURS[0]}; }}
.servotwin .fact span {{ opacity: 0.72; margin-right: 6px; }}
.servotwin .fact b {{ font-weight: 600; font-variant-numeric: tabular-nums; }}
.servotwin .scrolled {{ overflow-x: auto; }}
.servotwin table {{ border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; margin: 6px 0; }}
.servotwin th, .servotwin td {{ text-align: left; padding: 3px 14px 3px 0; border-bottom: 1px solid #8884;
  background: none; vertical-align: top; }}
.servotwin th {{ font-weight: 600; opacity: 0.72; vertical-align: bottom; }}
.servotwin .number {{ text-align: right; }}
.servotwin .formula {{ padding: 3px 0; white-space: nowrap; }}
.servotwin .note {{ margin: 3px 0; }}
.servotwin .warn {{ border-left: 3px solid {COLOURS[1]}; padding-left: 9px; }}
"""


def fragment(
    title: str,
    about: str = "",
    *,
    facts: Mapping[str, str] | None = None,
    rows: Sequence[Mapping[str, Any]] = (),
    notes: Sequence[str] = (),
    warnings: Sequence[str] = (),
    html: str = "",
) -> str:
    """The piece of HTML; all text is escaped, ``html`` is taken as it is."""
    parts = [f'<div class="name">{escape(title)}</div>']
    if about:
        parts.append(f'<div class="about">{escape(about)}</div>')
    if facts:
        told = (
            f'<div class="fact"><span>{escape(k)}</span><b>{escape(v)}</b></div>' for k, v in facts.items()
        )
        parts.append(f'<div class="facts">{"".join(told)}</div>')
    parts.append(html)
    if rows:
        parts.append(table(rows))
    parts += [f'<div class="note warn">{escape(text)}</div>' for text in warnings]
    parts += [f'<div class="note about">{escape(text)}</div>' for text in notes]
    return f'<style>{STYLE}</style><div class="servotwin">{"".join(parts)}</div>'


def table(rows: Sequence[Mapping[str, Any]], most: int = SHOWN_ROWS) -> str:
    """A table of all keys of the rows, without empty columns; beyond ``most`` rows it says how many follow."""
    keys = dict.fromkeys(key for row in rows for key in row)
    columns = [key for key in keys if any(row.get(key) not in (None, "") for row in rows)]
    numeric = {
        key
        for key in columns
        if all(isinstance(row.get(key), int | float) or row.get(key) is None for row in rows)
    }

    def cell(tag: str, key: str, text: str) -> str:
        return f'<{tag} class="{"number" if key in numeric else ""}">{escape(text)}</{tag}>'

    head = "".join(cell("th", key, key.replace("_", " ")) for key in columns)
    body = "".join(
        f"<tr>{''.join(cell('td', key, shown(row.get(key))) for key in columns)}</tr>" for row in rows[:most]
    )
    more = f'<div class="more">and {len(rows) - most} more</div>' if len(rows) > most else ""
    return f'<div class="scrolled"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{more}'


def shown(value: Any) -> str:
    """A value as the cell of a table has it.

    >>> shown(0.123456), shown(None), shown(True), shown("x" * 200)[-4:]
    ('0.1235', '', 'yes', 'x...')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    text = str(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
