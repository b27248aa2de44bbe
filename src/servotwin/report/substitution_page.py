"""The page of a substitution run: rates of the pure and of the substituted arm, their difference, noise, the link.

Figures 5 to 8 of the paper are the first ones: joint rates, simulated alone and with a joint on the rig.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from servotwin.hil.result import SubstitutionResult, SubstitutionRun, spectrum, steady_part
from servotwin.mechanism.model import Array
from servotwin.report.files import write_json, write_page, write_parquet
from servotwin.report.page import Card, Cell, Figure, Page
from servotwin.report.page_style import INK, axis, layout
from servotwin.report.traces import DOTTED, colour, line
from servotwin.simulation.results.folder import LINK, PAGE, RUN_FILES, SIGNALS, SUMMARY, replaced_folder
from servotwin.version import __version__

MILLI = 1e3
MOST_JOINTS = 8  # that get figures of their own
SHORT = 16  # samples below which there is no spectrum
PURE, SUBSTITUTED = "pure", "substituted"


class SubstitutionFiles(NamedTuple):
    """Where the parts of a result are."""

    page: Path | None
    summary: Path
    signals: Path


class Histogram(NamedTuple):
    """Counts of a time between edges [us], and its percentiles by name [us]."""

    name: str
    edges: Array  # (k + 1,)
    counts: Array  # (k,)
    percentiles: Mapping[str, float]


def write_substitution(
    result: SubstitutionResult,
    folder: str | Path,
    *,
    report: bool = True,
    overwrite: bool = False,
    link: Mapping[str, Any] | None = None,
    histograms: Sequence[Histogram] = (),
    link_numbers: Mapping[str, Any] | None = None,
) -> SubstitutionFiles:
    """Write ``report.html``, ``summary.json`` and ``signals.parquet``; ``overwrite`` as in ``write_result``.

    A run with a link also has ``link.parquet``, a row for each of its cycles.

    ``link``: counts and settings of a link by name, for the page; ``link_numbers``: the same for the summary;
    ``histograms``: times of a real-time run.
    """
    numbers = link_numbers or link
    summary = result.summary() | ({"link": dict(numbers)} if numbers else {})
    with replaced_folder(folder, RUN_FILES, overwrite=overwrite) as place:
        write_json(place / SUMMARY, _finite(summary))
        write_parquet(place / SIGNALS, result.columns())
        if result.link is not None:
            write_parquet(place / LINK, result.link.columns())
        if report:
            write_page(place / PAGE, substitution_page(result, link=link, histograms=histograms))
    where = Path(folder)
    return SubstitutionFiles(where / PAGE if report else None, where / SUMMARY, where / SIGNALS)


def _finite(value: Any) -> Any:
    """The same with None for numbers that are not finite, which JSON does not have."""
    if isinstance(value, Mapping):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def substitution_page(
    result: SubstitutionResult,
    *,
    link: Mapping[str, Any] | None = None,
    histograms: Sequence[Histogram] = (),
) -> str:
    """The page as HTML."""
    scenario = result.scenario
    names = ", ".join(scenario.substituted) or "none"
    rates = scenario.file.rates
    page = Page(
        scenario.file.title or scenario.name,
        f"Robot {scenario.robot}; substituted: {names}; servo {rates.servo:g} Hz, arm {rates.arm or rates.servo:g} Hz.",
    )
    _overview(page, result)
    for text in result.run.warnings:
        page.warning(text)
    if not result.complete:
        page.warning(f"The run ended early, at {result.run.time[-1]:.4g} s.")
    _rates(page, result)
    if scenario.substituted:
        _shafts(page, result)
        _noise(page, result)
    if link:
        page.section("Link", "What the link to the rig counted.")
        page.table(
            ("quantity", "value"), [[str(name), _text(value)] for name, value in link.items()], text_columns=1
        )
    if histograms:
        _histograms(page, histograms)
    return page.html(f"ServoTwin {__version__}. The numbers of this page are in {SUMMARY} and {SIGNALS}.")


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _overview(page: Page, result: SubstitutionResult) -> None:
    cards = [Card("Duration", f"{result.run.time[-1]:.4g}", "s", f"{len(result.run.time)} servo instants")]
    for gap in list(result.differences.values())[:MOST_JOINTS]:
        remark = f"at {gap.at:.3g} s; RMS {MILLI * gap.rms:.3g} m{gap.unit}"
        cards.append(
            Card(f"Largest difference, {gap.joint}", f"{MILLI * gap.largest:.3g}", f"m{gap.unit}", remark)
        )
    if not result.differences:
        for name in result.run.arm_joints[:MOST_JOINTS]:
            rate = result.run.joint(name, "qd")[-1]
            cards.append(Card(f"Final rate, {name}", f"{rate:.5g}", result.run.unit(name, "qd"), ""))
    page.cards(cards)


def _runs(result: SubstitutionResult) -> list[tuple[str, SubstitutionRun, dict[str, Any]]]:
    if result.pure is None:
        return [(PURE if not result.scenario.substituted else SUBSTITUTED, result.run, {})]
    return [(PURE, result.pure, {"color": INK, **DOTTED}), (SUBSTITUTED, result.run, {})]


def rate_figure(result: SubstitutionResult, joint: str, number: int) -> go.Figure:
    """Rate of one joint, pure and substituted over each other."""
    unit = result.run.unit(joint, "qd")
    figure = go.Figure(layout=layout(300, xaxis=axis("time [s]"), yaxis=axis(f"{joint} rate [{unit}]")))
    for name, run, style in reversed(_runs(result)):
        figure.add_trace(line(run.time, run.joint(joint, "qd"), name, colour(number), line=style))
    return figure


def difference_figure(result: SubstitutionResult) -> go.Figure:
    """Substituted less pure rate of every joint."""
    figure = go.Figure(
        layout=layout(300, xaxis=axis("time [s]"), yaxis=axis("substituted less pure rate [m(rad/s)]"))
    )
    if result.pure is not None:
        for k, name in enumerate(result.run.arm_joints[:MOST_JOINTS]):
            gap = result.rate_gap(name)
            figure.add_trace(line(result.run.time[: len(gap)], MILLI * gap, name, colour(k)))
    return figure


def _rates(page: Page, result: SubstitutionResult) -> None:
    said = "The same arm with all joints simulated, and with joints on the rig."
    page.section("Joint rates", said if result.pure is not None else "All joints over time.")
    shown = result.run.arm_joints[:MOST_JOINTS]
    page.figures([Figure(rate_figure(result, name, k), name) for k, name in enumerate(shown)], columns=2)
    if len(result.run.arm_joints) > MOST_JOINTS:
        page.note(f"The other joints are in {SIGNALS}.")
    if result.pure is not None:
        page.section("Difference", "Rates of the substituted arm less those of the pure one.")
        page.figures([Figure(difference_figure(result), "Difference of the rates")])
        rows: list[list[str | Cell]] = [
            [gap.joint, f"{gap.largest:.3g}", f"{gap.at:.3g}", f"{gap.rms:.3g}"]
            for gap in result.differences.values()
        ]
        page.table(("joint", "largest [rad/s, m/s]", "at [s]", "RMS"), rows)


def _shafts(page: Page, result: SubstitutionResult) -> None:
    page.section(
        "Shafts",
        "Torques at the shafts of the rig, and what each feels of the arm: effective inertia and bias.",
    )
    figures = []
    for k, name in enumerate(result.scenario.substituted):
        run = result.run
        torques = go.Figure(layout=layout(300, xaxis=axis("time [s]"), yaxis=axis("torque [mN m]")))
        for signal, shown in (("drive_torque", "drive motor"), ("load_torque", "load motor")):
            style = {} if signal == "drive_torque" else DOTTED
            torques.add_trace(line(run.time, MILLI * run.joint(name, signal), shown, colour(k), line=style))
        figures.append(Figure(torques, f"{name}: torques at the shaft"))
        figures.append(Figure(felt_figure(run, name, k), f"{name}: what it feels of the arm"))
    page.figures(figures, columns=2)


def felt_figure(run: SubstitutionRun, joint: str, number: int) -> go.Figure:
    """Effective inertia and bias at a joint, each with an axis of its own."""
    units = {signal: run.unit(joint, signal) for signal in ("effective_inertia", "bias")}
    right = axis(f"b [{units['bias']}]", overlaying="y", side="right", showgrid=False)
    shape = layout(300, yaxis=axis(f"J_eff [{units['effective_inertia']}]"), yaxis2=right)
    figure = go.Figure(layout=shape | {"margin": shape["margin"] | {"r": 64}})
    figure.add_trace(line(run.time, run.joint(joint, "effective_inertia"), "J_eff", colour(number)))
    bias = line(run.time, run.joint(joint, "bias"), "b (right)", INK, line=DOTTED)
    figure.add_trace(bias.update(yaxis="y2"))
    return figure


def spectrum_figure(result: SubstitutionResult, signal: str, unit: str) -> go.Figure:
    """Amplitude density of a signal of every joint over the part of the run in which its commands are constant."""
    figure = go.Figure(
        layout=layout(320, xaxis=axis("frequency [Hz]"), yaxis=axis(f"density [{unit}/sqrt(Hz)]", type="log"))
    )
    late = steady_part(result.run)
    for k, name in enumerate(result.run.arm_joints[:MOST_JOINTS]):
        frequency, density = spectrum(result.run.time[late], result.run.joint(name, signal)[late])
        figure.add_trace(line(frequency[1:], np.maximum(density[1:], 1e-15), name, colour(k)))
    return figure


def _noise(page: Page, result: SubstitutionResult) -> None:
    shown = result.run.time[steady_part(result.run)]
    if len(shown) < SHORT:
        return
    page.section(
        "Noise",
        f"Spectra from {shown[0]:.4g} to {shown[-1]:.4g} s, the later half of the longest stretch of one command. "
        "What joints on the rig do shows in those that are simulated.",
    )
    figures = [
        Figure(spectrum_figure(result, "qd", "(rad/s)"), "Spectrum of the joint rates"),
        Figure(spectrum_figure(result, "qdd", "(rad/s2)"), "Spectrum of the joint accelerations"),
    ]
    page.figures(figures, columns=2)


def _histograms(page: Page, histograms: Sequence[Histogram]) -> None:
    page.section("Real time", "Compute time of a cycle and wake-up behind its deadline are two figures.")
    figures = []
    for k, found in enumerate(histograms):
        figure = go.Figure(
            layout=layout(
                300, xaxis=axis("time [us]", type="log"), yaxis=axis("cycles", type="log"), bargap=0
            )
        )
        middle = 0.5 * (found.edges[1:] + found.edges[:-1])
        figure.add_trace(
            go.Bar(
                x=middle,
                y=found.counts,
                width=np.diff(found.edges),
                marker={"color": colour(k)},
                name=found.name,
            )
        )
        figures.append(Figure(figure, found.name))
    page.figures(figures, columns=2)
    names = list(histograms[0].percentiles)
    rows: list[list[str | Cell]] = [
        [found.name, *(f"{found.percentiles.get(name, float('nan')):.3g}" for name in names)]
        for found in histograms
    ]
    page.table(("time [us]", *names), rows)
