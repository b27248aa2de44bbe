"""The page and files of a comparison between a simulated and a measured run."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from servotwin.description.display import MM, MS
from servotwin.description.nodes import one_line
from servotwin.mechanism.model import Array
from servotwin.report.files import write_json, write_page, write_parquet
from servotwin.report.labels import plain_unit, unit_key
from servotwin.report.page import Card, Cell, Figure, Page
from servotwin.report.page_style import INK, axis, layout
from servotwin.report.traces import colour, line
from servotwin.simulation.comparing.compare import (
    AxisComparison,
    Comparison,
    SignalComparison,
    comparison_summary,
)
from servotwin.simulation.comparing.measured_signals import MeasuredSignals
from servotwin.simulation.results.folder import COMPARISON_FILES, replaced_folder
from servotwin.simulation.results.result_files import Saved
from servotwin.version import __version__

# Units that people read: (unit, its number in one SI unit)
SHOWN = {
    "rad": ("deg", 57.29577951308232),
    "rad/s": ("deg/s", 57.29577951308232),
    "m": ("mm", MM),
    "m/s": ("mm/s", MM),
}
IGNORED = 200  # columns that are listed though they name no signal


class ComparisonFiles(NamedTuple):
    """Where the parts of a comparison are."""

    page: Path
    summary: Path


def write_comparison(
    comparison: Comparison,
    saved: Saved,
    measured: MeasuredSignals,
    folder: str | Path,
    *,
    overwrite: bool = False,
) -> ComparisonFiles:
    """Write ``comparison.html``, ``comparison.json`` and ``comparison.parquet``, the aligned signals.

    ``overwrite``: as in ``write_result``.
    """
    with replaced_folder(folder, COMPARISON_FILES, overwrite=overwrite) as place:
        write_json(place / "comparison.json", comparison_summary(comparison, saved, measured))
        write_page(place / "comparison.html", compare_page(comparison, saved, measured))
        write_parquet(place / "comparison.parquet", aligned_columns(comparison))
    return ComparisonFiles(Path(folder) / "comparison.html", Path(folder) / "comparison.json")


def aligned_columns(comparison: Comparison) -> dict[str, Array]:
    """Measured and simulated signals at the measured instants, on the simulation's clock; NaN where missing."""
    signals = [found for found, _ in _rows(comparison)]
    time = np.zeros(0)
    for found in sorted(signals, key=lambda found: -len(found.time)):
        rows = np.minimum(np.searchsorted(time, found.time), max(len(time) - 1, 0))
        if not len(time) or not np.array_equal(time[rows], found.time):  # most signals share their instants
            time = np.union1d(time, found.time)
    columns = {"time_s": time}
    for found in signals:
        rows = np.searchsorted(time, found.time)
        for word, values in (("measured", found.measured), ("simulated", found.simulated)):
            column = np.full(len(time), np.nan)
            column[rows] = values
            columns[f"{word}_{found.signal}"] = column
    return columns


def compare_page(comparison: Comparison, saved: Saved, measured: MeasuredSignals) -> str:
    """The page as HTML."""
    scenario = str(saved.summary.get("scenario") or saved.folder.name)
    page = Page(
        f"{scenario}: simulated and measured",
        f"{saved.summary.get('robot', '')}. Measured: {Path(measured.file).name}. "
        "Differences are simulated minus measured.",
    )
    if not saved.complete:
        page.note("The simulated run did not come to its end; what was measured later is not compared.")
    page.cards(_cards(comparison))
    page.section("In numbers")
    page.table(COLUMNS, [_row(found, own) for found, own in _rows(comparison)], text_columns=2)
    page.note(
        "NRMSE is the RMS difference over the range of the measured signal. The own shift is the one that "
        "suits an axis alone best, the common one that of the whole recording; an axis that lags behind the others "
        "has a delay that is not modelled."
    )
    for each in comparison.axes:
        _axis_section(page, each)
    if comparison.others:
        page.section("Other signals")
        figures = [_figure(found, i) for i, found in enumerate(comparison.others)]
        page.figures(figures, columns=min(2, len(figures)))
    ignored = [name for name in measured.ignored if name]
    if ignored:
        more = f" (the first {IGNORED} of {len(ignored)})" if len(ignored) > IGNORED else ""
        rows: list[list[str | Cell]] = [[one_line(name, 200)] for name in ignored[:IGNORED]]
        page.details(f"Columns that name no signal{more}", ("column",), rows)
    return page.html(
        f"ServoTwin {__version__}. The numbers of this page are in comparison.json, in SI units."
    )


COLUMNS = (
    "signal",
    "unit",
    "RMS",
    "largest",
    "at [s]",
    "mean",
    "NRMSE",
    "correlation",
    "own minus common shift [ms]",
    "samples",
)


def _rows(comparison: Comparison) -> list[tuple[SignalComparison, float | None]]:
    """The signals, each with its own shift minus the common one [s] if it has one."""
    rows: list[tuple[SignalComparison, float | None]] = []
    for each in comparison.axes:
        own = None if each.own_shift_s is None else each.own_shift_s - comparison.shift_s
        rows += [(found, own) for found in (each.position, each.velocity) if found is not None]
    return rows + [(found, None) for found in comparison.others]


def shown_unit(found: SignalComparison) -> tuple[str, float]:
    """The unit people read, and its number in one SI unit; motor speeds in rpm."""
    if found.signal.startswith("motor_") and found.unit == "rad/s":
        return "rpm", 9.549296585513721
    return SHOWN.get(found.unit, (plain_unit(found.unit), 1.0))


def title(found: SignalComparison) -> str:
    """A signal's name in words: ``joint A position``."""
    return found.signal.removesuffix(unit_key("", found.unit)).replace("_", " ")


def _row(found: SignalComparison, own: float | None) -> list[str | Cell]:
    unit, factor = shown_unit(found)
    numbers = found.metrics
    return [
        Cell(title(found) + (" (differentiated)" if found.derived else ""), "strong"),
        unit,
        f"{factor * numbers.rms:.4g}",
        f"{factor * numbers.max:.4g}",
        f"{numbers.max_at_s:.3f}",
        f"{factor * numbers.mean:.3g}",
        "-" if numbers.nrmse is None else f"{100 * numbers.nrmse:.3g}\u00a0%",
        "-" if numbers.correlation is None else f"{numbers.correlation:.6f}",
        "-" if own is None else f"{round(MS * own, 3) + 0.0:.3f}",
        str(numbers.samples),
    ]


def _cards(comparison: Comparison) -> list[Card]:
    how = "given" if comparison.shift_given else "found from the motion"
    cards = [Card("Time shift", f"{MS * comparison.shift_s:.3f}", "ms", f"of the measured clock, {how}")]
    for kind in ("position", "velocity"):
        found: list[SignalComparison] = [
            part for each in comparison.axes if (part := getattr(each, kind)) is not None
        ]
        if found:
            worst = max(found, key=lambda item: item.metrics.nrmse or 0.0)
            unit, factor = shown_unit(worst)
            remark = f"{title(worst)}, RMS {factor * worst.metrics.rms:.3g} {unit}"
            value = f"{100 * (worst.metrics.nrmse or 0.0):.2g}"
            cards.append(Card(f"Largest {kind} difference", value, "% NRMSE", remark))
    return cards


def _axis_section(page: Page, each: AxisComparison) -> None:
    page.section(f"{each.kind.capitalize()} {each.name}")
    found = [part for part in (each.position, each.velocity) if part is not None]
    page.figures([_figure(part, i) for i, part in enumerate(found)], columns=len(found))


def _figure(found: SignalComparison, i: int) -> Figure:
    words = title(found)
    caption = "Both by differentiating the position in the same way" if found.derived else ""
    return Figure(overlay(found, i), f"{words[:1].upper()}{words[1:]}", caption)


def overlay(found: SignalComparison, i: int) -> go.Figure:
    """Both curves above, their difference below."""
    unit, factor = shown_unit(found)
    quantity = title(found).split(" ")[-1]
    figure = go.Figure(layout=layout(440))
    figure.update_layout(
        yaxis=axis(f"{quantity} [{unit}]", domain=(0.46, 1.0), anchor="x"),
        yaxis2=axis(f"difference [{unit}]", domain=(0.0, 0.36), anchor="x"),
    )
    figure.update_xaxes(anchor="y2")
    style: dict[str, Any] = {"hovertemplate": f"%{{y:.5g}} {unit}"}
    figure.add_trace(line(found.time, factor * found.measured, "measured", INK, **style))
    dashed = {"line": {"dash": "dash", "width": 2}, **style}
    figure.add_trace(line(found.time, factor * found.simulated, "simulated", colour(i), **dashed))
    below = {"yaxis": "y2", "showlegend": False, **style}
    figure.add_trace(line(found.time, factor * found.difference, "difference", colour(i), **below))
    return figure
