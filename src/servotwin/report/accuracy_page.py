"""The page of a prediction after ISO 9283, and its data as JSON and CSV."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from servotwin.description.display import MM, UM
from servotwin.design.accuracy.budget import ErrorBudget
from servotwin.design.accuracy.pose_test import PoseResult
from servotwin.design.accuracy.predict import Accuracy
from servotwin.design.accuracy.tolerances import Tolerances
from servotwin.report.accuracy_figures import (
    clouds_figure,
    drift_figure,
    path_figure,
    poses_figure,
    signed_root,
    tolerances_figure,
    tornado,
)
from servotwin.report.files import write_bytes, write_json, write_page
from servotwin.report.page import Card, Figure, Page
from servotwin.simulation.results.folder import ACCURACY_FILES, replaced_folder
from servotwin.version import __version__

PERCENT = 100.0
URAD = 1e6  # microradians in one rad
HOURS = 1.0 / 3600.0
MOST_PAIRS = 4  # of sources that are named


def write_accuracy(found: Accuracy, folder: str | Path, *, overwrite: bool = False) -> dict[str, str]:
    """Write ``accuracy.html``, ``accuracy.json``, ``accuracy.csv`` and ``attained.csv``."""
    with replaced_folder(folder, ACCURACY_FILES, overwrite=overwrite) as place:
        write_json(place / "accuracy.json", found.data())
        write_bytes(place / "accuracy.csv", table_csv(found).encode())
        write_bytes(place / "attained.csv", attained_csv(found).encode())
        write_page(place / "accuracy.html", accuracy_page(found))
    at = Path(folder)
    return {
        "report": str(at / "accuracy.html"), "data": str(at / "accuracy.json"), "table": str(at / "accuracy.csv"),
        "attained": str(at / "attained.csv"),
    }  # fmt: skip


def table_csv(found: Accuracy) -> str:
    """One row for each pose and speed."""
    rows = [
        "speed,pose,x_m,y_m,z_m,AP_m,AP_x_m,AP_y_m,AP_z_m,RP_m,AP_a_rad,AP_b_rad,AP_c_rad,RP_a_rad,RP_b_rad,RP_c_rad"
    ]
    for result in found.pose:
        for row in result.data()["poses"]:
            numbers = (
                *row["commanded_m"], row["AP_m"], *row["AP_xyz_m"], row["RP_m"], *row["AP_abc_rad"], *row["RP_abc_rad"]
            )  # fmt: skip
            rows.append(",".join([f"{result.speed:g}", _cell(row["name"]), *(f"{v:.9g}" for v in numbers)]))
    return "\n".join(rows) + "\n"


def attained_csv(found: Accuracy) -> str:
    """One row for each attained pose: position and the turn from the commanded orientation."""
    from servotwin.design.accuracy.iso9283 import rotation_vectors

    rows = ["speed,pose,cycle,x_m,y_m,z_m,turn_x_rad,turn_y_rad,turn_z_rad"]
    for result in found.pose:
        for k, name in enumerate(result.poses.names):
            X = result.attained[:, k]
            turns = rotation_vectors(X[:, :3, :3] @ result.poses.poses[k, :3, :3].T)
            for j, (p, turn) in enumerate(zip(X[:, :3, 3], turns, strict=True), 1):
                numbers = ",".join(f"{v:.12g}" for v in (*p, *turn))
                rows.append(f"{result.speed:g},{_cell(name)},{j},{numbers}")
    return "\n".join(rows) + "\n"


def _cell(text: str) -> str:
    """A cell of a CSV file, which no spreadsheet takes for a formula."""
    safe = "'" + text if text[:1] in "=+-@\t\r" else text
    return '"' + safe.replace('"', '""') + '"'


def accuracy_page(found: Accuracy) -> str:
    """The page as HTML."""
    speeds = ", ".join(f"{PERCENT * result.speed:g} %" for result in found.pose) or "100 %"
    page = Page(
        f"{found.description.name}: accuracy after ISO 9283",
        f"Predicted on the drive-level simulator with a payload of {found.payload:g} kg "
        f"at {speeds} of the speed limits{', with the mean voltage of the PWM' if found.pwm == 'averaged' else ''}. "
        f"Robot {found.trial} of the series"
        + (" (geometry as drawn on paper)" if found.trial == 0 else ", drawn from the tolerances of its file")
        + f". Sources that act: {', '.join(name.replace('_', ' ') for name in found.sources)}.",
    )
    page.cards(_cards(found))
    for note in found.notes:
        page.note(note)
    _pose_sections(page, found)
    _other_sections(page, found)
    if found.budget is not None:
        _budget_section(page, found.budget)
    if found.tolerances is not None:
        _tolerance_section(page, found.tolerances)
    return page.html(
        f"ServoTwin {__version__}. A prediction after ISO 9283, not a measurement conforming to it. Numbers are in "
        "accuracy.json, tables in accuracy.csv, every attained pose in attained.csv."
    )


def _cards(found: Accuracy) -> list[Card]:
    cards = []
    if found.pose:
        first = found.pose[0]
        worst = int(np.argmax(first.repeatability))
        cards.append(Card("AP, worst pose", f"{MM * first.accuracy.max():.3f}", "mm", "pose accuracy"))
        cards.append(
            Card("RP, worst pose", f"{MM * first.repeatability[worst]:.4f}", "mm",
                 f"pose repeatability, at {first.poses.names[worst]}")
        )  # fmt: skip
        if first.settled:
            mean = np.mean([t for t, _ in first.settled])
            cards.append(Card("Stabilisation", f"{mean:.3f}", "s", f"band {MM * first.band:g} mm"))
            cards.append(Card("Overshoot", f"{MM * max(o for _, o in first.settled):.4f}", "mm", "at P1"))
    if found.path:
        cards.append(Card("AT", f"{MM * found.path[0].path.accuracy:.3f}", "mm", "path accuracy"))
    if found.drift is not None:
        cards.append(Card("dAP", f"{MM * found.drift['dAP_m']:.4f}", "mm", "drift from cold"))
    return cards


def _pose_sections(page: Page, found: Accuracy) -> None:
    if not found.pose:
        return
    page.section("Poses", _cube_words(found))
    page.figures([Figure(poses_figure(found), "Accuracy AP and repeatability RP")])
    for result in found.pose:
        page.section(
            f"{PERCENT * result.speed:g} % speed, {len(result.attained)} cycles", _distance_words(result)
        )
        page.table(
            [
                "pose", "x [mm]", "y [mm]", "z [mm]", "AP [um]", "AP x", "AP y", "AP z", "RP [um]", "AP a [urad]", "b",
                "c", "RP a [urad]", "b", "c",
            ],
            [_pose_row(result, k) for k in range(len(result.poses.names))],
        )  # fmt: skip
        page.figures(
            [
                Figure(
                    clouds_figure(result), "Attained positions about their mean",
                    "Above: from the top; below: from the front. Dotted: the sphere of RP.",
                )
            ]
        )  # fmt: skip


def _cube_words(found: Accuracy) -> str:
    cube = found.poses.cube
    if cube is None:
        return f"{len(found.poses.names)} poses of a file."
    at = ", ".join(f"{MM * v:.1f}" for v in cube.center)
    turned = ", turned about z of the base with the azimuth of each pose" if found.poses.turned else ""
    return (
        f"{len(found.poses.names)} poses in a cube of {MM * cube.edge:.1f} mm about ({at}) mm "
        f"with the orientation of the home pose{turned}. a, b, c are turns about x, y, z of the base."
    )


def _distance_words(result: PoseResult) -> str:
    words = []
    if result.distance is not None:
        AD, RD = result.distance
        words.append(f"Distance P2 to P4: AD {UM * AD:.3g} um, RD +-{UM * RD:.3g} um.")
    if result.settled:
        t = np.mean([t for t, _ in result.settled])
        words.append(
            f"At P1: stabilisation time {t:.4g} s for a band of {MM * result.band:g} mm, overshoot "
            f"{UM * max(o for _, o in result.settled):.3g} um."
        )
    return " ".join(words)


def _pose_row(result: PoseResult, k: int) -> list[str]:
    p = MM * result.poses.poses[k, :3, 3]
    return [
        result.poses.names[k],
        *(f"{v:.1f}" for v in p),
        f"{UM * result.accuracy[k]:.2f}",
        *(f"{UM * v:.2f}" for v in result.accuracy_components[k]),
        f"{UM * result.repeatability[k]:.2f}",
        *(f"{URAD * v:.1f}" for v in result.orientation_accuracy[k]),
        *(f"{URAD * v:.1f}" for v in result.orientation_repeatability[k]),
    ]


def _other_sections(page: Page, found: Accuracy) -> None:
    if found.directions:
        page.section(
            "Approach from several directions", "vAP: largest distance between the means of three approaches."
        )
        page.table(
            ["pose", "vAP [um]", "vAP [urad]"],
            [
                [row["name"], f"{UM * row['vAP_m']:.2f}", f"{URAD * row['vAP_rad']:.1f}"]
                for row in found.directions
            ],
        )
    if found.drift is not None:
        page.section(
            "Drift",
            f"dAP {UM * found.drift['dAP_m']:.3g} um, dRP {UM * found.drift['dRP_m']:.3g} um from cold.",
        )
        page.figures([Figure(drift_figure(found.drift), "AP and RP while the robot warms up")])
    for result in found.path:
        page.section(
            f"Straight path at {PERCENT * result.speed:g} %",
            f"From P2 to P4, commanded {result.commanded_speed:.4g} m/s: AT {UM * result.path.accuracy:.4g} um, RT "
            f"{UM * result.path.repeatability:.3g} um, AV {PERCENT * result.velocity.accuracy:.3g} %, RV "
            f"{PERCENT * result.velocity.repeatability:.3g} %, FV {result.velocity.fluctuation:.3g} m/s.",
        )
        page.figures([Figure(path_figure(result), "Deviation from the commanded path")])
    if found.corner is not None:
        c = found.corner
        page.section(
            "Corner",
            f"Straight from P2 over P3 to P4 with a blend of {MM * c['blend_m']:g} mm: "
            f"round-off CR {MM * c['CR_m']:.3f} mm "
            f"(commanded {MM * c['commanded_CR_m']:.3f} mm), overshoot CO {MM * c['CO_m']:.4f} mm.",
        )
    if found.posing_time:
        page.section(
            "Posing time", f"Until the tool stays within {MM * found.settings.band:g} mm, from P1 towards P2."
        )
        page.table(
            ["distance [mm]", "time [s]", "of the command alone [s]"],
            [
                [f"{MM * row['distance_m']:g}", f"{row['time_s']:.3f}", f"{row['commanded_s']:.3f}"]
                for row in found.posing_time
            ],
            text_columns=0,
        )
    if found.compliance:
        page.section(
            "Static compliance", f"Under a force of {found.settings.force:g} N at P1, the controller on."
        )
        page.table(
            ["direction", "x [um/N]", "y [um/N]", "z [um/N]"],
            [[row["direction"], *(f"{UM * v:.4f}" for v in row["m_per_N"])] for row in found.compliance],
        )


def _beside(budget: ErrorBudget) -> str:
    """How the budget compares with a run of its own."""
    if budget.together is None or budget.sampling is None or budget.independent_mean_closure is None:
        return ""
    total, other = float(np.trace(budget.covariance)), float(np.trace(budget.together.covariance))
    rms = np.sqrt(max(other, 0.0))
    off = PERCENT * (total / other - 1.0) if other > 0.0 else 0.0
    return (
        f" A run of its own with all sources at once and other seeds has ({UM * rms:.3g} um)^2: the sum is "
        f"{off:+.1f} % off, where {budget.cycles} cycles let one expect +-{PERCENT * budget.sampling:.1f} %; its mean "
        f"errors differ by {PERCENT * budget.independent_mean_closure:.2g} %."
    )


def _budget_section(page: Page, budget: ErrorBudget) -> None:
    _spread_budget(page, budget)
    _mean_budget(page, budget)


def _spread_budget(page: Page, budget: ErrorBudget) -> None:
    total = float(np.trace(budget.covariance))
    groups = ", ".join(f"{name} {_share(value, total)} %" for name, value in budget.groups.items())
    page.section(
        "Error budget: spread (repeatability)",
        f"Covariances of the sources add up to that of the attained positions, ({UM * signed_root(total):.3g} um)^2; "
        f"standard deviations and RP do not add. By groups: {groups}, loops alone "
        f"{_share(budget.rest.variance, total)} %.{_beside(budget)} Whiskers: two standard errors by the cycles; pale "
        "bars are within them. A negative share takes spread away, as friction does that damps. Gear sources "
        "build on each other: friction, torsion, hysteresis, play.",
    )
    page.figures([Figure(tornado(budget), "Spread: shares of the variance")])
    page.table(
        ["source", "variance [um2]", "+- [um2]", "as a deviation [um]", "share [%]", "xx [um2]", "yy", "zz"],
        [
            [
                row.name.replace("_", " "), f"{UM**2 * row.variance:.4g}", f"{UM**2 * row.error:.2g}",
                f"{UM * signed_root(row.variance):.3g}", _share(row.variance, total),
                *(f"{UM**2 * v:.3g}" for v in np.diag(row.covariance)),
            ]
            for row in budget.rows
        ]
        + [["all together", f"{UM**2 * total:.4g}", f"{UM**2 * budget.whole.error:.2g}",
            f"{UM * signed_root(total):.3g}", "100.0",
            *(f"{UM**2 * v:.3g}" for v in np.diag(budget.covariance))]],
    )  # fmt: skip


def _mean_budget(page: Page, budget: ErrorBudget) -> None:
    square = float(np.trace(budget.mean_square))
    size = np.sqrt(max(square, 0.0))
    page.section(
        "Error budget: mean error (accuracy)",
        f"Mean errors of the poses are vectors: what the sources contribute along the whole error adds up to its size, "
        f"{UM * size:.4g} um (root mean square over the poses). Marks: the size of a contribution by itself; where "
        f"it is much longer than its bar, it acts across the whole error, or against others.{_pair_words(budget)}",
    )
    page.figures([Figure(tornado(budget, accuracy=True), "Mean error: contributions along the whole error")])
    ranked = sorted(budget.rows, key=lambda row: -abs(row.along))
    page.table(
        ["source", "size [um]", "along the whole error [um]", "share [%]"],
        [
            [row.name.replace("_", " "), f"{UM * row.size:.4g}", f"{UM * row.along:.4g}", _share(row.along, size)]
            for row in ranked
        ]
        + [["all together", f"{UM * size:.4g}", f"{UM * size:.4g}", "100.0"]],
    )  # fmt: skip


def _pair_words(budget: ErrorBudget) -> str:
    """The pairs of sources that work against each other, in words."""
    against = [
        f"{one.replace('_', ' ')} and {two.replace('_', ' ')} ({PERCENT * part:.0f} %)"
        for one, two, part in budget.pairs
        if part < 0.0
    ]
    if not against:
        return ""
    return f" Against each other work {', '.join(against[:MOST_PAIRS])} of the mean square error."


def _share(value: float, total: float) -> str:
    text = f"{PERCENT * value / total:.1f}" if total > 0.0 else "-"
    return "0.0" if text == "-0.0" else text


def _tolerance_section(page: Page, drawn: Tolerances) -> None:
    worst = drawn.percentiles(drawn.worst_accuracy)
    page.section(
        "Robots of a series",
        f"{len(drawn.accuracy)} robots drawn from the tolerances of the geometry. "
        "AP at the worst pose: half of them below "
        f"{UM * worst['p50']:.4g} um, 95 % below {UM * worst['p95']:.4g} um.",
    )
    page.figures([Figure(tolerances_figure(drawn), "AP over the robots of a series")])
    page.table(
        ["pose", "AP 5 % [um]", "50 %", "95 %", "RP 50 % [um]", "95 %"],
        [_tolerance_row(row) for row in drawn.data()["poses"]],
    )


def _tolerance_row(row: dict[str, dict[str, float]]) -> Sequence[str]:
    AP, RP = row["AP_m"], row["RP_m"]
    return [str(row["name"]), *(f"{UM * AP[p]:.1f}" for p in ("p5", "p50", "p95")),
            *(f"{UM * RP[p]:.2f}" for p in ("p50", "p95"))]  # fmt: skip
