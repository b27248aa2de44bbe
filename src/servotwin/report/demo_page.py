"""What the simulations of the GSIS SCARA say, in the order of its paper (Lee 1989, figures 7, 8 and 11)."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from servotwin import __version__
from servotwin.report import simulation_figures_drives as drives
from servotwin.report import simulation_figures_motion as motion
from servotwin.report import simulation_figures_zoom as fine
from servotwin.report import simulation_tables as tables
from servotwin.report.page import Card, Figure, Page
from servotwin.report.simulation_view import View, view
from servotwin.simulation.result import Result

FIRST = 0  # the A axis, and its motor


def demo_page(one_axis: Result, full_range: Result, links: dict[str, str]) -> str:
    """The page as HTML; ``links`` are the detailed reports, by title."""
    single, full = view(one_axis), view(full_range)
    page = Page(
        "GSIS SCARA, simulated from the transistor to the tip",
        "Arm, DC motors, gears, encoders, PWM and the three nested controllers of Lee, Lee and Lim (1989), "
        "at maximum speed and payload.",
    )
    page.cards(_cards(single, full))
    _selection(page, full)
    _profiles(page, single)
    _tip(page, single)
    _switching(page, single)
    page.section("Everything else", "Every signal, limit, temperature and energy of both runs:")
    items = "".join(f'<li><a href="{escape(path)}">{escape(title)}</a></li>' for title, path in links.items())
    page.fragment(f"<ul>{items}</ul>")
    return page.html(
        f"ServoTwin {__version__}. Numbers: summary.json and signals.parquet beside the reports."
    )


def findings(one_axis: Result, full_range: Result) -> dict[str, Any]:
    """The numbers of the page, in SI units."""
    single, full = one_axis.summary, full_range.summary
    axis = full["axes"][FIRST]
    wall = single["wall_s"] + full["wall_s"]
    simulated = single["simulated_s"] + full["simulated_s"]
    return {
        "simulated_s": simulated,
        "wall_s": wall,
        "real_time_factor": simulated / wall,
        "tip_error_final_m": single["tip_error_final_m"],
        "peak_speed_rad_per_s": single["axes"][FIRST]["joint_peak_speed"],
        "motor_A_peak_torque_N_m": axis["peak_torque_mean_N_m"],
        "motor_A_rms_torque_N_m": axis["rms_torque_N_m"],
        "motor_A_rated_torque_N_m": axis["rated_torque_N_m"],
        "motor_A_peak_rating_N_m": axis["peak_rating_N_m"],
        "runs": {run.scenario.name: run.summary for run in (one_axis, full_range)},
    }


def _cards(single: View, full: View) -> list[Card]:
    numbers = findings(single.result, full.result)
    peak, rms = numbers["motor_A_peak_torque_N_m"], numbers["motor_A_rms_torque_N_m"]
    rated, most = numbers["motor_A_rated_torque_N_m"], numbers["motor_A_peak_rating_N_m"]
    error = 1e3 * numbers["tip_error_final_m"]
    speed = float(np.degrees(numbers["peak_speed_rad_per_s"]))
    return [
        Card(
            "Motor A, full range",
            f"{peak:.2f}",
            "N m",
            f"peak, {100 * peak / most:.0f} % of what it can give",
        ),
        Card(
            "Motor A, full range",
            f"{rms:.2f}",
            "N m",
            f"RMS, rated {rated:.2f}",
            "good" if rms < rated else "warn",
        ),
        Card("A axis, 0 to 100 deg", f"{speed:.1f}", "deg/s", "peak speed; Table 1: 200"),
        Card(
            "Tip error at rest", f"{error:.3f}", "mm", "paper: below 0.05", "good" if error < 0.05 else "warn"
        ),
        Card(
            "Faster than real time",
            f"{numbers['real_time_factor']:.0f}",
            "times",
            f"{numbers['simulated_s']:.3g} s, every edge of the PWM, in {numbers['wall_s']:.2g} s",
        ),
    ]


def _selection(page: Page, full: View) -> None:
    page.section(
        "Which motors?",
        "All axes move through their whole range and back at maximum speed with 4 kg. The shaded band is what a "
        "motor gives continuously, the dashed lines what it can give for a moment (figure 7 of the paper).",
    )
    names = full.result.motors
    page.figures([Figure(drives.motor_torque(full, FIRST, 340), f"Motor {names[FIRST]}: torque")])
    rest = [i for i in range(len(names)) if i != FIRST]
    page.figures([Figure(drives.motor_torque(full, i), f"Motor {names[i]}: torque") for i in rest], columns=3)
    page.table(tables.MOTOR_COLUMNS, [tables.motor_row(full, name) for name in names])
    page.figures(
        [
            Figure(drives.torque_speed(full, FIRST), f"Motor {names[FIRST]}: torque and speed"),
            Figure(motion.tip_path(full), "Path of the tool from above"),
        ],
        columns=2,
    )


def _profiles(page: Page, single: View) -> None:
    page.section(
        "How does it move?",
        "A axis from 0 to 100 deg: velocity with ramps of 0.25 s, commanded every 16 ms, interpolated every 1.6 ms, "
        "and what the arm made of it (figure 8).",
    )
    page.figures([Figure(motion.joint_motion(single, FIRST), f"Joint {single.result.joints[FIRST]}")])


def _tip(page: Page, single: View) -> None:
    page.section(
        "How accurate is it?", "Error of the tool in x and y on the way and after arrival (figure 11)."
    )
    page.figures(
        [
            Figure(motion.tip_error(single), "Error in base axes"),
            Figure(motion.settling(single), "Settling", "The scale shows the end; larger errors leave it"),
        ],
        columns=2,
    )


def _switching(page: Page, single: View) -> None:
    if not single.result.zoom:
        return
    start, end = fine.span(single)
    page.section(
        "What do the transistors do?",
        f"{1e6 * (end - start):.0f} µs from t = {start:.4g} s: carrier and command, pulses of the bridge, current.",
    )
    names = single.result.motors
    page.figures([Figure(fine.switching(single, FIRST), f"Motor {names[FIRST]}")])
