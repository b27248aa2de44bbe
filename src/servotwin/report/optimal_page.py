"""The page of an optimal motion: what it takes, what limits it at every instant, and what more would buy."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from servotwin.mechanism.model import Array
from servotwin.motion.optimal.result import LimitUse, OptimalMotion
from servotwin.report.files import write_json, write_page, write_parquet
from servotwin.report.labels import joint_units
from servotwin.report.limit_words import is_reached, limit_gain, limit_name, limit_value, unit_word
from servotwin.report.optimal_hydraulics import hydraulic_section
from servotwin.report.page import Card, Cell, Figure, Page
from servotwin.report.page_style import COLOURS, SOFT, axis, layout
from servotwin.simulation.results.folder import OPTIMAL_FILES, replaced_folder
from servotwin.version import __version__

HEIGHT = 300  # px
LEGEND_ROW = 20  # px
STANDING = 1e-9  # rad/s, m/s


class OptimalFiles(NamedTuple):
    """Where the parts of an optimal motion are."""

    page: Path
    summary: Path
    signals: Path


def write_optimal_report(
    motion: OptimalMotion, folder: str | Path, *, overwrite: bool = False
) -> OptimalFiles:
    """Write ``optimal.html``, ``optimal.json`` and ``optimal.parquet``; ``overwrite``: as in ``write_result``."""
    columns = {
        name: np.asarray(values, dtype=float) for name, values in motion.signals().items() if name != "active"
    }
    known = {name: values for name, values in columns.items() if np.isfinite(values).all()}
    with replaced_folder(folder, OPTIMAL_FILES, overwrite=overwrite) as place:
        write_page(place / "optimal.html", optimal_page(motion))
        write_json(
            place / "optimal.json", motion.summary() | {"active": [list(names) for names in motion.active]}
        )
        write_parquet(place / "optimal.parquet", known)
    where = Path(folder)
    return OptimalFiles(where / "optimal.html", where / "optimal.json", where / "optimal.parquet")


def optimal_page(motion: OptimalMotion) -> str:
    """The page as HTML."""
    page = Page(
        f"{motion.robot}: motion of least {motion.objective}",
        f"{len(motion.t) - 1} intervals, {motion.iterations} iterations, {motion.seconds:.2f} s of computing.",
    )
    _overview(page, motion)
    for note in motion.notes:
        page.note(note)
    held = any(motion.active)
    words = (
        f"{'Bars: when a limit is reached. ' if held else ''}The table says how much of the time that is, and what one "
        "more unit of it would take off the objective (its Lagrange multiplier)."
    )
    if not any(is_reached(use) for use in motion.limits):
        words = "No limit is reached at any time. The table says how near the motion comes to each."
    page.section("What limits it", words)
    if held:
        page.figures([Figure(limit_bars(motion), "Limits over time")])
    _limits(page, motion)
    page.section("Motion", "Positions, speeds and accelerations of the joints.")
    page.figures(
        [Figure(joint_figure(motion, kind), kind) for kind in ("position", "speed", "acceleration")],
        columns=3,
    )
    _drives(page, motion)
    if motion.valves:
        hydraulic_section(page, motion)
    return page.html(
        f"ServoTwin {__version__}. The numbers of this page are in optimal.json and optimal.parquet."
    )


def _drives(page: Page, motion: OptimalMotion) -> None:
    """Currents and voltages of electric motors, their temperatures and their power."""
    if not motion.electric or len(motion.valves) == len(motion.motor_names):
        return
    page.section(
        "Drives",
        "Currents and voltages as parts of their limits, at the nodes of the mesh: at 1 a drive gives all it has. The "
        "table of limits has the peaks between nodes too, those of the voltage while a current rises from rest.",
    )
    figures = [Figure(share_figure(motion, what), what) for what in ("current", "voltage")]
    if np.isfinite(motion.winding).any():
        figures.append(Figure(winding_figure(motion), "winding temperature, repeated"))
    figures.append(Figure(power_figure(motion), "power from the bus"))
    page.figures(figures, columns=3 if len(figures) == 3 else 2)


def _overview(page: Page, motion: OptimalMotion) -> None:
    given = "given; " if motion.objective in ("energy", "copper") else ""
    cards = [Card("Duration", f"{motion.duration:.4f}", "s", f"{given}{_ends(motion)}")]
    if motion.baseline is not None:
        less = 100.0 * (1.0 - motion.duration / motion.baseline)
        cards.append(
            Card("Best S-curve", f"{motion.baseline:.4f}", "s", f"the optimum is {less:.1f} % quicker", "")
        )
    if motion.objective == "energy":
        cards.append(Card("Energy", f"{motion.energy:.4g}", "J", "all of it together: what is least"))
    if motion.electric:
        cards.append(
            Card("Copper loss", f"{motion.copper_loss:.4g}", "J", "heat in the windings and bridges")
        )
        cards.append(
            Card("Mechanical work", f"{motion.mechanical_work:.4g}", "J", "of the electric motors, net")
        )
    if motion.valves:
        cards.append(
            Card(
                "Hydraulic energy",
                f"{motion.hydraulic_energy:.4g}",
                "J",
                "that valves take from their supply",
            )
        )
    reached = [use for use in motion.limits if use.active > 0.0]
    best = max(reached, key=lambda use: use.gain * abs(use.value), default=None)
    if best is not None and best.gain > 0.0:
        remark = (
            f"{limit_gain(best)} {motion.objective_unit} per {unit_word(best)}: the limit that costs most"
        )
        cards.append(Card(f"Bottleneck: {limit_name(best)}", best.who, "", remark, "warn"))
    page.cards(cards)


def _ends(motion: OptimalMotion) -> str:
    """Whether a motion begins and ends at rest, in words."""
    rests = [bool(np.abs(motion.qd[k]).max() < STANDING) for k in (0, -1)]
    if all(rests):
        return "from rest to rest"
    return f"from {'rest' if rests[0] else 'a free speed'} to {'rest' if rests[1] else 'a free speed'}"


def _importance(use: LimitUse) -> tuple[bool, float]:
    """Order of limits: those that are reached by what they cost, then the others by how near the motion comes."""
    reached = is_reached(use)
    return not reached, -use.gain * abs(use.value) if reached else -use.peak


def _limits(page: Page, motion: OptimalMotion) -> None:
    unit = motion.objective_unit
    columns = (
        "limit",
        "of",
        "value",
        "largest share",
        "time at it",
        f"one more unit saves [{unit}]",
        f"1 % more saves [{unit}]",
    )
    rows: list[list[str | Cell]] = []
    for use in sorted(motion.limits, key=_importance):
        reached = is_reached(use)
        percent = "" if use.what in ("temperature", "range") else f"{0.01 * use.gain * use.value:.3g}"
        gains = [limit_gain(use), percent] if reached else ["", ""]
        share = Cell(f"{100.0 * use.peak:.1f} %", "warn" if reached else "")
        time_at = f"{100.0 * use.active:.0f} %" if reached else ""
        rows.append([limit_name(use), use.who, limit_value(use), share, time_at, *gains])
    page.table(columns, rows, text_columns=2)


def limit_bars(motion: OptimalMotion) -> go.Figure:
    """For every limit that is reached, when it is."""
    names = sorted({name for active in motion.active for name in active})
    figure = go.Figure(layout=layout(max(120, 60 + 28 * len(names)), showlegend=False))
    figure.update_layout(
        xaxis=axis("time [s]", range=[0.0, motion.duration]),
        yaxis=axis("", tickvals=list(range(len(names))), ticktext=names, range=[-0.6, len(names) - 0.4]),
        margin={"l": 150},
    )
    shown = {f"{use.what} {use.who}": f"{limit_name(use)} {use.who}" for use in motion.limits}
    figure.update_yaxes(ticktext=[shown.get(name, name) for name in names])
    half = np.concatenate([[motion.t[0]], 0.5 * (motion.t[1:] + motion.t[:-1]), [motion.t[-1]]])
    for k, name in enumerate(names):
        x: list[float | None] = []
        at = np.array([name in active for active in motion.active])
        edges = np.flatnonzero(np.diff(np.concatenate([[False], at, [False]]).astype(int)))
        for first, last in zip(edges[::2], edges[1::2], strict=True):  # neighbours make one bar
            x += [float(half[first]), float(half[last]), None]
        style = {"color": COLOURS[k % len(COLOURS)], "width": 12}
        figure.add_trace(
            go.Scatter(x=x, y=[k if v is not None else None for v in x], mode="lines", line=style, name=name)
        )
    return figure


def _lines(
    title: str, motion: OptimalMotion, names: tuple[str, ...], values: Array, unit: str, height: int = HEIGHT
) -> go.Figure:
    figure = go.Figure(
        layout=layout(height, xaxis=axis("time [s]"), yaxis=axis(f"{title} [{unit}]" if unit else title))
    )
    for k, name in enumerate(names):
        style = {"color": COLOURS[k % len(COLOURS)], "width": 2}
        hover = f"%{{y:.4g}} {unit}"
        figure.add_trace(
            go.Scatter(x=motion.t, y=values[:, k], name=name, mode="lines", line=style, hovertemplate=hover)
        )
    return figure


def joint_figure(motion: OptimalMotion, kind: str) -> go.Figure:
    """Positions, speeds or accelerations of the joints as parts of their largest size, which the legend states."""
    values = {"position": motion.q, "speed": motion.qd, "acceleration": motion.qdd}[kind]
    per = {"position": "", "speed": "/s", "acceleration": "/s2"}[kind]
    shown, names = np.empty_like(values), []
    for k, (name, unit) in enumerate(zip(motion.joint_names, motion.joint_units, strict=True)):
        of = joint_units(unit)
        shown[:, k] = of.factor * values[:, k]
        most = float(np.abs(shown[:, k]).max())
        shown[:, k] /= max(most, 1e-300)
        names.append(f"{name}: {most:.4g} {of.shown}{per}")
    height = HEIGHT - 60 + LEGEND_ROW * len(names)  # long names stand below each other in the legend
    return _lines(f"{kind} / largest", motion, tuple(names), shown, "", height)


def _values(motion: OptimalMotion, what: str) -> dict[str, LimitUse]:
    return {use.who: use for use in motion.limits if use.what == what}


def share_figure(motion: OptimalMotion, what: str) -> go.Figure:
    """Currents or voltages as parts of their limits."""
    signals: dict[str, Any] = {"current": motion.current, "voltage": motion.voltage}
    uses = _values(motion, what)
    names = tuple(name for name in motion.motor_names if name in uses)
    columns = [signals[what][:, motion.motor_names.index(name)] / uses[name].value for name in names]
    labels = tuple(f"{name}: {uses[name].value:.4g} {uses[name].unit}" for name in names)
    shown = np.stack(columns, axis=1) if columns else np.zeros((motion.t.size, 0))
    figure = _lines(f"{what} / limit", motion, labels, shown, "")
    return _with_edges(figure, (-1.0, 1.0))


def winding_figure(motion: OptimalMotion) -> go.Figure:
    """Temperatures of the windings over the repeated motion."""
    known = [k for k in range(len(motion.motor_names)) if np.isfinite(motion.winding[:, k]).all()]
    names = tuple(motion.motor_names[k] for k in known)
    figure = _lines("winding", motion, names, motion.winding[:, known], "degC")
    return _with_edges(figure, {use.value for use in _values(motion, "temperature").values()})


def power_figure(motion: OptimalMotion) -> go.Figure:
    """Power that all electric motors take from the bus."""
    figure = _lines("power", motion, ("bus",), motion.bus_power[:, None], "W")
    figure.update_layout(showlegend=False)
    taken, fed_back = (_values(motion, what).get("bus") for what in ("bus power", "regeneration"))
    edges = [sign * use.value for sign, use in ((1.0, taken), (-1.0, fed_back)) if use is not None]
    return _with_edges(figure, edges)


def _with_edges(figure: go.Figure, edges: Iterable[float]) -> go.Figure:
    """The figure with limits as dashed lines."""
    for edge in edges:
        figure.add_hline(y=edge, line={"color": SOFT, "width": 1.2, "dash": "dash"})
    return figure
