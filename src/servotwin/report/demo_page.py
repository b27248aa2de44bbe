"""What the simulations of the GSIS SCARA say, in the order of its paper (Lee 1989, figures 7, 8 and 11)."""

from __future__ import annotations

from html import escape
from typing import Any

from servotwin.description.display import DEG, MM, MS, of_joint
from servotwin.report import simulation_figures_motion as motion
from servotwin.report import simulation_figures_zoom as fine
from servotwin.report.labels import titled
from servotwin.report.page import Card, Figure, Page
from servotwin.report.simulation_sections import (
    pwm_words,
    switching_text,
    tip_errors,
    torque_speed,
    torques,
)
from servotwin.report.simulation_view import View, view
from servotwin.simulation.results.result import Result
from servotwin.simulation.scenario.scenario import Scenario
from servotwin.version import __version__

FIRST = 0  # the A axis, and its motor


def demo_page(one_axis: Result, full_range: Result, links: dict[str, str]) -> str:
    """The page as HTML; ``links`` are the detailed reports, by title."""
    single, full = view(one_axis), view(full_range)
    page = Page(
        "GSIS SCARA, simulated from the transistor to the tip",
        "Arm, motors, gears, encoders, PWM and controllers of Lee, Lee and Lim (1989), "
        f"{conditions(full_range.scenario)}.",
    )
    for result in (one_axis, full_range):
        for line in result.summary.get("warnings", []):
            page.warning(f"{result.scenario.name}: {line}")
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


def conditions(scenario: Scenario) -> str:
    """Speed and load of a scenario in words, such as 'at 100 % speed with a load of 4 kg'."""
    speeds = sorted({round(100 * move.speed, 3) for move in scenario.moves if isinstance(move.speed, float)})
    payload = scenario.description.payload
    mass = payload.mass if payload is not None else 0.0
    load = f"with a load of {mass:.4g} kg" if mass else "without a load"
    if not speeds:
        return load
    return f"at {' to '.join(f'{speed:g}' for speed in (*speeds[:1], *speeds[1:][-1:]))} % speed {load}"


def stroke(result: Result) -> str:
    """Where the first joint goes, such as 'A axis, 0 to 100 deg'."""
    scenario, joint = result.scenario, result.joints[FIRST]
    places = [scenario.start[joint], *(move.to[joint] for move in scenario.moves if joint in move.to)]
    factor, unit = of_joint(result.prismatic[FIRST])
    return f"{joint} axis, {' to '.join(f'{factor * place:.4g}' for place in places)} {unit}"


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
    error = MM * numbers["tip_error_final_m"]
    speed = DEG * numbers["peak_speed_rad_per_s"]
    motor = f"{titled('Motor', full.result.motors[FIRST])}, full range"
    far = f"peak, {100 * peak / most:.0f} % of what it can give"
    hot = "good" if rms < rated else "warn"
    close = "good" if error < 0.05 else "warn"
    fast = f"{numbers['simulated_s']:.3g} s, {pwm_words(full)}, in {numbers['wall_s']:.2g} s"
    return [
        Card(motor, f"{peak:.2f}", "N m", far),
        Card(motor, f"{rms:.2f}", "N m", f"RMS, rated {rated:.2f}", hot),
        Card(stroke(single.result), f"{speed:.1f}", "deg/s", "peak speed; Table 1: 200"),
        Card("Tip error at rest", f"{error:.3f}", "mm", "paper: below 0.05", close),
        Card("Simulated at", f"{numbers['real_time_factor']:.3g}", "times real time", fast),
    ]


def _selection(page: Page, full: View) -> None:
    page.section(
        "Which motors?",
        f"All axes move through their range and back {conditions(full.result.scenario)}. The shaded band between the "
        "dashed lines is what a motor gives continuously, solid lines are what it can give for a moment (figure 7 of "
        "the paper).",
    )
    torques(page, full, range(len(full.result.motors)))
    page.figures(
        [
            torque_speed(full, FIRST),
            Figure(motion.tip_path(full), f"Path of the tool from {motion.tip_plane(full).name}"),
        ],
        columns=2,
    )


def _profiles(page: Page, single: View) -> None:
    scenario, control = single.result.scenario, single.description.controller
    ramps = sorted({move.ramp for move in scenario.moves if move.ramp is not None})
    clocks = ""
    if control is not None:
        main, axis = MS * control.main_period, MS * control.axis_period
        clocks = f"commanded every {main:g} ms, interpolated every {axis:g} ms, "
    page.section(
        "How does it move?",
        f"{stroke(single.result)}, {conditions(scenario)}: velocity with ramps of "
        f"{' and '.join(f'{ramp:g}' for ramp in ramps)} s, {clocks}and what the arm made of it (figure 8).",
    )
    page.figures([Figure(motion.joint_motion(single, FIRST), titled("Joint", single.result.joints[FIRST]))])


def _tip(page: Page, single: View) -> None:
    page.section(
        "How accurate is it?", "Error of the tool in x, y and z on the way and after arrival (figure 11)."
    )
    page.figures(tip_errors(single), columns=2)


def _switching(page: Page, single: View) -> None:
    if not single.result.zoom:
        return
    page.section("What do the transistors do?", switching_text(single))
    motor = single.result.motors[FIRST]
    page.figures([Figure(fine.switching(single, FIRST), titled("Motor", motor))])
