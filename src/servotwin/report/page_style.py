"""The look of the pages: one style sheet, and the same colours and letters in the figures."""

from __future__ import annotations

from typing import Any

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', Arial, sans-serif"
INK = "#1b2430"
SOFT = "#5a6675"
LINE = "#dde2e8"
# Okabe and Ito's colours, which colour-blind readers can tell apart (jfly.uni-koeln.de/color, 2008).
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#a4508b", "#56b4e9", "#e69f00")
# Most cards in a row, and the width of the window [px] from which a row takes so many.
CARDS_IN_ROW = {2: 360, 3: 580, 4: 760, 5: 930, 6: 1100}
_CARD_ROWS = "\n".join(
    f"@media (min-width: {width}px) {{ .card {{ --row: var(--of-{most}); }} }}"
    for most, width in CARDS_IN_ROW.items()
)

# A shade at an edge behind which there is more: it stays where it is, and white that moves along covers it at the end.
_SCROLLED = """background: linear-gradient(to right, #fff 40%, transparent) left / 48px 100% no-repeat local,
  linear-gradient(to left, #fff 40%, transparent) right / 48px 100% no-repeat local,
  linear-gradient(to right, #0003, transparent) left / 14px 100% no-repeat scroll,
  linear-gradient(to left, #0003, transparent) right / 14px 100% no-repeat scroll, #fff;"""
STYLE = f"""
:root {{ --ink: {INK}; --soft: {SOFT}; --line: {LINE}; --accent: {COLOURS[0]};
  --good: #0a6b4f; --warn: #a63c06; }}
* {{ box-sizing: border-box; }}
html {{ -webkit-text-size-adjust: 100%; }}
body {{ margin: 0; color: var(--ink); background: #f5f6f8; font: 16px/1.55 {FONT}; }}
header, main, footer {{ max-width: 1120px; margin: 0 auto; padding: 0 24px; }}
header {{ padding-top: 36px; }}
h1 {{ font-size: 29px; line-height: 1.25; margin: 0 0 6px; letter-spacing: -0.01em; }}
header p {{ color: var(--soft); margin: 0 0 22px; font-size: 17px; max-width: 80ch; }}
h2 {{ font-size: 21px; margin: 44px 0 8px; letter-spacing: -0.005em; }}
h3 {{ font-size: 15px; margin: 0; }}
p {{ max-width: 80ch; margin: 8px 0 14px; }}
.note {{ border-left: 3px solid var(--accent); padding: 2px 0 2px 14px; color: var(--soft);
  font-size: 15px; }}
.note.warn {{ border-left-color: var(--warn); }}
.note + .cards {{ margin-top: 22px; }}
.cards {{ display: flex; flex-wrap: wrap; gap: 14px; margin: 0 0 8px; }}
.card {{ --row: 1; flex: 1 1 calc((100% - (var(--row) - 1) * 14px) / var(--row) - 0.1px); min-width: 0;
  background: #fff; border: 1px solid var(--line); border-top: 3px solid var(--accent);
  border-radius: 6px; padding: 12px 16px; }}
{_CARD_ROWS}
.card.warn {{ border-top-color: var(--warn); }}
.card.good {{ border-top-color: var(--good); }}
.card .label, .card .remark {{ color: var(--soft); font-size: 14px; line-height: 1.4; }}
.card .value {{ font-size: 27px; font-weight: 600; line-height: 1.35; font-variant-numeric: tabular-nums; }}
.card .unit {{ font-size: 16px; font-weight: 400; color: var(--soft); }}
.grid {{ display: grid; gap: 16px; margin: 14px 0; grid-template-columns: minmax(0, 1fr); }}
figure {{ margin: 0; background: #fff; border: 1px solid var(--line); border-radius: 6px;
  padding: 14px 14px 6px; min-width: 0; }}
figcaption p {{ color: var(--soft); font-size: 14px; line-height: 1.45; margin: 3px 0 6px; max-width: none; }}
.table {{ overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; margin: 14px 0; {_SCROLLED} }}
.formulas {{ border: 1px solid var(--line); border-radius: 6px; padding: 6px 16px; margin: 10px 0 16px;
  overflow-x: auto; {_SCROLLED} }}
.formula {{ padding: 7px 0; font-size: 17px; white-space: nowrap; }}
.formula math {{ font-family: "STIX Two Math", "Latin Modern Math", "Cambria Math", math; }}
table {{ border-collapse: collapse; width: 100%; font-size: 14px; font-variant-numeric: tabular-nums; }}
th, td {{ padding: 8px 9px; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }}
tbody tr:last-child td {{ border-bottom: 0; }}
th {{ color: var(--soft); font-weight: 600; font-size: 13px; vertical-align: bottom; }}
.number {{ text-align: right; }}
td.number {{ white-space: nowrap; }}
td.good {{ color: var(--good); font-weight: 600; }}
td.warn {{ color: var(--warn); font-weight: 600; }}
td.strong {{ font-weight: 600; }}
details {{ margin: 12px 0; }}
summary {{ cursor: pointer; color: var(--accent); font-weight: 600; }}
footer {{ color: var(--soft); font-size: 14px; padding-top: 28px; padding-bottom: 40px; }}
@media (min-width: 820px) {{
  .columns-2 {{ grid-template-columns: repeat(2, minmax(0, 1fr)); }}
  .columns-3 {{ grid-template-columns: repeat(3, minmax(0, 1fr)); }}
}}
@media (max-width: 560px) {{
  header, main, footer {{ padding-left: 12px; padding-right: 12px; }}
  h1 {{ font-size: 24px; }}
  figure {{ padding: 12px 4px 4px; }}
  figcaption {{ padding: 0 10px; }}
}}
@media print {{ body {{ background: #fff; }} figure, .card {{ break-inside: avoid; }}
  .table, .formulas {{ overflow-x: visible; }} table {{ font-size: 11px; }} th {{ font-size: 10px; }}
  th, td {{ padding: 5px 4px; }} td.number, .formula {{ white-space: normal; }} }}
"""


def layout(height: int, **changes: Any) -> dict[str, Any]:
    """The layout that all figures share: quiet axes, horizontal legend above the plot."""
    return {
        "height": height,
        "margin": {"l": 56, "r": 14, "t": 10, "b": 42},
        "font": {"family": FONT, "size": 13, "color": INK},
        "paper_bgcolor": "#ffffff",
        "plot_bgcolor": "#ffffff",
        "hovermode": "x unified",
        "legend": {"orientation": "h", "x": 0.0, "y": 1.02, "xanchor": "left", "yanchor": "bottom"},
        "xaxis": axis("time [s]"),
        **changes,
    }


def axis(title: str, **changes: Any) -> dict[str, Any]:
    """An axis with its title and thin grid lines."""
    return {
        "title": {"text": title, "standoff": 6, "font": {"size": 13}},
        "gridcolor": "#eceff3",
        "zerolinecolor": "#c3cad3",
        "linecolor": "#c3cad3",
        "showline": True,
        "ticks": "outside",
        "tickcolor": "#c3cad3",
        "ticklen": 4,
        "automargin": True,
        **changes,
    }
