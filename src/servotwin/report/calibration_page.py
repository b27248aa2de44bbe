"""The page of a calibration, and its data as JSON, CSV and robot file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from servotwin.description.display import MM
from servotwin.design.calibration.calibrated_file import calibrated_text
from servotwin.design.calibration.calibration_result import Calibration, summary
from servotwin.design.calibration.validation import Errors
from servotwin.report.files import write_bytes, write_json, write_page
from servotwin.report.page import Card, Cell, Figure, Page
from servotwin.simulation.results.folder import CALIBRATION_FILES, replaced_folder
from servotwin.version import __version__

SHOWN = {
    "m": (1e3, "mm"),
    "rad": (1e3, "mrad"),
    "": (1e6, "ppm"),
    "rad/(N*m)": (1e6, "urad/(N m)"),
    "m/N": (1e6, "um/N"),
}


def write_calibration(found: Calibration, folder: str | Path, *, overwrite: bool = False) -> dict[str, str]:
    """Write ``calibration.html``, ``calibration.json``, ``residuals.csv`` and ``calibrated-robot.yaml``."""
    text = calibrated_text(found)
    with replaced_folder(folder, CALIBRATION_FILES, overwrite=overwrite) as place:
        write_json(place / "calibration.json", summary(found))
        write_bytes(place / "residuals.csv", residuals_csv(found).encode())
        if text is not None:
            write_bytes(place / "calibrated-robot.yaml", text.encode())
        write_page(place / "calibration.html", calibration_page(found))
    at = Path(folder)
    written = {
        "report": str(at / "calibration.html"),
        "data": str(at / "calibration.json"),
        "residuals": str(at / "residuals.csv"),
    }
    return written if text is None else {**written, "robot": str(at / "calibrated-robot.yaml")}


def residuals_csv(found: Calibration) -> str:
    """One row for each measured pose or distance."""
    rows = ["set,before_m,after_m"]
    for name, errors in (("fitted", found.fitted), ("held out", found.held_out)):
        if name == "held out" and not len(found.held_out_units):
            continue
        rows += [f"{name},{a:.9g},{b:.9g}" for a, b in zip(errors.before, errors.after, strict=True)]
    return "\n".join(rows) + "\n"


def calibration_page(found: Calibration) -> str:
    """The page as HTML."""
    held = len(found.held_out_units) > 0
    errors = found.held_out if held else found.fitted
    rms = Errors.rms
    page = Page(
        f"{found.robot.name}: calibration",
        f"{len(found.found)} parameters from {found.measured.units} measured {found.measured.words}, of which "
        f"{len(found.held_out_units)} were held out.",
    )
    what = "held out" if held else "fitted"
    worst = MM * float(errors.after.max(initial=0.0))
    page.cards(
        [
            Card("error before", f"{MM * rms(errors.before):.4g}", "mm", f"root mean square, {what}"),
            Card("error after", f"{MM * rms(errors.after):.4g}", "mm", f"worst {worst:.4g} mm"),
            Card("over the bound", f"{found.ratio:.3g}" if held else "-", "", "error held out over its prediction"),
            Card("noise", f"{found.estimate.factor:.3g}", "", "residuals over the assumed noise"
                 if not found.noise.stated else "stated"),
        ]
    )  # fmt: skip
    for note in found.notes:
        page.warning(note)
    page.figures(
        [
            Figure(
                histogram(found), "Errors before and after", f"Distances of measured from predicted, {what}."
            ),
            Figure(
                sigma_figure(found),
                "Parameters",
                "Values with two standard deviations, in units of what is usual.",
            ),
        ],
        columns=2,
    )
    page.section(
        "Parameters", "Deviations from the drawing with their standard deviations (Cramer-Rao bound)."
    )
    page.table(
        ("parameter", "value", "sigma", "unit"),
        [_row(p.name, p.value, p.sigma, p.unit, p.typical) for p in found.found],
    )
    if found.not_identified:
        page.section(
            "Not identified by themselves",
            "What is measured does not tell these from others; the estimate has their effect in those named.",
        )
        page.table(("parameter", "what does the same"), list(found.not_identified.items()), text_columns=2)
    return page.html(f"servotwin {__version__}")


def _row(name: str, value: float, sigma: float, unit: str, typical: float) -> tuple[str | Cell, ...]:
    factor, shown = SHOWN[unit]
    mark = "warn" if sigma > typical else ("strong" if abs(value) > 2.0 * sigma else "")
    return name, Cell(f"{factor * value:.5f}", mark), f"{factor * sigma:.5f}", shown


def histogram(found: Calibration) -> Any:
    """Errors before and after calibration."""
    import plotly.graph_objects as go

    errors = found.held_out if len(found.held_out_units) else found.fitted
    figure = go.Figure()
    for name, values in (("before", errors.before), ("after", errors.after)):
        low, high = max(float(values.min(initial=1.0)), 1e-8), max(float(values.max(initial=0.0)), 1e-7)
        edges = np.geomspace(0.8 * low, 1.2 * high, 16)
        counts, _ = np.histogram(values, edges)
        centre = np.sqrt(edges[:-1] * edges[1:])
        figure.add_bar(x=MM * centre, y=counts, width=MM * np.diff(edges), name=name, opacity=0.75)
    figure.update_xaxes(type="log", title="error [mm]")
    figure.update_yaxes(title="poses")
    figure.update_layout(
        template="plotly_white", height=380, bargap=0, margin={"l": 50, "r": 10, "t": 10, "b": 45}
    )
    return figure


def sigma_figure(found: Calibration) -> Any:
    """Values with two standard deviations over what is usual."""
    import plotly.graph_objects as go

    names = [p.name for p in found.found]
    value = [p.value / p.typical for p in found.found]
    sigma = [2.0 * p.sigma / p.typical for p in found.found]
    figure = go.Figure(
        go.Scatter(x=value, y=names, mode="markers", error_x={"type": "data", "array": sigma}, name="value")
    )
    figure.update_xaxes(title="value over what is usual")
    figure.update_yaxes(autorange="reversed")
    figure.update_layout(
        template="plotly_white",
        height=max(380, 16 * len(names) + 80),
        margin={"l": 10, "r": 10, "t": 10, "b": 45},
    )
    return figure
